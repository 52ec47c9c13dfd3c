/*
 * avx2_encode.c
 *		Rotation, encoder and assignment: what stored codes are made by.
 *
 * Contracts are in kernel.h, the definition is scalar.c.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

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
AVX2_EXACT void
vx_avx2_hadamard(float *x, int n, float scale)
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

AVX2_EXACT void
vx_avx2_flip_signs(float *x, const uint8_t *signs, int dim)
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

AVX2_EXACT void
vx_avx2_butterfly(float *x, int count, int gap, float scale)
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

AVX2_EXACT double
vx_avx2_norm2(const float *x, const float *y, int dim)
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

AVX2_EXACT void
vx_avx2_scaled_difference(const float *x, const float *y, double factor,
						  int dim, float *out)
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
AVX2_EXACT void
vx_avx2_scale_sums(const float *o, int dim, const float *t, int count,
				   int levels, float *wo, float *ww)
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

AVX2_EXACT void
vx_avx2_quantize(const float *o, int dim, float t, int levels, uint8_t *u)
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

AVX2_EXACT void
vx_avx2_code_sums(const uint8_t *u, const float *o, const float *rotated,
				  int dim, float centre, VxCodeSums *sums)
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
AVX2_EXACT int
vx_avx2_nearest(const float *dots, const float *norms2, int lists,
				float *smallest, float *second)
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

#endif
