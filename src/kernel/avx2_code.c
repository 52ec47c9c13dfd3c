/*
 * avx2_code.c
 *		Dot products of codes with a query, and the bounds made of them.
 *
 * Contracts are in kernel.h, the definition is scalar.c.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

/* --- code dot products ------------------------------------------------ */

/*
 * How far ahead of the four rows in work the codes are prefetched: the rows
 * are read side by side, which the hardware takes for unrelated streams.
 * Two to three times as fast from L3; a prefetch past the codes reads nothing.
 */
#define AHEAD_BYTES 2048

/*
 * The query against codes of two nibbles a byte.  The bytes of a row are taken
 * in blocks of 32; the last block is the last 32 bytes of the row, with the
 * query zeroed where an earlier block has counted the byte.  A row shorter
 * than a block (dim < 64) is one block read past its end, where the query is
 * zero; the last rows of the codes go through a buffer instead.
 */
typedef struct Query4
{
	const int8_t *low;	/* for the low nibbles */
	const int8_t *high; /* for the high nibbles */
	int stride;
	int whole; /* bytes in whole blocks */
	int last;  /* where the last block starts, -1 for none */
	__m256i last_low;
	__m256i last_high;
} Query4;

static AVX2 void
prepare_query4(Query4 *q, const int8_t *query, int dim)
{
	int8_t low[32] = {0};
	int8_t high[32] = {0};
	int stride = (dim + 1) / 2;
	int tail = stride % 32;

	q->low = query;
	q->high = query + stride;
	q->stride = stride;
	q->whole = stride - tail;
	q->last = -1;
	if (tail > 0)
	{
		int at = stride < 32 ? 0 : 32 - tail;

		memcpy(low + at, q->low + q->whole, (size_t) tail);
		memcpy(high + at, q->high + q->whole, (size_t) tail);
		q->last = q->whole - at;
	}
	q->last_low = _mm256_loadu_si256((const __m256i *) low);
	q->last_high = _mm256_loadu_si256((const __m256i *) high);
}

/* A pair sum is at most 2 * 15 * 128; a lane holds eight of them. */
INLINE AVX2 __m256i
add_block4(__m256i sum, __m256i code, __m256i low, __m256i high)
{
	__m256i mask = _mm256_set1_epi8(15);
	__m256i a = _mm256_and_si256(code, mask);
	__m256i b = _mm256_and_si256(_mm256_srli_epi16(code, 4), mask);

	sum = _mm256_add_epi16(sum, _mm256_maddubs_epi16(a, low));
	return _mm256_add_epi16(sum, _mm256_maddubs_epi16(b, high));
}

INLINE AVX2 __m256i
widen_add(__m256i total, __m256i sum)
{
	return _mm256_add_epi32(total,
							_mm256_madd_epi16(sum, _mm256_set1_epi16(1)));
}

INLINE AVX2 void
store_sums_4(__m256i a, __m256i b, __m256i c, __m256i d, int32_t *out)
{
	__m256i s =
		_mm256_hadd_epi32(_mm256_hadd_epi32(a, b), _mm256_hadd_epi32(c, d));

	_mm_storeu_si128((__m128i *) out,
					 _mm_add_epi32(_mm256_castsi256_si128(s),
								   _mm256_extracti128_si256(s, 1)));
}

INLINE AVX2 int32_t
sum_epi32(__m256i a)
{
	__m128i s = _mm_add_epi32(_mm256_castsi256_si128(a),
							  _mm256_extracti128_si256(a, 1));

	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0x4e));
	s = _mm_add_epi32(s, _mm_shuffle_epi32(s, 0xb1));
	return _mm_cvtsi128_si32(s);
}

/*
 * Four rows share the loads of the query.  Each step asks for as many bytes at
 * ahead as it reads.
 */
