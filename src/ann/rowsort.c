/*
 * rowsort.c
 *		Sorts encoded rows by list and heap pointer, spilling to disk.
 *
 * A wrapper of tuplesort over (list int4, tid int8, payload bytea), where the
 * payload is the values of the filter columns, then factors and code.
 */
#include "postgres.h"

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type_d.h"
#include "executor/tuptable.h"
#include "utils/guc.h"

#include "ann/build.h"
#include "compat.h"

/* A sort cannot work in less. */
#define SORT_KB_MIN 64

static inline int64
tid_key(ItemPointer tid)
{
	return ((int64) ItemPointerGetBlockNumber(tid) << 16) |
		   ItemPointerGetOffsetNumber(tid);
}

void
vx_rowsort_begin(VxRowSort *rows, int values_bytes, int code_bytes, Size memory,
				 SortCoordinate coordinate)
{
	AttrNumber columns[] = {1, 2};
	Oid operators[] = {Int4LessOperator, Int8LessOperator};
	Oid collations[] = {InvalidOid, InvalidOid};
	bool nulls_first[] = {false, false};
	Size payload_bytes = VARHDRSZ + values_bytes + sizeof(VxEntry) + code_bytes;
	int kb = Min(Max(memory / 1024, SORT_KB_MIN), MAX_KILOBYTES);

	rows->desc = CreateTemplateTupleDesc(3);
	TupleDescInitEntry(rows->desc, 1, "list", INT4OID, -1, 0);
	TupleDescInitEntry(rows->desc, 2, "tid", INT8OID, -1, 0);
	TupleDescInitEntry(rows->desc, 3, "payload", BYTEAOID, -1, 0);
	rows->in = MakeSingleTupleTableSlot(rows->desc, &TTSOpsVirtual);
	rows->out = MakeSingleTupleTableSlot(rows->desc, &TTSOpsMinimalTuple);
	rows->values_bytes = values_bytes;
	rows->code_bytes = code_bytes;
	rows->payload = palloc(payload_bytes);
	rows->sort =
		tuplesort_begin_heap(rows->desc, 2, columns, operators, collations,
							 nulls_first, kb, coordinate, TUPLESORT_NONE);
}

void
vx_rowsort_put(VxRowSort *rows, int32 list, ItemPointer tid,
			   const uint8 *values, const VxEntry *entry, const uint8 *code)
{
	TupleTableSlot *slot = rows->in;
	char *payload = VARDATA(rows->payload);
	Size bytes = VARHDRSZ + rows->values_bytes;

	ExecClearTuple(slot);
	slot->tts_values[0] = Int32GetDatum(list);
	slot->tts_values[1] = Int64GetDatum(tid_key(tid));
	slot->tts_values[2] = PointerGetDatum(rows->payload);
	slot->tts_isnull[0] = false;
	slot->tts_isnull[1] = false;
	slot->tts_isnull[2] = entry == NULL && rows->values_bytes == 0;
	memcpy(payload, values, rows->values_bytes);
	payload += rows->values_bytes;
	if (entry)
	{
		memcpy(payload, entry, sizeof(VxEntry));
		memcpy(payload + sizeof(VxEntry), code, rows->code_bytes);
		bytes += sizeof(VxEntry) + rows->code_bytes;
	}
	SET_VARSIZE(rows->payload, bytes);
	ExecStoreVirtualTuple(slot);
	tuplesort_puttupleslot(rows->sort, slot);
}

void
vx_rowsort_perform(VxRowSort *rows)
{
	tuplesort_performsort(rows->sort);
}

bool
vx_rowsort_next(VxRowSort *rows, VxSortedRow *row)
{
	TupleTableSlot *slot = rows->out;
	int64 key;

	if (!tuplesort_gettupleslot(rows->sort, true, false, slot, NULL))
		return false;
	slot_getallattrs(slot);
	row->list = DatumGetInt32(slot->tts_values[0]);
	key = DatumGetInt64(slot->tts_values[1]);
	ItemPointerSet(&row->tid, (BlockNumber) (key >> 16),
				   (OffsetNumber) (key & 0xFFFF));
	row->values = row->code = NULL;
	if (!slot->tts_isnull[2])
	{
		/* The sort may have shortened the header. */
		const char *payload = VARDATA_ANY(DatumGetPointer(slot->tts_values[2]));

		row->values = (const uint8 *) payload;
		payload += rows->values_bytes;
		if (row->list >= 0)
		{
			memcpy(&row->entry, payload, sizeof(VxEntry));
			row->code = (const uint8 *) payload + sizeof(VxEntry);
		}
	}
	return true;
}

void
vx_rowsort_end(VxRowSort *rows)
{
	tuplesort_end(rows->sort);
	ExecDropSingleTupleTableSlot(rows->in);
	ExecDropSingleTupleTableSlot(rows->out);
	FreeTupleDesc(rows->desc);
	pfree(rows->payload);
}
