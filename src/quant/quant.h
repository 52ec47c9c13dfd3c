/*
 * quant.h
 *		Multi-bit RaBitQ codes: rotation, encoder, query preparation, k-means.
 *
 * Free of PostgreSQL: callers own all memory, nothing here allocates, throws or
 * starts a thread.  The formulas and their evidence are in docs/quantiser.md;
 * names here and there are the same.
 *
 *	x	a vector (for cosine: of unit length)		q	the query
 *	m	the global centre of the index				c	the centroid of the list
 *	P	the rotation								r	P(x - c), the residual
 */
#ifndef VX_QUANT_QUANT_H
#define VX_QUANT_QUANT_H

#include "kernel/kernel.h"

/* --- rotation --------------------------------------------------------- */

/*
 * Four rounds of {flip signs by the round's stream; normalised Walsh-Hadamard
 * transform over the first (even rounds) or last (odd rounds) 2^floor(log2 dim)
 * coordinates}; between the two pairs of rounds, when dim is not a power of
 * two, a butterfly (a+b)/sqrt2, (a-b)/sqrt2 of the first and last floor(dim/2)
 * coordinates.  Signs come from splitmix64 of the seed.  Orthogonal; dim 1 is
 * the identity.  Every operation is in a fixed order without fused
 * multiply-add, so the result does not depend on compiler or CPU.
 */
typedef struct VxRotation
{
	int dim;
	const uint8_t *signs; /* 4 rounds of (dim + 7) / 8 bytes */
} VxRotation;

/* Bytes of the sign table for dim. */
extern size_t vx_rotation_bytes(int dim);

/* Fills the caller's sign table and the struct. */
extern void vx_rotation_init(VxRotation *rotation, int dim, uint64_t seed,
							 uint8_t *signs);

/* Rotates dim floats in place. */
extern void vx_rotate(const VxRotation *rotation, float *x);

/* out = P(x - y), the difference taken in double; y NULL means 0. */
extern void vx_rotate_difference(const VxRotation *rotation, const float *x,
								 const float *y, float *out);

/* --- quantiser -------------------------------------------------------- */

typedef struct VxQuantizer
{
	VxMetric metric;
	int dim;
	int bits; /* 4 or 8 */
	float t0; /* where the scale search starts, see vx_quantizer_t0 */
	VxRotation rotation;
} VxQuantizer;

/*
 * The mean best scale of 200 pseudo-random Gaussian directions of this
 * dimension and bit count: deterministic, stored in the metapage as t0.
 * scratch: dim floats.
 */
extern float vx_quantizer_t0(int dim, int bits, float *scratch);

/* What is stored beside the code of an entry. */
typedef struct VxEntryFactors
{
	float f;
	float n;
	uint16_t sn;
	uint16_t en;
} VxEntryFactors;

/*
 * A list as encoder and query see it.  rotated is P(c - m) for L2 and cosine,
 * P(c) for inner product, made by vx_list_rotate.  A flat list has c = m.
 */
typedef struct VxListRef
{
	const float *centroid;
	const float *rotated;
} VxListRef;

/* Fills rotated (dim floats) for centroid c and centre m. */
extern void vx_list_rotate(const VxQuantizer *quantizer, const float *centroid,
						   const float *centre, float *rotated);

/*
 * Encodes x relative to the list: code of vx_code_bytes(dim, bits) bytes (order
 * of nibbles: kernel.h dot_u4) and factors.  Deterministic to the bit on every
 * CPU and SIMD level.  Never fails: a zero residual gives s = 0, e = 0; values
 * that would overflow give the loose factors f = 0, s = 0, n = e/n = maximum
 * finite, whose lower bound is below every distance.
 * scratch: 2 * dim floats.
 */
extern void vx_encode(const VxQuantizer *quantizer, const VxListRef *list,
					  const float *x, uint8_t *code, VxEntryFactors *factors,
					  float *scratch);

/*
 * What is stored for the signs of a code alone, a code of 1 bit with the same
 * n: y is -0.5 or 0.5.
 */
typedef struct VxSignFactors
{
	float f;
	uint16_t sn;
	uint16_t en;
} VxSignFactors;

/*
 * vx_encode, and the factors of the signs (NULL: not wanted).  Where one set of
 * factors would overflow both are loose.  bits must be 4.
 */
extern void vx_encode_planes(const VxQuantizer *quantizer,
							 const VxListRef *list, const float *x,
							 uint8_t *code, VxEntryFactors *factors,
							 VxSignFactors *signs, float *scratch);

/* Unpacks a code into dim unsigned levels; the inverse of vx_pack. */
extern void vx_unpack(const uint8_t *code, int dim, int bits, uint8_t *levels);
extern void vx_pack(const uint8_t *levels, int dim, int bits, uint8_t *code);

