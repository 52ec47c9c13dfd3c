/*
 * check_heap.c
 *		Invariant I16: every row of the table is in the index, in its place.
 *
 * The heap is read in order of its blocks, and the index's heap pointers come
 * sorted, so those of one heap block are at hand while its rows are looked at.
 */
#include "postgres.h"

#include "access/heapam.h"
#include "access/tableam.h"
#include "catalog/index.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "inspect/check.h"

typedef struct HeapCheck
{
	VxCheck *check;
	/* Places of the heap block that is being read, by offset number. */
	BlockNumber block;
	VxPlace places[MaxOffsetNumber + 1];
	uint16 used[MaxOffsetNumber];
	int used_count;
	/* The pointer that was read ahead of that block. */
	bool ahead;
	ItemPointerData ahead_tid;
	VxPlace ahead_place;
	/* The list whose centroid is in memory. */
	uint32 list_id;
	float *centroid;
	float *rotated;
	float *x;
	float *scratch;
	uint8 *code;
	uint8 *stored; /* code of a slot, for layout P */
	uint8 *levels;
	uint8 *values; /* of the filter columns */
	MemoryContext row_context;
} HeapCheck;

static void
clear_places(HeapCheck *heap)
{
	for (int i = 0; i < heap->used_count; i++)
		heap->places[heap->used[i]].list_id = VX_LIST_NONE;
	heap->used_count = 0;
}

static void
add_place(HeapCheck *heap)
{
	OffsetNumber offset = ItemPointerGetOffsetNumber(&heap->ahead_tid);

	if (heap->places[offset].list_id != VX_LIST_NONE)
		vx_corrupt(heap->check->index, heap->ahead_place.block,
				   "invariant I8: heap pointer (%u,%u) is live in two slots",
				   heap->block, offset);
	heap->places[offset] = heap->ahead_place;
	heap->used[heap->used_count++] = offset;
}

/* Brings the places of a heap block into memory, those between are passed. */
static void
go_to_block(HeapCheck *heap, BlockNumber block)
{
	while (heap->ahead &&
		   ItemPointerGetBlockNumberNoCheck(&heap->ahead_tid) <= block)
	{
		BlockNumber at = ItemPointerGetBlockNumber(&heap->ahead_tid);

		if (at != heap->block)
		{
			CHECK_FOR_INTERRUPTS();
			clear_places(heap);
			heap->block = at;
		}
		add_place(heap);
		heap->ahead = vx_tids_next(&heap->check->tids, &heap->ahead_tid,
								   &heap->ahead_place);
	}
	if (heap->block != block)
	{
		clear_places(heap);
		heap->block = block;
	}
}

/* Centroid of a list, rotated as the encoder wants it. */
static void
load_list(HeapCheck *heap, uint32 list_id)
{
	const VxAnnIndex *ann = &heap->check->ann;
	const VxCheckList *list = vx_check_find_list(heap->check, list_id);
	VxCentPlace place;

	if (heap->list_id == list_id)
		return;
	Assert(list != NULL);
	place = (VxCentPlace){
		.block = list->cent_block,
		.slot = list->cent_slot,
		.owner = (list->flags & VX_DIR_ROOT) != 0 ? VX_LIST_CENTRE : list_id};
	if (!vx_cent_read(ann->index, &ann->meta, &place, heap->centroid))
		vx_corrupt(ann->index, list->cent_block,
				   "invariant I12: no vector of list %u", list_id);
	vx_list_rotate(&ann->quantizer, heap->centroid, ann->centre, heap->rotated);
	heap->list_id = list_id;
}

/* Does the slot hold what the row encodes to? */
static void
check_code(HeapCheck *heap, ItemPointer tid, const VxPlace *place)
{
	const VxAnnIndex *ann = &heap->check->ann;
	const VxLeadLayout *layout = &ann->lead;
	VxCodeTable table;
	VxEntry entry;
	VxListRef ref = {.centroid = heap->centroid, .rotated = heap->rotated};
	int slot = place->slot;
	Buffer buffer;
	Page page;
	bool same;

	load_list(heap, place->list_id);
	vx_entry_encode(ann, &ref, heap->x, heap->code, &entry, heap->scratch);
	page = vx_lead_lock(ann->index, place->block, VX_SHARE, place->list_id,
						NULL, &buffer);
	if (page == NULL)
		vx_corrupt(ann->index, place->block,
				   "invariant I5: page left list %u during the check",
				   place->list_id);
	same = vx_entry_equal(page, layout, slot, &entry);
	if (layout->form == VX_FORM_WHOLE)
		memcpy(heap->stored,
			   vx_plane(page, layout->codes, uint8) + slot * layout->code_bytes,
			   layout->code_bytes);
	vx_code_table_copy(ann, place->block, page, &table);
	vx_page_unlock(buffer);
	if (layout->form == VX_FORM_PLANES)
		vx_check_read_code(heap->check, &table, slot, heap->levels,
						   heap->stored);
	same = same && memcmp(heap->stored, heap->code, layout->code_bytes) == 0;
	if (!same)
		vx_corrupt(ann->index, place->block,
				   "invariant I16: heap row (%u,%u) does not encode to slot %d",
				   ItemPointerGetBlockNumber(tid),
				   ItemPointerGetOffsetNumber(tid), slot);
}

