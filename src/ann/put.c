/*
 * put.c
 *		Records A, C and I: one row into a slot.
 *
 * The caller holds the lead, so the slot is its own: code pages belong to one
 * lead, and whoever changes them holds that lead.  What the code pages have is
 * written no later than the live bit, in the same record or in records before it.
 * The protocol is src/ann/README.md, "Insert".
 */
#include "postgres.h"

#include "ann/ann.h"

/* Pages of one record. */
#define RECORD_PAGES 4

/* A row on its way into a slot. */
typedef struct Put
{
	const VxAnnIndex *ann;
	const VxLeadLayout *layout;
	Buffer lead;
	int slot;
	const uint8 *levels;
	/* Code pages that the slot needs, by ordinal. */
	int first; /* sign page */
	int count; /* sign pages, then one of the rest plane */
} Put;

/* Ordinal of the i-th code page that the slot needs. */
static int
ordinal_of(const Put *put, int i)
{
	if (i < put->count - 1)
		return put->first + i;
	return put->layout->sign_pages + put->slot / put->layout->rest_rows;
}

static VxCode
owner_of(const Put *put, int ordinal)
{
	const VxLead *lead = vx_page_lead(BufferGetPage(put->lead));

	return vx_code_owner(put->layout, lead->list_id,
						 BufferGetBlockNumber(put->lead), ordinal);
}

/* Record A {code page, lead}: a page for the codes of further slots. */
static void
attach(const Put *put, int ordinal)
{
	VxCode owner = owner_of(put, ordinal);
	Buffer buffer = vx_page_claim(put->ann->index, NULL, 0);
	VxRecord *record = vx_record_begin(put->ann->index);
	Page page = vx_record_page(record, buffer, true);

	vx_init_code(page, &owner);
	page = vx_record_page(record, put->lead, false);
	vx_plane(page, put->layout->table, BlockNumber)[ordinal] =
		BufferGetBlockNumber(buffer);
	vx_page_lead(page)->codes++;
	vx_record_finish(record);
	vx_page_unlock(buffer);
}

/* Locks the code page of that ordinal. */
static Buffer
lock_code(const Put *put, int ordinal)
{
	Page lead = BufferGetPage(put->lead);
	BlockNumber block =
		vx_plane(lead, put->layout->table, BlockNumber)[ordinal];
	VxCode owner = owner_of(put, ordinal);
	Buffer buffer = vx_page_pin(put->ann->index, block, NULL);

	if (vx_code_lock_pinned(put->ann->index, block, VX_EXCLUSIVE, &owner, 0,
							buffer) == NULL)
		vx_corrupt(put->ann->index, block, "no code page %d of lead %u here",
				   ordinal, owner.lead);
	return buffer;
}

static void
write_code(const Put *put, VxRecord *record, Buffer buffer, int ordinal)
{
	Page page = vx_record_page(record, buffer, false);

	if (ordinal < put->layout->sign_pages)
		vx_entry_put_signs(page, put->ann, put->slot, ordinal, put->levels);
	else
		vx_entry_put_rest(page, put->ann, put->slot, put->levels);
}

/* Records C: code pages, a record's worth at a time. */
static void
write_codes(const Put *put)
{
	for (int from = 0; from < put->count; from += RECORD_PAGES)
	{
		int count = Min(RECORD_PAGES, put->count - from);
		Buffer buffers[RECORD_PAGES];
		VxRecord *record;

		for (int i = 0; i < count; i++)
			buffers[i] = lock_code(put, ordinal_of(put, from + i));
		record = vx_record_begin(put->ann->index);
		for (int i = 0; i < count; i++)
			write_code(put, record, buffers[i], ordinal_of(put, from + i));
		vx_record_finish(record);
		for (int i = 0; i < count; i++)
			vx_page_unlock(buffers[i]);
	}
}

/* They are locked together: a page named twice would wait for itself. */
static void
check_distinct(const Put *put)
{
	const BlockNumber *table =
		vx_plane(BufferGetPage(put->lead), put->layout->table, BlockNumber);

	for (int i = 0; i < put->count; i++)
	{
		BlockNumber block = table[ordinal_of(put, i)];
		bool twice = block == BufferGetBlockNumber(put->lead);

		for (int j = 0; j < i; j++)
			twice |= block == table[ordinal_of(put, j)];
		if (twice)
			vx_corrupt(put->ann->index, BufferGetBlockNumber(put->lead),
					   "code table names block %u twice", block);
	}
}

/* Which code pages the slot needs; attaches those that are missing. */
static void
need_codes(Put *put)
{
	const VxLeadLayout *layout = put->layout;

	put->first = vx_sign_page_first(layout, put->slot);
	put->count = vx_sign_page_last(layout, put->slot) - put->first + 2;
	for (int i = 0; i < put->count; i++)
	{
		int ordinal = ordinal_of(put, i);

		if (vx_plane(BufferGetPage(put->lead), layout->table,
					 BlockNumber)[ordinal] == 0)
			attach(put, ordinal);
	}
	check_distinct(put);
}

void
vx_put_row(const VxAnnIndex *ann, const VxLeadLayout *layout, Buffer lead,
		   int slot, const ItemPointerData *tid, const uint8 *values,
		   const VxEntry *entry, const uint8 *code, const uint8 *levels)
{
	Put put = {.ann = ann,
			   .layout = layout,
			   .lead = lead,
			   .slot = slot,
			   .levels = levels};
	Buffer buffers[RECORD_PAGES];
	int together = 0; /* code pages in record I */
	VxRecord *record;
	Page page;

	if (layout->form == VX_FORM_PLANES)
	{
		need_codes(&put);
		if (put.count < RECORD_PAGES)
			together = put.count;
		else
			write_codes(&put);
	}
	for (int i = 0; i < together; i++)
		buffers[i] = lock_code(&put, ordinal_of(&put, i));
	record = vx_record_begin(ann->index);
	page = vx_record_page(record, lead, false);
	vx_page_raise_used(page, vx_lead_used(layout, slot + 1));
	vx_entry_put(page, layout, slot, tid, values, entry, code);
	vx_page_lead(page)->live++;
	for (int i = 0; i < together; i++)
		write_code(&put, record, buffers[i], ordinal_of(&put, i));
	vx_record_finish(record);
	for (int i = 0; i < together; i++)
		vx_page_unlock(buffers[i]);
}
