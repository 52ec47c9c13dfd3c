/*
 * why.h
 *		Why a plan does without an index.
 */
#ifndef VX_PLAN_WHY_H
#define VX_PLAN_WHY_H

#include "nodes/pathnodes.h"
#include "nodes/plannodes.h"

/* What the planner found out about an index, for one query. */
typedef struct VxWhy
{
	Oid index;
	Oid table;
	bool seen;	 /* the query reads the table */
	bool usable; /* paths with the index were made, wherever it is read */
	char *reason;
} VxWhy;

/*
 * From now on, what the planner finds out is noted; NULL ends that.  Returns what
 * was in force.  Reasons are allocated in the planner's memory context.
 */
extern VxWhy *vx_why_watch(VxWhy *why);

/* Called for each relation once its paths are made. */
extern void vx_why_look(PlannerInfo *root, RelOptInfo *rel,
						const RangeTblEntry *rte);

/* Does a plan scan the index? */
extern bool vx_why_is_used(const PlannedStmt *plan, Oid index);

#endif
