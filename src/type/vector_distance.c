/*
 * vector_distance.c
 *		Distances between two vectors, as C functions and as SQL functions.
 *
 * The sums come from the kernels, in double precision.  pgvector adds in float4
 * and so returns Infinity where the sum leaves that type; the same holds here,
 * so that both sort alike.  Cosine needs no sum of that size and never
 * overflows.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "utils/float.h"

#include "type/vector.h"

PG_FUNCTION_INFO_V1(l2_distance);
PG_FUNCTION_INFO_V1(vector_l2_squared_distance);
PG_FUNCTION_INFO_V1(inner_product);
PG_FUNCTION_INFO_V1(vector_negative_inner_product);
PG_FUNCTION_INFO_V1(cosine_distance);
PG_FUNCTION_INFO_V1(l1_distance);
PG_FUNCTION_INFO_V1(vector_spherical_distance);
PG_FUNCTION_INFO_V1(vector_norm);

/* A sum with infinity for what float4 cannot hold. */
static double
saturate(double sum)
{
	if (sum > FLT_MAX)
		return get_float8_infinity();
	if (sum < -FLT_MAX)
		return -get_float8_infinity();
	return sum;
}

static double
clamp_cosine(double similarity)
{
	return Max(-1.0, Min(1.0, similarity));
}

double
vx_l2_distance(const float *x, const float *y, int dim)
{
	return sqrt(saturate(vx_kernels->l2_squared(x, y, dim)));
}

double
vx_negative_inner_product(const float *x, const float *y, int dim)
{
	return -saturate(vx_kernels->inner_product(x, y, dim));
}

/*
 * The squared norms are at least the square of the smallest float4, 1e-90, and
 * at most 1e82: their product stays in the range of a double.
 */
double
vx_cosine_distance(const float *x, const float *y, int dim)
{
	VxCosineParts parts;

	vx_kernels->cosine(x, y, dim, &parts);
	if (parts.aa == 0.0 || parts.bb == 0.0)
		return get_float8_nan();
	return 1.0 - clamp_cosine(parts.ab / sqrt(parts.aa * parts.bb));
}

double
vx_l1_distance(const float *x, const float *y, int dim)
{
	return saturate(vx_kernels->l1(x, y, dim));
}

Datum
l2_distance(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(vx_l2_distance(a->x, b->x, a->dim));
}

Datum
vector_l2_squared_distance(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(saturate(vx_kernels->l2_squared(a->x, b->x, a->dim)));
}

Datum
inner_product(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(saturate(vx_kernels->inner_product(a->x, b->x, a->dim)));
}

Datum
vector_negative_inner_product(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(vx_negative_inner_product(a->x, b->x, a->dim));
}

Datum
cosine_distance(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(vx_cosine_distance(a->x, b->x, a->dim));
}

Datum
l1_distance(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);

	vx_vector_check_same_dim(a, b);
	PG_RETURN_FLOAT8(vx_l1_distance(a->x, b->x, a->dim));
}

/* The angle between two unit vectors, in units of half a turn. */
Datum
vector_spherical_distance(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	double similarity;

	vx_vector_check_same_dim(a, b);
	similarity = vx_kernels->inner_product(a->x, b->x, a->dim);
	PG_RETURN_FLOAT8(acos(clamp_cosine(similarity)) / M_PI);
}

Datum
vector_norm(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);

	PG_RETURN_FLOAT8(sqrt(vx_kernels->inner_product(v->x, v->x, v->dim)));
}
