/*
 * capacity.c
 *		How many entries fit a page, and where its planes lie.
 *
 * Pure arithmetic over format.h.  The slots of a lead and its code pages are
 * stored in META, and a reader checks them against these formulas: they are part
 * of format version 1.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "page/format.h"

/* Bytes of an entry on its lead: heap pointer; factors of a whole code. */
#define TID_BYTES ((int) sizeof(ItemPointerData))
#define FACTOR_BYTES (4 + 4 + 2 + 2)

static inline int
bitmap_bytes(int slots)
{
	return (slots + 63) / 64 * 8;
}

/* Places the filter columns of a width; returns where they end. */
static int
place_columns(VxLeadLayout *layout, int width, int at)
{
	for (int i = 0; i < layout->columns; i++)
	{
		if (layout->column[i].width != width)
			continue;
		layout->column[i].at = at;
		at += width * layout->slots;
	}
	return at;
}

/* Fills the offsets; form, slots, bytes, pages and widths are set. */
static void
place_planes(VxLeadLayout *layout)
{
	int slots = layout->slots;
	int whole = layout->form == VX_FORM_WHOLE ? slots : 0;
	int planes = layout->form == VX_FORM_PLANES ? slots : 0;
	int at = VX_LEAD_PLANES_AT;

	layout->table = at;
	at += TYPEALIGN(8, sizeof(BlockNumber) *
						   (layout->sign_pages + layout->rest_pages));
	layout->live = at;
	at += bitmap_bytes(slots);
	layout->killed = at;
	at += bitmap_bytes(slots);
	layout->nulls = at;
	at += layout->columns * bitmap_bytes(slots);
	layout->fixed = at;
	at = place_columns(layout, 16, at);
	at = place_columns(layout, 8, at);
	layout->f = at;
	at += 4 * (whole + planes);
	layout->n = at;
	at += 4 * (whole + planes);
	layout->sign_f = at;
	at += 4 * planes;
	at = place_columns(layout, 4, at);
	layout->sn = at;
	at += 2 * (whole + planes);
	layout->en = at;
	at += 2 * (whole + planes);
	layout->sign_sn = at;
	at += 2 * planes;
	layout->sign_en = at;
	at += 2 * planes;
	at = place_columns(layout, 2, at);
	layout->tids = at;
	at += TID_BYTES * slots;
	at = place_columns(layout, 1, at);
	layout->codes = at;
	at += layout->code_bytes * whole;
	layout->end = at;
}

/*
 * The largest slots whose planes end within the page; entry_bytes without the
 * filter columns.
 */
static int
slots_that_fit(const VxLeadLayout *layout, int entry_bytes)
{
	int room = VX_PAGE_END - VX_LEAD_PLANES_AT;
	int bitmaps = 2 + layout->columns;
	int slots;

	for (int i = 0; i < layout->columns; i++)
		entry_bytes += layout->column[i].width;
	slots = room / entry_bytes;
	while (slots > 0 &&
		   bitmaps * bitmap_bytes(slots) + slots * entry_bytes > room)
		slots--;
	return slots;
}

static void
set_columns(VxLeadLayout *layout, const VxColumns *columns)
{
	layout->columns = columns->count;
	for (int i = 0; i < columns->count; i++)
		layout->column[i].width = columns->width[i];
}

void
vx_special_layout(const VxColumns *columns, VxLeadLayout *layout)
{
	memset(layout, 0, sizeof(VxLeadLayout));
	layout->form = VX_FORM_TIDS;
	set_columns(layout, columns);
	layout->slots = slots_that_fit(layout, TID_BYTES);
	place_planes(layout);
}

/*
 * Of layout P: the most entries a page, code pages counted, among the numbers of
 * slots that fit; the smaller number of equals.
 */
static void
choose_slots(VxLeadLayout *layout)
{
	VxLeadLayout tried = *layout;

	for (int slots = 1;; slots++)
	{
		tried.slots = slots;
		if (slots % VX_PLANE_SLOTS == 1)
			tried.sign_pages = vx_sign_pages(&tried, slots);
		if (slots > tried.rest_pages * tried.rest_rows)
			tried.rest_pages++;
		if (tried.sign_pages + tried.rest_pages > VX_CODE_PAGES_MAX)
			return;
		place_planes(&tried);
		if (tried.end > VX_PAGE_END)
			return;
		if (slots * (1 + layout->sign_pages + layout->rest_pages) >
			layout->slots * (1 + tried.sign_pages + tried.rest_pages))
			*layout = tried;
	}
}

bool
vx_lead_layout(VxLayout form, int dims, int bits, const VxColumns *columns,
			   VxLeadLayout *layout)
{
	memset(layout, 0, sizeof(VxLeadLayout));
	set_columns(layout, columns);
	layout->code_bytes = vx_code_bytes(dims, bits);
	if (form == VX_LAYOUT_WHOLE)
	{
		layout->form = VX_FORM_WHOLE;
		layout->slots = slots_that_fit(layout, TID_BYTES + FACTOR_BYTES +
												   layout->code_bytes);
		place_planes(layout);
	}
	else if (bits == 4)
	{
		layout->form = VX_FORM_PLANES;
		layout->sign_units = vx_sign_units(dims);
		layout->rest_bytes = vx_rest_bytes(dims);
		layout->rest_rows =
			(VX_PAGE_END - VX_CODE_DATA_AT) / layout->rest_bytes;
		choose_slots(layout);
	}
	return layout->slots > 0;
}

Size
vx_dir_entry_bytes(int dims)
{
	return TYPEALIGN(4, offsetof(VxDirEntry, code) + vx_code_bytes(dims, 4));
}

int
vx_dir_entries_per_page(int dims)
{
	return (VX_PAGE_END - VX_DIR_ENTRIES_AT) / vx_dir_entry_bytes(dims);
}

int
vx_cent_per_page(int dims)
{
	return (VX_PAGE_END - VX_CENT_SLOTS_AT) /
		   (offsetof(VxCentSlot, x) + sizeof(float) * dims);
}

int
vx_cent_chain_pages(int dims)
{
	if (vx_cent_per_page(dims) > 0)
		return 1;
	return (dims + VX_CENT_PAGE_FLOATS - 1) / VX_CENT_PAGE_FLOATS;
}

int
vx_bit_first_clear(const uint64 *words, int slots)
{
	for (int w = 0; w * 64 < slots; w++)
	{
		uint64 clear = ~words[w];

		if (clear != 0)
		{
			int slot = w * 64 + pg_rightmost_one_pos64(clear);

			return slot < slots ? slot : -1;
		}
	}
	return -1;
}
