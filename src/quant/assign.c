/*
 * assign.c
 *		Nearest centroids by matrix product.
 *
 * The matrix product decides only what its rounding cannot change; the rest is
 * measured in double, so the answer depends neither on the library nor on how
 * rows are cut into blocks.
 */
#include <math.h>

#include "quant/blas.h"
#include "quant/quant.h"

/* Rows that are not worth a matrix product. */
#define ROWS_DIRECT 3

/* Floats of distances that a block of rows may fill. */
#define BLOCK_FLOATS (1 << 20)
#define BLOCK_ROWS_MIN 64
#define BLOCK_ROWS_MAX 1024

int
vx_assign_block(int lists)
{
	int rows = BLOCK_FLOATS / (lists > 0 ? lists : 1);

	if (rows < BLOCK_ROWS_MIN)
		return BLOCK_ROWS_MIN;
	return rows < BLOCK_ROWS_MAX ? rows : BLOCK_ROWS_MAX;
}

void
vx_norms2(const float *x, int rows, int dim, float *norm2)
{
	for (int i = 0; i < rows; i++)
		norm2[i] =
			(float) vx_kernels->norm2(x + (size_t) i * (size_t) dim, NULL, dim);
}

/* The nearest of the lists whose key is not above limit, measured exactly. */
static int32_t
measure_below(const float *x, int dim, const float *centroids,
			  const float *norm2, const float *dots, int lists, double limit)
{
	double best = INFINITY;
	int32_t list = 0;

	for (int j = 0; j < lists; j++)
	{
		double distance2;

		/* Not a number counts as near. */
		if (dots != NULL && (double) (norm2[j] - 2.0f * dots[j]) > limit)
			continue;
		distance2 =
			vx_kernels->norm2(x, centroids + (size_t) j * (size_t) dim, dim);
		if (distance2 < best)
		{
			best = distance2;
			list = j;
		}
	}
	return list;
}

static float
largest_of(const float *x, int count)
{
	float largest = 0.0f;

	for (int i = 0; i < count; i++)
		largest = x[i] > largest ? x[i] : largest;
	return largest;
}

void
vx_assign(const float *x, int rows, int dim, const float *centroids,
		  const float *norm2, int lists, float *scratch, int32_t *list)
{
	const VxKernels *kernels = vx_kernels;
	double largest = (double) largest_of(norm2, lists);
	/* Rounding of a product of dim terms, with a margin of about four. */
	double rounding = 0x1p-22 * (4.0 + sqrt((double) dim) / 4.0);

	bool product = rows > ROWS_DIRECT && lists > 1 &&
				   vx_blas_product(x, rows, centroids, lists, dim, scratch);

	for (int i = 0; i < rows; i++)
	{
		const float *row = x + (size_t) i * (size_t) dim;
		const float *dots = scratch + (size_t) i * (size_t) lists;

		if (lists == 1)
			list[i] = 0;
		else if (!product)
			list[i] = measure_below(row, dim, centroids, norm2, NULL, lists,
									INFINITY);
		else
		{
			float smallest, second;
			double limit =
				rounding * (kernels->inner_product(row, row, dim) + largest);

			list[i] = kernels->nearest(dots, norm2, lists, &smallest, &second);
			limit += (double) smallest;
			if (!((double) second > limit))
				list[i] = measure_below(row, dim, centroids, norm2, dots, lists,
										limit);
		}
	}
}
