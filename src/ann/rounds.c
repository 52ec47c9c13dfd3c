/*
 * rounds.c
 *		Index scans: the order of the steps, from the query to each row.
 *
 * A scan gives rows by exact distance, in rounds.  Each round wants a number of
 * rows in all: it walks lists until the probing rule says enough, validates what
 * it read, fetches candidates until the wanted rows are confirmed, and hands
 * them out.  Asked for more, it wants more.  A scan that wants a large share of
 * the table sorts the rest.  Rows without a distance come last.  So every row
 * comes once, whatever the executor asks for.
 */
#include "postgres.h"

#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/scan.h"
#include "compat.h"

/* Rows of the first round when the plan shows no LIMIT. */
#define WANTED_DEFAULT 40

/* Each further round wants so many times as many. */
#define WANTED_GROWTH 4

/* A scan that wants more than this share of the rows sorts them all. */
#define DRAIN_SHARE 8
#define DRAIN_ROWS_MIN 1000

/* --- the query ------------------------------------------------------------------- */

void
vx_scan_set_query(VxScan *scan, Datum query)
{
	const VxAnnType *type = scan->ann.type;
	Datum value = PointerGetDatum(PG_DETOAST_DATUM(query));
	VxValueKind kind =
		vx_ann_value(type, scan->ann.dims, value, false, scan->query_x);

	scan->query_nan = kind == VX_VALUE_ZERO;
	memcpy(scan->query_raw, type->floats(value),
		   sizeof(float) * scan->ann.dims);
	scan->query_norm = sqrt(vx_kernels->inner_product(
		scan->query_x, scan->query_x, scan->ann.dims));
}

/*
 * Takes over the query of the ORDER BY.  At the first fetch, not at the rescan:
 * a plan that never asks for a row does not mind what the query is.
 */
static void
take_order(VxScan *scan, ScanKey key)
{
	scan->nulls_first = key->sk_strategy == VX_ANN_FALLING_STRATEGY;
	scan->nan_first =
		scan->nulls_first || key->sk_strategy == VX_ANN_NAN_FIRST_STRATEGY;
	scan->query_null = (key->sk_flags & SK_ISNULL) != 0;
	if (!scan->query_null)
		vx_scan_set_query(scan, key->sk_argument);
}

bool
vx_scan_conditions(VxScan *scan)
{
	vx_filter_init(&scan->filter, &scan->ann, scan->scan->keyData,
				   scan->scan->numberOfKeys);
	if (scan->filter.never)
		return false;
	if (scan->ordered)
		take_order(scan, scan->scan->orderByData);
	if (!vx_range_init(scan))
		return false;
	if (scan->filter.no_vectors && scan->filter.no_nulls)
		return false;
	scan->measured = (scan->ordered || scan->ranged) && !scan->query_null &&
					 !scan->filter.no_vectors;
	scan->narrow = scan->filter.active || scan->gate != NULL;
	return true;
}

/* --- rounds --------------------------------------------------------------------- */

static bool
only_flat(const VxScan *scan)
{
	for (int i = 0; i < scan->list_count; i++)
		if (!(scan->lists[i].flags & VX_DIR_ROOT))
			return false;
	return true;
}

/* Width of the bounds, see docs/quantiser.md. */
static float
bound_width(const VxScan *scan)
{
	if (scan->recall >= 1)
		return VX_EPS_EXACT;
	if (only_flat(scan))
		return scan->bound > 0 ? VX_EPS_FLAT : VX_EPS_EXACT;
	return VX_EPS_DEFAULT;
}

void
vx_scan_prepare(VxScan *scan)
{
	int64 row_bytes = VX_HANDLED_BYTES + sizeof(VxResult) + sizeof(double);
	Size memory = get_hash_memory_limit();

	if (scan->recall >= 1 || only_flat(scan))
		vx_walk_ring(scan);
	scan->eps = bound_width(scan);
	scan->handled = vx_handled_create();
	scan->handled_limit = Max(1024, (int64) (memory / 2) / row_bytes);
	vx_candidates_init(&scan->candidates,
					   (int64) (memory / 2) / sizeof(VxCandidate));
}

/* False: this process has no row to give, since none passes, or another gives all. */
static bool
start(VxScan *scan)
{
	pgstat_count_index_scan(scan->ann.index);
	vx_compat_count_search(scan->scan);
	vx_ahead_start(scan);
	if (!vx_scan_conditions(scan))
		return false;
	if (scan->scan->parallel_scan != NULL && !vx_parallel_join(scan))
		return false;
	/* The copy of META that the first validation compares with. */
	vx_ann_refresh(&scan->ann);
	vx_probe_order(scan);
	if (!scan->measured || scan->query_nan)
		return true;
	if (scan->shared != NULL)
		vx_parallel_open(scan);
	vx_scan_prepare(scan);
	scan->heap = vx_heap_open(scan);
	return true;
}

/*
 * A gate that is the only condition, and lets few rows pass: they are fetched as
 * they are.  Rows without a distance are found later, in their lists.
 */
