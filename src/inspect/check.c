/*
 * check.c
 *		ann_check: verifies the numbered invariants of docs/format.md.
 *
 * Locks: AccessShareLock on the index, and on the table the lock that VACUUM
 * takes, so that no page is unlinked and no heap pointer used again meanwhile;
 * inserts and scans go on.  A standby cannot take that lock, so there only
 * single pages are checked.
 */
#include "postgres.h"

#include "access/htup_details.h"
#include "access/table.h"
#include "access/transam.h"
#include "access/xact.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "commands/tablecmds.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "inspect/check.h"

PG_FUNCTION_INFO_V1(ann_check);

/* What holds between pages, and of each page on the way. */
static void
check_structure(VxCheck *check)
{
	/* After the snapshot and the lock: what is named now stays named. */
	vx_check_read_kind(check, VX_META_BLOCK, VX_PAGE_META, "I1");
	vx_check_page(check, VX_META_BLOCK);
	vx_tids_begin(&check->tids);
	vx_check_directory(check);
	vx_check_centroids(check);
	vx_check_lists(check);
	vx_check_rest(check);
	vx_tids_sort(&check->tids);
}

static void
check_index(VxCheck *check, Relation heap, Snapshot snapshot)
{
	vx_ann_open(&check->ann, check->index);
	check->strategy = GetAccessStrategy(BAS_BULKREAD);
	check->scratch = palloc(sizeof(float) * 3 * check->ann.dims);
	check->blocks = vx_page_count(check->index);
	vx_blocks_init(&check->reachable, check->blocks);
	if (!check->locked)
	{
		vx_check_rest(check);
		ereport(NOTICE,
				(errmsg("only single pages are checked during recovery")));
		return;
	}
	check_structure(check);
	if (snapshot != InvalidSnapshot)
		vx_check_heap(check, heap, snapshot);
	else
		vx_check_tids(check);
	vx_tids_end(&check->tids);
}

/*
 * The same as the owner of the table: index expressions are code of theirs, and
 * must not run with the caller's rights.
 */
static void
check_as_owner(VxCheck *check, Relation heap, bool heapallindexed)
{
	Snapshot snapshot = InvalidSnapshot;
	int nest_level = NewGUCNestLevel();
	int security;
	Oid user;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(heap->rd_rel->relowner,
						   security | SECURITY_RESTRICTED_OPERATION);
	vx_compat_restrict_search_path();
	if (heapallindexed)
		snapshot = vx_inspect_snapshot(check->index);
	check_index(check, heap, snapshot);
	if (snapshot != InvalidSnapshot)
		UnregisterSnapshot(snapshot);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
}

static Datum
make_result(FunctionCallInfo fcinfo, const VxCheck *check)
{
	Datum values[3];
	bool nulls[3] = {false};
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	values[0] = Int64GetDatum(check->blocks);
	values[1] = Int64GetDatum(check->rows);
	values[2] = Int64GetDatum(check->leaked);
	return HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

Datum
ann_check(PG_FUNCTION_ARGS)
{
	Oid index_id = PG_GETARG_OID(0);
	bool heapallindexed = PG_GETARG_BOOL(1);
	bool recovery = RecoveryInProgress();
	LOCKMODE lock = recovery ? AccessShareLock : ShareUpdateExclusiveLock;
	VxCheck *check = palloc0(sizeof(VxCheck));
	Relation heap = NULL;
	Oid heap_id;

	if (recovery && heapallindexed)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("cannot check heap rows during recovery")));
	vx_inspect_check_owner(index_id);
	/* The table before the index, as everybody does. */
	heap_id = IndexGetRelation(index_id, true);
	if (OidIsValid(heap_id))
		heap = table_open(heap_id, lock);
	check->index = vx_inspect_open(index_id, AccessShareLock);
	check->locked = !recovery;
	/* The index may have been dropped and its number used again meanwhile. */
	if (heap == NULL || heap_id != IndexGetRelation(index_id, false))
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("could not open the table of index \"%s\"",
							   RelationGetRelationName(check->index))));
	check_as_owner(check, heap, heapallindexed);
	index_close(check->index, AccessShareLock);
	table_close(heap, lock);
	PG_RETURN_DATUM(make_result(fcinfo, check));
}
