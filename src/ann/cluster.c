/*
 * cluster.c
 *		k-means of many lists, in two levels.
 *
 * Lloyd's k-means compares every row with every centroid.  Where lists are many
 * the sample is first divided into about sqrt(lists) groups, and each group into
 * its share of the lists; a last round over all of them lets rows at the borders
 * of groups have their say.  The work is 2 sqrt(lists) + lists comparisons a row
 * instead of several times lists.
 */
#include "postgres.h"

#include <math.h>

#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/build.h"

/* Rounds of each level. */
#define ITERATIONS 6

/* With fewer lists one level is no slower. */
#define TWO_LEVELS_MIN 128

/* The whole training, for the report of progress. */
typedef struct Training
{
	VxBuild *build;
	const VxSample *sample;
	int64 done; /* rows assigned by the steps that ended */
	int64 total;
} Training;

static void
report(void *arg, int64_t done, int64_t total)
{
	const Training *training = arg;

	CHECK_FOR_INTERRUPTS();
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 Min(training->done + done, training->total));
}

/* k-means of count rows of the sample, from row first on. */
static int
run_kmeans(Training *training, int64 first, int64 count, VxKmeans task,
		   float *centroids)
{
	Size dims = training->build->ann.dims;
	void *scratch;
	int lists;

	task.x = training->sample->x + first * dims;
	task.rows = count;
	task.dim = dims;
	task.progress = report;
	task.progress_arg = training;
	scratch = MemoryContextAllocHuge(CurrentMemoryContext,
									 vx_kmeans_scratch_bytes(&task));
	lists = vx_kmeans(&task, centroids, scratch);
	pfree(scratch);
	training->done += count * task.iterations;
	return lists;
}

/* --- groups ---------------------------------------------------------------------- */

/* The nearest group of each row. */
static int32 *
find_groups(Training *training, const float *groups, int count)
{
	const VxSample *sample = training->sample;
	Size dims = training->build->ann.dims;
	int block = vx_assign_block(count);
	int32 *group_of = MemoryContextAllocHuge(CurrentMemoryContext,
											 sizeof(int32) * sample->rows);
	float *scratch = palloc(sizeof(float) * block * count);
	float *norm2 = palloc(sizeof(float) * count);

	vx_norms2(groups, count, dims, norm2);
	for (int64 row = 0; row < sample->rows; row += block)
	{
		CHECK_FOR_INTERRUPTS();
		vx_assign(sample->x + row * dims, (int) Min(block, sample->rows - row),
				  dims, groups, norm2, count, scratch, group_of + row, NULL);
	}
	pfree(norm2);
	pfree(scratch);
	return group_of;
}

/*
 * Puts the rows of each group together, in the order they had.  group_of becomes
 * where each row went; *start (count + 1) says where groups begin.
 */
static int64 *
gather_groups(Training *training, int32 *group_of, int count)
{
	const VxSample *sample = training->sample;
	Size bytes = vx_build_vector_bytes(training->build);
	Size dims = training->build->ann.dims;
	int64 *start = palloc0(sizeof(int64) * (count + 1));
	int64 *next = palloc(sizeof(int64) * count);
	float *kept = palloc(bytes);
	float *moved = palloc(bytes);

	for (int64 row = 0; row < sample->rows; row++)
		start[group_of[row] + 1]++;
	for (int g = 0; g < count; g++)
		start[g + 1] += start[g];
	memcpy(next, start, sizeof(int64) * count);
	for (int64 row = 0; row < sample->rows; row++)
		group_of[row] = (int32) next[group_of[row]]++;
	/* Along each cycle of the permutation. */
	for (int64 row = 0; row < sample->rows; row++)
	{
		if (group_of[row] == row)
			continue;
		memcpy(kept, sample->x + row * dims, bytes);
		while (group_of[row] != row)
		{
			int32 to = group_of[row];

			memcpy(moved, sample->x + to * dims, bytes);
			memcpy(sample->x + to * dims, kept, bytes);
			memcpy(kept, moved, bytes);
			group_of[row] = group_of[to];
			group_of[to] = to;
		}
	}
	pfree(kept);
	pfree(moved);
	pfree(next);
	return start;
}

/* --- two levels ----------------------------------------------------------------------- */

/* Each group gets lists by its rows; returns how many were made. */
static int
divide_groups(Training *training, const int64 *start, int count, int lists)
{
	VxBuild *build = training->build;
	int64 rows = training->sample->rows;
	int made = 0;

	for (int g = 0; g < count; g++)
	{
		int64 here = start[g + 1] - start[g];
		int upto = (int) (lists * start[g + 1] / rows);
		VxKmeans task = {.lists = Max(upto - made, 1),
						 .iterations = ITERATIONS,
						 .seed = build->options->seed + 1 + g};

		if (here == 0 || made == lists)
			continue;
		made += run_kmeans(training, start[g], here, task,
						   build->centroids + (Size) made * build->ann.dims);
	}
	return made;
}

static int
cluster_in_two(Training *training, int lists)
{
	VxBuild *build = training->build;
	int wanted = (int) rint(sqrt(lists));
	float *groups = MemoryContextAllocHuge(
		CurrentMemoryContext, vx_build_vector_bytes(build) * wanted);
	VxKmeans task = {.lists = wanted,
					 .iterations = ITERATIONS,
					 .seed = build->options->seed};
	int count = run_kmeans(training, 0, training->sample->rows, task, groups);
	int32 *group_of = find_groups(training, groups, count);
	int64 *start = gather_groups(training, group_of, count);
	int made = divide_groups(training, start, count, lists);

	pfree(groups);
	pfree(group_of);
	pfree(start);
	task.lists = made;
	task.iterations = 1;
	task.warm = true;
	return run_kmeans(training, 0, training->sample->rows, task,
					  build->centroids);
}

double
vx_build_cluster_products(int lists)
{
	double groups = rint(sqrt(lists));

	if (lists < TWO_LEVELS_MIN)
		return (double) ITERATIONS * lists;
	/* A level of groups, and their rows found; lists of each; the last round. */
	return (ITERATIONS + 1) * groups + ITERATIONS * lists / groups + lists;
}

int
vx_build_cluster(VxBuild *build, const VxSample *sample, int lists)
{
	bool two = lists >= TWO_LEVELS_MIN;
	Training training = {.build = build, .sample = sample};
	VxKmeans task = {
		.lists = lists, .iterations = ITERATIONS, .seed = build->options->seed};

	training.total = sample->rows * (two ? 2 * ITERATIONS + 1 : ITERATIONS);
	vx_build_stage(VX_PROGRESS_KMEANS, training.total);
	return two ? cluster_in_two(&training, lists)
			   : run_kmeans(&training, 0, sample->rows, task, build->centroids);
}