/*
 * Between levels of 4 bits and planes (kernel.h: sign_sums, rest_dots).
 * A block of the sign plane may be spread over pages: both functions work on
 * its units [first, first + count), whose bytes are at units, for one slot <
 * VX_PLANE_SLOTS.  put changes the slot's nibbles only; get sets the top bits of
 * the levels concerned and leaves the others alone, as vx_rest_get does with
 * the lower three bits of all.
 */
extern void vx_sign_put(const uint8_t *levels, int dim, int slot, int first,
						int count, uint8_t *units);
extern void vx_sign_get(const uint8_t *units, int dim, int slot, int first,
						int count, uint8_t *levels);
extern void vx_rest_put(const uint8_t *levels, int dim, uint8_t *row);
extern void vx_rest_get(const uint8_t *row, int dim, uint8_t *levels);

/* x := x / |x| in double.  Returns false and leaves x alone when |x| = 0. */
extern bool vx_normalize(float *x, int dim);

/* --- query ------------------------------------------------------------ */

/* Bytes the int8 form of a query needs (dim plus padding). */
#define VX_QUERY8_BYTES(dim) ((size_t) (dim) + 64)

typedef struct VxQuery
{
	const float *q;		   /* original space (unit length for cosine) */
	int8_t *q8;			   /* rotated, rounded, padded with zeros */
	float step;			   /* value of one unit of q8 */
	int32_t sum8;		   /* sum of q8 */
	double q_norm2;		   /* |q|^2 */
	double q_centre_norm2; /* |q - m|^2; for IP |q|^2 */
} VxQuery;

/*
 * Prepares q (which must stay alive): L2 and cosine rotate q - m, IP rotates q.
 * q8: VX_QUERY8_BYTES(dim) bytes.  scratch: dim floats.  A zero vector gives
 * step 0.  Never produces NaN or infinity for finite input within 1e18 norms;
 * beyond, bounds become -inf (everything is a candidate).
 */
extern void vx_query_init(VxQuery *query, const VxQuantizer *quantizer,
						  const float *q, const float *centre, int8_t *q8,
						  float *scratch);

/*
 * What the list's entries need for this query, see VxListQuery.  centroid is
 * the exact centroid in the original space (for a flat list the centre m), and
 * centre is m.
 */
extern void vx_query_list(const VxQuery *query, const VxQuantizer *quantizer,
						  const float *centroid, const float *centre, float eps,
						  VxListQuery *out);

/* Entries that vx_score works on together. */
#define VX_SCORE_ALIGN 8

/*
 * dot_u4 or dot_u8 by bits, followed by bound; dots is the caller's scratch.
 * The factors must be readable, and dots, est and low have room, up to the next
 * multiple of VX_SCORE_ALIGN entries.
 * ahead: codes that will be scored next (kernel.h dot_u4_ahead), or NULL.
 */
extern void vx_score(const VxQuery *query, const VxQuantizer *quantizer,
					 const VxListQuery *list, const uint8_t *codes,
					 const VxFactors *factors, int rows, const uint8_t *ahead,
					 int32_t *dots, float *est, float *low);

/* --- query, by planes (codes of 4 bits) ------------------------------- */

/*
 * Scores in two stages.  The first reads the signs: vx_sign_sums gives the exact
 * sum of the int8 query over the set signs, vx_sign_score the estimate and
 * bound of them.  The second reads the rest of the entries that are left and
 * gives, by the same sum, exactly what vx_score gives for the whole code.
 */
typedef struct VxPlaneQuery
{
	int dim;
	int32_t bias;		/* sum of the negative values of q8 */
	const uint8_t *lut; /* 16 bytes a unit, see sign_sums */
	const int8_t *rest; /* see rest_dots */
} VxPlaneQuery;

/* Bytes the tables of a query need. */
extern size_t vx_plane_query_bytes(int dim);

/* Fills the caller's tables from q8, and the struct. */
extern void vx_plane_query_init(VxPlaneQuery *planes, const VxQuery *query,
								int dim, uint8_t *tables);

/*
 * The list's terms for the signs, made of those for whole codes (vx_query_list).
 */
extern void vx_query_signs(const VxQuery *query, const VxQuantizer *quantizer,
						   const VxListQuery *whole, float eps,
						   VxListQuery *out);

/*
 * Adds units [first, first + count) of a lead's stream of blocks to the sums of
 * its slots (VX_PLANE_SLOTS for each block that is touched, the lead's first
 * slot at sums[0]).  units are their bytes, in one piece.  The first unit of a
 * block starts its sums; each unit has to come once, in order.  ahead: bytes
 * that will be read next, as many as units has, or NULL.
 */
extern void vx_sign_sums(const VxPlaneQuery *planes, const uint8_t *units,
						 int first, int count, const uint8_t *ahead,
						 int32_t *sums);

/*
 * Estimates and bounds of the first stage; list by vx_query_signs.  factors: f,
 * sn and en of VxSignFactors, n of VxEntryFactors.  sums, factors, est and low
 * must have room, and the factors be readable, up to the next multiple of
 * VX_SCORE_ALIGN entries.
 */
