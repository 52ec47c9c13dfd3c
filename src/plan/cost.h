/*
 * cost.h
 *		What is asked of the planner's side beyond the callback.
 */
#ifndef VX_PLAN_COST_H
#define VX_PLAN_COST_H

#include "nodes/pathnodes.h"

/* The part of an ordered scan's cost that every participant pays in full. */
extern Cost vx_cost_unshared(const IndexPath *path);

/* Hooks into the planner's making of paths; called once from _PG_init. */
extern void vx_partial_hook_install(void);

#endif
