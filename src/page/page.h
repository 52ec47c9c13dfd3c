/*
 * page.h
 *		Reading, locking, logging and allocating pages of an `ann` index.
 *
 * Everything above this layer sees pages only through here: no other file calls
 * ReadBuffer, LockBuffer or GenericXLog.  Locks are the buffer content locks;
 * the protocol that says who may hold which is src/ann/README.md.
 */
#ifndef VX_PAGE_PAGE_H
#define VX_PAGE_PAGE_H

#include "postgres.h"

#include "executor/instrument.h"
#include "storage/bufmgr.h"
#include "utils/rel.h"

#include "compat.h"
#include "page/format.h"

/* --- errors ---------------------------------------------------------------- */

/*
 * The one corruption error: XX002, names index and block, hints at REINDEX.
 * what: short lower-case description, e.g. "chain of list 17 does not end".
 */
pg_noreturn extern void vx_corrupt(Relation index, BlockNumber block,
								   const char *what, ...)
	pg_attribute_printf(3, 4);

/* --- reading (access.c, pin.c) ---------------------------------------------------- */

typedef enum VxLockMode
{
	VX_SHARE = BUFFER_LOCK_SHARE,
	VX_EXCLUSIVE = BUFFER_LOCK_EXCLUSIVE,
} VxLockMode;

/*
 * Reads, pins and locks a block and checks its special area and used bytes.
 * A page of zeros counts as FREE.  ERROR XX002 for a page that is not ours, of
 * another format, or beyond the end of the file.
 */
extern Page vx_page_lock(Relation index, BlockNumber block, VxLockMode mode,
						 Buffer *buffer);

/* The same with an access strategy (vacuum, large scans); NULL = default. */
extern Page vx_page_lock_extended(Relation index, BlockNumber block,
								  VxLockMode mode,
								  BufferAccessStrategy strategy,
								  Buffer *buffer);

/* The same, and ERROR XX002 unless the page is of that kind. */
extern Page vx_page_lock_kind(Relation index, BlockNumber block,
							  VxLockMode mode, VxPageKind kind, Buffer *buffer);

/* Kind of a locked page (FREE for zeros). */
extern VxPageKind vx_page_kind(Page page);

/*
 * Locks a block that a copied pointer named as a lead of list_id.  Returns NULL,
 * with nothing locked or pinned, when the page is FREE or belongs to somebody
 * else now (normal: the caller starts over).  The head pointer, capacity and
 * live count are checked (XX002).
 */
extern Page vx_lead_lock(Relation index, BlockNumber block, VxLockMode mode,
						 uint32 list_id, BufferAccessStrategy strategy,
						 Buffer *buffer);

/*
 * Pins a block without locking it, so that its bytes can be asked for before
 * its turn.  strategy: the ring that a page takes its buffer from when it is not
 * in memory; NULL = default.
 */
extern Buffer vx_page_pin(Relation index, BlockNumber block,
						  BufferAccessStrategy strategy);

/*
 * Makes room for hints of the buffers that blocks lie in, which save looking them
 * up.  vx_meta_read does, so whoever reads META first has them.
 */
extern void vx_page_keep_hints(Relation index);

/*
 * Asks the memory for what pinning and locking a page touches, if there is a hint
 * where it lies.  Changes nothing.
 */
extern void vx_page_expect(Relation index, BlockNumber block);

/*
 * The ring of a reader that goes through so many blocks of the index: they must
 * not push out what others use.  NULL when they are few beside shared_buffers.
 */
extern BufferAccessStrategy vx_page_ring(Relation index, BlockNumber blocks);
extern void vx_page_unpin(Buffer buffer);

/* vx_lead_lock for a block pinned before; the pin is given up with NULL. */
extern Page vx_lead_lock_pinned(Relation index, BlockNumber block,
								VxLockMode mode, uint32 list_id, Buffer buffer);

/*
 * Locks a block pinned before, which a lead's code table named.  Returns NULL,
 * and gives up the pin, when it has another owner now.  XX002 when it does not
 * use as many bytes of data as used.
 */
extern Page vx_code_lock_pinned(Relation index, BlockNumber block,
								VxLockMode mode, const VxCode *owner, Size used,
								Buffer buffer);

/*
 * Asks for up to count blocks from block on, as far as they lie before blocks,
 * the length of the file, and are not in memory.
 */
extern void vx_page_prefetch(Relation index, BlockNumber block,
							 BlockNumber count, BlockNumber blocks);

/* Pages that this process had to read so far, of any relation. */
static inline int64
vx_page_reads(void)
{
	return pgBufferUsage.shared_blks_read + pgBufferUsage.local_blks_read;
}

