/*
 * inspect.h
 *		What the inspecting SQL functions share.
 */
#ifndef VX_INSPECT_INSPECT_H
#define VX_INSPECT_INSPECT_H

#include "access/tableam.h"
#include "utils/snapshot.h"

#include "ann/ann.h"

/*
 * Opens an index for reading its pages.  ERROR 42809 when it is not an index of
 * the access method ann, 0A000 or 55000 when its pages cannot be read now.
 */
extern Relation vx_inspect_open(Oid index_id, LOCKMODE lock);

/* ERROR 42809 when it is not an index of the access method ann, with pages. */
extern void vx_inspect_check_kind(Relation index);

/* ERROR 42501 unless the current user owns the index. */
extern void vx_inspect_check_owner(Oid index_id);

/*
 * A registered snapshot for a pass over the table.  ERROR 40001 when rows that
 * it sees may have been left out of the index.
 */
extern Snapshot vx_inspect_snapshot(Relation index);

/*
 * Calls back, from block 0 of the table on, for every row that the snapshot sees
 * and the index should have.
 */
extern void vx_inspect_scan_table(Relation table, Relation index,
								  Snapshot snapshot,
								  IndexBuildCallback callback, void *state);

/* A list as counted now. */
typedef struct VxListCount
{
	uint64 rows;
	uint32 pages; /* leads */
	uint32 run;
	uint32 code_pages;
} VxListCount;

/*
 * Counts a list, walking it again when VACUUM unlinks one of its pages
 * meanwhile.  False when the head belongs to somebody else by now.
 */
extern bool vx_inspect_count(const VxAnnIndex *ann, uint32 list_id,
							 BlockNumber head, VxListCount *count);

#endif
