/*
 * cleanup.c
 *		The end of VACUUM: statistics, insert hints, empty pages.
 *
 * Walks all leads itself and relies on nothing that bulk delete did.  The only
 * caller that unlinks pages.  The protocol is src/ann/README.md, "Cleanup".
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ann/vacuum.h"
#include "compat.h"

/* A directory entry's row count is rewritten when it is off by 1 in so many. */
#define ROWS_TOLERANCE 50

/* The buffers of an unlink; prev may be the head. */
typedef struct Unlink
{
	Buffer head;
	Buffer prev;
	Buffer page;
	Buffer meta;
} Unlink;

/* Pages of one record. */
#define RECORD_PAGES 4

/*
 * Record U.  position is the place of the page in its chain, counted from 0 at
 * the head.  All pages of unlink are held EXCLUSIVE.
 */
static void
record_unlink(const VxVacuum *vacuum, const Unlink *unlink, uint32 position)
{
	VxRecord *record = vx_record_begin(vacuum->index);
	BlockNumber block = BufferGetBlockNumber(unlink->page);
	BlockNumber prev_block = BufferGetBlockNumber(unlink->prev);
	VxLead *head = vx_page_lead(vx_record_page(record, unlink->head, false));
	VxLead *prev = head;
	VxMeta *meta;
	Page page;

	if (unlink->prev != unlink->head)
		prev = vx_page_lead(vx_record_page(record, unlink->prev, false));
	page = vx_record_page(record, unlink->page, false);
	meta = vx_page_meta(vx_record_page(record, unlink->meta, false));

	prev->next = vx_page_lead(page)->next;
	if (head->tail_block == block)
		head->tail_block = prev_block;
	if (head->insert_block == block)
		head->insert_block = prev_block;
	head->lead_pages--;
	head->lead_run = Min(head->lead_run, position);
	/* A scan that rests on this page must find out: see P1. */
	meta->shape_seq++;
	head->stamp = meta->shape_seq;
	vx_init_page(page, VX_PAGE_FREE);
	vx_record_finish(record);
}

/* Locks the code page at a place of the table of a lead that is gone. */
static Buffer
lock_orphan(const VxVacuum *vacuum, const VxCodeTable *table, int ordinal)
{
	BlockNumber block = table->blocks[ordinal];
	VxCode owner =
		vx_code_owner(&vacuum->ann.lead, table->list_id, table->lead, ordinal);
	Buffer buffer = vx_page_pin(vacuum->index, block, vacuum->strategy);

	if (vx_code_lock_pinned(vacuum->index, block, VX_EXCLUSIVE, &owner, 0,
							buffer) == NULL)
		vx_corrupt(vacuum->index, block,
				   "no code page %d of lead %u of list %u here", ordinal,
				   table->lead, table->list_id);
	return buffer;
}

/* Record F {code pages}, locked. */
static void
free_together(const VxVacuum *vacuum, const Buffer *buffers, int count)
{
	VxRecord *record = vx_record_begin(vacuum->index);

	for (int i = 0; i < count; i++)
		vx_init_page(vx_record_page(record, buffers[i], false), VX_PAGE_FREE);
	vx_record_finish(record);
	for (int i = 0; i < count; i++)
	{
		BlockNumber block = BufferGetBlockNumber(buffers[i]);

		vx_page_unlock(buffers[i]);
		vx_page_record_free(vacuum->index, block);
	}
}

/* Frees the code pages of a lead that is gone, which nothing names any more. */
static void
free_codes(const VxVacuum *vacuum, const VxCodeTable *table,
		   IndexBulkDeleteResult *stats)
{
	Buffer buffers[RECORD_PAGES];
	int count = 0;

	for (int i = 0; i < table->count; i++)
	{
		if (table->blocks[i] == 0)
			continue;
		buffers[count++] = lock_orphan(vacuum, table, i);
		stats->pages_newly_deleted++;
		if (count < RECORD_PAGES)
			continue;
		free_together(vacuum, buffers, count);
		count = 0;
	}
	if (count > 0)
		free_together(vacuum, buffers, count);
}

/*
 * Unlinks a lead that was empty a moment ago.  False when it has rows now.
 */
