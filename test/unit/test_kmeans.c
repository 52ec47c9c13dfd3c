/*
 * test_kmeans.c
 *		Assignment against brute force, and k-means on easy and on degenerate
 *		data.
 */
#include <math.h>
#include <setjmp.h>
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

static int32_t
plain_nearest(const float *x, const float *centroids, int lists, int dim)
{
	double best = INFINITY;
	int32_t list = 0;

	for (int j = 0; j < lists; j++)
	{
		double d = vx_kernels->norm2(x, centroids + j * dim, dim);

		if (d < best)
		{
			best = d;
			list = j;
		}
	}
	return list;
}

/* kind 0: Gaussian; 1: far from the origin; 2: small integers, many ties. */
static void
check_assign(int dim, int lists, int rows, int kind)
{
	uint64_t state = (uint64_t) (dim + lists + kind) + 61;
	float *x = unit_alloc(sizeof(float) * (size_t) (rows * dim));
	float *c = unit_alloc(sizeof(float) * (size_t) (lists * dim));
	float *norm2 = unit_alloc(sizeof(float) * (size_t) lists);
	float *scratch = unit_alloc(sizeof(float) * (size_t) (rows * lists));
	int32_t *list = unit_alloc(sizeof(int32_t) * (size_t) rows);

	for (int i = 0; i < rows * dim; i++)
		x[i] = kind == 2 ? (float) vx_random_below(&state, 3)
						 : (float) (unit_gaussian(&state) + 10000.0 * kind);
	for (int i = 0; i < lists * dim; i++)
		c[i] = kind == 2 ? (float) vx_random_below(&state, 3)
						 : (float) (unit_gaussian(&state) + 10000.0 * kind);
	vx_norms2(c, lists, dim, norm2);
	vx_assign(x, rows, dim, c, norm2, lists, scratch, list);
	for (int i = 0; i < rows; i++)
	{
		int32_t want = plain_nearest(x + i * dim, c, lists, dim);

		CHECK(list[i] == want, "dim %d lists %d kind %d row %d: %d, not %d",
			  dim, lists, kind, i, list[i], want);
	}
	free(x);
	free(c);
	free(norm2);
	free(scratch);
	free(list);
}

static void
assign_is_nearest(void)
{
	static const int dims[] = {1, 2, 3, 8, 33, 100, 384};

	for (int d = 0; d < 7; d++)
	{
		for (int kind = 0; kind < 3; kind++)
		{
			check_assign(dims[d], 1, 5, kind);
			check_assign(dims[d], 2, 1, kind);
			check_assign(dims[d], 50, 3, kind);
			check_assign(dims[d], 77, vx_assign_block(77) / 8, kind);
		}
	}
	CHECK(vx_assign_block(1) >= 1 && vx_assign_block(1 << 20) >= 1, "block");
}

typedef struct Trained
{
	float *centroids;
	int made;
} Trained;

/* Memory of a task, exact, so that overruns are seen. */
typedef struct Memory
{
	void *state;
	void *work;
} Memory;

static Memory
allocate(VxKmeans *task)
{
	size_t bytes = sizeof(int32_t) * (size_t) task->rows;

	task->list_of = malloc(bytes);
	task->order = malloc(bytes);
	return (Memory){malloc(vx_kmeans_state_bytes(task)),
					malloc(vx_kmeans_work_bytes(task))};
}

static void
release(VxKmeans *task, Memory memory)
{
	free(task->list_of);
	free(task->order);
	free(memory.state);
	free(memory.work);
}

/* Every row is in a list that was made. */
static void
check_lists(const VxKmeans *task, int made)
{
	for (int64_t i = 0; i < task->rows; i++)
		CHECK(task->list_of[i] >= 0 && task->list_of[i] < made,
			  "row %ld of %ld in list %d of %d", (long) i, (long) task->rows,
			  task->list_of[i], made);
}

static Trained
train(VxKmeans *task)
{
	size_t floats = (size_t) task->lists * (size_t) task->dim;
	Memory memory = allocate(task);
	Trained t = {unit_alloc(sizeof(float) * floats), 0};

	t.made = vx_kmeans(task, t.centroids, memory.state, memory.work);
	check_lists(task, t.made);
	release(task, memory);
	return t;
}

static double
mean_distance2(const VxKmeans *task, const Trained *t)
{
	double sum = 0;

	for (int64_t i = 0; i < task->rows; i++)
	{
		const float *x = task->x + i * task->dim;
		int32_t j = plain_nearest(x, t->centroids, t->made, task->dim);

		sum += vx_kernels->norm2(x, t->centroids + j * task->dim, task->dim);
	}
	return sum / (double) task->rows;
}

