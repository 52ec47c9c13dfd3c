/*
 * walk.c
 *		Reading the pages of one list, and validating what was read; score.c has
 *		what is done with them.
 *
 * One page is locked at a time, and nothing is allocated, fetched or locked
 * while it is.  A list may change between two pages: a page that belongs to
 * somebody else restarts the walk, and the head's stamp, compared at the end of
 * the round, tells of what the walk itself could not notice.
 */
#include "postgres.h"

#include "miscadmin.h"

#include "ann/scan.h"

/* A list that changes under every one of so many walks is left for later. */
#define WALKS_MAX 3

/* Which end a walk of the chain came to. */
typedef enum WalkEnd
{
	WALK_DONE,
	WALK_GONE,	  /* the head is not this list's any more */
	WALK_STRANGE, /* a page of the chain belongs to somebody else */
	WALK_STOPPED, /* the caller's prepare said so */
} WalkEnd;

/* Where a walk stands. */
typedef struct WalkChain
{
	BlockNumber block;	 /* to be read next */
	Buffer ahead;		 /* its pin, if taken already */
	BlockNumber run_end; /* leads before this block are consecutive */
	BlockNumber stop;	 /* the tail when the walk began */
	uint64 stamp;
} WalkChain;

/*
 * Reads the head: where the chain ends now, and its stamp.  lead is under lock.
 */
static void
read_head(VxScan *scan, uint32 list_id, BlockNumber head, const VxLead *lead,
		  WalkChain *chain)
{
	if (!(lead->flags & VX_LEAD_HEAD))
		vx_corrupt(scan->ann.index, head, "list %u starts without a head",
				   list_id);
	chain->stamp = lead->stamp;
	chain->stop = lead->tail_block;
	chain->run_end = head + lead->lead_run;
}

/*
 * One page: lock, visit, step on.  chain->ahead is its pin and is given up; when
 * the next page is known to follow, it is pinned first, and its bytes are on
 * their way while this one is scored.
 */
static WalkEnd
walk_page(VxScan *scan, uint32 list_id, BlockNumber head,
		  const VxLeadLayout *layout, const VxVisitor *visitor,
		  WalkChain *chain)
{
	Relation index = scan->ann.index;
	BlockNumber block = chain->block;
	Buffer buffer = chain->ahead;
	BlockNumber guess = InvalidBlockNumber;
	Buffer next_buffer = InvalidBuffer;
	VxLead *lead;
	Page page;
	bool followed;

	if (block + 1 < chain->run_end)
	{
		guess = block + 1;
		next_buffer = vx_page_pin(index, guess, scan->ring);
	}
	page = vx_lead_lock_pinned(index, block, VX_SHARE, list_id, buffer);
	if (page == NULL)
	{
		if (BufferIsValid(next_buffer))
			vx_page_unpin(next_buffer);
		return block == head ? WALK_GONE : WALK_STRANGE;
	}
	vx_lead_check_slots(index, block, page, layout);
	lead = vx_page_lead(page);
	if (block == head && scan->part == NULL)
		read_head(scan, list_id, head, lead, chain);
	followed = lead->live > 0 && visitor->follow != NULL;
	if (lead->live > 0)
		visitor->visit(scan, visitor->arg, page,
					   BufferIsValid(next_buffer) ? BufferGetPage(next_buffer)
												  : NULL);
	chain->block = lead->next;
	vx_page_unlock(buffer);

	if (BufferIsValid(next_buffer) &&
		(chain->block != guess || block == chain->stop))
	{
		vx_page_unpin(next_buffer);
		next_buffer = InvalidBuffer;
	}
	if (followed && !visitor->follow(scan, visitor->arg, block))
	{
		if (BufferIsValid(next_buffer))
			vx_page_unpin(next_buffer);
		return WALK_STRANGE;
	}
	chain->ahead = next_buffer;
	/* Rows beyond the tail of the start are new, or their list is stamped. */
	if (block == chain->stop)
		chain->block = InvalidBlockNumber;
	/* A chain that ends before it: its tail was unlinked, or it is damaged. */
	else if (chain->block == InvalidBlockNumber)
		return WALK_STRANGE;
	return WALK_DONE;
}

