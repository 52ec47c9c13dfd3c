/*
 * check_directory.c
 *		Invariants of META, the directory and the centroids.
 */
#include "postgres.h"

#include <math.h>

#include "miscadmin.h"
#include "utils/memutils.h"

#include "inspect/check.h"

/* --- directory ----------------------------------------------------------------- */

static int
compare_lists(const void *a, const void *b)
{
	uint32 x = ((const VxCheckList *) a)->list_id;
	uint32 y = ((const VxCheckList *) b)->list_id;

	return (x > y) - (x < y);
}

const VxCheckList *
vx_check_find_list(const VxCheck *check, uint32 list_id)
{
	VxCheckList key = {.list_id = list_id};

	if (list_id == VX_LIST_NULL || list_id == VX_LIST_ZERO)
		return &check->special[list_id - VX_LIST_NULL];
	return bsearch(&key, check->lists, check->list_count, sizeof(VxCheckList),
				   compare_lists);
}

/* I3 and I13 for one entry; remembers it. */
static void
check_entry(VxCheck *check, BlockNumber block, int slot,
			const VxDirEntry *entry, int *room)
{
	VxCheckList *list;

	if (entry->list_id < VX_LIST_FIRST ||
		entry->list_id >= check->ann.meta.next_list_id)
		vx_corrupt(check->index, block,
				   "invariant I3: entry %d has list id %u, next is %u", slot,
				   entry->list_id, check->ann.meta.next_list_id);
	if (!isfinite(entry->f) || !isfinite(entry->n) || entry->n < 0 ||
		!vx_check_half(entry->sn) || !vx_check_half(entry->en) ||
		!isfinite(entry->r2) || !isfinite(entry->norm2) ||
		!isfinite(entry->inv_norm))
		vx_corrupt(check->index, block,
				   "invariant I13: entry of list %u has factors %g, %g, %04x, "
				   "%04x",
				   entry->list_id, entry->f, entry->n, entry->sn, entry->en);
	if (check->list_count == *room)
	{
		*room *= 2;
		check->lists =
			repalloc_huge(check->lists, sizeof(VxCheckList) * (Size) *room);
	}
	list = &check->lists[check->list_count++];
	memset(list, 0, sizeof(VxCheckList));
	list->list_id = entry->list_id;
	list->head = entry->head;
	list->cent_block = entry->cent_block;
	list->cent_slot = entry->cent_slot;
	list->flags = entry->flags;
	list->r2 = entry->r2;
}

/* One page of the directory, in check->page. */
static void
check_dir_page(VxCheck *check, Page page, BlockNumber block, int *room)
{
	Size entry_bytes = check->ann.dir_entry_bytes;
	int used = vx_page_dir(page)->used;

	if (used > vx_dir_entries_per_page(check->ann.dims) ||
		((PageHeader) page)->pd_lower < VX_DIR_ENTRIES_AT + entry_bytes * used)
		vx_corrupt(check->index, block,
				   "invariant I3: directory page has %d entries in %d bytes",
				   used, ((PageHeader) page)->pd_lower);
	for (int slot = 0; slot < used; slot++)
	{
		const VxDirEntry *entry = vx_dir_entry(page, entry_bytes, slot);

		if (entry->list_id != 0)
			check_entry(check, block, slot, entry, room);
	}
}

/* I3: the entries together. */
static void
check_entries(VxCheck *check)
{
	const VxMeta *meta = &check->ann.meta;
	uint32 published = 0;
	bool open = false;

	qsort(check->lists, check->list_count, sizeof(VxCheckList), compare_lists);
	for (int i = 0; i < check->list_count; i++)
	{
		const VxCheckList *list = &check->lists[i];

		if (i > 0 && list->list_id == list[-1].list_id)
			vx_corrupt(check->index, meta->dir_head,
					   "invariant I3: list %u has two entries", list->list_id);
		if (list->list_id >= meta->pending_from)
			continue;
		published++;
		open |= (list->flags & VX_DIR_CLOSING) == 0;
	}
	if (published != meta->list_count)
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I3: %u lists in the directory, metapage says %u",
				   published, meta->list_count);
	if (check->ann.born && !open)
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I4: no list takes new rows");
}

