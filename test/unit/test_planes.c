/*
 * test_planes.c
 *		Codes in two planes: packing, both kernels of every table against plain
 *		sums, and the same scores as for whole codes.
 */
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

/* Every small dimension, and those around pages, lanes and blocks. */
#define DIMS_SMALL 130
static const int dims_large[] = {255,  256,	 257,  383,	 384,  385,	 511,
								 512,  513,	 768,  1023, 1024, 1025, 1536,
								 2047, 2048, 2049, 2052, 3072, 16000};
#define DIMS_LARGE ((int) (sizeof(dims_large) / sizeof(dims_large[0])))
#define DIMS (DIMS_SMALL + DIMS_LARGE)

static int
dim_of(int d)
{
	return d < DIMS_SMALL ? d + 1 : dims_large[d - DIMS_SMALL];
}

static void
fill_random(uint8_t *bytes, size_t count, unsigned below, uint64_t *state)
{
	for (size_t i = 0; i < count; i++)
		bytes[i] = (uint8_t) vx_random_below(state, below);
}

/* --- packing ---------------------------------------------------------- */

/*
 * All slots of a block go in and out, each in two runs that meet in the middle
 * of the block somewhere.
 */
static void
check_signs(int dim, uint64_t *state)
{
	int units = vx_sign_units(dim);
	size_t bytes = (size_t) units * VX_SIGN_UNIT_BYTES;
	size_t slots = VX_PLANE_SLOTS;
	UnitGuard guard_units, guard_levels;
	uint8_t *block = unit_guarded(bytes, &guard_units);
	uint8_t *levels = unit_guarded(slots * (size_t) dim, &guard_levels);
	uint8_t *back = unit_alloc((size_t) dim);

	fill_random(levels, slots * (size_t) dim, 16, state);
	/* What was there before does not shine through. */
	memset(block, 0xff, bytes);
	for (int s = VX_PLANE_SLOTS - 1; s >= 0; s--)
	{
		int cut = (int) vx_random_below(state, (uint32_t) units + 1);

		vx_sign_put(levels + s * dim, dim, s, cut, units - cut,
					block + cut * VX_SIGN_UNIT_BYTES);
		vx_sign_put(levels + s * dim, dim, s, 0, cut, block);
	}
	for (int s = 0; s < VX_PLANE_SLOTS; s++)
	{
		int cut = (int) vx_random_below(state, (uint32_t) units + 1);

		for (int i = 0; i < dim; i++)
			back[i] = levels[s * dim + i] ^ 8;
		vx_sign_get(block, dim, s, 0, cut, back);
		vx_sign_get(block + cut * VX_SIGN_UNIT_BYTES, dim, s, cut, units - cut,
					back);
		CHECK(memcmp(back, levels + s * dim, (size_t) dim) == 0,
			  "signs of dim %d, slot %d", dim, s);
	}
	free(back);
	unit_unguard(&guard_units);
	unit_unguard(&guard_levels);
}

static void
check_rest(int dim, uint64_t *state)
{
	UnitGuard guard_row, guard_levels;
	uint8_t *row = unit_guarded((size_t) vx_rest_bytes(dim), &guard_row);
	uint8_t *levels = unit_guarded((size_t) dim, &guard_levels);
	uint8_t *back = unit_alloc((size_t) dim);

	fill_random(levels, (size_t) dim, 16, state);
	vx_rest_put(levels, dim, row);
	for (int i = 0; i < dim; i++)
		back[i] = levels[i] ^ 7;
	vx_rest_get(row, dim, back);
	CHECK(memcmp(back, levels, (size_t) dim) == 0, "rest of dim %d", dim);
	free(back);
	unit_unguard(&guard_row);
	unit_unguard(&guard_levels);
}

static void
planes_and_back(void)
{
	uint64_t state = 61;

	for (int d = 0; d < DIMS; d++)
	{
		check_signs(dim_of(d), &state);
		check_rest(dim_of(d), &state);
	}
}

