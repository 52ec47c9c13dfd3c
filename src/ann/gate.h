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
 * Takes over a bitmap, in the current context.  Heap pointers are those of index
 * entries, which for a HOT chain is its root.  A page that the bitmap kept no
 * pointers of lets all of its rows pass.
 */
extern VxGate *vx_gate_create(TIDBitmap *bitmap);

extern bool vx_gate_has(VxGate *gate, const ItemPointerData *tid);

/* How many pointers pass; negative when that is not known. */
extern int64 vx_gate_count(const VxGate *gate);

/* All of them, when they are known: calls back with each, in no order. */
extern void vx_gate_each(VxGate *gate,
						 void (*visit)(void *arg, const ItemPointerData *tid),
						 void *arg);

/*
 * The scan gives only rows that pass, from now to the next rescan.  The gate must
 * live as long.
 */
extern void vx_ann_scan_set_gate(IndexScanDesc scan, VxGate *gate);

#endif
