/*
 * kmeans.c
 *		Nearest centroids by matrix product, and Lloyd's k-means on top of it.
 *
 * The matrix product decides only what its rounding cannot change; the rest is
 * measured in double (vx_assign), so results follow from input and seed.
 */
#include <math.h>
#include <string.h>

#include "quant/blas.h"
#include "quant/quant.h"
#include "quant/random.h"

/* Rows that are not worth a matrix product. */
#define ROWS_DIRECT 3

/* Floats of distances that a block of rows may fill. */
#define BLOCK_FLOATS (1 << 18)
#define BLOCK_ROWS_MIN 64
#define BLOCK_ROWS_MAX 1024

/* Rows behind the origin that k-means computes around. */
#define MEAN_ROWS 4096

/* Rows a list that the first half of the iterations looks at. */
#define SAMPLE_ROWS_PER_LIST 64

int
vx_assign_block(int lists)
{
	int rows = BLOCK_FLOATS / (lists > 0 ? lists : 1);

	if (rows < BLOCK_ROWS_MIN)
		return BLOCK_ROWS_MIN;
	return rows < BLOCK_ROWS_MAX ? rows : BLOCK_ROWS_MAX;
}

void
vx_norms2(const float *x, int rows, int dim, float *norm2)
{
	for (int i = 0; i < rows; i++)
		norm2[i] =
			(float) vx_kernels->norm2(x + (size_t) i * (size_t) dim, NULL, dim);
}

/* The nearest of the lists whose key is not above limit, measured exactly. */
static int32_t
measure_below(const float *x, int dim, const float *centroids,
			  const float *norm2, const float *dots, int lists, double limit)
{
	double best = INFINITY;
	int32_t list = 0;

	for (int j = 0; j < lists; j++)
	{
		double distance2;

		/* Not a number counts as near. */
		if (dots != NULL && (double) (norm2[j] - 2.0f * dots[j]) > limit)
			continue;
		distance2 =
			vx_kernels->norm2(x, centroids + (size_t) j * (size_t) dim, dim);
		if (distance2 < best)
		{
			best = distance2;
			list = j;
		}
	}
	return list;
}

static float
largest_of(const float *x, int count)
{
	float largest = 0.0f;

	for (int i = 0; i < count; i++)
		largest = x[i] > largest ? x[i] : largest;
	return largest;
}

void
vx_assign(const float *x, int rows, int dim, const float *centroids,
		  const float *norm2, int lists, float *scratch, int32_t *list,
		  float *distance2)
{
	const VxKernels *kernels = vx_kernels;
	double largest = (double) largest_of(norm2, lists);
	/* Rounding of a product of dim terms, with a margin of about four. */
	double rounding = 0x1p-22 * (4.0 + sqrt((double) dim) / 4.0);

	bool product = rows > ROWS_DIRECT && lists > 1 &&
				   vx_blas_product(x, rows, centroids, lists, dim, scratch);

	for (int i = 0; i < rows; i++)
	{
		const float *row = x + (size_t) i * (size_t) dim;
		const float *dots = scratch + (size_t) i * (size_t) lists;

		if (lists == 1)
			list[i] = 0;
		else if (!product)
			list[i] = measure_below(row, dim, centroids, norm2, NULL, lists,
									INFINITY);
		else
		{
			float smallest, second;
			double limit =
				rounding * (kernels->inner_product(row, row, dim) + largest);

			list[i] = kernels->nearest(dots, norm2, lists, &smallest, &second);
			limit += (double) smallest;
			if (!((double) second > limit))
				list[i] = measure_below(row, dim, centroids, norm2, dots, lists,
										limit);
		}
		if (distance2 != NULL)
			distance2[i] = (float) kernels->l2_squared(
				row, centroids + (size_t) list[i] * (size_t) dim, dim);
	}
}

/* --- k-means ---------------------------------------------------------- */

/* The state of one vx_kmeans call, carved out of its scratch. */
typedef struct Training
{
	const VxKmeans *task;
	int lists;
	uint64_t random;
	int64_t done;
	int64_t total;
	float *centroids; /* relative to origin while training */
	double *sums;	  /* lists * dim */
	float *origin;	  /* mean of some rows */
	float *norm2;	  /* |c|^2 by list */
	float *block;	  /* rows of a block relative to origin */
	float *dots;
	float *distance2;  /* by row of a block */
	int32_t *assigned; /* by row of a block */
	int32_t *list_of;  /* by row of the task */
	int32_t *members;  /* by list */
	int32_t *away;	   /* members that differ from the centroid, by list */
	int32_t *splitter; /* one such member at random, -1 for none, by list */
} Training;

/*
 * Rows of a block: at most an eighth of the rows, so that less memory for the
 * sample means less scratch too.
 */
static int
block_rows_of(const VxKmeans *task, int lists)
{
	int rows = vx_assign_block(lists);
	int64_t share = task->rows / 8;

	if (share < BLOCK_ROWS_MIN)
		share = BLOCK_ROWS_MIN;
	return rows < share ? rows : (int) share;
}