/* The bytes of a code of ten dimensions, by hand. */
static void
planes_by_hand(void)
{
	static const uint8_t levels[10] = {8 + 1, 2, 3, 8 + 4, 5,
									   8 + 6, 7, 1, 8 + 2, 8 + 3};
	/* w = 2: dimension f * 2 + k. */
	static const uint8_t rest[6] = {1 | 3 << 3, 2 | 4 << 3, 5 | 7 << 3,
									6 | 1 << 3, 2,			3};
	uint8_t units[3 * VX_SIGN_UNIT_BYTES] = {0};
	uint8_t row[6];

	vx_rest_put(levels, 10, row);
	CHECK(memcmp(row, rest, sizeof(rest)) == 0, "rest row");
	vx_sign_put(levels, 10, 5, 0, 3, units);
	vx_sign_put(levels, 10, 21, 0, 3, units);
	for (int i = 0; i < (int) sizeof(units); i++)
	{
		static const uint8_t want[3] = {0x99, 0x22, 0x33};

		CHECK(units[i] == (i % 16 == 5 ? want[i / 16] : 0), "byte %d: %x", i,
			  units[i]);
	}
}

/* --- kernels ---------------------------------------------------------- */

static void
plain_sign_sums(const uint8_t *units, int count, const uint8_t *lut,
				int32_t *sums)
{
	for (int s = 0; s < VX_PLANE_SLOTS; s++)
		for (int k = 0; k < count; k++)
		{
			int byte = units[k * 16 + s % 16];

			sums[s] += lut[k * 16 + (s < 16 ? byte & 15 : byte >> 4)];
		}
}

/* kind 0: random; 1: table entries that overflow a careless lane. */
static void
check_sign_sums(int dim, int kind, uint64_t *state)
{
	int units = vx_sign_units(dim);
	size_t bytes = (size_t) units * VX_SIGN_UNIT_BYTES;
	int cut = (int) vx_random_below(state, (uint32_t) units + 1);
	UnitGuard guard_units, guard_lut, guard_sums;
	uint8_t *block = unit_guarded(bytes, &guard_units);
	uint8_t *lut = unit_guarded(bytes, &guard_lut);
	int32_t *sums = unit_guarded(VX_PLANE_SLOTS * sizeof(int32_t), &guard_sums);
	int32_t want[VX_PLANE_SLOTS];

	fill_random(block, bytes, 256, state);
	if (kind == 0)
		fill_random(lut, bytes, 256, state);
	else
		memset(lut, 255, bytes);
	for (int s = 0; s < VX_PLANE_SLOTS; s++)
		want[s] = 1000 * s - 7;
	plain_sign_sums(block, units, lut, want);
	for (int t = 0; t < unit_tables_count; t++)
	{
		const VxKernels *table = unit_tables[t];

		for (int s = 0; s < VX_PLANE_SLOTS; s++)
			sums[s] = 1000 * s - 7;
		table->sign_sums(block, cut, lut, block, sums);
		table->sign_sums(block + 16 * cut, units - cut, lut + 16 * cut, block,
						 sums);
		CHECK(memcmp(sums, want, sizeof(want)) == 0,
			  "%s: sums of signs, dim %d, kind %d, cut at %d", table->name, dim,
			  kind, cut);
	}
	unit_unguard(&guard_units);
	unit_unguard(&guard_lut);
	unit_unguard(&guard_sums);
}

static void
sign_sums(void)
{
	uint64_t state = 62;

	for (int d = 0; d < DIMS; d++)
	{
		check_sign_sums(dim_of(d), 0, &state);
		check_sign_sums(dim_of(d), 1, &state);
	}
}

#define ROWS 5
static const uint16_t rows_wanted[] = {4, 0, 3, 3};
#define WANTED 4

