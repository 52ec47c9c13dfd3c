/*
 * rerank.c
 *		Exact distances: fetching heap rows and confirming results.
 *
 * The heap is the full-precision store.  A row is fetched at most once in a
 * scan: whatever was fetched is remembered as handled, returned or not.
 */
#include "postgres.h"

#include <math.h>

#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/memutils.h"

#include "ann/scan.h"
#include "compat.h"

/* Candidates fetched together, in heap order, once the wanted are there. */
#define BATCH 8

struct VxHeap
{
	Relation heap;
	Snapshot snapshot;
	IndexFetchTableData *fetch;
	TupleTableSlot *slot;
	BlockNumber blocks; /* of the heap, when last asked */
	IndexInfo *info;	/* for expressions; NULL without */
	EState *estate;		/* for expressions */
	Oid owner;
};

/* Are all keys columns of the table? */
static bool
plain_keys(Relation index)
{
	Form_pg_index form = index->rd_index;

	for (int i = 0; i < form->indnkeyatts; i++)
		if (form->indkey.values[i] == 0)
			return false;
	return true;
}

struct VxHeap *
vx_heap_open(VxScan *scan)
{
	struct VxHeap *heap = palloc0(sizeof(struct VxHeap));
	Relation rel = scan->scan->heapRelation;

	heap->heap = rel;
	heap->snapshot = scan->scan->xs_snapshot;
	heap->fetch = table_index_fetch_begin(rel);
	heap->slot = table_slot_create(rel, NULL);
	heap->owner = rel->rd_rel->relowner;
	heap->blocks = RelationGetNumberOfBlocks(rel);
	if (!plain_keys(scan->ann.index))
	{
		heap->info = BuildIndexInfo(scan->ann.index);
		heap->estate = CreateExecutorState();
	}
	return heap;
}

void
vx_heap_close(struct VxHeap *heap)
{
	if (heap->estate != NULL)
		FreeExecutorState(heap->estate);
	ExecDropSingleTupleTableSlot(heap->slot);
	table_index_fetch_end(heap->fetch);
	pfree(heap);
}

/* Nothing of the heap stays pinned while the executor has its turn. */
void
vx_heap_release(struct VxHeap *heap)
{
	ExecClearTuple(heap->slot);
	table_index_fetch_reset(heap->fetch);
}

/*
 * An index expression runs as the table's owner, as it does when the index is
 * built: the querying user must not be able to run it with other rights, nor
 * the owner to run code as the querying user.
 */
static void
expression_values(struct VxHeap *heap, Datum *values, bool *nulls)
{
	Oid user;
	int context;
	int level;

	GetUserIdAndSecContext(&user, &context);
	SetUserIdAndSecContext(heap->owner,
						   context | SECURITY_RESTRICTED_OPERATION);
	level = NewGUCNestLevel();
	vx_compat_restrict_search_path();
	ResetPerTupleExprContext(heap->estate);
	GetPerTupleExprContext(heap->estate)->ecxt_scantuple = heap->slot;
	FormIndexDatum(heap->info, heap->slot, heap->estate, values, nulls);
	AtEOXact_GUC(false, level);
	SetUserIdAndSecContext(user, context);
}

/* The values of the row's key columns. */
static void
key_values(VxScan *scan, Datum *values, bool *nulls)
{
	struct VxHeap *heap = scan->heap;
	Form_pg_index form = scan->ann.index->rd_index;

	if (heap->info != NULL)
	{
		expression_values(heap, values, nulls);
		return;
	}
	/* Only a condition that is looked at again needs more than the vector. */
	for (int i = 0; i < (scan->filter.lossy ? form->indnkeyatts : 1); i++)
		values[i] = slot_getattr(heap->slot, form->indkey.values[i], &nulls[i]);
}

/* A damaged pointer may lead beyond the table's end. */
static void
check_pointer(VxScan *scan, const ItemPointerData *at)
{
	struct VxHeap *heap = scan->heap;
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(at);

	if (block < heap->blocks)
		return;
	heap->blocks = RelationGetNumberOfBlocks(heap->heap);
	if (block >= heap->blocks)
		vx_corrupt(scan->ann.index, VX_META_BLOCK,
				   "entry points to block %u of a table of %u", block,
				   heap->blocks);
}

double
vx_distance_key(VxMetric metric, double distance)
{
	switch (metric)
	{
		case VX_METRIC_L2:
			return distance * distance;
		case VX_METRIC_IP:
			return distance;
		case VX_METRIC_COSINE:
			return 2 * distance;
	}
	pg_unreachable();
}