static bool
unlink_lead(const VxVacuum *vacuum, const VxDirList *list,
			BlockNumber prev_block, BlockNumber block, uint32 position,
			VxCodeTable *codes)
{
	Unlink unlink;
	VxLead *prev;
	VxLead *lead;
	bool empty;

	prev = vx_page_lead(
		vx_vacuum_lead(vacuum, list, list->head, VX_EXCLUSIVE, &unlink.head));
	unlink.prev = unlink.head;
	if (prev_block != list->head)
		prev = vx_page_lead(vx_vacuum_lead(vacuum, list, prev_block,
										   VX_EXCLUSIVE, &unlink.prev));
	if (prev->next != block)
		vx_corrupt(vacuum->index, prev_block,
				   "chain of list %u leads to %u, not to %u", list->list_id,
				   prev->next, block);
	lead = vx_page_lead(
		vx_vacuum_lead(vacuum, list, block, VX_EXCLUSIVE, &unlink.page));
	empty = lead->live == 0;
	if (empty)
	{
		vx_code_table_copy(&vacuum->ann, block,
						   (Page) BufferGetPage(unlink.page), codes);
		vx_page_lock_kind(vacuum->index, VX_META_BLOCK, VX_EXCLUSIVE,
						  VX_PAGE_META, &unlink.meta);
		record_unlink(vacuum, &unlink, position);
		vx_page_unlock(unlink.meta);
	}
	vx_page_unlock(unlink.page);
	if (unlink.prev != unlink.head)
		vx_page_unlock(unlink.prev);
	vx_page_unlock(unlink.head);
	if (empty)
		vx_page_record_free(vacuum->index, block);
	return empty;
}

/* The same, but beside a parallel scan, which relies on chains, the lead stays. */
static bool
try_unlink(const VxVacuum *vacuum, const VxDirList *list,
		   BlockNumber prev_block, BlockNumber block, uint32 position,
		   IndexBulkDeleteResult *stats)
{
	VxCodeTable codes;
	bool unlinked;

	if (!vx_shape_try_lock(vacuum->index))
		return false;
	unlinked = unlink_lead(vacuum, list, prev_block, block, position, &codes);
	vx_shape_unlock(vacuum->index);
	if (unlinked)
	{
		stats->pages_newly_deleted++;
		free_codes(vacuum, &codes, stats);
	}
	return unlinked;
}

/*
 * Record H: inserts look from block on, which is a lead of the list and stays
 * one, since nobody else unlinks.
 */
static void
set_insert_block(const VxVacuum *vacuum, const VxDirList *list,
				 BlockNumber block)
{
	Buffer buffer;
	VxLead *head = vx_page_lead(
		vx_vacuum_lead(vacuum, list, list->head, VX_EXCLUSIVE, &buffer));

	if (head->insert_block != block)
	{
		VxRecord *record = vx_record_begin(vacuum->index);

		head = vx_page_lead(vx_record_page(record, buffer, false));
		head->insert_block = block;
		vx_record_finish(record);
	}
	vx_page_unlock(buffer);
}

/*
 * Counts the rows of a list, unlinks its empty leads, and moves its insert hint
 * back to the first lead with room.  Returns the rows.
 */
static uint64
clean_list(const VxVacuum *vacuum, const VxDirList *list, VxBlockSet *reachable,
		   IndexBulkDeleteResult *stats)
{
	BlockNumber kept = InvalidBlockNumber; /* the lead before, in the chain */
	uint32 kept_count = 0;
	BlockNumber roomy = InvalidBlockNumber;
	bool hint_passed = false;
	uint64 rows = 0;
	VxCodeTable codes;
	VxChain chain;
	Buffer buffer;
	Page page;

	vx_chain_begin(&chain, list);
	while ((page = vx_chain_next(vacuum, &chain, &buffer)) != NULL)
	{
		int live = vx_page_lead(page)->live;
		int slots = vx_page_lead(page)->slots;

		vx_code_table_copy(&vacuum->ann, chain.block, page, &codes);
		vx_page_unlock(buffer);
		if (chain.block == chain.insert_block)
			hint_passed = true;
		if (live == 0 && kept != InvalidBlockNumber &&
			try_unlink(vacuum, list, kept, chain.block, kept_count, stats))
			continue;
		/* Going forward is left to the inserts. */
		if (roomy == InvalidBlockNumber && !hint_passed &&
			live <= slots - (slots + 3) / 4)
			roomy = chain.block;
		vx_blocks_add(reachable, chain.block);
		vx_blocks_add_codes(reachable, &codes);
		kept = chain.block;
		kept_count++;
		rows += live;
	}
	if (roomy != InvalidBlockNumber)
		set_insert_block(vacuum, list, roomy);
	return rows;
}

