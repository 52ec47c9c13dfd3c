/*
 * build.c
 *		Writing a new relation's pages, which nobody else can see yet.
 *
 * Pages go through shared buffers and are logged in ranges behind the writer,
 * so a large build does not read them back from disk to log them.
 */
#include "postgres.h"

#include "access/xloginsert.h"
#include "miscadmin.h"
#include "utils/rel.h"

#include "page/page.h"

/* Appended blocks between two rounds of logging. */
#define LOG_BLOCKS 512

static bool
needs_log(const VxBuilder *builder)
{
	/* An unlogged relation's init fork is what a crash restores it from. */
	return builder->fork == INIT_FORKNUM || RelationNeedsWAL(builder->index);
}

void
vx_builder_begin(VxBuilder *builder, Relation index, ForkNumber fork,
				 BlockNumber reserved)
{
	builder->index = index;
	builder->fork = fork;
	builder->reserved = reserved;
	for (BlockNumber i = 0; i < reserved; i++)
	{
		Buffer buffer = vx_page_extend(index, fork);

		if (BufferGetBlockNumber(buffer) != i)
			elog(ERROR, "index \"%s\" is not empty",
				 RelationGetRelationName(index));
		UnlockReleaseBuffer(buffer);
	}
	builder->next = reserved;
	builder->logged = reserved;
}

static void
fill(Buffer buffer, const char *image)
{
	memcpy(BufferGetPage(buffer), image, BLCKSZ);
	MarkBufferDirty(buffer);
	UnlockReleaseBuffer(buffer);
}

void
vx_builder_put(VxBuilder *builder, BlockNumber block, const char *image)
{
	Buffer buffer;

	Assert(block < builder->next);
	buffer = ReadBufferExtended(builder->index, builder->fork, block,
								RBM_NORMAL, NULL);
	LockBuffer(buffer, BUFFER_LOCK_EXCLUSIVE);
	fill(buffer, image);
}

/* All that was appended is written: logs it, when it is much. */
static void
log_behind(VxBuilder *builder)
{
	if (builder->next - builder->logged < LOG_BLOCKS)
		return;
	if (needs_log(builder))
		log_newpage_range(builder->index, builder->fork, builder->logged,
						  builder->next, true);
	builder->logged = builder->next;
}

BlockNumber
vx_builder_append(VxBuilder *builder, const char *image)
{
	Buffer buffer;

	CHECK_FOR_INTERRUPTS();
	log_behind(builder);
	buffer = vx_page_extend(builder->index, builder->fork);
	Assert(BufferGetBlockNumber(buffer) == builder->next);
	fill(buffer, image);
	return builder->next++;
}

BlockNumber
vx_builder_extend(VxBuilder *builder, BlockNumber count)
{
	BlockNumber first = builder->next;

	log_behind(builder);
	for (BlockNumber i = 0; i < count; i++)
	{
		Buffer buffer;

		CHECK_FOR_INTERRUPTS();
		buffer = vx_page_extend(builder->index, builder->fork);
		Assert(BufferGetBlockNumber(buffer) == builder->next);
		UnlockReleaseBuffer(buffer);
		builder->next++;
	}
	return first;
}

void
vx_builder_finish(VxBuilder *builder)
{
	if (!needs_log(builder))
		return;
	if (builder->next > builder->logged)
		log_newpage_range(builder->index, builder->fork, builder->logged,
						  builder->next, true);
	if (builder->reserved > 0)
		log_newpage_range(builder->index, builder->fork, 0, builder->reserved,
						  true);
	builder->logged = builder->next;
}