/* rows around blobs centres at distance ~10 with radius ~1, times scale. */
static float *
blobs(int rows, int dim, int blobs, float offset)
{
	uint64_t state = 62;
	float *x = unit_alloc(sizeof(float) * (size_t) (rows * dim));
	float *c = unit_alloc(sizeof(float) * (size_t) (blobs * dim));

	for (int i = 0; i < blobs * dim; i++)
		c[i] = (float) (10.0 * unit_gaussian(&state));
	for (int i = 0; i < rows; i++)
	{
		const float *from =
			c + (int) vx_random_below(&state, (uint32_t) blobs) * dim;

		for (int j = 0; j < dim; j++)
			x[i * dim + j] = offset + from[j] + (float) unit_gaussian(&state);
	}
	free(c);
	return x;
}

/*
 * 8 blobs and 32 lists: every blob gets a list, so the mean squared distance
 * is below dim = 16 (one list a blob gives 16.0; measured 14.2).
 */
static void
kmeans_finds_blobs(void)
{
	float *x = blobs(6000, 16, 8, 0.0f);
	VxKmeans task = {.x = x,
					 .rows = 6000,
					 .dim = 16,
					 .lists = 32,
					 .iterations = 10,
					 .seed = 5};
	Trained t = train(&task);
	double mean = mean_distance2(&task, &t);

	CHECK(t.made == 32, "%d lists", t.made);
	CHECK(mean < 16.0, "mean squared distance %g", mean);
	free(t.centroids);
	free(x);
}

/* The same far from the origin, where float norms hide the clusters. */
static void
kmeans_far_away(void)
{
	float *x = blobs(3000, 16, 8, 10000.0f);
	VxKmeans task = {.x = x,
					 .rows = 3000,
					 .dim = 16,
					 .lists = 24,
					 .iterations = 10,
					 .seed = 5};
	Trained t = train(&task);
	double mean = mean_distance2(&task, &t);

	CHECK(mean < 16.0, "mean squared distance %g", mean);
	free(t.centroids);
	free(x);
}

static void
kmeans_follows_seed(void)
{
	float *x = blobs(5000, 9, 20, 0.0f);
	VxKmeans task = {.x = x,
					 .rows = 5000,
					 .dim = 9,
					 .lists = 40,
					 .iterations = 6,
					 .seed = 7};
	Trained a = train(&task);
	Trained b = train(&task);
	Trained c;

	task.seed = 8;
	c = train(&task);
	CHECK(a.made == b.made &&
			  memcmp(a.centroids, b.centroids, sizeof(float) * 40 * 9) == 0,
		  "same seed, other centroids");
	CHECK(memcmp(a.centroids, c.centroids, sizeof(float) * 40 * 9) != 0,
		  "other seed, same centroids");
	free(a.centroids);
	free(b.centroids);
	free(c.centroids);
	free(x);
}

/* rows of only distinct values, all different from each other. */
static void
check_degenerate(int rows, int distinct, int lists, float offset)
{
	enum
	{
		DIM = 5
	};
	uint64_t state = 63;
	float *x = unit_alloc(sizeof(float) * (size_t) (rows * DIM));
	VxKmeans task = {.x = x,
					 .rows = rows,
					 .dim = DIM,
					 .lists = lists,
					 .iterations = 12,
					 .seed = 1};
	int most = lists < distinct ? lists : distinct;
	Trained t;

	for (int i = 0; i < rows * DIM; i++)
	{
		if (i < distinct * DIM)
			x[i] = offset + (float) unit_gaussian(&state);
		else
			x[i] = x[i % (distinct * DIM)];
	}
	t = train(&task);
	CHECK(t.made >= 1 && t.made <= most, "%d rows, %d distinct, %d lists: %d",
		  rows, distinct, lists, t.made);
	/* Splitting doubles what is found in each of 12 iterations. */
	CHECK(t.made == most, "%d rows, %d distinct, %d lists: only %d", rows,
		  distinct, lists, t.made);
	for (int j = 1; j < t.made; j++)
	{
		for (int k = 0; k < j; k++)
			CHECK(memcmp(t.centroids + j * DIM, t.centroids + k * DIM,
						 sizeof(float) * DIM) != 0,
				  "centroids %d and %d are equal", j, k);
	}
	if (distinct <= lists)
		CHECK(mean_distance2(&task, &t) <= 1e-10 * (1.0 + offset * offset),
			  "%d rows, %d distinct: distance %g", rows, distinct,
			  mean_distance2(&task, &t));
	free(t.centroids);
	free(x);
}

static void
kmeans_degenerate(void)
{
	check_degenerate(1, 1, 1, 0);
	check_degenerate(1, 1, 10, 0);
	check_degenerate(500, 1, 1, 0);
	check_degenerate(500, 1, 20, 0);
	check_degenerate(500, 1, 20, 10000);
	check_degenerate(500, 2, 20, 0);
	check_degenerate(500, 7, 20, 100);
	check_degenerate(10, 10, 20, 0);
	check_degenerate(20, 20, 20, 0);
	check_degenerate(500, 100, 20, 0);
}

