/*
 * encode.c
 *		From a vector and its list to a code and factors.
 *
 * Owns the rule that an entry's bytes are a function of its input alone: sums
 * come from the bit-equal kernels, the rest is scalar double arithmetic.  The
 * formulas are derived in docs/quantiser.md.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "quant/quant.h"
#include "quant/random.h"

/* Scales tried around t0: t0 * (0.7 .. 1.3). */
#define SCALES 17

/* Directions and scales behind t0. */
#define T0_DIRECTIONS 200
#define T0_SCALES 33

/* Largest half precision value. */
#define HALF_MAX 0x7bff

/*
 * Residuals longer than this are not quantised: n^2, and products of two such
 * lengths, must stay well inside float.
 */
#define NORM_MAX 1e18
#define FACTOR_MAX 1e37

static int
levels_of(int bits)
{
	return (1 << (bits - 1)) - 1;
}

/*
 * Fills x with independent values close to Gaussian: sums of twelve uniform
 * integers, so that no math library takes part.
 */
static void
fill_gaussian(float *x, int dim, uint64_t *state)
{
	for (int i = 0; i < dim; i++)
	{
		int32_t sum = -6 * 65535;

		for (int k = 0; k < 3; k++)
		{
			uint64_t r = vx_random_next(state);

			sum += (int32_t) ((r & 0xffff) + (r >> 16 & 0xffff) +
							  (r >> 32 & 0xffff) + (r >> 48));
		}
		x[i] = (float) sum;
	}
}

/* The scale whose code has the smallest angle to direction o. */
static float
best_scale(const float *o, int dim, int bits, const float *scales)
{
	float wo[T0_SCALES];
	float ww[T0_SCALES];
	int best = 0;

	vx_kernels->scale_sums(o, dim, scales, T0_SCALES, levels_of(bits), wo, ww);
	for (int k = 1; k < T0_SCALES; k++)
	{
		double challenger = (double) wo[k] * wo[k] * ww[best];

		if (challenger > (double) wo[best] * wo[best] * ww[k])
			best = k;
	}
	return scales[best];
}

float
vx_quantizer_t0(int dim, int bits, float *scratch)
{
	/* Reciprocal of the best step for a Gaussian of variance 1. */
	double typical = bits == 8 ? 32.5 : 2.98;
	uint64_t state = (uint64_t) dim;
	float scales[T0_SCALES];
	double sum = 0.0;

	/* One dimension: level 0 makes s/n = 2, which half precision holds. */
	if (dim == 1)
		return 0.5f;
	for (int k = 0; k < T0_SCALES; k++)
		scales[k] = (float) (typical * sqrt((double) dim) * (0.5 + k / 32.0));
	for (int i = 0; i < T0_DIRECTIONS; i++)
	{
		fill_gaussian(scratch, dim, &state);
		if (vx_normalize(scratch, dim))
			sum += (double) best_scale(scratch, dim, bits, scales);
	}
	return (float) (sum / T0_DIRECTIONS);
}

void
vx_list_rotate(const VxQuantizer *quantizer, const float *centroid,
			   const float *centre, float *rotated)
{
	vx_rotate_difference(&quantizer->rotation, centroid,
						 quantizer->metric == VX_METRIC_IP ? NULL : centre,
						 rotated);
}

void
vx_pack(const uint8_t *levels, int dim, int bits, uint8_t *code)
{
	int high = dim / 2;
	int stride = (dim + 1) / 2;

	if (bits == 8)
	{
		memcpy(code, levels, (size_t) dim);
		return;
	}
	for (int j = 0; j < high; j++)
		code[j] = (uint8_t) (levels[j] | levels[j + stride] << 4);
	if (high < stride)
		code[high] = levels[high];
}

void
vx_unpack(const uint8_t *code, int dim, int bits, uint8_t *levels)
{
	int high = dim / 2;
	int stride = (dim + 1) / 2;

	if (bits == 8)
	{
		memcpy(levels, code, (size_t) dim);
		return;
	}
	for (int j = 0; j < stride; j++)
		levels[j] = code[j] & 15;
	for (int j = 0; j < high; j++)
		levels[j + stride] = code[j] >> 4;
}

/*
 * Square of the width e/n of a code with <o, y> = oy and |y|^2 = yy for a unit
 * direction, when s/n is rounded to sn.  The part of the error along the
 * direction counts in full, the part across it is spread over dim - 1
 * dimensions.
 */
static double
width2(double sn, double oy, double yy, int dim)
{
	double along = 1.0 - sn * oy;
	double across = sn * sn * (yy - oy * oy);
	double spread = dim > 1 ? (double) (dim - 1) : 1.0;

	return along * along + (across > 0.0 ? across / spread : 0.0);
}

/* s/n as it is stored. */
static uint16_t
round_scale(double oy)
{
	return vx_half_nearest((float) (1.0 / oy));
}

/*
 * The scale of the search with the smallest width.  Taking the rounding of s/n
 * into account makes the search prefer codes whose s/n half precision can
 * nearly hold; with 8 bits the rounding would otherwise outweigh the error.
 */
