/*
 * scalar_planes.c
 *		Sums over a code's two planes in plain C: the definition.
 *
 * Contracts are in kernel.h.
 */
#include "kernel/levels.h"

void
vx_scalar_sign_sums(const uint8_t *units, int count, const uint8_t *lut,
					const uint8_t *ahead, int32_t *sums)
{
	(void) ahead;
	for (int k = 0; k < count; k++)
	{
		for (int s = 0; s < VX_SIGN_UNIT_BYTES; s++)
		{
			sums[s] += lut[units[s] & 15];
			sums[s + VX_SIGN_UNIT_BYTES] += lut[units[s] >> 4];
		}
		units += VX_SIGN_UNIT_BYTES;
		lut += 16;
	}
}

/*
 * The eight dimensions of each of count bytes of the sections.  Four sums, so
 * that the compiler finds independent work.
 */
static int32_t
dot_block(const uint8_t *a, const uint8_t *b, const uint8_t *c,
		  const int8_t *query, int count)
{
	int32_t sum[4] = {0};

	for (int k = 0; k < count; k++)
	{
		const int8_t *q = query + k;

		sum[0] += (a[k] & 7) * q[0 * VX_REST_BLOCK] +
				  (a[k] >> 3 & 7) * q[1 * VX_REST_BLOCK];
		sum[1] += (b[k] & 7) * q[2 * VX_REST_BLOCK] +
				  (b[k] >> 3 & 7) * q[3 * VX_REST_BLOCK];
		sum[2] += (c[k] & 7) * q[4 * VX_REST_BLOCK] +
				  (c[k] >> 3 & 7) * q[5 * VX_REST_BLOCK];
		sum[3] += (a[k] >> 6 | (c[k] >> 4 & 4)) * q[6 * VX_REST_BLOCK] +
				  (b[k] >> 6 | (c[k] >> 5 & 4)) * q[7 * VX_REST_BLOCK];
	}
	return (sum[0] + sum[1]) + (sum[2] + sum[3]);
}

static int32_t
dot_row(const uint8_t *row, int dim, const int8_t *query)
{
	int bytes = (dim + 7) / 8;
	int blocks = vx_rest_blocks(dim);
	int32_t sum = 0;

	for (int b = 0; b < blocks; b++)
	{
		const uint8_t *at = row + vx_rest_at(dim, b);

		sum += dot_block(at, at + bytes, at + 2 * bytes, query,
						 bytes < VX_REST_BLOCK ? bytes : VX_REST_BLOCK);
		query += 8 * VX_REST_BLOCK;
	}
	return sum;
}

void
vx_scalar_rest_dots(const uint8_t *rows, const uint16_t *index, int count,
					int dim, const int8_t *query, int32_t *dots)
{
	size_t bytes = (size_t) vx_rest_bytes(dim);

	for (int i = 0; i < count; i++)
		dots[i] = 8 * dots[i] + dot_row(rows + index[i] * bytes, dim, query);
}