INLINE AVX2 void
dot4_rows(const Query4 *q, const uint8_t *code, int32_t *out,
		  const uint8_t *ahead)
{
	const uint8_t *code1 = code + q->stride;
	const uint8_t *code2 = code1 + q->stride;
	const uint8_t *code3 = code2 + q->stride;
	__m256i zero = _mm256_setzero_si256();
	__m256i t0 = zero;
	__m256i t1 = zero;
	__m256i t2 = zero;
	__m256i t3 = zero;
	int j = 0;

	while (j < q->whole)
	{
		int stop = q->whole - j > 128 ? j + 128 : q->whole;
		__m256i s0 = zero;
		__m256i s1 = zero;
		__m256i s2 = zero;
		__m256i s3 = zero;

		for (; j < stop; j += 32)
		{
			__m256i low = load_32(q->low + j);
			__m256i high = load_32(q->high + j);

			_mm_prefetch((const char *) ahead + 4 * j, _MM_HINT_T0);
			_mm_prefetch((const char *) ahead + 4 * j + 64, _MM_HINT_T0);
			s0 = add_block4(s0, load_32(code + j), low, high);
			s1 = add_block4(s1, load_32(code1 + j), low, high);
			s2 = add_block4(s2, load_32(code2 + j), low, high);
			s3 = add_block4(s3, load_32(code3 + j), low, high);
		}
		t0 = widen_add(t0, s0);
		t1 = widen_add(t1, s1);
		t2 = widen_add(t2, s2);
		t3 = widen_add(t3, s3);
	}
	if (q->last >= 0)
	{
		__m256i low = q->last_low;
		__m256i high = q->last_high;

		j = q->last;
		t0 = widen_add(t0, add_block4(zero, load_32(code + j), low, high));
		t1 = widen_add(t1, add_block4(zero, load_32(code1 + j), low, high));
		t2 = widen_add(t2, add_block4(zero, load_32(code2 + j), low, high));
		t3 = widen_add(t3, add_block4(zero, load_32(code3 + j), low, high));
	}
	store_sums_4(t0, t1, t2, t3, out);
}

/* One row whose last block may be read. */
INLINE AVX2 int32_t
dot4_row(const Query4 *q, const uint8_t *code)
{
	__m256i zero = _mm256_setzero_si256();
	__m256i total = zero;

	for (int j = 0; j < q->whole; j += 32)
	{
		__m256i sum = add_block4(zero, load_32(code + j), load_32(q->low + j),
								 load_32(q->high + j));

		total = widen_add(total, sum);
	}
	if (q->last >= 0)
	{
		__m256i sum = add_block4(zero, load_32(code + q->last), q->last_low,
								 q->last_high);

		total = widen_add(total, sum);
	}
	return sum_epi32(total);
}

AVX2 void
vx_avx2_dot_u4_ahead(const uint8_t *codes, int rows, int dim,
					 const int8_t *query, int32_t *out, const uint8_t *ahead)
{
	Query4 q;
	size_t stride = (size_t) ((dim + 1) / 2);
	int whole_rows = rows; /* rows whose blocks end inside the codes */
	int i = 0;

	prepare_query4(&q, query, dim);
	if (stride < 32)
	{
		size_t bytes = (size_t) rows * stride;

		whole_rows = bytes < 32 ? 0 : (int) ((bytes - 32) / stride) + 1;
	}
	for (; i + 4 <= whole_rows; i += 4)
		dot4_rows(&q, codes + (size_t) i * stride, out + i,
				  ahead + (size_t) i * stride);
	for (; i < whole_rows; i++)
		out[i] = dot4_row(&q, codes + (size_t) i * stride);
	for (; i < rows; i++)
	{
		uint8_t row[32] = {0};

		memcpy(row, codes + (size_t) i * stride, stride);
		out[i] = dot4_row(&q, row);
	}
}

AVX2 void
vx_avx2_dot_u4(const uint8_t *codes, int rows, int dim, const int8_t *query,
			   int32_t *out)
{
	vx_avx2_dot_u4_ahead(codes, rows, dim, query, out, codes + AHEAD_BYTES);
}

INLINE AVX2 __m256i
load_u8(const uint8_t *p)
{
	return _mm256_cvtepu8_epi16(_mm_loadu_si128((const __m128i *) p));
}

INLINE AVX2 __m256i
load_s8(const int8_t *p)
{
	return _mm256_cvtepi8_epi16(_mm_loadu_si128((const __m128i *) p));
}

INLINE AVX2 __m256i
add_block8(__m256i sum, const uint8_t *code, __m256i query)
{
	return _mm256_add_epi32(sum, _mm256_madd_epi16(load_u8(code), query));
}

/* Four rows; last is the query of the last 16 bytes of a row. */
INLINE AVX2 void
dot8_rows(const uint8_t *code, int dim, const int8_t *query, __m256i last,
		  int32_t *out)
{
	const uint8_t *code1 = code + dim;
	const uint8_t *code2 = code1 + dim;
	const uint8_t *code3 = code2 + dim;
	__m256i s0 = _mm256_setzero_si256();
	__m256i s1 = s0;
	__m256i s2 = s0;
	__m256i s3 = s0;
	int j;

	for (j = 0; j + 16 <= dim; j += 16)
	{
		__m256i q = load_s8(query + j);

		_mm_prefetch((const char *) code + 4 * j + AHEAD_BYTES, _MM_HINT_T0);
		s0 = add_block8(s0, code + j, q);
		s1 = add_block8(s1, code1 + j, q);
		s2 = add_block8(s2, code2 + j, q);
		s3 = add_block8(s3, code3 + j, q);
	}
	if (j < dim)
	{
		j = dim - 16;
		s0 = add_block8(s0, code + j, last);
		s1 = add_block8(s1, code1 + j, last);
		s2 = add_block8(s2, code2 + j, last);
		s3 = add_block8(s3, code3 + j, last);
	}
	store_sums_4(s0, s1, s2, s3, out);
}

