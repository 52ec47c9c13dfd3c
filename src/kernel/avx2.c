/*
 * avx2.c
 *		The table of kernels for x86-64 with AVX2, FMA and F16C.
 *
 * Every function names its target itself, since PostgreSQL also builds bitcode
 * without per-file flags.  Kernels whose results are stored leave FMA out of
 * the target, so no compiler can contract a multiply and an add.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

const VxKernels vx_kernels_avx2 = {
	.name = "avx2",
	.l2_squared = vx_avx2_l2_squared,
	.inner_product = vx_avx2_inner_product,
	.l1 = vx_avx2_l1,
	.cosine = vx_avx2_cosine,
	.dot_u4 = vx_avx2_dot_u4,
	.dot_u4_ahead = vx_avx2_dot_u4_ahead,
	.dot_u8 = vx_avx2_dot_u8,
	.sign_sums = vx_avx2_sign_sums,
	.rest_dots = vx_avx2_rest_dots,
	.bound = vx_avx2_bound,
	.in_range = vx_avx2_in_range,
	.hadamard = vx_avx2_hadamard,
	.flip_signs = vx_avx2_flip_signs,
	.butterfly = vx_avx2_butterfly,
	.norm2 = vx_avx2_norm2,
	.scaled_difference = vx_avx2_scaled_difference,
	.scale_sums = vx_avx2_scale_sums,
	.quantize = vx_avx2_quantize,
	.code_sums = vx_avx2_code_sums,
	.nearest = vx_avx2_nearest,
};

#endif
