/*
 * vector_agg.c
 *		avg(vector) and sum(vector).
 *
 * The state is a double precision[] of the count and the sum of each dimension;
 * {0} before the first vector.  Any session may hand these functions an array
 * of its own, so every state is checked.
 */
#include "postgres.h"

#include <math.h>

#include "catalog/pg_type.h"
#include "utils/array.h"
#include "utils/float.h"

#include "compat.h"
#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector_accum);
PG_FUNCTION_INFO_V1(vector_combine);
PG_FUNCTION_INFO_V1(vector_avg);
PG_FUNCTION_INFO_V1(vector_sum);

/* A state array looked at in place. */
typedef struct State
{
	ArrayType *array;
	double *count;
	double *sums;
	int dim;
} State;

static State
read_state(ArrayType *array)
{
	State state;

	if (ARR_NDIM(array) != 1 || ARR_DIMS(array)[0] < 1 || ARR_HASNULL(array) ||
		ARR_ELEMTYPE(array) != FLOAT8OID)
		ereport(ERROR,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("invalid state of a vector aggregate"),
				 errdetail("Expected a one-dimensional array without nulls, "
						   "count first.")));
	state.array = array;
	state.count = (double *) ARR_DATA_PTR(array);
	state.sums = state.count + 1;
	state.dim = ARR_DIMS(array)[0] - 1;
	if (*state.count != 0)
		vx_vector_check_dim(state.dim);
	return state;
}

/* A state of zeros in the current memory context. */
static State
new_state(int dim)
{
	Size bytes = ARR_OVERHEAD_NONULLS(1) + sizeof(double) * (dim + 1);
	ArrayType *array = (ArrayType *) palloc0(bytes);

	SET_VARSIZE(array, bytes);
	array->ndim = 1;
	array->dataoffset = 0;
	array->elemtype = FLOAT8OID;
	ARR_DIMS(array)[0] = dim + 1;
	ARR_LBOUND(array)[0] = 1;
	return read_state(array);
}

/*
 * The state to add to: itself inside an aggregate, where nobody else sees it,
 * otherwise a copy.
 */
static State
writable_state(FunctionCallInfo fcinfo, State state)
{
	State copy;

	if (AggCheckCallContext(fcinfo, NULL))
		return state;
	copy = new_state(state.dim);
	memcpy(copy.count, state.count, sizeof(double) * (state.dim + 1));
	return copy;
}

Datum
vector_accum(PG_FUNCTION_ARGS)
{
	State state = read_state(PG_GETARG_ARRAYTYPE_P(0));
	Vector *v = PG_GETARG_VECTOR_P(1);

	if (*state.count == 0)
		state = new_state(v->dim);
	else
	{
		vx_vector_check_typmod(v->dim, state.dim);
		state = writable_state(fcinfo, state);
	}
	*state.count += 1;
	for (int i = 0; i < v->dim; i++)
		state.sums[i] += v->x[i];
	PG_RETURN_ARRAYTYPE_P(state.array);
}

Datum
vector_combine(PG_FUNCTION_ARGS)
{
	State a = read_state(PG_GETARG_ARRAYTYPE_P(0));
	State b = read_state(PG_GETARG_ARRAYTYPE_P(1));

	if (*a.count == 0)
		PG_RETURN_ARRAYTYPE_P(b.array);
	if (*b.count == 0)
		PG_RETURN_ARRAYTYPE_P(a.array);
	vx_vector_check_typmod(b.dim, a.dim);

	a = writable_state(fcinfo, a);
	*a.count += *b.count;
	for (int i = 0; i < a.dim; i++)
		a.sums[i] += b.sums[i];
	PG_RETURN_ARRAYTYPE_P(a.array);
}

/* The sums over the divisor as a vector. */
static Vector *
divided_sums(const State *state, double divisor)
{
	Vector *v = vx_vector_new(state->dim);

	for (int i = 0; i < state->dim; i++)
	{
		v->x[i] = (float) (state->sums[i] / divisor);
		if (isinf(v->x[i]))
			float_overflow_error();
		vx_vector_check_value(v->x[i]);
	}
	return v;
}

Datum
vector_avg(PG_FUNCTION_ARGS)
{
	State state = read_state(PG_GETARG_ARRAYTYPE_P(0));

	if (*state.count == 0)
		PG_RETURN_NULL();
	PG_RETURN_VECTOR_P(divided_sums(&state, *state.count));
}

Datum
vector_sum(PG_FUNCTION_ARGS)
{
	State state = read_state(PG_GETARG_ARRAYTYPE_P(0));

	if (*state.count == 0)
		PG_RETURN_NULL();
	PG_RETURN_VECTOR_P(divided_sums(&state, 1.0));
}
