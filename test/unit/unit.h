/*
 * unit.h
 *		The harness of the unit tests: checks, fixed pseudo-random data, buffers
 *		that end where memory ends.
 */
#ifndef VX_UNIT_H
#define VX_UNIT_H

#include "quant/quant.h"

typedef struct UnitTest
{
	const char *name;
	void (*run)(void);
} UnitTest;

/* One array by file, ended by a NULL name. */
extern const UnitTest half_tests[];
extern const UnitTest kernel_tests[];
extern const UnitTest plane_tests[];
extern const UnitTest filter_tests[];
extern const UnitTest exact_tests[];
extern const UnitTest rotate_tests[];
extern const UnitTest encode_tests[];
extern const UnitTest estimate_tests[];
extern const UnitTest extreme_tests[];
extern const UnitTest kmeans_tests[];

/* Marks the running test as failed and says why (the first few times). */
extern void unit_fail(const char *file, int line, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#define CHECK(condition, ...)                                                  \
	do                                                                         \
	{                                                                          \
		if (!(condition))                                                      \
			unit_fail(__FILE__, __LINE__, __VA_ARGS__);                        \
	} while (0)

/* Dimensions around every block size, and the largest. */
#define UNIT_DIMS 20
extern const int unit_dims[UNIT_DIMS];

/* The kernel tables this CPU can run; the first is scalar. */
extern const VxKernels *unit_tables[4];
extern int unit_tables_count;

/* Zeroed memory, or the end of the run. */
extern void *unit_alloc(size_t bytes);

/* Memory whose last byte is followed by a page that must not be read. */
typedef struct UnitGuard
{
	void *map;
	size_t map_bytes;
} UnitGuard;

extern void *unit_guarded(size_t bytes, UnitGuard *guard);
extern void unit_unguard(UnitGuard *guard);

/* Sum of twelve uniform values: mean 0, variance 1. */
extern double unit_gaussian(uint64_t *state);
extern void unit_fill_gaussian(float *x, size_t count, uint64_t *state);

/* FNV-1a over bytes, continued from hash. */
#define UNIT_HASH_START UINT64_C(0xcbf29ce484222325)
extern uint64_t unit_hash(uint64_t hash, const void *bytes, size_t count);

/* An index of one list: what encoder and query need. */
typedef struct UnitList
{
	VxQuantizer quantizer;
	VxListRef ref;
	uint8_t *signs;
	float *centre;
	float *centroid;
	float *rotated;
	float *scratch;
} UnitList;

/* t0 comes from a fixed table of constants, not from vx_quantizer_t0(). */
extern void unit_list_init(UnitList *list, VxMetric metric, int dim, int bits);

/* To be called after centre and centroid have been filled. */
extern void unit_list_ready(UnitList *list);
extern void unit_list_free(UnitList *list);

#endif
