/*
 * build.c
 *		CREATE INDEX: the order of its steps, and the pass over the heap that
 *		assigns every row to a list and encodes it.
 *
 * Two passes: the sample that trains the centroids, and the rows.  Memory is
 * bounded by maintenance_work_mem: what the lists and one block of rows leave
 * goes to the sort.
 */
#include "postgres.h"

#include <float.h>

#include "access/parallel.h"
#include "access/tableam.h"
#include "commands/progress.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/rel.h"

#include "ann/build.h"
#include "compat.h"

/* Rows of a block when there is one list, and no matrix product to feed. */
#define FLAT_BLOCK_ROWS 64

/* The part of the memory that a block of rows may take. */
#define BLOCK_SHARE 8

/* --- progress ------------------------------------------------------------------- */

char *
annbuildphasename(int64 phase)
{
	switch (phase)
	{
		case PROGRESS_CREATEIDX_SUBPHASE_INITIALIZE:
			return "initializing";
		case VX_PROGRESS_SAMPLE:
			return "sampling rows";
		case VX_PROGRESS_KMEANS:
			return "clustering";
		case VX_PROGRESS_ASSIGN:
			return "assigning rows to lists";
		case VX_PROGRESS_CALIBRATE:
			return "calibrating";
		case VX_PROGRESS_WRITE:
			return "writing lists";
		default:
			return NULL;
	}
}

void
vx_build_stage(int stage, int64 total)
{
	const int params[] = {PROGRESS_CREATEIDX_SUBPHASE,
						  PROGRESS_CREATEIDX_TUPLES_TOTAL,
						  PROGRESS_CREATEIDX_TUPLES_DONE};
	const int64 values[] = {stage, total, 0};

	pgstat_progress_update_multi_param(3, params, values);
}

/* --- dimensions ------------------------------------------------------------------- */

/* What the column or the option says; 0 when neither does. */
static int
declared_dims(Relation index, const VxAnnOptions *options)
{
	Form_pg_attribute column = TupleDescAttr(RelationGetDescr(index), 0);
	int32 typmod = column->atttypmod;

	/* Of a domain, that of the type below. */
	(void) getBaseTypeAndTypmod(column->atttypid, &typmod);
	if (typmod <= 0)
		return options->dimensions;
	if (options->dimensions > 0 && options->dimensions != typmod)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("option dimensions is %d, but the column has %d "
							   "dimensions",
							   options->dimensions, typmod)));
	return typmod;
}

static void
require_dims(int dims)
{
	if (dims > 0)
		return;
	ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
					errmsg("column has no dimension"),
					errhint("Declare it as vector(n), or create the index "
							"WITH (dimensions = n).")));
}

/* What the rows say, when nobody else does. */
static int
dims_of_rows(const VxBuild *build)
{
	require_dims(build->rows_dims);
	ereport(NOTICE,
			(errmsg("index \"%s\" takes its %d dimensions from the rows",
					RelationGetRelationName(build->index), build->rows_dims),
			 errhint("Say WITH (dimensions = %d), so that it can be built when "
					 "the table is empty, as TRUNCATE does.",
					 build->rows_dims)));
	return build->rows_dims;
}

/* --- assignment ------------------------------------------------------------------- */

/* The state of the pass over the heap. */
typedef struct Assigner
{
	VxBuild *build;
	MemoryContext context; /* of one row */
	int64 seen;
	int64 reported; /* of these */
	/* A block of ordinary rows. */
	int block_rows;
	int filled;
	float *x;
	ItemPointerData *tids;
	uint8 *values; /* of their filter columns */
	int32 *nearest;
	float *products; /* scratch of vx_assign */
	/* Lists. */
	float *norm2;
	float *rotated;
	/* Encoder. */
	uint8 *code;
	float *scratch;
} Assigner;

/* Rows of a block, such that it takes its share of the memory at most. */
static int
choose_block_rows(const VxBuild *build)
{
	int lists = Max(build->lists, 1);
	Size row_bytes = sizeof(float) * ((Size) build->ann.dims + lists);
	int rows = lists > 1 ? vx_assign_block(lists) : FLAT_BLOCK_ROWS;

	return Max(1, Min(rows, build->memory / BLOCK_SHARE / row_bytes));
}

