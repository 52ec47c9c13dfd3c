/*
 * write_planes.c
 *		The pages of one list of a new index of layout P.
 *
 * Three runs of blocks: the leads, the sign pages of all of them, the pages of the
 * rest plane.  A scan reads the first two, and few of the third.  The runs are
 * filled side by side, so their blocks are appended first.
 */
#include "postgres.h"

#include "ann/write.h"

/* The next block of each run of code pages. */
typedef struct Runs
{
	BlockNumber signs;
	BlockNumber rest;
} Runs;

/* Appends the blocks of the list. */
static Runs
extend(VxWriter *w, const VxSpan *span)
{
	const VxLeadLayout *layout = span->layout;
	int64 full = span->rows / layout->slots;
	int left = (int) (span->rows % layout->slots);
	BlockNumber signs = full * layout->sign_pages + vx_sign_pages(layout, left);
	BlockNumber rest = full * layout->rest_pages + vx_rest_pages(layout, left);
	Runs runs;

	if (vx_builder_extend(&w->pages, span->pages + signs + rest) != span->head)
		elog(ERROR, "list %u does not begin at its head", span->list_id);
	runs.signs = span->head + span->pages;
	runs.rest = runs.signs + signs;
	return runs;
}

/* Names a code page of the lead in w->image, and begins it in image. */
static void
start_code(VxWriter *w, const VxSpan *span, BlockNumber lead, int ordinal,
		   BlockNumber block, char *image)
{
	VxCode owner = vx_code_owner(span->layout, span->list_id, lead, ordinal);

	vx_init_code((Page) image, &owner);
	vx_plane((Page) w->image, span->layout->table, BlockNumber)[ordinal] =
		block;
	vx_page_lead((Page) w->image)->codes++;
}

static inline char *
sign_image(const VxWriter *w, int number)
{
	return w->signs + (Size) number * BLCKSZ;
}

/* Row number slot of a lead of count. */
static void
add_row(VxWriter *w, const VxSpan *span, BlockNumber lead, int slot, int count,
		Runs *runs)
{
	const VxLeadLayout *layout = span->layout;
	const VxAnnIndex *ann = &w->build->ann;
	const VxSortedRow *row = vx_write_next(w, span);
	int last = vx_sign_page_last(layout, slot);

	vx_entry_put((Page) w->image, layout, slot, &row->tid, row->values,
				 &row->entry, NULL);
	vx_unpack(row->code, ann->dims, ann->quantizer.bits, w->levels);
	for (int i = vx_sign_page_first(layout, slot); i <= last; i++)
		vx_entry_put_signs((Page) sign_image(w, i), ann, slot, i, w->levels);

	if (slot % layout->rest_rows == 0)
		start_code(w, span, lead, layout->sign_pages + slot / layout->rest_rows,
				   runs->rest, w->rest);
	vx_entry_put_rest((Page) w->rest, ann, slot, w->levels);
	if (slot + 1 == count || (slot + 1) % layout->rest_rows == 0)
		vx_builder_put(&w->pages, runs->rest++, w->rest);
}

static void
write_lead(VxWriter *w, VxSpan *span, uint32 i, Runs *runs)
{
	int count = (int) Min(span->rows, span->layout->slots);
	int sign_pages = vx_sign_pages(span->layout, count);
	BlockNumber block = vx_write_start_lead(w, span, i);

	for (int k = 0; k < sign_pages; k++)
		start_code(w, span, block, k, runs->signs + k, sign_image(w, k));
	for (int slot = 0; slot < count; slot++)
		add_row(w, span, block, slot, count, runs);
	for (int k = 0; k < sign_pages; k++)
		vx_builder_put(&w->pages, runs->signs++, sign_image(w, k));
	vx_write_done(w, span, count);
	vx_builder_put(&w->pages, block, w->image);
}

void
vx_write_planes(VxWriter *w, VxSpan *span)
{
	Runs runs = extend(w, span);

	if (w->signs == NULL)
	{
		w->signs = palloc((Size) span->layout->sign_pages * BLCKSZ);
		w->rest = palloc(BLCKSZ);
		w->levels = palloc(w->build->ann.dims);
	}
	for (uint32 i = 0; i < span->pages; i++)
		write_lead(w, span, i, &runs);
}
