/*
 * base.h
 *		Limits and small helpers that every layer shares.
 *
 * Free of PostgreSQL: the kernel and quant layers compile alone under
 * sanitizers and fuzzers.
 */
#ifndef VX_KERNEL_BASE_H
#define VX_KERNEL_BASE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Dimensions a stored vector may have. */
#define VX_DIM_MAX 16000

/* Bits per dimension of a code. */
#define VX_BITS_DEFAULT 4

/*
 * Metrics of the index.  The values are stored in the metapage: never renumber.
 */
typedef enum VxMetric
{
	VX_METRIC_L2 = 1,	  /* squared Euclidean distance inside the index */
	VX_METRIC_IP = 2,	  /* negative inner product */
	VX_METRIC_COSINE = 3, /* L2 on vectors of unit length */
} VxMetric;

/* Bytes of a code of dim dimensions at bits (4 or 8) bits each. */
static inline int
vx_code_bytes(int dim, int bits)
{
	return bits == 8 ? dim : (dim + 1) / 2;
}

/*
 * A code of 4 bits may be stored in two planes: the top bits of all levels are
 * the signs of the residual, the other three are the rest (kernel.h, sign_sums
 * and rest_dots, has the order of the bits).
 */

/* Slots of one block of the sign plane. */
#define VX_PLANE_SLOTS 32

/* A unit: four dimensions of the slots of a block. */
#define VX_SIGN_UNIT_BYTES 16

/* Units of a block. */
static inline int
vx_sign_units(int dim)
{
	return (dim + 3) / 4;
}

/* Bytes of one row of the rest plane: three sections of one byte for eight. */
static inline int
vx_rest_bytes(int dim)
{
	return 3 * ((dim + 7) / 8);
}

#endif
