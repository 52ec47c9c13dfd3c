/*
 * gate_path.c
 *		Paths of the node AnnGate.
 *
 * A condition that the ann index does not know, but other indexes do, can be
 * looked up there first: the bitmap that they give is the gate of an ordered ann
 * scan, which then looks at no row that does not pass.  Between streaming, where
 * the condition is checked on each row in order, and fetching all that pass and
 * sorting them, this is for what is in the middle; cost decides.
 */
#include "postgres.h"

#include "nodes/nodeFuncs.h"
#include "optimizer/cost.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "optimizer/planmain.h"
#include "optimizer/restrictinfo.h"

#include "ann/ann.h"
#include "plan/cost.h"
#include "plan/gate.h"
#include "plan/match.h"
#include "plan/pathlist.h"

static Plan *plan_gate(PlannerInfo *root, RelOptInfo *rel, CustomPath *path,
					   List *tlist, List *clauses, List *plans);

static const CustomPathMethods path_methods = {
	.CustomName = "AnnGate",
	.PlanCustomPath = plan_gate,
};

/*
 * Where the ordered scan without a gate seems to be dearer by more than that, the
 * gate is made at once.
 */
#define LATE_FACTOR 10
#define LATE_DISCOUNT 0.98

/* --- the bitmap ----------------------------------------------------------------- */

/* The indexes other than ann that can give a bitmap. */
static List *
other_indexes(const RelOptInfo *rel)
{
	List *others = NIL;
	ListCell *lc;

	foreach (lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->amcostestimate != anncostestimate && index->amhasgetbitmap)
			others = lappend(others, index);
	}
	return others;
}

/*
 * The cheapest bitmap of the relation's conditions from the indexes: core makes
 * it, while it sees these indexes only, and bitmaps as their only use.
 */
static BitmapHeapPath *
cheapest_bitmap(PlannerInfo *root, RelOptInfo *rel, List *indexes)
{
	RelOptInfo kept = *rel;
	List *plain = NIL; /* those that had other uses */
	BitmapHeapPath *best = NULL;
	ListCell *lc;

	foreach (lc, indexes)
	{
		IndexOptInfo *index = lfirst(lc);

		if (index->amhasgettuple)
			plain = lappend(plain, index);
		index->amhasgettuple = false;
	}
	rel->pathlist = rel->partial_pathlist = NIL;
	rel->indexlist = indexes;
	/* No paths for joins or workers are wanted. */
	rel->joininfo = NIL;
	rel->has_eclass_joins = false;
	rel->consider_parallel = false;
	create_index_paths(root, rel);
	foreach (lc, rel->pathlist)
	{
		Path *path = lfirst(lc);

		if (IsA(path, BitmapHeapPath) && path->param_info == NULL &&
			(best == NULL || path->total_cost < best->path.total_cost))
			best = (BitmapHeapPath *) path;
	}
	rel->pathlist = kept.pathlist;
	rel->partial_pathlist = kept.partial_pathlist;
	rel->indexlist = kept.indexlist;
	rel->joininfo = kept.joininfo;
	rel->has_eclass_joins = kept.has_eclass_joins;
	rel->consider_parallel = kept.consider_parallel;
	foreach (lc, plain)
		((IndexOptInfo *) lfirst(lc))->amhasgettuple = true;
	return best;
}

/* --- paths ----------------------------------------------------------------------- */

/*
 * The ordered scan of the index that the gate would stand before: a node of its
 * own, since those among the paths may be freed.
 */
static IndexPath *
ordered_path(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	Expr *ordering = vx_order_match(root, rel, index);

	if (ordering == NULL)
		return NULL;
	return create_index_path(
		root, index, vx_match_clauses(root, rel, index), list_make1(ordering),
		list_make1_int(0), list_make1(linitial(root->query_pathkeys)),
		ForwardScanDirection, false, rel->lateral_relids, 1.0, false);
}

/* Is there a condition that the index does not test for certain itself? */
static bool
leaves_some(const RelOptInfo *rel, const IndexPath *ordered)
{
	ListCell *lc;

	foreach (lc, rel->baserestrictinfo)
	{
		const RestrictInfo *rinfo = lfirst(lc);
		bool tested = rinfo->pseudoconstant;
		ListCell *of_index;

		foreach (of_index, ordered->indexclauses)
		{
			const IndexClause *clause = lfirst(of_index);

			tested |= clause->rinfo == rinfo && !clause->lossy;
		}
		if (!tested)
			return true;
	}
	return false;
}

static bool
has_param(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return true;
	return expression_tree_walker(node, has_param, context);
}

