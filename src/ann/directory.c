/*
 * directory.c
 *		Reading the directory of lists, and making its entries.
 *
 * A directory entry keeps a 4-bit code of its centroid, so that ordering the
 * lists reads a fraction of the exact centroids' bytes.  The code is made like
 * that of a row of a flat index: relative to the global centre.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "ann/ann.h"

/* The codes and factors of one directory page, copied out of the lock. */
typedef struct DirBatch
{
	int count;
	int capacity;
	uint8 *codes;
	float *f;
	float *n;
	uint16 *sn;
	uint16 *en;
	int32 *dots;
	float *est;
	float *low;
} DirBatch;

static void
batch_init(DirBatch *batch, const VxAnnIndex *ann)
{
	int n = vx_dir_entries_per_page(ann->dims);
	int room = TYPEALIGN(VX_SCORE_ALIGN, n);

	batch->count = 0;
	batch->capacity = n;
	batch->codes = palloc((Size) n * vx_code_bytes(ann->dims, 4));
	batch->f = palloc0(sizeof(float) * room);
	batch->n = palloc0(sizeof(float) * room);
	batch->sn = palloc0(sizeof(uint16) * room);
	batch->en = palloc0(sizeof(uint16) * room);
	batch->dots = palloc0(sizeof(int32) * room);
	batch->est = palloc0(sizeof(float) * room);
	batch->low = palloc0(sizeof(float) * room);
}

static void
batch_add(DirBatch *batch, const VxAnnIndex *ann, const VxDirEntry *entry)
{
	int bytes = vx_code_bytes(ann->dims, 4);
	int i = batch->count++;

	memcpy(batch->codes + (Size) i * bytes, entry->code, bytes);
	batch->f[i] = entry->f;
	batch->n[i] = entry->n;
	batch->sn[i] = entry->sn;
	batch->en[i] = entry->en;
}

static void
batch_score(DirBatch *batch, const VxAnnIndex *ann, const VxQuery *query,
			const VxListQuery *terms, VxDirList *lists)
{
	VxFactors factors = {batch->f, batch->n, batch->sn, batch->en};

	vx_score(query, &ann->coarse, terms, batch->codes, &factors, batch->count,
			 NULL, batch->dots, batch->est, batch->low);
	for (int i = 0; i < batch->count; i++)
		lists[i].key = batch->est[i];
}

static void
copy_entry(VxDirList *list, const VxDirEntry *entry, BlockNumber block,
		   int slot)
{
	list->list_id = entry->list_id;
	list->head = entry->head;
	list->cent_block = entry->cent_block;
	list->cent_slot = entry->cent_slot;
	list->flags = entry->flags;
	list->rows = entry->rows;
	list->r2 = entry->r2;
	list->norm2 = entry->norm2;
	list->inv_norm = entry->inv_norm;
	list->key = 0;
	list->dir_block = block;
	list->dir_slot = slot;
}

/*
 * Appends the entries of one page to lists (which has room) and returns the
 * next block.
 */
static BlockNumber
read_page(const VxAnnIndex *ann, BlockNumber block, DirBatch *batch,
		  VxDirList *lists, int *count)
{
	Buffer buffer;
	Page page =
		vx_page_lock_kind(ann->index, block, VX_SHARE, VX_PAGE_DIR, &buffer);
	VxDirHeader *header = vx_page_dir(page);
	BlockNumber next = header->next;

	if (header->used > batch->capacity)
		vx_corrupt(ann->index, block, "directory page has %d entries",
				   header->used);
	batch->count = 0;
	for (int slot = 0; slot < header->used; slot++)
	{
		VxDirEntry *entry = vx_dir_entry(page, ann->dir_entry_bytes, slot);

		if (entry->list_id == VX_LIST_NONE ||
			entry->list_id >= ann->meta.pending_from ||
			entry->list_id >= ann->meta.next_list_id)
			continue;
		copy_entry(&lists[*count + batch->count], entry, block, slot);
		batch_add(batch, ann, entry);
	}
	vx_page_unlock(buffer);
	return next;
}

/* Allocates, or makes larger, room for so many items of a size. */
static void *
resize(void *old, Size item_bytes, int capacity)
{
	Size bytes = item_bytes * (Size) capacity;

	return old == NULL ? MemoryContextAllocHuge(CurrentMemoryContext, bytes)
					   : repalloc_huge(old, bytes);
}