void
vx_check_directory(VxCheck *check)
{
	const VxMeta *meta = &check->ann.meta;
	BlockNumber block = meta->dir_head;
	BlockNumber last = InvalidBlockNumber;
	uint32 pages = 0;
	int room = 64;

	if (meta->pending_from != VX_PENDING_NONE &&
		meta->pending_from > meta->next_list_id)
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I1: pending lists from %u, next is %u",
				   meta->pending_from, meta->next_list_id);
	if ((meta->dir_head == InvalidBlockNumber) !=
			(meta->dir_tail == InvalidBlockNumber) ||
		(meta->dir_head == InvalidBlockNumber) !=
			(meta->centre_block == InvalidBlockNumber))
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I3: directory from %u to %u, centre at %u",
				   meta->dir_head, meta->dir_tail, meta->centre_block);
	vx_check_name(check, VX_META_BLOCK, "I15");

	check->lists = palloc(sizeof(VxCheckList) * room);
	check->list_count = 0;
	while (block != InvalidBlockNumber)
	{
		Page page = vx_check_read_kind(check, block, VX_PAGE_DIR, "I3");

		vx_check_name(check, block, "I3");
		vx_check_page(check, block);
		if (pages < meta->dir_run && block != meta->dir_head + pages)
			vx_corrupt(check->index, block,
					   "invariant I3: directory page %u is not consecutive",
					   pages);
		check_dir_page(check, page, block, &room);
		pages++;
		last = block;
		block = vx_page_dir(page)->next;
	}
	if (last != meta->dir_tail || pages < meta->dir_run)
		vx_corrupt(check->index, VX_META_BLOCK,
				   "invariant I3: directory of %u pages ends at %u, not at %u",
				   pages, last, meta->dir_tail);
	check_entries(check);
}

/* --- centroids ----------------------------------------------------------------- */

/* A vector that an entry or META names. */
typedef struct Named
{
	BlockNumber block;
	int slot;
	uint32 owner;
} Named;

static int
compare_named(const void *a, const void *b)
{
	const Named *x = a;
	const Named *y = b;

	if (x->block != y->block)
		return x->block < y->block ? -1 : 1;
	return (x->slot > y->slot) - (x->slot < y->slot);
}

static void
check_floats(VxCheck *check, BlockNumber block, const VxCentSlot *slot,
			 int floats)
{
	for (int i = 0; i < floats; i++)
		if (!isfinite(slot->x[i]))
			vx_corrupt(check->index, block,
					   "invariant I12: vector of list %u is not finite",
					   slot->list_id);
}

/* The pages of one long vector. */
static void
check_long(VxCheck *check, const Named *named)
{
	int dims = check->ann.dims;
	BlockNumber block = named->block;

	if (named->slot != 0)
		vx_corrupt(check->index, block,
				   "invariant I12: list %u names slot %d of a long vector",
				   named->owner, named->slot);
	for (int done = 0; done < dims; done += VX_CENT_PAGE_FLOATS)
	{
		Page page = vx_check_read_kind(check, block, VX_PAGE_CENT, "I12");
		VxCentHeader *header = vx_page_cent(page);
		VxCentSlot *slot = vx_cent_slot(page, 0, 0);

		vx_check_name(check, block, "I12");
		vx_check_page(check, block);
		if (header->count != 1 || header->capacity != 1 ||
			slot->list_id != named->owner)
			vx_corrupt(check->index, block,
					   "invariant I12: page of list %u's vector has %d of %d "
					   "slots in use, owner %u",
					   named->owner, header->count, header->capacity,
					   slot->list_id);
		check_floats(check, block, slot,
					 Min((int) VX_CENT_PAGE_FLOATS, dims - done));
		block = header->next;
	}
	if (block != InvalidBlockNumber)
		vx_corrupt(check->index, block,
				   "invariant I12: vector of list %u goes on too far",
				   named->owner);
}

/* A page of short vectors; named[0..count) are on it. */
static void
check_short(VxCheck *check, const Named *named, int count)
{
	int dims = check->ann.dims;
	BlockNumber block = named->block;
	Page page = vx_check_read_kind(check, block, VX_PAGE_CENT, "I12");
	VxCentHeader *header = vx_page_cent(page);

	vx_check_name(check, block, "I12");
	vx_check_page(check, block);
	if (header->capacity != vx_cent_per_page(dims) || header->count != count)
		vx_corrupt(check->index, block,
				   "invariant I12: page has %d of %d slots in use, %d are "
				   "named",
				   header->count, header->capacity, count);
	for (int i = 0; i < count; i++)
	{
		VxCentSlot *slot;

		if (named[i].slot >= header->capacity)
			vx_corrupt(check->index, block,
					   "invariant I12: list %u names slot %d", named[i].owner,
					   named[i].slot);
		slot = vx_cent_slot(page, dims, named[i].slot);
		if (slot->list_id != named[i].owner)
			vx_corrupt(check->index, block,
					   "invariant I12: slot %d belongs to list %u, not %u",
					   named[i].slot, slot->list_id, named[i].owner);
		check_floats(check, block, slot, dims);
	}
}

