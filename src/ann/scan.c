/*
 * scan.c
 *		Index scans: the callbacks; rounds.c has the order of the steps.
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
	scan->measured = scan->ranged = false;
	scan->nulls_first = scan->nan_first = false;
	scan->recall = vx_recall;
	scan->probes = vx_probes;
	scan->phase = VX_SCAN_START;
	scan->list_count = scan->next_list = 0;
	memset(&scan->filter, 0, sizeof(VxFilter));
	scan->narrow = scan->exact = scan->direct = false;
	scan->exact_rows = 0;
	scan->gate_round = 1;
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

/* --- rows ---------------------------------------------------------------------- */

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
	found = vx_scan_next(scan, &result, &isnull);
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
