/*
 * range.c
 *		Conditions on the distance: "v <=> q < r" and its like.
 *
 * The index knows them as "v within a ball", an operator of its operator family
 * that nobody writes.  The condition itself stays with the executor: a ball is
 * what the index looks for, a little wider.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/sdir.h"
#include "access/stratnum.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_proc.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/restrictinfo.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "ann/ann.h"
#include "plan/match.h"
#include "plan/range.h"

/* Is the comparison of float8 one that says "at most", or "at least"? */
static bool
is_comparison(const OpExpr *op, bool *at_most)
{
	int strategy = get_op_opfamily_strategy(op->opno, vx_match_order_family());

	if (list_length(op->args) != 2 ||
		exprType(linitial(op->args)) != FLOAT8OID ||
		exprType(lsecond(op->args)) != FLOAT8OID)
		return false;
	*at_most = strategy == BTLessStrategyNumber ||
			   strategy == BTLessEqualStrategyNumber;
	return *at_most || strategy == BTGreaterStrategyNumber ||
		   strategy == BTGreaterEqualStrategyNumber;
}

/*
 * Of numbers added, so many times the distance's scale: their rounding is less
 * than what a ball is widened by, see type/vector_ball.c.
 */
#define ROUNDING_MAX 1e5

/* A side of a comparison that has the distance, when the other side keeps still. */
static bool
match_side(PlannerInfo *root, IndexOptInfo *index, Expr *side, Expr *bound,
		   VxDistance *distance)
{
	return vx_match_fixed(root, index, bound) &&
		   vx_match_distance(root, index, side, distance) &&
		   distance->rounding <= ROUNDING_MAX * fabs(distance->slope);
}

/* The distance that a condition says is not beyond a bound, and the bound. */
static bool
match_limit(PlannerInfo *root, IndexOptInfo *index, const OpExpr *op,
			VxDistance *distance, Expr **bound)
{
	Expr *left = linitial(op->args);
	Expr *right = lsecond(op->args);
	bool at_most;

	if (!is_comparison(op, &at_most))
		return false;
	*bound = right;
	if (match_side(root, index, left, right, distance))
		return at_most == (distance->slope > 0);
	*bound = left;
	if (match_side(root, index, right, left, distance))
		return at_most == (distance->slope < 0);
	return false;
}

/* What makes a condition of a distance and a bound. */
typedef struct Range
{
	Oid operator; /* vector within ball */
	Oid ball;	  /* its type */
	Oid function; /* makes one of vector and float8 */
} Range;

/* vector_ball(vector, float8, float8, float8) stands beside its type, wherever the extension is. */
static Oid
ball_function(Oid vector, Oid ball)
{
	Oid args[] = {vector, FLOAT8OID, FLOAT8OID, FLOAT8OID};
	HeapTuple type = SearchSysCache1(TYPEOID, ObjectIdGetDatum(ball));
	Oid schema;

	if (!HeapTupleIsValid(type))
		return InvalidOid;
	schema = ((Form_pg_type) GETSTRUCT(type))->typnamespace;
	ReleaseSysCache(type);
	return GetSysCacheOid3(
		PROCNAMEARGSNSP, Anum_pg_proc_oid, CStringGetDatum("vector_ball"),
		PointerGetDatum(buildoidvector(args, lengthof(args))),
		ObjectIdGetDatum(schema));
}

/* The family's member for ranges, whose right-hand type it alone has. */
static bool
find_range(Oid family, Oid vector, Range *range)
{
	CatCList *members =
		SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));

	*range = (Range){0};
	for (int i = 0; i < members->n_members; i++)
	{
		Form_pg_amop member =
			(Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		if (member->amopstrategy != VX_ANN_RANGE_STRATEGY ||
			member->amoplefttype != vector)
			continue;
		range->operator= member->amopopr;
		range->ball = member->amoprighttype;
	}
	ReleaseSysCacheList(members);
	if (OidIsValid(range->ball))
		range->function = ball_function(vector, range->ball);
	return OidIsValid(range->function);
}

static Const *
float8_const(double value)
{
	return makeConst(FLOAT8OID, -1, InvalidOid, sizeof(float8),
					 Float8GetDatum(value), false, FLOAT8PASSBYVAL);
}

