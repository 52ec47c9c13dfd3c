/*
 * cluster.c
 *		k-means of many lists, in two levels.
 *
 * Lloyd's k-means compares every row with every centroid.  Where lists are many
 * the sample is first divided into about sqrt(lists) groups, and each group into
 * its share of the lists; a last round over all of them lets rows at the borders
 * of groups have their say.  The work is 2 sqrt(lists) + lists comparisons a row
 * instead of several times lists.
 *
 * Processes share the steps of a k-means over all rows, and the groups.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ann/train.h"

/* Rounds of each level. */
#define ITERATIONS 6

/* With fewer lists one level is no slower. */
#define TWO_LEVELS_MIN 128

/* --- over all rows ---------------------------------------------------------------- */

static void
run_step(void *arg, const VxKmeansStep *step)
{
	VxTraining *training = arg;

	training->shared->job.items = step->items;
	training->shared->job.step = *step;
	vx_crew_run(training);
}

/* task: lists, iterations, seed and warm are set. */
static int
cluster_all(VxTraining *training, VxKmeans task)
{
	VxTrainShared *shared = training->shared;
	uint64 done = pg_atomic_read_u64(&shared->done);
	int made;

	task.x = training->x;
	task.rows = training->rows;
	task.dim = shared->dims;
	task.block_rows = vx_train_block_rows(training, task.lists);
	task.list_of = training->list_of;
	task.order = training->order;
	task.run = run_step;
	task.run_arg = training;
	task.progress = vx_train_progress;
	task.progress_arg = training;
	shared->job.kind = VX_TRAIN_KMEANS;
	shared->job.task = task;
	made = vx_kmeans(&task, training->centroids, training->state,
					 vx_train_work(training, &task));
	/* Rounds that were not needed count as done. */
	pg_atomic_write_u64(&shared->done, done + task.rows * task.iterations);
	return made;
}

/* The task of the job, with this process's pointers. */
static void
kmeans_item(VxTraining *training, int item)
{
	VxTrainJob *job = &training->shared->job;
	VxKmeans task = job->task;

	task.x = training->x;
	task.list_of = training->list_of;
	task.order = training->order;
	task.progress_arg = training;
	task.progress = vx_train_progress;
	vx_kmeans_item(&task, training->centroids, training->state,
				   vx_train_work(training, &task), &job->step, item);
}

/* --- groups ----------------------------------------------------------------------- */

/*
 * A part for each group, with its share of the lists.  Returns how many centroids
 * that makes.
 */
static int
plan_groups(VxTraining *training, int count, int lists)
{
	int32 *start = training->start;
	int planned = 0;

	vx_group_rows(training->list_of, training->rows, training->rows, count,
				  training->order, start);
	for (int g = 0; g < count; g++)
	{
		VxTrainPart *part = &training->parts[g];
		int upto = (int) ((int64) lists * start[g + 1] / training->rows);

		part->first = start[g];
		part->rows = start[g + 1] - start[g];
		part->place = planned;
		part->lists = Min(Max(upto - planned, 1), part->rows);
		part->lists = Min(part->lists, lists - planned);
		planned += part->lists;
	}
	return planned;
}

static void
divide_group(VxTraining *training, int group)
{
	VxTrainShared *shared = training->shared;
	VxTrainPart *part = &training->parts[group];
	VxKmeans task = {
		.x = training->x,
		.chosen = training->order + part->first,
		.rows = part->rows,
		.dim = shared->dims,
		.lists = part->lists,
		.iterations = ITERATIONS,
		.seed = shared->seed + 1 + group,
		.block_rows = vx_train_block_rows(training, part->lists),
		.list_of = training->list_of + part->first,
		.order = training->spare + part->first,
		.progress = vx_train_progress,
		.progress_arg = training,
	};
	void *state;

	if (part->lists == 0)
		return;
	state = MemoryContextAllocHuge(CurrentMemoryContext,
								   vx_kmeans_state_bytes(&task));
	part->lists = vx_kmeans(
		&task, training->centroids + (Size) part->place * shared->dims, state,
		vx_train_work(training, &task));
	pfree(state);
}

/* Groups may have made fewer centroids than planned. */
static int
close_gaps(VxTraining *training, int count)
{
	Size dims = training->shared->dims;
	int made = 0;

	for (int g = 0; g < count; g++)
	{
		const VxTrainPart *part = &training->parts[g];

		if (part->place != made)
			memmove(training->centroids + made * dims,
					training->centroids + part->place * dims,
					sizeof(float) * dims * part->lists);
		made += part->lists;
	}
	return made;
}

static int
cluster_in_two(VxTraining *training, int lists)
{
	VxTrainShared *shared = training->shared;
	VxKmeans task = {.lists = (int) rint(sqrt(lists)),
					 .iterations = ITERATIONS,
					 .seed = shared->seed};
	int count = cluster_all(training, task);
	uint64 done = pg_atomic_read_u64(&shared->done);

	(void) plan_groups(training, count, lists);
	shared->job.kind = VX_TRAIN_GROUPS;
	shared->job.items = count;
	vx_crew_run(training);
	pg_atomic_write_u64(&shared->done, done + training->rows * ITERATIONS);
	task.lists = close_gaps(training, count);
	task.iterations = 1;
	task.warm = true;
	return cluster_all(training, task);
}

/* --- entry points ------------------------------------------------------------------- */

void
vx_train_item(VxTraining *training, int item)
{
	switch (training->shared->job.kind)
	{
		case VX_TRAIN_KMEANS:
			kmeans_item(training, item);
			break;
		case VX_TRAIN_GROUPS:
			divide_group(training, item);
			break;
		case VX_TRAIN_SPLITS:
			vx_train_split(training, item);
			break;
	}
}

double
vx_build_cluster_products(int lists)
{
	double groups = rint(sqrt(lists));

	if (lists < TWO_LEVELS_MIN)
		return (double) ITERATIONS * lists;
	/* A level of groups, lists of each, the last round. */
	return ITERATIONS * groups + ITERATIONS * lists / groups + lists;
}

int
vx_train_cluster(VxTraining *training, int lists)
{
	bool two = lists >= TWO_LEVELS_MIN;
	VxKmeans task = {.lists = lists,
					 .iterations = ITERATIONS,
					 .seed = training->shared->seed};

	training->total = training->rows * (two ? 2 * ITERATIONS + 1 : ITERATIONS);
	vx_build_stage(VX_PROGRESS_KMEANS, training->total);
	return two ? cluster_in_two(training, lists) : cluster_all(training, task);
}