/* Does the slot hold the row's values of the filter columns? */
static void
check_values(HeapCheck *heap, ItemPointer tid, const VxPlace *place)
{
	const VxAnnIndex *ann = &heap->check->ann;
	const VxLeadLayout *layout =
		place->list_id < VX_LIST_FIRST ? &ann->special : &ann->lead;
	Buffer buffer;
	Page page = vx_lead_lock(ann->index, place->block, VX_SHARE, place->list_id,
							 NULL, &buffer);
	bool same = page == NULL ||
				vx_values_equal(page, layout, place->slot, heap->values);

	if (page != NULL)
		vx_page_unlock(buffer);
	if (!same)
		vx_corrupt(ann->index, place->block,
				   "invariant I16: heap row (%u,%u) has other values of filter "
				   "columns than slot %d",
				   ItemPointerGetBlockNumber(tid),
				   ItemPointerGetOffsetNumber(tid), place->slot);
}

/* The special list a value belongs to, or none. */
static uint32
special_list(VxValueKind kind)
{
	switch (kind)
	{
		case VX_VALUE_NULL:
			return VX_LIST_NULL;
		case VX_VALUE_ZERO:
			return VX_LIST_ZERO;
		case VX_VALUE_ORDINARY:
			break;
	}
	return VX_LIST_NONE;
}

/* Called by the heap scan for each row the index should have. */
static void
check_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	HeapCheck *heap = state;
	const VxAnnIndex *ann = &heap->check->ann;
	MemoryContext old = MemoryContextSwitchTo(heap->row_context);
	const VxPlace *place;
	uint32 special;

	go_to_block(heap, ItemPointerGetBlockNumber(tid));
	place = &heap->places[ItemPointerGetOffsetNumber(tid)];
	if (place->list_id == VX_LIST_NONE)
		vx_corrupt(index, VX_META_BLOCK,
				   "invariant I16: heap row (%u,%u) is not in the index",
				   ItemPointerGetBlockNumber(tid),
				   ItemPointerGetOffsetNumber(tid));
	special = special_list(
		vx_ann_value(ann->type, ann->dims, values[0], isnull[0], heap->x));
	if (special !=
		(place->list_id < VX_LIST_FIRST ? place->list_id : VX_LIST_NONE))
		vx_corrupt(index, place->block,
				   "invariant I16: heap row (%u,%u) is in list %u",
				   ItemPointerGetBlockNumber(tid),
				   ItemPointerGetOffsetNumber(tid), place->list_id);
	if (special == VX_LIST_NONE)
		check_code(heap, tid, place);
	if (ann->columns.count > 0)
	{
		vx_values_pack(ann->column, ann->columns.count, values + 1, isnull + 1,
					   heap->values);
		check_values(heap, tid, place);
	}
	MemoryContextSwitchTo(old);
	MemoryContextReset(heap->row_context);
}

static HeapCheck *
begin(VxCheck *check)
{
	HeapCheck *heap = palloc0(sizeof(HeapCheck));
	int dims = check->ann.dims;

	heap->check = check;
	heap->block = InvalidBlockNumber;
	heap->list_id = VX_LIST_NONE;
	heap->centroid = palloc(sizeof(float) * dims);
	heap->rotated = palloc(sizeof(float) * dims);
	heap->x = palloc(sizeof(float) * dims);
	heap->scratch = palloc(sizeof(float) * 2 * dims);
	heap->code = palloc(check->ann.lead.code_bytes);
	heap->stored = palloc(check->ann.lead.code_bytes);
	heap->levels = palloc(dims);
	heap->values = palloc(check->ann.values_bytes);
	heap->row_context = AllocSetContextCreate(
		CurrentMemoryContext, "ann_check row", ALLOCSET_DEFAULT_SIZES);
	heap->ahead =
		vx_tids_next(&check->tids, &heap->ahead_tid, &heap->ahead_place);
	return heap;
}

void
vx_check_heap(VxCheck *check, Relation table, Snapshot snapshot)
{
	HeapCheck *heap = begin(check);

	/* From block 0 on: the places are read in that order. */
	vx_inspect_scan_table(table, check->index, snapshot, check_row, heap);
	/* The pointers behind the last row. */
	go_to_block(heap, MaxBlockNumber);
	MemoryContextDelete(heap->row_context);
}
