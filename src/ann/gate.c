/*
 * gate.c
 *		A set of heap pointers that lets rows pass.
 *
 * PostgreSQL's bitmaps have no test of membership, so one is turned into an array
 * of heap blocks, each with a bit for every line pointer, and a hash table that
 * finds them.  A bitmap that is bounded by work_mem may stand for any number of
 * blocks, by marking runs of them; so the set is bounded on its own, by dropping
 * the line pointers, and then by keeping runs of blocks.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "port/pg_bitutils.h"

#include "ann/gate.h"
#include "ann/scan.h"
#include "compat.h"

/* A page of the set has all rows of its blocks. */
#define LOSSY PG_UINT32_MAX

typedef struct GatePage
{
	BlockNumber run; /* block >> shift */
	uint32 first;	 /* of its words; or LOSSY */
	uint16 words;
} GatePage;

struct VxGate
{
	int shift; /* a page stands for 2^shift blocks, of the table's 2^32 */
	int64 page_count;
	int64 page_capacity;
	bool lossy; /* there are pages of which rows are not known */
	int64 rows; /* of the others */
	GatePage *pages;
	int64 word_count;
	int64 word_capacity;
	uint64 *words; /* NULL: all pages are lossy */
	int bucket_bits;
	uint32 *buckets; /* 1 + index of a page; 0 = empty */
};

/* --- making ------------------------------------------------------------------------ */

/* At most half of the buckets are taken. */
static int
bucket_bits_for(int64 pages)
{
	return pg_leftmost_one_pos64(Max(pages, 8)) + 2;
}

/* Do so many pages, with so many words, fit into work_mem? */
static bool
fits(int64 pages, int64 words)
{
	int bits = bucket_bits_for(pages);
	uint64 bytes = (uint64) pages * sizeof(GatePage) + words * sizeof(uint64) +
				   (UINT64CONST(1) << bits) * sizeof(uint32);

	return bits < 32 && words < LOSSY && bytes <= work_mem * UINT64CONST(1024);
}

static BlockNumber
run_of(const VxGate *gate, BlockNumber block)
{
	return gate->shift > 31 ? 0 : block >> gate->shift;
}

/* Whole blocks in place of rows; or runs of twice as many blocks. */
static void
coarsen(VxGate *gate)
{
	int64 kept = 0;

	if (gate->words != NULL)
	{
		pfree(gate->words);
		gate->words = NULL;
		gate->rows = gate->word_count = 0;
	}
	else
		gate->shift++;
	for (int64 i = 0; i < gate->page_count; i++)
	{
		/* The first time the runs stay as they are. */
		BlockNumber run = gate->pages[i].run >> Min(gate->shift, 1);

		if (kept > 0 && gate->pages[kept - 1].run == run)
			continue;
		gate->pages[kept++] = (GatePage){.run = run, .first = LOSSY};
	}
	gate->page_count = kept;
	gate->lossy = true;
}

/* Makes room for a page and its words. */
static void
reserve(VxGate *gate, int words)
{
	if (gate->page_count >= gate->page_capacity)
	{
		gate->page_capacity *= 2;
		gate->pages =
			repalloc_huge(gate->pages, gate->page_capacity * sizeof(GatePage));
	}
	if (gate->words != NULL && gate->word_count + words > gate->word_capacity)
	{
		gate->word_capacity = 2 * gate->word_capacity + words;
		gate->words =
			repalloc_huge(gate->words, gate->word_capacity * sizeof(uint64));
	}
}

static void
set_offsets(VxGate *gate, GatePage *mine, const VxBitmapPage *page)
{
	uint64 *words = &gate->words[gate->word_count];

	mine->first = (uint32) gate->word_count;
	mine->words = page->offsets[page->count - 1] / 64 + 1;
	memset(words, 0, mine->words * sizeof(uint64));
	for (int i = 0; i < page->count; i++)
		words[page->offsets[i] / 64] |= UINT64CONST(1) << page->offsets[i] % 64;
	gate->word_count += mine->words;
	gate->rows += page->count;
}

