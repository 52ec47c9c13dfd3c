/*
 * bench_kernels.c
 *		What the kernels, both stages of planes, the encoder and k-means cost
 *		here.  Prints; asserts nothing.
 */
#include <dlfcn.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "bench.h"
#include "quant/quant.h"
#include "quant/random.h"

double
bench_now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double) t.tv_sec + 1e-9 * (double) t.tv_nsec;
}

void *
bench_filled(size_t bytes, uint64_t seed)
{
	uint64_t *words = malloc(bytes + 8);

	for (size_t i = 0; i <= bytes / 8; i++)
		words[i] = vx_random_next(&seed);
	return words;
}

/* Floats in -1 .. 1 around one of 64 centres. */
static float *
clustered(int64_t rows, int dim, uint64_t seed)
{
	float *x = malloc(sizeof(float) * (size_t) rows * (size_t) dim);
	float *centres = malloc(sizeof(float) * 64 * (size_t) dim);

	for (int i = 0; i < 64 * dim; i++)
		centres[i] = (float) (vx_random_next(&seed) >> 40) * 0x1p-23f - 1.0f;
	for (int64_t i = 0; i < rows; i++)
	{
		const float *c = centres + vx_random_below(&seed, 64) * (size_t) dim;

		for (int j = 0; j < dim; j++)
			x[i * dim + j] =
				c[j] + (float) (vx_random_next(&seed) >> 40) * 0x1p-23f - 1.0f;
	}
	free(centres);
	return x;
}

/* Pages of codes as a scan meets them, total bytes of codes. */
static double
time_dots(int dim, int bits, size_t total)
{
	int stride = vx_code_bytes(dim, bits);
	int rows = 8100 / (stride + 22);
	size_t pages = total / 8192 + 1;
	uint8_t *codes = bench_filled(pages * 8192, 1);
	int8_t *query = bench_filled(VX_QUERY8_BYTES(dim), 2);
	int32_t out[512];
	double best = INFINITY;

	memset(query + dim, 0, 64);
	if (rows > 512)
		rows = 512;
	for (int turn = 0; turn < 7; turn++)
	{
		double start = bench_now();
		double ns;

		for (size_t p = 0; p < pages; p++)
		{
			if (bits == 8)
				vx_kernels->dot_u8(codes + p * 8192, rows, dim, query, out);
			else
				vx_kernels->dot_u4(codes + p * 8192, rows, dim, query, out);
		}
		ns = (bench_now() - start) / (double) pages / rows * 1e9;
		best = ns < best ? ns : best;
	}
	free(codes);
	free(query);
	return best;
}

static void
bench_dots(void)
{
	static const int dims[] = {128, 384, 512, 768, 1536};

	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
		printf("%-6s dim %5d: u4 %6.1f ns/entry cached, %6.1f of 17 MB, "
			   "u8 %6.1f of 17 MB\n",
			   vx_kernels->name, dims[i], time_dots(dims[i], 4, 32768),
			   time_dots(dims[i], 4, 17 << 20),
			   time_dots(dims[i], 8, 17 << 20));
}

static void
bench_bound(void)
{
	enum
	{
		ROWS = 64
	};
	float f[ROWS], n[ROWS], est[ROWS], low[ROWS];
	uint16_t sn[ROWS], en[ROWS];
	int32_t dots[ROWS];
	VxFactors factors = {f, n, sn, en};
	VxListQuery q = {1, 1, 2, .01f, 3, 1, 1e-5f, 1.9f, 0, 0, 1e-6f};
	double start;

	for (int i = 0; i < ROWS; i++)
	{
		f[i] = n[i] = 1.0f + (float) i;
		sn[i] = vx_half_nearest(0.1f);
		en[i] = vx_half_nearest(0.01f);
		dots[i] = i;
	}
	start = bench_now();
	for (int turn = 0; turn < 100000; turn++)
	{
		vx_kernels->bound(&q, &factors, dots, ROWS, est, low);
		dots[turn % ROWS] += est[turn % ROWS] > 0;
	}
	printf("%-6s bound: %.2f ns/entry\n", vx_kernels->name,
		   (bench_now() - start) / 100000 / ROWS * 1e9);
}

