/*
 * train.c
 *		From a sample of rows to the centroids of the lists.
 *
 * Clustering is by squared L2 distance in every metric.  The sample, the
 * centroids and the scratch of k-means of all processes stay within
 * build->memory together: less memory means a smaller sample, in the extreme
 * fewer lists, never an error.
 */
#include "postgres.h"

#include <math.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/train.h"

/* Rows of the sample for each list: wanted, and least before lists go. */
#define LIST_ROWS_WANTED 128
#define LIST_ROWS_MIN 8

/* Rows that give the centre of a flat index. */
#define FLAT_ROWS 10000

/* One list in so many comes from splitting the largest ones. */
#define SPLIT_SHARE 4

/*
 * Blocks of rows of all processes: the part of the memory they may take, and how
 * many processes have blocks that are as large as pays.
 */
#define WORK_SHARE 16
#define WORK_PROCESSES 8
#define BLOCK_ROWS_MIN 8

typedef struct TrainPlan
{
	int lists;
	int64 rows; /* of the sample, at most */
} TrainPlan;

/* --- how many lists and rows ---------------------------------------------------- */

/*
 * Scanning an entry costs a third as much in layout P, and a short list fills its
 * code pages badly: half as many lists are as fast, and made in half the time
 * (decision 9).
 */
static int
lists_wanted(const VxBuild *build)
{
	VxLayout layout = vx_ann_layout(build->ann.dims, build->options);
	double lists = sqrt(build->rows_expected);

	if (build->options->lists >= 0)
		return build->options->lists;
	if (build->rows_expected < VX_FLAT_ROWS_MAX)
		return 0;
	if (layout == VX_LAYOUT_WHOLE)
		lists *= 2;
	return (int) Min(rint(lists), VX_LISTS_MAX);
}

/*
 * For blocks of rows, of all processes together; one that takes part has its
 * share, and no more than pays.  It does not depend on how many there are, so
 * neither does the sample.
 */
static Size
work_bytes(const VxBuild *build, int lists)
{
	return Min(build->memory / WORK_SHARE,
			   WORK_PROCESSES * sizeof(float) * vx_assign_block(lists) *
				   ((Size) build->ann.dims + lists));
}

/* Centroids are there twice when they leave the training's memory. */
static Size
training_bytes(const VxBuild *build, int lists, int64 rows)
{
	return vx_train_lay_out(NULL, NULL, build->ann.dims, lists, rows) +
		   lists * vx_build_vector_bytes(build) + work_bytes(build, lists);
}

