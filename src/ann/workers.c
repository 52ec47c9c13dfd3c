/*
 * workers.c
 *		Parallel workers of an index build: the pass that assigns rows to lists,
 *		and the queries of the calibration.
 *
 * After the training the leader shares what the pass needs (META, centre,
 * centroids, calibration queries) in dynamic shared memory.  Every participant
 * scans blocks of the table, assigns and encodes their rows, and sorts them by
 * list; the leader, who takes part, merges the sorted runs and writes the index
 * alone.  Then all run queries over it, as they come.  Nothing that is written
 * depends on who saw which row or ran which query.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/table.h"
#include "access/tableam.h"
#include "access/xact.h"
#include "catalog/index.h"
#include "executor/instrument.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/condition_variable.h"
#include "storage/spin.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/snapmgr.h"
#include "utils/wait_event.h"

#include "ann/build.h"
#include "compat.h"

/* The parts of the shared memory. */
#define KEY_SHARED UINT64CONST(0x5641000000000001)
#define KEY_TABLE UINT64CONST(0x5641000000000002)
#define KEY_SORT UINT64CONST(0x5641000000000003)
#define KEY_VECTORS UINT64CONST(0x5641000000000004)
#define KEY_SUMS UINT64CONST(0x5641000000000005)
#define KEY_TRUTHS UINT64CONST(0x5641000000000006)
#define KEY_QUERY UINT64CONST(0x5641000000000007)
#define KEY_WAL UINT64CONST(0x5641000000000008)
#define KEY_BUFFERS UINT64CONST(0x5641000000000009)
#define KEY_RUN UINT64CONST(0x564100000000000A)

/* What the leader tells the workers, and they the leader. */
typedef struct Shared
{
	Oid heap;
	Oid index;
	bool concurrent;
	VxMeta meta;
	int lists;
	double n2_unit;
	int queries; /* of the calibration, 0 = none */
	Size memory; /* of each participant */
	pg_atomic_uint64 seen;
	ConditionVariable changed; /* assigned or written */
	slock_t mutex;			   /* protects what follows */
	int assigned;			   /* workers that have reported their rows */
	bool written;			   /* the index, for calibration */
	double heap_rows;
	bool broken_hot_chain;
	int64 null_rows;
	int64 zero_rows;
} Shared;

struct VxBuildTeam
{
	ParallelContext *context;
	Shared *shared;
	Sharedsort *sort;
	VxBuildList *sums; /* of each worker, by list */
	char *truths; /* of each worker, see vx_calibrate_export; then of all */
	VxCalibrateRun *run;
	Size truth_bytes;
	Snapshot snapshot;
	WalUsage *wal;
	BufferUsage *buffers;
};

/* --- what is shared --------------------------------------------------------------- */

static Size
vectors_bytes(const VxBuild *build)
{
	return vx_build_vector_bytes(build) *
		   (1 + (Size) build->lists + vx_calibrate_queries(build));
}

/* Of one worker. */
static Size
sums_bytes(const VxBuild *build)
{
	return sizeof(VxBuildList) * build->lists;
}

