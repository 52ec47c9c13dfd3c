/*
 * recall.c
 *		ann_recall: the recall that an index gives now, on rows of its table.
 *
 * Some rows are taken as queries.  One pass over the table finds their true
 * nearest rows, then the index is asked at the current settings.  A row does not
 * count as its own neighbour.
 */
#include "postgres.h"

#include <math.h>

#include "access/genam.h"
#include "access/htup_details.h"
#include "access/table.h"
#include "catalog/index.h"
#include "common/pg_prng.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "portability/instr_time.h"
#include "utils/datum.h"
#include "utils/guc.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/snapmgr.h"

#include "ann/scan.h"
#include "ann/truth.h"
#include "inspect/inspect.h"
#include "vector_ext.h"

PG_FUNCTION_INFO_V1(ann_recall);

#define SAMPLE_MAX 2000
#define K_MAX 1000

/* Rows of one matrix product. */
#define BLOCK_ROWS 256

/* Distances so close are equal: vectors and their products are float4. */
#define TIE 1e-6

#define RECALL_COLUMNS 8

typedef struct Recall
{
	VxAnnIndex ann;
	Relation heap;
	Snapshot snapshot;
	int k;
	/* The queries. */
	int sample; /* wanted */
	int queries;
	int64 seen; /* rows that have a vector */
	Datum *values;
	uint64 *tids;
	float *q; /* as the index sees them */
	/* The pass for the truth. */
	VxTruth truth;
	MemoryContext row_context;
	float *x;
	ItemPointerData *block_tids;
	int filled;
	/* What came out. */
	int64 rows; /* ordinary ones */
	int answered;
	double recall;
	double entries;
	double probed;
	double milliseconds;
} Recall;

/* --- passes over the table ----------------------------------------------------- */

/* The reservoir of Vitter's algorithm R; nothing is detoasted yet. */
static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool alive, void *state)
{
	Recall *recall = state;
	uint64 at;

	CHECK_FOR_INTERRUPTS();
	if (isnull[0])
		return;
	recall->seen++;
	at = recall->queries;
	if (recall->queries == recall->sample)
		at = pg_prng_uint64_range(&pg_global_prng_state, 0, recall->seen - 1);
	if (at >= (uint64) recall->sample)
		return;
	if (at == (uint64) recall->queries)
		recall->queries++;
	else
		pfree(DatumGetPointer(recall->values[at]));
	recall->values[at] = datumCopy(values[0], false, -1);
	recall->tids[at] = vx_tid_number(tid);
}

/* Detoasts the queries and leaves out those without a direction. */
static void
prepare_queries(Recall *recall)
{
	int dims = recall->ann.dims;
	int kept = 0;

	for (int j = 0; j < recall->queries; j++)
	{
		Datum value = PointerGetDatum(PG_DETOAST_DATUM(recall->values[j]));
		float *q = recall->q + (Size) kept * dims;

		if (vx_ann_value(recall->ann.type, dims, value, false, q) !=
			VX_VALUE_ORDINARY)
			continue;
		recall->values[kept] = value;
		recall->tids[kept++] = recall->tids[j];
	}
	recall->queries = kept;
}

static void
feed_block(Recall *recall)
{
	CHECK_FOR_INTERRUPTS();
	vx_truth_feed(&recall->truth, recall->x, recall->block_tids, NULL,
				  recall->filled);
	recall->filled = 0;
}

static void
truth_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		  bool alive, void *state)
{
	Recall *recall = state;
	int dims = recall->ann.dims;
	MemoryContext caller = MemoryContextSwitchTo(recall->row_context);
	VxValueKind kind =
		vx_ann_value(recall->ann.type, dims, values[0], isnull[0],
					 recall->x + (Size) recall->filled * dims);

	MemoryContextSwitchTo(caller);
	MemoryContextReset(recall->row_context);
	if (kind != VX_VALUE_ORDINARY)
		return;
	recall->rows++;
	recall->block_tids[recall->filled++] = *tid;
	if (recall->filled == BLOCK_ROWS)
		feed_block(recall);
}

