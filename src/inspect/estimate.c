/*
 * estimate.c
 *		ann_build_estimate: what CREATE INDEX would take, before it is run.
 *
 * Lists, sample and sizes are computed by the code that the build uses.  Times
 * are counts of work times the seconds that one unit took on one machine, see
 * the table below.
 */
#include "postgres.h"

#include <math.h>

#include "access/htup_details.h"
#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"

#include "ann/build.h"
#include "inspect/inspect.h"
#include "page/page.h"

PG_FUNCTION_INFO_V1(ann_build_estimate);

#define ESTIMATE_COLUMNS 9

/* Rows of a table at most: blocks times rows of a block, generously. */
#define ROWS_MAX INT64CONST(1000000000000)

/*
 * CPU seconds of one process on a virtual machine with two cores of an AMD EPYC
 * (AVX2; PostgreSQL 15, serial OpenBLAS), fitted to the phases of two builds with
 * their tables in memory: 63,181 rows of 512 dimensions and 120,000 of 768, vectors
 * out of line in the second.  They give each phase within 25 per cent.
 */
#define SECONDS_A_SAMPLE_ROW 8.0e-6
#define SECONDS_A_PRODUCT 2.5e-11 /* row and centroid, each coordinate */
#define SECONDS_A_SUM 1.2e-8	  /* k-means beside that, each coordinate */
#define SECONDS_A_ROW 4.0e-6	  /* read, sorted */
#define SECONDS_A_CODE 2.0e-9	  /* rotated and encoded, each coordinate */
#define SECONDS_A_PAGE 2.0e-5	  /* of the index, with its WAL */
#define SECONDS_A_SCORE 1.8e-11	  /* calibration: row and query, the same */

/* Rows of the sort beside their codes: header, list, heap pointer, factors. */
#define SORT_ROW_BYTES 64

typedef struct Estimate
{
	int lists;
	int64 sample_rows;
	int64 bytes;
	int64 memory;
	double sampling;
	double clustering;
	double assigning;
	double writing;
	double calibrating;
} Estimate;

/*
 * Pages of each kind for so many rows a list: a list ends anywhere in its last
 * page, half of which is empty on average.
 */
static double
kind_pages(double rows, int lists, double rows_a_page)
{
	double full = rows / Max(lists, 1) / rows_a_page;

	return lists > 1 ? lists * Max(full + 0.5, 1) : ceil(full);
}

/* Of leads and code pages. */
static double
list_pages(double rows, int lists, const VxLeadLayout *lead)
{
	double pages = kind_pages(rows, lists, lead->slots);

	if (lead->form == VX_FORM_PLANES && rows > 0)
		pages += kind_pages(rows, lists,
							(double) VX_PLANE_SLOTS * VX_CODE_UNITS /
								lead->sign_units) +
				 kind_pages(rows, lists, lead->rest_rows);
	return pages;
}

static void
estimate_bytes(Estimate *e, const VxBuild *build, int64 rows, int dims)
{
	VxLeadLayout lead;
	double pages = vx_build_front_pages(dims, e->lists);

	(void) vx_lead_layout(vx_ann_layout(dims, build->options), dims,
						  VX_BITS_DEFAULT, &build->ann.columns, &lead);
	pages += list_pages((double) rows, e->lists, &lead);
	e->bytes = (int64) rint(pages) * BLCKSZ;
}

/* What the sort holds beside lists, unless it goes to disk. */
static void
estimate_memory(Estimate *e, const VxBuild *build, int64 rows, Size training)
{
	double lists = 2.0 * e->lists * vx_build_vector_bytes(build);
	double sort =
		(double) rows *
		(SORT_ROW_BYTES + vx_code_bytes(build->ann.dims, VX_BITS_DEFAULT));

	e->memory = Max((int64) training, (int64) Min(lists + sort, build->memory));
}

static void
estimate_times(Estimate *e, int64 rows, int dims)
{
	double row = SECONDS_A_ROW + dims * SECONDS_A_CODE;
	bool searched = e->lists > 1;
	double queries = searched ? Min(VX_CALIBRATE_QUERIES, e->sample_rows) : 0;
	double products = searched ? e->lists + queries : 0;

	e->sampling = e->sample_rows * SECONDS_A_SAMPLE_ROW;
	if (searched)
		e->clustering = e->sample_rows * (vx_build_cluster_products(e->lists) *
											  dims * SECONDS_A_PRODUCT +
										  dims * SECONDS_A_SUM);
	e->assigning = rows * (row + products * dims * SECONDS_A_PRODUCT);
	e->writing = e->bytes / BLCKSZ * SECONDS_A_PAGE;
	e->calibrating = rows * queries * dims * SECONDS_A_SCORE;
}

static void
estimate(Estimate *e, int64 rows, int dims)
{
	VxBuild build = {0};
	VxAnnOptions options = {.lists = VX_LISTS_DEFAULT,
							.bits = VX_BITS_DEFAULT,
							.seed = VX_SEED_DEFAULT};
	Size training;

	build.options = &options;
	build.rows_expected = (double) rows;
	build.ann.dims = dims;
	build.memory = (Size) maintenance_work_mem * 1024;
	training = vx_build_plan(&build, &e->lists, &e->sample_rows);
	e->lists = (int) Min(e->lists, rows);
	estimate_bytes(e, &build, rows, dims);
	estimate_memory(e, &build, rows, training);
	estimate_times(e, rows, dims);
}

static void
fill(const Estimate *e, Datum *values)
{
	int i = 0;

	values[i++] = Int32GetDatum(e->lists);
	values[i++] = Int64GetDatum(e->bytes);
	values[i++] = Int64GetDatum(e->memory);
	values[i++] = Float8GetDatum(e->sampling);
	values[i++] = Float8GetDatum(e->clustering);
	values[i++] = Float8GetDatum(e->assigning);
	values[i++] = Float8GetDatum(e->writing);
	values[i++] = Float8GetDatum(e->calibrating);
	values[i++] = Float8GetDatum(e->sampling + e->clustering + e->assigning +
								 e->writing + e->calibrating);
	Assert(i == ESTIMATE_COLUMNS);
}

static void
check_range(int64 rows, int dims)
{
	if (rows < 0 || rows > ROWS_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("rows must be between 0 and " INT64_FORMAT, ROWS_MAX)));
	if (dims < 1 || dims > VX_DIM_MAX)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dimensions must be between 1 and %d", VX_DIM_MAX)));
}

Datum
ann_build_estimate(PG_FUNCTION_ARGS)
{
	int64 rows = PG_GETARG_INT64(0);
	int dims = PG_GETARG_INT32(1);
	Datum values[ESTIMATE_COLUMNS];
	bool nulls[ESTIMATE_COLUMNS] = {false};
	TupleDesc desc;
	Estimate e = {0};

	if (get_call_result_type(fcinfo, NULL, &desc) != TYPEFUNC_COMPOSITE)
		elog(ERROR, "return type must be a row type");
	check_range(rows, dims);
	estimate(&e, rows, dims);
	fill(&e, values);
	PG_RETURN_DATUM(HeapTupleGetDatum(
		heap_form_tuple(BlessTupleDesc(desc), values, nulls)));
}
