/*
 * drain.c
 *		Reading everything that is left, through sorts.
 *
 * When a scan asks for a large share of the rows, fetching them one by one in
 * the order of their bounds is dearer than fetching them all in heap order, and
 * remembering what was handled would not fit.  So: the heap pointers of all
 * lists go into a sort, which also brings duplicates together; rows are fetched
 * in that order; a second sort orders them by exact distance.  Memory is
 * work_mem, the rest is on disk.
 */
#include "postgres.h"

#include "access/tupdesc.h"
#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/tidbitmap.h"

#include "ann/scan.h"
#include "compat.h"

/* Heap pointers of one page, on their way out of the lock. */
typedef struct TidWalk
{
	const VxLeadLayout *layout;
	ItemPointerData *tids;
	int count;
	Tuplesortstate *sort; /* one of the two */
	TIDBitmap *bitmap;
	bool lossy; /* its rows are to be looked at once more */
	int64 total;
} TidWalk;

static void
flush(TidWalk *walk)
{
	walk->total += walk->count;
	if (walk->bitmap != NULL && walk->count > 0)
		tbm_add_tuples(walk->bitmap, walk->tids, walk->count, walk->lossy);
	else
		for (int i = 0; i < walk->count; i++)
			tuplesort_putdatum(walk->sort,
							   Int64GetDatum(vx_tid_number(&walk->tids[i])),
							   false);
	walk->count = 0;
}

static bool
tids_prepare(VxScan *scan, void *arg)
{
	flush(arg);
	return true;
}

static void
tids_visit(VxScan *scan, void *arg, Page page, Page ahead)
{
	TidWalk *walk = arg;
	const ItemPointerData *tids =
		vx_plane(page, walk->layout->tids, ItemPointerData);
	int slots = walk->layout->slots;
	uint64 pass[VX_SLOT_WORDS_MAX];
	int passed = vx_filter_slots(scan, walk->layout, page, slots, pass);

	for (int i = vx_bit_next(pass, slots, 0); i < slots;
		 i = vx_bit_next(pass, slots, i + 1))
		walk->tids[walk->count++] = tids[i];
	scan->work.entries += vx_page_lead(page)->live;
	scan->work.filtered += vx_page_lead(page)->live - passed;
}

/* One special list, again while it changes under us; duplicates do not harm. */
static void
walk_special(VxScan *scan, TidWalk *walk, uint32 list_id)
{
	BlockNumber head = list_id == VX_LIST_NULL ? scan->ann.meta.null_head
											   : scan->ann.meta.zero_head;
	VxVisitor visitor = {tids_prepare, tids_visit, NULL, walk};
	uint64 shape_seq;
	uint64 stamp;

	walk->layout = &scan->ann.special;
	do
	{
		shape_seq = scan->ann.meta.shape_seq;
		if (!vx_walk_list(scan, list_id, head, walk->layout, &visitor,
						  &stamp) &&
			shape_seq == scan->ann.meta.shape_seq)
			vx_corrupt(scan->ann.index, head,
					   "special list %u is not where it belongs", list_id);
		flush(walk);
		vx_ann_refresh(&scan->ann);
	} while (shape_seq != scan->ann.meta.shape_seq);
}

static void
walk_part(VxScan *scan, TidWalk *walk, const VxPart *part)
{
	const VxDirList *list = &scan->lists[part->list];
	VxVisitor visitor = {tids_prepare, tids_visit, NULL, walk};
	uint64 stamp;

	scan->part = BlockNumberIsValid(part->first) ? part : NULL;
	if (!vx_walk_list(scan, list->list_id, list->head, walk->layout, &visitor,
					  &stamp))
		vx_corrupt(scan->ann.index, list->head,
				   "list %u is not where the directory says", list->list_id);
	scan->part = NULL;
	flush(walk);
}

/* What this process claimed of a parallel scan, and all that is left. */
static void
walk_claims(VxScan *scan, TidWalk *walk)
{
	const VxPart *part;

	for (int i = 0; i < scan->part_count; i++)
		walk_part(scan, walk, &scan->parts[i]);
	while ((part = vx_parallel_claim(scan, true)) != NULL)
		walk_part(scan, walk, part);
}

static void
walk_ordinary(VxScan *scan, TidWalk *walk)
{
	VxVisitor visitor = {tids_prepare, tids_visit, NULL, walk};

	scan->work.stop = VX_STOP_DRAINED;
	walk->layout = &scan->ann.lead;
	if (scan->shared != NULL)
	{
		walk_claims(scan, walk);
		return;
	}
	for (int i = 0; i < scan->next_list; i++)
		scan->visits[i].walked = false;
	do
	{
		scan->next_list = scan->list_count;
		for (int i = 0; i < scan->list_count; i++)
		{
			VxDirList *list = &scan->lists[i];

			if (scan->visits[i].walked)
				continue;
			scan->visits[i].walked =
				vx_walk_list(scan, list->list_id, list->head, walk->layout,
							 &visitor, &scan->visits[i].stamp);
			flush(walk);
		}
	} while (!vx_walk_validate(scan));
}

