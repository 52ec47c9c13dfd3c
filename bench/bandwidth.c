/*
 * bandwidth.c
 *		client bandwidth: how fast one core reads memory in order.
 *
 * Memory of 4 KiB pages, as shared buffers are, far larger than the caches.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "client.h"

#define BYTES ((size_t) 1 << 30)
#define PASSES 5

#ifdef __x86_64__
__attribute__((target("avx2"))) static uint64_t
read_avx2(const char *memory)
{
	__m256i sum[4] = {0};
	uint64_t parts[4];

	for (size_t i = 0; i < BYTES; i += 128)
		for (int j = 0; j < 4; j++)
			sum[j] = _mm256_xor_si256(
				sum[j],
				_mm256_load_si256((const __m256i *) (memory + i + 32 * j)));
	for (int j = 1; j < 4; j++)
		sum[0] = _mm256_xor_si256(sum[0], sum[j]);
	memcpy(parts, &sum[0], sizeof parts);
	return parts[0] ^ parts[1] ^ parts[2] ^ parts[3];
}
#endif

static uint64_t
read_plain(const char *memory)
{
	const uint64_t *words = (const uint64_t *) memory;
	uint64_t sum[4] = {0};

	for (size_t i = 0; i < BYTES / 8; i += 4)
		for (int j = 0; j < 4; j++)
			sum[j] ^= words[i + j];
	return sum[0] ^ sum[1] ^ sum[2] ^ sum[3];
}

static uint64_t
read_all(const char *memory)
{
#ifdef __x86_64__
	if (__builtin_cpu_supports("avx2"))
		return read_avx2(memory);
#endif
	return read_plain(memory);
}

/* One line: GB/s of the best pass. */
void
command_bandwidth(void)
{
	char *memory = mmap(NULL, BYTES, PROT_READ | PROT_WRITE,
						MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	double best = 0;
	uint64_t sum = 0;

	if (memory == MAP_FAILED)
		die("out of memory: %zu bytes", BYTES);
	madvise(memory, BYTES, MADV_NOHUGEPAGE);
	memset(memory, 1, BYTES);
	for (int pass = 0; pass < PASSES; pass++)
	{
		double start = now_ms();
		double rate;

		sum ^= read_all(memory);
		rate = BYTES / ((now_ms() - start) * 1e6);
		if (rate > best)
			best = rate;
	}
	/* The sum is used, so that the compiler keeps the reads. */
	fprintf(stderr, "%s", sum == 1 ? " " : "");
	printf("%.2f\n", best);
}
