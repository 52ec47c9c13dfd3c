/*
 * scan.h
 *		The state of an index scan, shared by the files that make it up.
 *
 *	probe.c			which list next, and when to stop
 *	walk.c			reading one list's pages; validation of what was read
 *	score.c			what is done with them: scoring, candidates
 *	group.c			scoring a lead whose codes are in two planes
 *	candidates.c	bounded sets: candidates by lower bound, handled rows
 *	rerank.c		exact distances from the heap
 *	ahead.c			asking for pages that are not in memory before their turn
 *	parallel.c		sharing the lists among processes
 *	drain.c			everything that is left, through sorts
 *	last_scan.c		what the scan that ended last has done
 *	range.c			rows within a distance
 *	rounds.c		the order of the steps
 *	scan.c			the callbacks
 *
 * The protocol is in src/ann/README.md, "Scan".
 */
#ifndef VX_ANN_SCAN_H
#define VX_ANN_SCAN_H

#include "ann/ann.h"
#include "ann/filter.h"
#include "ann/gate.h"

#include "executor/tuptable.h"
#include "utils/float.h"
#include "utils/tuplesort.h"

/* A heap pointer as a sortable integer. */
static inline uint64
vx_tid_number(const ItemPointerData *tid)
{
	return ((uint64) ItemPointerGetBlockNumberNoCheck(tid) << 16) |
		   ItemPointerGetOffsetNumberNoCheck(tid);
}

static inline void
vx_tid_from_number(uint64 number, ItemPointer tid)
{
	ItemPointerSet(tid, number >> 16, number & 0xFFFF);
}

/* --- candidates.c -------------------------------------------------------- */

/* A row that may be near: what the codes say. */
typedef struct VxCandidate
{
	float low; /* lower bound of the key */
	ItemPointerData tid;
} VxCandidate;

/* Min-heap by (low, tid) once heapified; a plain array while lists are walked. */
typedef struct VxCandidates
{
	VxCandidate *items;
	int64 count;
	int64 capacity;
	int64 limit; /* most that may be kept */
} VxCandidates;

extern void vx_candidates_init(VxCandidates *set, int64 limit);
/* Room for more items, dropping those above top; false when limit is hit. */
extern bool vx_candidates_reserve(VxCandidates *set, int more, float top);
extern void vx_candidates_heapify(VxCandidates *set);
extern VxCandidate vx_candidates_pop(VxCandidates *set);

/* The k smallest values seen: a max-heap. */
typedef struct VxSmallest
{
	double *items;
	int64 count;
	int64 k;
	double ceiling; /* nothing above it is of interest */
} VxSmallest;

extern void vx_smallest_init(VxSmallest *set, int64 k);
extern void vx_smallest_add(VxSmallest *set, double value);
/* The k-th smallest; the ceiling, +infinity by itself, while there are fewer. */
static inline double
vx_smallest_top(const VxSmallest *set)
{
	return set->count < set->k ? set->ceiling
							   : Min(set->items[0], set->ceiling);
}

/* Rows that were fetched from the heap: returned or rejected. */
typedef struct VxHandled VxHandled;

/* Bytes a row takes there, on average. */
#define VX_HANDLED_BYTES 32

extern VxHandled *vx_handled_create(void);
/* Adds; false when it was there already. */
extern bool vx_handled_add(VxHandled *set, uint64 tid);
extern bool vx_handled_has(VxHandled *set, uint64 tid);
extern int64 vx_handled_count(VxHandled *set);

/* --- the scan --------------------------------------------------------------- */

/* A row with its exact distance. */
typedef struct VxResult
{
	double key;		 /* what rows are ordered by: monotone in distance */
	double distance; /* what the operator returns */
	uint64 tid;
} VxResult;

/* What a walk noted of a list. */
typedef struct VxVisit
{
	bool walked;
	uint64 stamp; /* of the head, when the walk began */
} VxVisit;

/* What a participant of a parallel scan claimed of a list. */
typedef struct VxPart
{
	int list;			 /* its index in the order of visiting */
	BlockNumber first;	 /* from this lead; invalid: the whole list */
	BlockNumber last;	 /* to this one */
	BlockNumber run_end; /* of the list's consecutive leads */
	double share;		 /* of the list's leads */
	bool walked;
} VxPart;

