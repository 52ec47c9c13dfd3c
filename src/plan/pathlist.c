/*
 * pathlist.c
 *		The hook that sees the paths of each relation before one is chosen.
 */
#include "postgres.h"

#include "optimizer/paths.h"

#include "ann/ann.h"
#include "plan/gate.h"
#include "plan/pathlist.h"
#include "plan/why.h"

static set_rel_pathlist_hook_type next_pathlist = NULL;

/* Has the relation an ann index at all? */
static bool
concerned(const RelOptInfo *rel)
{
	ListCell *lc;

	foreach (lc, rel->indexlist)
		if (((const IndexOptInfo *) lfirst(lc))->amcostestimate ==
			anncostestimate)
			return true;
	return false;
}

static void
see_paths(PlannerInfo *root, RelOptInfo *rel, Index rti, RangeTblEntry *rte)
{
	if (next_pathlist)
		next_pathlist(root, rel, rti, rte);
	/* No index returns a sample, or what is known to have no rows. */
	if (concerned(rel) && !IS_DUMMY_REL(rel) && rte->tablesample == NULL)
	{
		vx_order_paths(root, rel);
		vx_gate_paths(root, rel);
		vx_partial_paths(root, rel);
	}
	vx_why_look(root, rel, rte);
}

void
vx_pathlist_hook_install(void)
{
	next_pathlist = set_rel_pathlist_hook;
	set_rel_pathlist_hook = see_paths;
}
