/*
 * rotate.c
 *		The random rotation, the signs behind it, and unit length.
 *
 * Every float operation is in a fixed order (the bit-equal kernels), so a
 * rotated vector does not depend on compiler, CPU or SIMD level: codes on disk
 * and ann_check rely on it.
 */
#include <math.h>
#include <string.h>

#include "quant/quant.h"
#include "quant/random.h"

#define ROUNDS 4

static int
largest_power_of_two(int dim)
{
	int n = 1;

	while (2 * n <= dim)
		n *= 2;
	return n;
}

size_t
vx_rotation_bytes(int dim)
{
	return (size_t) ROUNDS * (size_t) ((dim + 7) / 8);
}

void
vx_rotation_init(VxRotation *rotation, int dim, uint64_t seed, uint8_t *signs)
{
	size_t bytes = vx_rotation_bytes(dim);
	uint64_t word = 0;

	for (size_t i = 0; i < bytes; i++)
	{
		if (i % 8 == 0)
			word = vx_random_next(&seed);
		signs[i] = (uint8_t) (word >> (8 * (i % 8)));
	}
	rotation->dim = dim;
	rotation->signs = signs;
}

void
vx_rotate(const VxRotation *rotation, float *x)
{
	const VxKernels *kernels = vx_kernels;
	int dim = rotation->dim;
	int n = largest_power_of_two(dim);
	float scale = (float) (1.0 / sqrt((double) n));

	if (dim == 1)
		return;
	for (int round = 0; round < ROUNDS; round++)
	{
		kernels->flip_signs(x, rotation->signs + round * ((dim + 7) / 8), dim);
		kernels->hadamard(round % 2 == 0 ? x : x + (dim - n), n, scale);
		/*
		 * Once both transforms have been over every coordinate, the halves
		 * mix.  A butterfly after every round would keep a part of a
		 * coordinate that only one transform covers out of each transform: up
		 * to a quarter of a unit vector would stay in one coordinate, and
		 * clip there.
		 */
		if (n < dim && round == 1)
			kernels->butterfly(x, dim / 2, dim - dim / 2,
							   0.70710678118654752440f);
	}
}

void
vx_rotate_difference(const VxRotation *rotation, const float *x, const float *y,
					 float *out)
{
	vx_kernels->scaled_difference(x, y, 1.0, rotation->dim, out);
	vx_rotate(rotation, out);
}

bool
vx_normalize(float *x, int dim)
{
	double norm = sqrt(vx_kernels->norm2(x, NULL, dim));

	if (!(norm > 0.0))
		return false;
	vx_kernels->scaled_difference(x, NULL, 1.0 / norm, dim, x);
	return true;
}
