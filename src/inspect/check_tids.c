/*
 * check_tids.c
 *		The heap pointers of an index in order, and invariant I8.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "miscadmin.h"

#include "compat.h"
#include "inspect/check.h"

/* Heap pointer, then block and slot, then list. */
#define TID_COLUMNS 3

void
vx_tids_begin(VxTidSort *tids)
{
	AttrNumber column = 1;
	Oid operator= Int8LessOperator;
	Oid collation = InvalidOid;
	bool nulls_first = false;
	TupleDesc desc = CreateTemplateTupleDesc(TID_COLUMNS);

	TupleDescInitEntry(desc, 1, "tid", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 2, "place", INT8OID, -1, 0);
	TupleDescInitEntry(desc, 3, "list", INT8OID, -1, 0);
	tids->slot = MakeSingleTupleTableSlot(desc, &TTSOpsMinimalTuple);
	tids->sort = tuplesort_begin_heap(desc, 1, &column, &operator, & collation,
									  &nulls_first, maintenance_work_mem, NULL,
									  TUPLESORT_NONE);
}

void
vx_tids_add(VxTidSort *tids, const ItemPointerData *tid, const VxPlace *place)
{
	TupleTableSlot *slot = tids->slot;
	Datum values[TID_COLUMNS];
	bool nulls[TID_COLUMNS] = {false};

	values[0] = Int64GetDatum(((int64) ItemPointerGetBlockNumber(tid) << 16) |
							  ItemPointerGetOffsetNumber(tid));
	values[1] = Int64GetDatum(((int64) place->block << 16) | place->slot);
	values[2] = Int64GetDatum(place->list_id);
	ExecStoreMinimalTuple(
		vx_compat_form_minimal_tuple(slot->tts_tupleDescriptor, values, nulls),
		slot, true);
	tuplesort_puttupleslot(tids->sort, slot);
	ExecClearTuple(slot);
}

void
vx_tids_sort(VxTidSort *tids)
{
	tuplesort_performsort(tids->sort);
}

bool
vx_tids_next(VxTidSort *tids, ItemPointer tid, VxPlace *place)
{
	int64 key;
	int64 at;

	if (!tuplesort_gettupleslot(tids->sort, true, false, tids->slot, NULL))
		return false;
	slot_getallattrs(tids->slot);
	key = DatumGetInt64(tids->slot->tts_values[0]);
	at = DatumGetInt64(tids->slot->tts_values[1]);
	ItemPointerSet(tid, (BlockNumber) (key >> 16), key & 0xFFFF);
	place->block = (BlockNumber) (at >> 16);
	place->slot = at & 0xFFFF;
	place->list_id = (uint32) DatumGetInt64(tids->slot->tts_values[2]);
	return true;
}

void
vx_tids_end(VxTidSort *tids)
{
	ExecDropSingleTupleTableSlot(tids->slot);
	tuplesort_end(tids->sort);
}

void
vx_check_tids(VxCheck *check)
{
	ItemPointerData last;
	ItemPointerData tid;
	VxPlace place;

	ItemPointerSetInvalid(&last);
	while (vx_tids_next(&check->tids, &tid, &place))
	{
		CHECK_FOR_INTERRUPTS();
		if (ItemPointerEquals(&last, &tid))
			vx_corrupt(check->index, place.block,
					   "invariant I8: heap pointer (%u,%u) is live in two "
					   "slots",
					   ItemPointerGetBlockNumber(&tid),
					   ItemPointerGetOffsetNumber(&tid));
		last = tid;
	}
}
