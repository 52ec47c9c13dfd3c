/*
 * order.c
 *		Paths over ann indexes that core does not make.
 *
 * ORDER BY 1 - (v <=> q) DESC and its like; conditions on the distance; IN lists
 * beside an order before version 17.  For each index, the order that the query
 * wants is looked for in it, and every condition that it can test goes into the
 * paths.  Which one is taken is a matter of cost.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/sdir.h"
#include "catalog/pg_attribute.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"
#include "optimizer/paths.h"
#include "parser/parsetree.h"
#include "utils/syscache.h"

#include "ann/ann.h"
#include "compat.h"
#include "plan/match.h"
#include "plan/order.h"
#include "plan/pathlist.h"
#include "plan/range.h"

static bool
is_attribute_not_null(Oid relation, AttrNumber attno)
{
	HeapTuple tuple = SearchSysCache2(ATTNUM, ObjectIdGetDatum(relation),
									  Int16GetDatum(attno));
	bool not_null = HeapTupleIsValid(tuple) &&
					((Form_pg_attribute) GETSTRUCT(tuple))->attnotnull;

	if (HeapTupleIsValid(tuple))
		ReleaseSysCache(tuple);
	return not_null;
}

/* Is the vector declared NOT NULL? */
static bool
is_not_null(PlannerInfo *root, RelOptInfo *rel, const VxDistance *distance)
{
	const Var *var = (const Var *) distance->vector;
	RangeTblEntry *rte = planner_rt_fetch(rel->relid, root);

	return IsA(var, Var) && var->varattno > 0 &&
		   is_attribute_not_null(rte->relid, var->varattno);
}

int
vx_order_strategy(PlannerInfo *root, RelOptInfo *rel, const PathKey *key,
				  const VxDistance *distance)
{
	bool nulls = !is_not_null(root, rel, distance);

	/* The other way round is the order of the farthest. */
	if (vx_compat_descends(key) != (distance->slope < 0))
		return 0;
	if (distance->slope > 0)
		return !nulls || !key->pk_nulls_first ? VX_ANN_DISTANCE_STRATEGY : 0;
	/* NaN is above all numbers, so it comes first. */
	return nulls && !key->pk_nulls_first ? VX_ANN_NAN_FIRST_STRATEGY
										 : VX_ANN_FALLING_STRATEGY;
}

Expr *
vx_order_match(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index)
{
	PathKey *key;
	EquivalenceMember *member;
	VxMemberIterator iterator;

	if (root->query_pathkeys == NIL)
		return NULL;
	key = linitial(root->query_pathkeys);
	if (key->pk_opfamily != vx_match_order_family() ||
		key->pk_eclass->ec_has_volatile)
		return NULL;
	vx_compat_members_begin(&iterator, key->pk_eclass, rel->relids);
	while ((member = vx_compat_members_next(&iterator)) != NULL)
	{
		VxDistance distance;
		int strategy;

		if (!bms_equal(member->em_relids, rel->relids) ||
			!vx_match_distance(root, index, member->em_expr, &distance))
			continue;
		strategy = vx_order_strategy(root, rel, key, &distance);
		if (strategy != 0)
			return vx_match_ordering(index, &distance, strategy);
	}
	return NULL;
}

/* An ordered path over the index with fewer of the conditions in it. */
static bool
tests_less(const Path *path, const IndexOptInfo *index, const List *clauses)
{
	const IndexPath *index_path = (const IndexPath *) path;

	return IsA(path, IndexPath) && index_path->indexinfo == index &&
		   index_path->indexorderbys != NIL && path->param_info == NULL &&
		   list_length(index_path->indexclauses) < list_length(clauses);
}

/*
 * What the index can test is cheaper to test there than on each row: it costs
 * next to nothing, and tells the scan which rows do not count.
 */
static List *
without_less(List *paths, const IndexOptInfo *index, const List *clauses)
{
	List *kept = NIL;
	ListCell *lc;

	foreach (lc, paths)
		if (!tests_less(lfirst(lc), index, clauses))
			kept = lappend(kept, lfirst(lc));
	return kept;
}

static void
add_ordered(PlannerInfo *root, RelOptInfo *rel, IndexOptInfo *index,
			List *clauses, Expr *ordering)
{
	List *keys = list_make1(linitial(root->query_pathkeys));
	IndexPath *path = create_index_path(
		root, index, clauses, list_make1(ordering), list_make1_int(0), keys,
		ForwardScanDirection, false, rel->lateral_relids, 1.0, false);

	rel->pathlist = without_less(rel->pathlist, index, clauses);
	rel->partial_pathlist = without_less(rel->partial_pathlist, index, clauses);
	add_path(rel, &path->path);
	if (!index->amcanparallel || !rel->consider_parallel ||
		rel->lateral_relids != NULL)
		return;
	path = create_index_path(root, index, clauses, list_make1(ordering),
							 list_make1_int(0), keys, ForwardScanDirection,
							 false, NULL, 1.0, true);
	if (path->path.parallel_workers > 0)
		add_partial_path(rel, &path->path);
}

void
vx_order_paths(PlannerInfo *root, RelOptInfo *rel)
{
	ListCell *lc;

	foreach (lc, rel->indexlist)
	{
		IndexOptInfo *index = lfirst(lc);
		List *clauses;
		Expr *ordering;

		if (!vx_match_index(index))
			continue;
		clauses = vx_match_clauses(root, rel, index);
		ordering = vx_order_match(root, rel, index);
		if (ordering != NULL)
			add_ordered(root, rel, index, clauses, ordering);
		vx_range_paths(root, rel, index, clauses);
	}
}
