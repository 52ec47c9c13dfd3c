/*
 * levels.h
 *		What the files of the kernel layer share: the tables themselves, the order
 *		of lane sums, and the scalar forms that SIMD levels fall back on.
 *
 * Private to src/kernel/.
 */
#ifndef VX_KERNEL_LEVELS_H
#define VX_KERNEL_LEVELS_H

#include "kernel/kernel.h"

/* Lanes of a bit-equal sum. */
#define VX_LANES 8

extern const VxKernels vx_kernels_scalar;

#if defined(__x86_64__)
#define VX_HAVE_AVX2 1
extern const VxKernels vx_kernels_avx2;
#endif

/* The one order in which lanes are added, see kernel.h. */
static inline float
vx_lanes_sum_float(const float *lane)
{
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
		   ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

static inline double
vx_lanes_sum_double(const double *lane)
{
	return ((lane[0] + lane[4]) + (lane[2] + lane[6])) +
		   ((lane[1] + lane[5]) + (lane[3] + lane[7]));
}

/* Kernels of files of their own, and what SIMD levels leave to plain C. */
extern void vx_scalar_bound(const VxListQuery *q, const VxFactors *factors,
							const int32_t *dots, int rows, float *est,
							float *low);
extern void vx_scalar_hadamard(float *x, int n, float scale);
extern void vx_scalar_in_range(const void *values, int width, int count,
							   int64_t low, int64_t high, uint64_t *bits);
extern void vx_scalar_sign_sums(const uint8_t *units, int count,
								const uint8_t *lut, const uint8_t *ahead,
								int32_t *sums);
extern void vx_scalar_rest_dots(const uint8_t *rows, const uint16_t *index,
								int count, int dim, const int8_t *query,
								int32_t *dots);
extern void vx_scalar_dot_u8(const uint8_t *codes, int rows, int dim,
							 const int8_t *query, int32_t *out);

#endif
