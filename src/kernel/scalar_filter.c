/*
 * scalar_filter.c
 *		Tests of stored values: the definition.
 */
#include <string.h>

#include "kernel/levels.h"

/* The i-th of an array of signed integers; no alignment needed. */
static int64_t
value_at(const uint8_t *values, int width, int i)
{
	const uint8_t *at = values + (size_t) i * (size_t) width;
	int16_t two;
	int32_t four;
	int64_t eight;

	switch (width)
	{
		case 1:
			return (int8_t) *at;
		case 2:
			memcpy(&two, at, sizeof(two));
			return two;
		case 4:
			memcpy(&four, at, sizeof(four));
			return four;
		default:
			memcpy(&eight, at, sizeof(eight));
			return eight;
	}
}

void
vx_scalar_in_range(const void *values, int width, int count, int64_t low,
				   int64_t high, uint64_t *bits)
{
	for (int i = 0; i < count; i++)
	{
		int64_t value = value_at(values, width, i);

		if (low <= value && value <= high)
			bits[i / 64] |= UINT64_C(1) << (i % 64);
	}
}
