/*
 * parallel.c
 *		Sharing a scan among processes: who walks which pages.
 *
 * Each participant gives the rows of the pages it claimed, in the order of exact
 * distance, and the executor merges these streams.  Claims are disjoint and
 * together cover what a serial scan would visit, so every row comes once.
 * Nothing needs to be validated, because the lock SHAPE keeps pages from being
 * unlinked and lists from changing while a participant has claims.  The protocol
 * is in src/ann/README.md, "Scan, parallel".
 */
#include "postgres.h"

#include "access/relscan.h"
#include "access/xlog.h"
#include "catalog/pg_class_d.h"
#include "miscadmin.h"
#include "storage/lock.h"
#include "storage/lwlock.h"

#include "ann/scan.h"
#include "compat.h"

/* LOCKTAG_OBJECT subid of SHAPE; core uses subid 0. */
#define SHAPE_SUBID 1

/* Entries of one claim of a long list, about: small beside a worker's start. */
#define CLAIM_ENTRIES 4096

/* Leads that a claim reads ahead where they are not consecutive. */
#define CHAIN_CLAIM_MAX 8

/* What the participants share.  lock protects the rest. */
struct VxShared
{
	LWLock lock;
	bool opened; /* a participant has come: the next two are set */
	bool whole;	 /* it takes everything */
	uint64 shape_seq;
	uint64 dir_epoch;
	int list;			 /* next to be claimed, or claimed in part */
	BlockNumber next;	 /* its first lead not claimed; invalid: all of it */
	BlockNumber run_end; /* its leads before this block are consecutive */
	BlockNumber stop;	 /* its tail, when its first lead was claimed */
	uint32 leads;		 /* it had so many then */
	int specials;		 /* VX_DRAIN_ZERO, VX_DRAIN_NULL: claimed */
	int64 bound;		 /* largest that a participant knows */
	double scanned;		 /* entries, of all participants */
	double expected;	 /* the same by the directory */
};

/* --- the lock SHAPE ----------------------------------------------------------- */

static void
shape_tag(LOCKTAG *tag, Relation index)
{
	SET_LOCKTAG_OBJECT(*tag, MyDatabaseId, RelationRelationId,
					   RelationGetRelid(index), SHAPE_SUBID);
}

bool
vx_shape_try_lock(Relation index)
{
	LOCKTAG tag;

	shape_tag(&tag, index);
	return LockAcquire(&tag, ExclusiveLock, false, true) !=
		   LOCKACQUIRE_NOT_AVAIL;
}

void
vx_shape_unlock(Relation index)
{
	LOCKTAG tag;

	shape_tag(&tag, index);
	LockRelease(&tag, ExclusiveLock, false);
}

/* --- callbacks ------------------------------------------------------------------ */

Size
annestimateparallelscan(VX_COMPAT_ESTIMATE_PARALLEL_ARGS)
{
	return sizeof(VxShared);
}

static void
reset(VxShared *shared)
{
	shared->opened = shared->whole = false;
	shared->list = 0;
	shared->next = InvalidBlockNumber;
	shared->specials = 0;
	shared->scanned = shared->expected = 0;
}

void
anninitparallelscan(void *target)
{
	VxShared *shared = target;

	LWLockInitialize(&shared->lock, LWTRANCHE_PARALLEL_QUERY_DSA);
	shared->bound = 0;
	reset(shared);
}

/* No participant is active: the leader calls it before workers start again. */
void
annparallelrescan(IndexScanDesc desc)
{
	VxShared *shared = vx_compat_parallel_state(desc);

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	reset(shared);
	LWLockRelease(&shared->lock);
}

/* --- joining and leaving ---------------------------------------------------------- */

/*
 * One participant takes everything where nothing can be shared: during recovery,
 * when the lock SHAPE is not to be had, and for a query without distances, whose
 * rows come in heap order.
 */
