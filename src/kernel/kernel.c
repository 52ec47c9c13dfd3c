/*
 * kernel.c
 *		Choice of the kernel table, and half precision.
 */
#include <string.h>

#include "kernel/levels.h"

#ifdef VX_HAVE_AVX2
#include <cpuid.h>
#endif

const VxKernels *vx_kernels = &vx_kernels_scalar;

#ifdef VX_HAVE_AVX2
/* __builtin_cpu_supports() of clang 14 does not know f16c. */
static bool
cpu_has_f16c(void)
{
	unsigned eax, ebx, ecx, edx;

	return __get_cpuid(1, &eax, &ebx, &ecx, &edx) && (ecx & bit_F16C) != 0;
}

static bool
cpu_runs_avx2(void)
{
	__builtin_cpu_init();
	return __builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma") &&
		   cpu_has_f16c();
}
#endif

int
vx_kernels_available(const VxKernels **tables, int max)
{
	int count = 0;

	if (count < max)
		tables[count++] = &vx_kernels_scalar;
#ifdef VX_HAVE_AVX2
	if (count < max && cpu_runs_avx2())
		tables[count++] = &vx_kernels_avx2;
#endif
	return count;
}

bool
vx_kernels_choose(const char *name)
{
	const VxKernels *tables[4];
	int count = vx_kernels_available(tables, 4);

	if (strcmp(name, "auto") == 0)
	{
		vx_kernels = tables[count - 1];
		return true;
	}
	for (int i = 0; i < count; i++)
	{
		if (strcmp(name, tables[i]->name) == 0)
		{
			vx_kernels = tables[i];
			return true;
		}
	}
	return false;
}

static uint32_t
float_bits(float x)
{
	uint32_t bits;

	memcpy(&bits, &x, sizeof(bits));
	return bits;
}

static float
bits_float(uint32_t bits)
{
	float x;

	memcpy(&x, &bits, sizeof(x));
	return x;
}

/*
 * Drops the low bits of a finite magnitude below 2^16: rest receives what was
 * dropped in units of half a last place (1 is exactly half, odd sticky bits
 * make it more or less), for the caller to round.
 */
static uint16_t
half_truncate(uint32_t magnitude, int *rest)
{
	int exponent = (int) (magnitude >> 23) - 127;
	uint32_t mantissa = magnitude & 0x7fffff;
	uint32_t half, dropped, middle;
	int shift = 13;

	if (exponent >= -14)
		half = ((uint32_t) (exponent + 15) << 10) | (mantissa >> 13);
	else
	{
		/* Subnormal: beyond 25 bits nothing but the sticky bit is left. */
		if (exponent < -25)
		{
			*rest = magnitude != 0 ? -1 : -2;
			return 0;
		}
		mantissa |= 0x800000;
		shift = -exponent - 1;
		half = mantissa >> shift;
	}
	dropped = mantissa & ((1u << shift) - 1);
	middle = 1u << (shift - 1);
	if (dropped == 0)
		*rest = -2;
	else
		*rest = dropped < middle ? -1 : dropped == middle ? 0 : 1;
	return (uint16_t) half;
}

uint16_t
vx_half_nearest(float x)
{
	uint32_t bits = float_bits(x);
	uint16_t sign = (uint16_t) (bits >> 16 & 0x8000);
	uint32_t magnitude = bits & 0x7fffffff;
	uint16_t half;
	int rest;

	if (magnitude > 0x7f800000)
		return (uint16_t) (sign | 0x7e00);
	if (magnitude >= 0x47800000) /* 2^16 */
		return (uint16_t) (sign | 0x7c00);
	half = half_truncate(magnitude, &rest);
	/* A carry out of the mantissa is the next binade, or infinity: right. */
	if (rest > 0 || (rest == 0 && (half & 1) != 0))
		half++;
	return (uint16_t) (sign | half);
}

uint16_t
vx_half_up(float x)
{
	uint32_t magnitude = float_bits(x) & 0x7fffffff;
	uint16_t half;
	int rest;

	if (magnitude > 0x7f800000)
		return 0x7e00;
	if (magnitude >= 0x47800000)
		return 0x7c00;
	half = half_truncate(magnitude, &rest);
	return (uint16_t) (rest > -2 ? half + 1 : half);
}

float
vx_half_float(uint16_t h)
{
	uint32_t sign = (uint32_t) (h & 0x8000) << 16;
	uint32_t exponent = h >> 10 & 31;
	uint32_t mantissa = h & 0x3ff;
	float x;

	if (exponent == 31)
		return bits_float(sign | 0x7f800000 | mantissa << 13);
	if (exponent != 0)
		return bits_float(sign | (exponent + 112) << 23 | mantissa << 13);
	x = (float) mantissa * 0x1p-24f;
	return sign != 0 ? -x : x;
}
