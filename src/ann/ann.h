/*
 * ann.h
 *		The access method `ann`: what its files share.
 *
 * Protocols (locks, records, crash windows) are in src/ann/README.md.
 */
#ifndef VX_ANN_ANN_H
#define VX_ANN_ANN_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/reloptions.h"
#include "nodes/execnodes.h"
#include "nodes/pathnodes.h"

#include "ann/columns.h"
#include "compat.h"
#include "page/page.h"
#include "quant/quant.h"
#include "type/vector.h"

/* Operator class contract. */
#define VX_ANN_DISTANCE_STRATEGY 1 /* the ordering operator */
#define VX_ANN_RANGE_STRATEGY                                                  \
	9 /* vector within a ball, see type/vector_ball.c */
#define VX_ANN_FALLING_STRATEGY 10	 /* as 1, rows without a distance first */
#define VX_ANN_NAN_FIRST_STRATEGY 11 /* as 1, NaN first, NULL last */
#define VX_ANN_STRATEGIES 11		 /* of columns.h, too */
#define VX_ANN_SUPPORT_PROC 1 /* internal -> internal, gives a VxAnnType */

/* Stages of pg_stat_progress_create_index. */
#define VX_PROGRESS_SAMPLE 2
#define VX_PROGRESS_KMEANS 3
#define VX_PROGRESS_ASSIGN 4
#define VX_PROGRESS_CALIBRATE 6
#define VX_PROGRESS_WRITE 5

/* From so many dimensions on codes are kept in two planes (decision 9). */
#define VX_PLANES_DIMS_MIN 384

/* Below this many rows lists = -1 builds a flat index. */
#define VX_FLAT_ROWS_MAX 10000

/* Width of the bound in standard deviations, see docs/quantiser.md. */
#define VX_EPS_DEFAULT 1.9f
#define VX_EPS_FLAT 2.5f
#define VX_EPS_EXACT 4.0f
#define VX_EPS_SIGNS 2.5f /* of lists, in the first of two stages */

/*
 * What an operator class tells about its type and metric.  One constant struct
 * per class, returned by its support function (support.c).
 */
typedef struct VxAnnType
{
	const char *name;
	VxMetric metric;
	/* Dimensions of a detoasted value. */
	int (*dims)(Datum value);
	/* Its values as float4; may point into value. */
	const float *(*floats)(Datum value);
	/* The operator's result, to the bit. */
	double (*distance)(const float *x, const float *y, int dim);
} VxAnnType;

/* Reloptions (options.c); limits are in its table. */
typedef struct VxAnnOptions
{
	int32 vl_len_;
	int lists;		/* -1 by itself, 0 flat, n */
	int bits;		/* 4 or 8 */
	int seed;		/* of rotation and k-means */
	int dimensions; /* 0 = from the column or the rows */
	int layout;		/* 0 by itself, else a VxLayout */
} VxAnnOptions;

#define VX_LISTS_DEFAULT (-1)
#define VX_LISTS_MAX 65536
#define VX_SEED_DEFAULT 42

/*
 * An open index: META and what follows from it.  Lives in the memory context
 * that was current at vx_ann_open.
 */
typedef struct VxAnnIndex
{
	Relation index;
	VxMeta meta; /* as of vx_ann_open or vx_ann_refresh */
	const VxAnnType *type;
	int dims;
	VxQuantizer quantizer; /* of entries */
	VxQuantizer coarse;	   /* of directory entries: 4 bits */
	VxLeadLayout lead;	   /* ordinary leads */
	VxLeadLayout special;  /* special leads */
	VxColumns columns;	   /* filter columns: their widths */
	VxColumn *column;	   /* and what is stored of their values */
	int values_bytes;	   /* of a row's values of them, packed */
	Size dir_entry_bytes;
	float *centre; /* dims floats; valid once born */
	bool born;	   /* the first list exists */
} VxAnnIndex;

/* --- options.c ------------------------------------------------------------- */