/* Zeros, and values whose squares overflow float: no crash, finite result. */
static void
kmeans_extreme_values(void)
{
	static const float sizes[] = {0.0f, 1e-42f, 1e-30f, 1e19f, 1e30f};

	for (int k = 0; k < 5; k++)
	{
		float *x = blobs(300, 8, 3, 0.0f);
		VxKmeans task = {.x = x,
						 .rows = 300,
						 .dim = 8,
						 .lists = 10,
						 .iterations = 4,
						 .seed = 1};
		Trained t;

		for (int i = 0; i < 300 * 8; i++)
			x[i] *= sizes[k];
		t = train(&task);
		CHECK(t.made >= 1 && t.made <= 10, "size %g: %d", sizes[k], t.made);
		for (int i = 0; i < t.made * 8; i++)
			CHECK(isfinite(t.centroids[i]), "size %g: %g", sizes[k],
				  t.centroids[i]);
		free(t.centroids);
		free(x);
	}
}

/* --- steps ------------------------------------------------------------ */

/* Another process: memory of its own for work, and no order in what it takes. */
typedef struct Other
{
	const VxKmeans *task;
	float *centroids;
	void *state;
	void *work[2];
} Other;

static void
run_backwards(void *arg, const VxKmeansStep *step)
{
	Other *other = arg;

	for (int i = step->items - 1; i >= 0; i--)
		vx_kmeans_item(other->task, other->centroids, other->state,
					   other->work[i % 2], step, i);
}

/* The result of a task does not depend on who runs its items, nor on blocks. */
static void
check_steps(VxKmeans *task, const Trained *want, int block_rows)
{
	float *centroids =
		unit_alloc(sizeof(float) * (size_t) task->lists * (size_t) task->dim);
	Other other = {.task = task, .centroids = centroids};
	Memory memory;
	int made;

	task->block_rows = block_rows;
	memory = allocate(task);
	other.state = memory.state;
	other.work[0] = malloc(vx_kmeans_work_bytes(task));
	other.work[1] = malloc(vx_kmeans_work_bytes(task));
	task->run = run_backwards;
	task->run_arg = &other;
	made = vx_kmeans(task, centroids, memory.state, memory.work);
	CHECK(made == want->made &&
			  memcmp(centroids, want->centroids,
					 sizeof(float) * (size_t) made * (size_t) task->dim) == 0,
		  "blocks of %d: other centroids, %d and %d", block_rows, made,
		  want->made);
	check_lists(task, made);
	release(task, memory);
	free(other.work[0]);
	free(other.work[1]);
	free(centroids);
	task->run = NULL;
	task->block_rows = 0;
}

static void
kmeans_in_steps(void)
{
	static const int lists[] = {1, 2, 37, 400};
	float *x = blobs(3000, 7, 20, 5.0f);

	for (int i = 0; i < 4; i++)
	{
		VxKmeans task = {.x = x,
						 .rows = 3000,
						 .dim = 7,
						 .lists = lists[i],
						 .iterations = 6,
						 .seed = 9};
		Trained t = train(&task);

		check_steps(&task, &t, 1);
		check_steps(&task, &t, 100);
		check_steps(&task, &t, 1 << 20);
		free(t.centroids);
	}
	free(x);
}

/* Chosen rows give what they give when they stand alone. */
static void
kmeans_of_chosen_rows(void)
{
	enum
	{
		ROWS = 2000,
		DIM = 6
	};
	float *x = blobs(2 * ROWS, DIM, 9, 1.0f);
	float *alone = unit_alloc(sizeof(float) * ROWS * DIM);
	int32_t *chosen = unit_alloc(sizeof(int32_t) * ROWS);
	VxKmeans task = {.x = x,
					 .chosen = chosen,
					 .rows = ROWS,
					 .dim = DIM,
					 .lists = 25,
					 .iterations = 6,
					 .seed = 4};
	Trained some, all;

	for (int i = 0; i < ROWS; i++)
	{
		chosen[i] = 2 * ROWS - 1 - 2 * i;
		memcpy(alone + i * DIM, x + chosen[i] * DIM, sizeof(float) * DIM);
	}
	some = train(&task);
	task.x = alone;
	task.chosen = NULL;
	all = train(&task);
	CHECK(some.made == all.made &&
			  memcmp(some.centroids, all.centroids,
					 sizeof(float) * (size_t) all.made * DIM) == 0,
		  "chosen rows: %d lists, alone %d", some.made, all.made);
	free(some.centroids);
	free(all.centroids);
	free(x);
	free(alone);
	free(chosen);
}

