/*
 * filter.c
 *		Conditions on filter columns: testing the slots of a page, and a row.
 */
#include "postgres.h"

#include "port/pg_bitutils.h"
#include "utils/array.h"

#include "ann/scan.h"

/* Up to so many intervals are tested one by one, over all slots. */
#define SWEEPS_MAX 8

/* --- testing a page ---------------------------------------------------------------- */

static int64
number_at(const char *values, int width, int slot)
{
	switch (width)
	{
		case 1:
			return ((const int8 *) values)[slot];
		case 2:
			return ((const int16 *) values)[slot];
		case 4:
			return ((const int32 *) values)[slot];
		default:
			return ((const int64 *) values)[slot];
	}
}

/* Is the number in one of many intervals? */
static bool
in_intervals(const VxTerm *term, int64 number)
{
	int low = 0;
	int high = term->count;

	/* The last interval that does not begin above it. */
	while (low < high)
	{
		int middle = (low + high) / 2;

		if (term->intervals[middle].low <= number)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && number <= term->intervals[low - 1].high;
}

static bool
in_wide_intervals(const VxTerm *term, const uint8 *bytes)
{
	VxWide value = vx_wide_of(bytes);
	int low = 0;
	int high = term->count;

	while (low < high)
	{
		int middle = (low + high) / 2;

		if (vx_wide_compare(&term->wide[middle].low, &value) <= 0)
			low = middle + 1;
		else
			high = middle;
	}
	return low > 0 && vx_wide_compare(&value, &term->wide[low - 1].high) <= 0;
}

/* What the slot's own value says. */
static bool
test_slot(const VxTerm *term, const char *values, int width, int slot)
{
	uint64 signature;

	switch (term->test)
	{
		case VX_TEST_INTERVALS:
			return in_intervals(term, number_at(values, width, slot));
		case VX_TEST_WIDE:
			return in_wide_intervals(term, (const uint8 *) values +
											   VX_COLUMN_WIDTH_MAX * slot);
		case VX_TEST_ALL_BITS:
			signature = (uint64) number_at(values, width, slot);
			return (signature & term->bits) == term->bits;
		case VX_TEST_ANY_BIT:
			signature = (uint64) number_at(values, width, slot);
			return (signature & term->bits) != 0;
		case VX_TEST_NULL:
		case VX_TEST_NOT_NULL:
			break;
	}
	return true;
}

/* Slots that still pass, one by one. */
static void
test_slots(const VxTerm *term, const char *values, int width, int words,
		   uint64 *pass)
{
	for (int w = 0; w < words; w++)
	{
		uint64 left = pass[w];

		while (left != 0)
		{
			int bit = pg_rightmost_one_pos64(left);

			left &= left - 1;
			if (!test_slot(term, values, width, w * 64 + bit))
				pass[w] &= ~(UINT64CONST(1) << bit);
		}
	}
}

/* All slots, an interval at a time. */
static void
sweep_slots(const VxTerm *term, const char *values, int width, int rows,
			uint64 *pass)
{
	int words = (rows + 63) / 64;
	uint64 in[VX_SLOT_WORDS_MAX] = {0};

	for (int i = 0; i < term->count; i++)
		vx_kernels->in_range(values, width, rows, term->intervals[i].low,
							 term->intervals[i].high, in);
	for (int w = 0; w < words; w++)
		pass[w] &= in[w];
}

static void
test_term(const VxTerm *term, const VxLeadLayout *layout, Page page, int rows,
		  uint64 *pass)
{
	int words = (rows + 63) / 64;
	const uint64 *nulls = vx_plane(page, layout->nulls, uint64) +
						  term->column * ((layout->slots + 63) / 64);
	const VxColumnPlane *plane = &layout->column[term->column];
	const char *values = vx_plane(page, plane->at, char);
	uint64 null = term->test == VX_TEST_NULL ? 0 : ~UINT64CONST(0);

	for (int w = 0; w < words; w++)
		pass[w] &= nulls[w] ^ null;
	if (term->test == VX_TEST_INTERVALS && term->count <= SWEEPS_MAX)
		sweep_slots(term, values, plane->width, rows, pass);
	else if (term->test != VX_TEST_NULL && term->test != VX_TEST_NOT_NULL)
		test_slots(term, values, plane->width, words, pass);
}

void
vx_filter_test(const VxFilter *filter, const VxLeadLayout *layout, Page page,
			   int rows, uint64 *pass)
{
	for (int i = 0; i < filter->count; i++)
		test_term(&filter->terms[i], layout, page, rows, pass);
}

/* Slots that still pass, whose heap pointer does not. */
static void
test_gate(VxScan *scan, const VxLeadLayout *layout, Page page, int rows,
		  uint64 *pass)
{
	const ItemPointerData *tids = vx_plane(page, layout->tids, ItemPointerData);

	for (int slot = vx_bit_next(pass, rows, 0); slot < rows;
		 slot = vx_bit_next(pass, rows, slot + 1))
	{
		if (vx_gate_has(scan->gate, &tids[slot]))
			continue;
		vx_bit_clear(pass, slot);
		scan->gated++;
	}
}

int
vx_filter_slots(VxScan *scan, const VxLeadLayout *layout, Page page, int rows,
				uint64 *pass)
{
	int words = (rows + 63) / 64;
	int count = 0;

	memcpy(pass, vx_plane(page, layout->live, uint64), sizeof(uint64) * words);
	if (scan->filter.active)
		vx_filter_test(&scan->filter, layout, page, rows, pass);
	if (scan->gate != NULL)
		test_gate(scan, layout, page, rows, pass);
	for (int w = 0; w < words; w++)
		count += pg_popcount64(pass[w]);
	return count;
}

/* --- testing a row ------------------------------------------------------------------ */

/* Does op ANY (array) hold for the value? */
static bool
any_element(ScanKey key, Datum value)
{
	ArrayType *array = DatumGetArrayTypeP(key->sk_argument);
	ArrayIterator iterator = array_create_iterator(array, 0, NULL);
	bool found = false;
	Datum element;
	bool isnull;

	while (!found && array_iterate(iterator, &element, &isnull))
		found = !isnull &&
				DatumGetBool(FunctionCall2Coll(&key->sk_func, key->sk_collation,
											   value, element));
	array_free_iterator(iterator);
	return found;
}

bool
vx_filter_row(const VxFilter *filter, const Datum *values, const bool *isnull)
{
	for (int i = 0; i < filter->key_count; i++)
	{
		ScanKey key = filter->keys[i];
		Datum value = values[key->sk_attno - 1];

		if (isnull[key->sk_attno - 1])
			return false;
		if (key->sk_flags & SK_SEARCHARRAY)
		{
			if (!any_element(key, value))
				return false;
		}
		else if (!DatumGetBool(FunctionCall2Coll(&key->sk_func,
												 key->sk_collation, value,
												 key->sk_argument)))
			return false;
	}
	return true;
}
