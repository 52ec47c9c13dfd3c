/*
 * insert.c
 *		Inserting one row: its page and its slot; choose.c has its list.
 *
 * The steps are numbered as in src/ann/README.md, "Insert".  An insert holds the
 * lock of one lead while it changes it, and never waits for a head while it does:
 * a chain grows under the head's lock, taken before the tail's.
 */
#include "postgres.h"

#include "access/genam.h"
#include "miscadmin.h"
#include "utils/memutils.h"

#include "ann/choose.h"

/* What one statement's inserts share, in IndexInfo's ii_AmCache. */
typedef struct InsertCache
{
	VxAnnIndex ann;
	VxChooser *chooser;
	MemoryContext row_context;
} InsertCache;

/* A row on its way to a list. */
typedef struct Row
{
	ItemPointer tid;
	const float *x;
	uint8 *values; /* of the filter columns */
	uint8 *code;
	uint8 *levels; /* of the code, for layout P */
	VxEntry entry;
} Row;

/* Where it goes. */
typedef struct Target
{
	uint32 list_id;
	BlockNumber head;
	const VxLeadLayout *layout;
} Target;

typedef enum Outcome
{
	PLACED,
	AGAIN,	   /* the list closed or moved away: start over */
	NEXT_PAGE, /* this page is full: try the one returned */
} Outcome;

/* Step 3: the exact centroid, and the code.  False: the list is gone. */
static bool
encode_row(const VxAnnIndex *ann, VxChooser *chooser, const VxDirList *list,
		   Row *row)
{
	VxListRef ref;

	if (!vx_choose_centroid(chooser, ann, list, &ref))
		return false;
	row->code = palloc(ann->lead.code_bytes);
	vx_entry_encode(ann, &ref, row->x, row->code, &row->entry,
					palloc(sizeof(float) * 2 * ann->dims));
	if (ann->lead.form == VX_FORM_PLANES)
	{
		row->levels = palloc(ann->dims);
		vx_unpack(row->code, ann->dims, ann->quantizer.bits, row->levels);
	}
	return true;
}

/* --- choosing the page ------------------------------------------------------------ */

/* Step 7, record H: inserts start at block from now on. */
static void
move_hint(VxAnnIndex *ann, const Target *target, BlockNumber block)
{
	Buffer head_buffer;
	Buffer buffer = InvalidBuffer;
	Page page = vx_lead_lock(ann->index, target->head, VX_EXCLUSIVE,
							 target->list_id, NULL, &head_buffer);

	if (page == NULL)
		return;
	/* Whoever linked a new page has moved the hint there already. */
	if (vx_page_lead(page)->insert_block == block)
	{
		vx_page_unlock(head_buffer);
		return;
	}
	/* Only a page of this list: it may have been unlinked since. */
	if (block == target->head ||
		vx_lead_lock(ann->index, block, VX_EXCLUSIVE, target->list_id, NULL,
					 &buffer) != NULL)
	{
		VxRecord *record = vx_record_begin(ann->index);

		page = vx_record_page(record, head_buffer, false);
		vx_page_lead(page)->insert_block = block;
		vx_record_finish(record);
	}
	if (BufferIsValid(buffer))
		vx_page_unlock(buffer);
	vx_page_unlock(head_buffer);
}

/* Record E {new, head, tail}: an empty lead at the end of the chain. */
static void
link_page(VxAnnIndex *ann, const Target *target, Buffer fresh,
		  Buffer head_buffer, Buffer tail_buffer)
{
	BlockNumber block = BufferGetBlockNumber(fresh);
	VxRecord *record = vx_record_begin(ann->index);
	Page page = vx_record_page(record, fresh, true);
	VxLead *head;
	VxLead *tail;

	vx_init_lead(page, target->list_id, target->layout->slots,
				 target->layout->form == VX_FORM_TIDS ? VX_LEAD_SPECIAL : 0);
	vx_page_set_used(page, vx_lead_used(target->layout, 0));
	head = vx_page_lead(vx_record_page(record, head_buffer, false));
	tail = head_buffer == tail_buffer
			   ? head
			   : vx_page_lead(vx_record_page(record, tail_buffer, false));
	if (head->lead_run == head->lead_pages && block == head->tail_block + 1)
		head->lead_run++;
	head->lead_pages++;
	head->tail_block = block;
	head->insert_block = block;
	tail->next = block;
	vx_record_finish(record);
}

