/*
 * test_kernel.c
 *		Distances, code dot products and bounds of every table against plain
 *		oracles, with every buffer ending where memory ends.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

#define ROWS_MAX 37

static void
check_distance(const char *what, double got, long double want,
			   long double absolute, int dim)
{
	long double bound = (long double) dim * 0x1p-52L * absolute;

	CHECK(fabsl((long double) got - want) <= bound,
		  "%s of %s, dim %d: %.17g, not %.17g", what, vx_kernels->name, dim,
		  got, (double) want);
}

static void
check_distances(const float *x, const float *y, int dim)
{
	long double l2 = 0, ip = 0, ip_abs = 0, l1 = 0, xx = 0, yy = 0;
	VxCosineParts parts;

	for (int i = 0; i < dim; i++)
	{
		long double a = x[i];
		long double b = y[i];

		l2 += (a - b) * (a - b);
		l1 += fabsl(a - b);
		ip += a * b;
		ip_abs += fabsl(a * b);
		xx += a * a;
		yy += b * b;
	}
	vx_kernels->cosine(x, y, dim, &parts);
	check_distance("l2", vx_kernels->l2_squared(x, y, dim), l2, 2 * l2, dim);
	check_distance("ip", vx_kernels->inner_product(x, y, dim), ip, ip_abs, dim);
	check_distance("l1", vx_kernels->l1(x, y, dim), l1, l1, dim);
	check_distance("cosine ab", parts.ab, ip, ip_abs, dim);
	check_distance("cosine aa", parts.aa, xx, xx, dim);
	check_distance("cosine bb", parts.bb, yy, yy, dim);
}

/* Magnitudes over ten decades, so that a lost term shows. */
static void
distances(void)
{
	uint64_t state = 1;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		int dim = unit_dims[d];
		size_t bytes = sizeof(float) * (size_t) dim;
		UnitGuard guard_x, guard_y;
		float *x = unit_guarded(bytes, &guard_x);
		float *y = unit_guarded(bytes, &guard_y);

		for (int i = 0; i < dim; i++)
		{
			x[i] = (float) (unit_gaussian(&state) * pow(10, i % 11 - 5));
			y[i] = (float) (unit_gaussian(&state) * pow(10, i % 7 - 3));
		}
		for (int t = 0; t < unit_tables_count; t++)
		{
			vx_kernels = unit_tables[t];
			check_distances(x, y, dim);
			check_distances(x, x, dim);
		}
		unit_unguard(&guard_x);
		unit_unguard(&guard_y);
	}
}

/* The sum by its definition, from levels. */
static int32_t
plain_dot(const uint8_t *levels, const int8_t *query, int dim)
{
	int32_t sum = 0;

	for (int j = 0; j < dim; j++)
		sum += levels[j] * query[j];
	return sum;
}

/* kind 0: random; 1 and 2: the extremes that overflow a careless lane. */
static void
fill_levels(uint8_t *levels, int count, int bits, int kind, uint64_t *state)
{
	for (int j = 0; j < count; j++)
		levels[j] = kind == 0 ? (uint8_t) vx_random_below(state, 1u << bits)
							  : (uint8_t) ((1u << bits) - 1);
}

static void
fill_query(int8_t *query, int dim, int kind, uint64_t *state)
{
	memset(query, 0, VX_QUERY8_BYTES(dim));
	for (int j = 0; j < dim; j++)
		query[j] = kind == 0
					   ? (int8_t) ((int) vx_random_below(state, 255) - 127)
				   : kind == 1 ? 127
							   : -127;
}

static void
check_dots(int dim, int bits, int rows, int kind, uint64_t *state)
{
	int stride = vx_code_bytes(dim, bits);
	UnitGuard guard_codes, guard_query, guard_out;
	uint8_t *codes =
		unit_guarded((size_t) rows * (size_t) stride, &guard_codes);
	int8_t *query = unit_guarded(VX_QUERY8_BYTES(dim), &guard_query);
	int32_t *out = unit_guarded(sizeof(int32_t) * (size_t) rows, &guard_out);
	uint8_t *levels = unit_alloc((size_t) rows * (size_t) dim);

	fill_levels(levels, rows * dim, bits, kind, state);
	fill_query(query, dim, kind, state);
	for (int i = 0; i < rows; i++)
		vx_pack(levels + i * dim, dim, bits, codes + i * stride);
	for (int t = 0; t < unit_tables_count; t++)
	{
		if (bits == 8)
			unit_tables[t]->dot_u8(codes, rows, dim, query, out);
		else
			unit_tables[t]->dot_u4(codes, rows, dim, query, out);
		for (int i = 0; i < rows; i++)
			CHECK(out[i] == plain_dot(levels + i * dim, query, dim),
				  "%s dim %d bits %d row %d of %d kind %d: %d, not %d",
				  unit_tables[t]->name, dim, bits, i, rows, kind, out[i],
				  plain_dot(levels + i * dim, query, dim));
	}
	free(levels);
	unit_unguard(&guard_codes);
	unit_unguard(&guard_query);
	unit_unguard(&guard_out);
}

static void
code_dots(void)
{
	static const int rows[] = {0, 1, 2, 3, 4, 5, 7, 8, 33, ROWS_MAX};
	uint64_t state = 2;

	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (int r = 0; r < 10; r++)
		{
			int kinds = unit_dims[d] > 2000 && r > 5 ? 1 : 3;

			for (int kind = 0; kind < kinds; kind++)
			{
				check_dots(unit_dims[d], 4, rows[r], kind, &state);
				check_dots(unit_dims[d], 8, rows[r], kind, &state);
			}
		}
	}
}

