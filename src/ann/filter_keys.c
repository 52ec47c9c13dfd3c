/*
 * filter_keys.c
 *		Conditions on filter columns: from scan keys to tests.
 *
 * Every condition on a stored value becomes a set of intervals of integers
 * (columns.c), on a hash as well; one on an array becomes a test of its
 * signature's bits.
 */
#include "postgres.h"

#include "catalog/pg_enum.h"
#include "catalog/pg_type_d.h"
#include "utils/array.h"
#include "utils/builtins.h"
#include "utils/catcache.h"
#include "utils/lsyscache.h"
#include "utils/memutils.h"
#include "utils/syscache.h"
#include "utils/uuid.h"

#include "ann/filter.h"

/* What a key is made into. */
typedef struct Maker
{
	VxFilter *filter;
	const VxColumn *column;
	VxTerm *term;
	int capacity; /* of its intervals */
	ScanKey key;
} Maker;

/* --- intervals --------------------------------------------------------------------- */

static void *
grow(void *items, int *capacity, int count, Size size)
{
	if (count < *capacity)
		return items;
	*capacity = Max(8, 2 * *capacity);
	return items == NULL ? palloc(size * *capacity)
						 : repalloc_huge(items, size * *capacity);
}

/* Adds an interval, as far as the column's width has room for it. */
static void
add_interval(Maker *maker, int64 low, int64 high)
{
	VxTerm *term = maker->term;
	int width = maker->column->type->width;
	int64 least =
		width == 8 ? PG_INT64_MIN : -(INT64CONST(1) << (8 * width - 1));

	low = Max(low, least);
	high = Min(high, -(least + 1));
	if (low > high)
		return;
	term->intervals = grow(term->intervals, &maker->capacity, term->count,
						   sizeof(VxInterval));
	term->intervals[term->count++] = (VxInterval){low, high};
}

/* The numbers that stand in the relation of a strategy to the argument's. */
static void
add_comparison(Maker *maker, StrategyNumber strategy, Datum arg)
{
	bool exact;
	int64 number =
		vx_column_number(maker->column, maker->key->sk_subtype, arg, &exact);

	switch (strategy)
	{
		case VX_STRATEGY_EQUAL:
			if (exact)
				add_interval(maker, number, number);
			break;
		case VX_STRATEGY_LESS_EQUAL:
			if (exact)
			{
				add_interval(maker, PG_INT64_MIN, number);
				break;
			}
			/* FALLTHROUGH */
		case VX_STRATEGY_LESS:
			if (number > PG_INT64_MIN)
				add_interval(maker, PG_INT64_MIN, number - 1);
			break;
		case VX_STRATEGY_GREATER:
			if (exact)
			{
				if (number < PG_INT64_MAX)
					add_interval(maker, number + 1, PG_INT64_MAX);
				break;
			}
			/* FALLTHROUGH */
		case VX_STRATEGY_GREATER_EQUAL:
			add_interval(maker, number, PG_INT64_MAX);
			break;
		default:
			elog(ERROR, "unexpected strategy %d of a filter column", strategy);
	}
}

/*
 * Labels have an order of their own, which may change: the ones that stand in
 * the relation are looked up now.
 */
static void
add_labels(Maker *maker, Datum arg)
{
	CatCList *labels = SearchSysCacheList1(
		ENUMTYPOIDNAME, ObjectIdGetDatum(maker->column->type_id));

	for (int i = 0; i < labels->n_members; i++)
	{
		Oid label = ((Form_pg_enum) GETSTRUCT(&labels->members[i]->tuple))->oid;

		if (DatumGetBool(FunctionCall2Coll(&maker->key->sk_func, InvalidOid,
										   ObjectIdGetDatum(label), arg)))
			add_comparison(maker, VX_STRATEGY_EQUAL, ObjectIdGetDatum(label));
	}
	ReleaseSysCacheList(labels);
}

/* --- 16 bytes ---------------------------------------------------------------------- */

