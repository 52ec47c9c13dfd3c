/*
 * partial.c
 *		What an ordered ann scan costs that workers share.
 *
 * Core asks for the cost of an index path before it says that the path is
 * partial, and divides only what it adds for heap rows among the workers.  Here
 * nearly all the work is before the first row and is shared, so the costs are
 * corrected before core makes the paths that gather the workers' rows.
 *
 * Core does not look at the ORDER BY either, which no access method of its own
 * evaluates in a worker: a row of an outer query is not known there.
 */
#include "postgres.h"

#include <math.h>

#include "optimizer/clauses.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "optimizer/pathnode.h"

#include "ann/ann.h"
#include "plan/cost.h"
#include "plan/pathlist.h"

/*
 * No row is merged before every worker has one, and a scan of 14 ms is over before
 * they come: beside what core charges for starting them, so many times of it again.
 */
#define START_FACTOR 8.0

/* The processes that share the work, as core counts the leader. */
static double
participants(int workers)
{
	double leader = parallel_leader_participation ? 1.0 - 0.3 * workers : 0;

	return workers + Max(leader, 0);
}

static bool
is_shared_scan(const Path *path)
{
	const IndexPath *index_path = (const IndexPath *) path;

	return IsA(path, IndexPath) && path->parallel_aware &&
		   path->parallel_workers > 0 && index_path->indexorderbys != NIL &&
		   index_path->indexinfo->amcostestimate == anncostestimate;
}

/* Takes off what the others do. */
static void
share_cost(PlannerInfo *root, IndexPath *path)
{
	double others = 1 - 1 / participants(path->path.parallel_workers);
	double fixed = vx_cost_unshared(path);
	Selectivity selectivity;
	double correlation;
	double pages;
	Cost startup;
	Cost total;

	anncostestimate(root, path, 1.0, &startup, &total, &selectivity,
					&correlation, &pages);
	if (isinf(total))
		return;
	path->path.startup_cost += START_FACTOR * parallel_setup_cost;
	path->path.total_cost += START_FACTOR * parallel_setup_cost;
	path->path.startup_cost -= (startup - fixed) * others;
	path->path.total_cost -= (total - fixed) * others;
}

void
vx_partial_paths(PlannerInfo *root, RelOptInfo *rel)
{
	List *shared = NIL;
	ListCell *lc;

	foreach (lc, rel->partial_pathlist)
		if (is_shared_scan(lfirst(lc)))
			shared = lappend(shared, lfirst(lc));
	/* The list is ordered by cost, so they find their new places in it. */
	foreach (lc, shared)
		rel->partial_pathlist =
			list_delete_ptr(rel->partial_pathlist, lfirst(lc));
	foreach (lc, shared)
	{
		IndexPath *path = lfirst(lc);

		if (!is_parallel_safe(root, (Node *) path->indexorderbys))
			continue;
		share_cost(root, path);
		add_partial_path(rel, &path->path);
	}
}
