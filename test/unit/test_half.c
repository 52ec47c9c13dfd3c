/*
 * test_half.c
 *		Half precision over all of its values, and the choice of a table.
 */
#include <math.h>
#include <string.h>

#include "unit.h"

/* The value of a finite half by its definition. */
static double
half_value(int h)
{
	int exponent = h >> 10 & 31;
	double mantissa = h & 1023;
	double magnitude = exponent == 0 ? ldexp(mantissa, -24)
									 : ldexp(mantissa + 1024, exponent - 25);

	return (h & 0x8000) != 0 ? -magnitude : magnitude;
}

static void
half_to_float(void)
{
	for (int h = 0; h < 65536; h++)
	{
		float x = vx_half_float((uint16_t) h);

		if ((h & 0x7fff) > 0x7c00)
			CHECK(isnan(x), "%04x is not NaN", h);
		else if ((h & 0x7fff) == 0x7c00)
			CHECK(isinf(x) && (x < 0) == (h > 0x8000), "%04x gives %g", h, x);
		else
			CHECK((double) x == half_value(h) &&
					  !signbit(x) == ((h & 0x8000) == 0),
				  "%04x gives %g", h, x);
	}
}

static void
half_nearest_inverts(void)
{
	for (int h = 0; h < 65536; h++)
	{
		float x = vx_half_float((uint16_t) h);

		if (isnan(x))
			CHECK(isnan(vx_half_float(vx_half_nearest(x))), "%04x", h);
		else
			CHECK(vx_half_nearest(x) == h, "%04x became %04x", h,
				  vx_half_nearest(x));
	}
}

/* Between two neighbours: each side goes to its own, the middle to the even. */
static void
half_nearest_rounds(void)
{
	for (int h = 0; h < 0x7c00; h++)
	{
		double next = h == 0x7bff ? 65536.0 : half_value(h + 1);
		float middle = (float) ((half_value(h) + next) / 2);
		int even = (h & 1) == 0 ? h : h + 1;

		CHECK(vx_half_nearest(middle) == even, "middle of %04x", h);
		CHECK(vx_half_nearest(nextafterf(middle, 0.0f)) == h, "below %04x", h);
		CHECK(vx_half_nearest(nextafterf(middle, INFINITY)) == h + 1,
			  "above %04x", h);
		CHECK(vx_half_nearest(-middle) == (even | 0x8000), "minus %04x", h);
	}
	CHECK(vx_half_nearest(3e38f) == 0x7c00, "overflow");
	CHECK(vx_half_nearest(1e-45f) == 0, "underflow");
}

static void
half_up_covers(void)
{
	for (int h = 0; h < 0x7c00; h++)
	{
		float x = (float) half_value(h);

		CHECK(vx_half_up(x) == h, "%04x is not kept", h);
		CHECK(vx_half_up(nextafterf(x, INFINITY)) == h + 1, "above %04x", h);
	}
	CHECK(vx_half_up(3e38f) == 0x7c00, "overflow");
	CHECK(vx_half_up(1e-45f) == 1, "smallest float");
	CHECK(vx_half_up(0.0f) == 0, "zero");
	CHECK(isnan(vx_half_float(vx_half_up(NAN))), "NaN");
}

static void
choice_by_name(void)
{
	CHECK(vx_kernels_choose("scalar"), "scalar must be there");
	CHECK(strcmp(vx_kernels->name, "scalar") == 0, "got %s", vx_kernels->name);
	CHECK(!vx_kernels_choose("avx9"), "unknown name");
	CHECK(!vx_kernels_choose(""), "empty name");
	CHECK(strcmp(vx_kernels->name, "scalar") == 0, "a refusal changed it");
	CHECK(vx_kernels_choose("auto"), "auto must be there");
	CHECK(vx_kernels == unit_tables[unit_tables_count - 1], "auto is the best");
	CHECK(vx_kernels_available(unit_tables, 1) == 1, "max is respected");
}

const UnitTest half_tests[] = {
	{"half: every value to float", half_to_float},
	{"half: nearest inverts every value", half_nearest_inverts},
	{"half: nearest rounds ties to even", half_nearest_rounds},
	{"half: up never goes below", half_up_covers},
	{"kernels: choice by name", choice_by_name},
	{NULL, NULL},
};