static void
find_truth(Recall *recall)
{
	int dims = recall->ann.dims;

	/* Without the library the truth is the same, and takes longer. */
	(void) vx_blas_open();
	vx_truth_init(&recall->truth, recall->ann.type->metric, dims, recall->q,
				  recall->queries, recall->k + 1, BLOCK_ROWS);
	recall->row_context = AllocSetContextCreate(
		CurrentMemoryContext, "ann_recall row", ALLOCSET_DEFAULT_SIZES);
	recall->x = MemoryContextAllocHuge(CurrentMemoryContext,
									   sizeof(float) * dims * BLOCK_ROWS);
	recall->block_tids = palloc(sizeof(ItemPointerData) * BLOCK_ROWS);
	vx_inspect_scan_table(recall->heap, recall->ann.index, recall->snapshot,
						  truth_row, recall);
	feed_block(recall);
}

/* --- the index's answer ------------------------------------------------------------ */

/* What the operator returns where rows are ordered by key. */
static double
distance_of(VxMetric metric, double key)
{
	switch (metric)
	{
		case VX_METRIC_L2:
			return sqrt(key);
		case VX_METRIC_IP:
			return key;
		case VX_METRIC_COSINE:
			return key / 2;
	}
	pg_unreachable();
}

/*
 * The distance of the farthest true neighbour and how many there are, the row
 * itself left out.
 */
static int
true_neighbours(Recall *recall, int query, double *farthest)
{
	int count;
	VxNear *near = vx_truth_sorted(&recall->truth, query, &count);
	int kept = 0;

	for (int i = 0; i < count && kept < recall->k; i++)
	{
		if (near[i].tid == recall->tids[query])
			continue;
		*farthest = distance_of(recall->ann.type->metric, near[i].key);
		kept++;
	}
	return kept;
}

/* The ORDER BY of the index's one operator. */
static void
init_order(Recall *recall, ScanKey key, Datum query)
{
	Relation index = recall->ann.index;
	Oid type = index->rd_opcintype[0];
	Oid operator= get_opfamily_member(index->rd_opfamily[0], type, type, 1);

	ScanKeyEntryInitialize(key, SK_ORDER_BY, 1, 1, type,
						   index->rd_indcollation[0], get_opcode(operator),
						   query);
}

/* How many of the first k rows, the query's own left out, are near enough. */
static int
count_near(Recall *recall, IndexScanDesc scan, int query, double reach)
{
	ItemPointer tid;
	int rows = 0;
	int near = 0;

	while (rows < recall->k &&
		   (tid = index_getnext_tid(scan, ForwardScanDirection)) != NULL)
	{
		if (vx_tid_number(tid) == recall->tids[query])
			continue;
		rows++;
		if (!scan->xs_orderbynulls[0] &&
			DatumGetFloat8(scan->xs_orderbyvals[0]) <= reach)
			near++;
	}
	return near;
}

static void
ask_index(Recall *recall, int query)
{
	double farthest = 0;
	int most = true_neighbours(recall, query, &farthest);
	const VxScanWork *work = vx_ann_last_scan();
	IndexScanDesc scan;
	ScanKeyData key;
	instr_time start;
	instr_time end;
	int near;

	if (most == 0)
		return;
	init_order(recall, &key, recall->values[query]);
	INSTR_TIME_SET_CURRENT(start);
	scan = vx_compat_beginscan_ordered(recall->heap, recall->ann.index,
									   recall->snapshot);
	index_rescan(scan, NULL, 0, &key, 1);
	vx_ann_scan_set_bound(scan, recall->k + 1);
	near =
		count_near(recall, scan, query, farthest + TIE * (1 + fabs(farthest)));
	index_endscan(scan);
	INSTR_TIME_SET_CURRENT(end);
	INSTR_TIME_SUBTRACT(end, start);
	recall->recall += (double) Min(near, most) / most;
	recall->milliseconds += INSTR_TIME_GET_MILLISEC(end);
	recall->entries += work->entries;
	recall->probed += work->probed;
	recall->answered++;
}

