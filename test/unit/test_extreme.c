/*
 * test_extreme.c
 *		Data that breaks quantisers: the lower bound at six standard deviations
 *		stays below the distance, nothing is NaN, and estimates stay useful where
 *		float can hold them.
 */
#include <float.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "unit.h"

#define ROWS 24
#define QUERIES 8
#define EPS 6.0f

typedef enum Shape
{
	GAUSSIAN,
	ZEROS,
	DUPLICATES,
	ONE_HOT,
	OFFSET_100,
	OFFSET_10000,
	SIX_DECADES,
	TWO_LARGE,
	TINY,
	SUBNORMAL,
	HUGE_SQUARE, /* beyond where squares fit float */
	HUGE_VALUE,	 /* near float's end */
	SHAPES
} Shape;

static float
shape_value(Shape shape, int row, int j, int dim, uint64_t *state)
{
	double g = unit_gaussian(state);

	switch (shape)
	{
		case ZEROS:
			return 0.0f;
		case DUPLICATES:
			return (float) ((j * 7 + row % 2) % 5);
		case ONE_HOT:
			return j == (row * 5) % dim ? 1.0f : 0.0f;
		case OFFSET_100:
			return (float) (100.0 + g);
		case OFFSET_10000:
			return (float) (10000.0 + g);
		case SIX_DECADES:
			return (float) (g * pow(10.0, row % 7 - 3));
		case TWO_LARGE:
			return (float) (j < 2 ? 1000.0 * g : g);
		case TINY:
			return (float) (g * 1e-30);
		case SUBNORMAL:
			return (float) (g * 1e-42);
		case HUGE_SQUARE:
			return (float) (g * 1e22);
		case HUGE_VALUE:
			return (float) (g / 6.0 * 3.4e38);
		default:
			return (float) g;
	}
}

/* How queries relate to the list: 0 random, then special ones. */
static void
fill_query(const UnitList *list, const float *x, int k, float *q)
{
	int dim = list->quantizer.dim;
	const float *from[QUERIES] = {
		x, list->centroid, list->centre, x + dim, x + dim, x + dim, NULL, x};
	static const float factors[QUERIES] = {1, 1, 1, 0.1f, 10, -1, 0, 1e-3f};

	for (int j = 0; j < dim; j++)
	{
		float v = from[k] == NULL ? 0.0f : from[k][j] * factors[k];

		q[j] = isfinite(v) ? v : 3.4e38f;
	}
}

/*
 * The centroid is row 2 (an exact hit), the centre the mean of rows 3 and 4.
 */
static void
fill_shape(UnitList *list, Shape shape, float *x, float *q)
{
	int dim = list->quantizer.dim;
	uint64_t state = (uint64_t) shape + 51;

	for (int i = 0; i < ROWS; i++)
	{
		for (int j = 0; j < dim; j++)
			x[i * dim + j] = shape_value(shape, i, j, dim, &state);
	}
	for (int j = 0; j < dim; j++)
	{
		list->centroid[j] = x[2 * dim + j];
		list->centre[j] = x[3 * dim + j] / 2 + x[4 * dim + j] / 2;
	}
	for (int k = 0; k < QUERIES; k++)
		fill_query(list, x, k, q + k * dim);
	unit_list_ready(list);
}

/*
 * Estimates deserve their name where no factor leaves float's normal range:
 * within eight deviations and the floors of kernel.h.
 */
static bool
is_ordinary(Shape shape)
{
	return shape != HUGE_SQUARE && shape != HUGE_VALUE && shape != TINY &&
		   shape != SUBNORMAL;
}

static void
check_shape(Shape shape, VxMetric metric, int dim, int bits)
{
	bool signs = bits == 1; /* of a code of 4 bits */
	float *x = unit_alloc(sizeof(float) * (size_t) (ROWS * dim));
	float *q = unit_alloc(sizeof(float) * (size_t) (QUERIES * dim));
	ScoreInput in = {x, ROWS, q, QUERIES, signs};
	UnitList list;
	Scores s;

	unit_list_init(&list, metric, dim, signs ? 4 : bits);
	scores_init(&s, ROWS, QUERIES);
	fill_shape(&list, shape, x, q);
	score_list(&list, &in, EPS, &s);
	for (int i = 0; i < ROWS * QUERIES; i++)
	{
		double exact = s.exact[i];
		double slack =
			((double) s.est[i] - (double) s.low[i]) - EPS * s.sigma[i];

		CHECK(!isnan(s.est[i]) && (double) s.low[i] <= exact,
			  "shape %d metric %d dim %d bits %d query %d row %d: low %g, est "
			  "%g, exact %g",
			  shape, metric, dim, bits, i / ROWS, i % ROWS, s.low[i], s.est[i],
			  exact);
		if (is_ordinary(shape))
			CHECK(fabs(s.est[i] - exact) <=
					  8 * s.sigma[i] + 4 * slack + 1e-6 * fabs(exact),
				  "shape %d metric %d dim %d bits %d query %d row %d: est %g, "
				  "exact %g, sigma %g",
				  shape, metric, dim, bits, i / ROWS, i % ROWS, s.est[i], exact,
				  s.sigma[i]);
	}
	free(x);
	free(q);
	scores_free(&s);
	unit_list_free(&list);
}

