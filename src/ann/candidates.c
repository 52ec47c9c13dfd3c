/*
 * candidates.c
 *		The bounded sets of a scan: candidates, the k smallest, handled rows.
 *
 * Memory is bounded by the limits given at the start; a set that would pass its
 * limit says so, and the scan goes over to sorting (drain.c).
 */
#include "postgres.h"

#include "common/hashfn.h"

#include "ann/scan.h"

/* --- candidates ------------------------------------------------------------ */

void
vx_candidates_init(VxCandidates *set, int64 limit)
{
	set->limit = Max(limit, 1024);
	set->capacity = 512;
	set->count = 0;
	set->items = palloc(sizeof(VxCandidate) * set->capacity);
}

/* Keeps what may still be among the wanted. */
static void
drop_above(VxCandidates *set, float top)
{
	int64 kept = 0;

	for (int64 i = 0; i < set->count; i++)
		if (set->items[i].low <= top)
			set->items[kept++] = set->items[i];
	set->count = kept;
}

bool
vx_candidates_reserve(VxCandidates *set, int more, float top)
{
	if (set->count + more <= set->capacity)
		return true;
	drop_above(set, top);
	if (set->count + more <= set->capacity / 2)
		return true;
	if (set->count + more > set->limit)
		return false;
	while (set->capacity < set->count + more)
		set->capacity *= 2;
	set->items = repalloc_huge(set->items, sizeof(VxCandidate) * set->capacity);
	return true;
}

static inline bool
before(const VxCandidate *a, const VxCandidate *b)
{
	if (a->low != b->low)
		return a->low < b->low;
	return vx_tid_number(&a->tid) < vx_tid_number(&b->tid);
}

static void
sift_down(VxCandidates *set, int64 at)
{
	VxCandidate item = set->items[at];

	for (;;)
	{
		int64 child = 2 * at + 1;

		if (child >= set->count)
			break;
		if (child + 1 < set->count &&
			before(&set->items[child + 1], &set->items[child]))
			child++;
		if (!before(&set->items[child], &item))
			break;
		set->items[at] = set->items[child];
		at = child;
	}
	set->items[at] = item;
}

void
vx_candidates_heapify(VxCandidates *set)
{
	for (int64 i = set->count / 2 - 1; i >= 0; i--)
		sift_down(set, i);
}

VxCandidate
vx_candidates_pop(VxCandidates *set)
{
	VxCandidate first = set->items[0];

	Assert(set->count > 0);
	set->items[0] = set->items[--set->count];
	if (set->count > 0)
		sift_down(set, 0);
	return first;
}

/* --- the k smallest ---------------------------------------------------------- */

void
vx_smallest_init(VxSmallest *set, int64 k)
{
	set->k = k;
	set->count = 0;
	set->items = MemoryContextAllocHuge(CurrentMemoryContext,
										sizeof(double) * Max(k, 1));
	set->ceiling = get_float8_infinity();
}

void
vx_smallest_add(VxSmallest *set, double value)
{
	int64 at;

	if (set->count < set->k)
	{
		at = set->count++;
		while (at > 0 && set->items[(at - 1) / 2] < value)
		{
			set->items[at] = set->items[(at - 1) / 2];
			at = (at - 1) / 2;
		}
		set->items[at] = value;
		return;
	}
	if (set->k == 0 || value >= set->items[0])
		return;
	at = 0;
	for (;;)
	{
		int64 child = 2 * at + 1;

		if (child >= set->count)
			break;
		if (child + 1 < set->count && set->items[child + 1] > set->items[child])
			child++;
		if (set->items[child] <= value)
			break;
		set->items[at] = set->items[child];
		at = child;
	}
	set->items[at] = value;
}

/* --- handled rows -------------------------------------------------------------- */

typedef struct HandledRow
{
	uint64 tid;
	char status;
} HandledRow;

#define SH_PREFIX rows
#define SH_ELEMENT_TYPE HandledRow
#define SH_KEY_TYPE uint64
#define SH_KEY tid
#define SH_HASH_KEY(table, key)                                                \
	murmurhash32((uint32) (key) ^ (uint32) ((key) >> 32))
#define SH_EQUAL(table, a, b) ((a) == (b))
#define SH_SCOPE static inline
#define SH_DECLARE
#define SH_DEFINE
#include "lib/simplehash.h"

struct VxHandled
{
	rows_hash *table;
};

VxHandled *
vx_handled_create(void)
{
	VxHandled *set = palloc(sizeof(VxHandled));

	set->table = rows_create(CurrentMemoryContext, 64, NULL);
	return set;
}

bool
vx_handled_add(VxHandled *set, uint64 tid)
{
	bool found;

	rows_insert(set->table, tid, &found);
	return !found;
}

bool
vx_handled_has(VxHandled *set, uint64 tid)
{
	return rows_lookup(set->table, tid) != NULL;
}

int64
vx_handled_count(VxHandled *set)
{
	return set->table->members;
}
