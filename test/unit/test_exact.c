/*
 * test_exact.c
 *		Kernels behind stored codes: every table equals scalar bit for bit, and
 *		scalar does what kernel.h says.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

#define LISTS_MAX 100

static void
hadamard_is_exact(void)
{
	uint64_t state = 11;

	for (int n = 1; n <= 8192; n *= 2)
	{
		size_t bytes = sizeof(float) * (size_t) n;
		float *x = unit_alloc(bytes);
		float *want = unit_alloc(bytes);
		UnitGuard guard;
		float *got = unit_guarded(bytes, &guard);

		unit_fill_gaussian(x, (size_t) n, &state);
		memcpy(want, x, bytes);
		unit_tables[0]->hadamard(want, n, 0.125f);
		for (int t = 1; t < unit_tables_count; t++)
		{
			memcpy(got, x, bytes);
			unit_tables[t]->hadamard(got, n, 0.125f);
			CHECK(memcmp(got, want, bytes) == 0, "%s n %d",
				  unit_tables[t]->name, n);
		}
		free(x);
		free(want);
		unit_unguard(&guard);
	}
}

/* Column k of the transform of e_k has the sign of the parity of i & k. */
static void
hadamard_is_walsh(void)
{
	float x[64];

	for (int t = 0; t < unit_tables_count; t++)
	{
		for (int k = 0; k < 64; k++)
		{
			memset(x, 0, sizeof(x));
			x[k] = 1.0f;
			unit_tables[t]->hadamard(x, 64, 0.5f);
			for (int i = 0; i < 64; i++)
				CHECK(x[i] ==
						  (__builtin_parity((unsigned) (i & k)) ? -0.5f : 0.5f),
					  "%s %d %d", unit_tables[t]->name, i, k);
		}
	}
}

/* Runs the two in-place steps of a round on a copy of x. */
static void
flip_and_mix(const VxKernels *kernels, const float *x, const uint8_t *signs,
			 int dim, float *out)
{
	memcpy(out, x, sizeof(float) * (size_t) dim);
	kernels->flip_signs(out, signs, dim);
	kernels->butterfly(out, dim / 2, dim - dim / 2, 0.7f);
}

static void
rounds_are_exact(void)
{
	uint64_t state = 12;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		int dim = unit_dims[d];
		size_t bytes = sizeof(float) * (size_t) dim;
		float *x = unit_alloc(bytes);
		float *want = unit_alloc(bytes);
		UnitGuard guard, guard_signs;
		float *got = unit_guarded(bytes, &guard);
		uint8_t *signs = unit_guarded((size_t) (dim + 7) / 8, &guard_signs);

		unit_fill_gaussian(x, (size_t) dim, &state);
		for (int i = 0; i < (dim + 7) / 8; i++)
			signs[i] = (uint8_t) vx_random_next(&state);
		flip_and_mix(unit_tables[0], x, signs, dim, want);
		for (int t = 1; t < unit_tables_count; t++)
		{
			flip_and_mix(unit_tables[t], x, signs, dim, got);
			CHECK(memcmp(got, want, bytes) == 0, "%s dim %d",
				  unit_tables[t]->name, dim);
		}
		free(x);
		free(want);
		unit_unguard(&guard);
		unit_unguard(&guard_signs);
	}
}

static void
check_differences(const float *x, const float *y, int dim, float *want,
				  float *got)
{
	size_t bytes = sizeof(float) * (size_t) dim;
	double norm2 = unit_tables[0]->norm2(x, y, dim);
	long double plain = 0;

	for (int i = 0; i < dim; i++)
	{
		long double d =
			(long double) x[i] - (y == NULL ? 0.0L : (long double) y[i]);

		plain += d * d;
	}
	CHECK(fabsl((long double) norm2 - plain) <= plain * dim * 0x1p-51L,
		  "norm2 dim %d", dim);
	unit_tables[0]->scaled_difference(x, y, 0.3, dim, want);
	for (int t = 1; t < unit_tables_count; t++)
	{
		double other = unit_tables[t]->norm2(x, y, dim);

		unit_tables[t]->scaled_difference(x, y, 0.3, dim, got);
		CHECK(memcmp(&norm2, &other, sizeof(norm2)) == 0, "norm2 dim %d", dim);
		CHECK(memcmp(want, got, bytes) == 0, "difference dim %d", dim);
	}
}

static void
differences_are_exact(void)
{
	uint64_t state = 13;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		int dim = unit_dims[d];
		size_t bytes = sizeof(float) * (size_t) dim;
		UnitGuard guard_x, guard_y, guard_got;
		float *x = unit_guarded(bytes, &guard_x);
		float *y = unit_guarded(bytes, &guard_y);
		float *got = unit_guarded(bytes, &guard_got);
		float *want = unit_alloc(bytes);

		unit_fill_gaussian(x, (size_t) dim, &state);
		unit_fill_gaussian(y, (size_t) dim, &state);
		check_differences(x, y, dim, want, got);
		check_differences(x, NULL, dim, want, got);
		free(want);
		unit_unguard(&guard_x);
		unit_unguard(&guard_y);
		unit_unguard(&guard_got);
	}
}

