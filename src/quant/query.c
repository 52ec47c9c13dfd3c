/*
 * query.c
 *		The query's side: int8 form, constants of a list, scoring.
 *
 * Nothing here is stored, so only the meaning matters, not the last bit.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "quant/quant.h"

/* Squared lengths beyond this make every entry a candidate. */
#define NORM2_MAX 1e36

/*
 * Width of the absolute floor relative to the magnitudes, which covers float
 * arithmetic, and the same for magnitudes below float's normal range.
 */
#define FLOOR_RELATIVE 1e-6
#define FLOOR_TINY 1e-37

/* Outside of this range h2 is scaled by a power of two. */
#define H2_MIN 1e-20
#define H2_MAX 1e20

/*
 * The magnitudes of the four dimensions of a unit of signs add up to at most
 * this in steps.  Each may be rounded up by half a step: the sum of the rounded
 * ones is at most 255, and the tables of the first plane hold exact sums.
 */
#define UNIT_STEPS 252.9f

/* The step that keeps single dimensions, and (for 4 bits) units, in range. */
static float
choose_step(const float *o, int dim, int bits)
{
	float most = 0.0f;
	float most_of_unit = 0.0f;

	for (int i = 0; i < dim; i += 4)
	{
		float unit = 0.0f;

		for (int j = i; j < dim && j < i + 4; j++)
		{
			float magnitude = fabsf(o[j]);

			most = magnitude > most ? magnitude : most;
			unit += magnitude;
		}
		most_of_unit = unit > most_of_unit ? unit : most_of_unit;
	}
	most /= 127.0f;
	most_of_unit /= UNIT_STEPS;
	return bits == 4 && most_of_unit > most ? most_of_unit : most;
}

/* Rounds the direction o to int8, sets step (for unit length) and sum8. */
static void
round_query(VxQuery *query, const float *o, int dim, int bits)
{
	float step = choose_step(o, dim, bits);
	float inverse = 1.0f / step;

	for (int i = 0; i < dim; i++)
	{
		float v = o[i] * inverse;
		int level = (int) (v + (v >= 0.0f ? 0.5f : -0.5f));

		query->q8[i] = (int8_t) level;
		query->sum8 += level;
	}
	query->step = step;
}

void
vx_query_init(VxQuery *query, const VxQuantizer *quantizer, const float *q,
			  const float *centre, int8_t *q8, float *scratch)
{
	const VxKernels *kernels = vx_kernels;
	int dim = quantizer->dim;
	const float *from = quantizer->metric == VX_METRIC_IP ? NULL : centre;
	double norm;

	query->q = q;
	query->q8 = q8;
	query->step = 0.0f;
	query->sum8 = 0;
	query->q_norm2 = kernels->norm2(q, NULL, dim);
	query->q_centre_norm2 = kernels->norm2(q, from, dim);
	memset(q8, 0, VX_QUERY8_BYTES(dim));
	norm = sqrt(query->q_centre_norm2);
	if (!(norm > 0.0) || query->q_centre_norm2 > NORM2_MAX)
		return;
	kernels->scaled_difference(q, from, 1.0 / norm, dim, scratch);
	vx_rotate(&quantizer->rotation, scratch);
	round_query(query, scratch, dim, quantizer->bits);
	query->step = (float) (query->step * norm);
}

/* Rounds a positive width up into float. */
static float
float_up(double x)
{
	return (float) (x * (1.0 + 0x1p-22) + FLOOR_TINY);
}

/*
 * The floor stands for the magnitudes |q - m|^2 and 2 |c - m|^2.  The second is
 * at most 4 |q - c|^2 + 4 |q - m|^2, which costs no pass over the centroid.
 */
