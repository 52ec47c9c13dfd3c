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

/*
 * Rows within a distance, as far as their codes tell.  Where they are too many to
 * be remembered, all rows.
 */
static int64
add_within(VxScan *scan, TIDBitmap *bitmap, int which)
{
	int64 rows;

	vx_scan_prepare(scan);
	scan->rounds = 1;
	scan->wanted = VX_CALIBRATION_K_MAX;
	vx_scan_aim(scan, scan->candidates.limit);
	if (!vx_scan_walk(scan))
		return vx_drain_bitmap(scan, bitmap, which);
	rows = scan->candidates.count;
	for (int64 i = 0; i < rows; i++)
		tbm_add_tuples(bitmap, &scan->candidates.items[i].tid, 1, true);
	which &= ~VX_DRAIN_ORDINARY;
	return which == 0 ? rows : rows + vx_drain_bitmap(scan, bitmap, which);
}

int64
anngetbitmap(IndexScanDesc desc, TIDBitmap *bitmap)
{
	VxScan *scan = desc->opaque;
	MemoryContext caller = MemoryContextSwitchTo(scan->run_context);
	int64 rows = 0;

	vx_last_scan_buffers(scan, -1);
	scan->phase = VX_SCAN_DONE;
	vx_ahead_start(scan);
	pgstat_count_index_scan(scan->ann.index);
	vx_compat_count_search(desc);
	if (vx_scan_conditions(scan))
	{
		int which = vx_filter_lists(&scan->filter);

		vx_ann_refresh(&scan->ann);
		vx_probe_order(scan);
		rows = scan->ranged ? add_within(scan, bitmap, which)
							: vx_drain_bitmap(scan, bitmap, which);
	}
	scan->work.returned = rows;
	vx_last_scan_buffers(scan, 1);
	MemoryContextSwitchTo(caller);
	return rows;
}