bool
vx_parallel_join(VxScan *scan)
{
	VxShared *shared = vx_compat_parallel_state(scan->scan);
	bool whole = RecoveryInProgress() || !scan->measured || scan->query_nan;
	bool mine;
	LOCKTAG tag;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	mine = whole ? !shared->opened : !shared->whole;
	if (whole)
		shared->opened = shared->whole = true;
	/* A worker does not see the LIMIT if other nodes are between. */
	shared->bound = Max(shared->bound, scan->bound);
	if (scan->bound == 0)
		scan->bound = shared->bound;
	LWLockRelease(&shared->lock);
	if (whole || !mine)
		return mine;

	shape_tag(&tag, scan->ann.index);
	(void) LockAcquire(&tag, ShareLock, false, false);
	scan->shared = shared;
	return true;
}

/*
 * The first participant's shape counts.  It differs for one that comes when
 * others have ended, and then it is not needed; or an index was born meanwhile,
 * and then its rows are too young for this scan.
 */
void
vx_parallel_open(VxScan *scan)
{
	VxShared *shared = scan->shared;
	const VxMeta *meta = &scan->ann.meta;

	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	if (!shared->opened)
	{
		shared->opened = true;
		shared->shape_seq = meta->shape_seq;
		shared->dir_epoch = meta->dir_epoch;
	}
	scan->late = shared->shape_seq != meta->shape_seq ||
				 shared->dir_epoch != meta->dir_epoch;
	LWLockRelease(&shared->lock);
}

/* The shared memory may be gone by now. */
void
vx_parallel_leave(VxScan *scan)
{
	LOCKTAG tag;

	if (scan->shared != NULL)
	{
		shape_tag(&tag, scan->ann.index);
		LockRelease(&tag, ShareLock, false);
	}
	scan->shared = NULL;
	scan->late = false;
	scan->parts = NULL;
	scan->part = NULL;
	scan->part_count = scan->part_capacity = 0;
	scan->told_scanned = scan->told_expected = 0;
}

/* --- claims ------------------------------------------------------------------------- */

/* Leads that one claim of consecutive ones takes. */
static uint32
claim_leads(const VxScan *scan)
{
	return Max(1, CLAIM_ENTRIES / scan->ann.lead.slots);
}

/* Copies a lead of the list; its place cannot have changed. */
static VxLead
read_lead(VxScan *scan, const VxDirList *list, BlockNumber block)
{
	Buffer buffer;
	Page page = vx_lead_lock(scan->ann.index, block, VX_SHARE, list->list_id,
							 scan->ring, &buffer);
	VxLead lead;

	if (page == NULL)
		vx_corrupt(scan->ann.index, block, "no lead of list %u here",
				   list->list_id);
	lead = *vx_page_lead(page);
	vx_page_unlock(buffer);
	return lead;
}

/* Tells what was scanned since the last time; pages walked again do not count. */
static void
tell_work(VxScan *scan, VxShared *shared)
{
	shared->scanned += Max(0, scan->rows_scanned - scan->told_scanned);
	shared->expected += Max(0, scan->rows_expected - scan->told_expected);
	scan->told_scanned = Max(scan->told_scanned, scan->rows_scanned);
	scan->told_expected = Max(scan->told_expected, scan->rows_expected);
}

/* The probing rule, for what all participants have scanned. */
static bool
enough(VxScan *scan, const VxShared *shared)
{
	int64 scanned = scan->rows_scanned;
	double expected = scan->rows_expected;
	bool stop;

	scan->rows_scanned = shared->scanned;
	scan->rows_expected = shared->expected;
	stop = vx_probe_stop(scan);
	scan->rows_scanned = scanned;
	scan->rows_expected = expected;
	return stop;
}

/* The next leads of the list that is claimed in part. */
static void
claim_leads_of(VxScan *scan, VxShared *shared, VxPart *part)
{
	const VxDirList *list = &scan->lists[shared->list];
	uint32 leads = claim_leads(scan);
	BlockNumber next;

	part->first = part->last = shared->next;
	part->run_end = shared->run_end;
	if (part->first < shared->run_end && part->first >= list->head)
	{
		leads = Min(leads, shared->run_end - part->first);
		part->last = part->first + leads - 1;
		next = part->last + 1;
		if (next == shared->run_end && part->last != shared->stop)
			next = read_lead(scan, list, part->last).next;
	}
	else
	{
		uint32 most = Min(leads, CHAIN_CLAIM_MAX);

		leads = 1;
		next = read_lead(scan, list, part->last).next;
		while (leads < most && part->last != shared->stop)
		{
			part->last = next;
			next = read_lead(scan, list, next).next;
			leads++;
		}
	}
	part->share = (double) leads / Max(leads, shared->leads);
	shared->next = next;
	if (part->last == shared->stop)
	{
		shared->next = InvalidBlockNumber;
		shared->list++;
	}
	else if (next == InvalidBlockNumber)
		vx_corrupt(scan->ann.index, part->last,
				   "chain of list %u ends before its tail", list->list_id);
}

