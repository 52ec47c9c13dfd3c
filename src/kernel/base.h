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

#endif
