/*
 * bitmap.c
 *		Bitmap scans: every row that passes the filter, in no order.
 *
 * Of a partial index the predicate alone can be what a query asks for.  The
 * bitmap removes duplicates.
 */
#include "postgres.h"

#include "nodes/tidbitmap.h"
#include "pgstat.h"

#include "ann/scan.h"
#include "compat.h"

int64
anngetbitmap(IndexScanDesc desc, TIDBitmap *bitmap)
{
	VxScan *scan = desc->opaque;
	MemoryContext caller = MemoryContextSwitchTo(scan->run_context);
	int64 rows;

	vx_last_scan_buffers(scan, -1);
	scan->phase = VX_SCAN_DONE;
	vx_ahead_start(scan);
	pgstat_count_index_scan(scan->ann.index);
	vx_compat_count_search(desc);
	vx_filter_init(&scan->filter, &scan->ann, desc->keyData,
				   desc->numberOfKeys);
	vx_ann_refresh(&scan->ann);
	vx_probe_order(scan);
	rows = scan->filter.never ? 0 : vx_drain_bitmap(scan, bitmap);
	scan->work.returned = rows;
	vx_last_scan_buffers(scan, 1);
	MemoryContextSwitchTo(caller);
	return rows;
}
