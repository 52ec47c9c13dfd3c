/*
 * check_page.c
 *		Invariants of a single page, checked on a copy of it.
 *
 * The page layer has checked the special area and the page header of every page
 * it hands out; what it finds is reported in its words.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "inspect/check.h"

Page
vx_check_read(VxCheck *check, BlockNumber block)
{
	Buffer buffer;
	Page page;

	CHECK_FOR_INTERRUPTS();
	page = vx_page_lock_extended(check->index, block, VX_SHARE, check->strategy,
								 &buffer);
	memcpy(check->page.data, page, BLCKSZ);
	vx_page_unlock(buffer);
	return check->page.data;
}

Page
vx_check_read_kind(VxCheck *check, BlockNumber block, VxPageKind kind,
				   const char *invariant)
{
	Page page;

	if (block >= vx_page_count(check->index))
		vx_corrupt(check->index, block,
				   "invariant %s: named block is beyond the end of the file",
				   invariant);
	page = vx_check_read(check, block);
	if (vx_page_kind(page) != kind)
		vx_corrupt(check->index, block,
				   "invariant %s: page of kind %d where kind %d belongs",
				   invariant, vx_page_kind(page), kind);
	return page;
}

void
vx_check_name(VxCheck *check, BlockNumber block, const char *invariant)
{
	if (vx_blocks_has(&check->reachable, block))
		vx_corrupt(check->index, block,
				   "invariant %s: page is named from two places", invariant);
	vx_blocks_add(&check->reachable, block);
}

bool
vx_check_half(uint16 half)
{
	return (half & 0x8000) == 0 && (half & 0x7C00) != 0x7C00;
}

/* I6: the bitmaps. */
static void
check_bitmaps(VxCheck *check, Page page, BlockNumber block,
			  const VxLeadLayout *layout)
{
	const VxLead *lead = vx_page_lead(page);
	const uint64 *live = vx_plane(page, layout->live, uint64);
	const uint64 *killed = vx_plane(page, layout->killed, uint64);
	int words = (layout->slots + 63) / 64;
	int tail = layout->slots % 64;
	int ones = 0;
	int end = 0; /* of the live slots */

	for (int w = 0; w < words; w++)
	{
		uint64 inside = tail != 0 && w == words - 1
							? (UINT64CONST(1) << tail) - 1
							: ~UINT64CONST(0);

		if (((live[w] | killed[w]) & ~inside) != 0)
			vx_corrupt(check->index, block,
					   "invariant I6: bit set beyond slot %d",
					   layout->slots - 1);
		if ((killed[w] & ~live[w]) != 0)
			vx_corrupt(check->index, block,
					   "invariant I6: killed slot that is not live");
		ones += pg_popcount64(live[w]);
		if (live[w] != 0)
			end = w * 64 + pg_leftmost_one_pos64(live[w]) + 1;
	}
	if (((PageHeader) page)->pd_lower < vx_lead_used(layout, end))
		vx_corrupt(check->index, block,
				   "invariant I6: slot %d is not within the %d bytes used",
				   end - 1, ((PageHeader) page)->pd_lower);
	if (ones != lead->live)
		vx_corrupt(check->index, block,
				   "invariant I6: lead counts %d live slots, %d bits are set",
				   lead->live, ones);
}

/* I13 for one slot. */
static void
check_factors(VxCheck *check, Page page, BlockNumber block,
			  const VxLeadLayout *layout, int slot)
{
	float f = vx_plane(page, layout->f, float)[slot];
	float n = vx_plane(page, layout->n, float)[slot];
	uint16 sn = vx_plane(page, layout->sn, uint16)[slot];
	uint16 en = vx_plane(page, layout->en, uint16)[slot];

	if (!isfinite(f) || !isfinite(n) || n < 0 || !vx_check_half(sn) ||
		!vx_check_half(en))
		vx_corrupt(check->index, block,
				   "invariant I13: slot %d has factors %g, %g, %04x, %04x",
				   slot, f, n, sn, en);
	if (layout->form != VX_FORM_PLANES)
		return;
	f = vx_plane(page, layout->sign_f, float)[slot];
	sn = vx_plane(page, layout->sign_sn, uint16)[slot];
	en = vx_plane(page, layout->sign_en, uint16)[slot];
	if (!isfinite(f) || !vx_check_half(sn) || !vx_check_half(en))
		vx_corrupt(check->index, block,
				   "invariant I13: signs of slot %d have factors %g, %04x, "
				   "%04x",
				   slot, f, sn, en);
}