void
vx_walk_ring(VxScan *scan)
{
	Relation index = scan->ann.index;

	if (scan->ring == NULL)
		scan->ring = vx_page_ring(index, vx_page_count(index));
}

static WalkEnd
walk_once(VxScan *scan, uint32 list_id, BlockNumber head,
		  const VxLeadLayout *layout, const VxVisitor *visitor, uint64 *stamp)
{
	Relation index = scan->ann.index;
	BlockNumber pages = 0;
	BlockNumber pages_max = 64; /* then the file's length is asked for */
	/* Until the head is read, its run is taken to be one page more. */
	WalkChain chain = {.block = head, .run_end = head, .stop = head};

	if (scan->part != NULL)
		chain = (WalkChain){.block = scan->part->first,
							.run_end = scan->part->run_end,
							.stop = scan->part->last};

	while (chain.block != InvalidBlockNumber)
	{
		WalkEnd end;

		CHECK_FOR_INTERRUPTS();
		if (!visitor->prepare(scan, visitor->arg))
		{
			if (BufferIsValid(chain.ahead))
				vx_page_unpin(chain.ahead);
			return WALK_STOPPED;
		}
		if (!BufferIsValid(chain.ahead))
			chain.ahead = vx_page_pin(index, chain.block, scan->ring);
		end = walk_page(scan, list_id, head, layout, visitor, &chain);
		if (end != WALK_DONE)
			return end;
		if (++pages <= pages_max)
			continue;
		pages_max = vx_page_count(index);
		if (pages > pages_max)
			vx_corrupt(index, head, "chain of list %u does not end", list_id);
	}
	*stamp = chain.stamp;
	return WALK_DONE;
}

bool
vx_walk_list(VxScan *scan, uint32 list_id, BlockNumber head,
			 const VxLeadLayout *layout, const VxVisitor *visitor,
			 uint64 *stamp)
{
	for (int tries = 0; tries < WALKS_MAX; tries++)
	{
		WalkEnd end = walk_once(scan, list_id, head, layout, visitor, stamp);

		if (end == WALK_DONE)
			return true;
		if (end != WALK_STRANGE)
			return false;
	}
	return false;
}

/* --- validation -------------------------------------------------------------------- */

/* The head's stamp now; false when the head is another list's. */
static bool
read_stamp(VxScan *scan, const VxDirList *list, uint64 *stamp)
{
	Buffer buffer;
	Page page = vx_lead_lock(scan->ann.index, list->head, VX_SHARE,
							 list->list_id, NULL, &buffer);

	if (page == NULL)
		return false;
	*stamp = vx_page_lead(page)->stamp;
	vx_page_unlock(buffer);
	return true;
}

/*
 * META is read before the heads, and that copy starts the next round: read after
 * them, it would hide a move made in between.
 */
bool
vx_walk_validate(VxScan *scan)
{
	uint64 shape_seq = scan->ann.meta.shape_seq;
	uint64 dir_epoch = scan->ann.meta.dir_epoch;
	bool valid = true;

	vx_ann_refresh(&scan->ann);
	if (scan->ann.meta.shape_seq == shape_seq)
	{
		for (int i = 0; i < scan->next_list; i++)
			if (!scan->visits[i].walked)
				vx_corrupt(scan->ann.index, scan->lists[i].head,
						   "list %u is not where the directory says",
						   scan->lists[i].list_id);
		return true;
	}
	for (int i = 0; i < scan->next_list; i++)
	{
		uint64 stamp;

		CHECK_FOR_INTERRUPTS();
		if (scan->visits[i].walked &&
			read_stamp(scan, &scan->lists[i], &stamp) &&
			stamp == scan->visits[i].stamp)
			continue;
		scan->visits[i].walked = false;
		valid = false;
	}
	if (scan->ann.meta.dir_epoch != dir_epoch)
	{
		vx_probe_order(scan);
		valid = false;
	}
	return valid;
}
