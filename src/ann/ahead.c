/*
 * ahead.c
 *		Asking for pages before their turn when they are not in memory.
 *
 * After a restart a scan would wait for one page after the other.  Once a page
 * had to be read, what comes next is probably not in memory either: then the
 * pages of the next lists, and the table's pages of the rows to be fetched, are
 * asked for as far ahead as effective_io_concurrency says.  A scan that finds
 * everything in memory does one comparison a list and a row for it.
 */
#include "postgres.h"

#include "storage/bufmgr.h"
#include "utils/spccache.h"

#include "ann/scan.h"

/* Lists asked for ahead at most: the scan may stop before it comes to them. */
#define LISTS_MAX 8

static int
io_depth(Relation rel)
{
	return get_tablespace_io_concurrency(rel->rd_rel->reltablespace);
}

/* The centroid and the pages that the list had at the last VACUUM. */
static void
ask_for_list(const VxScan *scan, const VxDirList *list, BlockNumber blocks)
{
	const VxLeadLayout *lead = &scan->ann.lead;
	BlockNumber pages = list->rows / lead->slots + 1;

	/* A build writes the sign pages behind the leads. */
	if (lead->form == VX_FORM_PLANES)
		pages += (BlockNumber) ((double) list->rows / lead->slots *
								lead->sign_pages) +
				 1;
	vx_page_prefetch(scan->ann.index, list->cent_block, 1, blocks);
	vx_page_prefetch(scan->ann.index, list->head, pages, blocks);
}

void
vx_ahead_start(VxScan *scan)
{
	scan->reads = vx_page_reads();
	scan->asked_list = 0;
}

void
vx_ahead_lists(VxScan *scan, int i)
{
	BlockNumber blocks;
	int end;

	if (!vx_ahead_cold(scan))
		return;
	end = i + 1 + Min(io_depth(scan->ann.index), LISTS_MAX);
	end = Min(end, scan->list_count);
	if (scan->asked_list >= end)
		return;
	blocks = vx_page_count(scan->ann.index);
	for (int next = Max(scan->asked_list, i); next < end; next++)
		ask_for_list(scan, &scan->lists[next], blocks);
	scan->asked_list = end;
}

int64
vx_ahead_rows(VxScan *scan, const uint64 *tids, int64 asked, int64 i,
			  int64 count)
{
	Relation heap = scan->scan->heapRelation;
	BlockNumber blocks;
	int64 end;

	if (!vx_ahead_cold(scan))
		return asked;
	end = Min(i + 1 + io_depth(heap), count);
	asked = Max(asked, i + 1);
	if (asked >= end)
		return asked;
	blocks = RelationGetNumberOfBlocks(heap);
	for (; asked < end; asked++)
	{
		uint64 block = tids[asked] >> 16;

		/* A damaged pointer is found when its row is fetched. */
		if (block != tids[asked - 1] >> 16 && block < blocks)
			PrefetchBuffer(heap, MAIN_FORKNUM, block);
	}
	return asked;
}