/* The cost until as many rows are there as the query asks for. */
static Cost
cost_of(const PlannerInfo *root, const Path *path)
{
	double part = root->limit_tuples > 0
					  ? Min(1, root->limit_tuples / Max(path->rows, 1))
					  : 1;

	return path->startup_cost + part * (path->total_cost - path->startup_cost);
}

/*
 * Where conditions are with values that are not known yet, how many rows meet
 * them is a guess.  Then the ordered scan begins without the gate, which is made
 * when few rows turn out to pass; that is not much worse than the better of the
 * two, so it takes the place of the ordered scan alone, which core drops when it
 * is dearer by more than a percent.
 */
static bool
make_late(const PlannerInfo *root, const RelOptInfo *rel,
		  const IndexPath *ordered, Path *gate)
{
	List *clauses = extract_actual_clauses(rel->baserestrictinfo, false);
	Cost streaming = cost_of(root, &ordered->path);
	Cost gated = cost_of(root, gate);

	if (streaming > LATE_FACTOR * gated || !has_param((Node *) clauses, NULL))
		return false;
	if (streaming > gated)
		return true;
	gate->startup_cost = LATE_DISCOUNT * ordered->path.startup_cost;
	gate->total_cost = LATE_DISCOUNT * ordered->path.total_cost;
	return true;
}

static void
add_gate(PlannerInfo *root, RelOptInfo *rel, IndexPath *ordered,
		 BitmapHeapPath *bitmap)
{
	CustomPath *path = makeNode(CustomPath);
	Selectivity passing;
	Cost bitmap_cost;

	cost_bitmap_tree_node(bitmap->bitmapqual, &bitmap_cost, &passing);
	path->path.pathtype = T_CustomScan;
	path->path.parent = rel;
	path->path.pathtarget = rel->reltarget;
	path->path.param_info =
		get_baserel_parampathinfo(root, rel, rel->lateral_relids);
	path->path.rows = ordered->path.rows;
	path->path.pathkeys = ordered->path.pathkeys;
	path->flags = CUSTOMPATH_SUPPORT_PROJECTION;
	path->custom_paths = list_make2(ordered, bitmap);
	path->methods = &path_methods;
	vx_cost_gate(ordered, passing, root->limit_tuples, &path->path.startup_cost,
				 &path->path.total_cost);
	path->path.startup_cost += bitmap_cost;
	path->path.total_cost += bitmap_cost;
	path->custom_private =
		list_make1(makeInteger(make_late(root, rel, ordered, &path->path)));
	add_path(rel, &path->path);
}

void
vx_gate_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List *indexes = other_indexes(rel);
	BitmapHeapPath *bitmap = NULL;
	ListCell *lc;

	if (indexes == NIL || rel->baserestrictinfo == NIL ||
		root->query_pathkeys == NIL || !enable_bitmapscan || !enable_indexscan)
		return;
	foreach (lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		IndexPath *ordered;

		if (!vx_match_index(index))
			continue;
		ordered = ordered_path(root, rel, index);
		if (ordered == NULL || !leaves_some(rel, ordered))
			continue;
		/* One for all of them, and none where no index is of use. */
		if (bitmap == NULL)
			bitmap = cheapest_bitmap(root, rel, indexes);
		if (bitmap == NULL)
			return;
		add_gate(root, rel, ordered, bitmap);
	}
}

/* --- plans ------------------------------------------------------------------------ */

/*
 * A condition without columns is checked once above each scan that core plans:
 * above this node, so not below it again.
 */
static Plan *
without_gating(Plan *plan)
{
	while (IsA(plan, Result) && outerPlan(plan) != NULL)
		plan = outerPlan(plan);
	return plan;
}

/*
 * The index scan checks every condition on each row that it gives, so the node
 * itself has none.  Of the bitmap's plan only what makes the bitmap is needed.
 */
static Plan *
plan_gate(PlannerInfo *root, RelOptInfo *rel, CustomPath *path, List *tlist,
		  List *clauses, List *plans)
{
	CustomScan *scan = makeNode(CustomScan);
	Plan *ordered = without_gating(linitial(plans));
	Plan *bitmap = without_gating(lsecond(plans));

	scan->scan.plan.targetlist = tlist;
	scan->scan.scanrelid = 0;
	scan->custom_scan_tlist = ordered->targetlist;
	scan->custom_plans = list_make2(ordered, outerPlan(bitmap));
	scan->custom_private = path->custom_private;
	scan->flags = path->flags;
	scan->methods = &vx_gate_scan_methods;
	return &scan->scan.plan;
}