static void
shapes_of_metric(VxMetric metric)
{
	for (int d = 0; d < UNIT_DIMS; d++)
	{
		for (Shape shape = GAUSSIAN; shape < SHAPES; shape++)
		{
			if (unit_dims[d] > 4000 && shape % 4 != 2)
				continue;
			check_shape(shape, metric, unit_dims[d], 1);
			check_shape(shape, metric, unit_dims[d], 4);
			check_shape(shape, metric, unit_dims[d], 8);
		}
	}
}

static void
shapes_l2(void)
{
	shapes_of_metric(VX_METRIC_L2);
}

static void
shapes_ip(void)
{
	shapes_of_metric(VX_METRIC_IP);
}

/* Inner products of tiny rows are as good as others: no factor underflows. */
static void
tiny_ip_is_scaled(void)
{
	enum
	{
		DIM = 100
	};
	static const double sizes[] = {1.0, 1e-12, 1e-16, 1e-30};
	float x[ROWS * DIM], q[QUERIES * DIM];
	ScoreInput in = {x, ROWS, q, QUERIES, false};

	for (int k = 0; k < 4; k++)
	{
		uint64_t state = 52;
		double sum2 = 0;
		UnitList list;
		Scores s;

		unit_list_init(&list, VX_METRIC_IP, DIM, 4);
		scores_init(&s, ROWS, QUERIES);
		for (int i = 0; i < ROWS * DIM; i++)
			x[i] = (float) (unit_gaussian(&state) * sizes[k]);
		/* Queries the other way round: the product stays near 1. */
		for (int i = 0; i < QUERIES * DIM; i++)
			q[i] = (float) (unit_gaussian(&state) / (k == 3 ? 1e-6 : sizes[k]));
		unit_list_ready(&list);
		score_list(&list, &in, 0.0f, &s);
		for (int i = 0; i < ROWS * QUERIES; i++)
		{
			double z = (s.est[i] - s.exact[i]) / s.sigma[i];

			sum2 += z * z;
		}
		/* 192 values: a standard error of 0.05 around 0.98. */
		CHECK(fabs(sqrt(sum2 / (ROWS * QUERIES)) - 0.98) < 0.2,
			  "size %g: deviation %g", sizes[k], sqrt(sum2 / (ROWS * QUERIES)));
		scores_free(&s);
		unit_list_free(&list);
	}
}

/* Scaling the query by a power of two scales everything, to the last bits. */
static void
ip_follows_query_scale(void)
{
	enum
	{
		DIM = 65
	};
	float x[ROWS * DIM], q[2 * DIM];
	ScoreInput in = {x, ROWS, q, 2, false};
	uint64_t state = 53;
	UnitList list;
	Scores s;

	unit_list_init(&list, VX_METRIC_IP, DIM, 4);
	scores_init(&s, ROWS, 2);
	unit_fill_gaussian(x, ROWS * DIM, &state);
	unit_fill_gaussian(list.centroid, DIM, &state);
	unit_fill_gaussian(q, DIM, &state);
	for (int j = 0; j < DIM; j++)
		q[DIM + j] = q[j] * 8.0f;
	unit_list_ready(&list);
	score_list(&list, &in, 1.9f, &s);
	for (int i = 0; i < ROWS; i++)
		CHECK(fabsf(s.est[ROWS + i] - 8.0f * s.est[i]) <= 1e-4f &&
				  fabsf(s.low[ROWS + i] - 8.0f * s.low[i]) <= 1e-4f,
			  "row %d: %g and %g", i, s.est[i], s.est[ROWS + i]);
	scores_free(&s);
	unit_list_free(&list);
}

/* The factors that quant.h promises. */
static void
check_loose(UnitList *list, const float *x)
{
	uint8_t code[4];
	VxEntryFactors f;
	VxSignFactors signs;

	vx_encode_planes(&list->quantizer, &list->ref, x, code, &f, &signs,
					 list->scratch);
	CHECK(f.f == 0.0f && f.n == FLT_MAX && f.sn == 0 && f.en == 0x7bff,
		  "f %g n %g sn %x en %x", f.f, f.n, f.sn, f.en);
	CHECK(signs.f == 0.0f && signs.sn == 0 && signs.en == 0x7bff,
		  "signs: f %g sn %x en %x", signs.f, signs.sn, signs.en);
}

/* Beyond float's range an entry is a candidate that never sets a threshold. */
static void
huge_is_loose(void)
{
	float x[4] = {1e30f, 0, 0, 0};
	float q[4] = {1, 2, 3, 4};
	ScoreInput in = {x, 1, q, 1, false};
	UnitList list;
	Scores s;

	unit_list_init(&list, VX_METRIC_L2, 4, 4);
	scores_init(&s, 1, 1);
	unit_list_ready(&list);
	score_list(&list, &in, 1.9f, &s);
	CHECK(isinf(s.low[0]) && s.low[0] < 0, "low %g", s.low[0]);
	CHECK(s.est[0] > 3e38f, "est %g", s.est[0]);
	check_loose(&list, x);
	/* A list that is itself beyond range. */
	x[0] = 1.0f;
	list.rotated[0] = INFINITY;
	check_loose(&list, x);
	scores_free(&s);
	unit_list_free(&list);
}

const UnitTest extreme_tests[] = {
	{"extreme: L2 bounds hold", shapes_l2},
	{"extreme: inner product bounds hold", shapes_ip},
	{"extreme: tiny rows keep their accuracy", tiny_ip_is_scaled},
	{"extreme: estimates follow the query's scale", ip_follows_query_scale},
	{"extreme: huge rows are loose", huge_is_loose},
	{NULL, NULL},
};
