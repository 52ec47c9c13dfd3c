/*
 * vacuum.c
 *		Bulk delete: one pass over the leads of every list.
 *
 * Removes rows and nothing else; pages are unlinked by the cleanup (cleanup.c).
 * Keeps nothing for it either, since a parallel VACUUM may run the two in
 * different processes.  The protocol is src/ann/README.md, "Bulk delete".
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/memutils.h"

#include "ann/vacuum.h"
#include "compat.h"

/* Words of the largest live bitmap: that of a special lead. */
#define LIVE_WORDS_MAX (BLCKSZ / sizeof(ItemPointerData) / 64 + 1)

static void
set_special(VxDirList *list, uint32 list_id, BlockNumber head)
{
	memset(list, 0, sizeof(VxDirList));
	list->list_id = list_id;
	list->head = head;
	list->cent_block = InvalidBlockNumber;
	list->dir_block = InvalidBlockNumber;
}

void
vx_vacuum_open(VxVacuum *vacuum, IndexVacuumInfo *info)
{
	VxDirList *ordinary;
	int count;

	vacuum->index = info->index;
	vacuum->strategy = info->strategy;
	vx_ann_open(&vacuum->ann, info->index);
	count = vx_dir_read(&vacuum->ann, NULL, &ordinary);

	vacuum->lists = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(VxDirList) * ((Size) count + 2));
	set_special(&vacuum->lists[0], VX_LIST_NULL, vacuum->ann.meta.null_head);
	set_special(&vacuum->lists[1], VX_LIST_ZERO, vacuum->ann.meta.zero_head);
	if (count > 0)
		memcpy(vacuum->lists + 2, ordinary, sizeof(VxDirList) * count);
	vacuum->list_count = count + 2;
}

const VxLeadLayout *
vx_vacuum_layout(const VxVacuum *vacuum, const VxDirList *list)
{
	return list->list_id < VX_LIST_FIRST ? &vacuum->ann.special
										 : &vacuum->ann.lead;
}

Page
vx_vacuum_lead(const VxVacuum *vacuum, const VxDirList *list, BlockNumber block,
			   VxLockMode mode, Buffer *buffer)
{
	const VxLeadLayout *layout = vx_vacuum_layout(vacuum, list);
	Page page = vx_lead_lock(vacuum->index, block, mode, list->list_id,
							 vacuum->strategy, buffer);
	VxLead *lead;
	uint64 live;

	if (page == NULL)
		vx_corrupt(vacuum->index, block, "not a page of list %u",
				   list->list_id);
	lead = vx_page_lead(page);
	live = pg_popcount((char *) page + layout->live,
					   layout->killed - layout->live);
	if (lead->slots != layout->slots || lead->live != live)
		vx_corrupt(vacuum->index, block,
				   "lead has %d slots, %d live, and " UINT64_FORMAT
				   " bits are set",
				   lead->slots, lead->live, live);
	return page;
}

void
vx_code_table_copy(const VxAnnIndex *ann, BlockNumber block, Page page,
				   VxCodeTable *table)
{
	const VxLead *lead = vx_page_lead(page);

	table->list_id = lead->list_id;
	table->lead = block;
	table->count = 0;
	if ((lead->flags & VX_LEAD_SPECIAL) != 0)
		return;
	table->count = vx_code_pages(&ann->lead);
	memcpy(table->blocks, vx_plane(page, ann->lead.table, BlockNumber),
		   sizeof(BlockNumber) * table->count);
}

void
vx_chain_begin(VxChain *chain, const VxDirList *list)
{
	chain->list = list;
	chain->pages = 1;
	chain->position = 0;
	chain->tail = InvalidBlockNumber;
	chain->block = InvalidBlockNumber;
	chain->next = list->head;
	chain->insert_block = InvalidBlockNumber;
}

