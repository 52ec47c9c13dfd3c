/*
 * module.c
 *		What happens once when the library is loaded: settings and hooks.
 *
 * Needs no shared_preload_libraries: the first use of the type or of an index
 * loads the library before any hook is of use.
 */
#include "postgres.h"

#include "fmgr.h"
#include "utils/guc.h"

#include "ann/ann.h"
#include "hints.h"
#include "kernel/kernel.h"
#include "plan/gate.h"
#include "plan/limit.h"
#include "plan/pathlist.h"
#include "vector_ext.h"

PG_MODULE_MAGIC;

double vx_recall = 0.95;
int vx_probes = 0;
char *vx_simd = NULL;

void _PG_init(void);

static bool
check_simd(char **value, void **extra, GucSource source)
{
	const VxKernels *now = vx_kernels;
	bool known = vx_kernels_choose(*value);

	/* Checking must not change anything: assign_simd does. */
	vx_kernels = now;
	if (!known)
		GUC_check_errdetail("Known levels are auto, scalar and avx2; this "
							"processor may not have the one asked for.");
	return known;
}

static void
assign_simd(const char *value, void *extra)
{
	vx_kernels_choose(value);
}

void
_PG_init(void)
{
	DefineCustomRealVariable(
		"vector_ext.recall",
		"Share of the true nearest rows that an ann index scan returns.",
		"1 visits every list and gives the exact answer.", &vx_recall, 0.95,
		0.5, 1.0, PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomIntVariable(
		"vector_ext.probes", "Number of lists that an ann index scan visits.",
		"0 derives it from vector_ext.recall.", &vx_probes, 0, 0, VX_LISTS_MAX,
		PGC_USERSET, 0, NULL, NULL, NULL);
	DefineCustomStringVariable("vector_ext.simd",
							   "Instruction set of the distance kernels.",
							   "auto, scalar or avx2.", &vx_simd, "auto",
							   PGC_USERSET, 0, check_simd, assign_simd, NULL);
	MarkGUCPrefixReserved("vector_ext");

	vx_ann_options_register();
	vx_hints_install();
	vx_limit_hook_install();
	vx_pathlist_hook_install();
	vx_gate_register();
}
