/*
 * cost.c
 *		What an ann scan costs, for the planner.
 *
 * Most of the work is done before the first row: reading the directory and the
 * lists that the recall asked for needs.  Costs follow times measured with pages
 * in memory (docs/decisions/0012), where 1 is about 2 microseconds: core charges
 * a row that a bitmap fetches so much that this is what compares with it.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "optimizer/cost.h"
#include "optimizer/optimizer.h"
#include "utils/float.h"
#include "utils/lsyscache.h"
#include "utils/selfuncs.h"

#include "ann/ann.h"
#include "ann/gate.h"
#include "compat.h"
#include "plan/cost.h"
#include "vector_ext.h"

/* A lead, in seq_page_costs: found, locked, checked, its columns tested. */
#define LEAD_FACTOR 0.3

/* A code page that is read in order, besides its entries. */
#define CODE_PAGE_FACTOR 0.1

/*
 * An entry that is scored, by dimension, in cpu_operator_costs: by its signs
 * (layout P), and by a whole code of so many bits (W).
 */
#define SIGN_FACTOR (1.0 / 250)
#define WHOLE_FACTOR(bits) ((bits) / 500.0)

/* A list, in cpu_operator_costs: of the directory, and visited. */
#define LIST_FACTOR 10
#define VISIT_FACTOR 400

/* A row that is fetched with its vector, in seq_page_costs. */
#define FETCH_FACTOR 2.0

/* Rows that are fetched without a look at their codes, see score.c. */
#define EXACT_ROWS 100

/* A heap pointer that is put into a gate, or looked up, in cpu_operator_costs. */
#define GATE_PUT_FACTOR 10
#define GATE_FACTOR 2

/* Share of the rows that is scanned at recall 0.95 with 502 lists. */
#define SHARE_AT_95 0.10

/*
 * The share measured when the index was built, by recall and the rows wanted (0:
 * not known); 0 if it was not.
 */
