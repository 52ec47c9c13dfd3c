/*
 * write.c
 *		Writes the pages of a new index from sorted rows.
 *
 * The front of the file, with places that follow from the counts, is reserved
 * and filled last:
 *		META | head of NULLs | head of zero vectors | DIR pages | CENT pages
 * Behind it come the further leads of the special lists, then the leads of each
 * list as one run of consecutive blocks, its code pages (write_planes.c) behind
 * them.  All leads but a list's last are full.
 */
#include "postgres.h"

#include <float.h>

#include "commands/progress.h"
#include "pgstat.h"
#include "utils/rel.h"

#include "ann/write.h"

#define NULL_HEAD_BLOCK 1
#define ZERO_HEAD_BLOCK 2
#define DIR_BLOCK 3

static inline int
page_quotient(int64 things, int per_page)
{
	return (int) ((things + per_page - 1) / per_page);
}

static float
mean_n2(double n2, int64 rows)
{
	return rows == 0 ? 0 : (float) Min(n2 / rows, FLT_MAX);
}

/* --- places ----------------------------------------------------------------------- */

static void
plan_front(VxWriter *w, int dims, int lists)
{
	int per_page = vx_cent_per_page(dims);

	if (lists == 0)
		return;
	w->dir_pages = page_quotient(lists, vx_dir_entries_per_page(dims));
	w->cent_block = DIR_BLOCK + w->dir_pages;
	w->cent_vectors = lists > 1 ? lists + 1 : 1;
	w->cent_pages = per_page > 0 ? page_quotient(w->cent_vectors, per_page)
								 : w->cent_vectors * vx_cent_chain_pages(dims);
}

int
vx_build_front_pages(int dims, int lists)
{
	VxWriter w = {0};

	plan_front(&w, dims, lists);
	return DIR_BLOCK + w.dir_pages + w.cent_pages;
}

/* Vector 0 is the centre; list i has vector i + 1, or 0 when it is flat. */
static int
cent_of_list(const VxWriter *w, int list)
{
	return w->build->lists > 1 ? list + 1 : 0;
}

static BlockNumber
cent_block(const VxWriter *w, int vector)
{
	int dims = w->build->ann.dims;
	int per_page = vx_cent_per_page(dims);

	return w->cent_block + (per_page > 0 ? vector / per_page
										 : vector * vx_cent_chain_pages(dims));
}

static uint16
cent_slot(const VxWriter *w, int vector)
{
	int per_page = vx_cent_per_page(w->build->ann.dims);

	return per_page > 0 ? vector % per_page : 0;
}

static const float *
cent_vector(const VxWriter *w, int vector, uint32 *list_id)
{
	const VxBuild *build = w->build;

	*list_id = vector == 0 ? VX_LIST_CENTRE : VX_LIST_FIRST + vector - 1;
	if (vector == 0)
		return build->ann.centre;
	return build->centroids + (Size) (vector - 1) * build->ann.dims;
}

/* --- leads ------------------------------------------------------------------------ */

static void
fill_head(const VxWriter *w, const VxSpan *span)
{
	VxLead *lead = vx_page_lead((Page) w->image);
	BlockNumber tail =
		span->pages == 1 ? span->head : span->rest + span->pages - 2;

	lead->tail_block = tail;
	lead->insert_block = tail;
	lead->lead_pages = span->pages;
	lead->lead_run = span->rest == span->head + 1 ? span->pages : 1;
	lead->head_flags = span->head_flags;
	lead->r2 = span->r2;
	if (span->cent >= 0)
	{
		lead->cent_block = cent_block(w, span->cent);
		lead->cent_slot = cent_slot(w, span->cent);
	}
}

const VxSortedRow *
vx_write_next(VxWriter *w, const VxSpan *span)
{
	VxSortedRow *row = &w->row;

	if (!vx_rowsort_next(&w->build->rows, row) || row->list != span->key)
		elog(ERROR, "sorted rows do not match the counts of list %u",
			 span->list_id);
	return row;
}

void
vx_write_done(VxWriter *w, VxSpan *span, int count)
{
	vx_page_lead((Page) w->image)->live = count;
	span->rows -= count;
	w->rows_written += count;
	pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
								 w->rows_written);
}

/* Takes the list's next rows from the sort. */
static void
fill_lead(VxWriter *w, VxSpan *span)
{
	int count = (int) Min(span->rows, span->layout->slots);

	for (int slot = 0; slot < count; slot++)
	{
		const VxSortedRow *row = vx_write_next(w, span);

		vx_entry_put((Page) w->image, span->layout, slot, &row->tid,
					 row->values, &row->entry, row->code);
	}
	vx_write_done(w, span, count);
}