static float
search_scale(const VxQuantizer *quantizer, const float *o)
{
	float scales[SCALES];
	float wo[SCALES];
	float ww[SCALES];
	double smallest = INFINITY;
	int best = 0;

	for (int k = 0; k < SCALES; k++)
		scales[k] = quantizer->t0 * (0.7f + 0.0375f * (float) k);
	vx_kernels->scale_sums(o, quantizer->dim, scales, SCALES,
						   levels_of(quantizer->bits), wo, ww);
	for (int k = 0; k < SCALES; k++)
	{
		double sn = (double) vx_half_float(round_scale((double) wo[k]));
		double width =
			width2(sn, (double) wo[k], (double) ww[k], quantizer->dim);

		if (width < smallest)
		{
			smallest = width;
			best = k;
		}
	}
	return scales[best];
}

/* Factors that put the lower bound below every distance. */
static void
set_loose(VxEntryFactors *factors, VxSignFactors *signs)
{
	factors->f = 0.0f;
	factors->n = FLT_MAX;
	factors->sn = 0;
	factors->en = HALF_MAX;
	if (signs != NULL)
		*signs = (VxSignFactors){.f = 0.0f, .sn = 0, .en = HALF_MAX};
}

/*
 * s/n, e/n and f of a code by its sums.  Returns false when f leaves float's
 * range: NaN and infinity come from a centroid beyond it.
 */
static bool
set_factors(const VxQuantizer *quantizer, const VxCodeSums *sums, double norm,
			VxSignFactors *factors)
{
	uint16_t half = round_scale(sums->oy);
	float n = (float) norm;
	double s, e, f;

	/* What readers multiply is the stored n, coarse when it is subnormal. */
	s = (double) vx_half_float(half) * (double) n;
	e = norm *
		sqrt(width2(s / norm, sums->oy, sums->yy * sums->oo, quantizer->dim));
	factors->sn = half;
	/* The surplus covers the rounding of e/n to float. */
	factors->en = vx_half_up((float) (e / (double) n * (1.0 + 0x1p-22)));
	if (quantizer->metric == VX_METRIC_IP)
		f = norm * sums->oc - s * sums->yc;
	else
		f = norm * norm + 2.0 * s * sums->yc;
	factors->f = (float) f;
	return fabs(f) < FACTOR_MAX;
}

/* Factors of the code u, and of its signs alone; u is left as signs. */
static void
set_all_factors(const VxQuantizer *quantizer, const VxListRef *list,
				const float *o, double norm, uint8_t *u,
				VxEntryFactors *factors, VxSignFactors *signs)
{
	int dim = quantizer->dim;
	int levels = levels_of(quantizer->bits);
	VxSignFactors whole;
	VxCodeSums sums;
	bool good;

	vx_kernels->code_sums(u, o, list->rotated, dim, (float) levels + 0.5f,
						  &sums);
	good = set_factors(quantizer, &sums, norm, &whole);
	factors->f = whole.f;
	factors->n = (float) norm;
	factors->sn = whole.sn;
	factors->en = whole.en;
	if (signs != NULL)
	{
		for (int i = 0; i < dim; i++)
			u[i] = u[i] > levels;
		vx_kernels->code_sums(u, o, list->rotated, dim, 0.5f, &sums);
		good = set_factors(quantizer, &sums, norm, signs) && good;
	}
	if (!good)
		set_loose(factors, signs);
}

void
vx_encode_planes(const VxQuantizer *quantizer, const VxListRef *list,
				 const float *x, uint8_t *code, VxEntryFactors *factors,
				 VxSignFactors *signs, float *scratch)
{
	const VxKernels *kernels = vx_kernels;
	int dim = quantizer->dim;
	int levels = levels_of(quantizer->bits);
	float *o = scratch;
	uint8_t *u = (uint8_t *) (scratch + dim);
	double norm = sqrt(kernels->norm2(x, list->centroid, dim));

	memset(factors, 0, sizeof(*factors));
	if (signs != NULL)
		memset(signs, 0, sizeof(*signs));
	if (!(norm > 0.0) || norm > NORM_MAX)
	{
		memset(u, levels + 1, (size_t) dim);
		vx_pack(u, dim, quantizer->bits, code);
		if (norm != 0.0)
			set_loose(factors, signs);
		return;
	}
	/* The direction, not the residual, is rotated: no length is too small. */
	kernels->scaled_difference(x, list->centroid, 1.0 / norm, dim, o);
	vx_rotate(&quantizer->rotation, o);
	kernels->quantize(o, dim, search_scale(quantizer, o), levels, u);
	vx_pack(u, dim, quantizer->bits, code);
	set_all_factors(quantizer, list, o, norm, u, factors, signs);
}

void
vx_encode(const VxQuantizer *quantizer, const VxListRef *list, const float *x,
		  uint8_t *code, VxEntryFactors *factors, float *scratch)
{
	vx_encode_planes(quantizer, list, x, code, factors, NULL, scratch);
}