static void
add_wide_interval(Maker *maker, VxWide low, VxWide high)
{
	VxTerm *term = maker->term;

	term->wide =
		grow(term->wide, &maker->capacity, term->count, sizeof(VxWideInterval));
	term->wide[term->count++] = (VxWideInterval){low, high};
}

static void
add_wide(Maker *maker, Datum arg)
{
	const VxWide least = {0, 0};
	const VxWide most = {PG_UINT64_MAX, PG_UINT64_MAX};
	VxWide value = vx_wide_of(DatumGetUUIDP(arg)->data);
	VxWide before = {value.high - (value.low == 0), value.low - 1};
	VxWide after = {value.high + (value.low == PG_UINT64_MAX), value.low + 1};

	switch (maker->key->sk_strategy)
	{
		case VX_STRATEGY_EQUAL:
			add_wide_interval(maker, value, value);
			break;
		case VX_STRATEGY_LESS_EQUAL:
			add_wide_interval(maker, least, value);
			break;
		case VX_STRATEGY_LESS:
			if (vx_wide_compare(&value, &least) > 0)
				add_wide_interval(maker, least, before);
			break;
		case VX_STRATEGY_GREATER_EQUAL:
			add_wide_interval(maker, value, most);
			break;
		case VX_STRATEGY_GREATER:
			if (vx_wide_compare(&value, &most) < 0)
				add_wide_interval(maker, after, most);
			break;
		default:
			elog(ERROR, "unexpected strategy %d of a filter column",
				 maker->key->sk_strategy);
	}
}

/* --- terms ------------------------------------------------------------------------- */

static int
compare_intervals(const void *a, const void *b)
{
	const VxInterval *x = a;
	const VxInterval *y = b;

	return x->low < y->low ? -1 : x->low > y->low;
}

static int
compare_wide_intervals(const void *a, const void *b)
{
	return vx_wide_compare(&((const VxWideInterval *) a)->low,
						   &((const VxWideInterval *) b)->low);
}

/* Sorts the intervals and joins those that overlap. */
static void
join_intervals(VxTerm *term)
{
	int kept = 0;

	if (term->count > 1)
		qsort(term->intervals, term->count, sizeof(VxInterval),
			  compare_intervals);
	for (int i = 0; i < term->count; i++)
	{
		VxInterval *last = kept > 0 ? &term->intervals[kept - 1] : NULL;

		if (last != NULL && term->intervals[i].low <= last->high)
			last->high = Max(last->high, term->intervals[i].high);
		else
			term->intervals[kept++] = term->intervals[i];
	}
	term->count = kept;
}

static void
join_wide_intervals(VxTerm *term)
{
	int kept = 0;

	if (term->count > 1)
		qsort(term->wide, term->count, sizeof(VxWideInterval),
			  compare_wide_intervals);
	for (int i = 0; i < term->count; i++)
	{
		VxWideInterval *last = kept > 0 ? &term->wide[kept - 1] : NULL;

		if (last == NULL ||
			vx_wide_compare(&term->wide[i].low, &last->high) > 0)
			term->wide[kept++] = term->wide[i];
		else if (vx_wide_compare(&term->wide[i].high, &last->high) > 0)
			last->high = term->wide[i].high;
	}
	term->count = kept;
}

/* A signature says what an array may hold. */
static void
make_signature(Maker *maker)
{
	VxTerm *term = maker->term;
	int count;

	term->bits =
		vx_column_signature(maker->column, maker->key->sk_argument, &count);
	if (maker->key->sk_strategy == VX_STRATEGY_CONTAINS)
		term->test = VX_TEST_ALL_BITS;
	else
	{
		term->test = VX_TEST_ANY_BIT;
		if (count == 0)
			maker->filter->never = true;
	}
}

