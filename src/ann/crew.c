/*
 * crew.c
 *		The processes of a training: parallel workers that share its jobs.
 *
 * The sample and all that belongs to it lie in one segment of dynamic shared
 * memory.  The leader puts up a job; it and whichever workers are there claim
 * items of it, one at a time, until none is left, and the leader waits for those
 * who have joined.  So workers that come late or not at all cost nothing but
 * their help.  Where memory for the segment is not to be had the leader works
 * alone, in private memory.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/xact.h"
#include "miscadmin.h"
#include "pgstat.h"
#include "storage/dsm.h"
#include "tcop/tcopprot.h"
#include "utils/memutils.h"
#include "utils/wait_event.h"

#include "ann/train.h"

/* The parts of the shared memory that workers are launched with. */
#define KEY_SEGMENT UINT64CONST(0x5642000000000001)
#define KEY_QUERY UINT64CONST(0x5642000000000002)

struct VxCrew
{
	ParallelContext *context;
};

/* --- memory ----------------------------------------------------------------------- */

/* NULL when the system does not have so much. */
static dsm_segment *
create_segment(Size bytes)
{
	MemoryContext caller = CurrentMemoryContext;
	dsm_segment *volatile segment = NULL;

	PG_TRY();
	{
		segment = dsm_create(bytes, DSM_CREATE_NULL_IF_MAXSEGMENTS);
	}
	PG_CATCH();
	{
		/*
		 * Nothing but its descriptor is left of the segment, which belongs to
		 * the resource owner; no lock is held while it is made.
		 */
		ErrorData *error;

		MemoryContextSwitchTo(caller);
		error = CopyErrorData();
		if (ERRCODE_TO_CATEGORY(error->sqlerrcode) !=
			ERRCODE_INSUFFICIENT_RESOURCES)
			PG_RE_THROW();
		FlushErrorState();
		ereport(NOTICE, (errmsg("clustering is done without parallel workers"),
						 errdetail("%s", error->message)));
		FreeErrorData(error);
	}
	PG_END_TRY();
	return segment;
}

VxTraining *
vx_crew_memory(VxBuild *build, int lists_max, int64 rows_max, Size work_bytes)
{
	VxTraining *training = palloc0(sizeof(VxTraining));
	int dims = build->ann.dims;
	Size bytes = vx_train_lay_out(training, NULL, dims, lists_max, rows_max);
	VxTrainShared *shared;

	if (build->workers > 0 && lists_max > 1)
		training->segment = create_segment(bytes);
	if (training->segment != NULL)
	{
		shared = dsm_segment_address(training->segment);
		training->workers = build->workers;
	}
	else
		shared = MemoryContextAllocHuge(CurrentMemoryContext, bytes);
	memset(shared, 0, sizeof(VxTrainShared));
	shared->dims = dims;
	shared->lists_max = lists_max;
	shared->rows_max = rows_max;
	shared->work_bytes = work_bytes / (training->workers + 1);
	shared->seed = build->options->seed;
	pg_atomic_init_u64(&shared->done, 0);
	pg_atomic_init_u32(&shared->next, 0);
	ConditionVariableInit(&shared->changed);
	SpinLockInit(&shared->mutex);
	vx_train_lay_out(training, (char *) shared, dims, lists_max, rows_max);
	return training;
}

void
vx_crew_free(VxTraining *training)
{
	if (training->work != NULL)
		pfree(training->work);
	if (training->segment != NULL)
		dsm_detach(training->segment);
	else
		pfree(training->shared);
	pfree(training);
}

/* --- the leader ------------------------------------------------------------------- */

static void
fill_memory(ParallelContext *context, dsm_handle handle)
{
	dsm_handle *out = shm_toc_allocate(context->toc, sizeof(dsm_handle));

	*out = handle;
	shm_toc_insert(context->toc, KEY_SEGMENT, out);
	if (debug_query_string)
	{
		char *query =
			shm_toc_allocate(context->toc, strlen(debug_query_string) + 1);

		strcpy(query, debug_query_string);
		shm_toc_insert(context->toc, KEY_QUERY, query);
	}
}

static void
estimate(ParallelContext *context)
{
	shm_toc_estimator *e = &context->estimator;

	shm_toc_estimate_chunk(e, sizeof(dsm_handle));
	shm_toc_estimate_keys(e, 1);
	if (debug_query_string)
	{
		shm_toc_estimate_chunk(e, strlen(debug_query_string) + 1);
		shm_toc_estimate_keys(e, 1);
	}
}

