/*
 * compat.h
 *		What differs between PostgreSQL 15, 16, 17 and 18.
 *
 * The only file that looks at PG_VERSION_NUM.  Each entry gives one name that
 * means the same on every version.
 */
#ifndef VX_COMPAT_H
#define VX_COMPAT_H

#include "postgres.h"

#include "access/amapi.h"
#include "access/genam.h"
#include "access/htup_details.h"
#include "access/relscan.h"
#include "access/stratnum.h"
#include "access/xact.h"
#include "catalog/pg_class.h"
#include "commands/vacuum.h"
#include "nodes/execnodes.h"
#include "nodes/tidbitmap.h"
#include "executor/executor.h"
#include "miscadmin.h"
#include "nodes/pathnodes.h"
#include "optimizer/optimizer.h"
#include "optimizer/paths.h"
#include "storage/bufmgr.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/guc.h"
#include "utils/rel.h"
#include "utils/tuplesort.h"

#if PG_VERSION_NUM < 150000
#error "vector_ext needs PostgreSQL 15 or later"
#endif

/* What a node adds to EXPLAIN has had a header of its own since version 18. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#include "commands/explain_state.h"
#else
#include "commands/explain.h"
#endif

/* SET_VARSIZE and its like came with postgres.h up to version 15. */
#if PG_VERSION_NUM >= 160000
#include "varatt.h"
#endif

/* What a node shows in EXPLAIN came with commands/explain.h up to version 17. */
#if PG_VERSION_NUM >= 180000
#include "commands/explain_format.h"
#endif

/* Before the declaration of a function that does not return. */
#if PG_VERSION_NUM < 180000
#define pg_noreturn pg_attribute_noreturn()
#endif

/*
 * Errors that the caller of an input function may ask to get back in context,
 * then "return value" follows.  Up to version 15 nobody can ask.
 */
#if PG_VERSION_NUM < 160000
#define ereturn(context, value, ...)                                           \
	do                                                                         \
	{                                                                          \
		(void) (context);                                                      \
		ereport(ERROR, __VA_ARGS__);                                           \
		return value;                                                          \
	} while (0)
#endif

/* Up to version 15 a file grows by reading block P_NEW (page/alloc.c). */
#if PG_VERSION_NUM < 160000
#define VX_COMPAT_EXTEND_BY_READ
#endif

/* VACUUM's cost-based sleep and check for interrupts. */
static inline void
vx_compat_vacuum_delay(void)
{
#if PG_VERSION_NUM >= 180000
	vacuum_delay_point(false);
#else
	vacuum_delay_point();
#endif
}

/*
 * Pins a block that is probably in the buffer hint; false when it is not there.
 */
static inline bool
vx_compat_read_recent(Relation rel, BlockNumber block, Buffer hint)
{
#if PG_VERSION_NUM >= 160000
	return ReadRecentBuffer(rel->rd_locator, MAIN_FORKNUM, block, hint);
#else
	return ReadRecentBuffer(rel->rd_node, MAIN_FORKNUM, block, hint);
#endif
}

/* Next datum of a sort, not copied; false at the end. */
static inline bool
vx_compat_sort_getdatum(Tuplesortstate *sort, Datum *value, bool *isnull)
{
#if PG_VERSION_NUM >= 160000
	return tuplesort_getdatum(sort, true, false, value, isnull, NULL);
#else
	return tuplesort_getdatum(sort, true, value, isnull, NULL);
#endif
}

/* A minimal tuple in the current memory context. */
static inline MinimalTuple
vx_compat_form_minimal_tuple(TupleDesc desc, Datum *values, bool *isnull)
{
#if PG_VERSION_NUM >= 180000
	return heap_form_minimal_tuple(desc, values, isnull, 0);
#else
	return heap_form_minimal_tuple(desc, values, isnull);
#endif
}

/* Begins the index scan of an executor node, as its first fetch would. */
static inline IndexScanDesc
vx_compat_beginscan(IndexScanState *node, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc,
						   snapshot, &node->iss_Instrument,
						   node->iss_NumScanKeys, node->iss_NumOrderByKeys);
#else
	return index_beginscan(node->ss.ss_currentRelation, node->iss_RelationDesc,
						   snapshot, node->iss_NumScanKeys,
						   node->iss_NumOrderByKeys);
#endif
}

/*
 * Workers for a build.  Core asks for them only where it knows that an access
 * method can use them: from 17 on by amcanbuildparallel, before for btree alone.
 */
static inline int
vx_compat_build_workers(Relation heap, Relation index, IndexInfo *info)
{
#if PG_VERSION_NUM >= 170000
	return info->ii_ParallelWorkers;
#else
	if (!IsNormalProcessingMode() || IsInParallelMode())
		return 0;
	return plan_create_index_workers(RelationGetRelid(heap),
									 RelationGetRelid(index));
#endif
}

/* Tells core from 17 on that builds can use workers. */
static inline void
vx_compat_can_build_parallel(IndexAmRoutine *am)
{
#if PG_VERSION_NUM >= 170000
	am->amcanbuildparallel = true;
#endif
}

/* Begins an ordered index scan outside of the executor. */
static inline IndexScanDesc
vx_compat_beginscan_ordered(Relation heap, Relation index, Snapshot snapshot)
{
#if PG_VERSION_NUM >= 180000
	return index_beginscan(heap, index, snapshot, NULL, 0, 1);
#else
	return index_beginscan(heap, index, snapshot, 0, 1);
#endif
}

/* What is asked about the size of a parallel scan's shared memory. */
#if PG_VERSION_NUM >= 180000
#define VX_COMPAT_ESTIMATE_PARALLEL_ARGS                                       \
	Relation index, int nkeys, int norderbys
