/*
 * vacuum.h
 *		What the files of VACUUM share: the lists, and a checked walk of a chain.
 *
 * Everything here runs under the heap's ShareUpdateExclusiveLock, so no page of
 * a list is unlinked except by the caller, and a wrong owner is damage.
 */
#ifndef VX_ANN_VACUUM_H
#define VX_ANN_VACUUM_H

#include "ann/ann.h"

typedef struct VxVacuum
{
	Relation index;
	BufferAccessStrategy strategy;
	VxAnnIndex ann;
	VxDirList *lists; /* the special ones first, with dir_block invalid */
	int list_count;
} VxVacuum;

/* A walk from the head over the leads the list had when it began. */
typedef struct VxChain
{
	const VxDirList *list;
	uint32 pages;	   /* of the list, once the head was read */
	uint32 position;   /* leads read so far */
	BlockNumber tail;  /* once the head was read */
	BlockNumber block; /* of the lead read last */
	BlockNumber next;
	BlockNumber insert_block; /* once the head was read */
} VxChain;

/* --- vacuum.c --------------------------------------------------------------- */

/* Opens the index and collects its lists, in the current memory context. */
extern void vx_vacuum_open(VxVacuum *vacuum, IndexVacuumInfo *info);

/*
 * Locks a block that must be a lead of the list and checks what it says about
 * itself; ERROR XX002 otherwise.
 */
extern Page vx_vacuum_lead(const VxVacuum *vacuum, const VxDirList *list,
						   BlockNumber block, VxLockMode mode, Buffer *buffer);

/* Layout of the leads of a list. */
extern const VxLeadLayout *vx_vacuum_layout(const VxVacuum *vacuum,
											const VxDirList *list);

/*
 * The walk: begin, then next returns lead after lead, locked SHARE, which the
 * caller unlocks before the following call, and NULL after the last.  Sleeps as
 * VACUUM's cost settings say, with nothing locked.
 */
extern void vx_chain_begin(VxChain *chain, const VxDirList *list);
extern Page vx_chain_next(const VxVacuum *vacuum, VxChain *chain,
						  Buffer *buffer);

/*
 * The code table of a lead, when it is one of layout P: with count places, 0 in
 * those that are not attached.
 */
typedef struct VxCodeTable
{
	uint32 list_id;
	BlockNumber lead;
	int count;
	BlockNumber blocks[VX_CODE_PAGES_MAX];
} VxCodeTable;

/* Copies that of a locked lead. */
extern void vx_code_table_copy(const VxAnnIndex *ann, BlockNumber block,
							   Page page, VxCodeTable *table);

/* --- sweep.c ----------------------------------------------------------------- */

/* Blocks that something names. */
typedef struct VxBlockSet
{
	BlockNumber blocks; /* members are below */
	uint8 *bits;
} VxBlockSet;

extern void vx_blocks_init(VxBlockSet *set, BlockNumber blocks);
extern void vx_blocks_add(VxBlockSet *set, BlockNumber block);
extern bool vx_blocks_has(const VxBlockSet *set, BlockNumber block);
/* Adds the code pages of a lead. */
extern void vx_blocks_add_codes(VxBlockSet *set, const VxCodeTable *table);

/*
 * Looks at every block that is neither in reachable (which has all leads by
 * now; META, DIR and CENT are added here) nor free in the free space map, and
 * gives back those that nobody uses.  Updates the page counts of stats.
 */
extern void vx_vacuum_sweep(VxVacuum *vacuum, VxBlockSet *reachable,
							IndexBulkDeleteResult *stats);

#endif
