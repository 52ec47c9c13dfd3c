/*
 * entry.c
 *		An entry of a lead: encoding a row, and the bytes of a slot.
 *
 * Writes into pages that the caller has locked or is building; locks and logs
 * nothing.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "ann/ann.h"

void
vx_entry_encode(const VxAnnIndex *ann, const VxListRef *list, const float *x,
				uint8 *code, VxEntry *entry, float *scratch)
{
	memset(entry, 0, sizeof(VxEntry));
	if (ann->lead.form == VX_FORM_PLANES)
		vx_encode_planes(&ann->quantizer, list, x, code, &entry->factors,
						 &entry->signs, scratch);
	else
		vx_encode(&ann->quantizer, list, x, code, &entry->factors, scratch);
}

void
vx_entry_put(Page page, const VxLeadLayout *layout, int slot,
			 const ItemPointerData *tid, const uint8 *values,
			 const VxEntry *entry, const uint8 *code)
{
	vx_bit_set(vx_plane(page, layout->live, uint64), slot);
	vx_bit_clear(vx_plane(page, layout->killed, uint64), slot);
	vx_plane(page, layout->tids, ItemPointerData)[slot] = *tid;
	vx_values_put(page, layout, slot, values);
	if (layout->form == VX_FORM_TIDS)
		return;
	vx_plane(page, layout->f, float)[slot] = entry->factors.f;
	vx_plane(page, layout->n, float)[slot] = entry->factors.n;
	vx_plane(page, layout->sn, uint16)[slot] = entry->factors.sn;
	vx_plane(page, layout->en, uint16)[slot] = entry->factors.en;
	if (layout->form == VX_FORM_PLANES)
	{
		vx_plane(page, layout->sign_f, float)[slot] = entry->signs.f;
		vx_plane(page, layout->sign_sn, uint16)[slot] = entry->signs.sn;
		vx_plane(page, layout->sign_en, uint16)[slot] = entry->signs.en;
	}
	else
		memcpy(vx_plane(page, layout->codes, uint8) +
				   (Size) slot * layout->code_bytes,
			   code, layout->code_bytes);
}

void
vx_entry_put_signs(Page page, const VxAnnIndex *ann, int slot, int number,
				   const uint8 *levels)
{
	const VxLeadLayout *layout = &ann->lead;
	int start = vx_sign_start(layout, slot);
	int page_start = number * VX_CODE_UNITS;
	int from = Max(start, page_start);
	int to = Min(start + layout->sign_units, page_start + VX_CODE_UNITS);
	uint8 *units =
		vx_code_data(page) + (from - page_start) * VX_SIGN_UNIT_BYTES;

	vx_sign_put(levels, ann->dims, slot % VX_PLANE_SLOTS, from - start,
				to - from, units);
	vx_page_raise_used(page, VX_CODE_DATA_AT +
								 (Size) (to - page_start) * VX_SIGN_UNIT_BYTES);
}

void
vx_entry_put_rest(Page page, const VxAnnIndex *ann, int slot,
				  const uint8 *levels)
{
	const VxLeadLayout *layout = &ann->lead;
	Size at = (Size) (slot % layout->rest_rows) * layout->rest_bytes;

	vx_rest_put(levels, ann->dims, vx_code_data(page) + at);
	vx_page_raise_used(page, VX_CODE_DATA_AT + at + layout->rest_bytes);
}

int
vx_used_slots(const uint64 *live, int slots)
{
	for (int w = (slots + 63) / 64 - 1; w >= 0; w--)
		if (live[w] != 0)
			return Min(slots, w * 64 + pg_leftmost_one_pos64(live[w]) + 1);
	return 0;
}

bool
vx_entry_equal(Page page, const VxLeadLayout *layout, int slot,
			   const VxEntry *entry)
{
	const VxEntryFactors *factors = &entry->factors;
	const VxSignFactors *signs = &entry->signs;

	if (memcmp(&vx_plane(page, layout->f, float)[slot], &factors->f, 4) != 0 ||
		memcmp(&vx_plane(page, layout->n, float)[slot], &factors->n, 4) != 0 ||
		vx_plane(page, layout->sn, uint16)[slot] != factors->sn ||
		vx_plane(page, layout->en, uint16)[slot] != factors->en)
		return false;
	return layout->form != VX_FORM_PLANES ||
		   (memcmp(&vx_plane(page, layout->sign_f, float)[slot], &signs->f,
				   4) == 0 &&
			vx_plane(page, layout->sign_sn, uint16)[slot] == signs->sn &&
			vx_plane(page, layout->sign_en, uint16)[slot] == signs->en);
}

bool
vx_code_is_named(const VxAnnIndex *ann, const VxCode *owner, BlockNumber block,
				 Page page)
{
	const VxLead *lead = vx_page_lead(page);

	return vx_page_kind(page) == VX_PAGE_LEAD &&
		   lead->list_id == owner->list_id &&
		   (lead->flags & VX_LEAD_SPECIAL) == 0 &&
		   owner->ordinal < vx_code_pages(&ann->lead) &&
		   vx_plane(page, ann->lead.table, BlockNumber)[owner->ordinal] ==
			   block;
}