extern void vx_ann_options_register(void); /* from _PG_init */
extern bytea *annoptions(Datum reloptions, bool validate);
extern const VxAnnOptions *vx_ann_options(Relation index); /* with defaults */

/* --- support.c -------------------------------------------------------------- */

/*
 * Reads META and fills everything; reads the centre when there is one.
 * ERROR when the index does not fit its operator class.
 */
extern void vx_ann_open(VxAnnIndex *ann, Relation index);

/*
 * Reads META again (a new start copy) and, when the index was born meanwhile,
 * the centre.
 */
extern void vx_ann_refresh(VxAnnIndex *ann);

/*
 * Derives layouts and quantisers from ann->meta, for a build: index, type,
 * classes and meta must be set.  The centre is left to the caller.
 */
extern void vx_ann_derive(VxAnnIndex *ann);

/*
 * Bytes an index of this many rows is made of: fills dims, layout, bits,
 * metric, slots, special_slots, seed, t0, lists_option, and neutral values for
 * the rest.  ERROR 54000 when an entry does not fit a page.
 */
extern void vx_meta_init(VxMeta *meta, int dims, const VxAnnIndex *ann,
						 const VxAnnOptions *options);

/* The operator classes of an index: fills type, columns, column, values_bytes. */
extern void vx_ann_classes(VxAnnIndex *ann, Relation index);

/* The layout that an index with these options gets. */
extern VxLayout vx_ann_layout(int dims, const VxAnnOptions *options);

/*
 * Which list a value belongs to before any centroid is looked at.
 */
typedef enum VxValueKind
{
	VX_VALUE_ORDINARY,
	VX_VALUE_NULL, /* special list VX_LIST_NULL */
	VX_VALUE_ZERO, /* cosine: special list VX_LIST_ZERO */
} VxValueKind;

/*
 * Detoasts, checks the dimension (ERROR 22000), and copies the value into x
 * (dims floats), of unit length for cosine.
 */
extern VxValueKind vx_ann_value(const VxAnnType *type, int dims, Datum value,
								bool isnull, float *x);

/*
 * The planes of a lead lie where META's slots say, or the page is damaged.
 */
static inline void
vx_lead_check_slots(Relation index, BlockNumber block, Page page,
					const VxLeadLayout *layout)
{
	if (vx_page_lead(page)->slots != layout->slots)
		vx_corrupt(index, block, "lead has %d slots, not %d",
				   vx_page_lead(page)->slots, layout->slots);
}

/* --- probe.c ---------------------------------------------------------------- */

/* What META's table is for: target recalls, and numbers of rows. */
extern double vx_calibration_target(int t);
extern int vx_calibration_k(int k);
/* How far beyond the k-th nearest row lists are visited under a filter. */
extern float vx_calibration_lambda(VxMetric metric, int t);

/* --- entry.c ---------------------------------------------------------------- */

/* What is stored beside the code of a row: for the whole code, and for signs. */
typedef struct VxEntry
{
	VxEntryFactors factors;
	VxSignFactors signs; /* of layout P */
} VxEntry;

/*
 * vx_encode for the index's layout.  code: lead.code_bytes; scratch: 2 * dims
 * floats.
 */
extern void vx_entry_encode(const VxAnnIndex *ann, const VxListRef *list,
							const float *x, uint8 *code, VxEntry *entry,
							float *scratch);

/*
 * Writes a row into a slot of a lead, except its code when that is on code pages.
 * Sets the live bit, not the count.  values: of the filter columns, packed.
 * entry and code are NULL in a special lead.
 */
extern void vx_entry_put(Page page, const VxLeadLayout *layout, int slot,
						 const ItemPointerData *tid, const uint8 *values,
						 const VxEntry *entry, const uint8 *code);

/* Layout P: the part of a slot's signs that is on sign page number `number`. */
extern void vx_entry_put_signs(Page page, const VxAnnIndex *ann, int slot,
							   int number, const uint8 *levels);
/* And the rest of its code, on the page of the rest plane that it belongs to. */
extern void vx_entry_put_rest(Page page, const VxAnnIndex *ann, int slot,
							  const uint8 *levels);

