/*
 * vector_op.c
 *		Arithmetic, comparison and the functions that take vectors apart.
 *
 * Results are checked: an element outside the range of float4 is an error, so
 * no function makes a vector that input would refuse.
 */
#include "postgres.h"

#include <math.h>

#include "utils/float.h"
#include "utils/varbit.h"

#include "compat.h"
#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector_add);
PG_FUNCTION_INFO_V1(vector_sub);
PG_FUNCTION_INFO_V1(vector_mul);
PG_FUNCTION_INFO_V1(vector_concat);
PG_FUNCTION_INFO_V1(vector_dims);
PG_FUNCTION_INFO_V1(l2_normalize);
PG_FUNCTION_INFO_V1(binary_quantize);
PG_FUNCTION_INFO_V1(subvector);

/* Finite operands give no NaN, so infinity is all there is to look for. */
static void
check_overflow(const Vector *v)
{
	for (int i = 0; i < v->dim; i++)
	{
		if (isinf(v->x[i]))
			float_overflow_error();
	}
}

Datum
vector_add(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	Vector *sum;

	vx_vector_check_same_dim(a, b);
	sum = vx_vector_new(a->dim);
	for (int i = 0; i < a->dim; i++)
		sum->x[i] = a->x[i] + b->x[i];
	check_overflow(sum);
	PG_RETURN_VECTOR_P(sum);
}

Datum
vector_sub(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	Vector *difference;

	vx_vector_check_same_dim(a, b);
	difference = vx_vector_new(a->dim);
	for (int i = 0; i < a->dim; i++)
		difference->x[i] = a->x[i] - b->x[i];
	check_overflow(difference);
	PG_RETURN_VECTOR_P(difference);
}

Datum
vector_mul(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	Vector *product;

	vx_vector_check_same_dim(a, b);
	product = vx_vector_new(a->dim);
	for (int i = 0; i < a->dim; i++)
		product->x[i] = a->x[i] * b->x[i];
	check_overflow(product);
	for (int i = 0; i < a->dim; i++)
	{
		if (product->x[i] == 0 && a->x[i] != 0 && b->x[i] != 0)
			float_underflow_error();
	}
	PG_RETURN_VECTOR_P(product);
}

Datum
vector_concat(PG_FUNCTION_ARGS)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	int dim = a->dim + b->dim;
	Vector *both;

	vx_vector_check_dim(dim);
	both = vx_vector_new(dim);
	memcpy(both->x, a->x, sizeof(float) * a->dim);
	memcpy(both->x + a->dim, b->x, sizeof(float) * b->dim);
	PG_RETURN_VECTOR_P(both);
}

Datum
vector_dims(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);

	PG_RETURN_INT32(v->dim);
}

/* The vector of length one in the same direction; zero for a zero vector. */
Datum
l2_normalize(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	double norm = sqrt(vx_kernels->inner_product(v->x, v->x, v->dim));
	Vector *unit = vx_vector_new(v->dim);

	if (norm > 0)
	{
		for (int i = 0; i < v->dim; i++)
			unit->x[i] = v->x[i] / norm;
	}
	PG_RETURN_VECTOR_P(unit);
}

/* One bit a dimension, set where the value is above zero. */
Datum
binary_quantize(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	int bytes = VARBITTOTALLEN(v->dim);
	VarBit *bits = (VarBit *) palloc0(bytes);
	bits8 *first = VARBITS(bits);

	SET_VARSIZE(bits, bytes);
	VARBITLEN(bits) = v->dim;
	for (int i = 0; i < v->dim; i++)
	{
		if (v->x[i] > 0)
			first[i / BITS_PER_BYTE] |= HIGHBIT >> (i % BITS_PER_BYTE);
	}
	PG_RETURN_VARBIT_P(bits);
}

/*
 * Elements start .. start + count - 1 (from 1), as far as they exist: the rule
 * of substring().  64 bits, for start + count may leave an integer.
 */
Datum
subvector(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	int64 start = PG_GETARG_INT32(1);
	int64 end = start + PG_GETARG_INT32(2);
	Vector *part;
	int dim;

	start = Max(start, 1);
	end = Min(end, v->dim + 1);
	dim = (int) Max(end - start, 0);
	vx_vector_check_dim(dim);
	part = vx_vector_new(dim);
	memcpy(part->x, v->x + start - 1, sizeof(float) * dim);
	PG_RETURN_VECTOR_P(part);
}

/* Element by element, then the shorter first. */
static int
compare(const Vector *a, const Vector *b)
{
	int dim = Min(a->dim, b->dim);

	for (int i = 0; i < dim; i++)
	{
		if (a->x[i] < b->x[i])
			return -1;
		if (a->x[i] > b->x[i])
			return 1;
	}
	return (a->dim > b->dim) - (a->dim < b->dim);
}

/* Frees what it detoasts: sorts call it in a context that lives on. */
static int
compare_arguments(FunctionCallInfo fcinfo)
{
	Vector *a = PG_GETARG_VECTOR_P(0);
	Vector *b = PG_GETARG_VECTOR_P(1);
	int result = compare(a, b);

	PG_FREE_IF_COPY(a, 0);
	PG_FREE_IF_COPY(b, 1);
	return result;
}

/* The SQL function of one comparison operator. */
#define VECTOR_COMPARISON(name, op)                                            \
	PG_FUNCTION_INFO_V1(name);                                                 \
	Datum name(PG_FUNCTION_ARGS)                                               \
	{                                                                          \
		int order = compare_arguments(fcinfo);                                 \
                                                                               \
		PG_RETURN_BOOL(order op 0);                                            \
	}

VECTOR_COMPARISON(vector_lt, <)
VECTOR_COMPARISON(vector_le, <=)
VECTOR_COMPARISON(vector_eq, ==)
VECTOR_COMPARISON(vector_ne, !=)
VECTOR_COMPARISON(vector_ge, >=)
VECTOR_COMPARISON(vector_gt, >)

PG_FUNCTION_INFO_V1(vector_cmp);

Datum
vector_cmp(PG_FUNCTION_ARGS)
{
	PG_RETURN_INT32(compare_arguments(fcinfo));
}
