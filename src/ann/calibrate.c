/*
 * calibrate.c
 *		What the probing rule needs for a recall, measured on the index itself.
 *
 * Once the index is written each query of the calibrator (calibrator.c) visits its
 * lists as a scan would, and for every parameter of a grid it is noted when the
 * rule would have stopped, and how many of the true rows had been visited by then
 * (docs/quantiser.md, "Calibration").  Processes share the queries.
 */
#include "postgres.h"

#include <math.h>

#include "access/parallel.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/calibrate.h"
#include "ann/scan.h"

/* Points of the grid of parameters, at equal ratios. */
#define GRID 120

/*
 * What is added to a target: for what a scan loses beyond the lists it did not
 * visit (bounds that miss at eps 1.9), and the part of the misses by which
 * queries unlike the rows fall behind when few lists are visited.
 */
#define MARGIN 0.001
#define MARGIN_SHARE 0.05

/*
 * The share for inner product does not follow the query as the density does, so
 * queries unlike the rows need more: 0.08 of the rows become 0.13.
 */
#define IP_SAFETY 0.8

/* A query stops at once when all is found and it has read this part of the rows. */
#define READ_SHARE 16

/*
 * How much farther the centroid of a list is than the nearest of its rows
 * (vx_probe_spread): what lambda follows.  Of so many queries, and of
 * their lists but the nearest ones, in steps of equal ratios.
 */
#define SPREAD_QUERIES 100
#define SPREAD_LISTS_SKIPPED 3
#define SPREAD_LISTS_VISITED 12 /* at least */
#define SPREAD_STEPS 160
#define SPREAD_FIRST 0.8
#define SPREAD_LAST 16.0
#define SPREAD_LISTS_MIN 50

/*
 * The part of the lists that lambda takes in, by recall.  Measured on questions
 * unlike the rows, under conditions that leave out the rows about the query.
 */
static const double spread_parts[VX_CALIBRATION_TARGETS] = {0.45, 0.70, 0.87,
															0.95, 0.98, 0.995};

/* What queries gave at each point of the grid, by k; and the spread. */
typedef struct Yield
{
	double recall[VX_CALIBRATION_KS][GRID];
	double share[VX_CALIBRATION_KS][GRID];
	uint32 spread[SPREAD_STEPS];
} Yield;

/* What all of them together gave. */
typedef struct Grid
{
	double parameter[GRID];
	Yield sum;
} Grid;

struct VxCalibrateRun
{
	pg_atomic_uint32 next; /* query that nobody has taken */
	Yield yields[FLEXIBLE_ARRAY_MEMBER];
};

/* One query on its way through the lists. */
typedef struct Walk
{
	VxScan *scan;
	VxTerms terms;
	VxSmallest tops[VX_CALIBRATION_KS]; /* one more: of the row itself */
	const VxNear *truth;
	int truth_count;
	int found[VX_CALIBRATION_KS];	/* true rows in the lists visited */
	int settled[VX_CALIBRATION_KS]; /* points of the grid passed */
	bool spreading;					/* the list's nearest row is wanted */
	double nearest;					/* its key, so far */
} Walk;

/* --- a query ----------------------------------------------------------------------- */

/* What a scan has, without an executor behind it. */
static VxScan *
make_scan(Relation index)
{
	VxScan *scan = palloc0(sizeof(VxScan));

	scan->context = CurrentMemoryContext;
	scan->run_context = AllocSetContextCreate(
		CurrentMemoryContext, "ann calibration run", ALLOCSET_DEFAULT_SIZES);
	vx_scan_init(scan, index);
	scan->measured = true;
	scan->eps = VX_EPS_DEFAULT;
	return scan;
}

static void
start_query(VxScan *scan, const float *q)
{
	int dims = scan->ann.dims;

	MemoryContextReset(scan->run_context);
	scan->lists = NULL;
	scan->visits = NULL;
	scan->list_count = scan->next_list = 0;
	scan->rows_scanned = 0;
	scan->rows_expected = 0;
	scan->query_ready = false;
	memcpy(scan->query_x, q, sizeof(float) * dims);
	scan->query_norm = sqrt(vx_kernels->inner_product(q, q, dims));
	vx_probe_order(scan);
}

static bool
always(VxScan *scan, void *arg)
{
	return true;
}

