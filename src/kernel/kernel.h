/*
 * kernel.h
 *		The table of kernels: every loop over floats or code bytes that is worth
 *		a SIMD version.
 *
 * scalar*.c is the definition; avx2*.c must agree with it: integer kernels and
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

/* Sums over the levels y of a code, a direction o and a rotated centroid c. */
typedef struct VxCodeSums
{
	double oy;
	double yy;
	double oo;
	double yc;
	double oc;
} VxCodeSums;

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
	float b;	  /* L2: 2; IP: 1; times a power of two taken out of step,
				   * h2 and noise2 where those would leave float's range */
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
	void (*dot_u4)(const uint8_t *codes, int rows, int dim, const int8_t *query,
				   int32_t *out);

	/*
	 * dot_u4, and meanwhile asks the memory for the rows * stride bytes at
	 * ahead, which are scored next.  A hint: ahead may be any address.  Memory
	 * latency, not arithmetic, is what a scan waits for.
	 */
	void (*dot_u4_ahead)(const uint8_t *codes, int rows, int dim,
						 const int8_t *query, int32_t *out,
						 const uint8_t *ahead);

	/* The same for one byte per dimension, stride = dim. */
	void (*dot_u8)(const uint8_t *codes, int rows, int dim, const int8_t *query,
				   int32_t *out);

	/*
	 * First plane: sums[s] += sum over k < count of lut[16 k + nibble(k, s)] for
	 * the VX_PLANE_SLOTS slots of a block.  units: count units of
	 * VX_SIGN_UNIT_BYTES.  Nibble s < 16 is the low one of byte s of its unit,
	 * nibble s >= 16 the high one of byte s - 16.  Called again with the next
	 * units, and sums as they are, when a block is spread over pages.  Any
	 * table, count up to VX_DIM_MAX / 4.  ahead: as in dot_u4_ahead, count units.
	 */
	void (*sign_sums)(const uint8_t *units, int count, const uint8_t *lut,
					  const uint8_t *ahead, int32_t *sums);

	/*
	 * Second plane: dots[i] = 8 * dots[i] + sum over j of rest(i, j) * query(j)
	 * for i < count, where entry i is row index[i] of rows; rows of
	 * vx_rest_bytes(dim) bytes, back to back.  With w = (dim + 7) / 8, a row is
	 * three sections A, B, C of w bytes; byte k of the sections holds
	 * dimensions f * w + k, f < 8:
	 *	A: f = 0 in bits 0 .. 2, f = 1 in bits 3 .. 5, low two bits of f = 6
	 *	B: f = 2, f = 3, low two bits of f = 7
	 *	C: f = 4, f = 5, then the top bits of f = 6 and f = 7
	 * (0 beyond dim).  query: blocks of 256 bytes, see vx_rest_at().  Magnitudes
	 * of query up to 127.  Exact integers.
	 */
	void (*rest_dots)(const uint8_t *rows, const uint16_t *index, int count,
					  int dim, const int8_t *query, int32_t *dots);

	/*
	 * Estimates and lower bounds of rows entries from their dot products, see
	 * VxListQuery.  Where est or err overflows or is not a number, est is
	 * FLT_MAX and low is -inf: always a candidate, never a threshold.  Neither
	 * is ever NaN.  AVX2 equals scalar within 4 ulp of the largest term.
	 */
	void (*bound)(const VxListQuery *q, const VxFactors *factors,
				  const int32_t *dots, int rows, float *est, float *low);

	/*
	 * Filters: sets bit i mod 64 of bits[i / 64] where low <= values[i] <= high,
	 * i < count; other bits stay as they are.  values: signed integers of width
	 * bytes: 1, 2, 4 or 8; low and high are within their range.
	 */
	void (*in_range)(const void *values, int width, int count, int64_t low,
					 int64_t high, uint64_t *bits);

	/*
	 * The kernels from here on feed stored codes, so they are bit-equal on
	 * every level: a fixed order of operations, no fused multiply-add.  Sums
	 * are taken in 8 lanes (term i into lane i mod 8), and the lanes are added
	 * as ((0+4)+(2+6)) + ((1+5)+(3+7)).
	 */

	/*
	 * In-place, unnormalised Walsh-Hadamard transform of n = 2^k floats, strides
	 * 1, 2, 4, ... in this order, then every value multiplied by scale.
	 */
	void (*hadamard)(float *x, int n, float scale);

	/* Negates x[i] where bit i mod 8 of signs[i / 8] is set. */
	void (*flip_signs)(float *x, const uint8_t *signs, int dim);

	/*
	 * x[i], x[i + gap] := (x[i] + x[i + gap]) * scale, (x[i] - x[i + gap]) *
	 * scale for i < count; gap >= count.
	 */
	void (*butterfly)(float *x, int count, int gap, float scale);

	/* |x - y|^2, every step in double; y NULL means 0. */
	double (*norm2)(const float *x, const float *y, int dim);

	/* out = (x - y) * factor, in double, rounded at the end; y NULL means 0. */
	void (*scaled_difference)(const float *x, const float *y, double factor,
							  int dim, float *out);

	/*
	 * Scale search of the encoder: for a direction o of dim floats, levels =
	 * 2^(bits-1) - 1 and each scale t[k], k < count:
	 *	v_i = min(levels, floor(t * |o_i|)), w_i = v_i + 0.5
	 *	wo[k] = sum w_i * |o_i|, ww[k] = sum w_i^2
	 */
	void (*scale_sums)(const float *o, int dim, const float *t, int count,
					   int levels, float *wo, float *ww);

	/* u_i = levels + 1 + v_i where o_i >= 0, levels - v_i elsewhere. */
	void (*quantize)(const float *o, int dim, float t, int levels, uint8_t *u);

	/* Double sums over a code, y_i = u_i - centre. */
	void (*code_sums)(const uint8_t *u, const float *o, const float *rotated,
					  int dim, float centre, VxCodeSums *sums);

	/*
	 * Smallest and second smallest of norm2[j] - 2 * dots[j] over j < lists
	 * (+inf where not a number); returns the first j of the smallest, 0 when
	 * all are +inf.
	 */
	int (*nearest)(const float *dots, const float *norm2, int lists,
				   float *smallest, float *second);
} VxKernels;

