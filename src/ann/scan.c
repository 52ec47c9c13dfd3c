/*
 * scan.c
 *		Index scans: the callbacks and the order of the steps.
 *
 * A scan gives rows by exact distance, in rounds.  Each round wants a number of
 * rows in all: it walks lists until the probing rule says enough, validates what
 * it read, fetches candidates until the wanted rows are confirmed, and hands
 * them out.  Asked for more, it wants more.  A scan that wants a large share of
 * the table sorts the rest.  Rows without a distance come last.  So every row
 * comes once, whatever the executor asks for.
 */
#include "postgres.h"

#include "access/relscan.h"
#include "executor/nodeHash.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/memutils.h"

#include "ann/scan.h"
#include "compat.h"
#include "vector_ext.h"

/* Rows of the first round when the plan shows no LIMIT. */
#define WANTED_DEFAULT 40

/* Each further round wants so many times as many. */
#define WANTED_GROWTH 4

/* A scan that wants more than this share of the rows sorts them all. */
#define DRAIN_SHARE 8
#define DRAIN_ROWS_MIN 1000

/* --- begin, rescan, end ------------------------------------------------------ */

void
vx_scan_init(VxScan *scan, Relation index)
{
	int dims;
	int slots;

	vx_ann_open(&scan->ann, index);
	dims = scan->ann.dims;
	slots = TYPEALIGN(VX_SCORE_ALIGN, scan->ann.lead.slots);
	scan->query_raw = palloc(sizeof(float) * dims);
	scan->query_x = palloc(sizeof(float) * dims);
	scan->centroid = palloc(sizeof(float) * dims);
	if (scan->ann.lead.form == VX_FORM_PLANES)
		scan->group = vx_group_create(&scan->ann);
	scan->dots = palloc(sizeof(int32) * slots);
	scan->est = palloc(sizeof(float) * slots);
	scan->low = palloc(sizeof(float) * slots);
}

IndexScanDesc
annbeginscan(Relation index, int nkeys, int norderbys)
{
	IndexScanDesc desc = RelationGetIndexScan(index, nkeys, norderbys);
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "ann scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	VxScan *scan = palloc0(sizeof(VxScan));

	if (norderbys > 1)
		ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
						errmsg("an ann index orders by one distance")));
	scan->scan = desc;
	scan->context = context;
	scan->run_context =
		AllocSetContextCreate(context, "ann scan run", ALLOCSET_DEFAULT_SIZES);
	scan->row_context =
		AllocSetContextCreate(context, "ann scan row", ALLOCSET_DEFAULT_SIZES);
	vx_scan_init(scan, index);
	if (norderbys > 0)
	{
		desc->xs_orderbyvals = palloc0(sizeof(Datum) * norderbys);
		desc->xs_orderbynulls = palloc0(sizeof(bool) * norderbys);
	}
	desc->opaque = scan;
	MemoryContextSwitchTo(caller);
	return desc;
}

void
vx_ann_scan_set_bound(IndexScanDesc desc, int64 rows)
{
	((VxScan *) desc->opaque)->bound = rows;
}

static void
end_run(VxScan *scan)
{
	vx_last_scan_keep(scan);
	if (scan->heap != NULL)
		vx_heap_close(scan->heap);
	scan->heap = NULL;
	vx_drain_end(scan);
	vx_parallel_leave(scan);
	scan->lists = NULL;
	scan->visits = NULL;
	scan->results = NULL;
	scan->ring = NULL;
	MemoryContextReset(scan->run_context);
}

/*
 * Takes over the query of the ORDER BY.  At the first fetch, not at the rescan:
 * a plan that never asks for a row does not mind what the query is.
 */
static void
take_query(VxScan *scan, ScanKey key)
{
	const VxAnnType *type = scan->ann.type;
	VxValueKind kind;
	Datum value;

	scan->query_null = (key->sk_flags & SK_ISNULL) != 0;
	if (scan->query_null)
		return;
	value = PointerGetDatum(PG_DETOAST_DATUM(key->sk_argument));
	kind = vx_ann_value(type, scan->ann.dims, value, false, scan->query_x);
	scan->query_nan = kind == VX_VALUE_ZERO;
	memcpy(scan->query_raw, type->floats(value),
		   sizeof(float) * scan->ann.dims);
	scan->query_norm = sqrt(vx_kernels->inner_product(
		scan->query_x, scan->query_x, scan->ann.dims));
}