/* A list's terms for whole codes, and for their signs (layout P). */
typedef struct VxTerms
{
	VxListQuery whole;
	VxListQuery signs;
} VxTerms;

/*
 * A lead and its code pages, while they are scored (layout P).  The arrays that
 * are not said to be of slots belong to the batch refined last.
 */
typedef struct VxGroup
{
	VxPlaneQuery query;
	uint8 *tables; /* its memory */
	BlockNumber block;
	Page lead;						/* copy of its used bytes */
	uint64 pass[VX_SLOT_WORDS_MAX]; /* slots that are looked at */
	int passed;						/* so many */
	bool sparse;					/* that blocks of signs are left out */
	int live;
	int rows;	  /* slots up to the last live one */
	int32 *sums;  /* of slots */
	uint16 *left; /* slots that the first stage left, in order */
	int left_count;
	int left_next;
	Buffer ahead; /* pin of the page of the next batch */
	int ahead_number;
	int count;
	uint16 *slots;
	uint16 *index;
	float *f;
	float *n;
	uint16 *sn;
	uint16 *en;
	int32 *dots;
	float *est;
	float *low;
} VxGroup;

typedef struct VxShared VxShared;

typedef enum VxScanPhase
{
	VX_SCAN_START, /* nothing read yet */
	VX_SCAN_TOP,   /* by candidates, in rounds of growing size */
	VX_SCAN_DRAIN, /* the rest, sorted by exact distance */
	VX_SCAN_ZERO,  /* rows whose distance is NaN */
	VX_SCAN_NULL,  /* rows whose distance is NULL */
	VX_SCAN_DONE,
} VxScanPhase;

typedef struct VxScan
{
	IndexScanDesc scan;
	VxAnnIndex ann;
	MemoryContext context;	   /* the scan's life */
	MemoryContext run_context; /* from rescan to rescan */
	MemoryContext row_context; /* one batch of heap rows */
	int64 bound;			   /* rows the plan asks for at most; 0 unknown */

	/* The query, from rescan. */
	bool ordered;	  /* there is an ORDER BY */
	bool nulls_first; /* rows whose distance is NULL go out first */
	bool nan_first;	  /* then those without one; else both go last */
	bool measured;	  /* rows have a distance from a query */
	bool ranged;	  /* rows beyond reach are not wanted */
	double reach;	  /* as a key */
	bool query_null;  /* every distance is NULL */
	bool query_nan;	  /* every distance of a vector is NaN */
	float *query_raw; /* as given */
	float *query_x;	  /* as the index sees it */
	bool query_ready; /* query is prepared */
	VxQuery query;	  /* for entries and for the directory, whose quantisers
					   * have one rotation and one centre */
	double query_norm;
	double recall; /* settings frozen at rescan */
	int probes;
	float eps;

	/* Conditions, from the start. */
	const VxGate *gate; /* NULL: all rows pass it; rescans do not change it */
	int64 gated;		/* rows that did not, in all runs */
	VxGateMaker gate_maker; /* to be asked for one later; or NULL */
	void *gate_arg;
	int64 gate_round; /* the first with the gate */
	VxFilter filter;
	bool narrow; /* rows with a vector are left out by it */
	bool exact;	 /* so few pass that all of them are fetched */
	bool direct; /* and come from the gate, not from the lists */
	int64 exact_rows;

	/* The directory, in the order of visiting. */
	VxDirList *lists;
	VxVisit *visits;
	int list_count;
	int next_list;		   /* first list the rule has not reached */
	double rows_total;	   /* of the directory */
	double rows_dense;	   /* in lists around the query */
	double rows_expected;  /* of the lists walked, by the directory */
	int64 rows_scanned;	   /* live entries of the lists walked */
	int64 rows_passed;	   /* those of them that passed the filter */
	double recent_scanned; /* of the last third of the lists, about */
	double recent_passed;

	/* The top phase. */
	VxScanPhase phase;
	int64 wanted;	  /* rows this round is to confirm, in all */
	double parameter; /* of the probing rule, for so many */
	double lambda;	  /* and under a filter */
	int64 returned;	  /* rows returned so far */
	bool exhausted;	  /* nothing is left for another round */
	bool cut;		  /* candidates above cut_key were left out */
	double cut_key;	  /* smallest bound that may have been left out */
	VxSmallest top;	  /* upper bounds of the wanted nearest */
	VxCandidates candidates;
	VxHandled *handled;
	int64 handled_limit; /* beyond, the scan drains */
	VxResult *results; /* fetched, not returned yet; sorted from next_result */
	int64 result_count;
	int64 result_capacity;
	int64 next_result;
	int64 confirmed; /* results before this one may be returned */

	/* Drain and special lists. */
	Tuplesortstate *sorted;
	TupleTableSlot *sorted_slot;
	uint64 sorted_last;
	bool sorted_any;

	BufferAccessStrategy ring; /* for the pages of lists; NULL = default */

	/* Heap access, see rerank.c. */
	struct VxHeap *heap;

	/* Scratch for one page's scores. */
	int32 *dots;
	float *est;
	float *low;
	float *centroid;
	VxGroup *group; /* layout P, else NULL */

	/* Of a parallel scan, see parallel.c. */
	VxShared *shared; /* NULL: this process scans everything */
	bool late;		  /* there is nothing left to claim */
	VxPart *parts;	  /* claimed by this process */
	int part_count;
	int part_capacity;
	const VxPart *part; /* that is being walked; NULL: whole lists are */
	double told_scanned;
	double told_expected;

	int64 rounds; /* of this run */
	VxScanWork work;

	/* See ahead.c. */
	int64 reads;	/* of this process when the run began */
	int asked_list; /* lists before this one need not be asked for */
} VxScan;