extern void vx_sign_score(const VxListQuery *list, const VxFactors *factors,
						  const int32_t *sums, int rows, float *est,
						  float *low);

/*
 * The second stage for count entries: row index[i] of rows (of one page of the
 * rest plane) has the sum of signs sums[i], which becomes its dot product, and
 * the factors i; list by vx_query_list.  Room as in vx_sign_score.
 */
extern void vx_refine(const VxPlaneQuery *planes, const VxListQuery *list,
					  const uint8_t *rows, const uint16_t *index, int count,
					  const VxFactors *factors, int32_t *sums, float *est,
					  float *low);

/*
 * Asks the memory for rows that vx_refine reads soon, best those of the next
 * page while one is worked on.
 */
extern void vx_refine_ahead(int dim, const uint8_t *rows, const uint16_t *index,
							int count);

/* --- k-means ---------------------------------------------------------- */

/* Rows that one block of the matrix product takes, given lists. */
extern int vx_assign_block(int lists);

/*
 * Nearest centroid by squared L2 of each of rows vectors (row-major, dim floats
 * each; rows <= vx_assign_block(lists)), by one matrix product.  norm2: |c|^2
 * of each centroid.  scratch: rows * lists floats.
 * Where the product cannot tell the nearest from the next (data far from the
 * origin, duplicates), both are measured exactly: ties go to the lowest list,
 * and the answer does not depend on how the library orders its sums.  A few
 * rows are measured exactly without the library.
 */
extern void vx_assign(const float *x, int rows, int dim, const float *centroids,
					  const float *norm2, int lists, float *scratch,
					  int32_t *list);

/* Squared norms of rows vectors. */
extern void vx_norms2(const float *x, int rows, int dim, float *norm2);

/*
 * Called between blocks of work, with the rows that were assigned since the last
 * call; may leave by longjmp (nothing is owned).
 */
typedef void (*VxProgress)(void *arg, int rows);

/*
 * A step of k-means: items that do not depend on each other's order, so several
 * processes can share them.
 */
typedef struct VxKmeansStep
{
	int kind;	  /* assign a block of rows, or move a centroid */
	int items;	  /* blocks, or lists */
	int64_t rows; /* looked at in this round, spread over all */
	bool refill;  /* a list is empty: a row to start it anew is wanted */
	uint64_t seed;
} VxKmeansStep;

/* Runs all items of a step, by vx_kmeans_item, in whatever order. */
typedef void (*VxKmeansRun)(void *arg, const VxKmeansStep *step);

typedef struct VxKmeans
{
	const float *x;		   /* row-major, dim floats each */
	const int32_t *chosen; /* which of them are the rows; NULL: the first */
	int64_t rows;		   /* 1 .. 2^31 - 1 */
	int dim;
	int lists;		/* wanted, >= 1; at most rows are made */
	int iterations; /* at most; stops early when nothing moves */
	bool warm;		/* centroids holds lists of them to begin with */
	uint64_t seed;
	int block_rows;	  /* rows of a matrix product, 0: as many as pay */
	int32_t *list_of; /* rows: the list of each in the last round */
	int32_t *order;	  /* rows, scratch */
	VxKmeansRun run;  /* NULL: the caller alone */
	void *run_arg;
	VxProgress progress; /* may be NULL */
	void *progress_arg;
} VxKmeans;

/* Bytes of what the processes share, and of what each has for itself. */
extern size_t vx_kmeans_state_bytes(const VxKmeans *task);
extern size_t vx_kmeans_work_bytes(const VxKmeans *task);

/*
 * Lloyd's k-means, L2, seeded by distinct random rows; an empty cluster is
 * re-seeded by splitting the largest.  Deterministic for a seed on one machine,
 * whoever runs the items, whatever block_rows.
 * centroids: lists * dim floats; state and work: aligned as malloc does.
 * Returns how many centroids are distinct and used (at least 1, at most lists;
 * fewer when the rows have fewer distinct values); only that many are filled,
 * and list_of names only these.
 */
extern int vx_kmeans(const VxKmeans *task, float *centroids, void *state,
					 void *work);

/*
 * One item of a step.  In another process than vx_kmeans the task's pointers,
 * centroids and state lead to the same memory; block_rows is the same.
 */
extern void vx_kmeans_item(const VxKmeans *task, float *centroids, void *state,
						   void *work, const VxKmeansStep *step, int item);

/*
 * Puts row numbers in order by list, ascending within a list; start (lists + 1)
 * says where lists begin in it.  Looks at count rows, spread over all.
 */
extern void vx_group_rows(const int32_t *list_of, int64_t rows, int64_t count,
						  int lists, int32_t *order, int32_t *start);

/*
 * Loads the matrix library; NULL, or why it cannot be had.  Without it vx_assign
 * and vx_kmeans give the same results by plain loops, many times as slowly.
 */
extern const char *vx_blas_open(void);

#endif