/* kind 0: random; 1 and 2: the extremes. */
static void
check_rest_dots(int dim, int kind, uint64_t *state)
{
	size_t bytes = (size_t) vx_rest_bytes(dim);
	size_t table_bytes = vx_plane_query_bytes(dim);
	uint8_t *levels = unit_alloc(ROWS * (size_t) dim);
	int8_t *q8 = unit_alloc(VX_QUERY8_BYTES(dim));
	UnitGuard guard_rows, guard_tables;
	uint8_t *rows = unit_guarded(ROWS * bytes, &guard_rows);
	uint8_t *tables = unit_guarded(table_bytes, &guard_tables);
	VxQuery query = {.q8 = q8};
	VxPlaneQuery planes;

	for (int i = 0; i < dim; i++)
		q8[i] = (int8_t) (kind == 0 ? (int) vx_random_below(state, 255) - 127
									: (kind == 1 ? 127 : -127));
	fill_random(levels, ROWS * (size_t) dim, 16, state);
	if (kind != 0)
		memset(levels, 15, ROWS * (size_t) dim);
	for (int r = 0; r < ROWS; r++)
		vx_rest_put(levels + r * dim, dim, rows + (size_t) r * bytes);
	vx_plane_query_init(&planes, &query, dim, tables);
	for (int t = 0; t < unit_tables_count; t++)
	{
		int32_t dots[WANTED] = {11, 12, -13, 14};

		unit_tables[t]->rest_dots(rows, rows_wanted, WANTED, dim, planes.rest,
								  dots);
		for (int i = 0; i < WANTED; i++)
		{
			int32_t want = 8 * (i == 2 ? -13 : 11 + i);

			for (int j = 0; j < dim; j++)
				want += (levels[rows_wanted[i] * dim + j] & 7) * q8[j];
			CHECK(dots[i] == want, "%s: rest, dim %d, kind %d: %d, not %d",
				  unit_tables[t]->name, dim, kind, dots[i], want);
		}
	}
	free(levels);
	free(q8);
	unit_unguard(&guard_rows);
	unit_unguard(&guard_tables);
}

static void
rest_dots(void)
{
	uint64_t state = 63;

	for (int d = 0; d < DIMS; d++)
	{
		for (int kind = 0; kind < 3; kind++)
			check_rest_dots(dim_of(d), kind, &state);
	}
}

/* --- scores ----------------------------------------------------------- */

#define ENTRIES 45

/* Entries of one list as whole codes and as planes. */
typedef struct Stored
{
	uint8_t codes[ENTRIES][VX_DIM_MAX / 2];
	uint8_t levels[ENTRIES][VX_DIM_MAX];
	uint8_t rest[ENTRIES * 3 * VX_DIM_MAX / 8 + 3 * ENTRIES];
	uint8_t units[2 * VX_DIM_MAX / 4 * VX_SIGN_UNIT_BYTES];
	float f[48];
	float n[48];
	uint16_t sn[48];
	uint16_t en[48];
} Stored;

static void
store_rows(Stored *stored, UnitList *list, uint64_t *state)
{
	int dim = list->quantizer.dim;
	int units = vx_sign_units(dim);
	float *x = unit_alloc(sizeof(float) * (size_t) dim);

	for (int i = 0; i < ENTRIES; i++)
	{
		uint8_t *code =
			&stored->codes[0][0] + (size_t) (i * vx_code_bytes(dim, 4));
		VxEntryFactors factors;

		unit_fill_gaussian(x, (size_t) dim, state);
		vx_encode(&list->quantizer, &list->ref, x, code, &factors,
				  list->scratch);
		vx_unpack(code, dim, 4, stored->levels[i]);
		vx_rest_put(stored->levels[i], dim,
					stored->rest + i * vx_rest_bytes(dim));
		vx_sign_put(stored->levels[i], dim, i % VX_PLANE_SLOTS, 0, units,
					stored->units +
						i / VX_PLANE_SLOTS * units * VX_SIGN_UNIT_BYTES);
		stored->f[i] = factors.f;
		stored->n[i] = factors.n;
		stored->sn[i] = factors.sn;
		stored->en[i] = factors.en;
	}
	free(x);
}

/* The first stage of both blocks in three runs, as three pages hold them. */
static void
sum_signs(const Stored *stored, const VxPlaneQuery *planes, uint64_t *state,
		  int32_t *sums)
{
	int end = 2 * vx_sign_units(planes->dim);
	int at = 0;

	for (int run = 0; run < 3; run++)
	{
		int count =
			run == 2 ? end - at
					 : (int) vx_random_below(state, (uint32_t) (end - at + 1));

		vx_sign_sums(planes, stored->units + at * VX_SIGN_UNIT_BYTES, at, count,
					 NULL, sums);
		at += count;
	}
}

