/*
 * last_scan.c
 *		What the scan that ended last has done, for ann_last_scan().
 *
 * Kept by the process, so a scan in a parallel worker is not seen by its leader.
 * A scan that ends by an error leaves what was there before.
 */
#include "postgres.h"

#include "executor/instrument.h"

#include "ann/scan.h"

/* Nothing but ann_last_scan() reads it: no scan depends on an earlier one. */
static VxScanWork last_scan;

static VxScanStop
stop_reason(const VxScan *scan)
{
	if (scan->work.stop == VX_STOP_DRAINED)
		return VX_STOP_DRAINED;
	if (scan->direct)
		return VX_STOP_GATE;
	if (scan->rounds == 0)
		return VX_STOP_NONE;
	if (scan->next_list >= scan->list_count)
		return VX_STOP_EXHAUSTED;
	return scan->probes > 0 ? VX_STOP_PROBES : VX_STOP_BUDGET;
}

void
vx_last_scan_keep(const VxScan *scan)
{
	if (scan->phase == VX_SCAN_START)
		return;
	last_scan = scan->work;
	last_scan.index = RelationGetRelid(scan->ann.index);
	last_scan.stop = stop_reason(scan);
	last_scan.lists = scan->list_count;
	last_scan.probed = scan->direct ? 0 : scan->next_list;
	last_scan.rounds = scan->rounds;
	last_scan.entries += scan->rows_scanned;
	last_scan.filtered += scan->rows_scanned - scan->rows_passed;
	last_scan.candidates += scan->candidates.count;
}

void
vx_last_scan_buffers(VxScan *scan, int sign)
{
	const BufferUsage *usage = &pgBufferUsage;

	scan->work.buffers_hit +=
		sign * (usage->shared_blks_hit + usage->local_blks_hit);
	scan->work.buffers_read +=
		sign * (usage->shared_blks_read + usage->local_blks_read);
}

const VxScanWork *
vx_ann_last_scan(void)
{
	return &last_scan;
}
