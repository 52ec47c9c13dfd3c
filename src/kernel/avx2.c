/*
 * avx2.c
 *		The kernels for x86-64 with AVX2, FMA and F16C.
 *
 * Every function names its target itself, since PostgreSQL also builds bitcode
 * without per-file flags.  Kernels whose results are stored leave FMA out of
 * the target, so no compiler can contract a multiply and an add.
 * Contracts are in kernel.h, the definition is scalar.c.
 */
#include "kernel/levels.h"

#ifdef VX_HAVE_AVX2

#include <float.h>
#include <immintrin.h>
#include <math.h>
#include <string.h>

#define AVX2 __attribute__((target("avx2,fma,f16c")))
#define AVX2_EXACT __attribute__((target("avx2,f16c")))
#define INLINE static inline __attribute__((always_inline))

INLINE AVX2_EXACT __m256i
load_32(const void *p)
{
	return _mm256_loadu_si256((const __m256i *) p);
}

INLINE AVX2_EXACT __m256d
load_4(const float *x)
{
	return _mm256_cvtps_pd(_mm_loadu_ps(x));
}

/* --- distances -------------------------------------------------------- */

INLINE AVX2 double
sum_of_4(__m256d a, __m256d b, __m256d c, __m256d d)
{
	__m256d s = _mm256_add_pd(_mm256_add_pd(a, b), _mm256_add_pd(c, d));
	__m128d h =
		_mm_add_pd(_mm256_castpd256_pd128(s), _mm256_extractf128_pd(s, 1));

	return _mm_cvtsd_f64(_mm_add_sd(h, _mm_unpackhi_pd(h, h)));
}

INLINE AVX2 __m256d
add_square(__m256d sum, const float *x, const float *y)
{
	__m256d d = _mm256_sub_pd(load_4(x), load_4(y));

	return _mm256_fmadd_pd(d, d, sum);
}

static AVX2 double
l2_squared(const float *x, const float *y, int dim)
{
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	__m256d c = a;
	__m256d d = a;
	double sum;
	int i = 0;

	for (; i + 16 <= dim; i += 16)
	{
		a = add_square(a, x + i, y + i);
		b = add_square(b, x + i + 4, y + i + 4);
		c = add_square(c, x + i + 8, y + i + 8);
		d = add_square(d, x + i + 12, y + i + 12);
	}
	for (; i + 4 <= dim; i += 4)
		a = add_square(a, x + i, y + i);
	sum = sum_of_4(a, b, c, d);
	for (; i < dim; i++)
	{
		double e = (double) x[i] - (double) y[i];

		sum += e * e;
	}
	return sum;
}

INLINE AVX2 __m256d
add_product(__m256d sum, const float *x, const float *y)
{
	return _mm256_fmadd_pd(load_4(x), load_4(y), sum);
}

static AVX2 double
inner_product(const float *x, const float *y, int dim)
{
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	__m256d c = a;
	__m256d d = a;
	double sum;
	int i = 0;

	for (; i + 16 <= dim; i += 16)
	{
		a = add_product(a, x + i, y + i);
		b = add_product(b, x + i + 4, y + i + 4);
		c = add_product(c, x + i + 8, y + i + 8);
		d = add_product(d, x + i + 12, y + i + 12);
	}
	for (; i + 4 <= dim; i += 4)
		a = add_product(a, x + i, y + i);
	sum = sum_of_4(a, b, c, d);
	for (; i < dim; i++)
		sum += (double) x[i] * (double) y[i];
	return sum;
}

INLINE AVX2 __m256d
add_absolute(__m256d sum, const float *x, const float *y)
{
	__m256d d = _mm256_sub_pd(load_4(x), load_4(y));

	return _mm256_add_pd(sum, _mm256_andnot_pd(_mm256_set1_pd(-0.0), d));
}

static AVX2 double
l1(const float *x, const float *y, int dim)
{
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	__m256d c = a;
	__m256d d = a;
	double sum;
	int i = 0;

	for (; i + 16 <= dim; i += 16)
	{
		a = add_absolute(a, x + i, y + i);
		b = add_absolute(b, x + i + 4, y + i + 4);
		c = add_absolute(c, x + i + 8, y + i + 8);
		d = add_absolute(d, x + i + 12, y + i + 12);
	}
	for (; i + 4 <= dim; i += 4)
		a = add_absolute(a, x + i, y + i);
	sum = sum_of_4(a, b, c, d);
	for (; i < dim; i++)
		sum += fabs((double) x[i] - (double) y[i]);
	return sum;
}