static int
lists_made(const VxKmeans *task)
{
	return task->lists < task->rows ? task->lists : (int) task->rows;
}

/* Takes count items of size bytes from scratch at *used, 64-byte aligned. */
static void *
carve(char *scratch, size_t *used, size_t count, size_t size)
{
	void *start = scratch == NULL ? NULL : scratch + *used;

	*used += (count * size + 63) / 64 * 64;
	return start;
}

/* Lays training out in scratch (NULL: measures only); returns the bytes. */
static size_t
lay_out(Training *t, const VxKmeans *task, char *scratch)
{
	size_t dim = (size_t) task->dim;
	size_t lists = (size_t) lists_made(task);
	size_t rows = (size_t) block_rows_of(task, (int) lists);
	size_t used = 0;

	t->sums = carve(scratch, &used, lists * dim, sizeof(double));
	t->origin = carve(scratch, &used, dim, sizeof(float));
	t->norm2 = carve(scratch, &used, lists, sizeof(float));
	t->block = carve(scratch, &used, rows * dim, sizeof(float));
	t->dots = carve(scratch, &used, rows * lists, sizeof(float));
	t->distance2 = carve(scratch, &used, rows, sizeof(float));
	t->assigned = carve(scratch, &used, rows, sizeof(int32_t));
	t->list_of = carve(scratch, &used, (size_t) task->rows, sizeof(int32_t));
	t->members = carve(scratch, &used, lists, sizeof(int32_t));
	t->away = carve(scratch, &used, lists, sizeof(int32_t));
	t->splitter = carve(scratch, &used, lists, sizeof(int32_t));
	return used;
}

/* Room to align a scratch that the caller did not. */
#define ALIGN_BYTES 64

size_t
vx_kmeans_scratch_bytes(const VxKmeans *task)
{
	Training t;

	return lay_out(&t, task, NULL) + ALIGN_BYTES;
}

static const float *
task_row(const VxKmeans *task, int64_t row)
{
	return task->x + (size_t) row * (size_t) task->dim;
}

static void
add_row(double *restrict sum, const float *restrict x, int dim)
{
	for (int i = 0; i < dim; i++)
		sum[i] += (double) x[i];
}

/* Every (rows / wanted)-th row, as a row number. */
static int64_t
strided(int64_t i, int64_t rows, int64_t wanted)
{
	return i * rows / wanted;
}

static void
find_origin(Training *t)
{
	const VxKmeans *task = t->task;
	int64_t wanted = task->rows < MEAN_ROWS ? task->rows : MEAN_ROWS;

	memset(t->sums, 0, sizeof(double) * (size_t) task->dim);
	for (int64_t i = 0; i < wanted; i++)
		add_row(t->sums, task_row(task, strided(i, task->rows, wanted)),
				task->dim);
	for (int i = 0; i < task->dim; i++)
		t->origin[i] = (float) (t->sums[i] / (double) wanted);
}

/* out = row - origin */
static void
load_row(const Training *t, int64_t row, float *out)
{
	vx_kernels->scaled_difference(task_row(t->task, row), t->origin, 1.0,
								  t->task->dim, out);
}

static float *
centroid_of(const Training *t, int list)
{
	return t->centroids + (size_t) list * (size_t) t->task->dim;
}

/* Centroids are distinct random rows: selection sampling, in row order. */
static void
seed_centroids(Training *t)
{
	int64_t rows = t->task->rows;
	int made = 0;

	for (int64_t i = 0; i < rows && made < t->lists; i++)
	{
		uint32_t left = (uint32_t) (rows - i);

		if (vx_random_below(&t->random, left) < (uint32_t) (t->lists - made))
			load_row(t, i, centroid_of(t, made++));
	}
}

/* Given centroids are in the original space. */
static void
shift_centroids(Training *t)
{
	for (int j = 0; j < t->lists; j++)
		vx_kernels->scaled_difference(centroid_of(t, j), t->origin, 1.0,
									  t->task->dim, centroid_of(t, j));
}

/* Counts a row into its list. */
static void
count_member(Training *t, int64_t row, int32_t list, float distance2)
{
	t->members[list]++;
	if (distance2 > 0.0f)
	{
		t->away[list]++;
		if (vx_random_below(&t->random, (uint32_t) t->away[list]) == 0)
			t->splitter[list] = (int32_t) row;
	}
}

/*
 * Assigns count rows spread over the task and sums them by list.  Returns how
 * many changed their list.
 */