static bool
few_pass(const VxScan *scan)
{
	int64 count;

	if (scan->gate == NULL || scan->filter.active || scan->ranged ||
		scan->shared != NULL ||
		RelationGetIndexPredicate(scan->ann.index) != NIL)
		return false;
	count = vx_gate_count(scan->gate);
	return count >= 0 && count <= scan->candidates.limit &&
		   count <= vx_gate_direct_rows(scan->rows_total);
}

static void
add_gated(void *arg, const ItemPointerData *tid)
{
	VxScan *scan = arg;
	VxCandidate *candidate = &scan->candidates.items[scan->candidates.count++];

	candidate->tid = *tid;
	candidate->low = -get_float4_infinity();
}

/* All rows that pass become candidates. */
static bool
walk_gate(VxScan *scan)
{
	scan->direct = true;
	scan->next_list = scan->list_count;
	if (!vx_candidates_reserve(&scan->candidates, vx_gate_count(scan->gate),
							   get_float8_infinity()))
		return false;
	vx_gate_each(scan->gate, add_gated, scan);
	return true;
}

bool
vx_scan_walk(VxScan *scan)
{
	if (scan->rounds == scan->gate_round && few_pass(scan))
		return walk_gate(scan);
	if (scan->shared != NULL)
		return vx_parallel_round(scan);
	do
	{
		for (int i = 0; i < scan->next_list; i++)
			if (!scan->visits[i].walked && !vx_walk_candidates(scan, i))
				return false;
		while (!vx_probe_stop(scan))
			if (!vx_walk_candidates(scan, scan->next_list++))
				return false;
	} while (!vx_walk_validate(scan));
	return true;
}

void
vx_scan_aim(VxScan *scan, int64 rows)
{
	scan->parameter = vx_probe_parameter(scan);
	if (scan->narrow || scan->ranged)
		scan->lambda = vx_probe_lambda(scan);
	vx_smallest_init(&scan->top, rows);
	if (scan->ranged)
		scan->top.ceiling = scan->reach;
}

/* Rows fetched before there was a gate must not count as those that are wanted. */
static void
drop_results(VxScan *scan)
{
	int64 kept = 0;

	for (int64 i = scan->next_result; i < scan->result_count; i++)
	{
		ItemPointerData tid;

		vx_tid_from_number(scan->results[i].tid, &tid);
		if (vx_gate_has(scan->gate, &tid))
			scan->results[kept++] = scan->results[i];
	}
	scan->result_count = kept;
	scan->next_result = scan->confirmed = 0;
}

/*
 * Takes a gate that is made by now: the lists are walked once more with it, and
 * about as many rows are wanted as at first, since nearly all of them will do.
 */
static bool
take_gate(VxScan *scan)
{
	if (scan->gate != NULL || scan->gate_maker == NULL ||
		scan->shared != NULL || scan->rounds == 0)
		return false;
	scan->gate = scan->gate_maker(scan->gate_arg, scan->returned);
	if (scan->gate == NULL)
		return false;
	drop_results(scan);
	scan->gate_round = scan->rounds + 1;
	scan->narrow = scan->cut = true;
	scan->wanted =
		scan->returned + (scan->bound > 0 ? scan->bound : WANTED_DEFAULT);
	return true;
}

/*
 * Wants more rows.  When candidates were cut the lists are walked again:
 * handled rows are left out then.  Returns false when the rest is better sorted.
 */
static bool
begin_round(VxScan *scan)
{
	double share = scan->rows_total / DRAIN_SHARE;
	bool gated = take_gate(scan);
	bool all = false;

	if (scan->rounds++ > 0)
	{
		if (!gated)
			scan->wanted = Max(scan->wanted, scan->returned) * WANTED_GROWTH;
	}
	else if (scan->bound > 0 || !scan->ranged)
		scan->wanted = scan->bound > 0 ? scan->bound : WANTED_DEFAULT;
	else
	{
		/* All within reach at once, if they can be remembered. */
		scan->wanted = scan->handled_limit;
		all = true;
	}
	if ((scan->wanted > share && scan->wanted > DRAIN_ROWS_MIN && !all) ||
		scan->wanted > scan->handled_limit ||
		vx_handled_count(scan->handled) > scan->handled_limit)
		return false;

	vx_scan_aim(scan, scan->wanted - scan->returned);
	if (scan->cut)
	{
		scan->work.candidates += scan->candidates.count;
		scan->candidates.count = 0;
		scan->work.entries += scan->rows_scanned;
		scan->work.filtered += scan->rows_scanned - scan->rows_passed;
		scan->rows_scanned = scan->rows_passed = 0;
		scan->recent_scanned = scan->recent_passed = 0;
		scan->rows_expected = 0;
		scan->cut = false;
		for (int i = 0; i < scan->next_list; i++)
			scan->visits[i].walked = false;
		for (int i = 0; i < scan->part_count; i++)
			scan->parts[i].walked = false;
	}
	return true;
}

