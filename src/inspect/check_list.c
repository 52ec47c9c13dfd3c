/*
 * check_list.c
 *		Invariants of chains, and of the blocks that are in no chain.
 *
 * Runs beside inserts, which append leads and fill slots, but not beside VACUUM.
 */
#include "postgres.h"

#include "inspect/check.h"

/* --- chains --------------------------------------------------------------------- */

/* I4, I10, I14: the head block. */
static void
check_head(VxCheck *check, const VxCheckList *list, const VxLead *head)
{
	if (head->stamp > check->ann.meta.shape_seq)
		vx_corrupt(check->index, list->head,
				   "invariant I10: list %u has stamp " UINT64_FORMAT
				   ", metapage is at " UINT64_FORMAT,
				   list->list_id, head->stamp, check->ann.meta.shape_seq);
	if (head->head_flags != list->flags ||
		head->cent_block != list->cent_block ||
		head->cent_slot != list->cent_slot || head->r2 != list->r2)
		vx_corrupt(check->index, list->head,
				   "invariant I4: list %u has flags %d, centroid at %u, %d, "
				   "residual %g; its entry says %d, %u, %d, %g",
				   list->list_id, head->head_flags, head->cent_block,
				   head->cent_slot, head->r2, list->flags, list->cent_block,
				   list->cent_slot, list->r2);
	if (head->lead_pages == 0 || head->lead_run == 0 ||
		head->lead_run > head->lead_pages ||
		head->lead_pages > vx_page_count(check->index))
		vx_corrupt(check->index, list->head,
				   "invariant I5: list %u has %u pages, %u consecutive",
				   list->list_id, head->lead_pages, head->lead_run);
}

/* The lead at position i of its chain, in check->page. */
static void
check_member(VxCheck *check, const VxCheckList *list, BlockNumber block,
			 uint32 i, uint32 run)
{
	static const char none[sizeof(VxLead) - offsetof(VxLead, stamp)] = {0};
	const VxLead *lead = vx_page_lead(check->page.data);

	if (lead->list_id != list->list_id)
		vx_corrupt(check->index, block,
				   "invariant I5: chain of list %u leads to a page of list %u",
				   list->list_id, lead->list_id);
	if ((i == 0) != ((lead->flags & VX_LEAD_HEAD) != 0))
		vx_corrupt(check->index, block,
				   "invariant I5: lead %u of list %u has flags %d", i,
				   list->list_id, lead->flags);
	if (i > 0 && memcmp(&lead->stamp, none, sizeof(none)) != 0)
		vx_corrupt(check->index, block,
				   "invariant I5: lead %u of list %u has a head block", i,
				   list->list_id);
	if (i < run && block != list->head + i)
		vx_corrupt(check->index, block,
				   "invariant I5: lead %u of list %u is not consecutive", i,
				   list->list_id);
	if ((lead->flags & VX_LEAD_SEALED) != 0 &&
		(list->flags & VX_DIR_CLOSING) == 0)
		vx_corrupt(check->index, block,
				   "invariant I9: lead of list %u is sealed", list->list_id);
}

/* Has the list grown since it was walked? */
static bool
appended_since(VxCheck *check, const VxCheckList *list)
{
	vx_check_read_kind(check, list->head, VX_PAGE_LEAD, "I4");
	return vx_page_lead(check->page.data)->lead_pages > list->pages;
}

/* I5: the chain as long as it was when the head was read. */
static void
check_chain(VxCheck *check, VxCheckList *list)
{
	BlockNumber block = list->head;
	BlockNumber last = InvalidBlockNumber;
	bool hint_found = false;
	VxCheckCodes codes;
	VxLead head = {.lead_pages = 1};

	for (uint32 i = 0; i < head.lead_pages; i++)
	{
		if (block == InvalidBlockNumber)
			vx_corrupt(check->index, last,
					   "invariant I5: chain of list %u ends after %u of %u "
					   "pages",
					   list->list_id, i, head.lead_pages);
		vx_check_read_kind(check, block, VX_PAGE_LEAD, i == 0 ? "I4" : "I5");
		vx_check_name(check, block, "I5");
		if (i == 0)
		{
			head = *vx_page_lead(check->page.data);
			check_head(check, list, &head);
		}
		check_member(check, list, block, i, head.lead_run);
		vx_check_page(check, block);
		hint_found |= block == head.insert_block;
		list->rows += vx_page_lead(check->page.data)->live;
		last = block;
		vx_check_code_table(check, block, &codes);
		block = vx_page_lead(check->page.data)->next;
		vx_check_codes(check, &codes);
	}
	list->pages = head.lead_pages;
	if (block != InvalidBlockNumber && !appended_since(check, list))
		vx_corrupt(check->index, last,
				   "invariant I5: chain of list %u goes on after its %u pages",
				   list->list_id, head.lead_pages);
	if (last != head.tail_block)
		vx_corrupt(check->index, last,
				   "invariant I5: chain of list %u does not end at its tail "
				   "%u",
				   list->list_id, head.tail_block);
	if (!hint_found)
		vx_corrupt(check->index, list->head,
				   "invariant I5: list %u does not contain its insert block "
				   "%u",
				   list->list_id, head.insert_block);
}

static void
check_special(VxCheck *check, uint32 list_id, BlockNumber head)
{
	VxCheckList *list = &check->special[list_id - VX_LIST_NULL];

	memset(list, 0, sizeof(VxCheckList));
	list->list_id = list_id;
	list->head = head;
	list->cent_block = InvalidBlockNumber;
	if (head == InvalidBlockNumber)
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I14: list %u does not exist", list_id);
	check_chain(check, list);
}

void
vx_check_lists(VxCheck *check)
{
	check_special(check, VX_LIST_NULL, check->ann.meta.null_head);
	check_special(check, VX_LIST_ZERO, check->ann.meta.zero_head);
	for (int i = 0; i < check->list_count; i++)
	{
		VxCheckList *list = &check->lists[i];

		check_chain(check, list);
		if (list->list_id >= check->ann.meta.pending_from && list->rows > 0)
			vx_corrupt(check->index, list->head,
					   "invariant I11: list %u is not published and has rows",
					   list->list_id);
	}
}

/* --- the other blocks ------------------------------------------------------------- */

/* I15 for a page that nothing names. */
static bool
is_leaked(VxCheck *check, BlockNumber block)
{
	Page page = check->page.data;
	VxPageKind kind = vx_page_kind(page);

	if (kind == VX_PAGE_FREE)
		return false;
	/* A first insert may be at work, or may have been since. */
	if (!check->ann.born)
		return false;
	if (kind == VX_PAGE_LEAD)
	{
		const VxCheckList *list =
			vx_check_find_list(check, vx_page_lead(page)->list_id);

		return list == NULL || !appended_since(check, list);
	}
	return kind != VX_PAGE_CODE || !vx_check_code_owned(check, block);
}

/* Every block that nothing named so far; of all blocks when nothing was. */
void
vx_check_rest(VxCheck *check)
{
	for (BlockNumber block = 0; block < check->blocks; block++)
	{
		if (vx_blocks_has(&check->reachable, block))
			continue;
		vx_check_read(check, block);
		if (check->locked)
		{
			vx_check_frame(check, block);
			check->leaked += is_leaked(check, block) ? 1 : 0;
		}
		else
			vx_check_page(check, block);
	}
}
