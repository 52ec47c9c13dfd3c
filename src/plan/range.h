/*
 * range.h
 *		Conditions on the distance.
 */
#ifndef VX_PLAN_RANGE_H
#define VX_PLAN_RANGE_H

#include "nodes/pathnodes.h"

/*
 * What the index can test of a clause that bounds the distance, or NULL.  It is
 * lossy.
 */
extern IndexClause *vx_range_clause(PlannerInfo *root, IndexOptInfo *index,
									RestrictInfo *rinfo);

/*
 * Adds the paths without an order that conditions on the distance make possible:
 * clauses are all that the index can test of the relation's own, and clauses of
 * joins are looked for.
 */
extern void vx_range_paths(PlannerInfo *root, RelOptInfo *rel,
						   IndexOptInfo *index, List *clauses);

#endif