/*
 * "New page".  *block is where to try next: the new page, or the tail when
 * somebody else extended the chain meanwhile.
 */
static Outcome
extend_chain(VxAnnIndex *ann, const Target *target, BlockNumber *block)
{
	Buffer fresh = vx_page_claim(ann->index, NULL, 0);
	Buffer head_buffer;
	Buffer tail_buffer;
	Page page = vx_lead_lock(ann->index, target->head, VX_EXCLUSIVE,
							 target->list_id, NULL, &head_buffer);
	VxLead *tail;
	BlockNumber tail_block;
	bool full;

	if (page == NULL || (vx_page_lead(page)->head_flags & VX_DIR_CLOSING))
	{
		if (page != NULL)
			vx_page_unlock(head_buffer);
		vx_page_unclaim(ann->index, fresh);
		return AGAIN;
	}
	tail_block = vx_page_lead(page)->tail_block;
	tail_buffer = head_buffer;
	if (tail_block != target->head)
	{
		page = vx_lead_lock(ann->index, tail_block, VX_EXCLUSIVE,
							target->list_id, NULL, &tail_buffer);
		if (page == NULL)
			vx_corrupt(ann->index, target->head,
					   "tail of list %u is block %u, which is not its",
					   target->list_id, tail_block);
	}
	tail = vx_page_lead(page);
	if (tail->next != InvalidBlockNumber)
		vx_corrupt(ann->index, tail_block, "tail of list %u has a next page",
				   target->list_id);
	full = tail->live >= tail->slots;
	if (full)
	{
		*block = BufferGetBlockNumber(fresh);
		link_page(ann, target, fresh, head_buffer, tail_buffer);
	}
	else
		*block = tail_block;
	if (tail_buffer != head_buffer)
		vx_page_unlock(tail_buffer);
	vx_page_unlock(head_buffer);
	if (full)
		vx_page_unlock(fresh);
	else
		vx_page_unclaim(ann->index, fresh);
	return NEXT_PAGE;
}

/* Step 5: the page *block, or the next one to try. */
static Outcome
try_page(VxAnnIndex *ann, const Target *target, const Row *row,
		 BlockNumber *block)
{
	Buffer buffer;
	Page page = vx_lead_lock(ann->index, *block, VX_EXCLUSIVE, target->list_id,
							 NULL, &buffer);
	VxLead *lead;
	int slot;

	if (page == NULL)
		return AGAIN;
	vx_lead_check_slots(ann->index, *block, page, target->layout);
	lead = vx_page_lead(page);
	if (lead->flags & VX_LEAD_SEALED)
	{
		vx_page_unlock(buffer);
		return AGAIN;
	}
	slot = lead->live >= lead->slots
			   ? -1
			   : vx_bit_first_clear(
					 vx_plane(page, target->layout->live, uint64), lead->slots);
	if (slot < 0)
	{
		*block = lead->next;
		vx_page_unlock(buffer);
		return NEXT_PAGE;
	}
	vx_put_row(ann, target->layout, buffer, slot, row->tid, row->values,
			   &row->entry, row->code, row->levels);
	vx_page_unlock(buffer);
	return PLACED;
}

/* Step 4: where inserts into this list start.  False: the list is not open. */
static bool
read_hint(VxAnnIndex *ann, const Target *target, BlockNumber *block)
{
	Buffer buffer;
	Page page = vx_lead_lock(ann->index, target->head, VX_SHARE,
							 target->list_id, NULL, &buffer);
	bool open;

	if (page == NULL)
		return false;
	open = !(vx_page_lead(page)->head_flags & VX_DIR_CLOSING);
	*block = vx_page_lead(page)->insert_block;
	vx_page_unlock(buffer);
	return open;
}

