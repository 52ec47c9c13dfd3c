/*
 * cost.h
 *		What is asked of the planner's side beyond the callback.
 */
#ifndef VX_PLAN_COST_H
#define VX_PLAN_COST_H

#include "nodes/pathnodes.h"

/* The part of an ordered scan's cost that every participant pays in full. */
extern Cost vx_cost_unshared(const IndexPath *path);

/*
 * Of an ordered scan before which a gate lets a share of the rows pass, without
 * what makes the gate.  wanted: rows of the LIMIT, 0 or less where not known.
 */
extern void vx_cost_gate(const IndexPath *path, Selectivity passing,
						 double wanted, Cost *startup, Cost *total);

#endif
