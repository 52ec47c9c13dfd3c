/*
 * match.h
 *		Recognising what an ann index can do in the clauses of a query.
 */
#ifndef VX_PLAN_MATCH_H
#define VX_PLAN_MATCH_H

#include "nodes/pathnodes.h"

/*
 * An expression that rises or falls with the distance that an index knows:
 * slope * distance + offset.
 */
typedef struct VxDistance
{
	Expr *vector; /* the index's first key */
	Expr *query;  /* what it is compared with; not of its relation */
	double slope; /* not 0 */
	double offset;
	double rounding; /* sum of what was added on the way, without signs */
} VxDistance;

/* The operator family that distances are ordered by. */
extern Oid vx_match_order_family(void);

/*
 * Does the expression keep its value during a scan of the index's relation?  It
 * may be another one in the next scan.
 */
extern bool vx_match_fixed(PlannerInfo *root, const IndexOptInfo *index,
						   Expr *expression);

/* Is it an ann index that the query can use? */
extern bool vx_match_index(const IndexOptInfo *index);

/*
 * Is the expression a distance of the index's operator class, or one of 1 - d,
 * -d, d * c, d / c, d + c and the like, nested at will?
 */
extern bool vx_match_distance(PlannerInfo *root, IndexOptInfo *index,
							  Expr *expression, VxDistance *distance);

/* The ordering operator of a strategy, on the distance's operands. */
extern Expr *vx_match_ordering(const IndexOptInfo *index,
							   const VxDistance *distance, int strategy);

/*
 * The conditions of the relation that the index can test: a list of IndexClause,
 * those on the distance itself among them, which are lossy.
 */
extern List *vx_match_clauses(PlannerInfo *root, RelOptInfo *rel,
							  IndexOptInfo *index);

#endif
