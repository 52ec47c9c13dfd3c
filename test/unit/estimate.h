/*
 * estimate.h
 *		Scores of one list for the tests of the estimator.
 */
#ifndef VX_UNIT_ESTIMATE_H
#define VX_UNIT_ESTIMATE_H

#include "unit.h"

typedef struct ScoreInput
{
	const float *x;
	int rows;
	const float *q;
	int queries;
	bool signs; /* the first stage of codes in planes */
} ScoreInput;

/* queries * rows values each. */
typedef struct Scores
{
	float *est;
	float *low;
	double *exact;
	double *sigma; /* one standard deviation of est by its factors */
} Scores;

extern void scores_init(Scores *scores, int rows, int queries);
extern void scores_free(Scores *scores);

/* Encodes the rows into the list and scores them for every query. */
extern void score_list(UnitList *list, const ScoreInput *in, float eps,
					   Scores *out);

#endif
