/*
 * kmeans.c
 *		Lloyd's k-means, in steps whose items several processes can share.
 *
 * A round has two steps: blocks of rows are assigned to the nearest centroids,
 * then each centroid moves to the mean of its rows, summed in the order of the
 * rows by whoever takes that list.  So results follow from input and seed, not
 * from who did what.  Between the steps one process alone groups the rows by
 * list.
 */
#include <math.h>
#include <string.h>

#include "quant/quant.h"
#include "quant/random.h"

#define BLOCK_ROWS_MIN 64

/* Rows behind the origin that k-means computes around. */
#define MEAN_ROWS 512

/* Rows a list that the first half of the iterations looks at. */
#define SAMPLE_ROWS_PER_LIST 64

/* Rows summed between two calls of progress; a power of two. */
#define SUM_ROWS 1024

/* Kinds of steps. */
#define ASSIGN_BLOCKS 0
#define MOVE_CENTROIDS 1

/* One vx_kmeans call as a process sees it. */
typedef struct Training
{
	const VxKmeans *task;
	int lists;
	int block_rows;
	float *centroids; /* relative to origin while training */
	/* In the state: */
	int64_t *moved;	   /* rows that changed their list in this round */
	float *origin;	   /* mean of some rows */
	float *norm2;	   /* |c|^2 by list */
	int32_t *start;	   /* of each list in task->order, and the end */
	int32_t *splitter; /* a row that differs from the centroid, -1 none */
	/* In the work: */
	float *block; /* rows relative to origin */
	float *dots;
	double *sum;	   /* of a list */
	int32_t *assigned; /* by row of a block */
} Training;

static int
lists_made(const VxKmeans *task)
{
	return task->lists < task->rows ? task->lists : (int) task->rows;
}

/* At most an eighth of the rows: a small sample needs little memory. */
static int
block_rows_of(const VxKmeans *task)
{
	int rows = vx_assign_block(lists_made(task));
	int64_t most = task->block_rows > 0 ? task->block_rows : task->rows / 8;

	if (task->block_rows <= 0 && most < BLOCK_ROWS_MIN)
		most = BLOCK_ROWS_MIN;
	if (most > task->rows)
		most = task->rows;
	return rows < most ? rows : (int) most;
}

/* Takes count items of size bytes from base at *used, 64 bytes apart. */
static void *
carve(char *base, size_t *used, size_t count, size_t size)
{
	void *start = base == NULL ? NULL : base + *used;

	*used += (count * size + 63) / 64 * 64;
	return start;
}

/* Lay training out in state and work (NULL: measure only); return the bytes. */

static size_t
lay_out_state(Training *t, char *state)
{
	size_t lists = (size_t) t->lists;
	size_t used = 0;

	t->moved = carve(state, &used, 1, sizeof(int64_t));
	t->origin = carve(state, &used, (size_t) t->task->dim, sizeof(float));
	t->norm2 = carve(state, &used, lists, sizeof(float));
	t->start = carve(state, &used, lists + 1, sizeof(int32_t));
	t->splitter = carve(state, &used, lists, sizeof(int32_t));
	return used;
}

static size_t
lay_out_work(Training *t, char *work)
{
	size_t dim = (size_t) t->task->dim;
	size_t rows = (size_t) t->block_rows;
	size_t used = 0;

	t->block = carve(work, &used, rows * dim, sizeof(float));
	t->dots = carve(work, &used, rows * (size_t) t->lists, sizeof(float));
	t->sum = carve(work, &used, dim, sizeof(double));
	t->assigned = carve(work, &used, rows, sizeof(int32_t));
	return used;
}

static Training
training_of(const VxKmeans *task, float *centroids)
{
	return (Training){
		.task = task,
		.lists = lists_made(task),
		.block_rows = block_rows_of(task),
		.centroids = centroids,
	};
}

size_t
vx_kmeans_state_bytes(const VxKmeans *task)
{
	Training t = training_of(task, NULL);

	return lay_out_state(&t, NULL);
}

size_t
vx_kmeans_work_bytes(const VxKmeans *task)
{
	Training t = training_of(task, NULL);

	return lay_out_work(&t, NULL);
}

static void
report(const Training *t, int rows)
{
	if (t->task->progress != NULL)
		t->task->progress(t->task->progress_arg, rows);
}

static const float *
task_row(const VxKmeans *task, int64_t row)
{
	int64_t at = task->chosen == NULL ? row : task->chosen[row];

	return task->x + (size_t) at * (size_t) task->dim;
}