/* Every dimension up to two blocks and a half: tails of all lengths. */
static void
code_dots_every_tail(void)
{
	uint64_t state = 3;

	for (int dim = 1; dim <= 160; dim++)
	{
		check_dots(dim, 4, ROWS_MAX, 0, &state);
		check_dots(dim, 8, ROWS_MAX, 0, &state);
	}
}

typedef struct BoundCase
{
	VxListQuery q;
	float f[ROWS_MAX];
	float n[ROWS_MAX];
	uint16_t sn[ROWS_MAX];
	uint16_t en[ROWS_MAX];
	int32_t dots[ROWS_MAX];
} BoundCase;

static void
fill_bound_case(BoundCase *c, uint64_t *state)
{
	float *q = (float *) &c->q;

	for (size_t i = 0; i < sizeof(c->q) / sizeof(float); i++)
		q[i] = fabsf((float) unit_gaussian(state));
	for (int i = 0; i < ROWS_MAX; i++)
	{
		c->f[i] = (float) unit_gaussian(state);
		c->n[i] = fabsf((float) unit_gaussian(state));
		c->sn[i] = vx_half_nearest((float) unit_gaussian(state) * 0.1f);
		c->en[i] = vx_half_up(fabsf((float) unit_gaussian(state)) * 0.01f);
		c->dots[i] = (int32_t) (unit_gaussian(state) * 1000);
	}
}

/* The formula of kernel.h in double; *size gets the largest term. */
static void
plain_bound(const BoundCase *c, int i, double *est, double *low, double *size)
{
	const VxListQuery *q = &c->q;
	double n = c->n[i];
	double sn = vx_half_float(c->sn[i]);
	double en = vx_half_float(c->en[i]);
	double scaled = (double) q->b * sn * n * q->step;
	double err = (double) q->eps * q->b * n *
					 sqrt((double) q->h2 * en * en + q->noise2) +
				 q->floor0 + q->floor1 * n + q->floor2 * n * n;

	*est = q->base + (double) q->a * c->f[i] -
		   scaled * (c->dots[i] - (double) q->offset);
	*low = *est - err;
	*size =
		fabs((double) q->base) + fabs((double) q->a * c->f[i]) +
		fabs(scaled) * (fabs((double) c->dots[i]) + fabs((double) q->offset)) +
		err;
}

static void
bounds(void)
{
	uint64_t state = 4;
	float est[ROWS_MAX];
	float low[ROWS_MAX];
	BoundCase c;

	for (int turn = 0; turn < 200; turn++)
	{
		VxFactors factors = {c.f, c.n, c.sn, c.en};
		int rows = turn % (ROWS_MAX + 1);

		fill_bound_case(&c, &state);
		for (int t = 0; t < unit_tables_count; t++)
		{
			unit_tables[t]->bound(&c.q, &factors, c.dots, rows, est, low);
			for (int i = 0; i < rows; i++)
			{
				double e, l, size;

				/* Eight roundings of 2^-24 of terms that sum to size. */
				plain_bound(&c, i, &e, &l, &size);
				CHECK(fabs(est[i] - e) <= size * 0x1p-21, "est %g not %g",
					  est[i], e);
				CHECK(fabs(low[i] - l) <= size * 0x1p-21, "low %g not %g",
					  low[i], l);
			}
		}
	}
}

/* No mix of huge, infinite and zero inputs gives NaN; tables agree. */
static void
bounds_never_nan(void)
{
	static const float odd[] = {0,	   1,		-1,		  1e-30f,
								1e30f, FLT_MAX, -FLT_MAX, INFINITY};
	static const uint16_t halves[] = {0, 1, 0x3c00, 0x7bff, 0x7c00};
	uint64_t state = 5;
	BoundCase c;

	for (int turn = 0; turn < 2000; turn++)
	{
		VxFactors factors = {c.f, c.n, c.sn, c.en};
		float est[2][ROWS_MAX];
		float low[2][ROWS_MAX];

		fill_bound_case(&c, &state);
		c.q.base = odd[vx_random_below(&state, 8)];
		c.q.a = odd[vx_random_below(&state, 8)];
		for (size_t i = 2 + turn % 3; i < sizeof(c.q) / sizeof(float); i += 3)
			((float *) &c.q)[i] = fabsf(odd[vx_random_below(&state, 8)]);
		for (int i = 0; i < ROWS_MAX; i++)
		{
			c.f[i] = odd[vx_random_below(&state, 8)];
			c.n[i] = fabsf(odd[vx_random_below(&state, 8)]);
			c.sn[i] = halves[vx_random_below(&state, 5)];
			c.en[i] = halves[vx_random_below(&state, 5)];
		}
		for (int t = 0; t < unit_tables_count; t++)
		{
			int slot = t == 0 ? 0 : 1;

			unit_tables[t]->bound(&c.q, &factors, c.dots, ROWS_MAX, est[slot],
								  low[slot]);
			for (int i = 0; i < ROWS_MAX; i++)
				CHECK(!isnan(est[slot][i]) && !isnan(low[slot][i]) &&
						  est[slot][i] <= FLT_MAX,
					  "%s gives %g, %g", unit_tables[t]->name, est[slot][i],
					  low[slot][i]);
			if (t > 0)
				CHECK(memcmp(est[0], est[1], sizeof(est[0])) == 0 &&
						  memcmp(low[0], low[1], sizeof(low[0])) == 0,
					  "%s differs from scalar", unit_tables[t]->name);
		}
	}
}

const UnitTest kernel_tests[] = {
	{"kernels: distances within their bound", distances},
	{"kernels: code dot products exact", code_dots},
	{"kernels: code dot products, every tail", code_dots_every_tail},
	{"kernels: estimate and bound", bounds},
	{"kernels: estimate and bound never NaN", bounds_never_nan},
	{NULL, NULL},
};
