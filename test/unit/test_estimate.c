/*
 * test_estimate.c
 *		The estimator: unbiased, as wide as it says, on clustered data of every
 *		dimension, bit count and metric.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "estimate.h"
#include "unit.h"

void
score_list(UnitList *list, const ScoreInput *in, float eps, Scores *out)
{
	const VxQuantizer *quantizer = &list->quantizer;
	int dim = quantizer->dim;
	size_t bytes = (size_t) vx_code_bytes(dim, quantizer->bits);
	size_t rows = (size_t) in->rows;
	size_t room = (rows + VX_SCORE_ALIGN - 1) / VX_SCORE_ALIGN * VX_SCORE_ALIGN;
	uint8_t *codes = unit_alloc(bytes * rows);
	float *f = unit_alloc(sizeof(float) * room);
	float *n = unit_alloc(sizeof(float) * room);
	uint16_t *sn = unit_alloc(sizeof(uint16_t) * room);
	uint16_t *en = unit_alloc(sizeof(uint16_t) * room);
	int32_t *dots = unit_alloc(sizeof(int32_t) * room);
	float *est = unit_alloc(sizeof(float) * room);
	float *low = unit_alloc(sizeof(float) * room);
	int8_t *q8 = unit_alloc(VX_QUERY8_BYTES(dim));
	VxFactors factors = {f, n, sn, en};

	for (int i = 0; i < in->rows; i++)
	{
		VxEntryFactors entry;

		vx_encode(quantizer, &list->ref, in->x + (size_t) i * (size_t) dim,
				  codes + (size_t) i * bytes, &entry, list->scratch);
		f[i] = entry.f;
		n[i] = entry.n;
		sn[i] = entry.sn;
		en[i] = entry.en;
	}
	for (int k = 0; k < in->queries; k++)
	{
		const float *q = in->q + (size_t) k * (size_t) dim;
		VxQuery query;
		VxListQuery lq;

		vx_query_init(&query, quantizer, q, list->centre, q8, list->scratch);
		vx_query_list(&query, quantizer, list->centroid, list->centre, eps,
					  &lq);
		vx_score(&query, quantizer, &lq, codes, &factors, in->rows, NULL, dots,
				 est, low);
		memcpy(out->est + (size_t) k * rows, est, sizeof(float) * rows);
		memcpy(out->low + (size_t) k * rows, low, sizeof(float) * rows);
		for (int i = 0; i < in->rows; i++)
		{
			const float *x = in->x + (size_t) i * (size_t) dim;
			size_t at = (size_t) k * rows + (size_t) i;
			double width = (double) vx_half_float(en[i]);

			out->exact[at] = quantizer->metric == VX_METRIC_IP
								 ? -vx_kernels->inner_product(q, x, dim)
								 : vx_kernels->l2_squared(q, x, dim);
			out->sigma[at] = (double) lq.b * n[i] *
							 sqrt(lq.h2 * width * width + (double) lq.noise2);
		}
	}
	free(codes);
	free(f);
	free(n);
	free(sn);
	free(en);
	free(dots);
	free(est);
	free(low);
	free(q8);
}

void
scores_init(Scores *scores, int rows, int queries)
{
	size_t count = (size_t) rows * (size_t) queries;

	scores->est = unit_alloc(sizeof(float) * count);
	scores->low = unit_alloc(sizeof(float) * count);
	scores->exact = unit_alloc(sizeof(double) * count);
	scores->sigma = unit_alloc(sizeof(double) * count);
}

void
scores_free(Scores *scores)
{
	free(scores->est);
	free(scores->low);
	free(scores->exact);
	free(scores->sigma);
}

#define ROWS 128
#define QUERIES 32
#define EPS 1.9f

/* A cluster of radius 1 at distance 1 from m; queries half inside, half not. */
static void
fill_cluster(UnitList *list, float *x, float *q, uint64_t *state)
{
	int dim = list->quantizer.dim;

	for (int j = 0; j < dim; j++)
	{
		list->centre[j] = (float) (0.3 * unit_gaussian(state));
		list->centroid[j] = list->centre[j] + (float) unit_gaussian(state);
	}
	for (int i = 0; i < ROWS * dim; i++)
		x[i] = list->centroid[i % dim] + (float) unit_gaussian(state);
	for (int k = 0; k < QUERIES; k++)
	{
		const float *from = k % 2 == 0 ? list->centroid : list->centre;

		for (int j = 0; j < dim; j++)
			q[k * dim + j] = from[j] + (float) ((k % 4 < 2 ? 1.0 : 0.5) *
												unit_gaussian(state));
	}
	unit_list_ready(list);
}

