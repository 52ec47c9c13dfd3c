/*
 * bench_planes.c
 *		Scoring in two stages against whole codes, from the caches and from
 *		memory; beside it what reading the same memory costs.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "quant/random.h"

#define PAGE 8192
#define PAGE_DATA 8144				/* bytes of a page that hold codes */
#define MEMORY ((size_t) 256 << 20) /* far beyond the caches */
#define CACHED ((size_t) 4 * PAGE)
#define TURNS 5
#define ENTRIES_MAX 8192 /* of one page */

typedef struct Bench
{
	int dim;
	const uint8_t *memory;
	size_t bytes; /* of memory in use */
	VxQuery query;
	VxPlaneQuery planes;
	int32_t sums[ENTRIES_MAX];
} Bench;

typedef double (*Pass)(Bench *bench); /* returns how many were scored */

static volatile uint64_t sink;

/* The best of some turns, in ns for each that was scored. */
static double
best_ns(Bench *bench, Pass pass, size_t bytes)
{
	int repeat = bytes < MEMORY ? 256 : 1;
	double best = INFINITY;

	bench->bytes = bytes;
	for (int turn = 0; turn < TURNS; turn++)
	{
		double start = bench_now();
		double count = 0;
		double ns;

		for (int i = 0; i < repeat; i++)
			count += pass(bench);
		ns = (bench_now() - start) * 1e9 / count;
		best = ns < best ? ns : best;
	}
	return best;
}

/* Bytes read in order by plain loads, four sums. */
static double
read_pass(Bench *bench)
{
	const uint64_t *words = (const uint64_t *) bench->memory;
	uint64_t sum[16] = {0};

	for (size_t i = 0; i < bench->bytes / 8; i += 16)
		for (int k = 0; k < 16; k++)
			sum[k] += words[i + (size_t) k];
	for (int k = 0; k < 16; k++)
		sink += sum[k];
	return (double) bench->bytes;
}

/*
 * The first stage of all pages, whole units only, in order: a page continues the
 * stream of the one before it.
 */
static double
sign_pass(Bench *bench)
{
	int of_page = PAGE_DATA / VX_SIGN_UNIT_BYTES;
	int of_block = vx_sign_units(bench->dim);
	size_t pages = bench->bytes / PAGE;
	int first = 0;

	for (size_t p = 0; p < pages; p++)
	{
		const uint8_t *page = bench->memory + p * PAGE;
		const uint8_t *ahead = p + 1 < pages ? page + PAGE : bench->memory;

		vx_sign_sums(&bench->planes, page, first, of_page, ahead, bench->sums);
		first = (first + of_page) % of_block;
	}
	sink += (uint64_t) bench->sums[0];
	return (double) pages * of_page / of_block * VX_PLANE_SLOTS;
}

#define WANTED 3 /* rows of a page that are refined */

/* The second stage of a few rows of each page; the next page's are asked for. */
static double
refine_pass(Bench *bench)
{
	uint32_t rows = (uint32_t) (PAGE_DATA / vx_rest_bytes(bench->dim));
	size_t pages = bench->bytes / PAGE;
	uint16_t index[2][WANTED] = {{0}};
	uint64_t state = 5;

	for (size_t p = 0; p < pages; p++)
	{
		const uint8_t *page = bench->memory + p * PAGE;
		uint16_t *now = index[p % 2];
		uint16_t *next = index[(p + 1) % 2];

		for (int i = 0; i < WANTED; i++)
			next[i] = (uint16_t) vx_random_below(&state, rows);
		if (p + 1 < pages)
			vx_refine_ahead(bench->dim, page + PAGE, next, WANTED);
		vx_kernels->rest_dots(page, now, WANTED, bench->dim, bench->planes.rest,
							  bench->sums);
	}
	sink += (uint64_t) bench->sums[0];
	return (double) pages * WANTED;
}

/* Whole codes, row after row. */
static double
whole_pass(Bench *bench)
{
	int rows = PAGE_DATA / vx_code_bytes(bench->dim, 4);
	size_t pages = bench->bytes / PAGE;

	for (size_t p = 0; p < pages; p++)
	{
		const uint8_t *page = bench->memory + p * PAGE;
		const uint8_t *ahead = p + 1 < pages ? page + PAGE : bench->memory;

		vx_kernels->dot_u4_ahead(page, rows, bench->dim, bench->query.q8,
								 bench->sums, ahead);
	}
	sink += (uint64_t) bench->sums[0];
	return (double) pages * rows;
}

/* The tables are made again each time, as for each query. */
static double
tables_pass(Bench *bench)
{
	vx_plane_query_init(&bench->planes, &bench->query, bench->dim,
						(uint8_t *) (uintptr_t) bench->planes.lut);
	return 1;
}

static void
bench_dim(Bench *bench, int dim)
{
	int8_t *q8 = bench_filled(VX_QUERY8_BYTES(dim), 2);
	uint8_t *tables = malloc(vx_plane_query_bytes(dim));
	double read, signs, whole;

	for (int i = 0; i < dim; i++)
		q8[i] = (int8_t) (q8[i] % 64);
	memset(q8 + dim, 0, 64);
	bench->dim = dim;
	bench->query = (VxQuery){.q8 = q8};
	vx_plane_query_init(&bench->planes, &bench->query, dim, tables);
	read = 1 / best_ns(bench, read_pass, MEMORY);
	printf("%-6s dim %5d: cached: signs %5.2f, refine %5.1f, whole %5.1f "
		   "ns/entry; tables %5.0f ns\n",
		   vx_kernels->name, dim, best_ns(bench, sign_pass, CACHED),
		   best_ns(bench, refine_pass, CACHED),
		   best_ns(bench, whole_pass, CACHED),
		   best_ns(bench, tables_pass, CACHED));
	signs = best_ns(bench, sign_pass, MEMORY);
	whole = best_ns(bench, whole_pass, MEMORY);
	printf("%-6s dim %5d: of 256 MB: signs %5.2f (%4.1f GB/s, %3.0f %% of a "
		   "plain read's %4.1f), refine %5.1f, whole %5.1f (%4.1f GB/s)\n",
		   vx_kernels->name, dim, signs, dim / 8.0 / signs,
		   100 * dim / 8.0 / signs / read, read,
		   best_ns(bench, refine_pass, MEMORY), whole, dim / 2.0 / whole);
	free(q8);
	free(tables);
}

void
bench_planes(void)
{
	static const int dims[] = {128, 384, 512, 768, 1536};
	Bench *bench = calloc(1, sizeof(*bench));
	uint8_t *memory = bench_filled(MEMORY, 1);

	bench->memory = memory;
	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		bench_dim(bench, dims[i]);
	free(memory);
	free(bench);
}