/* --- scan.c ------------------------------------------------------------------- */

/* Opens the index and allocates what a query is scored with. */
extern void vx_scan_init(VxScan *scan, Relation index);

/* --- rounds.c ----------------------------------------------------------------- */

/*
 * The next row, and whether its distance is NULL.  Without an ORDER BY the
 * distance means nothing.
 */
extern bool vx_scan_next(VxScan *scan, VxResult *result, bool *isnull);

/* The parts of it that a bitmap scan needs, too. */

/* Takes over keys and query.  False: no row can pass. */
extern bool vx_scan_conditions(VxScan *scan);
extern void vx_scan_set_query(VxScan *scan, Datum query);
/* Memory of the top phase, once the lists are known. */
extern void vx_scan_prepare(VxScan *scan);
/* What the next walk looks for: so many of the nearest rows. */
extern void vx_scan_aim(VxScan *scan, int64 rows);
/*
 * Walks until the rule is content and nothing read has changed since.  False: the
 * candidates' limit is hit.
 */
extern bool vx_scan_walk(VxScan *scan);

/* --- range.c ------------------------------------------------------------------ */

/*
 * Takes over what the scan keys say about the vector's distance, once the query
 * of the ORDER BY is known: scan->ranged, reach, and the query when there is no
 * other.  False: no row can be within.
 */
extern bool vx_range_init(VxScan *scan);

/* --- probe.c ------------------------------------------------------------------ */

/* Prepares the query against the centre, once the index is born. */
extern void vx_probe_prepare(VxScan *scan);

/*
 * Reads the directory and puts it in the order of visiting.  After a change of
 * the directory, what was walked of lists that are still there is kept.
 */
extern void vx_probe_order(VxScan *scan);

/* The rule's parameter for the recall asked for and the rows wanted. */
extern double vx_probe_parameter(const VxScan *scan);

/* How far beyond the k-th nearest row lists are visited under a filter. */
extern double vx_probe_lambda(const VxScan *scan);

/*
 * How much nearer than its centroid the nearest row of a list is, of which this
 * is the key: as a ratio of squared distances, or in deviations of its rows for
 * inner product.
 */
extern double vx_probe_spread(const VxScan *scan, const VxDirList *list,
							  double nearest);

/*
 * How much more than needed was scanned when a scan that wants so many rows, of
 * which top is the last one's key, stops before lists[next_list]: the rule stops
 * above its parameter.  0 where it must go on.
 */
