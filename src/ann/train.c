/*
 * train.c
 *		From a sample of rows to the centroids of the lists.
 *
 * Clustering is by squared L2 distance in every metric.  The sample, the
 * centroids and the scratch of k-means stay within build->memory together: less
 * memory means a smaller sample, in the extreme fewer lists, never an error.
 */
#include "postgres.h"

#include <math.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/build.h"

/* Rows of the sample for each list: wanted, and least before lists go. */
#define LIST_ROWS_WANTED 128
#define LIST_ROWS_MIN 8

/* Rows that give the centre of a flat index. */
#define FLAT_ROWS 10000

/* One list in so many comes from splitting the largest ones. */
#define SPLIT_SHARE 4

typedef struct TrainPlan
{
	int lists;
	int64 rows; /* of the sample, at most */
} TrainPlan;

static float *
alloc_vectors(const VxBuild *build, int64 rows)
{
	return MemoryContextAllocHuge(CurrentMemoryContext,
								  rows * vx_build_vector_bytes(build));
}

static VxKmeans
kmeans_task(const VxBuild *build, int64 rows, int lists)
{
	return (VxKmeans){
		.rows = rows,
		.dim = build->ann.dims,
		.lists = lists,
		.iterations = 1, /* no matter for the scratch */
		.seed = build->options->seed,
	};
}

/* --- how many lists and rows ---------------------------------------------------- */

static int
lists_wanted(const VxBuild *build)
{
	if (build->options->lists >= 0)
		return build->options->lists;
	if (build->rows_expected < VX_FLAT_ROWS_MAX)
		return 0;
	return (int) Min(rint(2 * sqrt(build->rows_expected)), VX_LISTS_MAX);
}

static Size
training_bytes(const VxBuild *build, int lists, int64 rows)
{
	VxKmeans task = kmeans_task(build, rows, lists);

	return (rows + lists) * vx_build_vector_bytes(build) +
		   vx_kmeans_scratch_bytes(&task);
}

static bool
fits(const VxBuild *build, int lists, int64 rows)
{
	return training_bytes(build, lists, rows) <= build->memory;
}

/* The largest sample up to wanted that fits beside so many lists. */
static int64
rows_that_fit(const VxBuild *build, int lists, int64 wanted)
{
	int64 low = 0;
	int64 high = wanted;

	if (fits(build, lists, high))
		return high;
	while (low + 1 < high)
	{
		int64 middle = low + (high - low) / 2;

		if (fits(build, lists, middle))
			low = middle;
		else
			high = middle;
	}
	return low;
}

static TrainPlan
plan_training(const VxBuild *build)
{
	TrainPlan plan = {.lists = lists_wanted(build)};
	int64 vectors_max = build->memory / vx_build_vector_bytes(build);
	/* The survey may have seen a little less than there is. */
	int64 rows_max = (int64) (build->rows_expected * 1.1) + 100;

	/* Assignment holds each centroid twice, beside the sort. */
	plan.lists = Min(plan.lists, vectors_max / 4);
	while (plan.lists > 1)
	{
		int64 wanted = Min((int64) plan.lists * LIST_ROWS_WANTED, rows_max);

		plan.rows = rows_that_fit(build, plan.lists, wanted);
		if (plan.rows >= Min(wanted, (int64) plan.lists * LIST_ROWS_MIN))
			return plan;
		plan.lists -= (plan.lists + 7) / 8;
	}
	plan.lists = 1;
	plan.rows = Max(Min(FLAT_ROWS, vectors_max / 2), 1);
	return plan;
}

Size
vx_build_plan(const VxBuild *build, int *lists, int64 *sample_rows)
{
	TrainPlan plan = {0};

	if (build->rows_expected > 0)
		plan = plan_training(build);
	*lists = plan.lists;
	*sample_rows = Min(plan.rows, (int64) build->rows_expected);
	if (plan.lists == 0)
		return 0;
	return plan.lists == 1 ? *sample_rows * vx_build_vector_bytes(build)
						   : training_bytes(build, plan.lists, plan.rows);
}

/* --- training -------------------------------------------------------------------- */

static void
mean(const VxSample *sample, int dims, float *out)
{
	double *sum = palloc0(sizeof(double) * dims);

	for (int64 row = 0; row < sample->rows; row++)
	{
		const float *x = sample->x + row * dims;

		for (int i = 0; i < dims; i++)
			sum[i] += x[i];
	}
	for (int i = 0; i < dims; i++)
		out[i] = (float) (sum[i] / sample->rows);
	pfree(sum);
}

/* Sums of huge values may leave the range of float4. */
static void
replace_infinite(const VxBuild *build, float *centroids, int lists)
{
	int dims = build->ann.dims;

	for (int list = 0; list < lists; list++)
	{
		float *c = centroids + (Size) list * dims;
		bool finite = true;

		for (int i = 0; i < dims; i++)
			finite &= isfinite(c[i]) != 0;
		if (!finite)
			memcpy(c, build->ann.centre, vx_build_vector_bytes(build));
	}
}

void
vx_build_open_blas(void)
{
	const char *failure = vx_blas_open();

	if (failure != NULL)
		ereport(ERROR,
				(errcode(ERRCODE_UNDEFINED_FILE),
				 errmsg("could not load the matrix library: %s", failure),
				 errhint("Install the package libopenblas0-serial.")));
}

void
vx_build_choose_unit(VxBuild *build, const float *x, int64 rows)
{
	double sum = 0;

	for (int64 row = 0; row < rows; row++)
		sum += vx_kernels->norm2(x + row * build->ann.dims, build->ann.centre,
								 build->ann.dims);
	/* A power of two, so that the division is exact. */
	sum /= rows;
	build->n2_unit =
		sum > 0 && isfinite(sum) ? ldexp(1, ilogb(sum) - 34) : 0x1p-40;
}

static void
cluster(VxBuild *build, const VxSample *sample, int lists)
{
	int first = lists - lists / SPLIT_SHARE;
	Size used = (sample->rows + lists) * vx_build_vector_bytes(build);

	vx_build_open_blas();
	build->centroids = alloc_vectors(build, lists);
	build->lists = vx_build_cluster(build, sample, first);
	/* Far fewer than asked for: the rows have no more distinct values. */
	if (build->lists >= first - first / 16 && first < lists)
		vx_build_balance(build, sample, lists,
						 build->memory > used ? build->memory - used : 0);
	replace_infinite(build, build->centroids, build->lists);
}

void
vx_build_train(VxBuild *build)
{
	TrainPlan plan = plan_training(build);
	VxSample sample = {.rows_max = plan.rows};
	int lists;

	build->lists = 0;
	if (build->rows_expected == 0)
		return;
	sample.x = alloc_vectors(build, sample.rows_max);
	vx_build_sample(build, &sample);
	lists = (int) Min(plan.lists, sample.rows);
	if (sample.rows > 0)
	{
		mean(&sample, build->ann.dims, build->ann.centre);
		vx_build_choose_unit(build, sample.x, sample.rows);
	}
	if (lists > 1)
	{
		cluster(build, &sample, lists);
		vx_calibrate_begin(build, &sample);
	}
	pfree(sample.x);
	/* One list is the flat index, whose centroid is the centre. */
	if (lists == 1 || build->lists == 1)
	{
		build->lists = 1;
		build->centroids = build->ann.centre;
	}
}
