/*
 * match.c
 *		Recognising what an ann index can do in the clauses of a query.
 *
 * Core matches "key op value" and the order of a distance itself.  Here are the
 * forms that it does not know: expressions that rise or fall with a distance, IN
 * lists beside an order before version 17, and a column of type bool as a
 * condition before version 16.  Conditions on the distance are in range.c.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_operator_d.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "optimizer/restrictinfo.h"
#include "utils/fmgroids.h"
#include "utils/lsyscache.h"
#include "utils/typcache.h"

#include "ann/ann.h"
#include "compat.h"
#include "plan/match.h"
#include "plan/range.h"

bool
vx_match_index(const IndexOptInfo *index)
{
	return index->amcostestimate == anncostestimate &&
		   (index->indpred == NIL || index->predOK);
}

Oid
vx_match_order_family(void)
{
	return lookup_type_cache(FLOAT8OID, TYPECACHE_BTREE_OPFAMILY)->btree_opf;
}

/* --- distances ---------------------------------------------------------------------- */

bool
vx_match_fixed(PlannerInfo *root, const IndexOptInfo *index, Expr *expression)
{
	return !bms_is_member(index->rel->relid,
						  pull_varnos(root, (Node *) expression)) &&
		   !contain_volatile_functions((Node *) expression);
}

static bool
match_operands(PlannerInfo *root, IndexOptInfo *index, Expr *vector,
			   Expr *query, VxDistance *distance)
{
	if (!match_index_to_operand((Node *) vector, 0, index) ||
		!vx_match_fixed(root, index, query))
		return false;
	distance->vector = vector;
	distance->query = query;
	return true;
}

/* A distance itself, whichever side the vector is on: all of them commute. */
static bool
match_operator(PlannerInfo *root, IndexOptInfo *index, OpExpr *op,
			   VxDistance *distance)
{
	Oid wanted =
		get_opfamily_member(index->opfamily[0], index->opcintype[0],
							index->opcintype[0], VX_ANN_DISTANCE_STRATEGY);

	if (op->opno != wanted || list_length(op->args) != 2)
		return false;
	return match_operands(root, index, linitial(op->args), lsecond(op->args),
						  distance) ||
		   match_operands(root, index, lsecond(op->args), linitial(op->args),
						  distance);
}

/* A constant that is a finite number. */
static bool
is_number(const Expr *expression, double *number)
{
	const Const *value = (const Const *) expression;

	if (!IsA(expression, Const) || value->constisnull ||
		value->consttype != FLOAT8OID)
		return false;
	*number = DatumGetFloat8(value->constvalue);
	return isfinite(*number);
}

/* What is below has its values multiplied by a number. */
static Expr *
scaled(Expr *below, double factor, VxDistance *distance)
{
	distance->slope *= factor;
	return below;
}

/* What is below has a number added to its values. */
static Expr *
shifted(Expr *below, double number, VxDistance *distance)
{
	distance->offset += distance->slope * number;
	distance->rounding += fabs(distance->slope * number);
	return below;
}

/*
 * One step from the outside in: what is below it that has the distance.  NULL:
 * not a form that is known.
 */
static Expr *
unwrap(Oid function, Expr *left, Expr *right, VxDistance *distance)
{
	double number;

	switch (function)
	{
		case F_FLOAT8UM:
			return scaled(left, -1, distance);
		case F_FLOAT8MI:
			if (is_number(left, &number))
				return scaled(shifted(right, number, distance), -1, distance);
			return is_number(right, &number) ? shifted(left, -number, distance)
											 : NULL;
		case F_FLOAT8PL:
			if (is_number(left, &number))
				return shifted(right, number, distance);
			return is_number(right, &number) ? shifted(left, number, distance)
											 : NULL;
		case F_FLOAT8MUL:
			if (is_number(left, &number))
				return scaled(right, number, distance);
			return is_number(right, &number) ? scaled(left, number, distance)
											 : NULL;
		case F_FLOAT8DIV:
			return is_number(right, &number)
					   ? scaled(left, 1 / number, distance)
					   : NULL;
		default:
			return NULL;
	}
}

/* A slope that is a number, and neither as good as 0 nor as good as infinite. */
static bool
is_slope(double slope)
{
	return fabs(slope) >= 1e-100 && fabs(slope) <= 1e100;
}

