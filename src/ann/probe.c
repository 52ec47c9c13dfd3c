/*
 * probe.c
 *		Which list is visited next, and when enough lists were visited.
 *
 * The rule is an entry budget from the density of centroids around the query,
 * corrected by the distance of the k-th nearest row found so far
 * (docs/quantiser.md, "Probing").  For inner product it is a share of all rows.
 */
#include "postgres.h"

#include <math.h>

#include "ann/scan.h"
#include "vector_ext.h"

/* Lists whose squared distance is below this many times the nearest's count. */
#define DENSITY_RADIUS2 1.44

/* Standard deviations of a row's inner product that a list is credited with. */
#define IP_SPREAD 3.0

/* So few rows are scanned in any case: choosing among them costs as much. */
#define SCANNED_MIN 1000

static const double targets[VX_CALIBRATION_TARGETS] = {0.80, 0.90, 0.95,
													   0.98, 0.99, 0.999};
static const double ks[VX_CALIBRATION_KS] = {1, 10, VX_CALIBRATION_K_MAX};

/* --- order ------------------------------------------------------------------ */

/* One standard deviation of the inner products of a list's rows with the query. */
static double
ip_deviation(const VxScan *scan, const VxDirList *list)
{
	return scan->query_norm * sqrt(Max(list->r2, 0) / scan->ann.dims);
}

/* From the estimate of |q-c|^2 or -<q,c> to what lists are ordered by. */
static float
order_key(const VxScan *scan, const VxDirList *list)
{
	double est = list->key;

	if (list->flags & VX_DIR_ROOT)
		return -get_float4_infinity();
	switch (scan->ann.type->metric)
	{
		case VX_METRIC_L2:
			return Max(est, 0);
		case VX_METRIC_IP:
			return est - IP_SPREAD * ip_deviation(scan, list);
		case VX_METRIC_COSINE:
			/* Distance to the centroid's direction: 14 % less work than L2. */
			return Max(0, 2.0 - (1.0 + list->norm2 - est) *
									(double) list->inv_norm);
	}
	pg_unreachable();
}

/* A list's place in the order, small so that sorting moves little. */
typedef struct OrderItem
{
	uint32 key;
	uint32 at; /* in the directory's order, which is that of ids at a tie */
} OrderItem;

/* Bits of a float as an integer of the same order. */
static uint32
sortable(float key)
{
	uint32 bits;

	memcpy(&bits, &key, sizeof(bits));
	return bits ^ ((bits >> 31) != 0 ? PG_UINT32_MAX : UINT32_C(0x80000000));
}

/* One pass of the sort: items to sorted, by the byte at shift, stably. */
static void
sort_by_byte(const OrderItem *items, int count, int shift, uint32 *starts,
			 OrderItem *sorted)
{
	for (int i = 0; i < count; i++)
		sorted[starts[(items[i].key >> shift) & 0xFF]++] = items[i];
}

/*
 * Sorts by key, least byte first: a fixed number of steps a list and no branch
 * to guess, where comparing would take most of the time of choosing lists.
 * items has room for twice count; returns the half that holds the result.
 */
static OrderItem *
sort_order(OrderItem *items, int count)
{
	uint32 starts[4][256] = {{0}};
	OrderItem *other = items + count;

	for (int i = 0; i < count; i++)
	{
		uint32 key = items[i].key;

		starts[0][key & 0xFF]++;
		starts[1][(key >> 8) & 0xFF]++;
		starts[2][(key >> 16) & 0xFF]++;
		starts[3][key >> 24]++;
	}
	for (int byte = 0; byte < 4; byte++)
	{
		OrderItem *swap = items;
		uint32 start = 0;

		for (int v = 0; v < 256; v++)
		{
			uint32 here = starts[byte][v];

			starts[byte][v] = start;
			start += here;
		}
		sort_by_byte(items, count, 8 * byte, starts[byte], other);
		items = other;
		other = swap;
	}
	return items;
}

/* The lists in the order of their keys, in a new array. */
static VxDirList *
sort_lists(const VxDirList *lists, int count)
{
	OrderItem *items = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(OrderItem) * 2 * (Size) Max(count, 1));
	VxDirList *sorted = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(VxDirList) * (Size) Max(count, 1));
	OrderItem *order;

	for (int i = 0; i < count; i++)
		items[i] = (OrderItem){sortable(lists[i].key), i};
	order = sort_order(items, count);
	for (int i = 0; i < count; i++)
		sorted[i] = lists[order[i].at];
	pfree(items);
	return sorted;
}

/* The rows of the lists about as near as the nearest one. */
static void
measure_density(VxScan *scan)
{
	double nearest = get_float8_infinity();
	float radius;
	uint64 total = 0;
	uint64 dense = 0;
	int i = 0;

	/* The root's key is -infinity, so it comes first. */
	while (i < scan->list_count && (scan->lists[i].flags & VX_DIR_ROOT))
		i++;
	if (i < scan->list_count)
		nearest = scan->lists[i].key;
	radius = DENSITY_RADIUS2 * Max(nearest, scan->ann.meta.r2 / 2);
	for (i = 0; i < scan->list_count; i++)
	{
		total += scan->lists[i].rows;
		dense += scan->lists[i].key <= radius ? scan->lists[i].rows : 0;
	}
	scan->rows_total = total;
	scan->rows_dense = dense;
}

