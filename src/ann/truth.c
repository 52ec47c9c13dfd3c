/*
 * truth.c
 *		The exact nearest rows of many queries, in one pass over the rows.
 *
 * A float product of the rows with all queries leaves out what is far; the few
 * rows that may belong to the nearest are measured in double.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"

#include "ann/scan.h"
#include "ann/truth.h"
#include "quant/blas.h"

Size
vx_truth_bytes(int queries, int keep, int block_rows)
{
	return (Size) queries * (sizeof(VxNear) * keep + 2 * sizeof(float) +
							 sizeof(int) + sizeof(float) * block_rows);
}

void
vx_truth_init(VxTruth *truth, VxMetric metric, int dims, const float *q,
			  int queries, int keep, int block_rows)
{
	MemoryContext context = CurrentMemoryContext;

	truth->metric = metric;
	truth->dims = dims;
	truth->q = q;
	truth->queries = queries;
	truth->keep = keep;
	truth->block_rows = block_rows;
	truth->norm2 = palloc(sizeof(float) * queries);
	truth->limits = palloc(sizeof(float) * queries);
	truth->counts = palloc0(sizeof(int) * queries);
	truth->items =
		MemoryContextAllocHuge(context, sizeof(VxNear) * queries * (Size) keep);
	truth->products = MemoryContextAllocHuge(context, sizeof(float) * queries *
														  (Size) block_rows);
	vx_norms2(q, queries, dims, truth->norm2);
	for (int j = 0; j < queries; j++)
		truth->limits[j] = get_float4_infinity();
}

static inline bool
nearer(const VxNear *a, const VxNear *b)
{
	return a->key < b->key || (a->key == b->key && a->tid < b->tid);
}

static void
sift_down(VxNear *items, int count, VxNear item)
{
	int at = 0;

	for (;;)
	{
		int child = 2 * at + 1;

		if (child >= count)
			break;
		if (child + 1 < count && nearer(&items[child], &items[child + 1]))
			child++;
		if (!nearer(&item, &items[child]))
			break;
		items[at] = items[child];
		at = child;
	}
	items[at] = item;
}

static void
add(VxTruth *truth, int query, const VxNear *item)
{
	VxNear *items = truth->items + (Size) query * truth->keep;
	int count = truth->counts[query];

	if (count < truth->keep)
	{
		int at = count;

		while (at > 0 && nearer(&items[(at - 1) / 2], item))
		{
			items[at] = items[(at - 1) / 2];
			at = (at - 1) / 2;
		}
		items[at] = *item;
		truth->counts[query] = ++count;
	}
	else if (nearer(item, &items[0]))
		sift_down(items, count, *item);
	if (count == truth->keep)
		truth->limits[query] = (float) items[0].key;
}

static double
exact_key(const VxTruth *truth, const float *x, int query)
{
	const float *q = truth->q + (Size) query * truth->dims;

	return truth->metric == VX_METRIC_IP
			   ? -vx_kernels->inner_product(x, q, truth->dims)
			   : vx_kernels->l2_squared(x, q, truth->dims);
}

/* Offers one row to every query; dots are its products with them, or NULL. */
static void
offer(VxTruth *truth, const float *x, const float *dots, VxNear *row)
{
	/* Rounding of a product of dims terms, with a margin. */
	float rounding = 0x1p-20f * (4.0f + sqrtf((float) truth->dims) / 4.0f);
	float norm2 = (float) vx_kernels->norm2(x, NULL, truth->dims);
	bool inner = truth->metric == VX_METRIC_IP;

	for (int j = 0; j < truth->queries; j++)
	{
		if (dots != NULL)
		{
			float size = norm2 + truth->norm2[j];
			float key = inner ? -dots[j] : size - 2.0f * dots[j];

			/* Not a number counts as near. */
			if (key - rounding * size > truth->limits[j])
				continue;
		}
		row->key = exact_key(truth, x, j);
		add(truth, j, row);
	}
}

void
vx_truth_feed(VxTruth *truth, const float *x, const ItemPointerData *tids,
			  const int32 *lists, int rows)
{
	bool product = vx_blas_product(x, rows, truth->q, truth->queries,
								   truth->dims, truth->products);

	Assert(rows <= truth->block_rows);
	for (int i = 0; i < rows; i++)
	{
		VxNear row = {.tid = vx_tid_number(&tids[i]),
					  .list = lists == NULL ? 0 : lists[i]};

		if (!product)
			CHECK_FOR_INTERRUPTS();
		offer(truth, x + (Size) i * truth->dims,
			  product ? truth->products + (Size) i * truth->queries : NULL,
			  &row);
	}
}

void
vx_truth_merge(VxTruth *truth, const VxTruth *other)
{
	Assert(truth->queries == other->queries && truth->keep == other->keep);
	for (int j = 0; j < other->queries; j++)
		for (int i = 0; i < other->counts[j]; i++)
			add(truth, j, &other->items[(Size) j * other->keep + i]);
}

static int
compare_near(const void *a, const void *b)
{
	if (nearer(a, b))
		return -1;
	return nearer(b, a) ? 1 : 0;
}

VxNear *
vx_truth_sorted(VxTruth *truth, int query, int *count)
{
	VxNear *items = truth->items + (Size) query * truth->keep;

	*count = truth->counts[query];
	qsort(items, *count, sizeof(VxNear), compare_near);
	return items;
}