bool
vx_match_distance(PlannerInfo *root, IndexOptInfo *index, Expr *expression,
				  VxDistance *distance)
{
	*distance = (VxDistance){.slope = 1};
	while (expression != NULL)
	{
		List *args;
		Oid function;

		if (IsA(expression, OpExpr))
		{
			OpExpr *op = (OpExpr *) expression;

			if (match_operator(root, index, op, distance))
				return is_slope(distance->slope);
			set_opfuncid(op);
			function = op->opfuncid;
			args = op->args;
		}
		else if (IsA(expression, FuncExpr))
		{
			function = ((FuncExpr *) expression)->funcid;
			args = ((FuncExpr *) expression)->args;
		}
		else
			return false;
		if (list_length(args) < 1 || list_length(args) > 2)
			return false;
		expression =
			unwrap(function, linitial(args),
				   list_length(args) == 2 ? lsecond(args) : NULL, distance);
	}
	return false;
}

Expr *
vx_match_ordering(const IndexOptInfo *index, const VxDistance *distance,
				  int strategy)
{
	Oid type = index->opcintype[0];
	Oid operator= get_opfamily_member(index->opfamily[0], type, type, strategy);
	Expr *ordering;

	if (!OidIsValid(operator))
		return NULL;
	ordering = make_opclause(operator, FLOAT8OID, false, distance->vector,
							 distance->query, InvalidOid, InvalidOid);
	set_opfuncid((OpExpr *) ordering);
	return ordering;
}

/* --- conditions on columns ------------------------------------------------------------- */

/*
 * A column of type bool, or NOT of it, as "column = true" or "= false"; core does
 * so from version 16 on.
 */
static IndexClause *
bool_clause(PlannerInfo *root, IndexOptInfo *index, RestrictInfo *rinfo)
{
	Node *operand = (Node *) rinfo->clause;
	bool negated = is_notclause(operand);
	IndexClause *clause;
	Expr *equal;

	if (negated)
		operand = (Node *) get_notclausearg((Expr *) operand);
	for (int col = 1; col < index->nkeycolumns; col++)
	{
		if (!op_in_opfamily(BooleanEqualOperator, index->opfamily[col]) ||
			!match_index_to_operand(operand, col, index))
			continue;
		equal = make_opclause(
			BooleanEqualOperator, BOOLOID, false, (Expr *) operand,
			(Expr *) makeBoolConst(!negated, false), InvalidOid, InvalidOid);
		set_opfuncid((OpExpr *) equal);
		clause = makeNode(IndexClause);
		clause->rinfo = rinfo;
		clause->indexquals = list_make1(make_simple_restrictinfo(root, equal));
		clause->lossy = false;
		clause->indexcol = col;
		return clause;
	}
	return NULL;
}

/* What core would match, without an order: it looks at no path but its own. */
static List *
core_clauses(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	List *paths = rel->pathlist;
	List *partial = rel->partial_pathlist;
	List *indexes = rel->indexlist;
	List *keys = root->query_pathkeys;
	bool bitmaps = index->amhasgetbitmap;
	bool parallel = rel->consider_parallel;
	List *best = NIL;
	ListCell *lc;

	rel->pathlist = rel->partial_pathlist = NIL;
	rel->indexlist = list_make1(index);
	rel->consider_parallel = false;
	root->query_pathkeys = NIL;
	index->amhasgetbitmap = false;
	create_index_paths(root, rel);
	foreach (lc, rel->pathlist)
	{
		IndexPath *path = lfirst(lc);

		if (IsA(path, IndexPath) && path->path.param_info == NULL &&
			list_length(path->indexclauses) > list_length(best))
			best = path->indexclauses;
	}
	rel->pathlist = paths;
	rel->partial_pathlist = partial;
	rel->indexlist = indexes;
	rel->consider_parallel = parallel;
	root->query_pathkeys = keys;
	index->amhasgetbitmap = bitmaps;
	return list_copy(best);
}

static bool
has_clause(List *clauses, const RestrictInfo *rinfo)
{
	ListCell *lc;

	foreach (lc, clauses)
		if (((IndexClause *) lfirst(lc))->rinfo == rinfo)
			return true;
	return false;
}

/* Index clauses come in the order of the columns. */
static int
compare_columns(const ListCell *a, const ListCell *b)
{
	const IndexClause *x = lfirst(a);
	const IndexClause *y = lfirst(b);

	return (int) x->indexcol - (int) y->indexcol;
}

List *
vx_match_clauses(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	List *clauses = core_clauses(root, rel, index);
	ListCell *lc;

	foreach (lc, rel->baserestrictinfo)
	{
		RestrictInfo *rinfo = lfirst(lc);
		IndexClause *clause;

		if (!restriction_is_securely_promotable(rinfo, rel) ||
			has_clause(clauses, rinfo))
			continue;
		clause = vx_range_clause(root, index, rinfo);
		if (clause == NULL)
			clause = bool_clause(root, index, rinfo);
		if (clause != NULL)
			clauses = lappend(clauses, clause);
	}
	list_sort(clauses, compare_columns);
	return clauses;
}
