/*
 * scalar.c
 *		The kernels in plain C: the definition that every SIMD level is tested
 *		against.  Contracts are in kernel.h.
 */
#include <float.h>
#include <math.h>
#include <string.h>

#include "kernel/levels.h"

static double
l2_squared(const float *x, const float *y, int dim)
{
	double lane[4] = {0};

	for (int i = 0; i < dim; i++)
	{
		double d = (double) x[i] - (double) y[i];

		lane[i & 3] += d * d;
	}
	return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static double
inner_product(const float *x, const float *y, int dim)
{
	double lane[4] = {0};

	for (int i = 0; i < dim; i++)
		lane[i & 3] += (double) x[i] * (double) y[i];
	return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static double
l1(const float *x, const float *y, int dim)
{
	double lane[4] = {0};

	for (int i = 0; i < dim; i++)
		lane[i & 3] += fabs((double) x[i] - (double) y[i]);
	return (lane[0] + lane[2]) + (lane[1] + lane[3]);
}

static void
cosine(const float *x, const float *y, int dim, VxCosineParts *parts)
{
	parts->ab = inner_product(x, y, dim);
	parts->aa = inner_product(x, x, dim);
	parts->bb = inner_product(y, y, dim);
}

static void
dot_u4(const uint8_t *codes, int rows, int dim, const int8_t *query,
	   int32_t *out)
{
	int stride = (dim + 1) / 2;

	for (int i = 0; i < rows; i++)
	{
		const uint8_t *code = codes + (size_t) i * (size_t) stride;
		int32_t low = 0;
		int32_t high = 0;

		for (int j = 0; j < stride; j++)
		{
			low += (code[j] & 15) * query[j];
			high += (code[j] >> 4) * query[j + stride];
		}
		out[i] = low + high;
	}
}

static void
dot_u4_ahead(const uint8_t *codes, int rows, int dim, const int8_t *query,
			 int32_t *out, const uint8_t *ahead)
{
	(void) ahead;
	dot_u4(codes, rows, dim, query, out);
}

void
vx_scalar_dot_u8(const uint8_t *codes, int rows, int dim, const int8_t *query,
				 int32_t *out)
{
	for (int i = 0; i < rows; i++)
	{
		const uint8_t *code = codes + (size_t) i * (size_t) dim;
		int32_t sum = 0;

		for (int j = 0; j < dim; j++)
			sum += code[j] * query[j];
		out[i] = sum;
	}
}

void
vx_scalar_bound(const VxListQuery *q, const VxFactors *factors,
				const int32_t *dots, int rows, float *est, float *low)
{
	float eps_b = q->eps * q->b;

	for (int i = 0; i < rows; i++)
	{
		float n = factors->n[i];
		float en = vx_half_float(factors->en[i]);
		float s = vx_half_float(factors->sn[i]) * n;
		float ip = q->step * ((float) dots[i] - q->offset);
		float value = (q->base + q->a * factors->f[i]) - (q->b * s) * ip;
		float width = sqrtf(q->h2 * (en * en) + q->noise2);
		float err = ((eps_b * n) * width + q->floor0) +
					(q->floor1 * n + (q->floor2 * n) * n);
		/* NaN is not tight. */
		bool tight = value < FLT_MAX && err < FLT_MAX;

		est[i] = tight ? value : FLT_MAX;
		low[i] = tight ? value - err : -INFINITY;
	}
}

void
vx_scalar_hadamard(float *x, int n, float scale)
{
	for (int h = 1; h < n; h *= 2)
	{
		for (int i = 0; i < n; i += 2 * h)
		{
			for (int j = i; j < i + h; j++)
			{
				float a = x[j];
				float b = x[j + h];

				x[j] = a + b;
				x[j + h] = a - b;
			}
		}
	}
	for (int i = 0; i < n; i++)
		x[i] *= scale;
}

static void
flip_signs(float *x, const uint8_t *signs, int dim)
{
	for (int i = 0; i < dim; i++)
	{
		if ((signs[i / 8] >> (i % 8) & 1) != 0)
			x[i] = -x[i];
	}
}

static void
butterfly(float *x, int count, int gap, float scale)
{
	for (int i = 0; i < count; i++)
	{
		float a = x[i];
		float b = x[i + gap];

		x[i] = (a + b) * scale;
		x[i + gap] = (a - b) * scale;
	}
}

static double
norm2(const float *x, const float *y, int dim)
{
	double lane[VX_LANES] = {0};

	for (int i = 0; i < dim; i++)
	{
		double d = y == NULL ? (double) x[i] : (double) x[i] - (double) y[i];

		lane[i % VX_LANES] += d * d;
	}
	return vx_lanes_sum_double(lane);
}

static void
scaled_difference(const float *x, const float *y, double factor, int dim,
				  float *out)
{
	for (int i = 0; i < dim; i++)
	{
		double d = y == NULL ? (double) x[i] : (double) x[i] - (double) y[i];

		out[i] = (float) (d * factor);
	}
}

/* min(levels, floor(t * magnitude)); the product is far below 2^31. */
static inline float
level_of(float t, float magnitude, float levels)
{
	float v = (float) (int32_t) (t * magnitude);

	return v < levels ? v : levels;
}

static void
scale_sums(const float *o, int dim, const float *t, int count, int levels,
		   float *wo, float *ww)
{
	for (int k = 0; k < count; k++)
	{
		float lane_wo[VX_LANES] = {0};
		float lane_ww[VX_LANES] = {0};

		for (int i = 0; i < dim; i++)
		{
			float magnitude = fabsf(o[i]);
			float w = level_of(t[k], magnitude, (float) levels) + 0.5f;

			lane_wo[i % VX_LANES] += w * magnitude;
			lane_ww[i % VX_LANES] += w * w;
		}
		wo[k] = vx_lanes_sum_float(lane_wo);
		ww[k] = vx_lanes_sum_float(lane_ww);
	}
}

static void
quantize(const float *o, int dim, float t, int levels, uint8_t *u)
{
	for (int i = 0; i < dim; i++)
	{
		int v = (int) level_of(t, fabsf(o[i]), (float) levels);

		u[i] = (uint8_t) (o[i] >= 0.0f ? levels + 1 + v : levels - v);
	}
}

static void
code_sums(const uint8_t *u, const float *o, const float *rotated, int dim,
		  float centre, VxCodeSums *sums)
{
	double oy[VX_LANES] = {0};
	double yy[VX_LANES] = {0};
	double oo[VX_LANES] = {0};
	double yc[VX_LANES] = {0};
	double oc[VX_LANES] = {0};

	for (int i = 0; i < dim; i++)
	{
		int k = i % VX_LANES;
		double y = (double) ((float) u[i] - centre);
		double a = o[i];
		double c = rotated[i];

		oy[k] += a * y;
		yy[k] += y * y;
		oo[k] += a * a;
		yc[k] += y * c;
		oc[k] += a * c;
	}
	sums->oy = vx_lanes_sum_double(oy);
	sums->yy = vx_lanes_sum_double(yy);
	sums->oo = vx_lanes_sum_double(oo);
	sums->yc = vx_lanes_sum_double(yc);
	sums->oc = vx_lanes_sum_double(oc);
}

static int
nearest(const float *dots, const float *norms2, int lists, float *smallest,
		float *second)
{
	float first = INFINITY;
	float next = INFINITY;
	int list = 0;

	for (int j = 0; j < lists; j++)
	{
		float v = norms2[j] - 2.0f * dots[j];

		if (v < first)
		{
			next = first;
			first = v;
			list = j;
		}
		else if (v < next)
			next = v;
	}
	*smallest = first;
	*second = next;
	return list;
}

const VxKernels vx_kernels_scalar = {
	.name = "scalar",
	.l2_squared = l2_squared,
	.inner_product = inner_product,
	.l1 = l1,
	.cosine = cosine,
	.dot_u4 = dot_u4,
	.dot_u4_ahead = dot_u4_ahead,
	.dot_u8 = vx_scalar_dot_u8,
	.sign_sums = vx_scalar_sign_sums,
	.rest_dots = vx_scalar_rest_dots,
	.bound = vx_scalar_bound,
	.in_range = vx_scalar_in_range,
	.hadamard = vx_scalar_hadamard,
	.flip_signs = flip_signs,
	.butterfly = butterfly,
	.norm2 = norm2,
	.scaled_difference = scaled_difference,
	.scale_sums = scale_sums,
	.quantize = quantize,
	.code_sums = code_sums,
	.nearest = nearest,
};