void
annrescan(IndexScanDesc desc, ScanKey keys, int nkeys, ScanKey orderbys,
		  int norderbys)
{
	VxScan *scan = desc->opaque;

	end_run(scan);
	if (keys && desc->numberOfKeys > 0)
		memmove(desc->keyData, keys, desc->numberOfKeys * sizeof(ScanKeyData));
	if (orderbys && desc->numberOfOrderBys > 0)
		memmove(desc->orderByData, orderbys,
				desc->numberOfOrderBys * sizeof(ScanKeyData));

	scan->ordered = desc->numberOfOrderBys > 0;
	if (orderbys && scan->ordered && orderbys->sk_func.fn_extra != NULL)
		scan->bound = *(int64 *) orderbys->sk_func.fn_extra;
	scan->query_null = scan->query_nan = scan->query_ready = false;
	scan->recall = vx_recall;
	scan->probes = vx_probes;
	scan->phase = VX_SCAN_START;
	scan->list_count = scan->next_list = 0;
	memset(&scan->filter, 0, sizeof(VxFilter));
	scan->narrow = scan->exact = false;
	scan->exact_rows = 0;
	scan->recent_scanned = scan->recent_passed = 0;
	scan->rows_scanned = scan->rows_passed = scan->returned = scan->wanted =
		scan->rounds = 0;
	scan->result_count = scan->result_capacity = 0;
	scan->next_result = scan->confirmed = 0;
	scan->rows_expected = 0;
	scan->cut = scan->exhausted = false;
	scan->candidates.count = 0;
	memset(&scan->work, 0, sizeof(VxScanWork));
}

