/*
 * sweep.c
 *		Finding blocks that nobody uses and that the free space map does not know.
 *
 * They come from crashes: an extension without a record, a page freed without
 * a note in the map (which is not logged), centroids of a first insert that was
 * cancelled, code pages whose lead is gone.  The protocol is src/ann/README.md, "Cleanup".
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ann/vacuum.h"
#include "compat.h"

void
vx_blocks_init(VxBlockSet *set, BlockNumber blocks)
{
	set->blocks = blocks;
	set->bits =
		MemoryContextAllocExtended(CurrentMemoryContext, (Size) blocks / 8 + 1,
								   MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
}

void
vx_blocks_add(VxBlockSet *set, BlockNumber block)
{
	if (block < set->blocks)
		set->bits[block / 8] |= 1 << (block % 8);
}

bool
vx_blocks_has(const VxBlockSet *set, BlockNumber block)
{
	return block < set->blocks && (set->bits[block / 8] >> (block % 8)) & 1;
}

void
vx_blocks_add_codes(VxBlockSet *set, const VxCodeTable *table)
{
	for (int i = 0; i < table->count; i++)
		if (table->blocks[i] != 0)
			vx_blocks_add(set, table->blocks[i]);
}

static void
add_dir(const VxVacuum *vacuum, VxBlockSet *reachable)
{
	BlockNumber block = vacuum->ann.meta.dir_head;

	while (block != InvalidBlockNumber && !vx_blocks_has(reachable, block))
	{
		Buffer buffer;
		Page page = vx_page_lock_kind(vacuum->index, block, VX_SHARE,
									  VX_PAGE_DIR, &buffer);

		vx_blocks_add(reachable, block);
		block = vx_page_dir(page)->next;
		vx_page_unlock(buffer);
	}
}

/* Adds the page or pages of one vector. */
static void
add_vector(const VxVacuum *vacuum, VxBlockSet *reachable, BlockNumber block)
{
	int pages = vx_cent_chain_pages(vacuum->ann.dims);

	for (int i = 0; i < pages && !vx_blocks_has(reachable, block); i++)
	{
		Buffer buffer;
		Page page;

		vx_blocks_add(reachable, block);
		if (i == pages - 1)
			break;
		page = vx_page_lock_kind(vacuum->index, block, VX_SHARE, VX_PAGE_CENT,
								 &buffer);
		block = vx_page_cent(page)->next;
		vx_page_unlock(buffer);
	}
}

static int
compare_ids(const void *a, const void *b)
{
	uint32 x = *(const uint32 *) a;
	uint32 y = *(const uint32 *) b;

	return (x > y) - (x < y);
}

/* The ids of all lists, sorted. */
static uint32 *
sorted_ids(const VxVacuum *vacuum)
{
	uint32 *ids = MemoryContextAllocHuge(CurrentMemoryContext,
										 sizeof(uint32) * vacuum->list_count);

	for (int i = 0; i < vacuum->list_count; i++)
		ids[i] = vacuum->lists[i].list_id;
	qsort(ids, vacuum->list_count, sizeof(uint32), compare_ids);
	return ids;
}

/*
 * Does nobody use this locked page, which was not reachable?  Before birth a
 * first insert may have written its centre and be about to name it.  A lead of a
 * known list was appended after the walk; a list with an id of after the start
 * is none of ours.
 */
static bool
is_leaked(const VxVacuum *vacuum, const uint32 *ids, Page page)
{
	uint32 list_id = vx_page_lead(page)->list_id;

	if (!vacuum->ann.born)
		return false;
	if (vx_page_kind(page) == VX_PAGE_CENT)
		return true;
	return vx_page_kind(page) == VX_PAGE_LEAD &&
		   list_id < vacuum->ann.meta.next_list_id &&
		   bsearch(&list_id, ids, vacuum->list_count, sizeof(uint32),
				   compare_ids) == NULL;
}

