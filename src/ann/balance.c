/*
 * balance.c
 *		Splits the largest lists of a clustering in two, until there are as many
 *		as wanted.
 *
 * A scan pays for the rows of the lists it visits, and it visits large lists
 * more often than small ones: evenly filled lists mean less work for the same
 * recall.
 *
 * Lists are split in rounds, so that processes can share them: in each round
 * those that are more than half as large as the largest, which is nearly what
 * taking the largest each time would choose.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ann/train.h"

#define SPLIT_ITERATIONS 8

/* A list to split; 0 rows for one that cannot be. */
typedef struct Candidate
{
	int32 list;
	int32 rows;
} Candidate;

/* --- a split ---------------------------------------------------------------------- */

/* Rows of the second half go behind the others, both in the order they had. */
static int32
divide_rows(VxTraining *training, const VxTrainPart *part)
{
	int32 *order = training->order + part->first;
	int32 *spare = training->spare + part->first;
	const int32 *half = training->list_of + part->first;
	int32 first = 0;
	int32 second = 0;

	for (int32 i = 0; i < part->rows; i++)
	{
		if (half[i] == 0)
			order[first++] = order[i];
		else
			spare[second++] = order[i];
	}
	memcpy(order + first, spare, sizeof(int32) * second);
	return second;
}

static VxKmeans
split_task(VxTraining *training, const VxTrainPart *part)
{
	return (VxKmeans){
		.x = training->x,
		.chosen = training->order + part->first,
		.rows = part->rows,
		.dim = training->shared->dims,
		.lists = 2,
		.iterations = SPLIT_ITERATIONS,
		.seed = training->shared->seed,
		.block_rows = vx_train_block_rows(training, 2),
		.list_of = training->list_of + part->first,
		.order = training->spare + part->first,
		.progress = vx_train_progress,
		.progress_arg = training,
	};
}

/*
 * Cuts a list in two.  The second half goes where its place in the job says, with
 * no rows if there is none.
 */
void
vx_train_split(VxTraining *training, int item)
{
	Size bytes = sizeof(float) * training->shared->dims;
	int32 list = training->split[item];
	VxTrainPart *part = &training->parts[list];
	VxTrainPart *second =
		&training->parts[training->shared->job.first_place + item];
	float *halves = palloc(2 * bytes);
	VxKmeans task = split_task(training, part);
	void *state = palloc(vx_kmeans_state_bytes(&task));
	int made = vx_kmeans(&task, halves, state, vx_train_work(training, &task));

	second->rows = 0;
	if (made == 2)
	{
		second->rows = divide_rows(training, part);
		part->rows -= second->rows;
		second->first = part->first + part->rows;
		memcpy(training->centroids +
				   (Size) part->place * training->shared->dims,
			   halves, bytes);
		memcpy(training->centroids +
				   (Size) second->place * training->shared->dims,
			   halves + training->shared->dims, bytes);
	}
	pfree(state);
	pfree(halves);
}

/* --- rounds ----------------------------------------------------------------------- */

/* Largest first, then the lowest list. */
static int
compare_candidates(const void *a, const void *b)
{
	const Candidate *x = a;
	const Candidate *y = b;

	if (x->rows != y->rows)
		return x->rows > y->rows ? -1 : 1;
	return x->list < y->list ? -1 : 1;
}

/* Chooses at most most lists to split; returns how many. */
static int
choose_lists(VxTraining *training, Candidate *all, int lists, int most)
{
	int chosen = 0;

	for (int i = 0; i < lists; i++)
		all[i] = (Candidate){.list = i, .rows = training->parts[i].rows};
	qsort(all, lists, sizeof(Candidate), compare_candidates);
	while (chosen < Min(most, lists) && all[chosen].rows > 1 &&
		   all[chosen].rows > all[0].rows / 2)
	{
		training->split[chosen] = all[chosen].list;
		chosen++;
	}
	return chosen;
}

/* Second halves that were made follow the lists; a list without one stays whole. */
static int
take_halves(VxTraining *training, int lists, int chosen)
{
	Size dims = training->shared->dims;
	int first = lists;

	for (int i = 0; i < chosen; i++)
	{
		const VxTrainPart *second = &training->parts[first + i];

		if (second->rows == 0)
		{
			training->parts[training->split[i]].rows = 0;
			continue;
		}
		if (first + i != lists)
			memcpy(training->centroids + lists * dims,
				   training->centroids + (first + i) * dims,
				   sizeof(float) * dims);
		training->parts[lists] = *second;
		training->parts[lists].place = lists;
		lists++;
	}
	return lists;
}

static int
split_round(VxTraining *training, Candidate *all, int lists, int most)
{
	VxTrainJob *job = &training->shared->job;
	int chosen = choose_lists(training, all, lists, most);

	for (int i = 0; i < chosen; i++)
		training->parts[lists + i].place = lists + i;
	job->kind = VX_TRAIN_SPLITS;
	job->items = chosen;
	job->first_place = lists;
	if (chosen > 0)
		vx_crew_run(training);
	return chosen;
}

int
vx_train_balance(VxTraining *training, int made, int lists)
{
	Candidate *all = palloc(sizeof(Candidate) * lists);
	int32 *start = training->start;
	int chosen;

	vx_group_rows(training->list_of, training->rows, training->rows, made,
				  training->order, start);
	for (int i = 0; i < made; i++)
		training->parts[i] = (VxTrainPart){
			.first = start[i], .rows = start[i + 1] - start[i], .place = i};
	while (made < lists &&
		   (chosen = split_round(training, all, made, lists - made)) > 0)
	{
		CHECK_FOR_INTERRUPTS();
		made = take_halves(training, made, chosen);
	}
	pfree(all);
	return made;
}
