/*
 * gate.h
 *		The plan node AnnGate: an ordered ann scan of the rows that a bitmap lets
 *		pass.
 */
#ifndef VX_PLAN_GATE_H
#define VX_PLAN_GATE_H

#include "nodes/execnodes.h"
#include "nodes/extensible.h"
#include "nodes/pathnodes.h"

/* Makes the node known to plans that are copied or sent; from _PG_init. */
extern void vx_gate_register(void);

/* gate_path.c: offers it, see pathlist.h. */
extern void vx_gate_paths(PlannerInfo *root, RelOptInfo *rel);

/* gate_scan.c: the state of the node; NULL for other nodes' states. */
extern const CustomScanMethods vx_gate_scan_methods;
extern PlanState *vx_gate_index_scan(PlanState *node);

#endif