/*
 * Every vector that something names, sorted by place, each place once.  The
 * flat list has the centre for its centroid.
 */
static Named *
collect_named(VxCheck *check, int *count)
{
	const VxMeta *meta = &check->ann.meta;
	Named *named = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(Named) * ((Size) check->list_count + 1));
	int n = 0;

	named[n++] = (Named){.block = meta->centre_block,
						 .slot = meta->centre_slot,
						 .owner = VX_LIST_CENTRE};
	for (int i = 0; i < check->list_count; i++)
	{
		const VxCheckList *list = &check->lists[i];

		if ((list->flags & VX_DIR_ROOT) != 0)
		{
			if (list->cent_block != meta->centre_block ||
				list->cent_slot != meta->centre_slot)
				vx_corrupt(check->index, list->cent_block,
						   "invariant I12: flat list %u does not name the "
						   "centre",
						   list->list_id);
			continue;
		}
		named[n++] = (Named){.block = list->cent_block,
							 .slot = list->cent_slot,
							 .owner = list->list_id};
	}
	qsort(named, n, sizeof(Named), compare_named);
	for (int i = 1; i < n; i++)
		if (compare_named(&named[i - 1], &named[i]) == 0)
			vx_corrupt(check->index, named[i].block,
					   "invariant I12: lists %u and %u share slot %d",
					   named[i - 1].owner, named[i].owner, named[i].slot);
	*count = n;
	return named;
}

/*
 * I12: does the entry say of its centroid what the vector says?  The squared
 * norm is a sum whose order depends on the kernels in use, the code is not.
 */
static void
check_coded(VxCheck *check, BlockNumber block, const VxDirEntry *entry,
			VxDirEntry *expected, float *x)
{
	const VxAnnIndex *ann = &check->ann;
	bool flat = (entry->flags & VX_DIR_ROOT) != 0;
	VxCentPlace place = {.block = entry->cent_block,
						 .slot = entry->cent_slot,
						 .owner = flat ? VX_LIST_CENTRE : entry->list_id};

	if (!vx_cent_read(check->index, &ann->meta, &place, x))
		vx_corrupt(check->index, block, "invariant I12: no vector of list %u",
				   entry->list_id);
	vx_dir_entry_init(ann, expected, x, check->scratch);
	if (memcmp(entry->code, expected->code, vx_code_bytes(ann->dims, 4)) != 0 ||
		entry->f != expected->f || entry->n != expected->n ||
		entry->sn != expected->sn || entry->en != expected->en ||
		fabsf(entry->norm2 - expected->norm2) > 1e-5f * expected->norm2 ||
		fabsf(entry->inv_norm - expected->inv_norm) >
			1e-5f * expected->inv_norm)
		vx_corrupt(check->index, block,
				   "invariant I12: entry of list %u does not fit its vector",
				   entry->list_id);
}

/* The coded centroids, once the vectors are known to be there. */
static void
check_codes(VxCheck *check)
{
	Size entry_bytes = check->ann.dir_entry_bytes;
	VxDirEntry *expected = palloc0(entry_bytes);
	float *x = palloc(sizeof(float) * check->ann.dims);
	BlockNumber block = check->ann.meta.dir_head;

	while (block != InvalidBlockNumber)
	{
		Page page = vx_check_read_kind(check, block, VX_PAGE_DIR, "I3");

		for (int slot = 0; slot < vx_page_dir(page)->used; slot++)
		{
			const VxDirEntry *entry = vx_dir_entry(page, entry_bytes, slot);

			CHECK_FOR_INTERRUPTS();
			if (entry->list_id != 0)
				check_coded(check, block, entry, expected, x);
		}
		block = vx_page_dir(page)->next;
	}
	pfree(expected);
	pfree(x);
}

void
vx_check_centroids(VxCheck *check)
{
	bool chained = vx_cent_per_page(check->ann.dims) == 0;
	Named *named;
	int count;
	int end;

	if (!check->ann.born)
		return;
	named = collect_named(check, &count);
	for (int first = 0; first < count; first = end)
	{
		end = first + 1;
		while (end < count && named[end].block == named[first].block)
			end++;
		if (chained)
			check_long(check, &named[first]);
		else
			check_short(check, &named[first], end - first);
	}
	pfree(named);
	check_codes(check);
}
