/*
 * test_encode.c
 *		Packing, and what the encoder stores: the same bytes on every table and
 *		compiler, factors as documented.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

/*
 * Checksums of codes and factors, by unit_dims: 4 bits, then 8 bits, each L2
 * and inner product.  Indexes on disk depend on these bits.
 */
static const uint64_t golden[UNIT_DIMS] = {
	0xb07a61e7f7f395b9, /* 1 */
	0xf754a5cbe917b408, /* 2 */
	0x50f4a242d8962ddf, /* 3 */
	0x85b72b9b619f4ff5, /* 4 */
	0x4725a9849381ab22, /* 7 */
	0x329f5cc359d66383, /* 8 */
	0xb861aacb72e1f092, /* 31 */
	0xc50cb6db28b2b0ff, /* 32 */
	0x92d714da1392e6a0, /* 33 */
	0xc0e8a6a287da45ff, /* 63 */
	0xa15d54406f3ca99a, /* 64 */
	0x2a778143587f8f1d, /* 65 */
	0xc8a5de44410b685b, /* 100 */
	0xea67ee141ee1d53d, /* 127 */
	0xc11c6b5af8d83f7e, /* 384 */
	0x515352438d8c4dfd, /* 768 */
	0x1c408403c0312b43, /* 1023 */
	0x02e8d0856e02b66c, /* 1536 */
	0x3898205d1cb557b6, /* 3072 */
	0x3fade192ee05f126, /* 16000 */
};

/* The same for vx_quantizer_t0() up to 768 dimensions. */
static const uint64_t golden_t0 = 0x4349674b94aa24a9;

static void
pack_and_unpack(void)
{
	uint64_t state = 31;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (int bits = 4; bits <= 8; bits += 4)
		{
			int dim = unit_dims[d];
			int bytes = vx_code_bytes(dim, bits);
			UnitGuard guard_levels, guard_code;
			uint8_t *levels = unit_guarded((size_t) dim, &guard_levels);
			uint8_t *code = unit_guarded((size_t) bytes, &guard_code);
			uint8_t *back = unit_alloc((size_t) dim);

			for (int i = 0; i < dim; i++)
				levels[i] = (uint8_t) vx_random_below(&state, 1u << bits);
			vx_pack(levels, dim, bits, code);
			vx_unpack(code, dim, bits, back);
			CHECK(memcmp(levels, back, (size_t) dim) == 0, "dim %d bits %d",
				  dim, bits);
			if (bits == 4)
				CHECK((code[0] & 15) == levels[0] &&
						  (dim < 2 || code[0] >> 4 == levels[(dim + 1) / 2]),
					  "order of nibbles, dim %d", dim);
			if (bits == 4 && dim % 2 == 1)
				CHECK(code[bytes - 1] >> 4 == 0, "padding, dim %d", dim);
			free(back);
			unit_unguard(&guard_levels);
			unit_unguard(&guard_code);
		}
	}
}

/* Encodes x with the table in use and hashes code and factors. */
static uint64_t
hash_entry(UnitList *list, const float *x, uint64_t hash)
{
	int bytes = vx_code_bytes(list->quantizer.dim, list->quantizer.bits);
	uint8_t *code = unit_alloc((size_t) bytes);
	VxEntryFactors factors;

	vx_encode(&list->quantizer, &list->ref, x, code, &factors, list->scratch);
	hash = unit_hash(hash, code, (size_t) bytes);
	hash = unit_hash(hash, &factors, sizeof(factors));
	free(code);
	return hash;
}

static uint64_t
hash_dimension(int dim)
{
	uint64_t hash = UNIT_HASH_START;
	float *x = unit_alloc(sizeof(float) * (size_t) dim);

	for (int bits = 4; bits <= 8; bits += 4)
	{
		for (VxMetric metric = VX_METRIC_L2; metric <= VX_METRIC_IP; metric++)
		{
			uint64_t state = (uint64_t) dim + 32;
			UnitList list;

			unit_list_init(&list, metric, dim, bits);
			unit_fill_gaussian(list.centre, (size_t) dim, &state);
			unit_fill_gaussian(list.centroid, (size_t) dim, &state);
			unit_list_ready(&list);
			for (int row = 0; row < (dim > 2000 ? 2 : 8); row++)
			{
				unit_fill_gaussian(x, (size_t) dim, &state);
				hash = hash_entry(&list, x, hash);
			}
			unit_list_free(&list);
		}
	}
	free(x);
	return hash;
}

static void
encode_is_golden(void)
{
	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (int t = 0; t < unit_tables_count; t++)
		{
			uint64_t hash;

			vx_kernels = unit_tables[t];
			hash = hash_dimension(unit_dims[d]);
			CHECK(hash == golden[d], "%s dim %d: 0x%016llx", vx_kernels->name,
				  unit_dims[d], (unsigned long long) hash);
		}
	}
}

