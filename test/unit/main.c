/*
 * main.c
 *		Runs the unit tests, or those whose name contains the argument.
 */
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "quant/random.h"
#include "unit.h"

/* Messages of one failing test before it falls silent. */
#define MESSAGES_MAX 20

const int unit_dims[UNIT_DIMS] = {1,   2,	3,	  4,	7,	  8,	31,
								  32,  33,	63,	  64,	65,	  100,	127,
								  384, 768, 1023, 1536, 3072, 16000};
const VxKernels *unit_tables[4];
int unit_tables_count;

static int failures_of_test;

void
unit_fail(const char *file, int line, const char *format, ...)
{
	va_list args;

	if (failures_of_test++ >= MESSAGES_MAX)
		return;
	printf("  %s:%d: ", file, line);
	va_start(args, format);
	vprintf(format, args);
	va_end(args);
	printf("\n");
}

void *
unit_alloc(size_t bytes)
{
	void *p = calloc(1, bytes > 0 ? bytes : 1);

	if (p == NULL)
	{
		printf("out of memory\n");
		exit(2);
	}
	return p;
}

void *
unit_guarded(size_t bytes, UnitGuard *guard)
{
	size_t page = (size_t) sysconf(_SC_PAGESIZE);
	size_t room = (bytes + page - 1) / page * page;

	guard->map_bytes = room + page;
	guard->map = mmap(NULL, guard->map_bytes, PROT_READ | PROT_WRITE,
					  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (guard->map == MAP_FAILED ||
		mprotect((char *) guard->map + room, page, PROT_NONE) != 0)
	{
		printf("no guarded memory\n");
		exit(2);
	}
	return (char *) guard->map + room - bytes;
}

void
unit_unguard(UnitGuard *guard)
{
	munmap(guard->map, guard->map_bytes);
}

double
unit_gaussian(uint64_t *state)
{
	double sum = -6.0;

	for (int k = 0; k < 12; k++)
		sum += (double) (vx_random_next(state) >> 11) * 0x1p-53;
	return sum;
}

void
unit_fill_gaussian(float *x, size_t count, uint64_t *state)
{
	for (size_t i = 0; i < count; i++)
		x[i] = (float) unit_gaussian(state);
}

uint64_t
unit_hash(uint64_t hash, const void *bytes, size_t count)
{
	const uint8_t *p = bytes;

	for (size_t i = 0; i < count; i++)
		hash = (hash ^ p[i]) * UINT64_C(0x100000001b3);
	return hash;
}

void
unit_list_init(UnitList *list, VxMetric metric, int dim, int bits)
{
	size_t floats = sizeof(float) * (size_t) dim;

	list->signs = unit_alloc(vx_rotation_bytes(dim));
	list->centre = unit_alloc(floats);
	list->centroid = unit_alloc(floats);
	list->rotated = unit_alloc(floats);
	list->scratch = unit_alloc(2 * floats);
	list->quantizer.metric = metric;
	list->quantizer.dim = dim;
	list->quantizer.bits = bits;
	list->quantizer.t0 =
		dim == 1 ? 0.5f
				 : (float) ((bits == 8 ? 32.0 : 3.05) * sqrt((double) dim));
	vx_rotation_init(&list->quantizer.rotation, dim, 42, list->signs);
	list->ref.centroid = list->centroid;
	list->ref.rotated = list->rotated;
}

void
unit_list_ready(UnitList *list)
{
	vx_list_rotate(&list->quantizer, list->centroid, list->centre,
				   list->rotated);
}

void
unit_list_free(UnitList *list)
{
	free(list->signs);
	free(list->centre);
	free(list->centroid);
	free(list->rotated);
	free(list->scratch);
}

static void
run(const UnitTest *tests, const char *only, int *passed, int *failed)
{
	for (; tests->name != NULL; tests++)
	{
		if (only != NULL && strstr(tests->name, only) == NULL)
			continue;
		failures_of_test = 0;
		vx_kernels_choose("auto");
		tests->run();
		printf("%s %s\n", failures_of_test == 0 ? "ok  " : "FAIL", tests->name);
		fflush(stdout);
		if (failures_of_test == 0)
			(*passed)++;
		else
			(*failed)++;
	}
}

int
main(int argc, char **argv)
{
	const UnitTest *const all[] = {half_tests,	 kernel_tests,	 plane_tests,
								   filter_tests, exact_tests,	 rotate_tests,
								   encode_tests, estimate_tests, extreme_tests,
								   kmeans_tests};
	int passed = 0;
	int failed = 0;

	unit_tables_count = vx_kernels_available(unit_tables, 4);
	for (size_t i = 0; i < sizeof(all) / sizeof(all[0]); i++)
		run(all[i], argc > 1 ? argv[1] : NULL, &passed, &failed);
	printf("%d passed, %d failed\n", passed, failed);
	return failed > 0 || passed == 0;
}
