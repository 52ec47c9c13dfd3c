/*
 * order.h
 *		Orders that an ann index gives.
 */
#ifndef VX_PLAN_ORDER_H
#define VX_PLAN_ORDER_H

#include "nodes/pathnodes.h"

#include "plan/match.h"

/*
 * Which of the ordering strategies gives the order of a path key, if the
 * expression is the distance or rises or falls with it; 0 = none.
 */
extern int vx_order_strategy(PlannerInfo *root, RelOptInfo *rel,
							 const PathKey *key, const VxDistance *distance);

#endif
