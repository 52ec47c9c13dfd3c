/*
 * gate.c
 *		A set of heap pointers that lets rows pass.
 *
 * PostgreSQL's bitmaps have no test of membership, so one is turned into a hash
 * table of heap blocks, each with a bit for every line pointer.  A bitmap is
 * bounded by work_mem, and so is this.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "common/hashfn.h"
#include "port/pg_bitutils.h"

#include "ann/gate.h"
#include "ann/scan.h"
#include "compat.h"

#define BLOCK_WORDS ((MaxHeapTuplesPerPage + 63) / 64)

/* A heap block; all of its bits are set when the bitmap kept none. */
typedef struct GateBlock
{
	BlockNumber block;
	char status; /* of the hash table */
	uint64 bits[BLOCK_WORDS];
} GateBlock;

#define SH_PREFIX gate
#define SH_ELEMENT_TYPE GateBlock
#define SH_KEY_TYPE BlockNumber
#define SH_KEY block
#define SH_HASH_KEY(table, key) murmurhash32(key)
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct VxGate
{
	gate_hash *blocks;
	int64 count; /* of line pointers */
	bool lossy;	 /* there are blocks whose pointers are not known */
};

static void
add_block(VxGate *gate, const VxBitmapPage *page)
{
	bool found;
	GateBlock *entry = gate_insert(gate->blocks, page->block, &found);

	memset(entry->bits, page->lossy ? 0xFF : 0, sizeof(entry->bits));
	gate->lossy |= page->lossy;
	for (int i = 0; i < page->count; i++)
		vx_bit_set(entry->bits, page->offsets[i] - 1);
	gate->count += page->count;
}

VxGate *
vx_gate_create(TIDBitmap *bitmap)
{
	VxGate *gate = palloc0(sizeof(VxGate));
	VxBitmapIterator *iterator = vx_compat_bitmap_begin(bitmap);
	VxBitmapPage page;

	gate->blocks = gate_create(CurrentMemoryContext, 256, NULL);
	while (vx_compat_bitmap_next(iterator, &page))
	{
		CHECK_FOR_INTERRUPTS();
		add_block(gate, &page);
	}
	vx_compat_bitmap_end(iterator);
	return gate;
}

bool
vx_gate_has(VxGate *gate, const ItemPointerData *tid)
{
	OffsetNumber offset = ItemPointerGetOffsetNumberNoCheck(tid);
	GateBlock *entry =
		gate_lookup(gate->blocks, ItemPointerGetBlockNumberNoCheck(tid));

	return entry != NULL && offset >= FirstOffsetNumber &&
		   offset <= MaxHeapTuplesPerPage && vx_bit(entry->bits, offset - 1);
}

int64
vx_gate_count(const VxGate *gate)
{
	return gate->lossy ? -1 : gate->count;
}

void
vx_gate_each(VxGate *gate, void (*visit)(void *arg, const ItemPointerData *tid),
			 void *arg)
{
	gate_iterator iterator;
	GateBlock *entry;

	gate_start_iterate(gate->blocks, &iterator);
	while ((entry = gate_iterate(gate->blocks, &iterator)) != NULL)
		for (int i = vx_bit_next(entry->bits, MaxHeapTuplesPerPage, 0);
			 i < (int) MaxHeapTuplesPerPage;
			 i = vx_bit_next(entry->bits, MaxHeapTuplesPerPage, i + 1))
		{
			ItemPointerData tid;

			ItemPointerSet(&tid, entry->block, i + 1);
			visit(arg, &tid);
		}
}

void
vx_ann_scan_set_gate(IndexScanDesc desc, VxGate *gate)
{
	((VxScan *) desc->opaque)->gate = gate;
}