/* An upper bound goes into all tops. */
static void
add_to_tops(Walk *walk, double high)
{
	for (int k = 0; k < VX_CALIBRATION_KS; k++)
		vx_smallest_add(&walk->tops[k], high);
}

/* What is above it concerns none of them. */
static double
all_tops(const Walk *walk)
{
	return vx_smallest_top(&walk->tops[VX_CALIBRATION_KS - 1]);
}

/* Upper bounds of a page's entries go into all tops. */
static void
tops_visit(VxScan *scan, void *arg, Page page, Page ahead)
{
	Walk *walk = arg;
	const uint64 *live = vx_plane(page, scan->ann.lead.live, uint64);
	int rows = vx_score_page(scan, &walk->terms.whole, page, ahead);
	double top = all_tops(walk);

	for (int i = 0; i < rows; i++)
	{
		double high = 2.0 * scan->est[i] - scan->low[i];

		if (walk->spreading && vx_bit(live, i))
			walk->nearest = Min(walk->nearest, scan->est[i]);
		if (high >= top || !vx_bit(live, i))
			continue;
		add_to_tops(walk, high);
		top = all_tops(walk);
	}
	scan->rows_scanned += vx_page_lead(page)->live;
}

/* What the nearest row of the lead is not above, by the signs. */
static double
nearest_by_signs(const VxScan *scan)
{
	const VxGroup *group = scan->group;
	double most = get_float8_infinity();

	for (int i = vx_bit_next(group->pass, group->rows, 0); i < group->rows;
		 i = vx_bit_next(group->pass, group->rows, i + 1))
		most = Min(most, 2.0 * scan->est[i] - scan->low[i]);
	return most;
}

/* The same for a lead whose codes are in two planes. */
static bool
tops_follow(VxScan *scan, void *arg, BlockNumber block)
{
	Walk *walk = arg;
	VxGroup *group = scan->group;
	double floor = -get_float8_infinity();

	if (!vx_group_first(scan, &walk->terms, block))
		return false;
	if (walk->spreading)
		floor = Min(nearest_by_signs(scan), walk->nearest);
	vx_group_keep(scan, Max(floor, all_tops(walk)));
	do
	{
		if (!vx_group_next(scan, &walk->terms, Max(floor, all_tops(walk))))
			return false;
		for (int i = 0; i < group->count; i++)
		{
			add_to_tops(walk, 2.0 * group->est[i] - group->low[i]);
			walk->nearest = Min(walk->nearest, group->est[i]);
		}
	} while (group->count > 0);
	scan->rows_scanned += vx_page_lead(group->lead)->live;
	return true;
}

/* Notes what the rule's points that stop before the next list would give. */
static void
settle(Walk *walk, const double *parameter, Yield *yield)
{
	const VxScan *scan = walk->scan;

	for (int k = 0; k < VX_CALIBRATION_KS; k++)
	{
		int wanted = vx_calibration_k(k);
		bool end = scan->next_list >= scan->list_count;
		double pressure =
			end ? 0
				: vx_probe_pressure(scan, vx_smallest_top(&walk->tops[k]),
									wanted);
		double most = Max(1, Min(wanted, walk->truth_count));

		for (; walk->settled[k] < GRID &&
			   (end || pressure > parameter[walk->settled[k]]);
			 walk->settled[k]++)
		{
			yield->recall[k][walk->settled[k]] = walk->found[k] / most;
			yield->share[k][walk->settled[k]] =
				scan->rows_scanned / Max(scan->rows_total, 1);
		}
	}
}

/* Counts the list that was visited last. */
static void
note_spread(const Walk *walk, const VxDirList *list, Yield *yield)
{
	double spread = vx_probe_spread(walk->scan, list, walk->nearest);
	double at = log(Max(spread, SPREAD_FIRST) / SPREAD_FIRST) /
				log(SPREAD_LAST / SPREAD_FIRST);

	if (isinf(walk->nearest))
		return;
	yield->spread[(int) (Min(Max(at, 0), 1) * (SPREAD_STEPS - 1))]++;
}