extern double vx_probe_pressure(const VxScan *scan, double top, int64 wanted);

/* Is this round over before lists[next_list] is walked? */
extern bool vx_probe_stop(const VxScan *scan);

/* --- ahead.c -------------------------------------------------------------------- */

/* Called before the first page of a run is read. */
extern void vx_ahead_start(VxScan *scan);

/* Did this run have to read a page? */
static inline bool
vx_ahead_cold(const VxScan *scan)
{
	return vx_page_reads() != scan->reads;
}

/* Before lists[i] is walked: asks for its pages and those of some after it. */
extern void vx_ahead_lists(VxScan *scan, int i);

/*
 * Before the row tids[i] is fetched, of count in heap order: asks for pages of
 * rows after it.  Rows before asked were asked for; returns the new asked.
 */
extern int64 vx_ahead_rows(VxScan *scan, const uint64 *tids, int64 asked,
						   int64 i, int64 count);

/* --- walk.c --------------------------------------------------------------------- */

/*
 * What is done with a lead under its share lock.  Must not allocate, lock or
 * raise anything but vx_corrupt.  ahead is the page that comes next, pinned but
 * not locked: only its address may be used; NULL when it is not known.
 */
typedef void (*VxLeadVisit)(VxScan *scan, void *arg, Page page, Page ahead);
/* What is done before each page is locked (may allocate); false ends the walk. */
typedef bool (*VxLeadPrepare)(VxScan *scan, void *arg);
/*
 * What is done after a lead with live slots was visited and unlocked.  False: a
 * page that the lead named belongs to somebody else.
 */
typedef bool (*VxLeadFollow)(VxScan *scan, void *arg, BlockNumber block);

typedef struct VxVisitor
{
	VxLeadPrepare prepare;
	VxLeadVisit visit;
	VxLeadFollow follow; /* may be NULL */
	void *arg;
} VxVisitor;

/*
 * Walks the chain of a list.  On success *stamp is the head's stamp when the
 * walk began.  Returns false when the list is gone or kept changing: the round
 * is stale then.
 */
extern bool vx_walk_list(VxScan *scan, uint32 list_id, BlockNumber head,
						 const VxLeadLayout *layout, const VxVisitor *visitor,
						 uint64 *stamp);

/*
 * Takes a ring for the pages of lists, all of which will be read, when they are
 * so many that they would push out what others keep in shared_buffers.
 */
extern void vx_walk_ring(VxScan *scan);

/*
 * Scores the entries of a lead into scan->est and scan->low; returns how many
 * slots were scored, live or not.
 */
extern int vx_score_page(VxScan *scan, const VxListQuery *terms, Page page,
						 Page ahead);

/*
 * pass: the slots below rows of a lead that the scan looks at: live, and not left
 * out by the filter; returns how many.  Called with the lead locked.
 */
extern int vx_filter_slots(VxScan *scan, const VxLeadLayout *layout, Page page,
						   int rows, uint64 *pass);

/* Reads the list's centroid and prepares its terms.  False: the list is gone. */
extern bool vx_walk_start(VxScan *scan, const VxDirList *list, VxTerms *terms);

/* Adds the candidates of lists[i].  False: the candidates' limit is hit. */
extern bool vx_walk_candidates(VxScan *scan, int i);

/*
 * Did everything that was walked stay as it was?  Reads META, and the heads of
 * the walked lists when something changed.  On false the lists concerned are
 * unmarked and the META copy is the start copy of the next round.
 */
extern bool vx_walk_validate(VxScan *scan);

/* --- group.c ---------------------------------------------------------------------- */

/* In the current context. */
extern VxGroup *vx_group_create(const VxAnnIndex *ann);

/* A VxLeadVisit: copies the lead into scan->group. */
extern void vx_group_copy(VxScan *scan, void *arg, Page page, Page ahead);

/*
 * The first stage: estimates and bounds by the signs in scan->est and scan->low,
 * for scan->group->rows slots, live or not.  False: a code page belongs to
 * somebody else now, so the walk has to start over; also of vx_group_next.
 */