static void
estimate(ParallelContext *context, const VxBuild *build, Snapshot snapshot)
{
	shm_toc_estimator *e = &context->estimator;
	int workers = context->nworkers;

	shm_toc_estimate_chunk(e, sizeof(Shared));
	shm_toc_estimate_chunk(e,
						   table_parallelscan_estimate(build->heap, snapshot));
	shm_toc_estimate_chunk(e, tuplesort_estimate_shared(workers + 1));
	shm_toc_estimate_chunk(e, vectors_bytes(build));
	shm_toc_estimate_chunk(e, mul_size(sums_bytes(build), workers));
	shm_toc_estimate_chunk(e,
						   mul_size(vx_calibrate_export_bytes(build), workers));
	shm_toc_estimate_chunk(e, vx_calibrate_run_bytes(build));
	shm_toc_estimate_chunk(e, mul_size(sizeof(WalUsage), workers));
	shm_toc_estimate_chunk(e, mul_size(sizeof(BufferUsage), workers));
	shm_toc_estimate_keys(e, 9);
	if (debug_query_string)
	{
		shm_toc_estimate_chunk(e, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(e, 1);
	}
}

static void *
part(ParallelContext *context, uint64 key, Size bytes)
{
	void *start = shm_toc_allocate(context->toc, bytes);

	shm_toc_insert(context->toc, key, start);
	return start;
}

static void
share_vectors(const VxBuild *build, float *out)
{
	Size dims = build->ann.dims;

	memcpy(out, build->ann.centre, vx_build_vector_bytes(build));
	memcpy(out + dims, build->centroids,
		   vx_build_vector_bytes(build) * build->lists);
	vx_calibrate_share(build, out + dims * (1 + (Size) build->lists));
}

static void
init_shared(Shared *shared, const VxBuild *build, int participants)
{
	memset(shared, 0, sizeof(Shared));
	shared->heap = RelationGetRelid(build->heap);
	shared->index = RelationGetRelid(build->index);
	shared->concurrent = build->info->ii_Concurrent;
	shared->meta = build->ann.meta;
	shared->lists = build->lists;
	shared->n2_unit = build->n2_unit;
	shared->queries = vx_calibrate_queries(build);
	shared->memory = build->memory / participants;
	pg_atomic_init_u64(&shared->seen, 0);
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
}

static void
fill_memory(VxBuildTeam *team, const VxBuild *build)
{
	ParallelContext *context = team->context;
	int workers = context->nworkers;
	Size bytes = table_parallelscan_estimate(build->heap, team->snapshot);

	team->shared = part(context, KEY_SHARED, sizeof(Shared));
	init_shared(team->shared, build, workers + 1);
	table_parallelscan_initialize(build->heap, part(context, KEY_TABLE, bytes),
								  team->snapshot);
	team->sort =
		part(context, KEY_SORT, tuplesort_estimate_shared(workers + 1));
	tuplesort_initialize_shared(team->sort, workers + 1, context->seg);
	share_vectors(build, part(context, KEY_VECTORS, vectors_bytes(build)));
	bytes = mul_size(sums_bytes(build), workers);
	team->sums = part(context, KEY_SUMS, bytes);
	team->truth_bytes = vx_calibrate_export_bytes(build);
	team->truths =
		part(context, KEY_TRUTHS, mul_size(team->truth_bytes, workers));
	bytes = vx_calibrate_run_bytes(build);
	team->run = part(context, KEY_RUN, bytes);
	memset(team->run, 0, bytes);
	vx_calibrate_run_init(team->run);
	team->wal = part(context, KEY_WAL, mul_size(sizeof(WalUsage), workers));
	team->buffers =
		part(context, KEY_BUFFERS, mul_size(sizeof(BufferUsage), workers));
	if (debug_query_string)
		strcpy(part(context, KEY_QUERY, strlen(debug_query_string) + 1),
			   debug_query_string);
}

/* Until so many workers have reported their rows, and the index is written. */
static void
wait_until(Shared *shared, int assigned, bool written)
{
	bool done = false;

	ConditionVariablePrepareToSleep(&shared->changed);
	while (!done)
	{
		SpinLockAcquire(&shared->mutex);
		done = shared->assigned >= assigned && shared->written >= written;
		SpinLockRelease(&shared->mutex);
		if (!done)
			ConditionVariableSleep(&shared->changed,
								   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	}
	ConditionVariableCancelSleep();
}

/* --- the leader --------------------------------------------------------------------- */

static void
dissolve(VxBuildTeam *team)
{
	if (IsMVCCSnapshot(team->snapshot))
		UnregisterSnapshot(team->snapshot);
	DestroyParallelContext(team->context);
	ExitParallelMode();
	pfree(team);
}

VxBuildTeam *
vx_workers_begin(VxBuild *build, int workers)
{
	VxBuildTeam *team = palloc0(sizeof(VxBuildTeam));

	EnterParallelMode();
	team->context =
		CreateParallelContext("vector_ext", "vx_build_worker", workers);
	team->snapshot = build->info->ii_Concurrent
						 ? RegisterSnapshot(GetTransactionSnapshot())
						 : SnapshotAny;
	estimate(team->context, build, team->snapshot);
	InitializeParallelDSM(team->context);
	if (team->context->seg != NULL)
	{
		fill_memory(team, build);
		LaunchParallelWorkers(team->context);
	}
	if (team->context->seg == NULL || team->context->nworkers_launched == 0)
	{
		dissolve(team);
		return NULL;
	}
	return team;
}

static void
add_sums(VxBuild *build, const VxBuildList *sums)
{
	for (int i = 0; i < build->lists; i++)
	{
		build->list[i].rows += sums[i].rows;
		build->list[i].n2 += sums[i].n2;
	}
}

/* What the workers found is added to what the leader found. */
static void
collect(VxBuildTeam *team, VxBuild *build)
{
	build->null_list.rows += team->shared->null_rows;
	build->zero_list.rows += team->shared->zero_rows;
	build->info->ii_BrokenHotChain |= team->shared->broken_hot_chain;
	for (int i = 0; i < team->context->nworkers_launched; i++)
	{
		add_sums(build, team->sums + (Size) i * build->lists);
		vx_calibrate_import(build, team->truths + i * team->truth_bytes);
	}
}

/* The merge of all participants' rows. */
static void
begin_merge(VxBuildTeam *team, VxBuild *build)
{
	SortCoordinate coordinate = palloc0(sizeof(SortCoordinateData));

	coordinate->isWorker = false;
	coordinate->nParticipants = team->context->nworkers_launched + 1;
	coordinate->sharedsort = team->sort;
	vx_rowsort_begin(&build->rows, build->ann.values_bytes,
					 build->ann.lead.code_bytes, build->memory, coordinate);
	vx_rowsort_perform(&build->rows);
}

static SortCoordinate
worker_coordinate(Sharedsort *sort)
{
	SortCoordinate coordinate = palloc0(sizeof(SortCoordinateData));

	coordinate->isWorker = true;
	coordinate->nParticipants = -1;
	coordinate->sharedsort = sort;
	return coordinate;
}

double
vx_workers_assign(VxBuildTeam *team, VxBuild *build)
{
	Size memory = build->memory;
	TableScanDesc scan = table_beginscan_parallel(
		build->heap, shm_toc_lookup(team->context->toc, KEY_TABLE, false));
	double heap_rows;

	build->memory = team->shared->memory;
	build->coordinate = worker_coordinate(team->sort);
	build->seen = &team->shared->seen;
	heap_rows = vx_build_assign(build, scan);
	vx_rowsort_end(&build->rows);
	build->memory = memory;
	build->coordinate = NULL;
	build->seen = NULL;
	/* One that failed to start would never report. */
	WaitForParallelWorkersToAttach(team->context);
	wait_until(team->shared, team->context->nworkers_launched, false);
	collect(team, build);
	begin_merge(team, build);
	return heap_rows + team->shared->heap_rows;
}

void
vx_workers_calibrate(VxBuildTeam *team, VxBuild *build)
{
	vx_calibrate_export(build, team->truths);
	SpinLockAcquire(&team->shared->mutex);
	team->shared->written = true;
	SpinLockRelease(&team->shared->mutex);
	ConditionVariableBroadcast(&team->shared->changed);
	vx_calibrate_run(build, team->run);
	WaitForParallelWorkersToFinish(team->context);
	vx_calibrate_store(build, team->run);
}

void
vx_workers_end(VxBuildTeam *team)
{
	WaitForParallelWorkersToFinish(team->context);
	for (int i = 0; i < team->context->nworkers_launched; i++)
		InstrAccumParallelQuery(&team->buffers[i], &team->wal[i]);
	dissolve(team);
}

/* --- a worker ------------------------------------------------------------------------ */

static void
join_build(VxBuild *build, const Shared *shared, float *vectors)
{
	Size dims = shared->meta.dims;

	build->info = BuildIndexInfo(build->index);
	build->info->ii_Concurrent = shared->concurrent;
	build->options = vx_ann_options(build->index);
	build->memory = shared->memory;
	build->ann.index = build->index;
	vx_ann_classes(&build->ann, build->index);
	build->ann.meta = shared->meta;
	vx_ann_derive(&build->ann);
	memcpy(build->ann.centre, vectors, vx_build_vector_bytes(build));
	build->lists = shared->lists;
	build->centroids = vectors + dims;
	build->n2_unit = shared->n2_unit;
	if (build->lists > 1)
		vx_build_open_blas();
	vx_calibrate_join(build, vectors + dims * (1 + (Size) build->lists),
					  shared->queries);
}

/* sums: of all workers. */
static void
report(const VxBuild *build, Shared *shared, VxBuildList *sums,
	   double heap_rows)
{
	memcpy(sums + (Size) ParallelWorkerNumber * build->lists, build->list,
		   sums_bytes(build));
	SpinLockAcquire(&shared->mutex);
	shared->heap_rows += heap_rows;
	shared->broken_hot_chain |= build->info->ii_BrokenHotChain;
	shared->null_rows += build->null_list.rows;
	shared->zero_rows += build->zero_list.rows;
	shared->assigned++;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/* Once the leader has written the index. */
static void
calibrate(VxBuild *build, Shared *shared, shm_toc *toc)
{
	wait_until(shared, 0, true);
	vx_calibrate_replace(build, shm_toc_lookup(toc, KEY_TRUTHS, false));
	vx_calibrate_run(build, shm_toc_lookup(toc, KEY_RUN, false));
}

static void
work(VxBuild *build, Shared *shared, dsm_segment *seg, shm_toc *toc)
{
	Sharedsort *sort = shm_toc_lookup(toc, KEY_SORT, false);
	char *truths = shm_toc_lookup(toc, KEY_TRUTHS, false);
	TableScanDesc scan = table_beginscan_parallel(
		build->heap, shm_toc_lookup(toc, KEY_TABLE, false));
	double heap_rows;

	join_build(build, shared, shm_toc_lookup(toc, KEY_VECTORS, false));
	tuplesort_attach_shared(sort, seg);
	build->coordinate = worker_coordinate(sort);
	build->seen = &shared->seen;
	heap_rows = vx_build_assign(build, scan);
	vx_rowsort_end(&build->rows);
	vx_calibrate_export(build, truths + ParallelWorkerNumber *
											vx_calibrate_export_bytes(build));
	report(build, shared, shm_toc_lookup(toc, KEY_SUMS, false), heap_rows);
	if (build->calibrator != NULL)
		calibrate(build, shared, toc);
}

/* Called by name in a parallel worker. */
extern PGDLLEXPORT void vx_build_worker(dsm_segment *seg, shm_toc *toc);

void
vx_build_worker(dsm_segment *seg, shm_toc *toc)
{
	Shared *shared = shm_toc_lookup(toc, KEY_SHARED, false);
	WalUsage *wal = shm_toc_lookup(toc, KEY_WAL, false);
	BufferUsage *buffers = shm_toc_lookup(toc, KEY_BUFFERS, false);
	VxBuild build = {0};
	LOCKMODE heap_lock = ShareLock;
	LOCKMODE index_lock = AccessExclusiveLock;

	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	/* The leader's own locks. */
	if (shared->concurrent)
	{
		heap_lock = ShareUpdateExclusiveLock;
		index_lock = RowExclusiveLock;
	}
	build.heap = table_open(shared->heap, heap_lock);
	build.index = index_open(shared->index, index_lock);
	InstrStartParallelQuery();
	work(&build, shared, seg, toc);
	InstrEndParallelQuery(&buffers[ParallelWorkerNumber],
						  &wal[ParallelWorkerNumber]);
	index_close(build.index, index_lock);
	table_close(build.heap, heap_lock);
}