static void
visit_list(Walk *walk)
{
	VxScan *scan = walk->scan;
	const VxDirList *list = &scan->lists[scan->next_list++];
	VxVisitor visitor = {always, tops_visit, NULL, walk};
	uint64 stamp;

	if (scan->group != NULL)
	{
		visitor.visit = vx_group_copy;
		visitor.follow = tops_follow;
	}
	if (!vx_walk_start(scan, list, &walk->terms) ||
		!vx_walk_list(scan, list->list_id, list->head, &scan->ann.lead,
					  &visitor, &stamp))
		vx_corrupt(scan->ann.index, list->head,
				   "list %u is not where the directory says", list->list_id);
	scan->rows_expected += list->rows;
	for (int i = 0; i < walk->truth_count; i++)
	{
		if (walk->truth[i].list + VX_LIST_FIRST != list->list_id)
			continue;
		for (int k = 0; k < VX_CALIBRATION_KS; k++)
			walk->found[k] += i < vx_calibration_k(k);
	}
}

/* Nothing further will be found, and enough was read to know the shares. */
static bool
finished(const Walk *walk, bool spread)
{
	const VxScan *scan = walk->scan;

	if (spread && scan->next_list < SPREAD_LISTS_VISITED)
		return false;
	return walk->found[VX_CALIBRATION_KS - 1] == walk->truth_count &&
		   scan->rows_scanned * READ_SHARE > scan->rows_total;
}

static void
run_query(Walk *walk, const double *parameter, bool spread, Yield *yield)
{
	VxScan *scan = walk->scan;

	for (int k = 0; k < VX_CALIBRATION_KS; k++)
	{
		walk->tops[k].count = 0;
		walk->found[k] = walk->settled[k] = 0;
	}
	while (scan->next_list < scan->list_count && !finished(walk, spread))
	{
		CHECK_FOR_INTERRUPTS();
		walk->spreading =
			spread &&
			scan->next_list >= Min(SPREAD_LISTS_SKIPPED, scan->list_count / 4);
		walk->nearest = get_float8_infinity();
		visit_list(walk);
		if (walk->spreading)
			note_spread(walk, &scan->lists[scan->next_list - 1], yield);
		settle(walk, parameter, yield);
	}
	scan->next_list = scan->list_count;
	settle(walk, parameter, yield);
}

static void
init_grid(Grid *grid, VxMetric metric)
{
	double first = 1e-3;
	double last = metric == VX_METRIC_IP ? 1.0 : 1e3;

	memset(grid, 0, sizeof(Grid));
	for (int g = 0; g < GRID; g++)
		grid->parameter[g] = first * pow(last / first, g / (GRID - 1.0));
}

/* Lambda: what a part of the lists does not exceed; of squares, the root. */
static float
spread_lambda(const Grid *grid, int t, VxMetric metric)
{
	double total = 0;
	double seen = 0;
	double spread;
	int step = 0;

	for (int i = 0; i < SPREAD_STEPS; i++)
		total += grid->sum.spread[i];
	if (total < SPREAD_LISTS_MIN)
		return vx_calibration_lambda(metric, t);
	while (step < SPREAD_STEPS - 1 &&
		   (seen += grid->sum.spread[step]) < spread_parts[t] * total)
		step++;
	spread = SPREAD_FIRST *
			 pow(SPREAD_LAST / SPREAD_FIRST, step / (SPREAD_STEPS - 1.0));
	return metric == VX_METRIC_IP ? spread : Max(1.0, sqrt(spread));
}

/* Where the mean recall crosses the target, between two points of the grid. */
static VxCalibration
cross(const Grid *grid, int k, int t, int queries, VxMetric metric)
{
	double target = vx_calibration_target(t);
	const double *recall = grid->sum.recall[k];
	const double *shares = grid->sum.share[k];
	double margin = Max(MARGIN, MARGIN_SHARE * (1 - target));
	double wanted = Min(target + margin, (1 + target) / 2) * queries;
	double at = 0;
	double parameter;
	double share;
	int g = 0;

	while (g < GRID - 1 && recall[g] < wanted)
		g++;
	if (g > 0 && recall[g] > recall[g - 1])
		at = Min(1, Max(0, (recall[g] - wanted) / (recall[g] - recall[g - 1])));
	parameter = grid->parameter[g] *
				pow(grid->parameter[Max(g - 1, 0)] / grid->parameter[g], at);
	share = (1 - at) * shares[g] + at * shares[Max(g - 1, 0)];
	if (metric == VX_METRIC_IP)
		return (VxCalibration){.lambda = spread_lambda(grid, t, metric),
							   .share = pow(parameter, IP_SAFETY)};
	return (VxCalibration){.kappa = parameter,
						   .lambda = spread_lambda(grid, t, metric),
						   .share = share / queries};
}

