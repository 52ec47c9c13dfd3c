/*
 * random.h
 *		splitmix64: the one source of pseudo-random bits of the quantiser.  What
 *		it yields for a seed is part of the format (rotation signs).
 */
#ifndef VX_QUANT_RANDOM_H
#define VX_QUANT_RANDOM_H

#include <stdint.h>

static inline uint64_t
vx_random_next(uint64_t *state)
{
	uint64_t z = *state += UINT64_C(0x9e3779b97f4a7c15);

	z = (z ^ (z >> 30)) * UINT64_C(0xbf58476d1ce4e5b9);
	z = (z ^ (z >> 27)) * UINT64_C(0x94d049bb133111eb);
	return z ^ (z >> 31);
}

/* Uniform in 0 .. below - 1, below > 0 and far below 2^32. */
static inline uint32_t
vx_random_below(uint64_t *state, uint32_t below)
{
	return (uint32_t) (((vx_random_next(state) >> 32) * below) >> 32);
}

#endif