Page
vx_chain_next(const VxVacuum *vacuum, VxChain *chain, Buffer *buffer)
{
	uint32 list_id = chain->list->list_id;
	bool head = chain->position == 0;
	VxLead *lead;
	Page page;

	if (chain->position == chain->pages)
	{
		if (chain->block != chain->tail)
			vx_corrupt(vacuum->index, chain->block,
					   "chain of list %u does not end at its tail %u", list_id,
					   chain->tail);
		return NULL;
	}
	if (!head && chain->next == InvalidBlockNumber)
		vx_corrupt(vacuum->index, chain->block,
				   "chain of list %u ends after %u of %u pages", list_id,
				   chain->position, chain->pages);

	vx_compat_vacuum_delay();
	page = vx_vacuum_lead(vacuum, chain->list, chain->next, VX_SHARE, buffer);
	lead = vx_page_lead(page);
	if (head != ((lead->flags & VX_LEAD_HEAD) != 0))
		vx_corrupt(vacuum->index, chain->next,
				   "lead %u of list %u has flags %d", chain->position, list_id,
				   lead->flags);
	if (head)
	{
		/* The file only grows, so a chain cannot be longer than it is now. */
		if (lead->lead_pages == 0 ||
			lead->lead_pages > vx_page_count(vacuum->index))
			vx_corrupt(vacuum->index, chain->next, "list %u has %u pages",
					   list_id, lead->lead_pages);
		chain->pages = lead->lead_pages;
		chain->tail = lead->tail_block;
		chain->insert_block = lead->insert_block;
	}
	chain->block = chain->next;
	chain->next = lead->next;
	chain->position++;
	return page;
}

/* Sets a bit in dead for each live slot that the callback wants gone. */
static int
find_dead(Page page, const VxLeadLayout *layout,
		  IndexBulkDeleteCallback callback, void *callback_state, uint64 *dead)
{
	const uint64 *live = vx_plane(page, layout->live, uint64);
	ItemPointer tids = vx_plane(page, layout->tids, ItemPointerData);
	int count = 0;

	memset(dead, 0, sizeof(uint64) * LIVE_WORDS_MAX);
	for (int slot = 0; slot < layout->slots; slot++)
	{
		if (!vx_bit(live, slot) || !callback(&tids[slot], callback_state))
			continue;
		vx_bit_set(dead, slot);
		count++;
	}
	return count;
}

/*
 * Record V.  The lead was unlocked since its dead rows were seen, and slots may
 * have been filled, so the callback is asked again.  Returns how many rows went;
 * *left is how many stay.
 */
static int
delete_dead(const VxVacuum *vacuum, const VxChain *chain,
			IndexBulkDeleteCallback callback, void *callback_state, int *left)
{
	const VxLeadLayout *layout = vx_vacuum_layout(vacuum, chain->list);
	uint64 dead[LIVE_WORDS_MAX];
	Buffer buffer;
	Page page = vx_vacuum_lead(vacuum, chain->list, chain->block, VX_EXCLUSIVE,
							   &buffer);
	int count = find_dead(page, layout, callback, callback_state, dead);

	if (count > 0)
	{
		VxRecord *record = vx_record_begin(vacuum->index);
		uint64 *live;
		uint64 *killed;

		page = vx_record_page(record, buffer, false);
		live = vx_plane(page, layout->live, uint64);
		killed = vx_plane(page, layout->killed, uint64);
		for (int w = 0; w * 64 < layout->slots; w++)
		{
			live[w] &= ~dead[w];
			killed[w] &= ~dead[w];
		}
		vx_page_lead(page)->live -= count;
		vx_record_finish(record);
	}
	*left = vx_page_lead(BufferGetPage(buffer))->live;
	vx_page_unlock(buffer);
	return count;
}

static void
delete_from_list(const VxVacuum *vacuum, const VxDirList *list,
				 IndexBulkDeleteResult *stats, IndexBulkDeleteCallback callback,
				 void *callback_state)
{
	const VxLeadLayout *layout = vx_vacuum_layout(vacuum, list);
	uint64 dead[LIVE_WORDS_MAX];
	VxChain chain;
	Buffer buffer;
	Page page;

	vx_chain_begin(&chain, list);
	while ((page = vx_chain_next(vacuum, &chain, &buffer)) != NULL)
	{
		int count = find_dead(page, layout, callback, callback_state, dead);
		int left = vx_page_lead(page)->live;

		vx_page_unlock(buffer);
		if (count > 0)
			stats->tuples_removed +=
				delete_dead(vacuum, &chain, callback, callback_state, &left);
		stats->num_index_tuples += left;
	}
}

IndexBulkDeleteResult *
annbulkdelete(IndexVacuumInfo *info, IndexBulkDeleteResult *stats,
			  IndexBulkDeleteCallback callback, void *callback_state)
{
	MemoryContext context;
	MemoryContext old;
	VxVacuum vacuum;

	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	/* Removed rows add up over the passes of one VACUUM, the rest does not. */
	stats->num_index_tuples = 0;
	stats->estimated_count = false;

	context = AllocSetContextCreate(CurrentMemoryContext, "ann bulk delete",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	vx_vacuum_open(&vacuum, info);
	for (int i = 0; i < vacuum.list_count; i++)
		delete_from_list(&vacuum, &vacuum.lists[i], stats, callback,
						 callback_state);
	stats->num_pages = vx_page_count(info->index);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return stats;
}