/* A page of the bitmap, whose blocks ascend. */
static void
add_page(VxGate *gate, const VxBitmapPage *page)
{
	bool lossy = page->lossy || page->count == 0;
	int words = lossy ? 0 : page->offsets[page->count - 1] / 64 + 1;
	GatePage *mine;

	while (!fits(gate->page_count + 1, gate->word_count + words) &&
		   gate->shift < 32)
	{
		coarsen(gate);
		words = 0;
	}
	if (gate->page_count > 0 &&
		gate->pages[gate->page_count - 1].run == run_of(gate, page->block))
		return;
	reserve(gate, words);
	mine = &gate->pages[gate->page_count++];
	*mine = (GatePage){.run = run_of(gate, page->block), .first = LOSSY};
	if (lossy || gate->words == NULL)
		gate->lossy = true;
	else
		set_offsets(gate, mine, page);
}

/* Where the search for a run begins. */
static inline uint32
bucket_of(const VxGate *gate, BlockNumber run)
{
	return (run * 0x9E3779B1U) >> (32 - gate->bucket_bits);
}

static void
fill_buckets(VxGate *gate)
{
	uint32 mask;

	gate->bucket_bits = bucket_bits_for(gate->page_count);
	gate->buckets = palloc_extended(sizeof(uint32) << gate->bucket_bits,
									MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	mask = ((uint32) 1 << gate->bucket_bits) - 1;
	for (int64 i = 0; i < gate->page_count; i++)
	{
		uint32 at = bucket_of(gate, gate->pages[i].run);

		while (gate->buckets[at] != 0)
			at = (at + 1) & mask;
		gate->buckets[at] = (uint32) i + 1;
	}
}

VxGate *
vx_gate_create(TIDBitmap *bitmap)
{
	VxGate *gate = palloc0(sizeof(VxGate));
	VxBitmapIterator *iterator = vx_compat_bitmap_begin(bitmap);
	VxBitmapPage page;

	gate->page_capacity = gate->word_capacity = 256;
	gate->pages = palloc(gate->page_capacity * sizeof(GatePage));
	gate->words = palloc(gate->word_capacity * sizeof(uint64));
	while (vx_compat_bitmap_next(iterator, &page))
	{
		CHECK_FOR_INTERRUPTS();
		add_page(gate, &page);
	}
	vx_compat_bitmap_end(iterator);
	fill_buckets(gate);
	return gate;
}

/* --- asking ------------------------------------------------------------------------ */

bool
vx_gate_has(const VxGate *gate, const ItemPointerData *tid)
{
	BlockNumber block = ItemPointerGetBlockNumberNoCheck(tid);
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	BlockNumber run = run_of(gate, block);
	uint32 mask = ((uint32) 1 << gate->bucket_bits) - 1;
	uint32 at = bucket_of(gate, run);

	for (; gate->buckets[at] != 0; at = (at + 1) & mask)
	{
		const GatePage *page = &gate->pages[gate->buckets[at] - 1];

		if (page->run != run)
			continue;
		if (page->first == LOSSY)
			return true;
		return offset / 64 < page->words &&
			   (gate->words[page->first + offset / 64] >> offset % 64 & 1) != 0;
	}
	return false;
}

int64
vx_gate_count(const VxGate *gate)
{
	return gate->lossy ? -1 : gate->rows;
}

void
vx_gate_each(const VxGate *gate,
			 void (*visit)(void *arg, const ItemPointerData *tid), void *arg)
{
	for (int64 i = 0; i < gate->page_count; i++)
	{
		const GatePage *page = &gate->pages[i];
		int bits = page->words * 64;

		for (int bit = vx_bit_next(gate->words + page->first, bits, 0);
			 bit < bits;
			 bit = vx_bit_next(gate->words + page->first, bits, bit + 1))
		{
			ItemPointerData tid;

			ItemPointerSet(&tid, page->run, bit);
			visit(arg, &tid);
		}
	}
}

void
vx_ann_scan_set_gate(IndexScanDesc desc, const VxGate *gate)
{
	((VxScan *) desc->opaque)->gate = gate;
}

void
vx_ann_scan_set_maker(IndexScanDesc desc, VxGateMaker maker, void *arg)
{
	VxScan *scan = desc->opaque;

	scan->gate_maker = maker;
	scan->gate_arg = arg;
}

int64
vx_ann_scan_gated(IndexScanDesc desc)
{
	return ((const VxScan *) desc->opaque)->gated;
}
