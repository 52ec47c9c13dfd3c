/*
 * check_codes.c
 *		Code pages: invariant I7, and the code of a slot for I16.
 *
 * Inserts attach code pages beside the check, so a page that nothing named may
 * have found an owner since.
 */
#include "postgres.h"

#include "inspect/check.h"

void
vx_check_code_table(VxCheck *check, BlockNumber block, VxCheckCodes *codes)
{
	const VxLeadLayout *layout = &check->ann.lead;
	Page page = check->page.data;
	const VxLead *lead = vx_page_lead(page);
	VxCodeTable *table = &codes->table;
	int attached = 0;

	vx_code_table_copy(&check->ann, block, page, table);
	codes->end = 0;
	if (table->count > 0)
		codes->end =
			vx_used_slots(vx_plane(page, layout->live, uint64), layout->slots);
	for (int i = 0; i < table->count; i++)
	{
		attached += table->blocks[i] != 0;
		if (table->blocks[i] == 0 && vx_code_used(layout, i, codes->end) > 0)
			vx_corrupt(check->index, block,
					   "invariant I7: slot %d is live, code page %d is not "
					   "attached",
					   codes->end - 1, i);
	}
	if (attached != lead->codes)
		vx_corrupt(check->index, block,
				   "invariant I7: lead of list %u counts %d code pages, %d are "
				   "attached",
				   lead->list_id, lead->codes, attached);
}

void
vx_check_codes(VxCheck *check, const VxCheckCodes *codes)
{
	const VxLeadLayout *layout = &check->ann.lead;
	const VxCodeTable *table = &codes->table;

	for (int i = 0; i < table->count; i++)
	{
		BlockNumber block = table->blocks[i];
		VxCode owner = vx_code_owner(layout, table->list_id, table->lead, i);
		const VxCode *code;
		Page page;

		if (block == 0)
			continue;
		page = vx_check_read_kind(check, block, VX_PAGE_CODE, "I7");
		vx_check_name(check, block, "I7");
		vx_check_page(check, block);
		code = vx_page_code(page);
		if (code->list_id != owner.list_id || code->lead != owner.lead ||
			code->ordinal != owner.ordinal || code->plane != owner.plane)
			vx_corrupt(check->index, block,
					   "invariant I7: code page %d of lead %u says %d of lead "
					   "%u",
					   i, table->lead, code->ordinal, code->lead);
		if (((PageHeader) page)->pd_lower <
			VX_CODE_DATA_AT + vx_code_used(layout, i, codes->end))
			vx_corrupt(check->index, block,
					   "invariant I7: slot %d of lead %u is not within the %d "
					   "bytes used",
					   codes->end - 1, table->lead,
					   ((PageHeader) page)->pd_lower);
	}
}

void
vx_check_code_page(VxCheck *check, BlockNumber block)
{
	const VxLeadLayout *layout = &check->ann.lead;
	Page page = check->page.data;
	const VxCode *code = vx_page_code(page);
	Size used = ((PageHeader) page)->pd_lower;
	bool signs = code->plane == VX_PLANE_SIGNS;
	Size unit = signs ? VX_SIGN_UNIT_BYTES : layout->rest_bytes;

	if (check->ann.meta.layout != VX_LAYOUT_PLANES ||
		code->list_id < VX_LIST_FIRST ||
		code->ordinal >= vx_code_pages(layout) ||
		(code->plane != VX_PLANE_REST && !signs) ||
		signs != (code->ordinal < layout->sign_pages))
		vx_corrupt(check->index, block,
				   "invariant I7: code page says list %u, place %d, plane %d",
				   code->list_id, code->ordinal, code->plane);
	if (used < VX_CODE_DATA_AT || (used - VX_CODE_DATA_AT) % unit != 0)
		vx_corrupt(check->index, block,
				   "invariant I7: code page of plane %d uses bytes up to %d",
				   code->plane, (int) used);
}

bool
vx_check_code_owned(VxCheck *check, BlockNumber block)
{
	VxCode owner = *vx_page_code(check->page.data);

	return owner.lead < vx_page_count(check->index) &&
		   vx_code_is_named(&check->ann, &owner, block,
							vx_check_read(check, owner.lead));
}

/* Copies a code page that the table names to check->page. */
static Page
read_code_page(VxCheck *check, const VxCodeTable *table, int ordinal)
{
	return vx_check_read_kind(check, table->blocks[ordinal], VX_PAGE_CODE,
							  "I7");
}

void
vx_check_read_code(VxCheck *check, const VxCodeTable *table, int slot,
				   uint8 *levels, uint8 *code)
{
	const VxLeadLayout *layout = &check->ann.lead;
	int dims = check->ann.dims;
	int start = vx_sign_start(layout, slot);
	int end = start + layout->sign_units;
	int row = slot % layout->rest_rows;
	Page page;

	memset(levels, 0, dims);
	for (int i = vx_sign_page_first(layout, slot);
		 i <= vx_sign_page_last(layout, slot); i++)
	{
		int page_start = i * VX_CODE_UNITS;
		int from = Max(start, page_start);

		page = read_code_page(check, table, i);
		vx_sign_get(vx_code_data(page) +
						(from - page_start) * VX_SIGN_UNIT_BYTES,
					dims, slot % VX_PLANE_SLOTS, from - start,
					Min(end, page_start + VX_CODE_UNITS) - from, levels);
	}
	page = read_code_page(check, table,
						  layout->sign_pages + slot / layout->rest_rows);
	vx_rest_get(vx_code_data(page) + row * layout->rest_bytes, dims, levels);
	vx_pack(levels, dims, check->ann.quantizer.bits, code);
}