/*
 * Measured from dimension 31 on: |mean of z| at most 0.094, deviation 0.95 ..
 * 1.04, at most 0.034 above.  4096 independent values have a standard error of
 * 0.016; rows share the rounding of a query and queries that of a row, which
 * leaves more.  Below, the error is not Gaussian and only its bound is checked
 * (small_dims).
 */
static void
check_z(int dim, int bits, VxMetric metric)
{
	uint64_t state = (uint64_t) (dim + bits) + 41;
	float *x = unit_alloc(sizeof(float) * (size_t) (ROWS * dim));
	float *q = unit_alloc(sizeof(float) * (size_t) (QUERIES * dim));
	ScoreInput in = {x, ROWS, q, QUERIES};
	double sum = 0, sum2 = 0, above = 0, count = ROWS * QUERIES;
	UnitList list;
	Scores s;

	unit_list_init(&list, metric, dim, bits);
	scores_init(&s, ROWS, QUERIES);
	fill_cluster(&list, x, q, &state);
	score_list(&list, &in, EPS, &s);
	for (int i = 0; i < ROWS * QUERIES; i++)
	{
		double z = ((double) s.est[i] - s.exact[i]) / s.sigma[i];

		sum += z;
		sum2 += z * z;
		above += (double) s.low[i] > s.exact[i];
	}
	sum /= count;
	sum2 = sqrt(sum2 / count - sum * sum);
	if (getenv("UNIT_SHOW") != NULL)
		printf("  dim %5d bits %d metric %d: mean %6.3f sd %.3f above %.4f\n",
			   dim, bits, metric, sum, sum2, above / count);
	CHECK(fabs(sum) < 0.13, "dim %d bits %d metric %d: mean %g", dim, bits,
		  metric, sum);
	CHECK(sum2 > 0.8 && sum2 < 1.05, "dim %d bits %d metric %d: deviation %g",
		  dim, bits, metric, sum2);
	/* A Gaussian of deviation 1 has 0.029 above 1.9. */
	CHECK(above / count < 0.04, "dim %d bits %d metric %d: %g above", dim, bits,
		  metric, above / count);
	free(x);
	free(q);
	scores_free(&s);
	unit_list_free(&list);
}

static void
estimates_of_metric(VxMetric metric)
{
	for (int d = 0; d < UNIT_DIMS; d++)
	{
		if (unit_dims[d] < 31 || unit_dims[d] > 4000)
			continue;
		check_z(unit_dims[d], 4, metric);
		check_z(unit_dims[d], 8, metric);
	}
}

static void
estimates_l2(void)
{
	estimates_of_metric(VX_METRIC_L2);
}

static void
estimates_ip(void)
{
	estimates_of_metric(VX_METRIC_IP);
}

static void
estimates_largest(void)
{
	check_z(16000, 4, VX_METRIC_L2);
	check_z(16000, 8, VX_METRIC_IP);
}

/*
 * Few dimensions: the code's error is at most sqrt(dim - 1) times e (all of it
 * in the one direction that matters), exact for dimension 1, and the int8
 * query adds at most half a step in each of dim coordinates: sqrt(3 dim) times
 * its deviation.
 */
static void
small_dims(void)
{
	for (int dim = 1; dim <= 8; dim++)
	{
		for (int kind = 0; kind < 4; kind++)
		{
			VxMetric metric = kind % 2 == 0 ? VX_METRIC_L2 : VX_METRIC_IP;
			uint64_t state = (uint64_t) (dim + kind) + 42;
			float *x = unit_alloc(sizeof(float) * (size_t) (ROWS * dim));
			float *q = unit_alloc(sizeof(float) * (size_t) (QUERIES * dim));
			ScoreInput in = {x, ROWS, q, QUERIES};
			double most = sqrt(dim - 1.0 + 3.0 * dim);
			UnitList list;
			Scores s;

			unit_list_init(&list, metric, dim, kind < 2 ? 4 : 8);
			scores_init(&s, ROWS, QUERIES);
			fill_cluster(&list, x, q, &state);
			score_list(&list, &in, EPS, &s);
			for (int i = 0; i < ROWS * QUERIES; i++)
			{
				double error = fabs((double) s.est[i] - s.exact[i]);
				double tiny = 2e-6 * (fabs(s.exact[i]) + 20.0);

				CHECK(error <= (dim == 1 ? 0.0 : most * s.sigma[i]) + tiny,
					  "dim %d kind %d: error %g, sigma %g", dim, kind, error,
					  s.sigma[i]);
			}
			free(x);
			free(q);
			scores_free(&s);
			unit_list_free(&list);
		}
	}
}

const UnitTest estimate_tests[] = {
	{"estimate: L2, mean and deviation of z", estimates_l2},
	{"estimate: inner product, mean and deviation of z", estimates_ip},
	{"estimate: 16000 dimensions", estimates_largest},
	{"estimate: few dimensions stay within their bound", small_dims},
	{NULL, NULL},
};
