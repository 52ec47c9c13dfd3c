/*
 * vector.h
 *		The type vector(n): memory layout and what other layers need of it.
 *
 * The layout equals pgvector's (promise T1): varlena header, int16 dim, int16
 * zero, dim float4 values.
 */
#ifndef VX_TYPE_VECTOR_H
#define VX_TYPE_VECTOR_H

#include "postgres.h"
#include "fmgr.h"

#include "kernel/kernel.h"

typedef struct Vector
{
	int32 vl_len_; /* varlena header, do not touch directly */
	int16 dim;
	int16 unused; /* always 0 */
	float x[FLEXIBLE_ARRAY_MEMBER];
} Vector;

#define VECTOR_SIZE(dim) (offsetof(Vector, x) + sizeof(float) * (dim))
#define DatumGetVector(d) ((Vector *) PG_DETOAST_DATUM(d))
#define PG_GETARG_VECTOR_P(n) DatumGetVector(PG_GETARG_DATUM(n))
#define PG_RETURN_VECTOR_P(v) PG_RETURN_POINTER(v)

/* The vectors within a radius of x, see vector_ball.c. */
typedef struct VectorBall
{
	int32 vl_len_;
	int16 dim;
	int16 with_nan; /* vectors without a distance are within, too */
	double radius;
	float x[FLEXIBLE_ARRAY_MEMBER];
} VectorBall;

#define DatumGetVectorBall(d) ((VectorBall *) PG_DETOAST_DATUM(d))

/* A vector of zeros in the current memory context. */
extern Vector *vx_vector_new(int dim);

/* ERROR 22000 below 1 dimension, 54000 above VX_DIM_MAX. */
extern void vx_vector_check_dim(int dim);

/* ERROR 22000 unless the type modifier is absent (-1) or equals dim. */
extern void vx_vector_check_typmod(int dim, int32 typmod);

/* ERROR 22000 unless both have the same dimension. */
extern void vx_vector_check_same_dim(const Vector *a, const Vector *b);

/* ERROR 22000 for NaN and infinity. */
extern void vx_vector_check_value(float value);

/*
 * The vector of an integer[], real[], double precision[] or numeric[], in the
 * current memory context.  ERROR for an array that no vector can hold.
 */
extern Vector *vx_vector_from_array(Datum array);

/*
 * The distances as the operators return them: double precision accumulation,
 * Infinity where the sum leaves the range of float4 (L2, inner product, L1; as
 * pgvector), NaN for the cosine of a zero vector.  The index ranks rows by
 * exactly these values.
 */
extern double vx_l2_distance(const float *x, const float *y, int dim);
extern double vx_negative_inner_product(const float *x, const float *y,
										int dim);
extern double vx_cosine_distance(const float *x, const float *y, int dim);
extern double vx_l1_distance(const float *x, const float *y, int dim);

#endif
