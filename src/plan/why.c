/*
 * why.c
 *		Why a plan does without an index: what is noted while it is made.
 *
 * The planner is asked itself, since only it sees a query with its views,
 * functions and subqueries taken apart.  Nothing is noted but on behalf of
 * ann_why(), whose call is what the static variable here lasts for.
 */
#include "postgres.h"

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relation.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_class.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "rewrite/rewriteManip.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/rel.h"
#include "utils/ruleutils.h"
#include "utils/syscache.h"

#include "ann/ann.h"
#include "compat.h"
#include "plan/match.h"
#include "plan/order.h"
#include "plan/why.h"

static VxWhy *watched = NULL;

VxWhy *
vx_why_watch(VxWhy *why)
{
	VxWhy *before = watched;

	watched = why;
	return before;
}

/* --- the index itself --------------------------------------------------------------- */

/* The planner does not list it. */
static char *
why_unlisted(Oid index_id)
{
	Relation index = index_open(index_id, NoLock);
	bool young = index->rd_index->indcheckxmin;

	index_close(index, NoLock);
	if (young)
		return "rows changed while the index was built: only transactions that "
			   "began later use it";
	return "the planner does not consider the index";
}

static char *
why_not_implied(const IndexOptInfo *index)
{
	Relation table = relation_open(watched->table, NoLock);
	List *context =
		deparse_context_for(RelationGetRelationName(table), watched->table);
	List *predicate = copyObject(index->indpred);

	relation_close(table, NoLock);
	ChangeVarNodes((Node *) predicate, index->rel->relid, 1, 0);
	return psprintf("the index is partial, and WHERE does not imply %s",
					deparse_expression((Node *) make_ands_explicit(predicate),
									   context, false, false));
}

/* --- the order -------------------------------------------------------------------- */

/* A distance that some operator class of ann orders by. */
typedef struct Found
{
	const IndexOptInfo *index;
	OpExpr *op; /* NULL: none yet */
	bool wanted;
} Found;

/* Is the operator a distance of an ann index, and of this one's class? */
static bool
is_distance(Oid operator, const IndexOptInfo * index, bool *wanted)
{
	CatCList *members =
		SearchSysCacheList1(AMOPOPID, ObjectIdGetDatum(operator));
	bool found = false;

	*wanted = false;
	for (int i = 0; i < members->n_members; i++)
	{
		Form_pg_amop member =
			(Form_pg_amop) GETSTRUCT(&members->members[i]->tuple);

		if (member->amopmethod != index->relam ||
			member->amopstrategy != VX_ANN_DISTANCE_STRATEGY ||
			member->amoppurpose != AMOP_ORDER)
			continue;
		found = true;
		*wanted |= member->amopfamily == index->opfamily[0];
	}
	ReleaseSysCacheList(members);
	return found;
}

static bool
find_distance(Node *node, void *context)
{
	Found *found = context;

	if (node == NULL)
		return false;
	if (IsA(node, OpExpr) &&
		is_distance(((OpExpr *) node)->opno, found->index, &found->wanted))
	{
		found->op = (OpExpr *) node;
		return true;
	}
	return expression_tree_walker(node, find_distance, context);
}

static char *
distance_name(const IndexOptInfo *index)
{
	return get_opname(
		get_opfamily_member(index->opfamily[0], index->opcintype[0],
							index->opcintype[0], VX_ANN_DISTANCE_STRATEGY));
}

/* The distance is of the right kind: is it of the index's key? */
static char *
why_not_operands(PlannerInfo *root, IndexOptInfo *index, const OpExpr *op)
{
	Node *left = linitial(op->args);
	Node *right = lsecond(op->args);
	bool first = match_index_to_operand(left, 0, index);

	if (!first && !match_index_to_operand(right, 0, index))
		return psprintf("neither side of %s is what the index is on",
						get_opname(op->opno));
	if (!vx_match_fixed(root, index, (Expr *) (first ? right : left)))
		return psprintf("both sides of %s change from row to row",
						get_opname(op->opno));
	return "the expression in ORDER BY is not known to rise or fall with the "
		   "distance, as 1 - d, -d, d * 2 and the like are";
}

static char *
why_not_direction(const PathKey *key, const VxDistance *distance)
{
	if (distance->slope > 0 && vx_compat_descends(key))
		return "ORDER BY ... DESC asks for the farthest rows first";
	if (distance->slope > 0)
		return "ORDER BY has NULLS FIRST, and the vector is not declared NOT "
			   "NULL";
	return "ORDER BY asks for the farthest rows first: the expression falls "
		   "with the distance, so it needs DESC";
}

/* Why an expression that the query orders by is not an order of the index. */
static char *
why_not_ordered(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
				const PathKey *key, Expr *expression)
{
	Found found = {.index = index};
	VxDistance distance;

	if (vx_match_distance(root, index, expression, &distance))
		return vx_order_strategy(root, rel, key, &distance) == 0
				   ? why_not_direction(key, &distance)
				   : NULL;
	find_distance((Node *) expression, &found);
	if (found.op == NULL)
		return psprintf("the first expression in ORDER BY is not a distance by "
						"%s",
						distance_name(index));
	if (!found.wanted)
		return psprintf("ORDER BY is by %s, and the index's operator class is "
						"for %s",
						get_opname(found.op->opno), distance_name(index));
	return why_not_operands(root, index, found.op);
}

/* No sorting is wanted where the table is read. */
static char *
why_no_keys(PlannerInfo *root, const IndexOptInfo *index)
{
	if (root->parse->sortClause != NIL && root->sort_pathkeys == NIL)
		return "ORDER BY is the same for all rows, as a distance from NULL is";
	return psprintf("there is no ORDER BY by %s, and no condition that the "
					"index can test",
					distance_name(index));
}

