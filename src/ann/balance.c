/*
 * balance.c
 *		Splits the largest lists of a clustering in two, until there are as many
 *		as wanted.
 *
 * A scan pays for the rows of the lists it visits, and it visits large lists
 * more often than small ones: evenly filled lists mean less work for the same
 * recall.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/memutils.h"

#include "ann/build.h"

#define SPLIT_ITERATIONS 8

typedef struct Balance
{
	VxBuild *build;
	const VxSample *sample;
	int32 *list_of; /* by row of the sample */
	int64 *members; /* by list; 0 also when it cannot be split */
	float *rows;	/* the members of one list */
	int64 *numbers; /* their places in the sample */
	int64 rows_max;
} Balance;

/* Assigns the sample to the centroids as they are. */
static void
assign_sample(Balance *b)
{
	VxBuild *build = b->build;
	Size dims = build->ann.dims;
	int64 rows = b->sample->rows;
	int block = vx_assign_block(build->lists);
	float *norm2 = palloc(sizeof(float) * build->lists);
	float *products;

	/* As little as k-means took. */
	block = Min(block, Max(64, rows / 8));
	products = palloc(sizeof(float) * block * build->lists);
	vx_norms2(build->centroids, build->lists, dims, norm2);
	for (int64 at = 0; at < rows; at += block)
	{
		CHECK_FOR_INTERRUPTS();
		vx_assign(b->sample->x + at * dims, (int) Min(block, rows - at), dims,
				  build->centroids, norm2, build->lists, products,
				  b->list_of + at, NULL);
	}
	for (int64 i = 0; i < rows; i++)
		b->members[b->list_of[i]]++;
	pfree(products);
	pfree(norm2);
}

static int
largest_list(const Balance *b)
{
	int largest = 0;

	for (int i = 1; i < b->build->lists; i++)
		if (b->members[i] > b->members[largest])
			largest = i;
	return largest;
}

/* Copies the list's members, as many as there is room for. */
static int64
gather(Balance *b, int list)
{
	Size dims = b->build->ann.dims;
	int64 count = 0;

	for (int64 i = 0; i < b->sample->rows && count < b->rows_max; i++)
	{
		if (b->list_of[i] != list)
			continue;
		memcpy(b->rows + count * dims, b->sample->x + i * dims,
			   sizeof(float) * dims);
		b->numbers[count++] = i;
	}
	return count;
}

/* Cuts a list in two; the second half becomes the last list. */
static void
split(Balance *b, int list)
{
	VxBuild *build = b->build;
	Size dims = build->ann.dims;
	int64 count = gather(b, list);
	float *halves = palloc(sizeof(float) * 2 * dims);
	VxKmeans task = {
		.x = b->rows,
		.rows = count,
		.dim = dims,
		.lists = 2,
		.iterations = SPLIT_ITERATIONS,
		.seed = build->options->seed,
	};
	void *scratch = MemoryContextAllocHuge(CurrentMemoryContext,
										   vx_kmeans_scratch_bytes(&task));
	int made = vx_kmeans(&task, halves, scratch);

	b->members[list] = 0;
	if (made == 2)
	{
		int added = build->lists++;

		memcpy(build->centroids + list * dims, halves, sizeof(float) * dims);
		memcpy(build->centroids + added * dims, halves + dims,
			   sizeof(float) * dims);
		for (int64 i = 0; i < count; i++)
		{
			const float *x = b->rows + i * dims;
			bool second = vx_kernels->l2_squared(x, halves + dims, dims) <
						  vx_kernels->l2_squared(x, halves, dims);

			b->list_of[b->numbers[i]] = second ? added : list;
			b->members[second ? added : list]++;
		}
	}
	pfree(scratch);
	pfree(halves);
}

void
vx_build_balance(VxBuild *build, const VxSample *sample, int lists, Size memory)
{
	Balance b = {.build = build, .sample = sample};
	int largest;

	b.rows_max = Max(memory / 2 / vx_build_vector_bytes(build), 2);
	b.list_of = palloc(sizeof(int32) * sample->rows);
	b.members = palloc0(sizeof(int64) * lists);
	assign_sample(&b);
	largest = largest_list(&b);
	b.rows_max = Min(b.rows_max, b.members[largest]);
	b.rows = MemoryContextAllocHuge(CurrentMemoryContext,
									b.rows_max * vx_build_vector_bytes(build));
	b.numbers = palloc(sizeof(int64) * b.rows_max);
	while (build->lists < lists && b.members[largest] > 1)
	{
		CHECK_FOR_INTERRUPTS();
		split(&b, largest);
		largest = largest_list(&b);
	}
	pfree(b.rows);
	pfree(b.numbers);
	pfree(b.members);
	pfree(b.list_of);
}
