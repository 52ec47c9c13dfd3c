/*
 * vector_ext.h
 *		Settings that the PostgreSQL layers share.
 */
#ifndef VX_VECTOR_EXT_H
#define VX_VECTOR_EXT_H

/* vector_ext.recall: the share of the true nearest rows to return, 0.5..1. */
extern double vx_recall;

/* vector_ext.probes: lists to visit; 0 = from recall. */
extern int vx_probes;

/* vector_ext.simd: auto, scalar, avx2. */
extern char *vx_simd;

#endif