static void
dissolve(ParallelContext *context)
{
	DestroyParallelContext(context);
	ExitParallelMode();
}

void
vx_crew_begin(VxTraining *training)
{
	ParallelContext *context;

	if (training->workers == 0)
		return;
	EnterParallelMode();
	context = CreateParallelContext("vector_ext", "vx_train_worker",
									training->workers);
	estimate(context);
	InitializeParallelDSM(context);
	if (context->seg != NULL)
	{
		fill_memory(context, dsm_segment_handle(training->segment));
		LaunchParallelWorkers(context);
	}
	if (context->nworkers_launched == 0)
	{
		dissolve(context);
		return;
	}
	training->crew = palloc(sizeof(VxCrew));
	training->crew->context = context;
}

static void
take_items(VxTraining *training)
{
	VxTrainShared *shared = training->shared;
	int items = shared->job.items;
	uint32 item;

	while ((item = pg_atomic_fetch_add_u32(&shared->next, 1)) < (uint32) items)
	{
		CHECK_FOR_INTERRUPTS();
		vx_train_item(training, (int) item);
	}
}

/* Whether workers are still at the job, which takes no more of them. */
static bool
still_working(VxTrainShared *shared)
{
	bool working;

	SpinLockAcquire(&shared->mutex);
	shared->open = false;
	working = shared->working > 0;
	SpinLockRelease(&shared->mutex);
	return working;
}

void
vx_crew_run(VxTraining *training)
{
	VxTrainShared *shared = training->shared;

	pg_atomic_write_u32(&shared->next, 0);
	if (training->crew == NULL)
	{
		take_items(training);
		return;
	}
	SpinLockAcquire(&shared->mutex);
	shared->number++;
	shared->open = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	take_items(training);
	/* A worker's error comes by the check for interrupts while we sleep. */
	ConditionVariablePrepareToSleep(&shared->changed);
	while (still_working(shared))
		ConditionVariableSleep(&shared->changed,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
}

void
vx_crew_end(VxTraining *training)
{
	VxTrainShared *shared = training->shared;

	if (training->crew == NULL)
		return;
	SpinLockAcquire(&shared->mutex);
	shared->quit = true;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
	WaitForParallelWorkersToFinish(training->crew->context);
	dissolve(training->crew->context);
	pfree(training->crew);
	training->crew = NULL;
}

/* --- a worker --------------------------------------------------------------------- */

/* Joins a job after the one seen; false when there is none yet. */
static bool
join_job(VxTrainShared *shared, uint64 *seen, bool *quit)
{
	bool joined = false;

	SpinLockAcquire(&shared->mutex);
	*quit = shared->quit;
	if (!*quit && shared->open && shared->number != *seen)
	{
		*seen = shared->number;
		shared->working++;
		joined = true;
	}
	SpinLockRelease(&shared->mutex);
	return joined;
}

static void
leave_job(VxTrainShared *shared)
{
	SpinLockAcquire(&shared->mutex);
	shared->working--;
	SpinLockRelease(&shared->mutex);
	ConditionVariableBroadcast(&shared->changed);
}

/* False when there will be no more jobs. */
static bool
wait_for_job(VxTrainShared *shared, uint64 *seen)
{
	bool quit;

	ConditionVariablePrepareToSleep(&shared->changed);
	while (!join_job(shared, seen, &quit) && !quit)
		ConditionVariableSleep(&shared->changed,
							   WAIT_EVENT_PARALLEL_CREATE_INDEX_SCAN);
	ConditionVariableCancelSleep();
	return !quit;
}

/* Called by name in a parallel worker. */
extern PGDLLEXPORT void vx_train_worker(dsm_segment *seg, shm_toc *toc);

void
vx_train_worker(dsm_segment *seg, shm_toc *toc)
{
	dsm_handle *handle = shm_toc_lookup(toc, KEY_SEGMENT, false);
	dsm_segment *segment = dsm_attach(*handle);
	VxTraining training = {0};
	VxTrainShared *shared;
	uint64 seen = 0;

	/* The leader has gone on without us. */
	if (segment == NULL)
		return;
	debug_query_string = shm_toc_lookup(toc, KEY_QUERY, true);
	pgstat_report_activity(STATE_RUNNING, debug_query_string);
	vx_build_open_blas();
	shared = dsm_segment_address(segment);
	vx_train_lay_out(&training, (char *) shared, shared->dims,
					 shared->lists_max, shared->rows_max);
	while (wait_for_job(shared, &seen))
	{
		take_items(&training);
		leave_job(shared);
	}
	dsm_detach(segment);
}
