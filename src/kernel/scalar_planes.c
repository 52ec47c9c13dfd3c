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

/* The sum over the eight dimensions that start in one byte of each section. */
static inline int32_t
dot_byte(unsigned a, unsigned b, unsigned c, const int8_t *query)
{
	const int8_t *q = query;
	int32_t sum = 0;

	sum += (int32_t) (a & 7) * q[0 * VX_REST_BLOCK];
	sum += (int32_t) (a >> 3 & 7) * q[1 * VX_REST_BLOCK];
	sum += (int32_t) (b & 7) * q[2 * VX_REST_BLOCK];
	sum += (int32_t) (b >> 3 & 7) * q[3 * VX_REST_BLOCK];
	sum += (int32_t) (c & 7) * q[4 * VX_REST_BLOCK];
	sum += (int32_t) (c >> 3 & 7) * q[5 * VX_REST_BLOCK];
	sum += (int32_t) (a >> 6 | (c >> 4 & 4)) * q[6 * VX_REST_BLOCK];
	sum += (int32_t) (b >> 6 | (c >> 5 & 4)) * q[7 * VX_REST_BLOCK];
	return sum;
}

static int32_t
dot_row(const uint8_t *row, int dim, const int8_t *query)
{
	int bytes = (dim + 7) / 8;
	int blocks = vx_rest_blocks(dim);
	int32_t sum = 0;

	for (int b = 0; b < blocks; b++)
	{
		int at = vx_rest_at(dim, b);

		for (int k = 0; k < VX_REST_BLOCK && at + k < bytes; k++)
			sum += dot_byte(row[at + k], row[bytes + at + k],
							row[2 * bytes + at + k], query + k);
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