#elif PG_VERSION_NUM >= 170000
#define VX_COMPAT_ESTIMATE_PARALLEL_ARGS int nkeys, int norderbys
#else
#define VX_COMPAT_ESTIMATE_PARALLEL_ARGS void
#endif

/* The access method's part of a parallel scan's shared memory. */
static inline void *
vx_compat_parallel_state(IndexScanDesc scan)
{
#if PG_VERSION_NUM >= 180000
	return OffsetToPointer(scan->parallel_scan,
						   scan->parallel_scan->ps_offset_am);
#else
	return OffsetToPointer(scan->parallel_scan, scan->parallel_scan->ps_offset);
#endif
}

/* What follows the count among the arguments of ExecutorRun_hook. */
#if PG_VERSION_NUM >= 180000
#define VX_COMPAT_RUN_ONCE_ARG
#define VX_COMPAT_RUN_ONCE
#else
#define VX_COMPAT_RUN_ONCE_ARG , bool once
#define VX_COMPAT_RUN_ONCE , once
#endif

/* One more search of the index, for EXPLAIN. */
static inline void
vx_compat_count_search(IndexScanDesc scan)
{
#if PG_VERSION_NUM >= 180000
	if (scan->instrument)
		scan->instrument->nsearches++;
#endif
}

/*
 * Keeps the planner from a path that has an infinite cost already.  Version 18
 * counts what is disabled before it looks at costs, so a path has to be worse
 * there than the scan of a table by enable_seqscan = off.
 */
static inline void
vx_compat_forbid_path(Path *path)
{
#if PG_VERSION_NUM >= 180000
	path->disabled_nodes += 2;
#endif
}

/* Is the path key's order from high to low? */
static inline bool
vx_compat_descends(const PathKey *key)
{
#if PG_VERSION_NUM >= 180000
	return key->pk_cmptype == COMPARE_GT;
#else
	return key->pk_strategy == BTGreaterStrategyNumber;
#endif
}

/* The members of an equivalence class that concern a relation, one by one. */
typedef struct VxMemberIterator
{
#if PG_VERSION_NUM >= 180000
	EquivalenceMemberIterator core;
#else
	const List *members;
	int next;
#endif
} VxMemberIterator;

static inline void
vx_compat_members_begin(VxMemberIterator *iterator, EquivalenceClass *class,
						Relids relids)
{
#if PG_VERSION_NUM >= 180000
	setup_eclass_member_iterator(&iterator->core, class, relids);
#else
	(void) relids;
	iterator->members = class->ec_members;
	iterator->next = 0;
#endif
}

static inline EquivalenceMember *
vx_compat_members_next(VxMemberIterator *iterator)
{
#if PG_VERSION_NUM >= 180000
	return eclass_member_iterator_next(&iterator->core);
#else
	if (iterator->next >= list_length(iterator->members))
		return NULL;
	return (EquivalenceMember *) list_nth(iterator->members, iterator->next++);
#endif
}

/* A page of a bitmap of heap pointers: its pointers, or none that are known. */
typedef struct VxBitmapPage
{
	BlockNumber block;
	bool lossy;
	int count;
	OffsetNumber offsets[MaxHeapTuplesPerPage];
} VxBitmapPage;

#if PG_VERSION_NUM >= 180000
typedef TBMPrivateIterator VxBitmapIterator;
#else
typedef TBMIterator VxBitmapIterator;
#endif

static inline VxBitmapIterator *
vx_compat_bitmap_begin(TIDBitmap *bitmap)
{
#if PG_VERSION_NUM >= 180000
	return tbm_begin_private_iterate(bitmap);
#else
	return tbm_begin_iterate(bitmap);
#endif
}

static inline void
vx_compat_bitmap_end(VxBitmapIterator *iterator)
{
#if PG_VERSION_NUM >= 180000
	tbm_end_private_iterate(iterator);
#else
	tbm_end_iterate(iterator);
#endif
}

/* The next page; false at the end. */
static inline bool
vx_compat_bitmap_next(VxBitmapIterator *iterator, VxBitmapPage *page)
{
#if PG_VERSION_NUM >= 180000
	TBMIterateResult result;

	if (!tbm_private_iterate(iterator, &result))
		return false;
	page->block = result.blockno;
	page->lossy = result.lossy;
	page->count = page->lossy ? 0
							  : tbm_extract_page_tuple(&result, page->offsets,
													   MaxHeapTuplesPerPage);
#else
	TBMIterateResult *result = tbm_iterate(iterator);

	if (result == NULL)
		return false;
	page->block = result->blockno;
	page->lossy = result->ntuples < 0;
	page->count = page->lossy ? 0 : result->ntuples;
	memcpy(page->offsets, result->offsets, sizeof(OffsetNumber) * page->count);
#endif
	return true;
}

/* ERROR 42501 unless the current user may run the plan. */
static inline void
vx_compat_check_permissions(const PlannedStmt *plan)
{
#if PG_VERSION_NUM >= 160000
	ExecCheckPermissions(plan->rtable, plan->permInfos, true);
#else
	ExecCheckRTPerms(plan->rtable, true);
#endif
}

static inline bool
vx_compat_is_relation_owner(Oid relation, Oid role)
{
#if PG_VERSION_NUM >= 160000
	return object_ownercheck(RelationRelationId, relation, role);
#else
	return pg_class_ownercheck(relation, role);
#endif
}

/* Before code of a table's owner runs; earlier versions have no such habit. */
static inline void
vx_compat_restrict_search_path(void)
{
#if PG_VERSION_NUM >= 170000
	RestrictSearchPath();
#endif
}

#endif
