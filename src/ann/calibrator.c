/*
 * calibrator.c
 *		The queries of the calibration, and their true nearest rows.
 *
 * Some rows of the training sample are queries.  Their true nearest rows come
 * from the pass that assigns rows to lists; with parallel workers each process
 * keeps those among the rows that it has seen.
 */
#include "postgres.h"

#include "utils/memutils.h"

#include "ann/calibrate.h"

#define QUERIES_MIN 50

/* The part of the memory that queries and their nearest rows may take. */
#define MEMORY_SHARE 8

/* Fewer rows than this are no basis. */
#define ROWS_MIN 1000

/* The row itself is its own nearest. */
#define KEEP (VX_CALIBRATION_K_MAX + 1)

static int
query_count(const VxBuild *build, const VxSample *sample, int block_rows)
{
	Size each =
		vx_truth_bytes(1, KEEP, block_rows) + vx_build_vector_bytes(build);
	Size most = build->memory / MEMORY_SHARE / each;

	return (int) Min(Min(most, (Size) VX_CALIBRATE_QUERIES),
					 (Size) sample->rows);
}

/* Empty, with room for queries. */
static VxCalibrator *
create(VxBuild *build, int queries)
{
	MemoryContext context = AllocSetContextCreate(
		CurrentMemoryContext, "ann calibration", ALLOCSET_DEFAULT_SIZES);
	MemoryContext caller = MemoryContextSwitchTo(context);
	VxCalibrator *calibrator = palloc0(sizeof(VxCalibrator));

	calibrator->context = context;
	calibrator->q =
		MemoryContextAllocHuge(context, vx_build_vector_bytes(build) * queries);
	MemoryContextSwitchTo(caller);
	return calibrator;
}

/* When the queries are there. */
static void
start_truth(VxBuild *build, VxCalibrator *calibrator, int queries)
{
	MemoryContext caller = MemoryContextSwitchTo(calibrator->context);

	vx_truth_init(&calibrator->truth, build->ann.type->metric, build->ann.dims,
				  calibrator->q, queries, KEEP, vx_assign_block(build->lists));
	MemoryContextSwitchTo(caller);
	build->calibrator = calibrator;
}

void
vx_calibrate_begin(VxBuild *build, const VxSample *sample)
{
	int queries = query_count(build, sample, vx_assign_block(build->lists));
	int dims = build->ann.dims;
	VxCalibrator *calibrator;

	if (build->lists < 2 || sample->rows < ROWS_MIN || queries < QUERIES_MIN)
		return;
	calibrator = create(build, queries);
	/* The sample is in the order of the table: take from all of it. */
	for (int j = 0; j < queries; j++)
		memcpy(calibrator->q + (Size) j * dims,
			   sample->x + (sample->rows * j / queries) * dims,
			   vx_build_vector_bytes(build));
	start_truth(build, calibrator, queries);
}

Size
vx_calibrate_bytes(const VxBuild *build)
{
	return build->calibrator == NULL
			   ? 0
			   : MemoryContextMemAllocated(build->calibrator->context, true);
}

void
vx_calibrate_feed(VxBuild *build, const float *x, const ItemPointerData *tids,
				  const int32 *lists, int rows)
{
	if (build->calibrator != NULL && rows > 0)
		vx_truth_feed(&build->calibrator->truth, x, tids, lists, rows);
}

/* --- with workers ------------------------------------------------------------------ */

int
vx_calibrate_queries(const VxBuild *build)
{
	return build->calibrator == NULL ? 0 : build->calibrator->truth.queries;
}

void
vx_calibrate_share(const VxBuild *build, float *queries)
{
	if (build->calibrator != NULL)
		memcpy(queries, build->calibrator->q,
			   vx_build_vector_bytes(build) * vx_calibrate_queries(build));
}

void
vx_calibrate_join(VxBuild *build, const float *queries, int count)
{
	VxCalibrator *calibrator;

	if (count == 0)
		return;
	calibrator = create(build, count);
	memcpy(calibrator->q, queries, vx_build_vector_bytes(build) * count);
	start_truth(build, calibrator, count);
}

/* The rows kept of each query, then how many they are. */
Size
vx_calibrate_export_bytes(const VxBuild *build)
{
	return MAXALIGN((sizeof(VxNear) * KEEP + sizeof(int)) *
					(Size) vx_calibrate_queries(build));
}

void
vx_calibrate_export(VxBuild *build, char *out)
{
	const VxTruth *truth;
	Size bytes;

	if (build->calibrator == NULL)
		return;
	truth = &build->calibrator->truth;
	bytes = sizeof(VxNear) * KEEP * truth->queries;
	memcpy(out, truth->items, bytes);
	memcpy(out + bytes, truth->counts, sizeof(int) * truth->queries);
}

/* What was exported, as a truth that is only read. */
static VxTruth
exported(const VxCalibrator *calibrator, const char *in)
{
	VxTruth truth = calibrator->truth;

	truth.items = (VxNear *) in;
	truth.counts = (int *) (in + sizeof(VxNear) * KEEP * truth.queries);
	return truth;
}

void
vx_calibrate_replace(VxBuild *build, const char *in)
{
	VxTruth *truth = &build->calibrator->truth;
	VxTruth other = exported(build->calibrator, in);

	memcpy(truth->items, other.items, sizeof(VxNear) * KEEP * truth->queries);
	memcpy(truth->counts, other.counts, sizeof(int) * truth->queries);
}

void
vx_calibrate_import(VxBuild *build, const char *in)
{
	VxTruth other;

	if (build->calibrator == NULL)
		return;
	other = exported(build->calibrator, in);
	vx_truth_merge(&build->calibrator->truth, &other);
}
