/*
 * build.h
 *		What the files of an index build share.
 *
 * Order of a build: survey, sample (sample.c), train (train.c, cluster.c and
 * balance.c, by all of crew.c), assign (build.c, by all of workers.c, through
 * rowsort.c), write (write.c), calibrate (calibrator.c, calibrate.c).
 */
#ifndef VX_ANN_BUILD_H
#define VX_ANN_BUILD_H

#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "nodes/execnodes.h"
#include "port/atomics.h"
#include "utils/tuplesort.h"

#include "ann/ann.h"

typedef struct VxCalibrator VxCalibrator; /* calibrate.h */

/* What the rows assigned to one list add up to. */
typedef struct VxBuildList
{
	int64 rows;
	uint64
		n2; /* sum of squared residuals, in build->n2_unit, see vx_build_n2 */
	BlockNumber head; /* set by write.c */
} VxBuildList;

/* Rows on their way from the heap to their list. */
typedef struct VxRowSort
{
	Tuplesortstate *sort;
	TupleDesc desc;
	TupleTableSlot *in;
	TupleTableSlot *out;
	bytea *payload; /* of the row being put */
	int values_bytes;
	int code_bytes;
} VxRowSort;

/* Keys of the special lists, before those of lists 0, 1, ... */
#define VX_SORT_NULL (-2)
#define VX_SORT_ZERO (-1)

typedef struct VxSortedRow
{
	int32 list;
	ItemPointerData tid;
	const uint8 *values; /* of the filter columns, packed */
	VxEntry entry;		 /* not set for special lists, as is code */
	const uint8 *code;
} VxSortedRow;

typedef struct VxBuild
{
	Relation heap;
	Relation index;
	IndexInfo *info;
	const VxAnnOptions *options;
	Size memory; /* bytes that sample, lists and sort may take */
	int workers; /* to ask for */
	VxAnnIndex ann;
	/* From the survey. */
	double rows_expected; /* rows that have a vector, an estimate */
	int rows_dims;		  /* of the first row found, 0 = none */
	/* From training, or from the first row when that saw none. */
	int lists;		  /* 0 = no vector yet, 1 = flat */
	float *centroids; /* lists * dims */
	/* From assignment. */
	VxBuildList *list; /* of each list */
	VxBuildList null_list;
	VxBuildList zero_list;
	VxRowSort rows;
	VxCalibrator *calibrator; /* NULL: the defaults stay */
	double n2_unit;			  /* of the sums n2, from training */
	/* With parallel workers: */
	SortCoordinate coordinate;
	pg_atomic_uint64 *seen; /* rows that all have seen */
} VxBuild;

static inline Size
vx_build_vector_bytes(const VxBuild *build)
{
	return sizeof(float) * build->ann.dims;
}

/*
 * Sums of squared residuals are kept in whole units, so that they do not depend
 * on the order of the rows, nor on how they are split among workers.
 */
static inline uint64
vx_build_n2(const VxBuild *build, double n2)
{
	double units = n2 / build->n2_unit;

	/* Outliers count as so much: 2^30 rows at the mean fit, 2^20 of them. */
	return (uint64) rint(Min(units, 0x1p44));
}

/*
 * Assigns and encodes the rows of a scan of the heap (NULL: all of it) and sorts
 * them into build->rows.  Returns the number of rows in the heap.
 */
extern double vx_build_assign(VxBuild *build, TableScanDesc scan);

/* Loads the matrix library, or ERROR. */
extern void vx_build_open_blas(void);

/* Starts a stage of pg_stat_progress_create_index. */
extern void vx_build_stage(int stage, int64 total);

/* --- sample.c ----------------------------------------------------------------- */

/* Row-major vectors, of unit length for cosine. */
typedef struct VxSample
{
	float *x;
	int64 rows;
	int64 rows_max;
} VxSample;

/*
 * Fills rows_expected and rows_dims from random blocks; from all of them when
 * there are few, or when the random ones hold no vector.
 */
extern void vx_build_survey(VxBuild *build);

/*
 * Fills the caller's sample with up to rows_max ordinary vectors at random;
 * the same ones for the same seed and table.
 */
extern void vx_build_sample(VxBuild *build, VxSample *sample);

/* --- train.c ------------------------------------------------------------------ */

/*
 * Chooses the number of lists, samples, and sets ann.centre, centroids and
 * lists (0 when the sample is empty).  Needs ann derived and the survey.
 */
