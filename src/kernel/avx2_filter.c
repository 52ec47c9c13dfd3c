/*
 * avx2_filter.c
 *		Tests of stored values, 64 slots at a time.
 *
 * Contracts are in kernel.h, the definition is scalar_filter.c.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

/* Lanes that are not in the range have all bits set. */
#define OUTSIDE(width)                                                         \
	INLINE AVX2 __m256i outside_##width(const void *at, __m256i low,           \
										__m256i high)                          \
	{                                                                          \
		__m256i x = load_32(at);                                               \
                                                                               \
		return _mm256_or_si256(_mm256_cmpgt_epi##width(low, x),                \
							   _mm256_cmpgt_epi##width(x, high));              \
	}

OUTSIDE(8)
OUTSIDE(16)
OUTSIDE(32)
OUTSIDE(64)

INLINE AVX2 uint64_t
word_8(const uint8_t *at, int64_t low, int64_t high)
{
	__m256i l = _mm256_set1_epi8((char) low);
	__m256i h = _mm256_set1_epi8((char) high);
	uint32_t a = (uint32_t) _mm256_movemask_epi8(outside_8(at, l, h));
	uint32_t b = (uint32_t) _mm256_movemask_epi8(outside_8(at + 32, l, h));

	return ~(a | (uint64_t) b << 32);
}

INLINE AVX2 uint64_t
word_16(const uint8_t *at, int64_t low, int64_t high)
{
	__m256i l = _mm256_set1_epi16((short) low);
	__m256i h = _mm256_set1_epi16((short) high);
	uint64_t word = 0;

	for (int i = 0; i < 2; i++)
	{
		__m256i a = outside_16(at + 64 * i, l, h);
		__m256i b = outside_16(at + 64 * i + 32, l, h);
		/* Packing works within lanes: the middle quarters change places. */
		__m256i packed =
			_mm256_permute4x64_epi64(_mm256_packs_epi16(a, b), 0xD8);

		word |= (uint64_t) (uint32_t) _mm256_movemask_epi8(packed) << 32 * i;
	}
	return ~word;
}

INLINE AVX2 uint64_t
word_32(const uint8_t *at, int64_t low, int64_t high)
{
	__m256i l = _mm256_set1_epi32((int) low);
	__m256i h = _mm256_set1_epi32((int) high);
	uint64_t word = 0;

	for (int i = 0; i < 8; i++)
	{
		__m256 out = _mm256_castsi256_ps(outside_32(at + 32 * i, l, h));

		word |= (uint64_t) (unsigned) _mm256_movemask_ps(out) << 8 * i;
	}
	return ~word;
}

INLINE AVX2 uint64_t
word_64(const uint8_t *at, int64_t low, int64_t high)
{
	__m256i l = _mm256_set1_epi64x(low);
	__m256i h = _mm256_set1_epi64x(high);
	uint64_t word = 0;

	for (int i = 0; i < 16; i++)
	{
		__m256d out = _mm256_castsi256_pd(outside_64(at + 32 * i, l, h));

		word |= (uint64_t) (unsigned) _mm256_movemask_pd(out) << 4 * i;
	}
	return ~word;
}

/* 64 values, as bits. */
INLINE AVX2 uint64_t
word(const uint8_t *at, int width, int64_t low, int64_t high)
{
	switch (width)
	{
		case 1:
			return word_8(at, low, high);
		case 2:
			return word_16(at, low, high);
		case 4:
			return word_32(at, low, high);
		default:
			return word_64(at, low, high);
	}
}

AVX2 void
vx_avx2_in_range(const void *values, int width, int count, int64_t low,
				 int64_t high, uint64_t *bits)
{
	const uint8_t *at = values;
	uint8_t rest[64 * 8];
	int words = count / 64;
	int left = count % 64;

	for (int w = 0; w < words; w++)
	{
		bits[w] |= word(at, width, low, high);
		at += 64 * width;
	}
	if (left > 0)
	{
		memcpy(rest, at, (size_t) left * (size_t) width);
		bits[words] |=
			word(rest, width, low, high) & ((UINT64_C(1) << left) - 1);
	}
}

#endif
