/*
 * cost.c
 *		What an ordered ann scan costs, for the planner.
 *
 * Most of the work is done before the first row: reading the directory and the
 * lists that the recall asked for needs.  Codes are a fraction of the rows'
 * bytes, and core's sequential scan does not pay for detoasting wide vectors, so
 * pages here are charged below seq_page_cost.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/selfuncs.h"

#include "ann/ann.h"
#include "compat.h"
#include "plan/cost.h"
#include "vector_ext.h"

/* A page of codes, in seq_page_costs: it is read in order and not unpacked. */
#define PAGE_FACTOR 0.1

/*
 * Of an index in layout P a scan reads the leads and the sign pages: a quarter of
 * the pages, and a few of the rest.
 */
#define PLANES_FACTOR 0.3

/* An entry, in cpu_operator_costs. */
#define ENTRY_FACTOR 0.1

/* Share of the rows that is scanned at recall 0.95 with 502 lists. */
#define SHARE_AT_95 0.10

/* The share measured when the index was built, by recall; 0 if it was not. */
static double
calibrated_share(const VxMeta *meta)
{
	const int k = 1; /* 10 rows */
	double share = 0;

	for (int t = 0; t < VX_CALIBRATION_TARGETS; t++)
	{
		share = meta->table[t][k].share;
		if (vx_calibration_target(t) >= vx_recall)
			break;
	}
	return share;
}

/* Share of the entries that the probing rule will visit. */
static double
visited_share(const VxMeta *meta)
{
	double lists = meta->list_count;
	double share;

	if (lists <= 1)
		return 1;
	if (vx_probes > 0)
		return Min(1, vx_probes / lists);
	if (vx_recall >= 1)
		return 1;
	share = calibrated_share(meta);
	if (share > 0)
		return Min(1, share);
	/* Work grows about with the inverse square root of what may be missed. */
	share = SHARE_AT_95 * sqrt(0.05 / (1 - vx_recall)) * sqrt(502 / lists);
	return Min(1, share);
}

/* Reading META and the directory. */
static Cost
unshared_cost(const VxMeta *meta)
{
	return 3 * random_page_cost * PAGE_FACTOR +
		   meta->list_count * cpu_operator_cost * ENTRY_FACTOR;
}

Cost
vx_cost_unshared(const IndexPath *path)
{
	Relation index = index_open(path->indexinfo->indexoid, NoLock);
	VxMeta meta;

	vx_meta_read(index, &meta);
	index_close(index, NoLock);
	return unshared_cost(&meta);
}

/*
 * Under a filter the k nearest of the rows that pass are farther away, and more
 * lists are visited: by quantiser-study Q7 about s^-0.3 times as many, where the
 * filter has nothing to do with the query.
 */
static double
widened_share(double share, double selectivity)
{
	return Min(1, share * pow(Max(selectivity, 1e-9), -0.3));
}

/* Of the conditions on the index's columns, and of its predicate. */
static Selectivity
filter_selectivity(PlannerInfo *root, IndexPath *path)
{
	List *quals = get_quals_from_indexclauses(path->indexclauses);

	if (quals == NIL)
		return 1;
	quals = add_predicate_to_index_quals(path->indexinfo, quals);
	return clauselist_selectivity(root, quals, path->indexinfo->rel->relid,
								  JOIN_INNER, NULL);
}

void
anncostestimate(PlannerInfo *root, IndexPath *path, double loop_count,
				Cost *startup_cost, Cost *total_cost, Selectivity *selectivity,
				double *correlation, double *pages)
{
	IndexOptInfo *info = path->indexinfo;
	Relation index = index_open(info->indexoid, NoLock);
	double rows = Max(info->tuples, 1);
	Selectivity passing = filter_selectivity(root, path);
	double share;
	double first_pages;
	double lead_share;
	VxMeta meta;

	vx_meta_read(index, &meta);
	index_close(index, NoLock);

	lead_share = meta.layout == VX_LAYOUT_PLANES ? PLANES_FACTOR : 1;
	share = path->indexorderbys != NIL ? visited_share(&meta) : 1;
	if (path->indexclauses != NIL)
		share = widened_share(share, passing);
	first_pages = Max(1, info->pages * share * lead_share);
	*startup_cost = unshared_cost(&meta) +
					first_pages * seq_page_cost * PAGE_FACTOR +
					rows * share * cpu_operator_cost * ENTRY_FACTOR;
	/* The rest of the rows: the other lists, and a sort of everything. */
	*total_cost =
		*startup_cost +
		Max(0, info->pages * lead_share - first_pages) * seq_page_cost *
			PAGE_FACTOR +
		rows * passing *
			(cpu_index_tuple_cost + cpu_operator_cost * log(rows + 1));
	*selectivity = passing;
	*correlation = 0;
	/* Of this only the number of workers depends. */
	*pages = first_pages;

	/*
	 * Without an order it is of use only for what a filter or a partial index
	 * leaves out.  It returns no column, but core takes it for an index-only scan
	 * where a query needs none.
	 */
	if (path->indexorderbys == NIL)
		*startup_cost = *total_cost;
	/* And core offers a second distance as the order of ties, which it is not. */
	if ((path->indexorderbys == NIL &&
		 ((info->indpred == NIL && path->indexclauses == NIL) ||
		  path->path.pathtype == T_IndexOnlyScan)) ||
		list_length(path->indexorderbys) > 1)
	{
		*startup_cost = *total_cost = get_float8_infinity();
		vx_compat_forbid_path(&path->path);
	}
}
