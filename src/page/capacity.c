/*
 * capacity.c
 *		How many entries fit a page, and where its planes lie.
 *
 * Pure arithmetic over format.h.  The slots of a lead are stored in META, and a
 * reader checks them against this formula: it is part of format version 1.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"

#include "page/format.h"

static inline int
bitmap_bytes(int slots)
{
	return (slots + 63) / 64 * 8;
}

void
vx_lead_layout(int slots, int code_bytes, VxLeadLayout *layout)
{
	int at = VX_LEAD_PLANES_AT;
	bool special = code_bytes == 0;

	layout->slots = slots;
	layout->code_bytes = code_bytes;
	layout->live = at;
	at += bitmap_bytes(slots);
	layout->killed = at;
	at += bitmap_bytes(slots);
	layout->f = at;
	at += special ? 0 : 4 * slots;
	layout->n = at;
	at += special ? 0 : 4 * slots;
	layout->sn = at;
	at += special ? 0 : 2 * slots;
	layout->en = at;
	at += special ? 0 : 2 * slots;
	layout->tids = at;
	at += sizeof(ItemPointerData) * slots;
	layout->codes = at;
	at += code_bytes * slots;
	layout->end = at;
}

/* The largest slots whose planes end within the page. */
static int
slots_that_fit(int entry_bytes)
{
	int room = VX_PAGE_END - VX_LEAD_PLANES_AT;
	int slots = room / entry_bytes;

	while (slots > 0 && 2 * bitmap_bytes(slots) + slots * entry_bytes > room)
		slots--;
	return slots;
}

int
vx_lead_slots(int dims, int bits)
{
	return slots_that_fit(4 + 4 + 2 + 2 + sizeof(ItemPointerData) +
						  vx_code_bytes(dims, bits));
}

int
vx_special_slots(void)
{
	return slots_that_fit(sizeof(ItemPointerData));
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
