/*
 * blas.h
 *		One product of the matrix library, for the k-means.
 */
#ifndef VX_QUANT_BLAS_H
#define VX_QUANT_BLAS_H

#include "kernel/base.h"

/*
 * out[i * lists + j] = <x_i, c_j>, all row-major.  False, and nothing done,
 * unless vx_blas_open (quant.h) succeeded.
 */
extern bool vx_blas_product(const float *x, int rows, const float *centroids,
							int lists, int dim, float *out);

extern const char *vx_blas_open(void);

#endif