static bool
rows_moved(uint32 before, uint32 now)
{
	uint32 difference = before > now ? before - now : now - before;

	return difference > before / ROWS_TOLERANCE;
}

/*
 * Record R for the directory page of lists[0..count), which are neighbours on
 * it.  rows[i] is the count of lists[i].
 */
static void
write_dir_rows(const VxVacuum *vacuum, const VxDirList *lists,
			   const uint64 *rows, int count)
{
	Size entry_bytes = vacuum->ann.dir_entry_bytes;
	VxRecord *record;
	Buffer buffer;
	Page page;

	vx_page_lock_kind(vacuum->index, lists[0].dir_block, VX_EXCLUSIVE,
					  VX_PAGE_DIR, &buffer);
	record = vx_record_begin(vacuum->index);
	page = vx_record_page(record, buffer, false);
	for (int i = 0; i < count; i++)
	{
		VxDirEntry *entry = vx_dir_entry(page, entry_bytes, lists[i].dir_slot);

		if (entry->list_id == lists[i].list_id)
			entry->rows = Min(rows[i], PG_UINT32_MAX);
	}
	vx_record_finish(record);
	vx_page_unlock(buffer);
}

/* Brings the directory's row counts up to date, page by page. */
static void
update_directory(const VxVacuum *vacuum, const uint64 *rows)
{
	int first = 2; /* the special lists have no entry */

	while (first < vacuum->list_count)
	{
		const VxDirList *lists = vacuum->lists;
		bool moved = false;
		int end = first;

		for (; end < vacuum->list_count &&
			   lists[end].dir_block == lists[first].dir_block;
			 end++)
			moved |= rows_moved(lists[end].rows, Min(rows[end], PG_UINT32_MAX));
		if (moved)
			write_dir_rows(vacuum, lists + first, rows + first, end - first);
		first = end;
	}
}

/* Record R for META. */
static void
update_meta(const VxVacuum *vacuum, uint64 rows, uint64 dead_rows)
{
	VxMeta *meta;
	Buffer buffer;
	Page page = vx_page_lock_kind(vacuum->index, VX_META_BLOCK, VX_EXCLUSIVE,
								  VX_PAGE_META, &buffer);

	meta = vx_page_meta(page);
	if (meta->rows != rows || meta->dead_rows != dead_rows)
	{
		VxRecord *record = vx_record_begin(vacuum->index);

		meta = vx_page_meta(vx_record_page(record, buffer, false));
		meta->rows = rows;
		meta->dead_rows = dead_rows;
		vx_record_finish(record);
	}
	vx_page_unlock(buffer);
}

static void
clean_index(VxVacuum *vacuum, IndexBulkDeleteResult *stats)
{
	VxBlockSet reachable;
	uint64 total = 0;
	uint64 *rows = MemoryContextAllocHuge(CurrentMemoryContext,
										  sizeof(uint64) * vacuum->list_count);

	/* Before the walk: a block that is appended during it is none of ours. */
	vx_blocks_init(&reachable, vx_page_count(vacuum->index));
	for (int i = 0; i < vacuum->list_count; i++)
	{
		rows[i] = clean_list(vacuum, &vacuum->lists[i], &reachable, stats);
		total += rows[i];
	}
	update_directory(vacuum, rows);
	update_meta(vacuum, total, (uint64) stats->tuples_removed);
	vx_vacuum_sweep(vacuum, &reachable, stats);
	vx_free_map_vacuum(vacuum->index);
	stats->num_index_tuples = total;
	stats->estimated_count = false;
	stats->num_pages = vx_page_count(vacuum->index);
}

IndexBulkDeleteResult *
annvacuumcleanup(IndexVacuumInfo *info, IndexBulkDeleteResult *stats)
{
	MemoryContext context;
	MemoryContext old;
	VxVacuum vacuum;

	if (info->analyze_only)
		return stats;
	if (stats == NULL)
		stats = palloc0(sizeof(IndexBulkDeleteResult));
	context = AllocSetContextCreate(CurrentMemoryContext, "ann cleanup",
									ALLOCSET_DEFAULT_SIZES);
	old = MemoryContextSwitchTo(context);
	vx_vacuum_open(&vacuum, info);
	clean_index(&vacuum, stats);
	MemoryContextSwitchTo(old);
	MemoryContextDelete(context);
	return stats;
}