static AVX2 void
cosine(const float *x, const float *y, int dim, VxCosineParts *parts)
{
	__m256d zero = _mm256_setzero_pd();
	__m256d ab[2] = {zero, zero};
	__m256d aa[2] = {zero, zero};
	__m256d bb[2] = {zero, zero};
	int i = 0;

	for (; i + 8 <= dim; i += 8)
	{
		__m256d x0 = load_4(x + i);
		__m256d x1 = load_4(x + i + 4);
		__m256d y0 = load_4(y + i);
		__m256d y1 = load_4(y + i + 4);

		ab[0] = _mm256_fmadd_pd(x0, y0, ab[0]);
		aa[0] = _mm256_fmadd_pd(x0, x0, aa[0]);
		bb[0] = _mm256_fmadd_pd(y0, y0, bb[0]);
		ab[1] = _mm256_fmadd_pd(x1, y1, ab[1]);
		aa[1] = _mm256_fmadd_pd(x1, x1, aa[1]);
		bb[1] = _mm256_fmadd_pd(y1, y1, bb[1]);
	}
	parts->ab = sum_of_4(ab[0], ab[1], zero, zero);
	parts->aa = sum_of_4(aa[0], aa[1], zero, zero);
	parts->bb = sum_of_4(bb[0], bb[1], zero, zero);
	for (; i < dim; i++)
	{
		parts->ab += (double) x[i] * (double) y[i];
		parts->aa += (double) x[i] * (double) x[i];
		parts->bb += (double) y[i] * (double) y[i];
	}
}

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

static AVX2 void
dot_u4_ahead(const uint8_t *codes, int rows, int dim, const int8_t *query,
			 int32_t *out, const uint8_t *ahead)
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