static void
rows_are_grouped(void)
{
	static const int32_t list_of[] = {2, 0, 3, 2, 2, 0, 3};
	static const int32_t by_list[] = {1, 5, 0, 3, 4, 2, 6};
	static const int32_t begins[] = {0, 2, 2, 5, 7};
	int32_t order[7];
	int32_t start[5];

	vx_group_rows(list_of, 7, 7, 4, order, start);
	CHECK(memcmp(order, by_list, sizeof(order)) == 0, "order");
	CHECK(memcmp(start, begins, sizeof(start)) == 0, "start");
	/* Rows 0, 2 and 4 of them. */
	vx_group_rows(list_of, 7, 3, 4, order, start);
	CHECK(order[0] == 0 && order[1] == 4 && order[2] == 2, "%d %d %d", order[0],
		  order[1], order[2]);
	CHECK(start[2] == 0 && start[3] == 2 && start[4] == 3, "start of some");
}

/* --- progress --------------------------------------------------------- */

typedef struct ProgressSeen
{
	int64_t done;
	int calls;
	int stop_after;
	jmp_buf stop;
} ProgressSeen;

static void
see_progress(void *arg, int rows)
{
	ProgressSeen *seen = arg;

	CHECK(rows >= 0, "%d rows", rows);
	seen->done += rows;
	seen->calls++;
	if (seen->calls == seen->stop_after)
		longjmp(seen->stop, 1);
}

static void
kmeans_reports_progress(void)
{
	float *x = blobs(4000, 4, 5, 0.0f);
	ProgressSeen seen = {0};
	VxKmeans task = {.x = x,
					 .rows = 4000,
					 .dim = 4,
					 .lists = 10,
					 .iterations = 8,
					 .seed = 1,
					 .progress = see_progress,
					 .progress_arg = &seen};
	Trained t = train(&task);
	float *centroids = unit_alloc(sizeof(float) * 10 * 4);
	Memory memory = allocate(&task);

	/* Some rounds of 640 rows, then at least one of all. */
	CHECK(seen.calls > 8 && seen.done >= 4640 && seen.done <= 4 * 4640,
		  "%d calls, %ld rows", seen.calls, (long) seen.done);
	/* Leaving from the callback owns nothing: the sanitizer sees leaks. */
	memset(&seen, 0, sizeof(seen));
	seen.stop_after = 3;
	if (setjmp(seen.stop) == 0)
	{
		vx_kmeans(&task, centroids, memory.state, memory.work);
		CHECK(false, "did not leave");
	}
	CHECK(seen.calls == 3, "%d calls", seen.calls);
	free(t.centroids);
	free(centroids);
	release(&task, memory);
	free(x);
}

/* Rounds from given centroids never get worse, and here better. */
static void
kmeans_starts_warm(void)
{
	float *x = blobs(3000, 16, 8, 100.0f);
	VxKmeans task = {.x = x,
					 .rows = 3000,
					 .dim = 16,
					 .lists = 8,
					 .iterations = 1,
					 .seed = 3};
	Trained cold = train(&task);
	double before = mean_distance2(&task, &cold);
	Memory memory = allocate(&task);
	double after = before;

	task.warm = true;
	for (int i = 0; i < 9; i++)
	{
		/* A list that lost its last member is gone. */
		task.lists = cold.made =
			vx_kmeans(&task, cold.centroids, memory.state, memory.work);
		CHECK(cold.made >= 5 && cold.made <= 8, "%d lists", cold.made);
		CHECK(mean_distance2(&task, &cold) <= after * 1.00001, "round %d", i);
		after = mean_distance2(&task, &cold);
	}
	CHECK(after < before * 0.999, "%g after %g", after, before);
	free(cold.centroids);
	release(&task, memory);
	free(x);
}

static void
library_loads(void)
{
	const char *failure = vx_blas_open();

	CHECK(failure == NULL, "%s", failure);
}

const UnitTest kmeans_tests[] = {
	{"kmeans: the matrix library loads", library_loads},
	{"kmeans: assignment is the nearest", assign_is_nearest},
	{"kmeans: finds blobs", kmeans_finds_blobs},
	{"kmeans: far from the origin", kmeans_far_away},
	{"kmeans: follows the seed", kmeans_follows_seed},
	{"kmeans: goes on from given centroids", kmeans_starts_warm},
	{"kmeans: few distinct rows", kmeans_degenerate},
	{"kmeans: zero, tiny and huge values", kmeans_extreme_values},
	{"kmeans: items in any order, blocks of any size", kmeans_in_steps},
	{"kmeans: chosen rows", kmeans_of_chosen_rows},
	{"kmeans: rows grouped by list", rows_are_grouped},
	{"kmeans: reports progress, may be left", kmeans_reports_progress},
	{NULL, NULL},
};
