/*
 * avx2_distance.c
 *		Distances of float vectors, accumulated in double precision.
 *
 * Contracts are in kernel.h, the definition is scalar.c.
 */
#include "kernel/avx2.h"

#ifdef VX_HAVE_AVX2

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

AVX2 double
vx_avx2_l2_squared(const float *x, const float *y, int dim)
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

AVX2 double
vx_avx2_inner_product(const float *x, const float *y, int dim)
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

AVX2 double
vx_avx2_l1(const float *x, const float *y, int dim)
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

AVX2 void
vx_avx2_cosine(const float *x, const float *y, int dim, VxCosineParts *parts)
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

#endif
