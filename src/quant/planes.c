/*
 * planes.c
 *		Codes of 4 bits in two planes, the signs and the rest, and scoring them in
 *		two stages.
 *
 * The order of bits is in kernel.h.
 */
#include <math.h>
#include <string.h>

#include "quant/quant.h"

/* --- codes ------------------------------------------------------------ */

/* Byte of a unit and shift where a slot's nibble is. */
static inline int
nibble_byte(int slot)
{
	return slot % VX_SIGN_UNIT_BYTES;
}

static inline int
nibble_shift(int slot)
{
	return slot < VX_SIGN_UNIT_BYTES ? 0 : 4;
}

void
vx_sign_put(const uint8_t *levels, int dim, int slot, int first, int count,
			uint8_t *units)
{
	uint8_t *at = units + nibble_byte(slot);
	int shift = nibble_shift(slot);
	int keep = 0xf0 >> shift;

	for (int i = 4 * first; i < 4 * (first + count); i += 4)
	{
		int signs = 0;

		for (int b = 0; b < 4 && i + b < dim; b++)
			signs |= levels[i + b] >> 3 << b;
		*at = (uint8_t) ((*at & keep) | signs << shift);
		at += VX_SIGN_UNIT_BYTES;
	}
}

void
vx_sign_get(const uint8_t *units, int dim, int slot, int first, int count,
			uint8_t *levels)
{
	const uint8_t *at = units + nibble_byte(slot);
	int shift = nibble_shift(slot);

	for (int i = 4 * first; i < 4 * (first + count); i += 4)
	{
		int signs = *at >> shift;

		for (int b = 0; b < 4 && i + b < dim; b++)
			levels[i + b] =
				(uint8_t) ((levels[i + b] & 7) | (signs >> b & 1) << 3);
		at += VX_SIGN_UNIT_BYTES;
	}
}

/* The lower three bits of a level, 0 beyond dim. */
static inline unsigned
rest_of(const uint8_t *levels, int dim, int i)
{
	return i < dim ? levels[i] & 7u : 0;
}

void
vx_rest_put(const uint8_t *levels, int dim, uint8_t *row)
{
	int w = (dim + 7) / 8;

	for (int k = 0; k < w; k++)
	{
		unsigned six = rest_of(levels, dim, 6 * w + k);
		unsigned seven = rest_of(levels, dim, 7 * w + k);

		row[k] = (uint8_t) (rest_of(levels, dim, k) |
							rest_of(levels, dim, w + k) << 3 | (six & 3) << 6);
		row[w + k] =
			(uint8_t) (rest_of(levels, dim, 2 * w + k) |
					   rest_of(levels, dim, 3 * w + k) << 3 | (seven & 3) << 6);
		row[2 * w + k] = (uint8_t) (rest_of(levels, dim, 4 * w + k) |
									rest_of(levels, dim, 5 * w + k) << 3 |
									six >> 2 << 6 | seven >> 2 << 7);
	}
}

void
vx_rest_get(const uint8_t *row, int dim, uint8_t *levels)
{
	int w = (dim + 7) / 8;

	for (int k = 0; k < w; k++)
	{
		unsigned a = row[k];
		unsigned b = row[w + k];
		unsigned c = row[2 * w + k];
		unsigned rest[8] = {a & 7,
							a >> 3 & 7,
							b & 7,
							b >> 3 & 7,
							c & 7,
							c >> 3 & 7,
							a >> 6 | (c >> 4 & 4),
							b >> 6 | (c >> 5 & 4)};

		for (int f = 0; f < 8 && f * w + k < dim; f++)
			levels[f * w + k] = (uint8_t) ((levels[f * w + k] & 8) | rest[f]);
	}
}

/* --- query ------------------------------------------------------------ */

size_t
vx_plane_query_bytes(int dim)
{
	return (size_t) vx_sign_units(dim) * 16 +
		   (size_t) vx_rest_blocks(dim) * 8 * VX_REST_BLOCK;
}

/*
 * lut[m] = sum of the values whose bit is set in m, less that of the negative
 * ones: 0 .. 255, because vx_query_init keeps the magnitudes of a unit within
 * 255.  Bytes add modulo 256 without harm.
 */
