/*
 * test_filter.c
 *		The range test of every table, every width and count, around its ends.
 */
#include <stdlib.h>
#include <string.h>

#include "quant/random.h"
#include "unit.h"

#define COUNT_MAX 200
#define WORDS ((COUNT_MAX + 63) / 64)

/* The smallest and the largest integer of a width. */
static int64_t
least(int width)
{
	return width == 8 ? INT64_MIN : -((int64_t) 1 << (8 * width - 1));
}

static int64_t
most(int width)
{
	return -(least(width) + 1);
}

static void
store(uint8_t *at, int width, int64_t value)
{
	/* Little endian, as all machines with more than the scalar table are. */
	memcpy(at, &value, (size_t) width);
}

static void
check_range(int width, int count, int64_t low, int64_t high, uint64_t *state)
{
	UnitGuard guard;
	uint8_t *values = unit_guarded((size_t) count * (size_t) width, &guard);
	const int64_t ends[] = {least(width),
							most(width),
							low,
							high,
							low > least(width) ? low - 1 : low,
							high < most(width) ? high + 1 : high,
							0};
	uint64_t wanted[WORDS + 1] = {0};

	wanted[0] = UINT64_C(0x10);
	wanted[WORDS] = UINT64_C(0xABCD);
	for (int i = 0; i < count; i++)
	{
		int64_t value = ends[vx_random_below(state, 7)];

		store(values + i * width, width, value);
		if (low <= value && value <= high)
			wanted[i / 64] |= UINT64_C(1) << (i % 64);
	}
	for (int t = 0; t < unit_tables_count; t++)
	{
		uint64_t bits[WORDS + 1] = {0};

		bits[0] = UINT64_C(0x10);
		bits[WORDS] = UINT64_C(0xABCD);
		unit_tables[t]->in_range(values, width, count, low, high, bits);
		CHECK(memcmp(bits, wanted, sizeof(bits)) == 0,
			  "%s: width %d, %d values, %lld to %lld", unit_tables[t]->name,
			  width, count, (long long) low, (long long) high);
	}
	unit_unguard(&guard);
}

static void
test_in_range(void)
{
	uint64_t state = 7;

	for (int width = 1; width <= 8; width *= 2)
		for (int count = 0; count <= COUNT_MAX; count++)
		{
			check_range(width, count, -3, 17, &state);
			check_range(width, count, 5, 5, &state);
			check_range(width, count, least(width), -1, &state);
			check_range(width, count, 1, most(width), &state);
			check_range(width, count, least(width), most(width), &state);
		}
}

const UnitTest filter_tests[] = {
	{"filter: range of every width", test_in_range}, {NULL, NULL}};
