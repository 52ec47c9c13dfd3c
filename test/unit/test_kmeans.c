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
	float *distance2 = unit_alloc(sizeof(float) * (size_t) rows);

	for (int i = 0; i < rows * dim; i++)
		x[i] = kind == 2 ? (float) vx_random_below(&state, 3)
						 : (float) (unit_gaussian(&state) + 10000.0 * kind);
	for (int i = 0; i < lists * dim; i++)
		c[i] = kind == 2 ? (float) vx_random_below(&state, 3)
						 : (float) (unit_gaussian(&state) + 10000.0 * kind);
	vx_norms2(c, lists, dim, norm2);
	vx_assign(x, rows, dim, c, norm2, lists, scratch, list, distance2);
	for (int i = 0; i < rows; i++)
	{
		int32_t want = plain_nearest(x + i * dim, c, lists, dim);
		double d = vx_kernels->norm2(x + i * dim, c + want * dim, dim);

		CHECK(list[i] == want, "dim %d lists %d kind %d row %d: %d, not %d",
			  dim, lists, kind, i, list[i], want);
		CHECK(fabs((double) distance2[i] - d) <= 1e-6 * d, "distance %g not %g",
			  distance2[i], d);
	}
	free(x);
	free(c);
	free(norm2);
	free(scratch);
	free(list);
	free(distance2);
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

static Trained
train(VxKmeans *task)
{
	size_t floats = (size_t) task->lists * (size_t) task->dim;
	size_t bytes = vx_kmeans_scratch_bytes(task);
	void *scratch = malloc(bytes); /* exact, so that overruns are seen */
	Trained t = {unit_alloc(sizeof(float) * floats), 0};

	t.made = vx_kmeans(task, t.centroids, scratch);
	free(scratch);
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

typedef struct ProgressSeen
{
	int64_t done;
	int64_t total;
	int calls;
	int stop_after;
	jmp_buf stop;
} ProgressSeen;

static void
see_progress(void *arg, int64_t done, int64_t total)
{
	ProgressSeen *seen = arg;

	CHECK(done > seen->done && done <= total, "%ld after %ld of %ld",
		  (long) done, (long) seen->done, (long) total);
	CHECK(seen->calls == 0 || total == seen->total, "total changed");
	seen->done = done;
	seen->total = total;
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
	void *scratch = unit_alloc(vx_kmeans_scratch_bytes(&task));

	CHECK(seen.calls > 8 && seen.done == seen.total, "%d calls, %ld of %ld",
		  seen.calls, (long) seen.done, (long) seen.total);
	/* Leaving from the callback owns nothing: the sanitizer sees leaks. */
	memset(&seen, 0, sizeof(seen));
	seen.stop_after = 3;
	if (setjmp(seen.stop) == 0)
	{
		vx_kmeans(&task, centroids, scratch);
		CHECK(false, "did not leave");
	}
	CHECK(seen.calls == 3, "%d calls", seen.calls);
	free(t.centroids);
	free(centroids);
	free(scratch);
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
	void *scratch = unit_alloc(vx_kmeans_scratch_bytes(&task));
	double after = before;

	task.warm = true;
	for (int i = 0; i < 9; i++)
	{
		/* A list that lost its last member is gone. */
		task.lists = cold.made = vx_kmeans(&task, cold.centroids, scratch);
		CHECK(cold.made >= 5 && cold.made <= 8, "%d lists", cold.made);
		CHECK(mean_distance2(&task, &cold) <= after * 1.00001, "round %d", i);
		after = mean_distance2(&task, &cold);
	}
	CHECK(after < before * 0.999, "%g after %g", after, before);
	free(cold.centroids);
	free(scratch);
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
	{"kmeans: reports progress, may be left", kmeans_reports_progress},
	{NULL, NULL},
};
