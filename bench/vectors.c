/*
 * vectors.c
 *		Vector files, the binary form of a vector, and exact answers.
 *
 * The exact answers are computed here, in double precision, so that they do not
 * depend on any index or operator under test.
 */
#include <endian.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "client.h"

/* IEEE half precision to single; exact. */
static float
half_to_float(uint16_t half)
{
	int exponent = (half >> 10) & 31;
	float fraction = half & 1023;
	float value;

	if (exponent == 31)
		die("infinity or NaN in a vector file");
	if (exponent == 0)
		value = ldexpf(fraction, -24);
	else
		value = ldexpf(1024 + fraction, exponent - 25);
	return half & 0x8000 ? -value : value;
}

/* A file of float32 is mapped: the large sets need not be read twice. */
static Vectors
vectors_map(const char *path, int dims, int first, int count)
{
	Vectors v = {dims, 0, NULL};
	int file = open(path, O_RDONLY);
	struct stat facts;
	size_t row = sizeof(float) * (size_t) dims;
	char *start;

	if (file < 0 || fstat(file, &facts) != 0)
		die("cannot read %s", path);
	v.count = (int) ((size_t) facts.st_size / row) - first;
	if (count > v.count)
		die("%s has only %d rows from row %d on", path, v.count, first);
	if (count > 0)
		v.count = count;
	start = mmap(NULL, (size_t) facts.st_size, PROT_READ, MAP_SHARED, file, 0);
	if (start == MAP_FAILED)
		die("cannot map %s", path);
	close(file);
	v.values = (float *) (start + row * (size_t) first);
	return v;
}

Vectors
vectors_read(const char *path, int dims, int first, int count)
{
	const char *suffix = strrchr(path, '.');
	Vectors v = {dims, 0, NULL};
	FILE *file = fopen(path, "rb");
	float *table = allocate(sizeof(float) * 65536);
	size_t total;
	uint16_t *raw;

	if (suffix && strcmp(suffix, ".f32") == 0)
		return vectors_map(path, dims, first, count);
	if (!file || fseek(file, 0, SEEK_END) != 0)
		die("cannot read %s", path);
	v.count = ftell(file) / (2 * (long) dims) - first;
	if (count > v.count)
		die("%s has only %d rows from row %d on", path, v.count, first);
	if (count > 0)
		v.count = count;
	total = (size_t) v.count * dims;
	raw = allocate(2 * total);
	v.values = allocate(sizeof(float) * total);
	fseek(file, 2L * dims * first, SEEK_SET);
	if (fread(raw, 2, total, file) != total)
		die("cannot read %s", path);
	fclose(file);
	for (int i = 0; i < 65536; i++)
		table[i] = (i >> 10 & 31) == 31 ? 0 : half_to_float(i);
	for (size_t i = 0; i < total; i++)
	{
		uint16_t half = le16toh(raw[i]);

		/* The table has no entry for them: let them fail. */
		v.values[i] =
			(half >> 10 & 31) == 31 ? half_to_float(half) : table[half];
	}
	free(table);
	free(raw);
	return v;
}

void
vector_send(const float *values, int dims, char *out)
{
	uint16_t head[2] = {htobe16(dims), 0};

	memcpy(out, head, 4);
	for (int i = 0; i < dims; i++)
	{
		uint32_t bits;

		memcpy(&bits, &values[i], 4);
		bits = htobe32(bits);
		memcpy(out + 4 + 4 * i, &bits, 4);
	}
}

/* Eight sums, so that the compiler may use vector registers. */
static double
dot(const float *a, const float *b, int dims)
{
	double sums[8] = {0};
	double sum = 0;
	int i = 0;

	for (; i + 8 <= dims; i += 8)
		for (int j = 0; j < 8; j++)
			sums[j] += (double) a[i + j] * b[i + j];
	for (; i < dims; i++)
		sum += (double) a[i] * b[i];
	for (int j = 0; j < 8; j++)
		sum += sums[j];
	return sum;
}

double
cosine_distance(const float *a, const float *b, int dims)
{
	return 1 - dot(a, b, dims) / sqrt(dot(a, a, dims) * dot(b, b, dims));
}

double *
exact_kth(const Vectors *base, const Vectors *queries, int k)
{
	double *kth = allocate(sizeof(double) * queries->count);
	double *norms = allocate(sizeof(double) * base->count);
	double *distances = allocate(sizeof(double) * base->count);
	int dims = base->dims;

	for (int i = 0; i < base->count; i++)
	{
		const float *row = vectors_row(base, i);

		norms[i] = sqrt(dot(row, row, dims));
	}
	for (int q = 0; q < queries->count; q++)
	{
		const float *query = vectors_row(queries, q);
		double norm = sqrt(dot(query, query, dims));

		for (int i = 0; i < base->count; i++)
			distances[i] =
				1 - dot(vectors_row(base, i), query, dims) / (norms[i] * norm);
		/* Position k - 1 of the sorted distances. */
		kth[q] = quantile(distances, base->count, (k - 0.5) / base->count);
	}
	free(norms);
	free(distances);
	return kth;
}
