/*
 * pin.c
 *		Pinning pages, with a hint of the buffer that each was found in last.
 *
 * Looking a block up in the table of shared buffers costs several cache misses,
 * and a scan pins hundreds of pages.  So a process remembers in rd_amcache in
 * which buffer it found a block: that buffer is looked at first, and has the page
 * or not.  The hints are forgotten with the relation's cache entry.
 */
#include "postgres.h"

#include "miscadmin.h"
#include "pgstat.h"
#include "storage/buf_internals.h"
#include "storage/smgr.h"
#include "utils/memutils.h"

#include "compat.h"
#include "page/page.h"

/* Blocks beyond have no hint: 8 GB of index, 4 MB of hints. */
#define HINTS_MAX ((BlockNumber) 1024 * 1024)

/* In rd_amcache: one piece, which the relation cache frees. */
typedef struct Hints
{
	BlockNumber count;
	Buffer buffers[FLEXIBLE_ARRAY_MEMBER]; /* 0: not known */
} Hints;

/*
 * Is the block below the end of the file?  The size is asked for only when the
 * cached one does not settle it: files shrink only under AccessExclusiveLock.
 */
static bool
block_exists(Relation index, BlockNumber block)
{
	SMgrRelation smgr = RelationGetSmgr(index);
	BlockNumber cached = smgr->smgr_cached_nblocks[MAIN_FORKNUM];

	if (cached != InvalidBlockNumber && block < cached)
		return true;
	return block < smgrnblocks(smgr, MAIN_FORKNUM);
}

/* No lock is held: there may be something to allocate. */
void
vx_page_keep_hints(Relation index)
{
	Hints *hints = index->rd_amcache;
	BlockNumber blocks =
		RelationGetSmgr(index)->smgr_cached_nblocks[MAIN_FORKNUM];
	BlockNumber count;
	Hints *larger;

	if (RelationUsesLocalBuffers(index) || blocks == InvalidBlockNumber)
		return;
	blocks = Min(blocks, HINTS_MAX);
	if (hints != NULL && hints->count >= blocks)
		return;
	count = Min(blocks + blocks / 4 + 16, HINTS_MAX);
	larger = MemoryContextAllocZero(
		index->rd_indexcxt, offsetof(Hints, buffers) + sizeof(Buffer) * count);
	larger->count = count;
	if (hints != NULL)
	{
		memcpy(larger->buffers, hints->buffers, sizeof(Buffer) * hints->count);
		pfree(hints);
	}
	index->rd_amcache = larger;
}

/* Where the block may be; one that is not known, behind the one before it. */
static Buffer
guess(Relation index, BlockNumber block)
{
	const Hints *hints = index->rd_amcache;
	Buffer buffer;

	if (hints == NULL || block >= hints->count)
		return InvalidBuffer;
	buffer = hints->buffers[block];
	if (buffer == InvalidBuffer && block > 0 &&
		hints->buffers[block - 1] != InvalidBuffer &&
		hints->buffers[block - 1] < NBuffers)
		buffer = hints->buffers[block - 1] + 1;
	return buffer;
}

Buffer
vx_page_pin(Relation index, BlockNumber block, BufferAccessStrategy strategy)
{
	Buffer buffer = guess(index, block);
	Hints *hints;

	if (!block_exists(index, block))
		vx_corrupt(index, block, "block is beyond the end of the file");
	if (buffer != InvalidBuffer && vx_compat_read_recent(index, block, buffer))
	{
		pgstat_count_buffer_read(index);
		pgstat_count_buffer_hit(index);
	}
	else
		buffer = ReadBufferExtended(index, MAIN_FORKNUM, block, RBM_NORMAL,
									strategy);
	/* Reading may have taken notice of an invalidation. */
	hints = index->rd_amcache;
	if (hints != NULL && block < hints->count)
		hints->buffers[block] = buffer;
	return buffer;
}

void
vx_page_expect(Relation index, BlockNumber block)
{
	Buffer buffer = guess(index, block);
	char *page;

	if (buffer == InvalidBuffer)
		return;
	page = (char *) BufferGetBlock(buffer);
	__builtin_prefetch(GetBufferDescriptor(buffer - 1), 1);
	__builtin_prefetch(page);
	__builtin_prefetch(page + VX_PAGE_END);
}

void
vx_page_unpin(Buffer buffer)
{
	ReleaseBuffer(buffer);
}

void
vx_page_prefetch(Relation index, BlockNumber block, BlockNumber count,
				 BlockNumber blocks)
{
	for (; count > 0 && block < blocks; block++, count--)
	{
		CHECK_FOR_INTERRUPTS();
		PrefetchBuffer(index, MAIN_FORKNUM, block);
	}
}

/* From the size on from which core's sequential scans use one. */
BufferAccessStrategy
vx_page_ring(Relation index, BlockNumber blocks)
{
	if (RelationUsesLocalBuffers(index) || blocks <= (BlockNumber) NBuffers / 4)
		return NULL;
	return GetAccessStrategy(BAS_BULKREAD);
}

BlockNumber
vx_page_count(Relation index)
{
	return RelationGetNumberOfBlocks(index);
}