/* Slots up to the last live one. */
extern int vx_used_slots(const uint64 *live, int slots);

/* Does the slot hold this entry, code aside? */
extern bool vx_entry_equal(Page page, const VxLeadLayout *layout, int slot,
						   const VxEntry *entry);

/* Does the page, a lead if nothing is wrong, name that block as its code page? */
extern bool vx_code_is_named(const VxAnnIndex *ann, const VxCode *owner,
							 BlockNumber block, Page page);

/* Sign pages that hold signs of a slot: the first and the last one. */
static inline int
vx_sign_page_first(const VxLeadLayout *layout, int slot)
{
	return vx_sign_start(layout, slot) / VX_CODE_UNITS;
}

static inline int
vx_sign_page_last(const VxLeadLayout *layout, int slot)
{
	return (vx_sign_start(layout, slot) + layout->sign_units - 1) /
		   VX_CODE_UNITS;
}

/* --- put.c -------------------------------------------------------------------- */

/*
 * Puts a row into a slot, which is not live, of a lead that the caller holds
 * EXCLUSIVE: records A, C and I.  levels: unpacked code, for layout P.
 */
extern void vx_put_row(const VxAnnIndex *ann, const VxLeadLayout *layout,
					   Buffer lead, int slot, const ItemPointerData *tid,
					   const uint8 *values, const VxEntry *entry,
					   const uint8 *code, const uint8 *levels);

/* --- directory.c ------------------------------------------------------------ */

/* A directory entry as scans and inserts keep it. */
typedef struct VxDirList
{
	uint32 list_id;
	BlockNumber head;
	BlockNumber cent_block;
	uint16 cent_slot;
	uint16 flags;
	uint32 rows;
	float r2;
	float norm2;
	float inv_norm;
	float key; /* distance or other order key, set by the caller's rule */
	BlockNumber dir_block;
	uint16 dir_slot;
} VxDirList;

/* Where the list's centroid is; the flat list has the centre. */
static inline VxCentPlace
vx_list_cent(const VxDirList *list)
{
	VxCentPlace place = {
		.block = list->cent_block,
		.slot = list->cent_slot,
		.owner =
			(list->flags & VX_DIR_ROOT) != 0 ? VX_LIST_CENTRE : list->list_id,
	};

	return place;
}

/*
 * Reads the whole directory as of ann->meta, one page at a time under share
 * lock, pending entries left out.  When query is given (prepared with
 * ann->coarse), key is the estimate of |q-c|^2 (L2, cosine) or -<q,c> (IP).
 * *lists is allocated in the current context; returns the count.
 */
extern int vx_dir_read(const VxAnnIndex *ann, const VxQuery *query,
					   VxDirList **lists);

/* The codes and factors of the entries of a directory, in its order. */
typedef struct VxDirCodes
{
	uint8 *codes;
	float *f;
	float *n;
	uint16 *sn;
	uint16 *en;
} VxDirCodes;

/* The same without a query, and with what is needed to score by one later. */
extern int vx_dir_read_codes(const VxAnnIndex *ann, VxDirList **lists,
							 VxDirCodes *codes);

/* Encodes centroid c as the directory keeps it. */
extern void vx_dir_entry_init(const VxAnnIndex *ann, VxDirEntry *entry,
							  const float *centroid, float *scratch);

/* --- build.c, train.c, write.c ----------------------------------------------- */

extern IndexBuildResult *annbuild(Relation heap, Relation index,
								  IndexInfo *index_info);
extern void annbuildempty(Relation index);
/* Name of a stage above, for pg_stat_progress_create_index. */
extern char *annbuildphasename(int64 phase);

/* --- insert.c ----------------------------------------------------------------- */

extern bool anninsert(Relation index, Datum *values, bool *isnull,
					  ItemPointer heap_tid, Relation heap,
					  IndexUniqueCheck check_unique, bool index_unchanged,
					  IndexInfo *index_info);

/* --- birth.c ------------------------------------------------------------------ */

