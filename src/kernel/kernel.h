/*
 * kernel.h
 *		The table of kernels: every loop over floats or code bytes that is worth
 *		a SIMD version.
 *
 * scalar.c is the definition; avx2.c must agree with it: integer kernels and
 * rotation bit for bit, the others within the bound stated beside each.  The
 * table is chosen once at load (kernel.c) and may be forced by name.
 *
 * Contract of all: no allocation, no errors, no alignment needed, reads only
 * the bytes named, dim >= 1, rows >= 0.
 */
#ifndef VX_KERNEL_KERNEL_H
#define VX_KERNEL_KERNEL_H

#include "kernel/base.h"

/* What cosine needs: dot product and both squared norms. */
typedef struct VxCosineParts
{
	double ab;
	double aa;
	double bb;
} VxCosineParts;

/*
 * How one list turns code dot products into distances for one query.  All in
 * "key" units: squared distance for L2 and cosine (of unit vectors), negative
 * inner product for IP.  For an entry with factors f, n (float32), s/n and e/n
 * (float16, here sn and en) and code dot product u = sum of code * query8:
 *
 *	ip   = step * (u - offset)				(offset = centre of codes * sum8)
 *	est  = base + a * f - b * (sn * n) * ip
 *	err  = eps * b * n * sqrt(h2 * en^2 + noise2) + floor0 + floor1 * n + floor2 * n^2
 *	low  = est - err
 *
 * Source: quantiser-study "Recommended design" 3; docs/quantiser.md.
 */
typedef struct VxListQuery
{
	float base;	  /* L2: |q-c|^2; IP: -<q,c> */
	float a;	  /* L2: 1; IP: -k */
	float b;	  /* L2: 2; IP: 1 */
	float step;	  /* scale of the int8 query */
	float offset; /* (2^bits - 1) / 2 * sum of the int8 query */
	float h2;	  /* L2: |q-c|^2; IP: |q-kc|^2 */
	float noise2; /* variance of the int8 rounding, step^2 / 12 */
	float eps;	  /* width of the bound in standard deviations */
	float floor0;
	float floor1;
	float floor2;
} VxListQuery;

/* The factor planes of the entries of one page. */
typedef struct VxFactors
{
	const float *f;
	const float *n;
	const uint16_t *sn; /* IEEE half precision */
	const uint16_t *en; /* IEEE half precision, rounded up */
} VxFactors;

typedef struct VxKernels
{
	const char *name; /* "scalar", "avx2" */

	/*
	 * Distances of two float vectors, accumulated in double precision.
	 * Relative error to exact arithmetic at most dim * 2^-52 of the sum of
	 * absolute terms.  AVX2 equals scalar within the same bound.
	 */
	double (*l2_squared)(const float *x, const float *y, int dim);
	double (*inner_product)(const float *x, const float *y, int dim);
	double (*l1)(const float *x, const float *y, int dim);
	void (*cosine)(const float *x, const float *y, int dim,
				   VxCosineParts *parts);

	/*
	 * out[i] = sum over j of code(i, j) * query(j), rows codes of stride bytes
	 * each, back to back.  u4: byte j of a row of stride = (dim + 1) / 2 bytes
	 * holds dimension j in its low nibble and dimension j + stride in its high
	 * nibble (0 when dim is odd and j is the last).  query: the int8 query in
	 * dimension order, dim values followed by at least 64 zero bytes.  Exact
	 * integers: AVX2 equals scalar.  Never reads past rows * stride code bytes.
	 */
	void (*dot_u4)(const uint8_t *codes, int rows, int dim,
				   const int8_t *query, int32_t *out);

	/* The same for one byte per dimension, stride = dim. */
	void (*dot_u8)(const uint8_t *codes, int rows, int dim,
				   const int8_t *query, int32_t *out);

	/*
	 * Estimates and lower bounds of rows entries from their dot products, see
	 * VxListQuery.  low[i] may be -inf or -FLT_MAX-ish for entries with huge
	 * factors, never NaN.  AVX2 equals scalar within 4 ulp of the largest term.
	 */
	void (*bound)(const VxListQuery *q, const VxFactors *factors,
				  const int32_t *dots, int rows, float *est, float *low);

	/*
	 * One round of the butterfly network of the rotation; bit-equal on every
	 * level (see quant/rotate.c): in-place, unnormalised Walsh-Hadamard
	 * transform of n = 2^k floats, then every value multiplied by scale.
	 */
	void (*hadamard)(float *x, int n, float scale);

	/*
	 * Scale search of the encoder, bit-equal on every level (sums are taken in
	 * 8 lanes in a fixed order): for a direction o of dim floats, levels =
	 * 2^(bits-1) - 1 and scale t:
	 *	v_i = min(levels, floor(t * |o_i|)), w_i = v_i + 0.5
	 *	*wo = sum w_i * |o_i|, *ww = sum w_i^2
	 */
	void (*scale_sums)(const float *o, int dim, float t, int levels,
					   float *wo, float *ww);
} VxKernels;

/* The table in use.  Set by vx_kernels_choose() only. */
extern const VxKernels *vx_kernels;

/*
 * Chooses a table by name ("auto", "scalar", "avx2").  Returns false, and
 * leaves the table alone, when this CPU cannot run it or the name is unknown.
 */
extern bool vx_kernels_choose(const char *name);

/* Every table this CPU can run, best last; for tests.  Returns the count. */
extern int vx_kernels_available(const VxKernels **tables, int max);

/* IEEE half precision.  down: towards zero or nearest; up: never below x >= 0. */
extern uint16_t vx_half_nearest(float x);
extern uint16_t vx_half_up(float x);
extern float vx_half_float(uint16_t h);

#endif
