/*
 * bench.h
 *		What the files of the kernel bench share.
 */
#ifndef VX_UNIT_BENCH_H
#define VX_UNIT_BENCH_H

#include "quant/quant.h"

/* Seconds on a clock that only runs forward. */
extern double bench_now(void);

/* Pseudo-random bytes, room for eight more behind them. */
extern void *bench_filled(size_t bytes, uint64_t seed);

/* Both stages of scoring codes in planes, with the table in use. */
extern void bench_planes(void);

#endif
