/*
 * birth.c
 *		The first list of an index that was built without vectors.
 *
 * Centre, root list and directory appear in one record, under the heavyweight
 * lock BIRTH: see src/ann/README.md, "First insert".
 */
#include "postgres.h"

#include "catalog/pg_class_d.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "storage/lock.h"

#include "ann/ann.h"

/* LOCKTAG_OBJECT subid of BIRTH; core uses subid 0. */
#define BIRTH_SUBID 2

/* Claims and fills the CENT chain of a centre too long for one page: records N. */
static BlockNumber
write_long_centre(VxAnnIndex *ann, const float *centre)
{
	int pages = vx_cent_chain_pages(ann->dims);
	Buffer *buffers = palloc(sizeof(Buffer) * pages);
	BlockNumber first;

	for (int i = 0; i < pages; i++)
		buffers[i] = vx_page_claim(ann->index, buffers, i);
	first = BufferGetBlockNumber(buffers[0]);
	for (int i = 0; i < pages; i += 4)
	{
		VxRecord *record = vx_record_begin(ann->index);

		for (int j = i; j < Min(pages, i + 4); j++)
		{
			Page page = vx_record_page(record, buffers[j], true);
			VxCentSlot *slot;
			int done = j * VX_CENT_PAGE_FLOATS;

			vx_init_cent(page, ann->dims);
			vx_page_cent(page)->count = 1;
			if (j + 1 < pages)
				vx_page_cent(page)->next = BufferGetBlockNumber(buffers[j + 1]);
			slot = vx_cent_slot(page, 0, 0);
			slot->list_id = VX_LIST_CENTRE;
			memcpy(slot->x, centre + done,
				   sizeof(float) *
					   Min((int) VX_CENT_PAGE_FLOATS, ann->dims - done));
		}
		vx_record_finish(record);
	}
	for (int i = 0; i < pages; i++)
		vx_page_unlock(buffers[i]);
	return first;
}

static void
init_root_entry(VxAnnIndex *ann, Page page, uint32 list_id, BlockNumber head,
				BlockNumber cent_block)
{
	VxDirEntry *entry;
	float *scratch = palloc(sizeof(float) * 2 * ann->dims);

	vx_init_dir(page);
	vx_page_dir(page)->used = 1;
	vx_page_set_used(page, VX_DIR_ENTRIES_AT + ann->dir_entry_bytes);
	entry = vx_dir_entry(page, ann->dir_entry_bytes, 0);
	entry->list_id = list_id;
	entry->head = head;
	entry->cent_block = cent_block;
	entry->cent_slot = 0;
	entry->flags = VX_DIR_ROOT;
	vx_dir_entry_init(ann, entry, ann->centre, scratch);
	pfree(scratch);
}

/*
 * Record B: the root list, its directory and its centre appear together.  The
 * centre is the first vector: what matters is to remove a constant offset.
 */
static void
write_birth(VxAnnIndex *ann, const float *x)
{
	bool long_centre = vx_cent_per_page(ann->dims) == 0;
	BlockNumber cent_block = InvalidBlockNumber;
	Buffer claimed[3];
	int count = long_centre ? 2 : 3;
	Buffer meta_buffer;
	VxRecord *record;
	Page page;
	VxMeta *meta;
	VxLead *head;

	memcpy(ann->centre, x, sizeof(float) * ann->dims);
	if (long_centre)
		cent_block = write_long_centre(ann, x);
	for (int i = 0; i < count; i++)
		claimed[i] = vx_page_claim(ann->index, claimed, i);
	if (!long_centre)
		cent_block = BufferGetBlockNumber(claimed[2]);
	vx_page_lock_kind(ann->index, VX_META_BLOCK, VX_EXCLUSIVE, VX_PAGE_META,
					  &meta_buffer);

	record = vx_record_begin(ann->index);
	page = vx_record_page(record, claimed[0], true);
	vx_init_head(page, ann->meta.next_list_id, ann->lead.slots, 0,
				 BufferGetBlockNumber(claimed[0]));
	head = vx_page_lead(page);
	head->cent_block = cent_block;
	head->head_flags = VX_DIR_ROOT;

	page = vx_record_page(record, claimed[1], true);
	init_root_entry(ann, page, ann->meta.next_list_id,
					BufferGetBlockNumber(claimed[0]), cent_block);
	if (!long_centre)
	{
		page = vx_record_page(record, claimed[2], true);
		vx_init_cent(page, ann->dims);
		vx_page_cent(page)->count = 1;
		vx_cent_slot(page, ann->dims, 0)->list_id = VX_LIST_CENTRE;
		memcpy(vx_cent_slot(page, ann->dims, 0)->x, x,
			   sizeof(float) * ann->dims);
	}
	meta = vx_page_meta(vx_record_page(record, meta_buffer, false));
	meta->next_list_id++;
	meta->list_count = 1;
	meta->dir_head = meta->dir_tail = BufferGetBlockNumber(claimed[1]);
	meta->dir_run = 1;
	meta->centre_block = cent_block;
	meta->centre_slot = 0;
	meta->shape_seq++;
	meta->dir_epoch++;
	vx_record_finish(record);

	vx_page_unlock(meta_buffer);
	for (int i = count - 1; i >= 0; i--)
		vx_page_unlock(claimed[i]);
}

void
vx_ann_give_birth(VxAnnIndex *ann, const float *x)
{
	LOCKTAG tag;

	SET_LOCKTAG_OBJECT(tag, MyDatabaseId, RelationRelationId,
					   RelationGetRelid(ann->index), BIRTH_SUBID);
	(void) LockAcquire(&tag, ExclusiveLock, false, false);
	vx_ann_refresh(ann);
	if (!ann->born)
		write_birth(ann, x);
	LockRelease(&tag, ExclusiveLock, false);
	vx_ann_refresh(ann);
}