BlockNumber
vx_write_start_lead(VxWriter *w, const VxSpan *span, uint32 i)
{
	Page page = (Page) w->image;
	int slots = span->layout->slots;
	BlockNumber block = i == 0 ? span->head : span->rest + i - 1;

	if (i == 0)
	{
		vx_init_head(page, span->list_id, slots, span->lead_flags, block);
		fill_head(w, span);
	}
	else
		vx_init_lead(page, span->list_id, slots, span->lead_flags);
	if (i + 1 < span->pages)
		vx_page_lead(page)->next = span->rest + i;
	return block;
}

static void
write_leads(VxWriter *w, VxSpan *span)
{
	for (uint32 i = 0; i < span->pages; i++)
	{
		BlockNumber block = vx_write_start_lead(w, span, i);

		fill_lead(w, span);
		if (block < w->pages.reserved)
			vx_builder_put(&w->pages, block, w->image);
		else if (vx_builder_append(&w->pages, w->image) != block)
			elog(ERROR, "list %u is not written in one run", span->list_id);
	}
}

static void
write_special(VxWriter *w, const VxBuildList *list, int32 key)
{
	bool null = key == VX_SORT_NULL;
	VxSpan span = {
		.key = key,
		.list_id = null ? VX_LIST_NULL : VX_LIST_ZERO,
		.layout = &w->build->ann.special,
		.lead_flags = VX_LEAD_SPECIAL,
		.head = null ? NULL_HEAD_BLOCK : ZERO_HEAD_BLOCK,
		.rest = w->pages.next,
		.rows = list->rows,
		.cent = -1,
	};

	span.pages = Max(page_quotient(span.rows, span.layout->slots), 1);
	write_leads(w, &span);
}

static void
write_list(VxWriter *w, int i)
{
	VxBuildList *list = &w->build->list[i];
	VxSpan span = {
		.key = i,
		.list_id = VX_LIST_FIRST + i,
		.layout = &w->build->ann.lead,
		.head_flags = w->build->lists == 1 ? VX_DIR_ROOT : 0,
		.head = w->pages.next,
		.rest = w->pages.next + 1,
		.rows = list->rows,
		.r2 = mean_n2(list->n2 * w->build->n2_unit, list->rows),
		.cent = cent_of_list(w, i),
	};

	list->head = span.head;
	span.pages = Max(page_quotient(span.rows, span.layout->slots), 1);
	if (span.layout->form == VX_FORM_PLANES)
		vx_write_planes(w, &span);
	else
		write_leads(w, &span);
}

/* --- the front -------------------------------------------------------------------- */

/* A vector too long for a page: a chain of pages, each naming the owner. */
static void
write_cent_chain(VxWriter *w, int vector)
{
	int dims = w->build->ann.dims;
	int pages = vx_cent_chain_pages(dims);
	uint32 list_id;
	const float *x = cent_vector(w, vector, &list_id);

	for (int i = 0; i < pages; i++)
	{
		BlockNumber block = cent_block(w, vector) + i;
		int from = i * (int) VX_CENT_PAGE_FLOATS;
		int floats = Min((int) VX_CENT_PAGE_FLOATS, dims - from);
		VxCentSlot *slot;

		vx_init_cent((Page) w->image, dims);
		slot = vx_cent_slot((Page) w->image, 0, 0);
		slot->list_id = list_id;
		memcpy(slot->x, x + from, sizeof(float) * floats);
		vx_page_cent((Page) w->image)->count = 1;
		if (i + 1 < pages)
			vx_page_cent((Page) w->image)->next = block + 1;
		vx_builder_put(&w->pages, block, w->image);
	}
}

/* A page of whole vectors, from the given one on. */
static void
write_cent_page(VxWriter *w, int from, int per_page)
{
	int dims = w->build->ann.dims;
	int count = Min(per_page, w->cent_vectors - from);

	vx_init_cent((Page) w->image, dims);
	for (int i = 0; i < count; i++)
	{
		VxCentSlot *slot = vx_cent_slot((Page) w->image, dims, i);
		const float *x = cent_vector(w, from + i, &slot->list_id);

		memcpy(slot->x, x, sizeof(float) * dims);
	}
	vx_page_cent((Page) w->image)->count = count;
	vx_builder_put(&w->pages, cent_block(w, from), w->image);
}