/* Record F, unless the page has found an owner since it was looked at. */
static bool
free_leaked(const VxVacuum *vacuum, const uint32 *ids, BlockNumber block)
{
	Buffer buffer;
	Page page = vx_page_lock_extended(vacuum->index, block, VX_EXCLUSIVE,
									  vacuum->strategy, &buffer);
	bool leaked = is_leaked(vacuum, ids, page);

	if (leaked)
	{
		VxRecord *record = vx_record_begin(vacuum->index);

		vx_init_page(vx_record_page(record, buffer, false), VX_PAGE_FREE);
		vx_record_finish(record);
	}
	vx_page_unlock(buffer);
	return leaked;
}

/* Record F for a code page, unless its lead names it. */
static bool
free_leaked_code(const VxVacuum *vacuum, BlockNumber block, const VxCode *owner)
{
	bool exists = owner->lead < vx_page_count(vacuum->index);
	bool leaked = false;
	Buffer lead_buffer;
	Buffer buffer;

	if (owner->lead == block)
		vx_corrupt(vacuum->index, block, "code page names itself as its lead");
	/* While the lead is locked nobody attaches a page to it. */
	if (exists && vx_code_is_named(&vacuum->ann, owner, block,
								   vx_page_lock_extended(
									   vacuum->index, owner->lead, VX_SHARE,
									   vacuum->strategy, &lead_buffer)))
	{
		vx_page_unlock(lead_buffer);
		return false;
	}
	buffer = vx_page_pin(vacuum->index, block, vacuum->strategy);
	if (vx_code_lock_pinned(vacuum->index, block, VX_EXCLUSIVE, owner, 0,
							buffer) != NULL)
	{
		VxRecord *record = vx_record_begin(vacuum->index);

		vx_init_page(vx_record_page(record, buffer, false), VX_PAGE_FREE);
		vx_record_finish(record);
		vx_page_unlock(buffer);
		leaked = true;
	}
	if (exists)
		vx_page_unlock(lead_buffer);
	return leaked;
}

/* True when the block is free now and the free space map was told so. */
static bool
sweep_block(const VxVacuum *vacuum, const uint32 *ids, BlockNumber block)
{
	Buffer buffer;
	Page page = vx_page_lock_extended(vacuum->index, block, VX_SHARE,
									  vacuum->strategy, &buffer);
	bool nobodys = vx_page_kind(page) == VX_PAGE_FREE;
	bool is_code = vx_page_kind(page) == VX_PAGE_CODE;
	VxCode owner = *vx_page_code(page);
	bool leaked = !nobodys && is_leaked(vacuum, ids, page);

	vx_page_unlock(buffer);
	if (is_code)
		nobodys = free_leaked_code(vacuum, block, &owner);
	else if (leaked)
		nobodys = free_leaked(vacuum, ids, block);
	if (nobodys)
		vx_page_record_free(vacuum->index, block);
	return nobodys;
}

void
vx_vacuum_sweep(VxVacuum *vacuum, VxBlockSet *reachable,
				IndexBulkDeleteResult *stats)
{
	const uint32 *ids = sorted_ids(vacuum);
	BlockNumber free_blocks = 0;

	vx_blocks_add(reachable, VX_META_BLOCK);
	add_dir(vacuum, reachable);
	if (vacuum->ann.born)
		add_vector(vacuum, reachable, vacuum->ann.meta.centre_block);
	for (int i = 0; i < vacuum->list_count; i++)
		if (vacuum->lists[i].cent_block != InvalidBlockNumber)
			add_vector(vacuum, reachable, vacuum->lists[i].cent_block);

	for (BlockNumber block = 0; block < reachable->blocks; block++)
	{
		if (vx_blocks_has(reachable, block))
			continue;
		if (vx_page_recorded_free(vacuum->index, block))
			free_blocks++;
		else
		{
			vx_compat_vacuum_delay();
			if (sweep_block(vacuum, ids, block))
				free_blocks++;
		}
	}
	stats->pages_deleted = free_blocks;
	stats->pages_free = free_blocks;
}