static void
check_encoder_sums(const float *o, const float *rotated, int dim, int levels)
{
	float t[5], wo[2][5], ww[2][5];
	UnitGuard guard;
	uint8_t *got = unit_guarded((size_t) dim, &guard);
	uint8_t *want = unit_alloc((size_t) dim);
	VxCodeSums sums[2];

	for (int k = 0; k < 5; k++)
		t[k] = (float) levels * 0.4f * (0.7f + 0.1f * (float) k);
	unit_tables[0]->scale_sums(o, dim, t, 5, levels, wo[0], ww[0]);
	unit_tables[0]->quantize(o, dim, t[2], levels, want);
	unit_tables[0]->code_sums(want, o, rotated, dim, (float) levels + 0.5f,
							  &sums[0]);
	/* The search and the code it leads to are the same thing. */
	CHECK(fabs(wo[0][2] - sums[0].oy) <= 1e-5 * sums[0].oy &&
			  fabs(ww[0][2] - sums[0].yy) <= 1e-5 * sums[0].yy,
		  "search disagrees with code, dim %d levels %d", dim, levels);
	for (int k = 1; k < unit_tables_count; k++)
	{
		unit_tables[k]->scale_sums(o, dim, t, 5, levels, wo[1], ww[1]);
		unit_tables[k]->quantize(o, dim, t[2], levels, got);
		unit_tables[k]->code_sums(want, o, rotated, dim, (float) levels + 0.5f,
								  &sums[1]);
		CHECK(memcmp(wo[0], wo[1], sizeof(wo[0])) == 0 &&
				  memcmp(ww[0], ww[1], sizeof(ww[0])) == 0,
			  "scale sums, dim %d levels %d", dim, levels);
		CHECK(memcmp(want, got, (size_t) dim) == 0, "levels, dim %d", dim);
		CHECK(memcmp(&sums[0], &sums[1], sizeof(sums[0])) == 0,
			  "code sums, dim %d levels %d", dim, levels);
	}
	free(want);
	unit_unguard(&guard);
}

static void
encoder_is_exact(void)
{
	uint64_t state = 14;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		int dim = unit_dims[d];
		size_t bytes = sizeof(float) * (size_t) dim;
		UnitGuard guard_o, guard_rotated;
		float *o = unit_guarded(bytes, &guard_o);
		float *rotated = unit_guarded(bytes, &guard_rotated);

		unit_fill_gaussian(o, (size_t) dim, &state);
		unit_fill_gaussian(rotated, (size_t) dim, &state);
		o[dim / 2] = 0.0f;
		o[dim / 3] = -0.0f;
		check_encoder_sums(o, rotated, dim, 7);
		check_encoder_sums(o, rotated, dim, 127);
		unit_unguard(&guard_o);
		unit_unguard(&guard_rotated);
	}
}

/* Values from a handful, so that ties abound, with NaN and infinity. */
static void
nearest_is_exact(void)
{
	static const float odd[] = {-3, -2, 0, 1, 5, INFINITY, NAN, -2};
	uint64_t state = 15;
	float dots[LISTS_MAX];
	float norm2[LISTS_MAX];

	for (int turn = 0; turn < 5000; turn++)
	{
		int lists = 1 + turn % LISTS_MAX;
		float least, next;
		int first;

		for (int j = 0; j < lists; j++)
		{
			dots[j] = 0.5f * (float) vx_random_below(&state, 3);
			norm2[j] = turn % 17 == 0 ? NAN : odd[vx_random_below(&state, 8)];
		}
		first = unit_tables[0]->nearest(dots, norm2, lists, &least, &next);
		for (int j = 0; j < lists; j++)
		{
			float v = norm2[j] - 2.0f * dots[j];

			CHECK(!(v < least), "missed %g", v);
			CHECK(!(v == least && j < first && v < INFINITY), "not the first");
			CHECK(j == first || !(v < next), "missed second %g", v);
		}
		for (int t = 1; t < unit_tables_count; t++)
		{
			float least_t, next_t;
			int first_t =
				unit_tables[t]->nearest(dots, norm2, lists, &least_t, &next_t);

			CHECK(first == first_t && least == least_t && next == next_t,
				  "%s: %d %g %g, not %d %g %g", unit_tables[t]->name, first_t,
				  least_t, next_t, first, least, next);
		}
	}
}

const UnitTest exact_tests[] = {
	{"exact: hadamard equals scalar", hadamard_is_exact},
	{"exact: hadamard is Walsh's matrix", hadamard_is_walsh},
	{"exact: signs and butterfly equal scalar", rounds_are_exact},
	{"exact: norms and differences equal scalar", differences_are_exact},
	{"exact: scale search, levels and sums equal scalar", encoder_is_exact},
	{"exact: nearest list equals scalar", nearest_is_exact},
	{NULL, NULL},
};