AVX2 void
vx_avx2_dot_u8(const uint8_t *codes, int rows, int dim, const int8_t *query,
			   int32_t *out)
{
	int tail = dim % 16;
	int8_t last[16] = {0};
	__m256i last_query;
	int i = 0;

	if (dim < 16)
	{
		vx_scalar_dot_u8(codes, rows, dim, query, out);
		return;
	}
	memcpy(last + 16 - tail, query + dim - tail, (size_t) tail);
	last_query = load_s8(last);
	for (; i + 4 <= rows; i += 4)
		dot8_rows(codes + (size_t) i * (size_t) dim, dim, query, last_query,
				  out + i);
	for (; i < rows; i++)
	{
		const uint8_t *code = codes + (size_t) i * (size_t) dim;
		__m256i sum = _mm256_setzero_si256();

		for (int j = 0; j + 16 <= dim; j += 16)
			sum = add_block8(sum, code + j, load_s8(query + j));
		if (tail > 0)
			sum = add_block8(sum, code + dim - 16, last_query);
		out[i] = sum_epi32(sum);
	}
}

/* --- estimates and bounds --------------------------------------------- */

INLINE AVX2_EXACT __m256
load_half(const uint16_t *p)
{
	return _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *) p));
}

/* The operations of vx_scalar_bound() in the same order. */
AVX2_EXACT void
vx_avx2_bound(const VxListQuery *q, const VxFactors *factors,
			  const int32_t *dots, int rows, float *est, float *low)
{
	__m256 most = _mm256_set1_ps(FLT_MAX);
	__m256 eps_b = _mm256_set1_ps(q->eps * q->b);
	int i = 0;

	for (; i + 8 <= rows; i += 8)
	{
		__m256 n = _mm256_loadu_ps(factors->n + i);
		__m256 en = load_half(factors->en + i);
		__m256 s = _mm256_mul_ps(load_half(factors->sn + i), n);
		__m256 dot = _mm256_cvtepi32_ps(load_32(dots + i));
		__m256 ip =
			_mm256_mul_ps(_mm256_set1_ps(q->step),
						  _mm256_sub_ps(dot, _mm256_set1_ps(q->offset)));
		__m256 value =
			_mm256_add_ps(_mm256_set1_ps(q->base),
						  _mm256_mul_ps(_mm256_set1_ps(q->a),
										_mm256_loadu_ps(factors->f + i)));
		__m256 width = _mm256_sqrt_ps(_mm256_add_ps(
			_mm256_mul_ps(_mm256_set1_ps(q->h2), _mm256_mul_ps(en, en)),
			_mm256_set1_ps(q->noise2)));
		__m256 err =
			_mm256_add_ps(_mm256_mul_ps(_mm256_mul_ps(eps_b, n), width),
						  _mm256_set1_ps(q->floor0));
		__m256 floor_n = _mm256_mul_ps(_mm256_set1_ps(q->floor1), n);
		__m256 floor_n2 =
			_mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(q->floor2), n), n);
		__m256 tight;

		value = _mm256_sub_ps(
			value, _mm256_mul_ps(_mm256_mul_ps(_mm256_set1_ps(q->b), s), ip));
		err = _mm256_add_ps(err, _mm256_add_ps(floor_n, floor_n2));

		/* NaN is not tight. */
		tight = _mm256_and_ps(_mm256_cmp_ps(err, most, _CMP_LT_OQ),
							  _mm256_cmp_ps(value, most, _CMP_LT_OQ));
		value = _mm256_blendv_ps(most, value, tight);
		_mm256_storeu_ps(est + i, value);
		_mm256_storeu_ps(low + i,
						 _mm256_blendv_ps(_mm256_set1_ps(-INFINITY),
										  _mm256_sub_ps(value, err), tight));
	}
	if (i < rows)
	{
		VxFactors rest = {factors->f + i, factors->n + i, factors->sn + i,
						  factors->en + i};

		vx_scalar_bound(q, &rest, dots + i, rows - i, est + i, low + i);
	}
}

#endif