extern void vx_build_train(VxBuild *build);

/*
 * What vx_build_train would choose for rows_expected: lists, and rows of the
 * sample at most.  Returns the bytes that training takes.  Needs options,
 * memory and ann.dims only.
 */
extern Size vx_build_plan(const VxBuild *build, int *lists, int64 *sample_rows);

/* Sets n2_unit by the rows' mean squared distance from the centre. */
extern void vx_build_choose_unit(VxBuild *build, const float *x, int64 rows);

/* --- cluster.c ---------------------------------------------------------------- */

/* Centroids that a row of the sample is compared with, over all rounds. */
extern double vx_build_cluster_products(int lists);

/* --- calibrator.c ------------------------------------------------------------- */

/* Queries: their recall has a standard deviation of about .003 together. */
#define VX_CALIBRATE_QUERIES 400

/* Takes queries out of the sample, when there is something to calibrate. */
extern void vx_calibrate_begin(VxBuild *build, const VxSample *sample);
/* Bytes it holds. */
extern Size vx_calibrate_bytes(const VxBuild *build);
/* A block of rows (at most vx_assign_block) that was assigned to lists. */
extern void vx_calibrate_feed(VxBuild *build, const float *x,
							  const ItemPointerData *tids, const int32 *lists,
							  int rows);

/*
 * For parallel workers: the queries, and what each participant has seen, which
 * the leader imports; all that were seen then replace what a worker has.
 */
extern int vx_calibrate_queries(const VxBuild *build); /* 0 = none */
extern void vx_calibrate_share(const VxBuild *build, float *queries);
extern void vx_calibrate_join(VxBuild *build, const float *queries, int count);
extern Size vx_calibrate_export_bytes(const VxBuild *build);
extern void vx_calibrate_export(VxBuild *build, char *out);
extern void vx_calibrate_import(VxBuild *build, const char *in);
extern void vx_calibrate_replace(VxBuild *build, const char *in);

/* --- calibrate.c -------------------------------------------------------------- */

/*
 * Queries over the index just written, which all processes claim from a run, and
 * what each gave.  Only with a calibrator.
 */
typedef struct VxCalibrateRun VxCalibrateRun;
extern Size vx_calibrate_run_bytes(const VxBuild *build);
/* In memory of zeros. */
extern void vx_calibrate_run_init(VxCalibrateRun *run);
extern void vx_calibrate_run(VxBuild *build, VxCalibrateRun *run);
/* When all have run: changes META's table, and ends the calibration. */
extern void vx_calibrate_store(VxBuild *build, const VxCalibrateRun *run);

/* --- workers.c ---------------------------------------------------------------- */

typedef struct VxBuildTeam VxBuildTeam;

/* Launches workers for a build with lists; NULL when there are none. */
extern VxBuildTeam *vx_workers_begin(VxBuild *build, int workers);
/* vx_build_assign by all of them. */
extern double vx_workers_assign(VxBuildTeam *team, VxBuild *build);
/* The calibration by all of them, after the index is written. */
extern void vx_workers_calibrate(VxBuildTeam *team, VxBuild *build);
/* After build->rows was read. */
extern void vx_workers_end(VxBuildTeam *team);

/* --- rowsort.c ---------------------------------------------------------------- */

/* coordinate: of a sort with parallel workers, else NULL. */
extern void vx_rowsort_begin(VxRowSort *rows, int values_bytes, int code_bytes,
							 Size memory, SortCoordinate coordinate);
/* entry and code are NULL for a special list. */
extern void vx_rowsort_put(VxRowSort *rows, int32 list, ItemPointer tid,
						   const uint8 *values, const VxEntry *entry,
						   const uint8 *code);
extern void vx_rowsort_perform(VxRowSort *rows);
/*
 * By list, then by heap pointer.  Values and code are valid until the next call.
 */
extern bool vx_rowsort_next(VxRowSort *rows, VxSortedRow *row);
extern void vx_rowsort_end(VxRowSort *rows);

/* --- write.c ------------------------------------------------------------------ */

/*
 * Writes the whole fork from the sorted rows.  Without lists and rows: the
 * empty index.
 */
extern void vx_build_write(VxBuild *build, ForkNumber fork);

/* Pages before the further leads of the special lists. */
extern int vx_build_front_pages(int dims, int lists);

#endif