/* I8: the pointer itself, and its place for later. */
static void
check_pointer(VxCheck *check, Page page, BlockNumber block,
			  const VxLeadLayout *layout, int slot)
{
	ItemPointer tid = &vx_plane(page, layout->tids, ItemPointerData)[slot];
	VxPlace place = {
		.list_id = vx_page_lead(page)->list_id, .block = block, .slot = slot};

	if (!ItemPointerIsValid(tid) ||
		ItemPointerGetOffsetNumber(tid) > MaxOffsetNumber ||
		ItemPointerGetBlockNumber(tid) == InvalidBlockNumber)
		vx_corrupt(check->index, block,
				   "invariant I8: slot %d has heap pointer (%u,%u)", slot,
				   ItemPointerGetBlockNumberNoCheck(tid),
				   ItemPointerGetOffsetNumberNoCheck(tid));
	check->rows++;
	if (check->locked)
		vx_tids_add(&check->tids, tid, &place);
}

static void
check_lead(VxCheck *check, Page page, BlockNumber block)
{
	const VxLead *lead = vx_page_lead(page);
	bool special = lead->list_id < VX_LIST_FIRST;
	const VxLeadLayout *layout =
		special ? &check->ann.special : &check->ann.lead;
	const uint64 *live = vx_plane(page, layout->live, uint64);

	if (lead->slots != layout->slots)
		vx_corrupt(check->index, block,
				   "invariant I6: lead of list %u has %d slots, not %d",
				   lead->list_id, lead->slots, layout->slots);
	if ((lead->flags & ~VX_LEAD_FLAGS_ALL) != 0 ||
		lead->list_id == VX_LIST_NONE ||
		(lead->codes != 0 && layout->form != VX_FORM_PLANES))
		vx_corrupt(check->index, block,
				   "invariant I7: lead of list %u has flags %d, %d code pages",
				   lead->list_id, lead->flags, lead->codes);
	if (special != ((lead->flags & VX_LEAD_SPECIAL) != 0))
		vx_corrupt(check->index, block,
				   "invariant I14: lead of list %u has flags %d", lead->list_id,
				   lead->flags);
	check_bitmaps(check, page, block, layout);
	for (int slot = 0; slot < layout->slots; slot++)
	{
		if (!vx_bit(live, slot))
			continue;
		if (!special)
			check_factors(check, page, block, layout, slot);
		check_pointer(check, page, block, layout, slot);
	}
}

void
vx_check_frame(VxCheck *check, BlockNumber block)
{
	Page page = check->page.data;
	VxPageKind kind = vx_page_kind(page);

	if ((kind == VX_PAGE_META) != (block == 0))
		vx_corrupt(check->index, block, "invariant I2: page of kind %d", kind);
	if (!PageIsNew(page) && ((PageHeader) page)->pd_upper != VX_PAGE_END)
		vx_corrupt(check->index, block, "invariant I2: page has pd_upper %d",
				   ((PageHeader) page)->pd_upper);
}

void
vx_check_page(VxCheck *check, BlockNumber block)
{
	vx_check_frame(check, block);
	if (vx_page_kind(check->page.data) == VX_PAGE_LEAD)
		check_lead(check, check->page.data, block);
	if (vx_page_kind(check->page.data) == VX_PAGE_CODE)
		vx_check_code_page(check, block);
}