/* Adds what one argument of the key's operator lets pass. */
static void
add_argument(Maker *maker, Datum arg)
{
	/* Names are compared with texts, too, but have another form. */
	if (maker->column->type_id == NAMEOID && maker->key->sk_subtype == TEXTOID)
		arg = DirectFunctionCall1(text_name, arg);
	if (maker->term->test == VX_TEST_WIDE)
		add_wide(maker, arg);
	else if (maker->column->type->class == VX_CLASS_ENUM &&
			 maker->key->sk_strategy != VX_STRATEGY_EQUAL)
		add_labels(maker, arg);
	else
		add_comparison(maker, maker->key->sk_strategy, arg);
}

/* The elements of op ANY (array), NULLs left out: they let nothing pass. */
static void
add_elements(Maker *maker)
{
	ArrayType *array = DatumGetArrayTypeP(maker->key->sk_argument);
	int16 length;
	bool by_value;
	char align;
	Datum *elements;
	bool *nulls;
	int count;

	get_typlenbyvalalign(ARR_ELEMTYPE(array), &length, &by_value, &align);
	deconstruct_array(array, ARR_ELEMTYPE(array), length, by_value, align,
					  &elements, &nulls, &count);
	for (int i = 0; i < count; i++)
		if (!nulls[i])
			add_argument(maker, elements[i]);
}

static void
make_comparison(Maker *maker)
{
	VxTerm *term = maker->term;
	bool wide = maker->column->type->width == VX_COLUMN_WIDTH_MAX;

	term->test = wide ? VX_TEST_WIDE : VX_TEST_INTERVALS;
	if (maker->key->sk_flags & SK_SEARCHARRAY)
		add_elements(maker);
	else
		add_argument(maker, maker->key->sk_argument);
	if (wide)
		join_wide_intervals(term);
	else
		join_intervals(term);
	if (term->count == 0)
		maker->filter->never = true;
}

/* IS NULL and IS NOT NULL; of the vector, too. */
static bool
take_null_test(VxFilter *filter, ScanKey key)
{
	bool null = (key->sk_flags & SK_SEARCHNULL) != 0;

	if (!null && !(key->sk_flags & SK_SEARCHNOTNULL))
		return false;
	if (key->sk_attno == 1)
	{
		filter->no_vectors |= null;
		filter->no_nulls |= !null;
		return true;
	}
	filter->terms[filter->count++] =
		(VxTerm){.test = null ? VX_TEST_NULL : VX_TEST_NOT_NULL,
				 .column = key->sk_attno - 2};
	return true;
}

static void
take_key(VxFilter *filter, const VxAnnIndex *ann, ScanKey key)
{
	VxTerm *term = &filter->terms[filter->count];
	Maker maker = {.filter = filter, .term = term, .key = key};

	/* A ball is about the distance: range.c. */
	if (take_null_test(filter, key) ||
		key->sk_strategy == VX_ANN_RANGE_STRATEGY)
		return;
	if (key->sk_flags & SK_ISNULL)
	{
		filter->never = true;
		return;
	}
	Assert(key->sk_attno >= 2 && key->sk_attno <= ann->columns.count + 1);
	maker.column = &ann->column[key->sk_attno - 2];
	*term = (VxTerm){.column = key->sk_attno - 2};
	if (maker.column->type->kind == VX_COLUMN_SIGNATURE)
		make_signature(&maker);
	else
		make_comparison(&maker);
	if (maker.column->type->kind != VX_COLUMN_VALUE)
	{
		filter->lossy = true;
		filter->keys[filter->key_count++] = key;
	}
	filter->count++;
}

void
vx_filter_init(VxFilter *filter, const VxAnnIndex *ann, ScanKey keys, int count)
{
	memset(filter, 0, sizeof(VxFilter));
	if (count == 0)
		return;
	filter->terms = palloc(sizeof(VxTerm) * count);
	filter->keys = palloc(sizeof(ScanKey) * count);
	for (int i = 0; i < count; i++)
		take_key(filter, ann, &keys[i]);
	filter->never |= filter->no_vectors && filter->no_nulls;
	filter->active = filter->count > 0;
}
