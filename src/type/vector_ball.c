/*
 * vector_ball.c
 *		The type vector_ball: the vectors within a distance of another one.
 *
 * The planner makes one of conditions like "embedding <=> q < 0.3" (plan/match.c),
 * for an index that cannot take the distance and its limit apart.  Nothing else
 * makes balls, so there is no input.  A ball is a little wider than was asked
 * for: the condition itself is checked on each row that is found.  float8 has NaN
 * above all numbers, so "1 - d > 0.7" holds where d is NaN, and "d < 0.3" does not.
 */
#include "postgres.h"

#include <math.h>

#include "lib/stringinfo.h"
#include "utils/builtins.h"

#include "compat.h"
#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector_ball_in);
PG_FUNCTION_INFO_V1(vector_ball_out);
PG_FUNCTION_INFO_V1(vector_ball);
PG_FUNCTION_INFO_V1(vector_within_l2);
PG_FUNCTION_INFO_V1(vector_within_ip);
PG_FUNCTION_INFO_V1(vector_within_cosine);

/* How much a ball is widened: rounding of 1 - d and its like is less (plan/match.c). */
#define WIDENING 1e-9

Datum
vector_ball_in(PG_FUNCTION_ARGS)
{
	ereport(ERROR, (errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					errmsg("cannot accept a value of type %s", "vector_ball")));
	PG_RETURN_VOID();
}

Datum
vector_ball_out(PG_FUNCTION_ARGS)
{
	const VectorBall *ball = DatumGetVectorBall(PG_GETARG_DATUM(0));
	StringInfoData text;

	initStringInfo(&text);
	appendStringInfo(&text, "%.6g of [", ball->radius);
	for (int i = 0; i < ball->dim; i++)
		appendStringInfo(&text, i == 0 ? "%.6g" : ",%.6g", ball->x[i]);
	appendStringInfoChar(&text, ']');
	PG_RETURN_CSTRING(text.data);
}

/*
 * vector_ball(centre, bound, slope, offset): where slope * d + offset is not
 * beyond the bound, above it for a slope above 0, else below.
 */
Datum
vector_ball(PG_FUNCTION_ARGS)
{
	const Vector *centre = PG_GETARG_VECTOR_P(0);
	double slope = PG_GETARG_FLOAT8(2);
	double radius = (PG_GETARG_FLOAT8(1) - PG_GETARG_FLOAT8(3)) / slope;
	Size bytes = offsetof(VectorBall, x) + sizeof(float) * centre->dim;
	VectorBall *ball = palloc0(bytes);

	SET_VARSIZE(ball, bytes);
	ball->dim = centre->dim;
	ball->with_nan = slope < 0;
	ball->radius =
		isinf(radius) ? radius : radius + WIDENING * (1 + fabs(radius));
	memcpy(ball->x, centre->x, sizeof(float) * centre->dim);
	PG_RETURN_POINTER(ball);
}

static bool
within(FunctionCallInfo fcinfo,
	   double (*distance)(const float *x, const float *y, int dim))
{
	const Vector *x = PG_GETARG_VECTOR_P(0);
	const VectorBall *ball = DatumGetVectorBall(PG_GETARG_DATUM(1));
	double d;

	if (x->dim != ball->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("different vector dimensions %d and %d", x->dim,
							   ball->dim)));
	d = distance(x->x, ball->x, x->dim);
	return isnan(d) ? ball->with_nan != 0 : !(d > ball->radius);
}

Datum
vector_within_l2(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(within(fcinfo, vx_l2_distance));
}

Datum
vector_within_ip(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(within(fcinfo, vx_negative_inner_product));
}

Datum
vector_within_cosine(PG_FUNCTION_ARGS)
{
	PG_RETURN_BOOL(within(fcinfo, vx_cosine_distance));
}
