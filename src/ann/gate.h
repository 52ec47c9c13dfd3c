/*
 * gate.h
 *		A set of heap pointers that lets rows pass: what other indexes have found.
 */
#ifndef VX_ANN_GATE_H
#define VX_ANN_GATE_H

#include "postgres.h"

#include "access/genam.h"
#include "nodes/tidbitmap.h"

typedef struct VxGate VxGate;

/*
 * Makes a set of what the bitmap has, in the current context, which takes about as
 * much as work_mem at most.  Heap pointers are those of index entries, which for a HOT chain
 * is its root.  A block that the bitmap kept no pointers of, or for whose pointers
 * there is no room, lets all of its rows pass.
 */
extern VxGate *vx_gate_create(TIDBitmap *bitmap);

extern bool vx_gate_has(const VxGate *gate, const ItemPointerData *tid);

/* How many pointers pass; negative when that is not known. */
extern int64 vx_gate_count(const VxGate *gate);

/* All of them, when they are known: calls back with each, in heap order. */
extern void vx_gate_each(const VxGate *gate,
						 void (*visit)(void *arg, const ItemPointerData *tid),
						 void *arg);

/*
 * The scan gives only rows that pass, from its next start on; NULL: all rows.  The
 * gate must live until the scan is given another one or ends.
 */
extern void vx_ann_scan_set_gate(IndexScanDesc scan, const VxGate *gate);

/*
 * Makes a gate in the midst of a scan that has given so many rows, or returns
 * NULL: not now.  Called with nothing locked.
 */
typedef const VxGate *(*VxGateMaker)(void *arg, int64 returned);

/*
 * The scan begins without a gate, and asks for one whenever it has to look for
 * more rows than it did so far.  What it returns it keeps, over rescans, too.
 */
extern void vx_ann_scan_set_maker(IndexScanDesc scan, VxGateMaker maker,
								  void *arg);

/* Rows of the lists that gates have left out since the scan was made. */
extern int64 vx_ann_scan_gated(IndexScanDesc scan);

/* So few rows of an index of so many are fetched without a look at its lists. */
static inline double
vx_gate_direct_rows(double rows)
{
	return Max(100, rows / 300);
}

#endif