static void
bench_encode(void)
{
	static const int dims[] = {128, 384, 512, 768, 1536};

	for (size_t i = 0; i < sizeof(dims) / sizeof(dims[0]); i++)
	{
		int dim = dims[i];
		float *x = clustered(1001, dim, 7);
		uint8_t *signs = malloc(vx_rotation_bytes(dim));
		float *scratch = malloc(sizeof(float) * 2 * (size_t) dim);
		float *rotated = malloc(sizeof(float) * (size_t) dim);
		uint8_t *code = malloc((size_t) dim);
		VxQuantizer quantizer = {.metric = VX_METRIC_L2, .dim = dim, .bits = 4};
		VxListRef list = {x, rotated};
		VxEntryFactors factors;
		double start = bench_now();
		double t0_ms, rotate_us;

		quantizer.t0 = vx_quantizer_t0(dim, 4, scratch);
		t0_ms = (bench_now() - start) * 1e3;
		vx_rotation_init(&quantizer.rotation, dim, 1, signs);
		vx_list_rotate(&quantizer, x, x + dim, rotated);
		start = bench_now();
		for (int k = 0; k < 1000; k++)
			vx_rotate(&quantizer.rotation, rotated);
		rotate_us = (bench_now() - start) * 1e3;
		start = bench_now();
		for (int k = 0; k < 5000; k++)
			vx_encode(&quantizer, &list, x + (size_t) (1 + k % 1000) * dim,
					  code, &factors, scratch);
		printf("%-6s dim %5d: encode %.2f us, of which rotation %.2f us; "
			   "t0 %.2f ms (%.2f)\n",
			   vx_kernels->name, dim, (bench_now() - start) / 5000 * 1e6,
			   rotate_us, t0_ms, quantizer.t0);
		free(x);
		free(signs);
		free(scratch);
		free(rotated);
		free(code);
	}
}

static void
bench_kmeans(int64_t rows, int dim, int lists)
{
	float *x = clustered(rows, dim, 3);
	float *centroids = malloc(sizeof(float) * (size_t) lists * (size_t) dim);
	VxKmeans task = {.x = x,
					 .rows = rows,
					 .dim = dim,
					 .lists = lists,
					 .iterations = 8,
					 .seed = 1};
	void *state = malloc(vx_kmeans_state_bytes(&task));
	void *work = malloc(vx_kmeans_work_bytes(&task));
	int32_t *numbers = malloc(2 * sizeof(int32_t) * (size_t) rows);
	double start;
	int made;

	task.list_of = numbers;
	task.order = numbers + rows;
	start = bench_now();
	made = vx_kmeans(&task, centroids, state, work);

	printf("k-means %ld x %d, %d lists (%d made): %.2f s\n", (long) rows, dim,
		   lists, made, bench_now() - start);
	free(x);
	free(centroids);
	free(state);
	free(work);
	free(numbers);
}

/* A line of /proc/self/status. */
static void
print_status(const char *key)
{
	FILE *f = fopen("/proc/self/status", "r");
	char line[256];

	while (f != NULL && fgets(line, sizeof(line), f) != NULL)
	{
		if (strncmp(line, key, strlen(key)) == 0)
			printf("  %s", line);
	}
	if (f != NULL)
		fclose(f);
}

int
main(int argc, char **argv)
{
	const char *only = argc > 1 ? argv[1] : "";
	const VxKernels *tables[4];
	int count = vx_kernels_available(tables, 4);

	for (int i = 0; i < count; i++)
	{
		vx_kernels_choose(tables[i]->name);
		if (only[0] == '\0' || strcmp(only, "dot") == 0)
		{
			bench_dots();
			bench_bound();
		}
		if (only[0] == '\0' || strcmp(only, "planes") == 0)
			bench_planes();
		if (only[0] == '\0' || strcmp(only, "encode") == 0)
			bench_encode();
	}
	if (only[0] == '\0' || strcmp(only, "kmeans") == 0)
	{
		if (vx_blas_open() != NULL)
			printf("no matrix library: plain loops\n");
		bench_kmeans(26000, 512, 322);
		bench_kmeans(63000, 512, 502);
		print_status("Threads");
		print_status("RssAnon");
	}
	return 0;
}