void
annendscan(IndexScanDesc desc)
{
	VxScan *scan = desc->opaque;

	end_run(scan);
	MemoryContextDelete(scan->context);
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

/* False: this process has no row to give, since none passes, or another gives all. */
static bool
start(VxScan *scan)
{
	int64 row_bytes = VX_HANDLED_BYTES + sizeof(VxResult) + sizeof(double);
	Size memory = get_hash_memory_limit();

	pgstat_count_index_scan(scan->ann.index);
	vx_compat_count_search(scan->scan);
	vx_ahead_start(scan);
	vx_filter_init(&scan->filter, &scan->ann, scan->scan->keyData,
				   scan->scan->numberOfKeys);
	if (scan->filter.never)
		return false;
	scan->narrow = scan->filter.active;
	if (scan->ordered)
		take_query(scan, scan->scan->orderByData);
	if (scan->scan->parallel_scan != NULL && !vx_parallel_join(scan))
		return false;
	/* The copy of META that the first validation compares with. */
	vx_ann_refresh(&scan->ann);
	vx_probe_order(scan);
	if (!scan->ordered || scan->query_null || scan->query_nan ||
		scan->filter.no_vectors)
		return true;
	if (scan->shared != NULL)
		vx_parallel_open(scan);
	if (scan->recall >= 1 || only_flat(scan))
		vx_walk_ring(scan);
	scan->eps = bound_width(scan);
	scan->handled = vx_handled_create();
	scan->handled_limit = Max(1024, (int64) (memory / 2) / row_bytes);
	vx_candidates_init(&scan->candidates,
					   (int64) (memory / 2) / sizeof(VxCandidate));
	scan->heap = vx_heap_open(scan);
	return true;
}

/* Walks until the rule is content and nothing read has changed since. */
static bool
walk_round(VxScan *scan)
{
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

/*
 * Wants more rows.  When candidates were cut the lists are walked again:
 * handled rows are left out then.  Returns false when the rest is better sorted.
 */
static bool
begin_round(VxScan *scan)
{
	double share = scan->rows_total / DRAIN_SHARE;

	if (scan->rounds++ == 0)
		scan->wanted = scan->bound > 0 ? scan->bound : WANTED_DEFAULT;
	else
		scan->wanted = Max(scan->wanted, scan->returned) * WANTED_GROWTH;
	if ((scan->wanted > share && scan->wanted > DRAIN_ROWS_MIN) ||
		scan->wanted > scan->handled_limit ||
		vx_handled_count(scan->handled) > scan->handled_limit)
		return false;

	scan->parameter = vx_probe_parameter(scan);
	if (scan->narrow)
		scan->lambda = vx_probe_lambda(scan);
	vx_smallest_init(&scan->top, scan->wanted - scan->returned);
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

	if (!begin_round(scan))
		return false;
	walked = walk_round(scan);
	scan->cut_key = vx_smallest_top(&scan->top);
	pfree(scan->top.items);
	if (!walked)
		return false;
	vx_rerank(scan);
	scan->exhausted = !scan->cut && scan->candidates.count == 0 &&
					  scan->next_list >= scan->list_count;
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
		{
			scan->phase = VX_SCAN_ZERO;
			return false;
		}
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

/* Rows of a sort until it ends; then the phase that follows. */
static bool
next_sorted(VxScan *scan, VxResult *result, VxScanPhase following)
{
	if (vx_drain_next(scan, result))
		return true;
	vx_drain_end(scan);
	scan->phase = following;
	return false;
}

/* Sorts a special list, unless another process gives its rows. */
static bool
special_rows(VxScan *scan, int which, VxScanPhase following)
{
	if (scan->sorted != NULL)
		return true;
	if ((vx_filter_lists(&scan->filter) & which) != 0 &&
		vx_parallel_claim_special(scan, which))
	{
		vx_drain_tids(scan, which);
		return true;
	}
	scan->phase = following;
	return false;
}

/* The first phase, by what the query is. */
static void
choose_phase(VxScan *scan)
{
	if (!start(scan))
		scan->phase = VX_SCAN_DONE;
	else if (scan->filter.no_vectors)
		scan->phase = VX_SCAN_NULL;
	else if (scan->ordered && !scan->query_null && !scan->query_nan)
		scan->phase = VX_SCAN_TOP;
	else if (scan->query_nan)
	{
		vx_drain_tids(scan, VX_DRAIN_ORDINARY | VX_DRAIN_ZERO);
		scan->phase = VX_SCAN_ZERO;
	}
	else
	{
		vx_drain_tids(scan, vx_filter_lists(&scan->filter));
		scan->phase = VX_SCAN_NULL;
	}
}

/*
 * Next row and whether its distance is NULL.  Rows whose distance is NaN follow
 * those that have one, as float8 orders them; NULL is last.
 */
static bool
next_row(VxScan *scan, VxResult *result, bool *isnull)
{
	*isnull = false;
	for (;;)
	{
		switch (scan->phase)
		{
			case VX_SCAN_START:
				choose_phase(scan);
				break;
			case VX_SCAN_TOP:
				if (next_top(scan, result))
					return true;
				break;
			case VX_SCAN_DRAIN:
				if (next_sorted(scan, result, VX_SCAN_ZERO))
					return true;
				break;
			case VX_SCAN_ZERO:
				if (!special_rows(scan, VX_DRAIN_ZERO, VX_SCAN_NULL))
					break;
				result->distance = get_float8_nan();
				if (next_sorted(scan, result, VX_SCAN_NULL))
					return true;
				break;
			case VX_SCAN_NULL:
				if (!special_rows(scan, VX_DRAIN_NULL, VX_SCAN_DONE))
					break;
				*isnull = true;
				if (next_sorted(scan, result, VX_SCAN_DONE))
					return true;
				break;
			case VX_SCAN_DONE:
				return false;
		}
	}
}

bool
anngettuple(IndexScanDesc desc, ScanDirection direction)
{
	VxScan *scan = desc->opaque;
	MemoryContext caller = MemoryContextSwitchTo(scan->run_context);
	VxResult result;
	bool isnull;
	bool found;

	Assert(ScanDirectionIsForward(direction));
	vx_last_scan_buffers(scan, -1);
	found = next_row(scan, &result, &isnull);
	vx_last_scan_buffers(scan, 1);
	MemoryContextSwitchTo(caller);
	if (!found)
		return false;

	scan->work.returned++;
	vx_tid_from_number(result.tid, &desc->xs_heaptid);
	/* Special lists and sorts give rows that nobody looked at yet. */
	desc->xs_recheck = scan->filter.lossy;
	desc->xs_recheckorderby = false;
	if (scan->ordered)
	{
		desc->xs_orderbyvals[0] =
			isnull ? (Datum) 0 : Float8GetDatum(result.distance);
		desc->xs_orderbynulls[0] = isnull;
	}
	return true;
}
