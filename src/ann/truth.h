/*
 * truth.h
 *		The exact nearest rows of many queries, in one pass over the rows.
 *
 * What calibration and ann_recall() compare an index with.
 */
#ifndef VX_ANN_TRUTH_H
#define VX_ANN_TRUTH_H

#include "ann/ann.h"

/* A row near a query. */
typedef struct VxNear
{
	double key; /* squared distance (L2, cosine) or negative inner product */
	uint64 tid; /* vx_tid_number */
	int32 list; /* as given with the row */
} VxNear;

/*
 * The keep nearest rows of each query among those fed so far, by (key, tid):
 * they do not depend on the order or the blocks in which rows were fed.
 */
typedef struct VxTruth
{
	VxMetric metric;
	int dims;
	int queries;
	int keep;
	const float *q; /* queries * dims, row-major, as the index sees vectors */
	float *norm2;	/* |q|^2 */
	float *limits;	/* a key above it is not among the nearest */
	int *counts;	/* rows kept of each query */
	VxNear *items;	/* keep of each query: a max-heap */
	float *products;
	int block_rows; /* most rows of one feed */
} VxTruth;

/* Bytes that vx_truth_init takes, the queries not counted. */
extern Size vx_truth_bytes(int queries, int keep, int block_rows);

/* Allocates in the current context; q must stay. */
extern void vx_truth_init(VxTruth *truth, VxMetric metric, int dims,
						  const float *q, int queries, int keep,
						  int block_rows);

/*
 * Looks at rows (at most block_rows) of dims floats; lists may be NULL.  By one
 * matrix product where the library is open (vx_blas_open), else one by one; what
 * the product's rounding leaves open is measured in double, so both agree.
 */
extern void vx_truth_feed(VxTruth *truth, const float *x,
						  const ItemPointerData *tids, const int32 *lists,
						  int rows);

/* Adds what other, of the same queries, has seen. */
extern void vx_truth_merge(VxTruth *truth, const VxTruth *other);

/* Sorts the rows of a query, nearest first; nothing may be fed afterwards. */
extern VxNear *vx_truth_sorted(VxTruth *truth, int query, int *count);

#endif