/* Unlocks and unpins. */
extern void vx_page_unlock(Buffer buffer);

/* Number of blocks of the main fork. */
extern BlockNumber vx_page_count(Relation index);

/*
 * Copies META.  ERROR XX002 for a bad magic; ERROR with a REINDEX hint for
 * another format version or an unknown required flag.  Checks that dims, bits,
 * metric, slots are within their ranges, so callers may trust them.
 */
extern void vx_meta_read(Relation index, VxMeta *meta);

/* Where a vector is. */
typedef struct VxCentPlace
{
	BlockNumber block;
	int slot;
	uint32 owner; /* list, or VX_LIST_CENTRE */
} VxCentPlace;

/*
 * Copies the vector of a place into x (dims floats).  Returns false when the slot
 * belongs to another list by now.
 */
extern bool vx_cent_read(Relation index, const VxMeta *meta,
						 const VxCentPlace *place, float *x);

/* --- records (record.c): one WAL record over at most 4 pages --------------- */

typedef struct VxRecord VxRecord;

/*
 * Begin a record; register every page (held EXCLUSIVE) before changing any;
 * change only the returned copy; finish writes the WAL and the pages.
 * fresh = the page was claimed or is new: it is logged as a full image.
 * Locks stay with the caller.
 */
extern VxRecord *vx_record_begin(Relation index);
extern Page vx_record_page(VxRecord *record, Buffer buffer, bool fresh);
extern void vx_record_finish(VxRecord *record);

/* Initialise a page copy of the given kind: header, special, pd_lower. */
extern void vx_init_page(Page page, VxPageKind kind);
/* pd_lower := the first byte not used (data beyond it may be zeroed). */
extern void vx_page_set_used(Page page, Size used);
extern void vx_init_lead(Page page, uint32 list_id, int slots, uint16 flags);
/* HEAD of a one-page list at block. */
extern void vx_init_head(Page page, uint32 list_id, int slots, uint16 flags,
						 BlockNumber block);
extern void vx_init_dir(Page page);
/* A CENT page; capacity from dims. */
extern void vx_init_cent(Page page, int dims);
/* A CODE page without data. */
extern void vx_init_code(Page page, const VxCode *owner);
/* pd_lower := used, unless it is larger already. */
extern void vx_page_raise_used(Page page, Size used);

/* --- allocation (alloc.c) --------------------------------------------------- */

/*
 * A page nobody uses, locked EXCLUSIVE and pinned: from the free space map
 * (checked against the end of the file and under its lock), else by extending
 * the file.  taken/ntaken: buffers claimed earlier in the same operation, which
 * are skipped (a temporary table's lock would not tell).  The claimant
 * initialises it in the record that links it (fresh = true).
 */
extern Buffer vx_page_claim(Relation index, const Buffer *taken, int ntaken);

/* A new block at the end of a fork: zeros, pinned, locked EXCLUSIVE. */
extern Buffer vx_page_extend(Relation index, ForkNumber fork);

/* Gives back a claimed page that was not used after all. */
extern void vx_page_unclaim(Relation index, Buffer buffer);

/* Tells the free space map of a page that is FREE on disk. */
extern void vx_page_record_free(Relation index, BlockNumber block);

/* Does the free space map say that the block is free?  A hint. */
extern bool vx_page_recorded_free(Relation index, BlockNumber block);

/* Makes the free space map's upper levels right (end of VACUUM). */
extern void vx_free_map_vacuum(Relation index);

/* --- building (build.c): nobody else sees the relation ----------------------- */

typedef struct VxBuilder
{
	Relation index;
	ForkNumber fork;
	BlockNumber reserved; /* blocks before this one are filled at the end */
	BlockNumber next;	  /* next block to be appended */
	BlockNumber logged;	  /* appended blocks before this one are in the WAL */
} VxBuilder;

/* Starts with reserved zero pages at the front, filled later in any order. */
extern void vx_builder_begin(VxBuilder *builder, Relation index,
							 ForkNumber fork, BlockNumber reserved);

/* Writes a finished page (BLCKSZ bytes) to a reserved or appended block. */
extern void vx_builder_put(VxBuilder *builder, BlockNumber block,
						   const char *image);

/*
 * Appends zero pages, to be put in any order before the next call of this or of
 * vx_builder_append; returns the first block.
 */
extern BlockNumber vx_builder_extend(VxBuilder *builder, BlockNumber count);

/* Appends a finished page; returns its block.  Logs every few MB. */
extern BlockNumber vx_builder_append(VxBuilder *builder, const char *image);

/*
 * Logs what is not logged yet, the reserved blocks last.  The init fork is
 * always logged.
 */
extern void vx_builder_finish(VxBuilder *builder);

#endif
