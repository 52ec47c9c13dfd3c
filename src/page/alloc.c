/*
 * alloc.c
 *		Finding and giving back pages.
 *
 * The free space map is a hint: it is not logged, so its answers may be stale or
 * lie beyond the end of the file after a crash.  A page is free when it is all
 * zeros or of kind FREE under its exclusive lock, and nothing else counts.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "storage/freespace.h"
#include "storage/indexfsm.h"
#include "storage/lmgr.h"

#include "compat.h"
#include "page/page.h"

static bool
claimed_already(BlockNumber block, const Buffer *taken, int ntaken)
{
	for (int i = 0; i < ntaken; i++)
		if (BufferGetBlockNumber(taken[i]) == block)
			return true;
	return false;
}

static bool
page_is_free(Page page)
{
	VxPageSpecial *special = vx_page_special(page);

	if (PageIsNew(page))
		return true;
	return PageGetSpecialSize(page) == MAXALIGN(sizeof(VxPageSpecial)) &&
		   special->page_id == VX_PAGE_ID && special->kind == VX_PAGE_FREE;
}

Buffer
vx_page_extend(Relation index, ForkNumber fork)
{
#ifndef VX_COMPAT_EXTEND_BY_READ
	return ExtendBufferedRel(BMR_REL(index), fork, NULL, EB_LOCK_FIRST);
#else
	bool lock = fork == MAIN_FORKNUM && !RELATION_IS_LOCAL(index);
	Buffer buffer;

	if (lock)
		LockRelationForExtension(index, ExclusiveLock);
	/*
	 * Locked before anybody can see it: VACUUM would take it for a forgotten
	 * page of zeros, and offer it to the next insert.
	 */
	buffer = ReadBufferExtended(index, fork, P_NEW, RBM_ZERO_AND_LOCK, NULL);
	if (lock)
		UnlockRelationForExtension(index, ExclusiveLock);
	return buffer;
#endif
}

Buffer
vx_page_claim(Relation index, const Buffer *taken, int ntaken)
{
	BlockNumber block;

	while ((block = GetFreeIndexPage(index)) != InvalidBlockNumber)
	{
		Buffer buffer;

		CHECK_FOR_INTERRUPTS();
		if (block >= RelationGetNumberOfBlocks(index) ||
			claimed_already(block, taken, ntaken))
			continue;
		buffer = ReadBuffer(index, block);
		if (ConditionalLockBuffer(buffer))
		{
			if (page_is_free(BufferGetPage(buffer)))
				return buffer;
			UnlockReleaseBuffer(buffer);
		}
		else
			ReleaseBuffer(buffer);
	}
	return vx_page_extend(index, MAIN_FORKNUM);
}

void
vx_page_unclaim(Relation index, Buffer buffer)
{
	BlockNumber block = BufferGetBlockNumber(buffer);

	UnlockReleaseBuffer(buffer);
	RecordFreeIndexPage(index, block);
}

void
vx_page_record_free(Relation index, BlockNumber block)
{
	RecordFreeIndexPage(index, block);
}

bool
vx_page_recorded_free(Relation index, BlockNumber block)
{
	return GetRecordedFreeSpace(index, block) > 0;
}

void
vx_free_map_vacuum(Relation index)
{
	IndexFreeSpaceMapVacuum(index);
}