static AVX2 void
dot_u4(const uint8_t *codes, int rows, int dim, const int8_t *query,
	   int32_t *out)
{
	dot_u4_ahead(codes, rows, dim, query, out, codes + AHEAD_BYTES);
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

static AVX2 void
dot_u8(const uint8_t *codes, int rows, int dim, const int8_t *query,
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
static AVX2_EXACT void
bound(const VxListQuery *q, const VxFactors *factors, const int32_t *dots,
	  int rows, float *est, float *low)
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

/* --- rotation --------------------------------------------------------- */

/*
 * One stride of the transform inside a vector: swapped holds the partners, the
 * sign is flipped in the upper half of each pair, and a + (-b) is a - b.
 */
INLINE AVX2_EXACT __m256
transform_8(__m256 v)
{
	const __m256 odd = _mm256_castsi256_ps(_mm256_setr_epi32(
		0, INT32_MIN, 0, INT32_MIN, 0, INT32_MIN, 0, INT32_MIN));
	const __m256 pairs = _mm256_castsi256_ps(_mm256_setr_epi32(
		0, 0, INT32_MIN, INT32_MIN, 0, 0, INT32_MIN, INT32_MIN));
	const __m256 fours = _mm256_castsi256_ps(_mm256_setr_epi32(
		0, 0, 0, 0, INT32_MIN, INT32_MIN, INT32_MIN, INT32_MIN));

	v = _mm256_add_ps(_mm256_permute_ps(v, 0xb1), _mm256_xor_ps(v, odd));
	v = _mm256_add_ps(_mm256_permute_ps(v, 0x4e), _mm256_xor_ps(v, pairs));
	return _mm256_add_ps(_mm256_permute2f128_ps(v, v, 1),
						 _mm256_xor_ps(v, fours));
}

/* Strides h and 2h on four vectors h floats apart, then the scale. */
INLINE AVX2_EXACT void
transform_4(float *x, int h, __m256 v0, __m256 v1, __m256 v2, __m256 v3,
			__m256 scale)
{
	__m256 a0 = _mm256_add_ps(v0, v1);
	__m256 a1 = _mm256_sub_ps(v0, v1);
	__m256 a2 = _mm256_add_ps(v2, v3);
	__m256 a3 = _mm256_sub_ps(v2, v3);

	_mm256_storeu_ps(x, _mm256_mul_ps(_mm256_add_ps(a0, a2), scale));
	_mm256_storeu_ps(x + h, _mm256_mul_ps(_mm256_add_ps(a1, a3), scale));
	_mm256_storeu_ps(x + 2 * h, _mm256_mul_ps(_mm256_sub_ps(a0, a2), scale));
	_mm256_storeu_ps(x + 3 * h, _mm256_mul_ps(_mm256_sub_ps(a1, a3), scale));
}

/* Strides 1 to 16. */
INLINE AVX2_EXACT void
transform_first(float *x, int n, __m256 scale)
{
	for (int i = 0; i < n; i += 32)
		transform_4(x + i, 8, transform_8(_mm256_loadu_ps(x + i)),
					transform_8(_mm256_loadu_ps(x + i + 8)),
					transform_8(_mm256_loadu_ps(x + i + 16)),
					transform_8(_mm256_loadu_ps(x + i + 24)), scale);
}

INLINE AVX2_EXACT void
transform_radix4(float *x, int n, int h, __m256 scale)
{
	for (int i = 0; i < n; i += 4 * h)
	{
		for (int j = i; j < i + h; j += 8)
			transform_4(x + j, h, _mm256_loadu_ps(x + j),
						_mm256_loadu_ps(x + j + h),
						_mm256_loadu_ps(x + j + 2 * h),
						_mm256_loadu_ps(x + j + 3 * h), scale);
	}
}

/* The last stride when their number is odd: h = n / 2. */
INLINE AVX2_EXACT void
transform_radix2(float *x, int h, __m256 scale)
{
	for (int j = 0; j < h; j += 8)
	{
		__m256 a = _mm256_loadu_ps(x + j);
		__m256 b = _mm256_loadu_ps(x + j + h);

		_mm256_storeu_ps(x + j, _mm256_mul_ps(_mm256_add_ps(a, b), scale));
		_mm256_storeu_ps(x + j + h, _mm256_mul_ps(_mm256_sub_ps(a, b), scale));
	}
}

/* Passes before the last scale by 1, which is exact. */
static AVX2_EXACT void
hadamard(float *x, int n, float scale)
{
	const __m256 one = _mm256_set1_ps(1.0f);
	const __m256 last = _mm256_set1_ps(scale);
	int h = 32;

	if (n < 32)
	{
		vx_scalar_hadamard(x, n, scale);
		return;
	}
	transform_first(x, n, n == 32 ? last : one);
	for (; 4 * h <= n; h *= 4)
		transform_radix4(x, n, h, 4 * h == n ? last : one);
	if (h < n)
		transform_radix2(x, h, last);
}

static AVX2_EXACT void
flip_signs(float *x, const uint8_t *signs, int dim)
{
	const __m256i bit = _mm256_setr_epi32(1, 2, 4, 8, 16, 32, 64, 128);
	const __m256 minus = _mm256_set1_ps(-0.0f);
	int i = 0;

	for (; i + 8 <= dim; i += 8)
	{
		__m256i set = _mm256_and_si256(_mm256_set1_epi32(signs[i / 8]), bit);
		__m256 flip = _mm256_castsi256_ps(_mm256_cmpeq_epi32(set, bit));
		__m256 v = _mm256_loadu_ps(x + i);

		v = _mm256_xor_ps(v, _mm256_and_ps(flip, minus));
		_mm256_storeu_ps(x + i, v);
	}
	for (; i < dim; i++)
	{
		if ((signs[i / 8] >> (i % 8) & 1) != 0)
			x[i] = -x[i];
	}
}

static AVX2_EXACT void
butterfly(float *x, int count, int gap, float scale)
{
	__m256 s = _mm256_set1_ps(scale);
	int i = 0;

	for (; i + 8 <= count; i += 8)
	{
		__m256 a = _mm256_loadu_ps(x + i);
		__m256 b = _mm256_loadu_ps(x + i + gap);

		_mm256_storeu_ps(x + i, _mm256_mul_ps(_mm256_add_ps(a, b), s));
		_mm256_storeu_ps(x + i + gap, _mm256_mul_ps(_mm256_sub_ps(a, b), s));
	}
	for (; i < count; i++)
	{
		float a = x[i];
		float b = x[i + gap];

		x[i] = (a + b) * scale;
		x[i + gap] = (a - b) * scale;
	}
}

/* --- encoder ---------------------------------------------------------- */

INLINE AVX2_EXACT __m256d
difference_4(const float *x, const float *y)
{
	return y == NULL ? load_4(x) : _mm256_sub_pd(load_4(x), load_4(y));
}

static AVX2_EXACT double
norm2(const float *x, const float *y, int dim)
{
	__m256d a = _mm256_setzero_pd();
	__m256d b = a;
	double lane[VX_LANES];
	int i = 0;

	for (; i + 8 <= dim; i += 8)
	{
		__m256d d = difference_4(x + i, y == NULL ? NULL : y + i);
		__m256d e = difference_4(x + i + 4, y == NULL ? NULL : y + i + 4);

		a = _mm256_add_pd(a, _mm256_mul_pd(d, d));
		b = _mm256_add_pd(b, _mm256_mul_pd(e, e));
	}
	_mm256_storeu_pd(lane, a);
	_mm256_storeu_pd(lane + 4, b);
	for (int k = 0; i + k < dim; k++)
	{
		double d = (double) x[i + k];

		if (y != NULL)
			d -= (double) y[i + k];
		lane[k] += d * d;
	}
	return vx_lanes_sum_double(lane);
}

static AVX2_EXACT void
scaled_difference(const float *x, const float *y, double factor, int dim,
				  float *out)
{
	__m256d f = _mm256_set1_pd(factor);
	int i = 0;

	for (; i + 4 <= dim; i += 4)
	{
		__m256d d = difference_4(x + i, y == NULL ? NULL : y + i);

		_mm_storeu_ps(out + i, _mm256_cvtpd_ps(_mm256_mul_pd(d, f)));
	}
	for (; i < dim; i++)
	{
		double d = (double) x[i];

		if (y != NULL)
			d -= (double) y[i];
		out[i] = (float) (d * factor);
	}
}

/* min(levels, floor(t * magnitude)) as integers. */
INLINE AVX2_EXACT __m256i
levels_of(__m256 t, __m256 magnitude, __m256i levels)
{
	__m256i v = _mm256_cvttps_epi32(_mm256_mul_ps(t, magnitude));

	return _mm256_min_epi32(v, levels);
}

INLINE AVX2_EXACT __m256
magnitude_8(const float *o)
{
	return _mm256_andnot_ps(_mm256_set1_ps(-0.0f), _mm256_loadu_ps(o));
}

INLINE AVX2_EXACT void
add_scale(__m256 magnitude, __m256 t, __m256 levels, __m256 *wo, __m256 *ww)
{
	__m256 v = _mm256_round_ps(_mm256_mul_ps(t, magnitude),
							   _MM_FROUND_TO_ZERO | _MM_FROUND_NO_EXC);
	__m256 w = _mm256_add_ps(_mm256_min_ps(v, levels), _mm256_set1_ps(0.5f));

	*wo = _mm256_add_ps(*wo, _mm256_mul_ps(w, magnitude));
	*ww = _mm256_add_ps(*ww, _mm256_mul_ps(w, w));
}

/* Adds the last dim % 8 terms to their lanes and the lanes to sums. */
static AVX2_EXACT void
finish_scale(const float *o, int rest, float t, float levels, __m256 lanes_wo,
			 __m256 lanes_ww, float *wo, float *ww)
{
	float lane_wo[VX_LANES];
	float lane_ww[VX_LANES];

	_mm256_storeu_ps(lane_wo, lanes_wo);
	_mm256_storeu_ps(lane_ww, lanes_ww);
	for (int k = 0; k < rest; k++)
	{
		float magnitude = fabsf(o[k]);
		float v = (float) (int32_t) (t * magnitude);
		float w = (v < levels ? v : levels) + 0.5f;

		lane_wo[k] += w * magnitude;
		lane_ww[k] += w * w;
	}
	*wo = vx_lanes_sum_float(lane_wo);
	*ww = vx_lanes_sum_float(lane_ww);
}

/* Two scales at a time hide the latency of the additions. */
static AVX2_EXACT void
scale_sums(const float *o, int dim, const float *t, int count, int levels,
		   float *wo, float *ww)
{
	const __m256 most = _mm256_set1_ps((float) levels);
	int whole = dim - dim % 8;

	for (int k = 0; k < count; k += 2)
	{
		int second = k + 1 < count ? k + 1 : k;
		__m256 t0 = _mm256_set1_ps(t[k]);
		__m256 t1 = _mm256_set1_ps(t[second]);
		__m256 wo0 = _mm256_setzero_ps();
		__m256 ww0 = wo0;
		__m256 wo1 = wo0;
		__m256 ww1 = wo0;

		for (int i = 0; i < whole; i += 8)
		{
			__m256 magnitude = magnitude_8(o + i);

			add_scale(magnitude, t0, most, &wo0, &ww0);
			add_scale(magnitude, t1, most, &wo1, &ww1);
		}
		finish_scale(o + whole, dim - whole, t[k], (float) levels, wo0, ww0,
					 wo + k, ww + k);
		finish_scale(o + whole, dim - whole, t[second], (float) levels, wo1,
					 ww1, wo + second, ww + second);
	}
}

static AVX2_EXACT void
quantize(const float *o, int dim, float t, int levels, uint8_t *u)
{
	const __m256 scale = _mm256_set1_ps(t);
	const __m256i most = _mm256_set1_epi32(levels);
	int i = 0;

	for (; i + 8 <= dim; i += 8)
	{
		__m256 x = _mm256_loadu_ps(o + i);
		__m256i v = levels_of(scale, magnitude_8(o + i), most);
		/* All ones where negative: (v ^ -1) = -1 - v. */
		__m256i negative = _mm256_castps_si256(
			_mm256_cmp_ps(x, _mm256_setzero_ps(), _CMP_NGE_UQ));
		__m256i level = _mm256_add_epi32(_mm256_xor_si256(v, negative),
										 _mm256_set1_epi32(levels + 1));
		__m128i half = _mm_packus_epi32(_mm256_castsi256_si128(level),
										_mm256_extracti128_si256(level, 1));

		_mm_storel_epi64((__m128i *) (u + i), _mm_packus_epi16(half, half));
	}
	for (; i < dim; i++)
	{
		float v = (float) (int32_t) (t * fabsf(o[i]));
		int level = v < (float) levels ? (int) v : levels;

		u[i] = (uint8_t) (o[i] >= 0.0f ? levels + 1 + level : levels - level);
	}
}

/* Lanes of five double sums: low and high four. */
typedef struct CodeLanes
{
	__m256d oy[2];
	__m256d yy[2];
	__m256d oo[2];
	__m256d yc[2];
	__m256d oc[2];
} CodeLanes;

INLINE AVX2_EXACT void
add_code(CodeLanes *s, int half, __m128 y, const float *o, const float *rotated)
{
	__m256d yd = _mm256_cvtps_pd(y);
	__m256d od = load_4(o);
	__m256d cd = load_4(rotated);

	s->oy[half] = _mm256_add_pd(s->oy[half], _mm256_mul_pd(od, yd));
	s->yy[half] = _mm256_add_pd(s->yy[half], _mm256_mul_pd(yd, yd));
	s->oo[half] = _mm256_add_pd(s->oo[half], _mm256_mul_pd(od, od));
	s->yc[half] = _mm256_add_pd(s->yc[half], _mm256_mul_pd(yd, cd));
	s->oc[half] = _mm256_add_pd(s->oc[half], _mm256_mul_pd(od, cd));
}

static AVX2_EXACT void
store_lanes(double *lane, const __m256d *sum)
{
	_mm256_storeu_pd(lane, sum[0]);
	_mm256_storeu_pd(lane + 4, sum[1]);
}

static AVX2_EXACT void
code_sums(const uint8_t *u, const float *o, const float *rotated, int dim,
		  float centre, VxCodeSums *sums)
{
	const __m256 middle = _mm256_set1_ps(centre);
	const __m256d zero = _mm256_setzero_pd();
	CodeLanes s = {
		{zero, zero}, {zero, zero}, {zero, zero}, {zero, zero}, {zero, zero}};
	double lane[5][VX_LANES];
	int i = 0;

	for (; i + 8 <= dim; i += 8)
	{
		__m128i bytes = _mm_loadl_epi64((const __m128i *) (u + i));
		__m256 y = _mm256_sub_ps(
			_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)), middle);

		add_code(&s, 0, _mm256_castps256_ps128(y), o + i, rotated + i);
		add_code(&s, 1, _mm256_extractf128_ps(y, 1), o + i + 4,
				 rotated + i + 4);
	}
	store_lanes(lane[0], s.oy);
	store_lanes(lane[1], s.yy);
	store_lanes(lane[2], s.oo);
	store_lanes(lane[3], s.yc);
	store_lanes(lane[4], s.oc);
	for (int k = 0; i + k < dim; k++)
	{
		double y = (double) ((float) u[i + k] - centre);
		double a = o[i + k];
		double c = rotated[i + k];

		lane[0][k] += a * y;
		lane[1][k] += y * y;
		lane[2][k] += a * a;
		lane[3][k] += y * c;
		lane[4][k] += a * c;
	}
	sums->oy = vx_lanes_sum_double(lane[0]);
	sums->yy = vx_lanes_sum_double(lane[1]);
	sums->oo = vx_lanes_sum_double(lane[2]);
	sums->yc = vx_lanes_sum_double(lane[3]);
	sums->oc = vx_lanes_sum_double(lane[4]);
}

