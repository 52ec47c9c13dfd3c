/*
 * filter.h
 *		The conditions of a scan on the index's columns, ready to be tested.
 *
 * Made from the scan keys when a scan starts; testing a page allocates nothing
 * and raises nothing, since the page is locked meanwhile.
 */
#ifndef VX_ANN_FILTER_H
#define VX_ANN_FILTER_H

#include "postgres.h"

#include "access/skey.h"
#include "port/pg_bswap.h"

#include "ann/ann.h"
#include "ann/columns.h"

/* A closed interval of stored numbers. */
typedef struct VxInterval
{
	int64 low;
	int64 high;
} VxInterval;

/* And of 16 bytes, as two integers without a sign. */
typedef struct VxWide
{
	uint64 high;
	uint64 low;
} VxWide;

/* 16 bytes of a value, which order as bytes do. */
static inline VxWide
vx_wide_of(const uint8 *bytes)
{
	VxWide wide;

	memcpy(&wide.high, bytes, sizeof(uint64));
	memcpy(&wide.low, bytes + sizeof(uint64), sizeof(uint64));
	wide.high = pg_ntoh64(wide.high);
	wide.low = pg_ntoh64(wide.low);
	return wide;
}

static inline int
vx_wide_compare(const VxWide *a, const VxWide *b)
{
	if (a->high != b->high)
		return a->high < b->high ? -1 : 1;
	if (a->low != b->low)
		return a->low < b->low ? -1 : 1;
	return 0;
}

typedef struct VxWideInterval
{
	VxWide low;
	VxWide high;
} VxWideInterval;

typedef enum VxTest
{
	VX_TEST_INTERVALS, /* the value is in one of them */
	VX_TEST_WIDE,	   /* the same for 16 bytes */
	VX_TEST_ALL_BITS,  /* of a signature */
	VX_TEST_ANY_BIT,
	VX_TEST_NULL,
	VX_TEST_NOT_NULL,
} VxTest;

/* One condition on one column; all but NULL say that the value is not NULL. */
typedef struct VxTerm
{
	VxTest test;
	int column; /* of the filter columns */
	int count;	/* of intervals: ascending, disjoint */
	VxInterval *intervals;
	VxWideInterval *wide;
	uint64 bits;
} VxTerm;

typedef struct VxFilter
{
	bool active;	 /* there is something to test of rows with a vector */
	bool never;		 /* no row can pass */
	bool lossy;		 /* rows that pass are to be looked at once more */
	bool no_vectors; /* embedding IS NULL */
	bool no_nulls;	 /* embedding IS NOT NULL */
	bool no_zeros;	 /* only rows that have a distance */
	int count;
	VxTerm *terms;
	/* Conditions that the stored values do not decide, for vx_filter_row. */
	int key_count;
	ScanKey *keys;
} VxFilter;

/* --- filter_keys.c ------------------------------------------------------------- */

/*
 * Makes the filter of the keys, in the current context.  May call functions of
 * the types, and look at catalogs.
 */
extern void vx_filter_init(VxFilter *filter, const VxAnnIndex *ann,
						   ScanKey keys, int count);

/* --- filter.c ------------------------------------------------------------------ */

/* pass: the bits of rows slots, cleared where a slot's values do not pass. */
extern void vx_filter_test(const VxFilter *filter, const VxLeadLayout *layout,
						   Page page, int rows, uint64 *pass);

/*
 * Do the row's own values, in the order of the index's columns, pass the
 * conditions that stored values do not decide?
 */
extern bool vx_filter_row(const VxFilter *filter, const Datum *values,
						  const bool *isnull);

#endif