static char *
why_no_order(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	const PathKey *key;
	EquivalenceMember *member;
	VxMemberIterator iterator;
	char *reason = "the first expression in ORDER BY is not of this table";

	if (root->query_pathkeys == NIL)
		return why_no_keys(root, index);
	if (root->query_pathkeys != root->sort_pathkeys)
		return "GROUP BY, DISTINCT or a window function comes before ORDER BY, "
			   "and sorts by something else";
	key = linitial(root->query_pathkeys);
	if (key->pk_eclass->ec_has_volatile)
		return "the first expression in ORDER BY is volatile";
	vx_compat_members_begin(&iterator, key->pk_eclass, rel->relids);
	while ((member = vx_compat_members_next(&iterator)) != NULL)
	{
		if (bms_equal(member->em_relids, rel->relids))
		{
			reason = why_not_ordered(root, rel, index, key, member->em_expr);
			if (reason == NULL && key->pk_opfamily != vx_match_order_family())
				reason = "ORDER BY does not sort numbers of double precision";
			break;
		}
		if (bms_overlap(member->em_relids, rel->relids))
			reason = "ORDER BY is by columns of several tables: write the "
					 "search as LATERAL (SELECT ... ORDER BY ... LIMIT ...)";
	}
	return reason;
}

/* --- the choice -------------------------------------------------------------------- */

/* The path over the index with the order, if it is still in the running. */
static const Path *
ordered_path(const RelOptInfo *rel, const IndexOptInfo *index)
{
	ListCell *lc;

	foreach (lc, rel->pathlist)
	{
		const IndexPath *path = lfirst(lc);

		if (IsA(path, IndexPath) && path->indexinfo == index &&
			path->indexorderbys != NIL)
			return &path->path;
	}
	return NULL;
}

/* The index can be used, so it is a question of settings and costs. */
static char *
why_not_chosen(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
			   bool ordered)
{
	const Path *path = ordered_path(rel, index);

	if (!enable_indexscan && (ordered || !enable_bitmapscan))
		return "enable_indexscan is off";
	if (ordered && root->parse->limitCount == NULL && root->tuple_fraction <= 0)
		return "there is no LIMIT: for all rows of the table a sort is cheaper "
			   "by the planner's estimate";
	if (path != NULL)
		return psprintf("another plan is cheaper by the planner's estimate: "
						"with the index the first row costs %.2f and all %.0f "
						"cost %.2f",
						path->startup_cost, path->rows, path->total_cost);
	return "another plan is cheaper by the planner's estimate";
}

/* Notes a reason, or that there is none but for the choice. */
static void
note(char *reason, bool usable)
{
	if (watched->usable && !usable)
		return;
	watched->usable |= usable;
	watched->reason = reason;
}

static void
look_at_index(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	bool tests;
	char *reason;

	if (!vx_match_index(index))
	{
		note(why_not_implied(index), false);
		return;
	}
	tests = vx_match_clauses(root, rel, index) != NIL;
	reason = why_no_order(root, rel, index);
	if (reason != NULL && !tests)
		note(reason, false);
	else
		note(why_not_chosen(root, rel, index, reason == NULL), true);
}

void
vx_why_look(PlannerInfo *root, RelOptInfo *rel, const RangeTblEntry *rte)
{
	ListCell *lc;

	if (watched == NULL || rte->rtekind != RTE_RELATION ||
		rte->relid != watched->table)
		return;
	watched->seen = true;
	if (IS_DUMMY_REL(rel))
	{
		note("the conditions cannot hold for any row", false);
		return;
	}
	if (rte->tablesample != NULL)
	{
		note("TABLESAMPLE reads the table itself", false);
		return;
	}
	foreach (lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->indexoid == watched->index)
		{
			look_at_index(root, rel, index);
			return;
		}
	}
	note(why_unlisted(watched->index), false);
}

/* --- the plan ------------------------------------------------------------------------ */

static bool is_used_below(const Plan *plan, Oid index);

static bool
is_used_in(const List *plans, Oid index)
{
	ListCell *lc;

	foreach (lc, plans)
		if (is_used_below(lfirst(lc), index))
			return true;
	return false;
}

static bool
is_used_below(const Plan *plan, Oid index)
{
	if (plan == NULL)
		return false;
	switch (nodeTag(plan))
	{
		case T_IndexScan:
			return ((const IndexScan *) plan)->indexid == index;
		case T_BitmapIndexScan:
			return ((const BitmapIndexScan *) plan)->indexid == index;
		case T_BitmapAnd:
			return is_used_in(((const BitmapAnd *) plan)->bitmapplans, index);
		case T_BitmapOr:
			return is_used_in(((const BitmapOr *) plan)->bitmapplans, index);
		case T_Append:
			return is_used_in(((const Append *) plan)->appendplans, index);
		case T_MergeAppend:
			return is_used_in(((const MergeAppend *) plan)->mergeplans, index);
		case T_SubqueryScan:
			return is_used_below(((const SubqueryScan *) plan)->subplan, index);
		case T_CustomScan:
			return is_used_in(((const CustomScan *) plan)->custom_plans, index);
		default:
			return is_used_below(plan->lefttree, index) ||
				   is_used_below(plan->righttree, index);
	}
}

bool
vx_why_is_used(const PlannedStmt *plan, Oid index)
{
	return is_used_below(plan->planTree, index) ||
		   is_used_in(plan->subplans, index);
}