bool
vx_heap_distance(VxScan *scan, uint64 tid, VxResult *result)
{
	struct VxHeap *heap = scan->heap;
	const VxAnnType *type = scan->ann.type;
	ItemPointerData at;
	MemoryContext caller;
	bool again = false;
	bool dead = false;
	bool passes;
	bool isnull;
	Datum values[INDEX_MAX_KEYS];
	bool nulls[INDEX_MAX_KEYS];
	Datum value;

	CHECK_FOR_INTERRUPTS();
	vx_tid_from_number(tid, &at);
	check_pointer(scan, &at);
	/* at is ours: a HOT chain's walk rewrites it. */
	scan->work.fetched++;
	if (!table_index_fetch_tuple(heap->fetch, &at, heap->snapshot, heap->slot,
								 &again, &dead))
		return false;

	caller = MemoryContextSwitchTo(scan->row_context);
	result->distance = get_float8_nan();
	key_values(scan, values, nulls);
	value = values[0];
	isnull = nulls[0];
	passes = !scan->filter.lossy || vx_filter_row(&scan->filter, values, nulls);
	if (!isnull && passes)
	{
		if (VARATT_IS_EXTERNAL(DatumGetPointer(value)) ||
			VARATT_IS_COMPRESSED(DatumGetPointer(value)))
			scan->work.detoasted++;
		value = PointerGetDatum(PG_DETOAST_DATUM(value));
		if (type->dims(value) != scan->ann.dims)
			isnull = true;
		else
			result->distance = type->distance(type->floats(value),
											  scan->query_raw, scan->ann.dims);
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(scan->row_context);
	/* What comes from the gate may be a row of a special list. */
	if (scan->direct && (nulls[0] || isnan(result->distance)))
		return false;
	if (isnull)
		vx_corrupt(scan->ann.index, VX_META_BLOCK,
				   "entry (%u,%u) does not belong to its row's value",
				   ItemPointerGetBlockNumber(&at),
				   ItemPointerGetOffsetNumber(&at));
	if (!passes)
		return false;
	result->key = vx_distance_key(type->metric, result->distance);
	result->tid = tid;
	return true;
}

void
vx_result_add(VxScan *scan, const VxResult *result)
{
	if (scan->result_count >= scan->result_capacity)
	{
		scan->result_capacity = Max(64, 2 * scan->result_capacity);
		scan->results =
			scan->results == NULL
				? MemoryContextAllocHuge(scan->run_context,
										 sizeof(VxResult) *
											 scan->result_capacity)
				: repalloc_huge(scan->results,
								sizeof(VxResult) * scan->result_capacity);
	}
	scan->results[scan->result_count++] = *result;
}

static int
compare_numbers(const void *a, const void *b)
{
	uint64 x = *(const uint64 *) a;
	uint64 y = *(const uint64 *) b;

	return x < y ? -1 : x > y;
}

static int
compare_results(const void *a, const void *b)
{
	const VxResult *x = a;
	const VxResult *y = b;

	if (x->key != y->key)
		return x->key < y->key ? -1 : 1;
	return x->tid < y->tid ? -1 : x->tid > y->tid;
}

/* Results not returned yet move to the front. */
static void
compact_results(VxScan *scan)
{
	int64 left = scan->result_count - scan->next_result;

	if (scan->next_result > 0 && left > 0)
		memmove(scan->results, scan->results + scan->next_result,
				sizeof(VxResult) * left);
	scan->result_count = left;
	scan->next_result = 0;
}

/*
 * Pops up to most candidates with bounds up to reach, fetches them in heap
 * order, and keeps the visible ones.
 */
static void
fetch_batch(VxScan *scan, int64 most, double reach, VxSmallest *nearest)
{
	uint64 *tids = palloc_extended(sizeof(uint64) * most, MCXT_ALLOC_HUGE);
	int64 count = 0;
	int64 asked = 0;

	while (count < most && scan->candidates.count > 0 &&
		   scan->candidates.items[0].low <= reach)
	{
		VxCandidate candidate = vx_candidates_pop(&scan->candidates);

		tids[count++] = vx_tid_number(&candidate.tid);
	}
	scan->work.candidates += count;
	qsort(tids, count, sizeof(uint64), compare_numbers);
	for (int64 i = 0; i < count; i++)
	{
		VxResult result;

		asked = vx_ahead_rows(scan, tids, asked, i, count);
		/* Rows of lists walked twice, or moved in between, come twice. */
		if (!vx_handled_add(scan->handled, tids[i]))
			continue;
		if (!vx_heap_distance(scan, tids[i], &result))
			continue;
		if (scan->ranged && result.key > scan->reach)
			continue;
		vx_result_add(scan, &result);
		vx_smallest_add(nearest, result.key);
	}
	pfree(tids);
}

void
vx_rerank(VxScan *scan)
{
	int64 needed = scan->wanted - scan->returned;
	double limit = scan->cut ? scan->cut_key : get_float8_infinity();
	double reach = limit;
	VxSmallest nearest;

	compact_results(scan);
	vx_smallest_init(&nearest, needed);
	for (int64 i = 0; i < scan->result_count; i++)
		vx_smallest_add(&nearest, scan->results[i].key);
	vx_candidates_heapify(&scan->candidates);

	/* Bounds equal to the last wanted distance may hide a tie: fetched too. */
	for (;;)
	{
		reach = Min(limit, vx_smallest_top(&nearest));
		if (scan->candidates.count == 0 ||
			scan->candidates.items[0].low > reach)
			break;
		fetch_batch(scan, Max(BATCH, needed - nearest.count), reach, &nearest);
	}
	vx_heap_release(scan->heap);
	pfree(nearest.items);

	if (scan->result_count > 0)
		qsort(scan->results, scan->result_count, sizeof(VxResult),
			  compare_results);
	/* Below every bound; with none left, a distance may be infinite, too. */
	scan->confirmed = 0;
	while (scan->confirmed < scan->result_count &&
		   scan->results[scan->confirmed].key <= limit &&
		   (scan->candidates.count == 0 ||
			scan->results[scan->confirmed].key < scan->candidates.items[0].low))
		scan->confirmed++;
}
