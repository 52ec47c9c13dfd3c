/*
 * avx2.h
 *		What the files of the AVX2 level share.
 *
 * Private to src/kernel/avx2*.c.
 */
#ifndef VX_KERNEL_AVX2_H
#define VX_KERNEL_AVX2_H

#include "kernel/levels.h"

#ifdef VX_HAVE_AVX2

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX2_EXACT __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline))

INLINE AVX2_EXACT __m256i
load_32(const void *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

INLINE AVX2_EXACT __m256d
load_4(const float *x)
{
	return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

/* The kernels, see kernel.h. */
extern double vx_avx2_l2_squared(const float *x, const float *y, int dim);
extern double vx_avx2_inner_product(const float *x, const float *y, int dim);
extern double vx_avx2_l1(const float *x, const float *y, int dim);
extern void vx_avx2_cosine(const float *x, const float *y, int dim,
						   VxCosineParts *parts);
extern void vx_avx2_dot_u4(const uint8_t *codes, int rows, int dim,
						   const int8_t *query, int32_t *out);
extern void vx_avx2_dot_u4_ahead(const uint8_t *codes, int rows, int dim,
								 const int8_t *query, int32_t *out,
								 const uint8_t *ahead);
extern void vx_avx2_dot_u8(const uint8_t *codes, int rows, int dim,
						   const int8_t *query, int32_t *out);
extern void vx_avx2_sign_sums(const uint8_t *units, int count,
							  const uint8_t *lut, const uint8_t *ahead,
							  int32_t *sums);
extern void vx_avx2_rest_dots(const uint8_t *rows, const uint16_t *index,
							  int count, int dim, const int8_t *query,
							  int32_t *dots);
extern void vx_avx2_bound(const VxListQuery *q, const VxFactors *factors,
						  const int32_t *dots, int rows, float *est,
						  float *low);
extern void vx_avx2_in_range(const void *values, int width, int count,
							 int64_t low, int64_t high, uint64_t *bits);
extern void vx_avx2_hadamard(float *x, int n, float scale);
extern void vx_avx2_flip_signs(float *x, const uint8_t *signs, int dim);
extern void vx_avx2_butterfly(float *x, int count, int gap, float scale);
extern double vx_avx2_norm2(const float *x, const float *y, int dim);
extern void vx_avx2_scaled_difference(const float *x, const float *y,
									  double factor, int dim, float *out);
extern void vx_avx2_scale_sums(const float *o, int dim, const float *t,
							   int count, int levels, float *wo, float *ww);
extern void vx_avx2_quantize(const float *o, int dim, float t, int levels,
							 uint8_t *u);
extern void vx_avx2_code_sums(const uint8_t *u, const float *o,
							  const float *rotated, int dim, float centre,
							  VxCodeSums *sums);
extern int vx_avx2_nearest(const float *dots, const float *norms2, int lists,
						   float *smallest, float *second);

#endif

#endif