/* Everything that depends on the centroids. */
static void
prepare_lists(Assigner *assigner)
{
	VxBuild *build = assigner->build;
	int dims = build->ann.dims;
	int lists = build->lists;
	MemoryContext context = CurrentMemoryContext;

	build->list = palloc0(sizeof(VxBuildList) * lists);
	assigner->norm2 = palloc(sizeof(float) * lists);
	vx_norms2(build->centroids, lists, dims, assigner->norm2);
	assigner->rotated =
		MemoryContextAllocHuge(context, vx_build_vector_bytes(build) * lists);
	for (int i = 0; i < lists; i++)
		vx_list_rotate(&build->ann.quantizer,
					   build->centroids + (Size) i * dims, build->ann.centre,
					   assigner->rotated + (Size) i * dims);
}

static void
assigner_begin(Assigner *assigner, VxBuild *build)
{
	int dims = build->ann.dims;
	int code_bytes = build->ann.lead.code_bytes;
	int rows = choose_block_rows(build);
	Size used = vx_build_vector_bytes(build) * (2 * build->lists + rows) +
				sizeof(float) * rows * build->lists + vx_calibrate_bytes(build);

	memset(assigner, 0, sizeof(Assigner));
	assigner->build = build;
	assigner->context = AllocSetContextCreate(CurrentMemoryContext, "ann row",
											  ALLOCSET_DEFAULT_SIZES);
	assigner->block_rows = rows;
	assigner->x = palloc(vx_build_vector_bytes(build) * rows);
	assigner->tids = palloc(sizeof(ItemPointerData) * rows);
	assigner->values = palloc((Size) build->ann.values_bytes * rows);
	assigner->nearest = palloc0(sizeof(int32) * rows);
	assigner->products = palloc(sizeof(float) * rows * Max(build->lists, 1));
	assigner->code = palloc(code_bytes);
	assigner->scratch = palloc(sizeof(float) * 2 * dims);
	vx_rowsort_begin(&build->rows, build->ann.values_bytes, code_bytes,
					 build->memory > used ? build->memory - used : 0,
					 build->coordinate);
	if (build->lists > 0)
		prepare_lists(assigner);
}

static void
assigner_end(Assigner *assigner)
{
	MemoryContextDelete(assigner->context);
	pfree(assigner->x);
	pfree(assigner->products);
	if (assigner->rotated)
		pfree(assigner->rotated);
}

/* Packed values of row i of the block. */
static uint8 *
row_values(const Assigner *assigner, int i)
{
	return assigner->values + (Size) i * assigner->build->ann.values_bytes;
}

/* Encodes row i of the block into its list. */
static void
encode_row(Assigner *assigner, int i)
{
	VxBuild *build = assigner->build;
	Size dims = build->ann.dims;
	int32 list = assigner->nearest[i];
	VxListRef ref = {.centroid = build->centroids + list * dims,
					 .rotated = assigner->rotated + list * dims};
	VxEntry entry;

	vx_entry_encode(&build->ann, &ref, assigner->x + i * dims, assigner->code,
					&entry, assigner->scratch);
	build->list[list].rows++;
	build->list[list].n2 +=
		vx_build_n2(build, (double) entry.factors.n * entry.factors.n);
	vx_rowsort_put(&build->rows, list, &assigner->tids[i],
				   row_values(assigner, i), &entry, assigner->code);
}

/* Rows of all participants; workers leave the report to their leader. */
static void
report_seen(Assigner *assigner)
{
	uint64 total = assigner->seen;

	if (assigner->build->seen != NULL)
		total = pg_atomic_add_fetch_u64(assigner->build->seen,
										assigner->seen - assigner->reported);
	assigner->reported = assigner->seen;
	if (!IsParallelWorker())
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE, total);
}

static void
flush_block(Assigner *assigner)
{
	VxBuild *build = assigner->build;

	CHECK_FOR_INTERRUPTS();
	if (build->lists > 1)
		vx_assign(assigner->x, assigner->filled, build->ann.dims,
				  build->centroids, assigner->norm2, build->lists,
				  assigner->products, assigner->nearest);
	vx_calibrate_feed(build, assigner->x, assigner->tids, assigner->nearest,
					  assigner->filled);
	for (int i = 0; i < assigner->filled; i++)
		encode_row(assigner, i);
	assigner->filled = 0;
	report_seen(assigner);
}

/*
 * Training saw no vector, but the table has one: the index is born flat around
 * it, as it would be by an insert.
 */
static void
birth(Assigner *assigner, const float *x)
{
	VxBuild *build = assigner->build;

	memcpy(build->ann.centre, x, vx_build_vector_bytes(build));
	build->centroids = build->ann.centre;
	build->lists = 1;
	vx_build_choose_unit(build, x, 1);
	prepare_lists(assigner);
}

static void
put_special(Assigner *assigner, VxBuildList *list, int32 key, ItemPointer tid)
{
	list->rows++;
	vx_rowsort_put(&assigner->build->rows, key, tid,
				   row_values(assigner, assigner->filled), NULL, NULL);
}