static void
write_cents(VxWriter *w)
{
	int per_page = vx_cent_per_page(w->build->ann.dims);

	for (int i = 0; i < w->cent_vectors; i += Max(per_page, 1))
	{
		if (per_page > 0)
			write_cent_page(w, i, per_page);
		else
			write_cent_chain(w, i);
	}
}

static void
fill_entry(const VxWriter *w, int i, VxDirEntry *entry, float *scratch)
{
	const VxBuild *build = w->build;
	const VxBuildList *list = &build->list[i];
	int cent = cent_of_list(w, i);

	vx_dir_entry_init(&build->ann, entry,
					  build->centroids + (Size) i * build->ann.dims, scratch);
	entry->list_id = VX_LIST_FIRST + i;
	entry->head = list->head;
	entry->cent_block = cent_block(w, cent);
	entry->cent_slot = cent_slot(w, cent);
	entry->flags = build->lists == 1 ? VX_DIR_ROOT : 0;
	entry->rows = (uint32) Min(list->rows, PG_UINT32_MAX);
	entry->r2 = mean_n2(list->n2 * build->n2_unit, list->rows);
}

static void
write_directory(VxWriter *w)
{
	VxAnnIndex *ann = &w->build->ann;
	int lists = w->build->lists;
	int per_page = vx_dir_entries_per_page(ann->dims);
	float *scratch = palloc(sizeof(float) * 3 * ann->dims);

	for (int p = 0; p < w->dir_pages; p++)
	{
		int from = p * per_page;
		int count = Min(per_page, lists - from);

		vx_init_dir((Page) w->image);
		for (int i = 0; i < count; i++)
			fill_entry(w, from + i,
					   vx_dir_entry((Page) w->image, ann->dir_entry_bytes, i),
					   scratch);
		vx_page_dir((Page) w->image)->used = count;
		vx_page_set_used((Page) w->image,
						 VX_DIR_ENTRIES_AT + count * ann->dir_entry_bytes);
		if (p + 1 < w->dir_pages)
			vx_page_dir((Page) w->image)->next = DIR_BLOCK + p + 1;
		vx_builder_put(&w->pages, DIR_BLOCK + p, w->image);
	}
	pfree(scratch);
}

static void
complete_meta(VxWriter *w)
{
	VxBuild *build = w->build;
	VxMeta *meta = &build->ann.meta;
	int per_page = vx_cent_per_page(meta->dims);
	int64 rows = 0;
	double n2 = 0;

	for (int i = 0; i < build->lists; i++)
	{
		rows += build->list[i].rows;
		n2 += build->list[i].n2 * build->n2_unit;
	}
	meta->r2 = mean_n2(n2, rows);
	meta->rows = rows + build->null_list.rows + build->zero_list.rows;
	meta->rows_calibrated = meta->rows;
	meta->null_head = NULL_HEAD_BLOCK;
	meta->zero_head = ZERO_HEAD_BLOCK;
	if (build->lists == 0)
		return;
	meta->next_list_id = VX_LIST_FIRST + build->lists;
	meta->list_count = build->lists;
	meta->dir_head = DIR_BLOCK;
	meta->dir_tail = DIR_BLOCK + w->dir_pages - 1;
	meta->dir_run = w->dir_pages;
	meta->centre_block = cent_block(w, 0);
	meta->centre_slot = cent_slot(w, 0);
	if (per_page > 0 && w->cent_vectors % per_page != 0)
		meta->cent_open = cent_block(w, w->cent_vectors - 1);
}

static void
write_meta(VxWriter *w)
{
	complete_meta(w);
	vx_init_page((Page) w->image, VX_PAGE_META);
	memcpy(vx_page_meta((Page) w->image), &w->build->ann.meta, sizeof(VxMeta));
	vx_page_set_used((Page) w->image, VX_META_AT + sizeof(VxMeta));
	vx_builder_put(&w->pages, VX_META_BLOCK, w->image);
}

void
vx_build_write(VxBuild *build, ForkNumber fork)
{
	VxWriter w = {.build = build};

	w.image = palloc(BLCKSZ);
	plan_front(&w, build->ann.dims, build->lists);
	vx_builder_begin(&w.pages, build->index, fork,
					 DIR_BLOCK + w.dir_pages + w.cent_pages);
	vx_build_stage(VX_PROGRESS_WRITE, (int64) build->rows_expected);
	write_special(&w, &build->null_list, VX_SORT_NULL);
	write_special(&w, &build->zero_list, VX_SORT_ZERO);
	for (int i = 0; i < build->lists; i++)
		write_list(&w, i);
	write_cents(&w);
	write_directory(&w);
	write_meta(&w);
	vx_builder_finish(&w.pages);
	pfree(w.image);
}