/* Finds the visit of a list in an older directory. */
static VxVisit
visit_of(uint32 list_id, const VxDirList *lists, const VxVisit *visits,
		 int count)
{
	VxVisit none = {false, 0};

	for (int i = 0; i < count; i++)
		if (lists[i].list_id == list_id)
			return visits[i];
	return none;
}

void
vx_probe_prepare(VxScan *scan)
{
	const VxAnnIndex *ann = &scan->ann;
	float *scratch;
	int dims = ann->dims;

	if (!scan->measured || !ann->born || scan->query_ready)
		return;
	scratch = palloc(sizeof(float) * dims);
	vx_query_init(&scan->query, &ann->quantizer, scan->query_x, ann->centre,
				  palloc(VX_QUERY8_BYTES(dims)), scratch);
	if (scan->group != NULL)
		vx_plane_query_init(&scan->group->query, &scan->query, dims,
							scan->group->tables);
	scan->query_ready = true;
	pfree(scratch);
}

void
vx_probe_order(VxScan *scan)
{
	VxDirList *old_lists = scan->lists;
	VxVisit *old_visits = scan->visits;
	int old_count = scan->next_list;
	int walked = 0;
	MemoryContext caller = MemoryContextSwitchTo(scan->run_context);

	vx_probe_prepare(scan);
	scan->list_count = vx_dir_read(
		&scan->ann, scan->query_ready ? &scan->query : NULL, &scan->lists);
	for (int i = 0; i < scan->list_count; i++)
		scan->lists[i].key = order_key(scan, &scan->lists[i]);
	scan->lists = sort_lists(scan->lists, scan->list_count);
	measure_density(scan);

	scan->visits =
		palloc_extended(sizeof(VxVisit) * (Size) Max(scan->list_count, 1),
						MCXT_ALLOC_HUGE | MCXT_ALLOC_ZERO);
	/* What was walked stays in front, so next_list goes on meaning its count. */
	for (int i = 0; i < scan->list_count && old_count > 0; i++)
	{
		VxVisit visit =
			visit_of(scan->lists[i].list_id, old_lists, old_visits, old_count);
		VxDirList list = scan->lists[i];

		if (!visit.walked)
			continue;
		memmove(&scan->lists[walked + 1], &scan->lists[walked],
				sizeof(VxDirList) * (i - walked));
		scan->lists[walked] = list;
		scan->visits[walked++] = visit;
	}
	scan->next_list = walked;
	MemoryContextSwitchTo(caller);
}

/* --- the rule ------------------------------------------------------------------ */

static double
logit(double p)
{
	return log(p / (1 - p));
}

/* Position of x between points, by the line through the two nearest. */
static double
position(double x, const double *points, int count, double (*scale)(double),
		 int *low)
{
	int i = 0;

	while (i < count - 2 && x > points[i + 1])
		i++;
	*low = i;
	return (scale(x) - scale(points[i])) /
		   (scale(points[i + 1]) - scale(points[i]));
}

/* The table's number for the scan's metric. */
static double
table_value(const VxScan *scan, int target, int k)
{
	const VxCalibration *entry = &scan->ann.meta.table[target][k];

	return scan->ann.type->metric == VX_METRIC_IP ? entry->share : entry->kappa;
}

/* Its logarithm is interpolated in logit(recall) and ln k. */
double
vx_probe_parameter(const VxScan *scan)
{
	double k = Min(Max(scan->wanted, ks[0]), ks[VX_CALIBRATION_KS - 1]);
	int t;
	int i;
	double at_t = position(Min(scan->recall, 0.9999), targets,
						   VX_CALIBRATION_TARGETS, logit, &t);
	double at_k = position(k, ks, VX_CALIBRATION_KS, log, &i);
	double low = (1 - at_k) * log(table_value(scan, t, i)) +
				 at_k * log(table_value(scan, t, i + 1));
	double high = (1 - at_k) * log(table_value(scan, t + 1, i)) +
				  at_k * log(table_value(scan, t + 1, i + 1));

	return exp((1 - at_t) * low + at_t * high);
}

/*
 * How many times as many rows there are as the directory says, which is as of
 * the last VACUUM: seen on the lists walked so far.
 */
static double
growth(const VxScan *scan)
{
	return Max(1, scan->rows_scanned / Max(scan->rows_expected, 1));
}

/*
 * The rule's table is for about 2 sqrt(rows) lists.  Fewer and coarser lists
 * need more rows for the same recall: 8.4 instead of 6.0 % with half as many.
 */
static double
coarse_lists(const VxScan *scan)
{
	double usual = 2 * sqrt(Max(scan->rows_total, 1) * growth(scan));

	return sqrt(Max(1, usual / Max(scan->list_count, 1)));
}

