/*
 * info.c
 *		ann_info: one row about an index.
 *
 * Shows sizes and counts only, nothing of the rows, so everybody may call it.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "access/xlog.h"
#include "catalog/index.h"
#include "catalog/pg_class.h"
#include "access/tableam.h"
#include "access/transam.h"
#include "access/xact.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "storage/lmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"
#include "utils/snapmgr.h"

#include "compat.h"
#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(ann_info);

#define INFO_COLUMNS 21

void
vx_inspect_check_kind(Relation index)
{
	const char *name = RelationGetRelationName(index);

	if (index->rd_rel->relkind == RELKIND_PARTITIONED_INDEX)
		ereport(ERROR,
				(errcode(ERRCODE_WRONG_OBJECT_TYPE),
				 errmsg("\"%s\" is a partitioned index, without pages", name),
				 errhint("Name the index of a partition.")));
	if (!vx_is_ann_index(index))
		ereport(ERROR, (errcode(ERRCODE_WRONG_OBJECT_TYPE),
						errmsg("\"%s\" is not an ann index", name)));
}

Relation
vx_inspect_open(Oid index_id, LOCKMODE lock)
{
	Relation index = index_open(index_id, lock);
	const char *name = RelationGetRelationName(index);

	vx_inspect_check_kind(index);
	if (RELATION_IS_OTHER_TEMP(index))
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("cannot read temporary index \"%s\" of another session",
						name)));
	if (!index->rd_index->indisvalid)
		ereport(ERROR, (errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
						errmsg("index \"%s\" is not valid", name)));
	if (RecoveryInProgress() &&
		index->rd_rel->relpersistence == RELPERSISTENCE_UNLOGGED)
		ereport(ERROR,
				(errcode(ERRCODE_OBJECT_NOT_IN_PREREQUISITE_STATE),
				 errmsg("cannot read unlogged index \"%s\" during recovery",
						name)));
	return index;
}

void
vx_inspect_check_owner(Oid index_id)
{
	/* Of something that is not a relation, index_open complains. */
	if (get_rel_name(index_id) != NULL &&
		!vx_compat_is_relation_owner(index_id, GetUserId()))
		aclcheck_error(ACLCHECK_NOT_OWNER, OBJECT_INDEX,
					   get_rel_name(index_id));
}

Snapshot
vx_inspect_snapshot(Relation index)
{
	Snapshot snapshot = RegisterSnapshot(GetTransactionSnapshot());
	HeapTuple tuple = index->rd_indextuple;

	/* Rows that the index left out may still be visible to an old snapshot. */
	if (IsolationUsesXactSnapshot() && index->rd_index->indcheckxmin &&
		!TransactionIdPrecedes(HeapTupleHeaderGetXmin(tuple->t_data),
							   snapshot->xmin))
		ereport(ERROR, (errcode(ERRCODE_T_R_SERIALIZATION_FAILURE),
						errmsg("index \"%s\" cannot be compared with its table "
							   "in this transaction",
							   RelationGetRelationName(index)),
						errhint("Use READ COMMITTED or a new transaction.")));
	return snapshot;
}

void
vx_inspect_scan_table(Relation table, Relation index, Snapshot snapshot,
					  IndexBuildCallback callback, void *state)
{
	IndexInfo *info = BuildIndexInfo(index);
	TableScanDesc scan =
		table_beginscan_strat(table, snapshot, 0, NULL, true, false);

	/* A snapshot of our own instead of all rows, as amcheck does. */
	info->ii_Concurrent = true;
	info->ii_Unique = false;
	info->ii_ExclusionOps = NULL;
	info->ii_ExclusionProcs = NULL;
	info->ii_ExclusionStrats = NULL;
	table_index_build_scan(table, index, info, true, false, callback, state,
						   scan);
}

static const char *
metric_name(VxMetric metric)
{
	switch (metric)
	{
		case VX_METRIC_L2:
			return "l2";
		case VX_METRIC_IP:
			return "inner product";
		case VX_METRIC_COSINE:
			return "cosine";
	}
	return NULL;
}

/* What the directory says about the lists together. */
typedef struct Lists
{
	int count;
	bool flat;
	double rows;
	uint32 rows_max;
} Lists;

static void
sum_lists(const VxAnnIndex *ann, Lists *sum)
{
	VxDirList *lists;

	memset(sum, 0, sizeof(Lists));
	sum->count = vx_dir_read(ann, NULL, &lists);
	for (int i = 0; i < sum->count; i++)
	{
		sum->rows += lists[i].rows;
		sum->rows_max = Max(sum->rows_max, lists[i].rows);
	}
	/* Before the first vector there is no list; the first will be the flat one. */
	sum->flat = sum->count == 0 ||
				(sum->count == 1 && (lists[0].flags & VX_DIR_ROOT) != 0);
}

static int64
special_rows(const VxAnnIndex *ann, uint32 list_id, BlockNumber head)
{
	VxListCount count;

	if (!vx_inspect_count(ann, list_id, head, &count))
		vx_corrupt(ann->index, head, "not the head of list %u", list_id);
	return count.rows;
}

static void
fill(const VxAnnIndex *ann, Datum *values, bool *nulls)
{
	const VxMeta *meta = &ann->meta;
	int64 bytes = (int64) vx_page_count(ann->index) * BLCKSZ;
	Lists lists;
	int i = 0;

	sum_lists(ann, &lists);
	values[i++] = CStringGetTextDatum(metric_name(meta->metric));
	values[i++] = Int32GetDatum(meta->dims);
	values[i++] = Int32GetDatum(meta->bits);
	values[i++] = CStringGetTextDatum(
		meta->layout == VX_LAYOUT_PLANES ? "planes" : "whole");
	values[i++] = Int32GetDatum(meta->lists_option);
	values[i++] = Int32GetDatum(lists.count);
	values[i++] = BoolGetDatum(lists.flat);
	values[i++] = Int64GetDatum(meta->rows);
	values[i++] = Int64GetDatum(meta->dead_rows);
	values[i++] =
		Int64GetDatum(special_rows(ann, VX_LIST_NULL, meta->null_head));
	values[i++] =
		Int64GetDatum(special_rows(ann, VX_LIST_ZERO, meta->zero_head));
	values[i++] = Int64GetDatum(bytes / BLCKSZ);
	values[i++] = Int64GetDatum(bytes);
	nulls[i] = meta->rows == 0;
	values[i++] =
		Float8GetDatum((double) bytes / Max(meta->rows, UINT64CONST(1)));
	values[i++] = Int32GetDatum(meta->slots);
	values[i++] = Int64GetDatum(meta->seed);
	values[i++] = Int32GetDatum(meta->format);
	values[i++] = Int64GetDatum(meta->shape_seq);
	values[i++] = Float8GetDatum(sqrt(meta->r2));
	nulls[i] = lists.count == 0;
	values[i++] = Float8GetDatum(lists.rows / Max(lists.count, 1));
	nulls[i] = lists.count == 0;
	values[i++] = Int64GetDatum(lists.rows_max);
	Assert(i == INFO_COLUMNS);
}

Datum
ann_info(PG_FUNCTION_ARGS)
{
	Datum values[INFO_COLUMNS];
	bool nulls[INFO_COLUMNS] = {false};
	TupleDesc desc;
	VxAnnIndex ann;
	Relation index;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	index = vx_inspect_open(PG_GETARG_OID(0), AccessShareLock);
	vx_ann_open(&ann, index);
	fill(&ann, values, nulls);
	index_close(index, AccessShareLock);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