/* The largest sample up to wanted that fits beside so many lists. */
static int64
rows_that_fit(const VxBuild *build, int lists, int64 wanted)
{
	Size fixed = training_bytes(build, lists, 0);
	double row = (training_bytes(build, lists, 1024) - fixed) / 1024.0;

	if (fixed >= build->memory)
		return 0;
	return Min(wanted, (int64) ((build->memory - fixed) / row));
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

/* --- memory --------------------------------------------------------------------- */

/* Takes count items of size bytes from memory at *used, on lines of their own. */
static void *
carve(char *memory, Size *used, Size count, Size size)
{
	void *start = memory == NULL ? NULL : memory + *used;

	*used = CACHELINEALIGN(*used + mul_size(count, size));
	return start;
}

Size
vx_train_lay_out(VxTraining *training, char *memory, int dims, int lists_max,
				 int64 rows_max)
{
	VxTraining t;
	VxKmeans task = {.rows = INT_MAX, .dim = dims, .lists = lists_max};
	Size vector = sizeof(float) * dims;
	Size used = 0;

	t.shared = carve(memory, &used, 1, sizeof(VxTrainShared));
	t.x = carve(memory, &used, rows_max, vector);
	t.centroids = carve(memory, &used, lists_max, vector);
	t.list_of = carve(memory, &used, rows_max, sizeof(int32));
	t.order = carve(memory, &used, rows_max, sizeof(int32));
	t.spare = carve(memory, &used, rows_max, sizeof(int32));
	t.start = carve(memory, &used, lists_max + 1, sizeof(int32));
	t.split = carve(memory, &used, lists_max, sizeof(int32));
	t.parts = carve(memory, &used, lists_max, sizeof(VxTrainPart));
	t.state = carve(memory, &used, vx_kmeans_state_bytes(&task), 1);
	if (training == NULL)
		return used;
	training->shared = t.shared;
	training->x = t.x;
	training->centroids = t.centroids;
	training->list_of = t.list_of;
	training->order = t.order;
	training->spare = t.spare;
	training->start = t.start;
	training->split = t.split;
	training->parts = t.parts;
	training->state = t.state;
	return used;
}

int
vx_train_block_rows(const VxTraining *training, int lists)
{
	Size row = sizeof(float) * ((Size) training->shared->dims + lists);
	Size rows = training->shared->work_bytes / row;

	return (int) Max(BLOCK_ROWS_MIN, Min(rows, (Size) vx_assign_block(lists)));
}

void *
vx_train_work(VxTraining *training, const VxKmeans *task)
{
	Size bytes = vx_kmeans_work_bytes(task);

	if (bytes > training->work_size)
	{
		if (training->work != NULL)
			pfree(training->work);
		training->work = NULL;
		training->work = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
		training->work_size = bytes;
	}
	return training->work;
}

void
vx_train_progress(void *arg, int rows)
{
	VxTraining *training = arg;
	uint64 done;

	CHECK_FOR_INTERRUPTS();
	if (rows == 0)
		return;
	done = pg_atomic_add_fetch_u64(&training->shared->done, rows);
	/* Workers leave the report to their leader. */
	if (training->total > 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 Min((int64) done, training->total));
}

/* --- training -------------------------------------------------------------------- */

static void
mean(const VxSample *sample, int dims, float *out)
{
	double *sum = palloc0(sizeof(double) * dims);

	for (int64 row = 0; row < sample->rows; row++)
	{
		const float *x = sample->x + row * dims;

		CHECK_FOR_INTERRUPTS();
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
	{
		CHECK_FOR_INTERRUPTS();
		sum += vx_kernels->norm2(x + row * build->ann.dims, build->ann.centre,
								 build->ann.dims);
	}
	/* A power of two, so that the division is exact. */
	sum /= rows;
	build->n2_unit =
		sum > 0 && isfinite(sum) ? ldexp(1, ilogb(sum) - 34) : 0x1p-40;
}

/* Sets build->centroids and lists. */
static void
cluster(VxBuild *build, VxTraining *training, int lists)
{
	int first = lists - lists / SPLIT_SHARE;
	int made;

	vx_build_open_blas();
	vx_crew_begin(training);
	made = vx_train_cluster(training, first);
	made = vx_train_balance(training, made, lists);
	vx_crew_end(training);
	build->lists = made;
	build->centroids = MemoryContextAllocHuge(
		CurrentMemoryContext, made * vx_build_vector_bytes(build));
	memcpy(build->centroids, training->centroids,
		   made * vx_build_vector_bytes(build));
	replace_infinite(build, build->centroids, made);
}

/* The sample is there. */
static void
train(VxBuild *build, VxTraining *training, const VxSample *sample, int lists)
{
	training->rows = sample->rows;
	mean(sample, build->ann.dims, build->ann.centre);
	vx_build_choose_unit(build, sample->x, sample->rows);
	if (lists > 1)
	{
		cluster(build, training, lists);
		vx_calibrate_begin(build, sample);
	}
	/* One list is the flat index, whose centroid is the centre. */
	if (lists == 1 || build->lists == 1)
	{
		build->lists = 1;
		build->centroids = build->ann.centre;
	}
}

void
vx_build_train(VxBuild *build)
{
	TrainPlan plan = plan_training(build);
	VxTraining *training;
	VxSample sample = {.rows_max = plan.rows};

	build->lists = 0;
	if (build->rows_expected == 0)
		return;
	training = vx_crew_memory(build, plan.lists, plan.rows,
							  work_bytes(build, plan.lists));
	sample.x = training->x;
	vx_build_sample(build, &sample);
	if (sample.rows > 0)
		train(build, training, &sample, (int) Min(plan.lists, sample.rows));
	vx_crew_free(training);
}
