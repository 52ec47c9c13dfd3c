/*
 * avx2_planes.c
 *		Sums over a code's two planes.
 *
 * Contracts are in kernel.h, the definition is scalar_planes.c.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

/* --- signs ------------------------------------------------------------ */

/* Pairs of units whose table entries, 255 at most, a lane of 16 bits holds. */
#define PAIRS_MAX 256

/*
 * Sums of 16 slots, from even units in the low lane and odd units in the high
 * one.  Looked-up bytes are added as words: all gets byte 2 i of a lane plus 256
 * times byte 2 i + 1, modulo 2^16, odd the latter alone.
 */
typedef struct SlotSums
{
	__m256i all;
	__m256i odd;
} SlotSums;

INLINE AVX2 void
add_bytes(SlotSums *sums, __m256i bytes)
{
	sums->all = _mm256_add_epi16(sums->all, bytes);
	sums->odd = _mm256_add_epi16(sums->odd, _mm256_srli_epi16(bytes, 8));
}

/* Two units, or the same of one that stands in the low lanes. */
INLINE AVX2 void
add_pair(SlotSums *low, SlotSums *high, __m256i units, __m256i lut)
{
	__m256i mask = _mm256_set1_epi8(15);
	__m256i a = _mm256_and_si256(units, mask);
	__m256i b = _mm256_and_si256(_mm256_srli_epi16(units, 4), mask);

	add_bytes(low, _mm256_shuffle_epi8(lut, a));
	add_bytes(high, _mm256_shuffle_epi8(lut, b));
}

/* Adds both lanes of 8 words each to 8 sums. */
INLINE AVX2 void
add_words(__m256i words, int32_t *sums)
{
	__m256i a = _mm256_cvtepu16_epi32(_mm256_castsi256_si128(words));
	__m256i b = _mm256_cvtepu16_epi32(_mm256_extracti128_si256(words, 1));
	__m256i sum = _mm256_add_epi32(load_32(sums), _mm256_add_epi32(a, b));

	_mm256_storeu_si256((__m256i *) sums, sum);
}

INLINE AVX2 void
flush(const SlotSums *s, int32_t *sums)
{
	__m256i even = _mm256_sub_epi16(s->all, _mm256_slli_epi16(s->odd, 8));

	add_words(_mm256_unpacklo_epi16(even, s->odd), sums);
	add_words(_mm256_unpackhi_epi16(even, s->odd), sums + 8);
}

INLINE AVX2 __m256i
load_16(const uint8_t *p)
{
	return _mm256_zextsi128_si256(_mm_loadu_si128((const __m128i *) p));
}

AVX2 void
vx_avx2_sign_sums(const uint8_t *units, int count, const uint8_t *lut,
				  const uint8_t *ahead, int32_t *sums)
{
	int bytes = count * VX_SIGN_UNIT_BYTES;
	int at = 0;

	while (at < bytes)
	{
		SlotSums low = {_mm256_setzero_si256(), _mm256_setzero_si256()};
		SlotSums high = low;
		int stop = bytes - at > 32 * PAIRS_MAX ? at + 32 * PAIRS_MAX : bytes;

		for (; at + 64 <= stop; at += 64)
		{
			_mm_prefetch((const char *) ahead + at, _MM_HINT_T0);
			add_pair(&low, &high, load_32(units + at), load_32(lut + at));
			add_pair(&low, &high, load_32(units + at + 32),
					 load_32(lut + at + 32));
		}
		if (at + 32 <= stop)
		{
			_mm_prefetch((const char *) ahead + at, _MM_HINT_T0);
			add_pair(&low, &high, load_32(units + at), load_32(lut + at));
			at += 32;
		}
		if (at < stop)
		{
			add_pair(&low, &high, load_16(units + at), load_16(lut + at));
			at = stop;
		}
		flush(&low, sums);
		flush(&high, sums + 16);
	}
}

/* --- rest ------------------------------------------------------------- */

