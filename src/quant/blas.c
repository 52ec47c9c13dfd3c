/*
 * blas.c
 *		The matrix product of OpenBLAS, loaded when it is first needed.
 *
 * Only building an IVF index multiplies matrices.  Loading the library takes
 * milliseconds, which every new backend would pay if we were linked with it.
 * The serial build is loaded by its path, so no thread is ever started, whatever
 * the system's alternatives or other libraries of the process say.
 */
#include <cblas.h>
#include <dlfcn.h>

#include "quant/blas.h"

#ifndef VX_OPENBLAS
#error "VX_OPENBLAS must be the path of the serial libopenblas.so.0"
#endif

static __typeof__(cblas_sgemm) *sgemm = NULL;

const char *
vx_blas_open(void)
{
	void *library;

	if (sgemm != NULL)
		return NULL;
	library = dlopen(VX_OPENBLAS, RTLD_NOW | RTLD_LOCAL);
	if (library == NULL)
		return dlerror();
	*(void **) &sgemm = dlsym(library, "cblas_sgemm");
	return sgemm == NULL ? dlerror() : NULL;
}

bool
vx_blas_product(const float *x, int rows, const float *centroids, int lists,
				int dim, float *out)
{
	if (sgemm == NULL)
		return false;
	sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, rows, lists, dim, 1.0f, x,
		  dim, centroids, dim, 0.0f, out, lists);
	return true;
}