/* Asks for a row that comes next: rows of a list lie anywhere in the memory. */
static void
fetch_row(const VxKmeans *task, int64_t row)
{
	const char *bytes = (const char *) task_row(task, row);

	for (int i = 0; i < task->dim * (int) sizeof(float); i += 64)
		__builtin_prefetch(bytes + i);
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

	memset(t->sum, 0, sizeof(double) * (size_t) task->dim);
	for (int64_t i = 0; i < wanted; i++)
		add_row(t->sum, task_row(task, strided(i, task->rows, wanted)),
				task->dim);
	for (int i = 0; i < task->dim; i++)
		t->origin[i] = (float) (t->sum[i] / (double) wanted);
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
seed_centroids(Training *t, uint64_t *random)
{
	int64_t rows = t->task->rows;
	int made = 0;

	for (int64_t i = 0; i < rows && made < t->lists; i++)
	{
		uint32_t left = (uint32_t) (rows - i);

		if (vx_random_below(random, left) < (uint32_t) (t->lists - made))
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

/* --- items -------------------------------------------------------------- */

static void
assign_block(Training *t, const VxKmeansStep *step, int item)
{
	const VxKmeans *task = t->task;
	int64_t first = (int64_t) item * t->block_rows;
	int64_t left = step->rows - first;
	int rows = left < t->block_rows ? (int) left : t->block_rows;
	int64_t moved = 0;

	for (int i = 0; i < rows; i++)
	{
		if (i + 1 < rows)
			fetch_row(task, strided(first + i + 1, task->rows, step->rows));
		load_row(t, strided(first + i, task->rows, step->rows),
				 t->block + (size_t) i * (size_t) task->dim);
	}
	vx_assign(t->block, rows, task->dim, t->centroids, t->norm2, t->lists,
			  t->dots, t->assigned);
	for (int i = 0; i < rows; i++)
	{
		int32_t *list =
			&task->list_of[strided(first + i, task->rows, step->rows)];

		moved += *list != t->assigned[i];
		*list = t->assigned[i];
	}
	__atomic_fetch_add(t->moved, moved, __ATOMIC_RELAXED);
	report(t, rows);
}

/* One of a list's rows that differ from its centroid, at random; -1: none. */
static int32_t
choose_splitter(Training *t, int list, uint64_t seed)
{
	uint64_t random = seed + (uint64_t) list;
	uint32_t away = 0;
	int32_t splitter = -1;

	for (int32_t i = t->start[list]; i < t->start[list + 1]; i++)
	{
		load_row(t, t->task->order[i], t->block);
		if (vx_kernels->l2_squared(t->block, centroid_of(t, list),
								   t->task->dim) > 0 &&
			vx_random_below(&random, ++away) == 0)
			splitter = t->task->order[i];
	}
	return splitter;
}

/* To the mean of its rows, if it has any. */
static void
move_centroid(Training *t, const VxKmeansStep *step, int list)
{
	int dim = t->task->dim;
	float *centroid = centroid_of(t, list);
	int32_t first = t->start[list];
	int32_t members = t->start[list + 1] - first;

	t->splitter[list] =
		step->refill ? choose_splitter(t, list, step->seed) : -1;
	if (members == 0)
		return;
	memset(t->sum, 0, sizeof(double) * (size_t) dim);
	for (int32_t i = 0; i < members; i++)
	{
		if (i + 1 < members)
			fetch_row(t->task, t->task->order[first + i + 1]);
		add_row(t->sum, task_row(t->task, t->task->order[first + i]), dim);
		if (i % SUM_ROWS == SUM_ROWS - 1)
			report(t, 0);
	}
	for (int i = 0; i < dim; i++)
		centroid[i] =
			(float) (t->sum[i] / (double) members - (double) t->origin[i]);
}

static void
run_item(Training *t, const VxKmeansStep *step, int item)
{
	if (step->kind == ASSIGN_BLOCKS)
		assign_block(t, step, item);
	else
		move_centroid(t, step, item);
}

void
vx_kmeans_item(const VxKmeans *task, float *centroids, void *state, void *work,
			   const VxKmeansStep *step, int item)
{
	Training t = training_of(task, centroids);

	lay_out_state(&t, state);
	lay_out_work(&t, work);
	run_item(&t, step, item);
}

/* --- rounds ------------------------------------------------------------- */

void
vx_group_rows(const int32_t *list_of, int64_t rows, int64_t count, int lists,
			  int32_t *order, int32_t *start)
{
	/* start[j + 1] runs from the begin of list j to its end. */
	memset(start, 0, sizeof(int32_t) * ((size_t) lists + 1));
	for (int64_t i = 0; i < count; i++)
		start[list_of[strided(i, rows, count)] + 1]++;
	for (int32_t j = 0, sum = 0; j < lists; j++)
	{
		int32_t members = start[j + 1];

		start[j + 1] = sum;
		sum += members;
	}
	for (int64_t i = 0; i < count; i++)
	{
		int64_t row = strided(i, rows, count);

		order[start[list_of[row] + 1]++] = (int32_t) row;
	}
}

static int32_t
members_of(const Training *t, int list)
{
	return t->start[list + 1] - t->start[list];
}

static bool
has_empty_list(const Training *t)
{
	for (int j = 0; j < t->lists; j++)
	{
		if (members_of(t, j) == 0)
			return true;
	}
	return false;
}

static void
run_step(Training *t, const VxKmeansStep *step)
{
	if (t->task->run != NULL)
		t->task->run(t->task->run_arg, step);
	else
		for (int i = 0; i < step->items; i++)
			run_item(t, step, i);
}

/*
 * Assigns rows of them, spread over all, and moves the centroids; refill is
 * whether rows for empty lists are wanted.
 */
static void
run_round(Training *t, int64_t rows, bool refill, uint64_t seed)
{
	VxKmeansStep step = {.kind = ASSIGN_BLOCKS, .rows = rows, .seed = seed};

	step.items = (int) ((rows + t->block_rows - 1) / t->block_rows);
	*t->moved = 0;
	vx_norms2(t->centroids, t->lists, t->task->dim, t->norm2);
	run_step(t, &step);
	vx_group_rows(t->task->list_of, t->task->rows, rows, t->lists,
				  t->task->order, t->start);
	step.kind = MOVE_CENTROIDS;
	step.items = t->lists;
	step.refill = refill && has_empty_list(t);
	run_step(t, &step);
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

		if (members_of(t, j) != 0)
			continue;
		for (int k = 0; k < t->lists; k++)
		{
			if (t->splitter[k] >= 0 &&
				(largest < 0 || members_of(t, k) > members_of(t, largest)))
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

/* The kept centroid among the first kept that equals the one behind them. */
static int
find_equal(const Training *t, int kept)
{
	size_t bytes = sizeof(float) * (size_t) t->task->dim;

	for (int j = 0; j < kept; j++)
	{
		if (t->norm2[j] == t->norm2[kept] &&
			memcmp(centroid_of(t, j), centroid_of(t, kept), bytes) == 0)
			return j;
	}
	return kept;
}

/*
 * Moves the used and distinct centroids to the front, back in the original
 * space.  Returns their number.
 */
static int
keep_distinct(Training *t)
{
	size_t bytes = sizeof(float) * (size_t) t->task->dim;
	int32_t *place = t->splitter; /* not needed any more */
	int kept = 0;

	for (int j = 0; j < t->lists; j++)
	{
		float *centroid = centroid_of(t, kept);

		if (members_of(t, j) == 0)
			continue;
		memmove(centroid, centroid_of(t, j), bytes);
		for (int i = 0; i < t->task->dim; i++)
			centroid[i] += t->origin[i];
		vx_norms2(centroid, 1, t->task->dim, &t->norm2[kept]);
		place[j] = find_equal(t, kept);
		kept += place[j] == kept;
		report(t, 0);
	}
	for (int64_t i = 0; i < t->task->rows; i++)
		t->task->list_of[i] = place[t->task->list_of[i]];
	return kept;
}

int
vx_kmeans(const VxKmeans *task, float *centroids, void *state, void *work)
{
	Training t = training_of(task, centroids);
	uint64_t random = task->seed;
	int iterations = task->iterations > 0 ? task->iterations : 1;
	int64_t sample = (int64_t) t.lists * SAMPLE_ROWS_PER_LIST;
	int sampled = task->rows > sample + sample / 2 ? iterations / 2 : 0;

	lay_out_state(&t, state);
	lay_out_work(&t, work);
	memset(task->list_of, 0xff, sizeof(int32_t) * (size_t) task->rows);
	find_origin(&t);
	if (task->warm)
		shift_centroids(&t);
	else
		seed_centroids(&t, &random);
	for (int i = 0; i < iterations; i++)
	{
		bool last = i + 1 == iterations;

		run_round(&t, i < sampled ? sample : task->rows, !last,
				  vx_random_next(&random));
		if (last || fill_empty_lists(&t) > 0 || *t.moved > 0)
			continue;
		/* Nothing moves: done, or done with the sample. */
		if (i >= sampled)
			break;
		i = sampled - 1;
	}
	return keep_distinct(&t);
}