double
vx_probe_lambda(const VxScan *scan)
{
	int t;
	double at = position(Min(scan->recall, 0.9999), targets,
						 VX_CALIBRATION_TARGETS, logit, &t);
	const VxCalibration *low = &scan->ann.meta.table[t][0];
	const VxCalibration *high = &scan->ann.meta.table[t + 1][0];

	double lambda = (1 - at) * low->lambda + at * high->lambda;

	/* The defaults are for lists of the usual size. */
	if (low->share == 0)
		lambda *= sqrt(coarse_lists(scan));
	return lambda;
}

double
vx_probe_pressure(const VxScan *scan, double top, int64 wanted)
{
	double scanned = scan->rows_scanned;
	double scale = coarse_lists(scan) * growth(scan);
	double ratio;

	if (scanned < wanted)
		return 0;
	if (scan->ann.type->metric == VX_METRIC_IP)
		return scanned / (scale * scan->rows_total);
	/* While fewer than the wanted were found, top is infinite: go on. */
	if (isinf(top))
		return 0;
	ratio = scan->lists[scan->next_list].key / Max(top, 1e-30);
	return scanned * ratio * ratio /
		   (scale * sqrt(scan->rows_total * scan->rows_dense));
}

/*
 * How many entries count as scanned under a filter.  Where the rows that pass
 * get denser the farther from the query, the nearer lists held fewer of them
 * than the budget takes for granted, and count for less.
 */
static double
narrow_scanned(const VxScan *scan)
{
	double scanned = scan->rows_scanned;
	double recent = scan->recent_passed / Max(scan->recent_scanned, 1);
	double even = scanned;

	if (recent > 0)
		even = Min(scanned, scan->rows_passed / recent);
	return even * even / Max(scanned, 1);
}

/*
 * The same for inner product: a share of the rows, and more of them where few
 * pass; and the best that the next list may hold, by lambda deviations of its
 * rows, must be worse than the k-th nearest of the rows that pass.
 */
static bool
stop_narrow_ip(const VxScan *scan, double top)
{
	const VxDirList *next = &scan->lists[scan->next_list];
	double best =
		next->key + (IP_SPREAD - scan->lambda) * ip_deviation(scan, next);
	double passing =
		(double) Max(scan->rows_passed, 1) / Max(scan->rows_scanned, 1);

	return best > top && narrow_scanned(scan) * pow(passing, 0.3) >
							 scan->parameter * coarse_lists(scan) *
								 growth(scan) * scan->rows_total;
}

/*
 * The rule under a filter: the budget, with the k-th nearest of the rows that
 * pass; and the next centroid must be farther away than that one, since a
 * filter may leave out just the rows about the query.
 */
static bool
stop_narrow(const VxScan *scan)
{
	double top = vx_smallest_top(&scan->top);
	double next = scan->lists[scan->next_list].key;
	double ratio;

	if (scan->exact || isinf(top))
		return false;
	if (scan->ann.type->metric == VX_METRIC_IP)
		return stop_narrow_ip(scan, top);
	ratio = next / Max(top, 1e-30);
	if (ratio <= scan->lambda * scan->lambda)
		return false;
	return narrow_scanned(scan) * ratio * ratio >
		   scan->parameter * coarse_lists(scan) * growth(scan) *
			   sqrt(scan->rows_total * scan->rows_dense);
}

bool
vx_probe_stop(const VxScan *scan)
{
	double scanned = scan->rows_scanned;

	if (scan->next_list >= scan->list_count)
		return true;
	if ((scan->lists[scan->next_list].flags & VX_DIR_ROOT) ||
		(scanned < scan->wanted && !scan->ranged))
		return false;
	if (scan->probes > 0)
		return scan->next_list >= (int64) scan->probes * scan->rounds;
	if (scan->recall >= 1 || scanned < SCANNED_MIN)
		return false;
	if (scan->narrow || scan->ranged)
		return stop_narrow(scan);
	return vx_probe_pressure(scan, vx_smallest_top(&scan->top), scan->wanted) >
		   scan->parameter;
}

double
vx_calibration_target(int t)
{
	return targets[t];
}

float
vx_calibration_lambda(VxMetric metric, int t)
{
	/*
	 * Measured on questions unlike the rows, under filters that have nothing to
	 * do with them, that fit them, and that leave out what is near them.
	 */
	static const float ratios[VX_CALIBRATION_TARGETS] = {1.03f, 1.06f, 1.095f,
														 1.14f, 1.18f, 1.3f};
	static const float deviations[VX_CALIBRATION_TARGETS] = {3, 4, 5, 6, 7, 9};

	return metric == VX_METRIC_IP ? deviations[t] : ratios[t];
}

double
vx_probe_spread(const VxScan *scan, const VxDirList *list, double nearest)
{
	double deviation = ip_deviation(scan, list);

	if (scan->ann.type->metric != VX_METRIC_IP)
		return list->key / Max(nearest, 1e-30);
	return (list->key + IP_SPREAD * deviation - nearest) /
		   Max(deviation, 1e-30);
}

int
vx_calibration_k(int k)
{
	return (int) ks[k];
}
