/*
 * test_rotate.c
 *		The rotation is orthogonal, mixes, and is the same on every compiler.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "unit.h"

/*
 * Checksums of the rotation of a fixed vector, by unit_dims.  Indexes on disk
 * depend on these bits: a change is a change of the format.
 */
static const uint64_t golden[UNIT_DIMS] = {
	0x69dbe87e04450c13, /* 1 */
	0xfc1cb3996818c1d5, /* 2 */
	0x044dd4cf45532aaa, /* 3 */
	0x112e07ced9bed2c1, /* 4 */
	0x9df7769e8528029f, /* 7 */
	0xd81a0e86acc26c16, /* 8 */
	0x0dff81f5629d98c5, /* 31 */
	0xa54201c2f87094d2, /* 32 */
	0x3238a5c19283deb1, /* 33 */
	0xb415313ca9a76673, /* 63 */
	0xf36fbfb7ce3b1484, /* 64 */
	0xd61cceb17da91fb4, /* 65 */
	0x4da199ed7a198125, /* 100 */
	0x27c8bbf14d6b9ac7, /* 127 */
	0xc5ce4334d37c78c9, /* 384 */
	0x5678783a013e5bd8, /* 768 */
	0xd6a2bfd8ab6d4044, /* 1023 */
	0xd125ad7565ee31c4, /* 1536 */
	0x40c90905a052a395, /* 3072 */
	0xf3cec8f88b58081e, /* 16000 */
};

static void
rotation_keeps_lengths(void)
{
	uint64_t state = 21;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		int dim = unit_dims[d];
		UnitList list;
		float *x = unit_alloc(sizeof(float) * (size_t) dim);
		float *y = unit_alloc(sizeof(float) * (size_t) dim);
		double xx, xy;

		unit_list_init(&list, VX_METRIC_L2, dim, 4);
		unit_fill_gaussian(x, (size_t) dim, &state);
		unit_fill_gaussian(y, (size_t) dim, &state);
		xx = vx_kernels->inner_product(x, x, dim);
		xy = vx_kernels->inner_product(x, y, dim);
		vx_rotate(&list.quantizer.rotation, x);
		vx_rotate(&list.quantizer.rotation, y);
		/* Some 60 roundings of 2^-24 that mostly cancel. */
		CHECK(fabs(vx_kernels->inner_product(x, x, dim) - xx) <= 2e-6 * xx,
			  "|x|^2, dim %d", dim);
		CHECK(fabs(vx_kernels->inner_product(x, y, dim) - xy) <=
				  2e-6 * sqrt(xx * vx_kernels->inner_product(y, y, dim)),
			  "<x, y>, dim %d", dim);
		free(x);
		free(y);
		unit_list_free(&list);
	}
}

/* The images of the unit vectors are an orthonormal base. */
static void
rotation_is_orthogonal(void)
{
	for (int dim = 1; dim <= 67; dim++)
	{
		UnitList list;
		float *p = unit_alloc(sizeof(float) * (size_t) (dim * dim));

		unit_list_init(&list, VX_METRIC_L2, dim, 4);
		for (int i = 0; i < dim; i++)
		{
			p[i * dim + i] = 1.0f;
			vx_rotate(&list.quantizer.rotation, p + i * dim);
		}
		for (int i = 0; i < dim; i++)
		{
			for (int j = 0; j <= i; j++)
			{
				double dot =
					vx_kernels->inner_product(p + i * dim, p + j * dim, dim);

				CHECK(fabs(dot - (i == j ? 1.0 : 0.0)) <= 2e-6,
					  "dim %d: <P%d, P%d> = %g", dim, i, j, dot);
			}
		}
		free(p);
		unit_list_free(&list);
	}
}

/*
 * Every unit vector comes out with no coordinate far above 1/sqrt(dim).  The
 * largest of dim^2 Gaussian values is near 5.5 for dim = 1536; measured at most
 * 5.4 up to 3072.
 */
static void
rotation_mixes(void)
{
	for (int d = 6; unit_dims[d] <= 1536; d++)
	{
		int dim = unit_dims[d];
		UnitList list;
		float *x = unit_alloc(sizeof(float) * (size_t) dim);

		unit_list_init(&list, VX_METRIC_L2, dim, 4);
		for (int k = 0; k < dim; k++)
		{
			float most = 0.0f;

			memset(x, 0, sizeof(float) * (size_t) dim);
			x[k] = 1.0f;
			vx_rotate(&list.quantizer.rotation, x);
			for (int i = 0; i < dim; i++)
				most = fabsf(x[i]) > most ? fabsf(x[i]) : most;
			CHECK((double) most * sqrt((double) dim) < 6.5,
				  "dim %d, e%d: largest %g", dim, k,
				  (double) most * sqrt((double) dim));
		}
		free(x);
		unit_list_free(&list);
	}
}

static void
rotation_follows_seed(void)
{
	uint8_t signs[3][64];
	VxRotation rotation;

	CHECK(vx_rotation_bytes(100) == 52, "sign bytes");
	vx_rotation_init(&rotation, 100, 1, signs[0]);
	vx_rotation_init(&rotation, 100, 1, signs[1]);
	vx_rotation_init(&rotation, 100, 2, signs[2]);
	CHECK(memcmp(signs[0], signs[1], 52) == 0, "same seed, other signs");
	CHECK(memcmp(signs[0], signs[2], 52) != 0, "other seed, same signs");
}

static void
rotation_is_golden(void)
{
	for (int t = 0; t < unit_tables_count; t++)
	{
		uint64_t state = 22;

		vx_kernels = unit_tables[t];
		for (int d = 0; d < UNIT_DIMS; d++)
		{
			int dim = unit_dims[d];
			size_t bytes = sizeof(float) * (size_t) dim;
			UnitList list;
			float *x = unit_alloc(bytes);
			float *y = unit_alloc(bytes);
			uint64_t hash;

			unit_list_init(&list, VX_METRIC_L2, dim, 4);
			unit_fill_gaussian(x, (size_t) dim, &state);
			unit_fill_gaussian(y, (size_t) dim, &state);
			vx_rotate_difference(&list.quantizer.rotation, x, y, list.scratch);
			hash = unit_hash(UNIT_HASH_START, list.scratch, bytes);
			CHECK(hash == golden[d], "%s dim %d: 0x%016llx", vx_kernels->name,
				  dim, (unsigned long long) hash);
			free(x);
			free(y);
			unit_list_free(&list);
		}
	}
}

static void
normalize(void)
{
	float zero[3] = {0, -0.0f, 0};
	float tiny[2] = {3e-42f, 4e-42f};
	float huge[2] = {3e38f, -3e38f};

	CHECK(!vx_normalize(zero, 3) && signbit(zero[1]), "zero is left alone");
	CHECK(vx_normalize(tiny, 2) && fabsf(tiny[0] - 0.6f) < 1e-3f, "tiny %g",
		  tiny[0]);
	CHECK(vx_normalize(huge, 2) && fabsf(huge[1] + sqrtf(0.5f)) < 1e-7f,
		  "huge %g", huge[1]);
}

const UnitTest rotate_tests[] = {
	{"rotation: keeps lengths and inner products", rotation_keeps_lengths},
	{"rotation: orthonormal", rotation_is_orthogonal},
	{"rotation: mixes unit vectors", rotation_mixes},
	{"rotation: signs follow the seed", rotation_follows_seed},
	{"rotation: golden bits", rotation_is_golden},
	{"normalize: zero, tiny, huge", normalize},
	{NULL, NULL},
};