static int64_t
assign_rows(Training *t, int64_t count)
{
	const VxKmeans *task = t->task;
	size_t dim = (size_t) task->dim;
	int block_rows = block_rows_of(task, t->lists);
	int64_t moved = 0;

	memset(t->sums, 0, sizeof(double) * (size_t) t->lists * dim);
	memset(t->members, 0, sizeof(int32_t) * (size_t) t->lists);
	memset(t->away, 0, sizeof(int32_t) * (size_t) t->lists);
	memset(t->splitter, 0xff, sizeof(int32_t) * (size_t) t->lists);
	vx_norms2(t->centroids, t->lists, task->dim, t->norm2);
	for (int64_t start = 0; start < count; start += block_rows)
	{
		int rows =
			(int) (count - start < block_rows ? count - start : block_rows);

		for (int i = 0; i < rows; i++)
			load_row(t, strided(start + i, task->rows, count),
					 t->block + (size_t) i * dim);
		vx_assign(t->block, rows, task->dim, t->centroids, t->norm2, t->lists,
				  t->dots, t->assigned, t->distance2);
		for (int i = 0; i < rows; i++)
		{
			int64_t row = strided(start + i, task->rows, count);
			int32_t list = t->assigned[i];

			add_row(t->sums + (size_t) list * dim, t->block + (size_t) i * dim,
					task->dim);
			count_member(t, row, list, t->distance2[i]);
			moved += t->list_of[row] != list;
			t->list_of[row] = list;
		}
		t->done += rows;
		if (task->progress != NULL)
			task->progress(task->progress_arg, t->done, t->total);
	}
	return moved;
}

/* Moves every centroid with members to their mean. */
static void
move_centroids(Training *t)
{
	int dim = t->task->dim;

	for (int j = 0; j < t->lists; j++)
	{
		const double *sum = t->sums + (size_t) j * (size_t) dim;
		float *centroid = centroid_of(t, j);

		if (t->members[j] == 0)
			continue;
		for (int i = 0; i < dim; i++)
			centroid[i] = (float) (sum[i] / (double) t->members[j]);
	}
}

/*
 * Gives every empty list a member of the largest list that has two different
 * ones; a list is split once an iteration.  Returns how many were filled.
 */
static int
fill_empty_lists(Training *t)
{
	int filled = 0;

	for (int j = 0; j < t->lists; j++)
	{
		int largest = -1;

		if (t->members[j] != 0)
			continue;
		for (int k = 0; k < t->lists; k++)
		{
			if (t->splitter[k] >= 0 &&
				(largest < 0 || t->members[k] > t->members[largest]))
				largest = k;
		}
		if (largest < 0)
			return filled;
		load_row(t, t->splitter[largest], centroid_of(t, j));
		t->splitter[largest] = -1;
		filled++;
	}
	return filled;
}

/* True when an earlier kept centroid is equal. */
static bool
is_duplicate(const Training *t, int list)
{
	size_t bytes = sizeof(float) * (size_t) t->task->dim;

	for (int j = 0; j < list; j++)
	{
		if (t->norm2[j] == t->norm2[list] &&
			memcmp(centroid_of(t, j), centroid_of(t, list), bytes) == 0)
			return true;
	}
	return false;
}

/*
 * Moves the used and distinct centroids to the front, back in the original
 * space.  Returns their number.
 */
static int
keep_distinct(Training *t)
{
	size_t bytes = sizeof(float) * (size_t) t->task->dim;
	int kept = 0;

	for (int j = 0; j < t->lists; j++)
	{
		float *centroid = centroid_of(t, kept);

		if (t->members[j] == 0)
			continue;
		memmove(centroid, centroid_of(t, j), bytes);
		for (int i = 0; i < t->task->dim; i++)
			centroid[i] += t->origin[i];
		vx_norms2(centroid, 1, t->task->dim, &t->norm2[kept]);
		if (!is_duplicate(t, kept))
			kept++;
	}
	return kept;
}

int
vx_kmeans(const VxKmeans *task, float *centroids, void *scratch)
{
	Training t;
	size_t misaligned = (uintptr_t) scratch % ALIGN_BYTES;
	int iterations = task->iterations > 0 ? task->iterations : 1;
	int64_t sample;
	int sampled;

	lay_out(&t, task, (char *) scratch + (ALIGN_BYTES - misaligned));
	t.task = task;
	t.lists = lists_made(task);
	t.random = task->seed;
	t.centroids = centroids;
	t.done = 0;
	sample = (int64_t) t.lists * SAMPLE_ROWS_PER_LIST;
	sampled = task->rows > sample + sample / 2 ? iterations / 2 : 0;
	t.total = sampled * sample + (iterations - sampled) * task->rows;
	memset(t.list_of, 0xff, sizeof(int32_t) * (size_t) task->rows);
	find_origin(&t);
	if (task->warm)
		shift_centroids(&t);
	else
		seed_centroids(&t);
	for (int i = 0; i < iterations; i++)
	{
		int64_t moved = assign_rows(&t, i < sampled ? sample : task->rows);

		move_centroids(&t);
		if (i + 1 == iterations || fill_empty_lists(&t) > 0 || moved > 0)
			continue;
		/* Nothing moves: done, or done with the sample. */
		if (i >= sampled)
			break;
		i = (int) sampled - 1;
	}
	if (task->progress != NULL && t.done < t.total)
		task->progress(task->progress_arg, t.total, t.total);
	return keep_distinct(&t);
}