/* A list that no one has claimed yet: whole, or its first leads. */
static void
claim_list(VxScan *scan, VxShared *shared, VxPart *part)
{
	const VxDirList *list = &scan->lists[shared->list];
	VxLead head;

	/* The directory counts the rows as of the last VACUUM. */
	if (!(list->flags & VX_DIR_ROOT) && list->rows <= 2 * CLAIM_ENTRIES)
	{
		part->first = part->last = InvalidBlockNumber;
		part->share = 1;
		shared->list++;
		return;
	}
	head = read_lead(scan, list, list->head);
	if (!(head.flags & VX_LEAD_HEAD))
		vx_corrupt(scan->ann.index, list->head, "list %u starts without a head",
				   list->list_id);
	shared->next = list->head;
	shared->run_end = list->head + head.lead_run;
	shared->stop = head.tail_block;
	shared->leads = head.lead_pages;
	claim_leads_of(scan, shared, part);
}

/* Room for one more claim. */
static void
reserve_part(VxScan *scan)
{
	if (scan->part_count < scan->part_capacity)
		return;
	scan->part_capacity = Max(64, 2 * scan->part_capacity);
	scan->parts =
		scan->parts == NULL
			? MemoryContextAlloc(scan->run_context,
								 sizeof(VxPart) * scan->part_capacity)
			: repalloc_huge(scan->parts, sizeof(VxPart) * scan->part_capacity);
}

VxPart *
vx_parallel_claim(VxScan *scan, bool everything)
{
	VxShared *shared = scan->shared;
	VxPart part = {0};
	bool claimed = true;

	CHECK_FOR_INTERRUPTS();
	if (scan->late)
	{
		scan->next_list = scan->list_count;
		return NULL;
	}
	reserve_part(scan);
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	tell_work(scan, shared);
	scan->next_list = part.list = shared->list;
	if (shared->next != InvalidBlockNumber)
		claim_leads_of(scan, shared, &part);
	else if (part.list < scan->list_count &&
			 (everything || !enough(scan, shared)))
		claim_list(scan, shared, &part);
	else
		claimed = false;
	scan->next_list = shared->list;
	LWLockRelease(&shared->lock);
	if (!claimed)
		return NULL;
	scan->parts[scan->part_count] = part;
	return &scan->parts[scan->part_count++];
}

bool
vx_parallel_claim_special(VxScan *scan, int which)
{
	VxShared *shared = scan->shared;
	bool mine;

	if (shared == NULL)
		return true;
	LWLockAcquire(&shared->lock, LW_EXCLUSIVE);
	mine = (shared->specials & which) == 0;
	shared->specials |= which;
	LWLockRelease(&shared->lock);
	return mine;
}

/* --- a round -------------------------------------------------------------------------- */

/* Adds the candidates of a claim.  False: the candidates' limit is hit. */
static bool
walk_part(VxScan *scan, VxPart *part)
{
	VxVisit *visit = &scan->visits[part->list];
	bool room;

	scan->part = BlockNumberIsValid(part->first) ? part : NULL;
	visit->walked = false;
	room = vx_walk_candidates(scan, part->list);
	scan->part = NULL;
	if (room && !visit->walked)
		vx_corrupt(scan->ann.index, scan->lists[part->list].head,
				   "list %u is not where the directory says",
				   scan->lists[part->list].list_id);
	part->walked = visit->walked;
	return room;
}

bool
vx_parallel_round(VxScan *scan)
{
	VxPart *part;

	for (int i = 0; i < scan->part_count; i++)
		if (!scan->parts[i].walked && !walk_part(scan, &scan->parts[i]))
			return false;
	while ((part = vx_parallel_claim(scan, false)) != NULL)
		if (!walk_part(scan, part))
			return false;
	return true;
}
