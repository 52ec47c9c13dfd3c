/*
 * check.h
 *		What the files of ann_check share.
 *
 * Numbers of invariants are those of docs/format.md, section 10.
 */
#ifndef VX_INSPECT_CHECK_H
#define VX_INSPECT_CHECK_H

#include "ann/vacuum.h"
#include "executor/tuptable.h"
#include "inspect/inspect.h"
#include "utils/tuplesort.h"

/* A list to be checked; pages and rows once it was walked. */
typedef struct VxCheckList
{
	uint32 list_id;
	BlockNumber head;
	BlockNumber cent_block;
	uint16 cent_slot;
	uint16 flags;
	float r2;
	uint32 pages;
	uint64 rows;
} VxCheckList;

/* Where a live heap pointer stands. */
typedef struct VxPlace
{
	uint32 list_id;
	BlockNumber block;
	int slot;
} VxPlace;

/*
 * The heap pointers of all live slots with their places, sorted by heap pointer
 * once all were added.  Memory up to maintenance_work_mem, then files.
 */
typedef struct VxTidSort
{
	Tuplesortstate *sort;
	TupleTableSlot *slot;
} VxTidSort;

typedef struct VxCheck
{
	Relation index;
	VxAnnIndex ann;
	BufferAccessStrategy strategy;
	bool locked; /* the heap's lock keeps VACUUM away */
	BlockNumber blocks;
	VxBlockSet reachable;
	VxCheckList special[2];
	VxCheckList *lists; /* of the directory, sorted by id */
	int list_count;		/* pending ones included */
	VxTidSort tids;
	int64 rows;
	int64 leaked;
	float *scratch;		 /* 3 * dims floats */
	PGAlignedBlock page; /* copy of the page being looked at */
} VxCheck;

/* --- check_page.c: what one page says about itself (I2, I6, I7, I13) -------- */

/* Copies a block to check->page. */
extern Page vx_check_read(VxCheck *check, BlockNumber block);

/* Copies a block that must be of a kind, by the invariant of that name. */
extern Page vx_check_read_kind(VxCheck *check, BlockNumber block,
							   VxPageKind kind, const char *invariant);

/* Marks a block as named; ERROR when something else names it, too. */
extern void vx_check_name(VxCheck *check, BlockNumber block,
						  const char *invariant);

/* I2 of the page in check->page. */
extern void vx_check_frame(VxCheck *check, BlockNumber block);

/* The page in check->page, whatever its kind; remembers its heap pointers. */
extern void vx_check_page(VxCheck *check, BlockNumber block);

/* Is a factor half precision, finite and not negative? */
extern bool vx_check_half(uint16 half);

/* --- check_directory.c: META, DIR, CENT (I1, I3, I12, I13) ------------------- */

/* The list of that id, a special one, too, or NULL. */
extern const VxCheckList *vx_check_find_list(const VxCheck *check,
											 uint32 list_id);

/* Reads the directory into check->lists. */
extern void vx_check_directory(VxCheck *check);
extern void vx_check_centroids(VxCheck *check);

/* --- check_list.c: chains and what no chain has (I4, I5, I9 to I11, I14, I15) - */

extern void vx_check_lists(VxCheck *check);
extern void vx_check_rest(VxCheck *check);

/* --- check_codes.c: code pages of layout P (I7, I16) --------------------------- */

/* What check_codes needs to know of a lead, once check->page is another page. */
typedef struct VxCheckCodes
{
	VxCodeTable table;
	int end; /* of the live slots */
} VxCheckCodes;

/* I7 of the lead in check->page; the code pages are read afterwards. */
extern void vx_check_code_table(VxCheck *check, BlockNumber block,
								VxCheckCodes *codes);
/* Reads and marks the code pages of a lead; check->page is lost. */
extern void vx_check_codes(VxCheck *check, const VxCheckCodes *codes);

/* What a code page in check->page says of itself. */
extern void vx_check_code_page(VxCheck *check, BlockNumber block);

/* Does a code page in check->page, named by nothing so far, have an owner? */
extern bool vx_check_code_owned(VxCheck *check, BlockNumber block);

/*
 * The code of a slot, packed, from the code pages of its lead.  levels: scratch
 * of dims bytes.
 */
extern void vx_check_read_code(VxCheck *check, const VxCodeTable *table,
							   int slot, uint8 *levels, uint8 *code);

/* --- check_tids.c: one place for each heap pointer (I8) ----------------------- */

extern void vx_tids_begin(VxTidSort *tids);
extern void vx_tids_add(VxTidSort *tids, const ItemPointerData *tid,
						const VxPlace *place);
extern void vx_tids_sort(VxTidSort *tids);
/* The next one; false at the end. */
extern bool vx_tids_next(VxTidSort *tids, ItemPointer tid, VxPlace *place);
extern void vx_tids_end(VxTidSort *tids);

/* Reads all of them and looks for two places of one heap pointer. */
extern void vx_check_tids(VxCheck *check);

/* --- check_heap.c: every row of the table (I16) -------------------------------- */

/* Reads all of check->tids beside the heap; looks for I8, too. */
extern void vx_check_heap(VxCheck *check, Relation heap, Snapshot snapshot);

#endif
