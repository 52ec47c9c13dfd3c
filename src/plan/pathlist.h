/*
 * pathlist.h
 *		What is done to the paths of a relation, by one hook.
 */
#ifndef VX_PLAN_PATHLIST_H
#define VX_PLAN_PATHLIST_H

#include "nodes/pathnodes.h"

/* Hooks into the planner's making of paths; called once from _PG_init. */
extern void vx_pathlist_hook_install(void);

/* order.c: paths that core does not make. */
extern void vx_order_paths(PlannerInfo *root, RelOptInfo *rel);

/* The operator to order by for the query's first path key, or NULL. */
extern Expr *vx_order_match(PlannerInfo *root, RelOptInfo *rel,
							IndexOptInfo *index);

/* partial.c: the cost of scans that workers share. */
extern void vx_partial_paths(PlannerInfo *root, RelOptInfo *rel);

#endif
