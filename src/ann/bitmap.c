/*
 * bitmap.c
 *		Bitmap scans: every row of the index, in no order.
 *
 * They come from partial indexes, whose predicate alone can be what a query asks
 * for.  The bitmap removes duplicates.
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
	vx_ann_refresh(&scan->ann);
	vx_probe_order(scan);
	rows = vx_drain_bitmap(scan, bitmap);
	scan->work.returned = rows;
	vx_last_scan_buffers(scan, 1);
	MemoryContextSwitchTo(caller);
	return rows;
}