/* One round.  False: the scan goes on to the drain. */
static bool
run_round(VxScan *scan)
{
	bool walked;
	bool all; /* rows within reach were fewer than wanted */

	if (!begin_round(scan))
		return false;
	walked = vx_scan_walk(scan);
	all = scan->ranged && scan->top.count < scan->top.k;
	scan->cut_key = vx_smallest_top(&scan->top);
	pfree(scan->top.items);
	if (!walked)
		return false;
	vx_rerank(scan);
	scan->exhausted = !scan->cut && scan->candidates.count == 0 &&
					  (all || scan->next_list >= scan->list_count);
	return true;
}

/* --- the phases ------------------------------------------------------------------ */

/*
 * Is there a row to hand out?  Before the first one, all that the plan asks for
 * must be there: a further round visits more lists, and could find nearer rows.
 * It takes one when many of the entries scanned were invisible rows.
 */
static bool
row_ready(const VxScan *scan)
{
	if (scan->returned == 0 && scan->confirmed < scan->bound)
		return scan->exhausted && scan->confirmed > 0;
	return scan->next_result < scan->confirmed;
}

static bool
next_top(VxScan *scan, VxResult *result)
{
	while (!row_ready(scan))
	{
		if (scan->exhausted)
			return false;
		if (!run_round(scan))
		{
			vx_drain_exact(scan);
			scan->phase = VX_SCAN_DRAIN;
			return false;
		}
	}
	*result = scan->results[scan->next_result++];
	scan->returned++;
	return true;
}

/* Rows of a sort until it ends. */
static bool
next_sorted(VxScan *scan, VxResult *result)
{
	if (vx_drain_next(scan, result))
		return true;
	vx_drain_end(scan);
	return false;
}

/* Rows of lists that have no order, unless another process gives them. */
static bool
next_unordered(VxScan *scan, VxResult *result, int which)
{
	which &= vx_filter_lists(&scan->filter);
	if (scan->sorted == NULL)
	{
		if (which == 0 || !vx_parallel_claim_special(scan, which))
			return false;
		vx_drain_tids(scan, which);
	}
	return next_sorted(scan, result);
}

/*
 * What comes after a phase.  float8 orders NaN after all numbers, and NULL is
 * last; what falls with the distance has them first, and NULL before NaN unless
 * the query says otherwise.
 */
static VxScanPhase
phase_after(const VxScan *scan, VxScanPhase phase)
{
	switch (phase)
	{
		case VX_SCAN_START:
			if (scan->nulls_first || !scan->measured)
				return VX_SCAN_NULL;
			return scan->nan_first || scan->query_nan ? VX_SCAN_ZERO
													  : VX_SCAN_TOP;
		case VX_SCAN_TOP:
		case VX_SCAN_DRAIN:
			if (!scan->nan_first)
				return VX_SCAN_ZERO;
			return scan->nulls_first ? VX_SCAN_DONE : VX_SCAN_NULL;
		case VX_SCAN_ZERO:
			if (scan->nan_first && !scan->query_nan)
				return VX_SCAN_TOP;
			return scan->nulls_first ? VX_SCAN_DONE : VX_SCAN_NULL;
		case VX_SCAN_NULL:
			return scan->nulls_first && scan->measured ? VX_SCAN_ZERO
													   : VX_SCAN_DONE;
		case VX_SCAN_DONE:
			break;
	}
	return VX_SCAN_DONE;
}

/* A row of the phase; false at its end. */
static bool
phase_row(VxScan *scan, VxResult *result)
{
	switch (scan->phase)
	{
		case VX_SCAN_TOP:
			return next_top(scan, result);
		case VX_SCAN_DRAIN:
			return next_sorted(scan, result);
		case VX_SCAN_ZERO:
			result->distance = get_float8_nan();
			return next_unordered(
				scan, result,
				VX_DRAIN_ZERO | (scan->query_nan ? VX_DRAIN_ORDINARY : 0));
		case VX_SCAN_NULL:
			/* Without a query no row has a distance. */
			return next_unordered(scan, result,
								  scan->measured
									  ? VX_DRAIN_NULL
									  : VX_DRAIN_NULL | VX_DRAIN_ZERO |
											VX_DRAIN_ORDINARY);
		case VX_SCAN_START:
		case VX_SCAN_DONE:
			break;
	}
	return false;
}

bool
vx_scan_next(VxScan *scan, VxResult *result, bool *isnull)
{
	if (scan->phase == VX_SCAN_START)
		scan->phase =
			start(scan) ? phase_after(scan, VX_SCAN_START) : VX_SCAN_DONE;
	while (scan->phase != VX_SCAN_DONE)
	{
		VxScanPhase phase = scan->phase;

		*isnull = phase == VX_SCAN_NULL;
		if (phase_row(scan, result))
			return true;
		/* The top phase may have become the drain. */
		if (scan->phase == phase)
			scan->phase = phase_after(scan, phase);
	}
	return false;
}
