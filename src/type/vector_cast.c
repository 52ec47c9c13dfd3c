/*
 * vector_cast.c
 *		Casts between vector and arrays of numbers, and to vector(n).
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/float.h"
#include "utils/fmgrprotos.h"
#include "utils/lsyscache.h"
#include "utils/numeric.h"

#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector);
PG_FUNCTION_INFO_V1(array_to_vector);
PG_FUNCTION_INFO_V1(vector_to_float4);

/* vector -> vector(n). */
Datum
vector(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);

	vx_vector_check_typmod(v->dim, PG_GETARG_INT32(1));
	PG_RETURN_VECTOR_P(v);
}

static void
out_of_range(const char *value)
{
	ereport(ERROR, (errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
					errmsg("\"%s\" is out of range for type vector", value)));
}

/* Rounds to float4; underflow gives zero, as in the text form. */
static float
narrow(double value)
{
	float narrowed = (float) value;

	if (isinf(narrowed) && !isinf(value))
		out_of_range(float8out_internal(value));
	vx_vector_check_value(narrowed);
	return narrowed;
}

static double
numeric_value(Datum numeric)
{
	double value = DatumGetFloat8(
		DirectFunctionCall1(numeric_float8_no_overflow, numeric));

	/* A finite numeric may exceed even a double. */
	if (isinf(value) && !numeric_is_inf(DatumGetNumeric(numeric)))
		out_of_range(
			DatumGetCString(DirectFunctionCall1(numeric_out, numeric)));
	return value;
}

static float
element_value(Datum element, Oid type)
{
	switch (type)
	{
		case INT4OID:
			return (float) DatumGetInt32(element);
		case FLOAT4OID:
			return narrow(DatumGetFloat4(element));
		case FLOAT8OID:
			return narrow(DatumGetFloat8(element));
		case NUMERICOID:
			return narrow(numeric_value(element));
		default:
			/* The casts are declared for the types above only. */
			elog(ERROR, "unsupported array element type %u", type);
			return 0;
	}
}

/*
 * Checks everything about the array but its values and returns how many it
 * has.
 */
static int
check_array(ArrayType *array)
{
	int dim;

	if (ARR_NDIM(array) > 1)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION), errmsg("array must be 1-D"),
				 errdetail("It has %d dimensions.", ARR_NDIM(array))));
	if (array_contains_nulls(array))
		ereport(ERROR, (errcode(ERRCODE_NULL_VALUE_NOT_ALLOWED),
						errmsg("array must not contain nulls")));
	dim = ArrayGetNItems(ARR_NDIM(array), ARR_DIMS(array));
	vx_vector_check_dim(dim);
	return dim;
}

Vector *
vx_vector_from_array(Datum datum)
{
	ArrayType *array = DatumGetArrayTypeP(datum);
	Oid type = ARR_ELEMTYPE(array);
	int dim = check_array(array);
	Vector *v = vx_vector_new(dim);
	int16 type_bytes;
	bool by_value;
	char align;
	Datum *elements;

	get_typlenbyvalalign(type, &type_bytes, &by_value, &align);
	deconstruct_array(array, type, type_bytes, by_value, align, &elements, NULL,
					  &dim);
	for (int i = 0; i < dim; i++)
		v->x[i] = element_value(elements[i], type);
	pfree(elements);
	return v;
}

Datum
array_to_vector(PG_FUNCTION_ARGS)
{
	Vector *v = vx_vector_from_array(PG_GETARG_DATUM(0));

	vx_vector_check_typmod(v->dim, PG_GETARG_INT32(1));
	PG_RETURN_VECTOR_P(v);
}

Datum
vector_to_float4(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	Datum *elements = (Datum *) palloc(sizeof(Datum) * v->dim);
	ArrayType *array;

	for (int i = 0; i < v->dim; i++)
		elements[i] = Float4GetDatum(v->x[i]);
	array = construct_array(elements, v->dim, FLOAT4OID, sizeof(float4), true,
							TYPALIGN_INT);
	pfree(elements);
	PG_RETURN_ARRAYTYPE_P(array);
}