/* The table in use, scalar at first.  Set by vx_kernels_choose() only. */
extern const VxKernels *vx_kernels;

/*
 * Chooses a table by name ("auto", "scalar", "avx2").  Returns false, and
 * leaves the table alone, when this CPU cannot run it or the name is unknown.
 */
extern bool vx_kernels_choose(const char *name);

/* Every table this CPU can run, best last; for tests.  Returns the count. */
extern int vx_kernels_available(const VxKernels **tables, int max);

/*
 * The query of rest_dots is in the order in which the row is read: block b of
 * vx_rest_blocks(dim) holds, at 32 f + k, the query for dimension f of byte
 * vx_rest_at(dim, b) + k of the sections, k < 32.  The last block ends where the
 * sections end; it, and a block that is longer than a section, has zeros for
 * bytes that are counted elsewhere or do not exist.
 */
#define VX_REST_BLOCK 32

static inline int
vx_rest_blocks(int dim)
{
	return ((dim + 7) / 8 + VX_REST_BLOCK - 1) / VX_REST_BLOCK;
}

static inline int
vx_rest_at(int dim, int block)
{
	int last = (dim + 7) / 8 - VX_REST_BLOCK;
	int at = block * VX_REST_BLOCK;

	if (at > last)
		at = last > 0 ? last : 0;
	return at;
}

/*
 * IEEE half precision.  nearest: ties to even, overflow to infinity.  up: the
 * smallest half not below x, for x >= 0.
 */
extern uint16_t vx_half_nearest(float x);
extern uint16_t vx_half_up(float x);
extern float vx_half_float(uint16_t h);

#endif