static int32_t
fill_unit(const int8_t *q8, uint8_t *lut)
{
	static const uint8_t bit[4][16] = {
		{0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255, 0, 255},
		{0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255, 0, 0, 255, 255},
		{0, 0, 0, 0, 255, 255, 255, 255, 0, 0, 0, 0, 255, 255, 255, 255},
		{0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 255, 255, 255, 255, 255, 255}};
	int32_t negative = 0;

	for (int b = 0; b < 4; b++)
		negative += q8[b] < 0 ? q8[b] : 0;
	for (int m = 0; m < 16; m++)
		lut[m] = (uint8_t) (((uint8_t) q8[0] & bit[0][m]) +
							((uint8_t) q8[1] & bit[1][m]) +
							((uint8_t) q8[2] & bit[2][m]) +
							((uint8_t) q8[3] & bit[3][m]) - (uint8_t) negative);
	return negative;
}

static void
fill_rest(const int8_t *q8, int dim, int8_t *rest)
{
	int w = (dim + 7) / 8;
	int blocks = vx_rest_blocks(dim);

	memset(rest, 0, (size_t) blocks * 8 * VX_REST_BLOCK);
	for (int b = 0; b < blocks; b++)
	{
		int at = vx_rest_at(dim, b);
		int from = b * VX_REST_BLOCK; /* bytes before are in earlier blocks */
		int to = at + VX_REST_BLOCK < w ? at + VX_REST_BLOCK : w;

		for (int f = 0; f < 8; f++)
			memcpy(rest + f * VX_REST_BLOCK + from - at, q8 + f * w + from,
				   (size_t) (to - from));
		rest += 8 * VX_REST_BLOCK;
	}
}

/* q8 has zeros behind dim, for the last unit and the last field. */
void
vx_plane_query_init(VxPlaneQuery *planes, const VxQuery *query, int dim,
					uint8_t *tables)
{
	int units = vx_sign_units(dim);
	int8_t *rest = (int8_t *) (tables + (size_t) units * 16);

	planes->dim = dim;
	planes->bias = 0;
	for (int k = 0; k < units; k++)
		planes->bias += fill_unit(query->q8 + 4 * k, tables + 16 * k);
	fill_rest(query->q8, dim, rest);
	planes->lut = tables;
	planes->rest = rest;
}

/*
 * |s y|^2 = n^2 + (dim - 1) e^2 meets the rounding of the query.  For a whole
 * code it is close to n^2; for signs the second term is added to h2.
 */
void
vx_query_signs(const VxQuery *query, const VxQuantizer *quantizer,
			   const VxListQuery *whole, float eps, VxListQuery *out)
{
	*out = *whole;
	out->offset = 0.5f * (float) query->sum8;
	out->h2 += whole->noise2 * (float) (quantizer->dim - 1);
	out->eps = eps;
}

void
vx_sign_sums(const VxPlaneQuery *planes, const uint8_t *units, int first,
			 int count, const uint8_t *ahead, int32_t *sums)
{
	int of_block = vx_sign_units(planes->dim);
	int unit = first % of_block;

	/* What is being read anyway, so that no address is computed from NULL. */
	if (ahead == NULL)
		ahead = units;
	sums += first / of_block * VX_PLANE_SLOTS;
	while (count > 0)
	{
		int run = of_block - unit < count ? of_block - unit : count;

		if (unit == 0)
			for (int s = 0; s < VX_PLANE_SLOTS; s++)
				sums[s] = planes->bias;
		vx_kernels->sign_sums(units, run, planes->lut + 16 * unit, ahead, sums);
		units += run * VX_SIGN_UNIT_BYTES;
		ahead += run * VX_SIGN_UNIT_BYTES;
		sums += VX_PLANE_SLOTS;
		count -= run;
		unit = 0;
	}
}

void
vx_sign_score(const VxListQuery *list, const VxFactors *factors,
			  const int32_t *sums, int rows, float *est, float *low)
{
	rows = (rows + VX_SCORE_ALIGN - 1) / VX_SCORE_ALIGN * VX_SCORE_ALIGN;
	vx_kernels->bound(list, factors, sums, rows, est, low);
}

void
vx_refine(const VxPlaneQuery *planes, const VxListQuery *list,
		  const uint8_t *rows, const uint16_t *index, int count,
		  const VxFactors *factors, int32_t *sums, float *est, float *low)
{
	vx_kernels->rest_dots(rows, index, count, planes->dim, planes->rest, sums);
	for (; count % VX_SCORE_ALIGN != 0; count++)
		sums[count] = 0;
	vx_kernels->bound(list, factors, sums, count, est, low);
}

void
vx_refine_ahead(int dim, const uint8_t *rows, const uint16_t *index, int count)
{
	size_t bytes = (size_t) vx_rest_bytes(dim);

	for (int i = 0; i < count; i++)
	{
		const uint8_t *row = rows + index[i] * bytes;

		for (size_t at = 0; at < bytes; at += 64)
			__builtin_prefetch(row + at);
	}
}