/* q8 as a sum over set signs, and the units' tables within their bytes. */
static void
check_sums(const Stored *stored, const VxQuery *query, int dim,
		   const int32_t *sums)
{
	for (int i = 0; i < ENTRIES; i++)
	{
		int32_t want = 0;

		for (int j = 0; j < dim; j++)
			want += stored->levels[i][j] >> 3 != 0 ? query->q8[j] : 0;
		CHECK(sums[i] == want, "%s dim %d entry %d: sum %d, not %d",
			  vx_kernels->name, dim, i, sums[i], want);
	}
	for (int j = 0; j < dim; j += 4)
	{
		int magnitude = 0;

		for (int b = 0; b < 4; b++)
			magnitude += abs(query->q8[j + b]);
		CHECK(magnitude <= 255, "dim %d: a unit of %d", dim, magnitude);
	}
}

static void
check_refined(Stored *stored, UnitList *list, const float *q, uint64_t *state)
{
	static const uint16_t all[] = {0, 7, 44, 31, 32, 33, 12, 1, 2, 3, 4};
	enum
	{
		COUNT = sizeof(all) / sizeof(all[0])
	};
	int dim = list->quantizer.dim;
	int8_t *q8 = unit_alloc(VX_QUERY8_BYTES(dim));
	uint8_t *tables = unit_alloc(vx_plane_query_bytes(dim));
	VxFactors factors = {stored->f, stored->n, stored->sn, stored->en};
	int32_t dots[48], sums[2 * VX_PLANE_SLOTS], chosen[16];
	float est[48], low[48], est2[16], low2[16];
	float f[16] = {0}, n[16] = {0};
	uint16_t sn[16] = {0}, en[16] = {0};
	VxFactors gathered = {f, n, sn, en};
	VxPlaneQuery planes;
	VxQuery query;
	VxListQuery terms;

	vx_query_init(&query, &list->quantizer, q, list->centre, q8, list->scratch);
	vx_query_list(&query, &list->quantizer, list->centroid, list->centre, 1.9f,
				  &terms);
	vx_score(&query, &list->quantizer, &terms, &stored->codes[0][0], &factors,
			 ENTRIES, NULL, dots, est, low);
	vx_plane_query_init(&planes, &query, dim, tables);
	sum_signs(stored, &planes, state, sums);
	check_sums(stored, &query, dim, sums);
	for (int i = 0; i < COUNT; i++)
	{
		chosen[i] = sums[all[i]];
		f[i] = stored->f[all[i]];
		n[i] = stored->n[all[i]];
		sn[i] = stored->sn[all[i]];
		en[i] = stored->en[all[i]];
	}
	vx_refine(&planes, &terms, stored->rest, all, COUNT, &gathered, chosen,
			  est2, low2);
	for (int i = 0; i < COUNT; i++)
		CHECK(chosen[i] == dots[all[i]] && est2[i] == est[all[i]] &&
				  low2[i] == low[all[i]],
			  "%s dim %d entry %d: %g, %g, not %g, %g", vx_kernels->name, dim,
			  all[i], est2[i], low2[i], est[all[i]], low[all[i]]);
	free(q8);
	free(tables);
}

static void
refined_is_whole(void)
{
	Stored *stored = unit_alloc(sizeof(*stored));
	uint64_t state = 64;

	for (int d = 0; d < DIMS; d++)
	{
		int dim = dim_of(d);
		float *q = unit_alloc(sizeof(float) * (size_t) dim);
		UnitList list;

		unit_list_init(&list, d % 2 == 0 ? VX_METRIC_L2 : VX_METRIC_IP, dim, 4);
		unit_fill_gaussian(list.centre, (size_t) dim, &state);
		unit_fill_gaussian(list.centroid, (size_t) dim, &state);
		unit_list_ready(&list);
		store_rows(stored, &list, &state);
		for (int t = 0; t < unit_tables_count; t++)
		{
			vx_kernels = unit_tables[t];
			unit_fill_gaussian(q, (size_t) dim, &state);
			check_refined(stored, &list, q, &state);
			/* The zero query, whose tables are all zero. */
			memset(q, 0, sizeof(float) * (size_t) dim);
			check_refined(stored, &list, q, &state);
		}
		memset(stored->units, 0, sizeof(stored->units));
		free(q);
		unit_list_free(&list);
	}
	free(stored);
}

const UnitTest plane_tests[] = {
	{"planes: out and back", planes_and_back},
	{"planes: bits in their places", planes_by_hand},
	{"planes: sums of signs exact", sign_sums},
	{"planes: dot products of the rest exact", rest_dots},
	{"planes: refined scores equal those of whole codes", refined_is_whole},
	{NULL, NULL},
};
