/*
 * sample.c
 *		Looking at some rows of the heap before a build: how many there are, of
 *		which dimension, and a random sample of their vectors.
 *
 * Rows that are not taken are not detoasted.  Random numbers come from the
 * option seed, so an index can be built again as it was.
 */
#include "postgres.h"

#include "access/tableam.h"
#include "commands/progress.h"
#include "common/pg_prng.h"
#include "pgstat.h"
#include "storage/bufmgr.h"
#include "utils/memutils.h"
#include "utils/rel.h"
#include "utils/sampling.h"

#include "ann/build.h"

/* Blocks that tell how many rows there are. */
#define SURVEY_BLOCKS 1024

/* Rows between two reports of progress; a power of two. */
#define REPORT_ROWS 1024

/*
 * Rows that are offered to a sample for each one that it wants.  A row that is
 * offered late takes the place of another, which was read for nothing, so they
 * are few; but with fewer than expected the sample would not be full.
 */
#define OFFER 1.1

/*
 * Calls back for each indexed row of about blocks random blocks of the heap,
 * in their order on disk.  Returns how many blocks were read.
 */
static BlockNumber
scan_blocks(VxBuild *build, double blocks, IndexBuildCallback callback,
			void *state)
{
	BlockNumber total = RelationGetNumberOfBlocks(build->heap);
	BlockSamplerData sampler;

	if (blocks >= total)
	{
		table_index_build_range_scan(build->heap, build->index, build->info,
									 false, true, false, 0, InvalidBlockNumber,
									 callback, state, NULL);
		return total;
	}
	BlockSampler_Init(&sampler, total, (int) Min(blocks, INT_MAX),
					  build->options->seed);
	while (BlockSampler_HasMore(&sampler))
		table_index_build_range_scan(
			build->heap, build->index, build->info, false, true, false,
			BlockSampler_Next(&sampler), 1, callback, state, NULL);
	return sampler.m;
}

/* --- survey ------------------------------------------------------------------- */

static void
survey_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool alive, void *state)
{
	VxBuild *build = (VxBuild *) state;
	Datum plain;

	if (isnull[0])
		return;
	build->rows_expected++;
	if (build->rows_dims > 0)
		return;
	plain = PointerGetDatum(PG_DETOAST_DATUM(values[0]));
	build->rows_dims = build->ann.type->dims(plain);
	if (plain != values[0])
		pfree(DatumGetPointer(plain));
}

void
vx_build_survey(VxBuild *build)
{
	BlockNumber total = RelationGetNumberOfBlocks(build->heap);
	BlockNumber read;

	build->rows_expected = 0;
	build->rows_dims = 0;
	read = scan_blocks(build, SURVEY_BLOCKS, survey_row, build);
	if (build->rows_expected == 0 && read < total)
		read = scan_blocks(build, total, survey_row, build);
	if (read > 0)
		build->rows_expected *= (double) total / read;
}

/* --- sample ------------------------------------------------------------------- */

typedef struct Sampler
{
	VxBuild *build;
	VxSample *sample;
	int64 seen;	   /* rows that have a vector */
	double share;  /* of them that are offered */
	int64 offered; /* so far */
	pg_prng_state random;
	MemoryContext context; /* of one row */
	float *x;			   /* the vector of one row */
} Sampler;

/* Where the next row goes: the reservoir of Vitter's algorithm R; -1 nowhere. */
static int64
place(Sampler *sampler)
{
	VxSample *sample = sampler->sample;
	uint64 at;

	if (sample->rows < sample->rows_max)
		return sample->rows;
	at = pg_prng_uint64_range(&sampler->random, 0, sampler->offered - 1);
	return at < (uint64) sample->rows_max ? (int64) at : -1;
}

static void
sample_row(Relation index, ItemPointer tid, Datum *values, bool *isnull,
		   bool alive, void *state)
{
	Sampler *sampler = (Sampler *) state;
	VxSample *sample = sampler->sample;
	int dims = sampler->build->ann.dims;
	int64 at;
	MemoryContext caller;
	VxValueKind kind;

	if (isnull[0])
		return;
	if (++sampler->seen % REPORT_ROWS == 0)
		pgstat_progress_update_param(PROGRESS_CREATEIDX_TUPLES_DONE,
									 sampler->seen);
	if (sampler->share < 1 &&
		pg_prng_double(&sampler->random) >= sampler->share)
		return;
	sampler->offered++;
	at = place(sampler);
	if (at < 0)
		return;
	caller = MemoryContextSwitchTo(sampler->context);
	kind = vx_ann_value(sampler->build->ann.type, dims, values[0], false,
						sampler->x);
	MemoryContextSwitchTo(caller);
	MemoryContextReset(sampler->context);
	if (kind != VX_VALUE_ORDINARY)
		return;
	memcpy(sample->x + at * dims, sampler->x, sizeof(float) * dims);
	if (at == sample->rows)
		sample->rows++;
}

void
vx_build_sample(VxBuild *build, VxSample *sample)
{
	BlockNumber total = RelationGetNumberOfBlocks(build->heap);
	double rows_per_block = build->rows_expected / Max(total, 1);
	Sampler sampler = {.build = build, .sample = sample};
	double blocks = sample->rows_max;
	double rows_there; /* in those blocks, an estimate */

	/* One row of each block where there are enough blocks with rows. */
	if (rows_per_block < 1)
		blocks /= Max(rows_per_block, 1e-9);
	sampler.context = AllocSetContextCreate(CurrentMemoryContext, "ann sample",
											ALLOCSET_DEFAULT_SIZES);
	sampler.x = palloc(vx_build_vector_bytes(build));
	pg_prng_seed(&sampler.random, build->options->seed);
	sample->rows = 0;
	rows_there = rows_per_block * Min(blocks, total);
	sampler.share = OFFER * sample->rows_max / Max(rows_there, 1);
	vx_build_stage(VX_PROGRESS_SAMPLE, (int64) rows_there);
	scan_blocks(build, blocks, sample_row, &sampler);
	MemoryContextDelete(sampler.context);
	pfree(sampler.x);
}