/* "vector within a ball", as the index knows it. */
static IndexClause *
ball_clause(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *rinfo,
			const VxDistance *distance, Expr *bound)
{
	IndexClause *clause = makeNode(IndexClause);
	Range range;
	Expr *ball;
	Expr *within;

	if (!find_range(index->opfamily[0], index->opcintype[0], &range))
		return NULL;
	ball = (Expr *) makeFuncExpr(range.function, range.ball,
								 list_make4(distance->query, bound,
											float8_const(distance->slope),
											float8_const(distance->offset)),
								 InvalidOid, InvalidOid, COERCE_EXPLICIT_CALL);
	ball = (Expr *) eval_const_expressions(root, (Node *) ball);
	within = make_opclause(range.operator, BOOLOID, false, distance->vector,
						   ball, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) within);
	clause->rinfo = rinfo;
	clause->indexquals = list_make1(make_simple_restrictinfo(root, within));
	clause->lossy = true;
	clause->indexcol = 0;
	clause->indexcols = NIL;
	return clause;
}

IndexClause *
vx_range_clause(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *rinfo)
{
	VxDistance distance;
	Expr *bound;

	if (!is_opclause(rinfo->clause) ||
		!match_limit(root, index, (OpExpr *) rinfo->clause, &distance, &bound))
		return NULL;
	return ball_clause(root, index, rinfo, &distance, bound);
}

/* --- paths ----------------------------------------------------------------------- */

static void
add_paths(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
		  List *clauses, Relids outer, double loops)
{
	IndexPath *plain =
		create_index_path(root, index, clauses, NIL, NIL, NIL,
						  ForwardScanDirection, false, outer, loops, false);
	/* Another node for the bitmap: add_path may free the first. */
	IndexPath *of_bitmap =
		create_index_path(root, index, clauses, NIL, NIL, NIL,
						  ForwardScanDirection, false, outer, loops, false);
	BitmapHeapPath *bitmap =
		create_bitmap_heap_path(root, rel, &of_bitmap->path, outer, loops, 0);

	add_path(rel, &plain->path);
	add_path(rel, &bitmap->path);
}

/* Does a clause say something that core does not know how to say? */
static bool
has_ball(List *clauses)
{
	ListCell *lc;

	foreach (lc, clauses)
	{
		const IndexClause *clause = lfirst(lc);

		if (clause->indexcol == 0 && clause->lossy)
			return true;
	}
	return false;
}

/* How often the inner side of a join is scanned: for the fewest rows there are. */
static double
count_loops(PlannerInfo *root, Relids outer)
{
	double loops = 0;
	int relid = -1;

	while ((relid = bms_next_member(outer, relid)) >= 0)
	{
		const RelOptInfo *rel = relid < root->simple_rel_array_size
									? root->simple_rel_array[relid]
									: NULL;

		if (rel != NULL && rel->rows > 0 && (loops == 0 || rel->rows < loops))
			loops = rel->rows;
	}
	return Max(loops, 1);
}

/* Scans for each row of other relations, whose vectors are the balls' centres. */
static void
add_joined(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
		   List *clauses)
{
	ListCell *lc;

	foreach (lc, rel->joininfo)
	{
		RestrictInfo *rinfo = lfirst(lc);
		IndexClause *clause;
		Relids outer;

		if (!join_clause_is_movable_to(rinfo, rel) ||
			!restriction_is_securely_promotable(rinfo, rel))
			continue;
		clause = vx_range_clause(root, index, rinfo);
		if (clause == NULL)
			continue;
		outer = bms_difference(rinfo->clause_relids, rel->relids);
		outer = bms_add_members(outer, rel->lateral_relids);
		if (!bms_is_empty(outer))
			add_paths(root, rel, index, lcons(clause, list_copy(clauses)),
					  outer, count_loops(root, outer));
	}
}

void
vx_range_paths(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
			   List *clauses)
{
	if (has_ball(clauses))
		add_paths(root, rel, index, clauses, rel->lateral_relids, 1.0);
	add_joined(root, rel, index, clauses);
}