static void
set_l2(const VxQuery *query, const VxQuantizer *quantizer,
	   const float *centroid, const float *centre, VxListQuery *out, double *h2)
{
	double distance2 =
		vx_kernels->l2_squared(query->q, centroid, quantizer->dim);
	double offset2 =
		centroid == centre ? 0.0 : 2.0 * (distance2 + query->q_centre_norm2);

	*h2 = distance2;
	out->base = (float) distance2;
	out->a = 1.0f;
	out->b = 2.0f;
	out->floor0 =
		float_up(FLOOR_RELATIVE * (query->q_centre_norm2 + 2.0 * offset2));
	out->floor1 = 0.0f;
	out->floor2 = (float) (2.0 * FLOOR_RELATIVE);
	if (!(offset2 < NORM2_MAX))
		*h2 = INFINITY;
}

/*
 * The part of q along the centroid is worth subtracting from the residual's
 * error: k * f is known exactly.  A centroid that is tiny beside the query
 * would make k overflow and f underflow, and counts as zero.
 */
static void
set_ip(const VxQuery *query, const VxQuantizer *quantizer,
	   const float *centroid, VxListQuery *out, double *h2)
{
	double qc = vx_kernels->inner_product(query->q, centroid, quantizer->dim);
	double cc = vx_kernels->inner_product(centroid, centroid, quantizer->dim);
	double q_norm = sqrt(query->q_norm2);
	double k = cc > 0.0 ? qc / cc : 0.0;

	if (!(fabs(k) < 1e12))
		k = 0.0;
	*h2 = query->q_norm2 - k * qc;
	if (*h2 < 0.0)
		*h2 = 0.0;
	out->base = (float) -qc;
	out->a = (float) -k;
	out->b = 1.0f;
	out->floor0 = float_up(FLOOR_RELATIVE * q_norm * sqrt(cc));
	out->floor1 = float_up(FLOOR_RELATIVE * q_norm);
	out->floor2 = 0.0f;
	if (!(cc < NORM2_MAX))
		*h2 = INFINITY;
}

/* Every entry gets est = FLT_MAX, low = -inf. */
static void
set_everything(VxListQuery *out)
{
	memset(out, 0, sizeof(*out));
	out->base = FLT_MAX;
	out->floor0 = INFINITY;
}

void
vx_query_list(const VxQuery *query, const VxQuantizer *quantizer,
			  const float *centroid, const float *centre, float eps,
			  VxListQuery *out)
{
	double step = (double) query->step;
	double h2, largest, scale = 1.0;

	if (quantizer->metric == VX_METRIC_IP)
		set_ip(query, quantizer, centroid, out, &h2);
	else
		set_l2(query, quantizer, centroid, centre, out, &h2);
	if (!(h2 < NORM2_MAX) || !(query->q_centre_norm2 < NORM2_MAX))
	{
		set_everything(out);
		return;
	}
	largest = h2 > query->q_centre_norm2 ? h2 : query->q_centre_norm2;
	if (largest > 0.0 && (largest < H2_MIN || largest > H2_MAX))
		scale = ldexp(1.0, ilogb(sqrt(largest)));
	/* b must stay a normal float. */
	if (scale < 0x1p-120)
		scale = 0x1p-120;
	out->b = (float) (out->b * scale);
	out->step = (float) (step / scale);
	out->offset = (float) (((1 << quantizer->bits) - 1) * 0.5 * query->sum8);
	out->h2 = float_up(h2 / (scale * scale));
	out->noise2 = float_up(step * step / 12.0 / (scale * scale));
	out->eps = eps;
}

void
vx_score(const VxQuery *query, const VxQuantizer *quantizer,
		 const VxListQuery *list, const uint8_t *codes,
		 const VxFactors *factors, int rows, const uint8_t *ahead,
		 int32_t *dots, float *est, float *low)
{
	const VxKernels *kernels = vx_kernels;

	if (quantizer->bits == 8)
		kernels->dot_u8(codes, rows, quantizer->dim, query->q8, dots);
	else if (ahead == NULL)
		kernels->dot_u4(codes, rows, quantizer->dim, query->q8, dots);
	else
		kernels->dot_u4_ahead(codes, rows, quantizer->dim, query->q8, dots,
							  ahead);
	/* Whole vectors: the entries behind the last row are never looked at. */
	for (; rows % VX_SCORE_ALIGN != 0; rows++)
		dots[rows] = 0;
	kernels->bound(list, factors, dots, rows, est, low);
}