static double
calibrated_share(const VxMeta *meta, double wanted)
{
	int k = 1; /* 10 rows */
	double share = 0;

	if (wanted > 0)
		k = wanted < 4 ? 0 : wanted < 32 ? 1 : 2;

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
visited_share(const VxMeta *meta, double wanted)
{
	double lists = meta->list_count;
	double share;

	if (lists <= 1)
		return 1;
	if (vx_probes > 0)
		return Min(1, vx_probes / lists);
	if (vx_recall >= 1)
		return 1;
	share = calibrated_share(meta, wanted);
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
	return 3 * random_page_cost +
		   meta->list_count * cpu_operator_cost * LIST_FACTOR;
}

/* Pages that hold the entries of rows: leads, and what each scan reads of codes. */
static void
count_pages(const VxMeta *meta, double rows, double *leads, double *codes)
{
	*leads = rows / meta->slots + Max(meta->list_count, 1) / 2.0;
	*codes = 0;
	if (meta->layout == VX_LAYOUT_PLANES)
		*codes = *leads * meta->sign_pages;
}

/*
 * Visiting a share of the lists, when a share of the rows passes: before the
 * first row goes out.
 */
static Cost
visit_cost(const VxMeta *meta, double rows, double share, double passing)
{
	double leads;
	double codes;
	double factor = meta->layout == VX_LAYOUT_PLANES ? SIGN_FACTOR
													 : WHOLE_FACTOR(meta->bits);
	double lists = Max(meta->list_count, 1) * share;
	/* Signs are read of 32 slots at a time, whole codes one by one. */
	double touched = meta->layout == VX_LAYOUT_PLANES
						 ? 1 - pow(1 - passing, VX_PLANE_SLOTS)
						 : passing;
	Cost cost;

	count_pages(meta, rows, &leads, &codes);
	/* So few are fetched from all lists. */
	if (rows * passing <= EXACT_ROWS)
		return (leads * LEAD_FACTOR + rows * passing * FETCH_FACTOR) *
			   seq_page_cost;
	cost = leads * share * LEAD_FACTOR * seq_page_cost;
	return cost + codes * share * touched * CODE_PAGE_FACTOR * seq_page_cost +
		   lists * Min(1, rows * passing / Max(lists, 1)) * VISIT_FACTOR *
			   cpu_operator_cost +
		   rows * share * touched * meta->dims * factor * cpu_operator_cost;
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
vx_cost_gate(const IndexPath *path, Selectivity passing, double wanted,
			 Cost *startup, Cost *total)
{
	const IndexOptInfo *info = path->indexinfo;
	Relation index = index_open(info->indexoid, NoLock);
	double rows = Max(info->tuples, 1);
	Selectivity of_index = path->indexselectivity;
	Selectivity both;
	double share;
	VxMeta meta;

	vx_meta_read(index, &meta);
	index_close(index, NoLock);
	/* A condition may be in both; no fewer rows pass than pass all of them. */
	both = Max(passing * of_index, info->rel->rows / rows);
	both = Min(both, Min(passing, of_index));
	*startup = unshared_cost(&meta) +
			   rows * passing * GATE_PUT_FACTOR * cpu_operator_cost;
	if (path->indexclauses == NIL && info->indpred == NIL &&
		rows * passing <= vx_gate_direct_rows(rows))
		*startup += rows * passing * FETCH_FACTOR * seq_page_cost;
	else
	{
		share = widened_share(visited_share(&meta, wanted), both);
		*startup += visit_cost(&meta, rows, share, both) +
					rows * share * of_index * GATE_FACTOR * cpu_operator_cost;
	}
	*total = *startup +
			 rows * both *
				 (random_page_cost + cpu_tuple_cost + cpu_index_tuple_cost +
				  cpu_operator_cost * log(rows + 1));
}

/*
 * The operators for an order that falls with the distance are not an order that
 * rises with it: core would take them for that if somebody wrote them down.
 */
static bool
rises_by_falling(const IndexPath *path)
{
	Oid left;
	Oid right;
	int strategy;

	if (path->indexorderbys == NIL || path->path.pathkeys == NIL ||
		vx_compat_descends(linitial(path->path.pathkeys)))
		return false;
	get_op_opfamily_properties(
		((const OpExpr *) linitial(path->indexorderbys))->opno,
		path->indexinfo->opfamily[0], true, &strategy, &left, &right);
	return strategy != VX_ANN_DISTANCE_STRATEGY;
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
	double leads;
	double codes;
	VxMeta meta;

	vx_meta_read(index, &meta);
	index_close(index, NoLock);

	share = path->indexorderbys != NIL
				? visited_share(&meta, root->limit_tuples)
				: 1;
	/* What is checked on the rows alone makes the scan go on as well. */
	share = widened_share(share, Min(passing, info->rel->rows / rows));
	count_pages(&meta, rows, &leads, &codes);
	if (path->indexorderbys == NIL)
		*startup_cost =
			unshared_cost(&meta) + leads * LEAD_FACTOR * seq_page_cost;
	else
		*startup_cost =
			unshared_cost(&meta) + visit_cost(&meta, rows, share, passing);
	/*
	 * The rest of the rows: the other lists, a sort of everything, and each row
	 * fetched with its vector, which is often out of line.
	 */
	*total_cost =
		*startup_cost + leads * (1 - share) * LEAD_FACTOR * seq_page_cost +
		rows * passing *
			(cpu_index_tuple_cost + cpu_operator_cost * log(rows + 1));
	if (path->indexorderbys != NIL)
		*total_cost += rows * passing * FETCH_FACTOR * seq_page_cost;
	*selectivity = passing;
	*correlation = 0;
	/* Of this only the number of workers depends. */
	*pages = Max(1, (leads + codes) * share);

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
		list_length(path->indexorderbys) > 1 || rises_by_falling(path))
	{
		*startup_cost = *total_cost = get_float8_infinity();
		vx_compat_forbid_path(&path->path);
	}
}