static void
t0_is_golden(void)
{
	float *scratch = unit_alloc(sizeof(float) * 768);

	for (int t = 0; t < unit_tables_count; t++)
	{
		uint64_t hash = UNIT_HASH_START;

		vx_kernels = unit_tables[t];
		for (int d = 0; unit_dims[d] <= 768; d++)
		{
			for (int bits = 4; bits <= 8; bits += 4)
			{
				float t0 = vx_quantizer_t0(unit_dims[d], bits, scratch);

				hash = unit_hash(hash, &t0, sizeof(t0));
			}
		}
		CHECK(hash == golden_t0, "%s: 0x%016llx", vx_kernels->name,
			  (unsigned long long) hash);
	}
	free(scratch);
}

/* Width e/n of a code from its levels, by definition, with the stored s. */
static double
plain_error2(const float *r, const uint8_t *levels, const VxEntryFactors *f,
			 int dim, int bits)
{
	double s = (double) vx_half_float(f->sn) * f->n;
	double middle = ((1 << bits) - 1) / 2.0;
	double error2 = 0.0;

	for (int i = 0; i < dim; i++)
	{
		double e = r[i] - s * (levels[i] - middle);

		error2 += e * e;
	}
	return error2;
}

/*
 * e covers |r - s y| / sqrt(dim - 1); the error against the best possible is
 * small: for 4 bits |r - s y|^2 is near 0.0115 n^2, for 8 bits near 4e-5 n^2,
 * where the search gives up to 1e-4 across for a smaller rounding along.
 */
static void
factors_hold(void)
{
	uint64_t state = 33;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (int bits = 4; bits <= 8; bits += 4)
		{
			int dim = unit_dims[d];
			double spread = dim > 1 ? dim - 1 : 1;
			float *x = unit_alloc(sizeof(float) * (size_t) dim);
			uint8_t *code = unit_alloc((size_t) dim);
			uint8_t *levels = unit_alloc((size_t) dim);
			double width, error2;
			VxEntryFactors f;
			UnitList list;

			unit_list_init(&list, VX_METRIC_L2, dim, bits);
			unit_list_ready(&list);
			unit_fill_gaussian(x, (size_t) dim, &state);
			vx_encode(&list.quantizer, &list.ref, x, code, &f, list.scratch);
			vx_unpack(code, dim, bits, levels);
			CHECK(fabs(f.n - sqrt(vx_kernels->inner_product(x, x, dim))) <=
					  1e-6 * f.n,
				  "n, dim %d", dim);
			CHECK(fabs((double) f.f - (double) f.n * f.n) <= 1e-6 * f.f,
				  "f of a flat list is n^2, dim %d", dim);
			vx_rotate(&list.quantizer.rotation, x);
			error2 = plain_error2(x, levels, &f, dim, bits);
			width = (double) vx_half_float(f.en) * f.n;
			/* The rotation here is another rounding: 1e-6 of n. */
			CHECK(width + 1e-6 * f.n >= sqrt(error2 / spread),
				  "e is too small, dim %d bits %d", dim, bits);
			if (dim >= 31)
				CHECK(error2 < (bits == 4 ? 0.016 : 1.6e-4) * f.n * f.n,
					  "error %g, dim %d bits %d", error2 / f.n / f.n, dim,
					  bits);
			if (dim == 1)
				CHECK(error2 == 0.0, "one dimension is exact");
			free(x);
			free(code);
			free(levels);
			unit_list_free(&list);
		}
	}
}

static void
zero_residual(void)
{
	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (VxMetric metric = VX_METRIC_L2; metric <= VX_METRIC_COSINE;
			 metric++)
		{
			int dim = unit_dims[d];
			uint64_t state = 34;
			uint8_t *code = unit_alloc((size_t) dim);
			VxEntryFactors f;
			UnitList list;

			unit_list_init(&list, metric, dim, 4);
			unit_fill_gaussian(list.centroid, (size_t) dim, &state);
			unit_list_ready(&list);
			vx_encode(&list.quantizer, &list.ref, list.centroid, code, &f,
					  list.scratch);
			CHECK(f.f == 0 && f.n == 0 && f.sn == 0 && f.en == 0,
				  "factors, dim %d", dim);
			CHECK(code[0] == (dim == 1 ? 0x08 : 0x88), "code %02x, dim %d",
				  code[0], dim);
			free(code);
			unit_list_free(&list);
		}
	}
}

const UnitTest encode_tests[] = {
	{"encode: pack and unpack are inverses", pack_and_unpack},
	{"encode: golden bytes", encode_is_golden},
	{"encode: golden t0", t0_is_golden},
	{"encode: factors hold", factors_hold},
	{"encode: zero residual", zero_residual},
	{NULL, NULL},
};