/* Steps 4 to 7 for a chosen list. */
static Outcome
place_row(VxAnnIndex *ann, const Target *target, const Row *row)
{
	BlockNumber hint;
	BlockNumber block;
	int strange = 0;

	if (!read_hint(ann, target, &hint))
		return AGAIN;
	block = hint;
	for (;;)
	{
		Outcome outcome;

		CHECK_FOR_INTERRUPTS();
		if (block == InvalidBlockNumber)
			outcome = extend_chain(ann, target, &block);
		else
			outcome = try_page(ann, target, row, &block);
		if (outcome == PLACED)
		{
			if (block != hint)
				move_hint(ann, target, block);
			return PLACED;
		}
		if (outcome == NEXT_PAGE)
			continue;
		/* A page that left the list: once from the head, then start over. */
		if (strange++ > 0)
			return AGAIN;
		block = target->head;
	}
}

/* --- the whole ------------------------------------------------------------------------ */

/* One attempt, from META on. */
static Outcome
insert_once(VxAnnIndex *ann, VxChooser *chooser, VxValueKind kind, Row *row)
{
	Target target;
	const VxDirList *list;

	vx_ann_refresh(ann);
	if (kind != VX_VALUE_ORDINARY)
	{
		target.list_id = kind == VX_VALUE_NULL ? VX_LIST_NULL : VX_LIST_ZERO;
		target.head =
			kind == VX_VALUE_NULL ? ann->meta.null_head : ann->meta.zero_head;
		target.layout = &ann->special;
		return place_row(ann, &target, row);
	}
	if (!ann->born)
		vx_ann_give_birth(ann, row->x);
	list = vx_choose_list(chooser, ann, row->x);
	if (list == NULL || !encode_row(ann, chooser, list, row))
		return AGAIN;
	target.list_id = list->list_id;
	target.head = list->head;
	target.layout = &ann->lead;
	return place_row(ann, &target, row);
}

static InsertCache *
open_cache(Relation index, IndexInfo *index_info)
{
	InsertCache *cache = index_info->ii_AmCache;
	MemoryContext caller;

	if (cache != NULL)
		return cache;
	caller = MemoryContextSwitchTo(index_info->ii_Context);
	cache = palloc0(sizeof(InsertCache));
	vx_ann_open(&cache->ann, index);
	cache->chooser = vx_chooser_create(index_info->ii_Context);
	cache->row_context = AllocSetContextCreate(
		index_info->ii_Context, "ann insert", ALLOCSET_DEFAULT_SIZES);
	index_info->ii_AmCache = cache;
	MemoryContextSwitchTo(caller);
	return cache;
}

bool
anninsert(Relation index, Datum *values, bool *isnull, ItemPointer heap_tid,
		  Relation heap, IndexUniqueCheck check_unique, bool index_unchanged,
		  IndexInfo *index_info)
{
	InsertCache *cache = open_cache(index, index_info);
	VxAnnIndex *ann = &cache->ann;
	MemoryContext caller = MemoryContextSwitchTo(cache->row_context);
	VxValueKind kind;
	Row row = {.tid = heap_tid};
	float *x = palloc(sizeof(float) * ann->dims);

	ann->index = index;
	kind = vx_ann_value(ann->type, ann->dims, values[0], isnull[0], x);
	row.x = x;
	row.values = palloc(ann->values_bytes);
	vx_values_pack(ann->column, ann->columns.count, values + 1, isnull + 1,
				   row.values);
	for (int attempt = 0;
		 insert_once(ann, cache->chooser, kind, &row) != PLACED; attempt++)
	{
		vx_chooser_forget(cache->chooser);
		/* Each retry needs a change of the lists in between. */
		if (attempt > 1000)
			vx_corrupt(index, VX_META_BLOCK, "no list takes a row");
		CHECK_FOR_INTERRUPTS();
	}
	MemoryContextSwitchTo(caller);
	MemoryContextReset(cache->row_context);
	return false;
}