/* Callback of the heap scan. */
static void
assign_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool alive, void *state)
{
	Assigner *assigner = (Assigner *) state;
	VxBuild *build = assigner->build;
	int dims = build->ann.dims;
	float *x = assigner->x + (Size) assigner->filled * dims;
	MemoryContext caller = MemoryContextSwitchTo(assigner->context);
	VxValueKind kind =
		vx_ann_value(build->ann.type, dims, values[0], isnull[0], x);

	vx_values_pack(build->ann.column, build->ann.columns.count, values + 1,
				   isnull + 1, row_values(assigner, assigner->filled));
	MemoryContextSwitchTo(caller);
	MemoryContextReset(assigner->context);
	assigner->seen++;
	if (kind == VX_VALUE_NULL)
		put_special(assigner, &build->null_list, VX_SORT_NULL, tid);
	else if (kind == VX_VALUE_ZERO)
		put_special(assigner, &build->zero_list, VX_SORT_ZERO, tid);
	else
	{
		if (build->lists == 0)
			birth(assigner, x);
		assigner->tids[assigner->filled++] = *tid;
		if (assigner->filled == assigner->block_rows)
			flush_block(assigner);
	}
}

double
vx_build_assign(VxBuild *build, TableScanDesc scan)
{
	Assigner assigner;
	double heap_rows;

	assigner_begin(&assigner, build);
	heap_rows = table_index_build_scan(build->heap, build->index, build->info,
									   true, !IsParallelWorker(), assign_row,
									   &assigner, scan);
	flush_block(&assigner);
	assigner_end(&assigner);
	vx_rowsort_perform(&build->rows);
	return heap_rows;
}

/* --- entry points ------------------------------------------------------------------- */

/* Fills index, options and ann; dims must be known. */
static void
begin_index(VxBuild *build, int dims)
{
	vx_meta_init(&build->ann.meta, dims, &build->ann, build->options);
	vx_ann_derive(&build->ann);
}

static void
init_build(VxBuild *build, Relation index)
{
	memset(build, 0, sizeof(VxBuild));
	build->index = index;
	build->options = vx_ann_options(index);
	build->ann.index = index;
	vx_ann_classes(&build->ann, index);
	build->memory = (Size) maintenance_work_mem * 1024;
}

static void
calibrate(VxBuild *build, VxBuildTeam *team)
{
	VxCalibrateRun *run;

	vx_build_stage(VX_PROGRESS_CALIBRATE, vx_calibrate_queries(build));
	if (team)
	{
		vx_workers_calibrate(team, build);
		return;
	}
	run = palloc0(vx_calibrate_run_bytes(build));
	vx_calibrate_run_init(run);
	vx_calibrate_run(build, run);
	vx_calibrate_store(build, run);
	pfree(run);
}

static double
build_index(VxBuild *build)
{
	int dims = declared_dims(build->index, build->options);
	VxBuildTeam *team = NULL;
	double heap_rows;

	vx_build_survey(build);
	if (dims == 0)
		dims = dims_of_rows(build);
	begin_index(build, dims);
	build->workers =
		vx_compat_build_workers(build->heap, build->index, build->info);
	vx_build_train(build);
	vx_build_stage(VX_PROGRESS_ASSIGN, (int64) build->rows_expected);
	/* Without a list yet, the first row decides. */
	if (build->workers > 0 && build->lists > 0)
		team = vx_workers_begin(build, build->workers);
	heap_rows =
		team ? vx_workers_assign(team, build) : vx_build_assign(build, NULL);
	vx_build_write(build, MAIN_FORKNUM);
	vx_rowsort_end(&build->rows);
	if (build->calibrator != NULL)
		calibrate(build, team);
	if (team)
		vx_workers_end(team);
	return heap_rows;
}

IndexBuildResult *
annbuild(Relation heap, Relation index, IndexInfo *index_info)
{
	IndexBuildResult *result = palloc0(sizeof(IndexBuildResult));
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "ann build", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	VxBuild build;

	init_build(&build, index);
	build.heap = heap;
	build.info = index_info;
	result->heap_tuples = build_index(&build);
	result->index_tuples = build.ann.meta.rows;
	MemoryContextSwitchTo(caller);
	MemoryContextDelete(context);
	return result;
}

void
annbuildempty(Relation index)
{
	VxBuild build;
	int dims;

	init_build(&build, index);
	dims = declared_dims(index, build.options);
	require_dims(dims);
	begin_index(&build, dims);
	vx_build_write(&build, INIT_FORKNUM);
}