static void
fill_table(VxMeta *meta, const Grid *grid, int queries)
{
	for (int t = 0; t < VX_CALIBRATION_TARGETS; t++)
		for (int k = 0; k < VX_CALIBRATION_KS; k++)
			meta->table[t][k] = cross(grid, k, t, queries, meta->metric);
}

/* One record: META with the table. */
static void
store_table(Relation index, const VxMeta *from)
{
	Buffer buffer;
	VxRecord *record;
	VxMeta *meta;

	(void) vx_page_lock_kind(index, VX_META_BLOCK, VX_EXCLUSIVE, VX_PAGE_META,
							 &buffer);
	record = vx_record_begin(index);
	meta = vx_page_meta(vx_record_page(record, buffer, false));
	memcpy(meta->table, from->table, sizeof(meta->table));
	meta->config_seq++;
	vx_record_finish(record);
	vx_page_unlock(buffer);
}

/*
 * The true rows of a query: its nearest is the row it was taken from, or a
 * duplicate of it.
 */
static void
take_truth(Walk *walk, VxTruth *truth, int query)
{
	walk->truth = vx_truth_sorted(truth, query, &walk->truth_count);
	if (walk->truth_count > 0)
	{
		walk->truth++;
		walk->truth_count--;
	}
}

/* --- all queries ------------------------------------------------------------------- */

Size
vx_calibrate_run_bytes(const VxBuild *build)
{
	return MAXALIGN(offsetof(struct VxCalibrateRun, yields) +
					sizeof(Yield) * (Size) vx_calibrate_queries(build));
}

void
vx_calibrate_run_init(VxCalibrateRun *run)
{
	pg_atomic_init_u32(&run->next, 0);
}

void
vx_calibrate_run(VxBuild *build, VxCalibrateRun *run)
{
	VxCalibrator *calibrator = build->calibrator;
	VxTruth *truth = &calibrator->truth;
	MemoryContext caller = MemoryContextSwitchTo(calibrator->context);
	Grid *grid = palloc(sizeof(Grid));
	Walk walk = {.scan = make_scan(build->index)};
	uint32 j;

	init_grid(grid, truth->metric);
	for (int k = 0; k < VX_CALIBRATION_KS; k++)
		vx_smallest_init(&walk.tops[k], vx_calibration_k(k) + 1);
	while ((j = pg_atomic_fetch_add_u32(&run->next, 1)) <
		   (uint32) truth->queries)
	{
		CHECK_FOR_INTERRUPTS();
		take_truth(&walk, truth, j);
		start_query(walk.scan, calibrator->q + (Size) j * truth->dims);
		run_query(&walk, grid->parameter, j < SPREAD_QUERIES, &run->yields[j]);
		/* Workers leave the report to their leader. */
		if (!IsParallelWorker())
			pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, j + 1);
	}
	MemoryContextSwitchTo(caller);
}

/* In the order of the queries, so that the sums do not depend on who ran them. */
static void
add_yields(Grid *grid, const VxCalibrateRun *run, int queries)
{
	for (int j = 0; j < queries; j++)
		for (int k = 0; k < VX_CALIBRATION_KS; k++)
			for (int g = 0; g < GRID; g++)
			{
				grid->sum.recall[k][g] += run->yields[j].recall[k][g];
				grid->sum.share[k][g] += run->yields[j].share[k][g];
			}
	for (int j = 0; j < queries; j++)
		for (int i = 0; i < SPREAD_STEPS; i++)
			grid->sum.spread[i] += run->yields[j].spread[i];
}

void
vx_calibrate_store(VxBuild *build, const VxCalibrateRun *run)
{
	int queries = vx_calibrate_queries(build);
	Grid *grid = palloc(sizeof(Grid));

	init_grid(grid, build->calibrator->truth.metric);
	add_yields(grid, run, queries);
	fill_table(&build->ann.meta, grid, queries);
	store_table(build->index, &build->ann.meta);
	pfree(grid);
	MemoryContextDelete(build->calibrator->context);
	build->calibrator = NULL;
}