static void
resize_codes(VxDirCodes *codes, const VxAnnIndex *ann, int capacity)
{
	codes->codes = resize(codes->codes, vx_code_bytes(ann->dims, 4), capacity);
	capacity += VX_SCORE_ALIGN;
	codes->f = resize(codes->f, sizeof(float), capacity);
	codes->n = resize(codes->n, sizeof(float), capacity);
	codes->sn = resize(codes->sn, sizeof(uint16), capacity);
	codes->en = resize(codes->en, sizeof(uint16), capacity);
}

/* Puts a page's codes behind those of the pages before it. */
static void
keep_codes(VxDirCodes *codes, const VxAnnIndex *ann, const DirBatch *batch,
		   int at)
{
	Size bytes = vx_code_bytes(ann->dims, 4);

	memcpy(codes->codes + at * bytes, batch->codes, batch->count * bytes);
	memcpy(codes->f + at, batch->f, batch->count * sizeof(float));
	memcpy(codes->n + at, batch->n, batch->count * sizeof(float));
	memcpy(codes->sn + at, batch->sn, batch->count * sizeof(uint16));
	memcpy(codes->en + at, batch->en, batch->count * sizeof(uint16));
}

/* query and codes may be NULL. */
static int
read_directory(const VxAnnIndex *ann, const VxQuery *query, VxDirList **lists,
			   VxDirCodes *codes)
{
	BlockNumber block = ann->meta.dir_head;
	BlockNumber pages = 0;
	BlockNumber pages_max = vx_page_count(ann->index);
	int64 reads = vx_page_reads();
	int capacity = 0;
	int count = 0;
	DirBatch batch;
	VxListQuery terms = {0};

	*lists = NULL;
	batch_init(&batch, ann);
	if (query != NULL)
		vx_query_list(query, &ann->coarse, ann->centre, ann->centre, 0, &terms);
	while (block != InvalidBlockNumber)
	{
		CHECK_FOR_INTERRUPTS();
		if (++pages > pages_max)
			vx_corrupt(ann->index, block, "directory chain does not end");
		if (count + batch.capacity > capacity)
		{
			capacity =
				Max(capacity * 2, (int) ann->meta.list_count) + batch.capacity;
			*lists = resize(*lists, sizeof(VxDirList), capacity);
			if (codes != NULL)
				resize_codes(codes, ann, capacity);
		}
		block = read_page(ann, block, &batch, *lists, &count);
		if (pages == 1 && vx_page_reads() != reads)
			vx_page_prefetch(ann->index, ann->meta.dir_head + 1,
							 ann->meta.dir_run - 1, pages_max);
		if (query != NULL)
			batch_score(&batch, ann, query, &terms, *lists + count);
		if (codes != NULL)
			keep_codes(codes, ann, &batch, count);
		count += batch.count;
	}
	return count;
}

int
vx_dir_read(const VxAnnIndex *ann, const VxQuery *query, VxDirList **lists)
{
	return read_directory(ann, query, lists, NULL);
}

int
vx_dir_read_codes(const VxAnnIndex *ann, VxDirList **lists, VxDirCodes *codes)
{
	memset(codes, 0, sizeof(*codes));
	return read_directory(ann, NULL, lists, codes);
}

void
vx_dir_entry_init(const VxAnnIndex *ann, VxDirEntry *entry,
				  const float *centroid, float *scratch)
{
	float *rotated = palloc(sizeof(float) * ann->dims);
	VxListRef flat = {ann->centre, rotated};
	VxEntryFactors factors;
	double norm2;

	vx_list_rotate(&ann->coarse, ann->centre, ann->centre, rotated);
	vx_encode(&ann->coarse, &flat, centroid, entry->code, &factors, scratch);
	entry->f = factors.f;
	entry->n = factors.n;
	entry->sn = factors.sn;
	entry->en = factors.en;
	norm2 = vx_kernels->inner_product(centroid, centroid, ann->dims);
	/* Kept in float's range, whatever the centroid's length. */
	entry->norm2 = Min(norm2, FLT_MAX);
	entry->inv_norm = norm2 > 0 ? Min(1.0 / sqrt(norm2), FLT_MAX) : 0;
	pfree(rotated);
}