/* Products of one field; a pair sum is at most 2 * 7 * 127. */
INLINE AVX2 __m256i
field_products(__m256i field, const int8_t *query)
{
	return _mm256_maddubs_epi16(field, load_32(query));
}

INLINE AVX2 __m256i
bits_of(__m256i bytes, int shift, int mask)
{
	return _mm256_and_si256(_mm256_srli_epi16(bytes, shift),
							_mm256_set1_epi8((char) mask));
}

/* The eight fields of 32 bytes of each section: at most 14,224 a word. */
INLINE AVX2 __m256i
dot_block(__m256i a, __m256i b, __m256i c, const int8_t *query)
{
	__m256i six = _mm256_or_si256(bits_of(a, 6, 3), bits_of(c, 4, 4));
	__m256i seven = _mm256_or_si256(bits_of(b, 6, 3), bits_of(c, 5, 4));
	__m256i s0 = field_products(bits_of(a, 0, 7), query);
	__m256i s1 = field_products(bits_of(a, 3, 7), query + 32);

	s0 = _mm256_add_epi16(s0, field_products(bits_of(b, 0, 7), query + 64));
	s1 = _mm256_add_epi16(s1, field_products(bits_of(b, 3, 7), query + 96));
	s0 = _mm256_add_epi16(s0, field_products(bits_of(c, 0, 7), query + 128));
	s1 = _mm256_add_epi16(s1, field_products(bits_of(c, 3, 7), query + 160));
	s0 = _mm256_add_epi16(s0, field_products(six, query + 192));
	s1 = _mm256_add_epi16(s1, field_products(seven, query + 224));
	return _mm256_add_epi16(s0, s1);
}

/* One row whose last block may be read. */
INLINE AVX2 int32_t
dot_row(const uint8_t *row, int dim, const int8_t *query)
{
	int bytes = (dim + 7) / 8;
	int blocks = vx_rest_blocks(dim);
	__m256i total = _mm256_setzero_si256();
	__m128i sum;

	for (int b = 0; b < blocks; b++)
	{
		const uint8_t *at = row + vx_rest_at(dim, b);
		__m256i words = dot_block(load_32(at), load_32(at + bytes),
								  load_32(at + 2 * bytes), query);

		total = _mm256_add_epi32(
			total, _mm256_madd_epi16(words, _mm256_set1_epi16(1)));
		query += 8 * VX_REST_BLOCK;
	}
	sum = _mm_add_epi32(_mm256_castsi256_si128(total),
						_mm256_extracti128_si256(total, 1));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0x4e));
	sum = _mm_add_epi32(sum, _mm_shuffle_epi32(sum, 0xb1));
	return _mm_cvtsi128_si32(sum);
}

/* Rows that are on their way from memory while one is summed. */
#define ROWS_AHEAD 6

INLINE AVX2 void
ask_for(const uint8_t *row, size_t bytes)
{
	for (size_t at = 0; at < bytes; at += 64)
		_mm_prefetch((const char *) row + at, _MM_HINT_T0);
}

/* The rows are few and apart: no hardware guesses the next one. */
AVX2 void
vx_avx2_rest_dots(const uint8_t *rows, const uint16_t *index, int count,
				  int dim, const int8_t *query, int32_t *dots)
{
	size_t bytes = (size_t) vx_rest_bytes(dim);

	for (int i = 1; i < ROWS_AHEAD && i < count; i++)
		ask_for(rows + index[i] * bytes, bytes);
	for (int i = 0; i < count; i++)
	{
		const uint8_t *row = rows + index[i] * bytes;
		uint8_t copy[4 * VX_REST_BLOCK];

		if (i + ROWS_AHEAD < count)
			ask_for(rows + index[i + ROWS_AHEAD] * bytes, bytes);
		if (bytes < 3 * VX_REST_BLOCK)
		{
			memset(copy, 0, sizeof(copy));
			memcpy(copy, row, bytes);
			row = copy;
		}
		dots[i] = 8 * dots[i] + dot_row(row, dim, query);
	}
}

#endif