/* --- assignment ------------------------------------------------------- */

/* Minimum and arguments are exact, so lanes merge in any order. */
static AVX2_EXACT int
nearest(const float *dots, const float *norms2, int lists, float *smallest,
		float *second)
{
	const __m256 infinite = _mm256_set1_ps(INFINITY);
	__m256 first = infinite;
	__m256 next = infinite;
	__m256i list = _mm256_setzero_si256();
	__m256i at = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
	float lane_first[8];
	float lane_next[8];
	int32_t lane_list[8];
	float best = INFINITY;
	float runner_up = INFINITY;
	int best_list = 0;
	int j = 0;

	for (; j + 8 <= lists; j += 8)
	{
		__m256 dot = _mm256_loadu_ps(dots + j);
		__m256 v =
			_mm256_sub_ps(_mm256_loadu_ps(norms2 + j), _mm256_add_ps(dot, dot));
		__m256 less;

		v = _mm256_min_ps(v, infinite); /* NaN becomes +inf */
		less = _mm256_cmp_ps(v, first, _CMP_LT_OQ);
		next = _mm256_min_ps(next, _mm256_max_ps(first, v));
		first = _mm256_min_ps(first, v);
		list = _mm256_blendv_epi8(list, at, _mm256_castps_si256(less));
		at = _mm256_add_epi32(at, _mm256_set1_epi32(8));
	}
	_mm256_storeu_ps(lane_first, first);
	_mm256_storeu_ps(lane_next, next);
	_mm256_storeu_si256((__m256i *) lane_list, list);
	for (int k = 0; k < 8; k++)
	{
		float loser = lane_first[k];

		if (loser < best ||
			(loser == best && loser < INFINITY && lane_list[k] < best_list))
		{
			loser = best;
			best = lane_first[k];
			best_list = lane_list[k];
		}
		runner_up = loser < runner_up ? loser : runner_up;
		runner_up = lane_next[k] < runner_up ? lane_next[k] : runner_up;
	}
	for (; j < lists; j++)
	{
		float v = norms2[j] - 2.0f * dots[j];

		if (v < best)
		{
			runner_up = best;
			best = v;
			best_list = j;
		}
		else if (v < runner_up)
			runner_up = v;
	}
	*smallest = best;
	*second = runner_up;
	return best_list;
}

const VxKernels vx_kernels_avx2 = {
	.name = "avx2",
	.l2_squared = l2_squared,
	.inner_product = inner_product,
	.l1 = l1,
	.cosine = cosine,
	.dot_u4 = dot_u4,
	.dot_u4_ahead = dot_u4_ahead,
	.dot_u8 = dot_u8,
	.bound = bound,
	.hadamard = hadamard,
	.flip_signs = flip_signs,
	.butterfly = butterfly,
	.norm2 = norm2,
	.scaled_difference = scaled_difference,
	.scale_sums = scale_sums,
	.quantize = quantize,
	.code_sums = code_sums,
	.nearest = nearest,
};

#endif
