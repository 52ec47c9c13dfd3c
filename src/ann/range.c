/*
 * range.c
 *		Conditions on the distance itself: rows within a radius of a vector.
 *
 * A ball that has the query of the ORDER BY as its centre, or any ball when there
 * is no ORDER BY, limits what the walk keeps and where it stops.  Other balls are
 * left to the executor, which checks all of them in any case.
 */
#include "postgres.h"

#include <math.h>

#include "ann/scan.h"

/* The ball's own centre, as a vector. */
static Datum
centre_of(const VectorBall *ball)
{
	Vector *centre = vx_vector_new(ball->dim);

	memcpy(centre->x, ball->x, sizeof(float) * ball->dim);
	return PointerGetDatum(centre);
}

static bool
same_centre(const VxScan *scan, const VectorBall *ball)
{
	return ball->dim == scan->ann.dims &&
		   memcmp(ball->x, scan->query_raw, sizeof(float) * scan->ann.dims) ==
			   0;
}

/* Takes one condition.  False: no row can be within. */
static bool
take_ball(VxScan *scan, const VectorBall *ball)
{
	double radius = ball->radius;
	double reach;

	/* Everything is below NaN; and NULL, which no row has, below nothing. */
	if (isnan(radius))
		return true;
	if (!scan->ordered && !scan->ranged)
		vx_scan_set_query(scan, centre_of(ball));
	else if (scan->query_null || !same_centre(scan, ball))
		return true;
	if (scan->query_nan)
		return ball->with_nan != 0;
	reach = vx_distance_key(scan->ann.type->metric, radius);
	/* No distance but a negative inner product is below 0. */
	if (radius < 0 && scan->ann.type->metric != VX_METRIC_IP)
		reach = -1;
	scan->reach = scan->ranged ? Min(scan->reach, reach) : reach;
	scan->ranged = true;
	/* NULL is within nothing. */
	scan->filter.no_nulls = true;
	scan->filter.no_zeros |= !ball->with_nan;
	return ball->with_nan || reach >= 0 ||
		   scan->ann.type->metric == VX_METRIC_IP;
}

bool
vx_range_init(VxScan *scan)
{
	const IndexScanDesc desc = scan->scan;

	for (int i = 0; i < desc->numberOfKeys; i++)
	{
		const ScanKey key = &desc->keyData[i];

		if (key->sk_strategy != VX_ANN_RANGE_STRATEGY)
			continue;
		if ((key->sk_flags & SK_ISNULL) != 0 ||
			!take_ball(scan, DatumGetVectorBall(key->sk_argument)))
			return false;
	}
	return true;
}