/*
 * Makes the first list, with x as its centre, unless another backend was
 * faster.  Waits for the lock BIRTH; holds no content lock on entry and exit.
 */
extern void vx_ann_give_birth(VxAnnIndex *ann, const float *x);

/* --- vacuum.c ----------------------------------------------------------------- */

extern IndexBulkDeleteResult *annbulkdelete(IndexVacuumInfo *info,
											IndexBulkDeleteResult *stats,
											IndexBulkDeleteCallback callback,
											void *callback_state);
extern IndexBulkDeleteResult *annvacuumcleanup(IndexVacuumInfo *info,
											   IndexBulkDeleteResult *stats);

/* --- validate.c ---------------------------------------------------------------- */

extern bool annvalidate(Oid opclass);

/* --- scan.c -------------------------------------------------------------------- */

extern IndexScanDesc annbeginscan(Relation index, int nkeys, int norderbys);
extern void annrescan(IndexScanDesc scan, ScanKey keys, int nkeys,
					  ScanKey orderbys, int norderbys);
extern bool anngettuple(IndexScanDesc scan, ScanDirection direction);
extern int64 anngetbitmap(IndexScanDesc scan, TIDBitmap *bitmap);
extern void annendscan(IndexScanDesc scan);

/*
 * The rows the plan will ask for at most (LIMIT + OFFSET), told before the
 * first fetch; 0 = not known.
 */
extern void vx_ann_scan_set_bound(IndexScanDesc scan, int64 rows);

/* --- parallel.c ---------------------------------------------------------------- */

extern Size annestimateparallelscan(VX_COMPAT_ESTIMATE_PARALLEL_ARGS);
extern void anninitparallelscan(void *target);
extern void annparallelrescan(IndexScanDesc scan);

/*
 * The heavyweight lock SHAPE, exclusive, without waiting: no parallel scan of
 * the index runs until it is unlocked.  False when one runs now.
 */
extern bool vx_shape_try_lock(Relation index);
extern void vx_shape_unlock(Relation index);

/* --- last_scan.c --------------------------------------------------------------- */

/* Why a scan stopped visiting lists. */
typedef enum VxScanStop
{
	VX_STOP_NONE,	   /* it visited none: no row was asked for, or no query */
	VX_STOP_BUDGET,	   /* the rule of vector_ext.recall was content */
	VX_STOP_PROBES,	   /* vector_ext.probes lists were visited */
	VX_STOP_EXHAUSTED, /* every list was visited */
	VX_STOP_DRAINED,   /* a large share was wanted: everything was sorted */
	VX_STOP_GATE,	   /* few rows pass a gate: they were fetched as they are */
} VxScanStop;

/* The work of one scan, from rescan to rescan or end. */
typedef struct VxScanWork
{
	Oid index; /* InvalidOid: no scan yet */
	VxScanStop stop;
	int lists;			/* of the directory */
	int probed;			/* lists visited */
	int64 rounds;		/* see "Scan" in README.md */
	int64 entries;		/* live entries of the pages visited */
	int64 filtered;		/* of these, left out by conditions on columns */
	int64 refined;		/* of these, looked at beyond the first plane */
	int64 candidates;	/* whose bound made a look at the row worth while */
	int64 fetched;		/* heap rows looked up */
	int64 detoasted;	/* of these, with a vector out of line or compressed */
	int64 returned;		/* rows handed to the executor */
	int64 buffers_hit;	/* pages of index, table and TOAST found in memory */
	int64 buffers_read; /* and read */
} VxScanWork;

/* The work of the scan that ended last in this process. */
extern const VxScanWork *vx_ann_last_scan(void);

/* --- plan/cost.c ---------------------------------------------------------------- */

extern void anncostestimate(PlannerInfo *root, IndexPath *path,
							double loop_count, Cost *startup_cost,
							Cost *total_cost, Selectivity *selectivity,
							double *correlation, double *pages);

/* --- handlers.c ------------------------------------------------------------------ */

/* Is this relation an index of the access method `ann`? */
extern bool vx_is_ann_index(Relation index);

#endif