/* --- the function -------------------------------------------------------------------- */

static void
measure(Recall *recall)
{
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "ann_recall scan", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller;

	vx_ann_open(&recall->ann, recall->ann.index);
	recall->values = palloc(sizeof(Datum) * recall->sample);
	recall->tids = palloc(sizeof(uint64) * recall->sample);
	recall->q = MemoryContextAllocHuge(CurrentMemoryContext,
									   sizeof(float) * recall->ann.dims *
										   (Size) recall->sample);
	vx_inspect_scan_table(recall->heap, recall->ann.index, recall->snapshot,
						  sample_row, recall);
	prepare_queries(recall);
	if (recall->queries == 0)
		return;
	find_truth(recall);
	caller = MemoryContextSwitchTo(context);
	for (int j = 0; j < recall->queries; j++)
	{
		ask_index(recall, j);
		MemoryContextReset(context);
	}
	MemoryContextSwitchTo(caller);
}

/* As the owner: index expressions are code of theirs. */
static void
measure_as_owner(Recall *recall)
{
	int nest_level = NewGUCNestLevel();
	int security;
	Oid user;

	GetUserIdAndSecContext(&user, &security);
	SetUserIdAndSecContext(recall->heap->rd_rel->relowner,
						   security | SECURITY_RESTRICTED_OPERATION);
	vx_compat_restrict_search_path();
	recall->snapshot = vx_inspect_snapshot(recall->ann.index);
	measure(recall);
	UnregisterSnapshot(recall->snapshot);
	AtEOXact_GUC(false, nest_level);
	SetUserIdAndSecContext(user, security);
}

static Datum
make_result(FunctionCallInfo fcinfo, const Recall *recall)
{
	Datum values[RECALL_COLUMNS];
	bool nulls[RECALL_COLUMNS] = {false};
	double n = Max(recall->answered, 1);
	TupleDesc desc;

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	for (int i = 2; i < RECALL_COLUMNS; i++)
		nulls[i] = recall->answered == 0;
	nulls[3] = vx_probes > 0;
	values[0] = Int32GetDatum(recall->answered);
	values[1] = Int32GetDatum(recall->k);
	values[2] = Float8GetDatum(recall->recall / n);
	values[3] = Float8GetDatum(vx_recall);
	values[4] = Float8GetDatum(recall->probed / n);
	values[5] = Float8GetDatum(recall->entries / n);
	values[6] =
		Float8GetDatum(recall->entries / n / Max(recall->rows, INT64CONST(1)));
	values[7] = Float8GetDatum(recall->milliseconds / n);
	return HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls));
}

static int
argument(FunctionCallInfo fcinfo, int at, const char *name, int most)
{
	int value = PG_GETARG_INT32(at);

	if (value < 1 || value > most)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%s must be between 1 and %d, not %d", name,
							   most, value)));
	return value;
}

Datum
ann_recall(PG_FUNCTION_ARGS)
{
	Oid index_id = PG_GETARG_OID(0);
	Recall *recall = palloc0(sizeof(Recall));
	Oid heap_id;

	recall->k = argument(fcinfo, 1, "k", K_MAX);
	recall->sample = argument(fcinfo, 2, "sample", SAMPLE_MAX);
	vx_inspect_check_owner(index_id);
	/* The table before the index, as everybody does. */
	heap_id = IndexGetRelation(index_id, true);
	if (OidIsValid(heap_id))
		recall->heap = table_open(heap_id, AccessShareLock);
	recall->ann.index = vx_inspect_open(index_id, AccessShareLock);
	/* The index may have been dropped and its number used again meanwhile. */
	if (recall->heap == NULL ||
		recall->ann.index->rd_index->indrelid != heap_id)
		ereport(ERROR, (errcode(ERRCODE_UNDEFINED_TABLE),
						errmsg("could not open the table of index \"%s\"",
							   RelationGetRelationName(recall->ann.index))));
	measure_as_owner(recall);
	index_close(recall->ann.index, AccessShareLock);
	table_close(recall->heap, AccessShareLock);
	return make_result(fcinfo, recall);
}
