/*
 * last_scan.c
 *		ann_last_scan: what the last scan of this session has done.
 *
 * Says how much was read and why the scan stopped, nothing of the rows.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "utils/builtins.h"

#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(ann_last_scan);

#define LAST_SCAN_COLUMNS 14

static const char *
stop_name(VxScanStop stop)
{
	switch (stop)
	{
		case VX_STOP_NONE:
			return NULL;
		case VX_STOP_BUDGET:
			return "budget";
		case VX_STOP_PROBES:
			return "probes";
		case VX_STOP_EXHAUSTED:
			return "exhausted";
		case VX_STOP_DRAINED:
			return "drained";
		case VX_STOP_GATE:
			return "gate";
	}
	return NULL;
}

Datum
ann_last_scan(PG_FUNCTION_ARGS)
{
	const VxScanWork *work = vx_ann_last_scan();
	const char *stop = stop_name(work->stop);
	Datum values[LAST_SCAN_COLUMNS];
	bool nulls[LAST_SCAN_COLUMNS] = {false};
	TupleDesc desc;
	int i = 0;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	if (!OidIsValid(work->index))
		PG_RETURN_NULL();
	values[i++] = ObjectIdGetDatum(work->index);
	values[i++] = Int32GetDatum(work->lists);
	values[i++] = Int32GetDatum(work->probed);
	values[i++] = Int64GetDatum(work->entries);
	values[i++] = Int64GetDatum(work->filtered);
	values[i++] = Int64GetDatum(work->refined);
	values[i++] = Int64GetDatum(work->candidates);
	values[i++] = Int64GetDatum(work->fetched);
	values[i++] = Int64GetDatum(work->detoasted);
	values[i++] = Int64GetDatum(work->returned);
	values[i++] = Int64GetDatum(work->rounds);
	nulls[i] = stop == NULL;
	values[i++] = stop == NULL ? (Datum) 0 : CStringGetTextDatum(stop);
	values[i++] = Int64GetDatum(work->buffers_hit);
	values[i++] = Int64GetDatum(work->buffers_read);
	Assert(i == LAST_SCAN_COLUMNS);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