static void
walk_lists(VxScan *scan, TidWalk *walk, int which)
{
	int slots = Max(scan->ann.lead.slots, scan->ann.special.slots);

	if (which & VX_DRAIN_ORDINARY)
		vx_walk_ring(scan);
	walk->tids = palloc(sizeof(ItemPointerData) * slots);
	if (which & VX_DRAIN_ORDINARY)
		walk_ordinary(scan, walk);
	if (which & VX_DRAIN_ZERO)
		walk_special(scan, walk, VX_LIST_ZERO);
	if (which & VX_DRAIN_NULL)
		walk_special(scan, walk, VX_LIST_NULL);
	pfree(walk->tids);
}

int64
vx_drain_bitmap(VxScan *scan, TIDBitmap *bitmap, int which)
{
	TidWalk walk = {.bitmap = bitmap, .lossy = scan->filter.lossy};

	walk_lists(scan, &walk, which);
	return walk.total;
}

/* Heap pointers of the lists named, sorted; with duplicates. */
static Tuplesortstate *
sort_tids(VxScan *scan, int which)
{
	TidWalk walk = {0};

	walk.sort = tuplesort_begin_datum(INT8OID, Int8LessOperator, InvalidOid,
									  false, work_mem, NULL, TUPLESORT_NONE);
	walk_lists(scan, &walk, which);
	tuplesort_performsort(walk.sort);
	return walk.sort;
}

void
vx_drain_tids(VxScan *scan, int which)
{
	vx_drain_end(scan);
	scan->sorted = sort_tids(scan, which);
}

/* The second sort: (distance, tid). */
static void
begin_exact_sort(VxScan *scan)
{
	TupleDesc desc = CreateTemplateTupleDesc(2);
	AttrNumber attnos[2] = {1, 2};
	Oid operators[2] = {Float8LessOperator, Int8LessOperator};
	Oid collations[2] = {InvalidOid, InvalidOid};
	bool nulls_first[2] = {false, false};

	TupleDescInitEntry(desc, 1, "distance", FLOAT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, "tid", INT8OID, -1, 0);
	scan->sorted_slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	scan->sorted =
		tuplesort_begin_heap(desc, 2, attnos, operators, collations,
							 nulls_first, work_mem, NULL, TUPLESORT_NONE);
}

static void
put_exact(VxScan *scan, TupleTableSlot *slot, const VxResult *result)
{
	ExecClearTuple(slot);
	slot->tts_values[0] = Float8GetDatum(result->distance);
	slot->tts_values[1] = Int64GetDatum(result->tid);
	slot->tts_isnull[0] = slot->tts_isnull[1] = false;
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(scan->sorted, slot);
}

void
vx_drain_exact(VxScan *scan)
{
	Tuplesortstate *tids = sort_tids(scan, VX_DRAIN_ORDINARY);
	TupleTableSlot *slot;
	Datum number;
	bool isnull;
	uint64 last = 0;

	vx_drain_end(scan);
	begin_exact_sort(scan);
	slot = MakeSingleTupleTableSlot(scan->sorted_slot->tts_tupleDescriptor,
									&TTSOpsVirtual);
	for (int64 i = scan->next_result; i < scan->result_count; i++)
		put_exact(scan, slot, &scan->results[i]);
	scan->next_result = scan->result_count = scan->confirmed = 0;

	while (vx_compat_sort_getdatum(tids, &number, &isnull))
	{
		uint64 tid = DatumGetInt64(number);
		VxResult result;

		if (tid == last)
			continue;
		last = tid;
		if (!vx_handled_has(scan->handled, tid) &&
			vx_heap_distance(scan, tid, &result) &&
			!(scan->ranged && result.key > scan->reach))
			put_exact(scan, slot, &result);
	}
	vx_heap_release(scan->heap);
	tuplesort_end(tids);
	ExecDropSingleTupleTableSlot(slot);
	tuplesort_performsort(scan->sorted);
}

bool
vx_drain_next(VxScan *scan, VxResult *result)
{
	for (;;)
	{
		bool isnull;
		Datum number;

		if (scan->sorted_slot != NULL)
		{
			if (!tuplesort_gettupleslot(scan->sorted, true, false,
										scan->sorted_slot, NULL))
				return false;
			result->distance =
				DatumGetFloat8(slot_getattr(scan->sorted_slot, 1, &isnull));
			number = slot_getattr(scan->sorted_slot, 2, &isnull);
		}
		else if (!vx_compat_sort_getdatum(scan->sorted, &number, &isnull))
			return false;
		result->tid = DatumGetInt64(number);
		if (scan->sorted_any && result->tid == scan->sorted_last)
			continue;
		scan->sorted_any = true;
		scan->sorted_last = result->tid;
		return true;
	}
}

void
vx_drain_end(VxScan *scan)
{
	if (scan->sorted != NULL)
		tuplesort_end(scan->sorted);
	if (scan->sorted_slot != NULL)
		ExecDropSingleTupleTableSlot(scan->sorted_slot);
	scan->sorted = NULL;
	scan->sorted_slot = NULL;
	scan->sorted_any = false;
}