extern bool vx_group_first(VxScan *scan, const VxTerms *terms,
						   BlockNumber block);

/* Leaves the slots that pass, with bounds not above limit, to the second stage. */
extern void vx_group_keep(VxScan *scan, double limit);

/*
 * Refines the next slots that are left and still not above limit: group->count
 * of them, with group->slots, est and low; 0 at the end.
 */
extern bool vx_group_next(VxScan *scan, const VxTerms *terms, double limit);

/* --- parallel.c ------------------------------------------------------------------ */

/*
 * Joins a parallel scan, before META is copied.  False: another process takes
 * everything, and this one has no row to give.  With scan->shared set
 * afterwards, lists are walked by claims, and nothing needs to be validated.
 */
extern bool vx_parallel_join(VxScan *scan);

/* Once the directory is in order, before the first claim. */
extern void vx_parallel_open(VxScan *scan);
extern void vx_parallel_leave(VxScan *scan);

/*
 * Claims the next leads, as long as the probing rule wants more, or to the end.
 * NULL: no more.  The claim is kept in scan->parts.
 */
extern VxPart *vx_parallel_claim(VxScan *scan, bool everything);

/* Is it for this process to give the rows of a special list? */
extern bool vx_parallel_claim_special(VxScan *scan, int which);

/*
 * Walks what was claimed and is not walked, then claims more until the rule says
 * enough.  False: the candidates' limit is hit.
 */
extern bool vx_parallel_round(VxScan *scan);

/* --- rerank.c --------------------------------------------------------------------- */

extern struct VxHeap *vx_heap_open(VxScan *scan);
extern void vx_heap_close(struct VxHeap *heap);
/*
 * Unpins the page of the last row fetched: VACUUM could not prune it for as long
 * as a cursor rests.
 */
extern void vx_heap_release(struct VxHeap *heap);

/*
 * Fetches the row and computes its exact distance.  False when the row is not
 * visible to the scan's snapshot, or its values do not pass the filter.
 */
extern bool vx_heap_distance(VxScan *scan, uint64 tid, VxResult *result);

/*
 * Fetches candidates until wanted rows are confirmed, or no candidate is left
 * that could be among them.  Results are sorted; confirmed is set.
 */
extern void vx_rerank(VxScan *scan);

/* What rows are ordered by: monotone in the distance, as estimates are. */
extern double vx_distance_key(VxMetric metric, double distance);

/* Appends a result. */
extern void vx_result_add(VxScan *scan, const VxResult *result);

/* --- last_scan.c ------------------------------------------------------------------ */

/* Keeps the work of a run that ends, if it has begun. */
extern void vx_last_scan_keep(const VxScan *scan);

/* Counts the pages between a call with sign -1 and one with 1. */
extern void vx_last_scan_buffers(VxScan *scan, int sign);

/* --- drain.c ------------------------------------------------------------------------ */

/*
 * All rows of the ordinary lists that were not handled yet, with exact
 * distances, sorted by (distance, tid).
 */
extern void vx_drain_exact(VxScan *scan);

/* The rows of lists in heap order, without distances. */
#define VX_DRAIN_ORDINARY 1
#define VX_DRAIN_ZERO 2
#define VX_DRAIN_NULL 4

/* The lists that have rows which can pass the filter. */
static inline int
vx_filter_lists(const VxFilter *filter)
{
	int which = VX_DRAIN_ORDINARY | VX_DRAIN_ZERO | VX_DRAIN_NULL;

	if (filter->no_vectors)
		which &= VX_DRAIN_NULL;
	if (filter->no_zeros)
		which &= ~VX_DRAIN_ZERO;
	return filter->no_nulls ? which & ~VX_DRAIN_NULL : which;
}
extern void vx_drain_tids(VxScan *scan, int which);

/* All rows of the index into a bitmap; returns how many. */
extern int64 vx_drain_bitmap(VxScan *scan, TIDBitmap *bitmap, int which);

/* Next row of either sort; false at the end. */
extern bool vx_drain_next(VxScan *scan, VxResult *result);
extern void vx_drain_end(VxScan *scan);

#endif
