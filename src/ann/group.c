/*
 * group.c
 *		Scoring the entries of one lead in two stages, in layout P.
 *
 * A lead and its code pages make a group.  The lead is copied under its lock;
 * then its sign pages are read, which give every entry an estimate and a bound;
 * then, for the entries that are left, pages of the rest plane.  One page is
 * locked at a time.  A row that is taken out of its slot between two of these
 * steps is dead to this scan, so it does not matter what its code says by then.
 */
#include "postgres.h"

#include <float.h>
#include <math.h>

#include "miscadmin.h"

#include "ann/scan.h"

/* Bounds compared together. */
#define KEEP_BLOCK 32

/* Where less than this part of the rows pass, some blocks have none. */
#define SPARSE_SHARE 8

/* Slots of a page of the rest plane at most, and room for whole vectors. */
static int
batch_room(const VxLeadLayout *layout)
{
	return TYPEALIGN(VX_SCORE_ALIGN, layout->rest_rows);
}

VxGroup *
vx_group_create(const VxAnnIndex *ann)
{
	const VxLeadLayout *layout = &ann->lead;
	VxGroup *group = palloc0(sizeof(VxGroup));
	int slots = TYPEALIGN(VX_PLANE_SLOTS, layout->slots);
	int room = batch_room(layout);

	group->lead = (char *) TYPEALIGN(PG_CACHE_LINE_SIZE,
									 palloc0(BLCKSZ + PG_CACHE_LINE_SIZE));
	group->sums = palloc(sizeof(int32) * slots);
	group->left = palloc(sizeof(uint16) * slots);
	group->tables = palloc(vx_plane_query_bytes(ann->dims));
	group->slots = palloc(sizeof(uint16) * room);
	group->index = palloc(sizeof(uint16) * room);
	group->f = palloc0(sizeof(float) * room);
	group->n = palloc0(sizeof(float) * room);
	group->sn = palloc0(sizeof(uint16) * room);
	group->en = palloc0(sizeof(uint16) * room);
	group->dots = palloc0(sizeof(int32) * room);
	group->est = palloc(sizeof(float) * room);
	group->low = palloc(sizeof(float) * room);
	return group;
}

void
vx_group_copy(VxScan *scan, void *arg, Page page, Page ahead)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	int rows =
		vx_used_slots(vx_plane(page, layout->live, uint64), layout->slots);
	const struct
	{
		uint16 at;
		uint16 bytes;
	} planes[] = {{layout->f, sizeof(float)},
				  {layout->n, sizeof(float)},
				  {layout->sign_f, sizeof(float)},
				  {layout->sn, sizeof(uint16)},
				  {layout->en, sizeof(uint16)},
				  {layout->sign_sn, sizeof(uint16)},
				  {layout->sign_en, sizeof(uint16)},
				  {layout->tids, sizeof(ItemPointerData)}};

	group->live = vx_page_lead(page)->live;
	group->passed = vx_filter_slots(scan, layout, page, rows, group->pass);
	group->sparse = group->passed * SPARSE_SHARE < rows;
	if (group->passed == 0)
		return;
	/* The header, the table and live bits, then what is used of each plane. */
	memcpy(group->lead, page, layout->killed);
	for (int i = 0; i < lengthof(planes); i++)
		memcpy(group->lead + planes[i].at, (char *) page + planes[i].at,
			   (Size) planes[i].bytes * rows);
	group->rows = rows;
}

/* --- code pages ----------------------------------------------------------------- */

/* Block of a code page; the lead's copy says which. */
static BlockNumber
code_block(const VxScan *scan, int ordinal)
{
	const VxGroup *group = scan->group;
	BlockNumber block =
		vx_plane(group->lead, scan->ann.lead.table, BlockNumber)[ordinal];

	/* Slots are filled from the first on, and with them the table. */
	if (block == 0)
		vx_corrupt(scan->ann.index, group->block,
				   "lead has %d slots in use and no code page %d", group->rows,
				   ordinal);
	return block;
}

static Buffer
pin_code(const VxScan *scan, int ordinal)
{
	BlockNumber block = code_block(scan, ordinal);

	return vx_page_pin(scan->ann.index, block, scan->ring);
}

/* NULL, and unpinned: the page belongs to somebody else now. */
static Page
lock_code(const VxScan *scan, int ordinal, Size used, Buffer buffer)
{
	const VxGroup *group = scan->group;
	VxCode owner =
		vx_code_owner(&scan->ann.lead, vx_page_lead(group->lead)->list_id,
					  group->block, ordinal);

	return vx_code_lock_pinned(scan->ann.index, code_block(scan, ordinal),
							   VX_SHARE, &owner, used, buffer);
}

/* --- the first stage --------------------------------------------------------------- */

/* Does a slot of the block pass? */
static inline bool
block_passes(const VxGroup *group, int block)
{
	return (uint32) (group->pass[block / 2] >> (block % 2 * VX_PLANE_SLOTS)) !=
		   0;
}

/* Does one of the blocks pass that have units from first on, count of them? */
static bool
any_block_passes(const VxScan *scan, int first, int count)
{
	int units = scan->ann.lead.sign_units;
	int last = (first + count - 1) / units;

	for (int block = first / units; block <= last; block++)
		if (block_passes(scan->group, block))
			return true;
	return false;
}

/* Of a page with units from first on: the sums of the blocks that pass. */
static void
sum_blocks(const VxScan *scan, Page page, int first, int count)
{
	VxGroup *group = scan->group;
	int units = scan->ann.lead.sign_units;
	int end = first + count;

	for (int block = first / units; block * units < end; block++)
	{
		int from = Max(first, block * units);
		int to = Min(end, (block + 1) * units);

		if (block_passes(group, block))
			vx_sign_sums(&group->query,
						 vx_code_data(page) +
							 (from - first) * VX_SIGN_UNIT_BYTES,
						 from, to - from, NULL, group->sums);
	}
}

/*
 * Sums of the signs of blocks in which a slot passes, from the pages that have
 * some of them.  False: a page is somebody else's.
 */
static bool
sum_some_signs(VxScan *scan)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	int pages = vx_sign_pages(layout, group->rows);
	int units = vx_sign_start(layout, group->rows - 1) + layout->sign_units;

	for (int i = 0; i < pages; i++)
	{
		int first = i * VX_CODE_UNITS;
		int count = Min(units - first, VX_CODE_UNITS);
		Buffer buffer;
		Page page;

		if (!any_block_passes(scan, first, count))
			continue;
		CHECK_FOR_INTERRUPTS();
		buffer = pin_code(scan, i);
		page = lock_code(scan, i, (Size) count * VX_SIGN_UNIT_BYTES, buffer);
		if (page == NULL)
			return false;
		sum_blocks(scan, page, first, count);
		vx_page_unlock(buffer);
	}
	return true;
}

/* Sums of the signs of all slots in use.  False: a page is somebody else's. */
static bool
sum_signs(VxScan *scan)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	int pages = vx_sign_pages(layout, group->rows);
	int units = vx_sign_start(layout, group->rows - 1) + layout->sign_units;
	Buffer ahead;

	for (int i = 0; i < pages; i++)
		vx_page_expect(scan->ann.index, code_block(scan, i));
	ahead = pin_code(scan, 0);
	for (int i = 0; i < pages; i++)
	{
		int first = i * VX_CODE_UNITS;
		int count = Min(units - first, VX_CODE_UNITS);
		Buffer buffer = ahead;
		Page page;

		CHECK_FOR_INTERRUPTS();
		ahead = i + 1 < pages ? pin_code(scan, i + 1) : InvalidBuffer;
		page = lock_code(scan, i, (Size) count * VX_SIGN_UNIT_BYTES, buffer);
		if (page == NULL)
		{
			if (BufferIsValid(ahead))
				vx_page_unpin(ahead);
			return false;
		}
		vx_sign_sums(&group->query, vx_code_data(page), first, count,
					 BufferIsValid(ahead) ? vx_code_data(BufferGetPage(ahead))
										  : NULL,
					 group->sums);
		vx_page_unlock(buffer);
	}
	return true;
}

/* Asks for the pages of the rest plane that are wanted, when pages are cold. */
static void
ask_for_rest(VxScan *scan)
{
	const VxGroup *group = scan->group;
	BlockNumber blocks;
	int last = -1;

	if (!vx_ahead_cold(scan))
		return;
	blocks = vx_page_count(scan->ann.index);
	for (int i = 0; i < group->left_count; i++)
	{
		int number = group->left[i] / scan->ann.lead.rest_rows;

		if (number != last)
			vx_page_prefetch(
				scan->ann.index,
				code_block(scan, scan->ann.lead.sign_pages + number), 1,
				blocks);
		last = number;
	}
}

bool
vx_group_first(VxScan *scan, const VxTerms *terms, BlockNumber block)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	Page lead = group->lead;
	VxFactors factors = {vx_plane(lead, layout->sign_f, float),
						 vx_plane(lead, layout->n, float),
						 vx_plane(lead, layout->sign_sn, uint16),
						 vx_plane(lead, layout->sign_en, uint16)};

	group->block = block;
	group->left_count = group->left_next = 0;
	group->ahead = InvalidBuffer;
	if (!(group->sparse ? sum_some_signs(scan) : sum_signs(scan)))
		return false;
	vx_sign_score(&terms->signs, &factors, group->sums, group->rows, scan->est,
				  scan->low);
	return true;
}

void
vx_group_keep(VxScan *scan, double limit)
{
	VxGroup *group = scan->group;
	float most = (float) Min(limit, FLT_MAX);
	int count = 0;

	/* The cast may have rounded down. */
	if (most < limit)
		most = nextafterf(most, INFINITY);
	/* Few are left: most blocks have none, which a wide loop tells. */
	for (int from = 0; from < group->rows; from += KEEP_BLOCK)
	{
		int end = Min(from + KEEP_BLOCK, group->rows);
		int kept = 0;

		for (int i = from; i < end; i++)
			kept += scan->low[i] <= most;
		for (int i = from; kept > 0 && i < end; i++)
		{
			if (scan->low[i] <= most && vx_bit(group->pass, i))
				group->left[count++] = i;
		}
	}
	group->left_count = count;
	ask_for_rest(scan);
}

/* --- the second stage --------------------------------------------------------------- */

/* The entries left of the next page of the rest plane that has any. */
static int
next_batch(const VxScan *scan, int *at, double limit, uint16 *slots)
{
	const VxGroup *group = scan->group;
	int rest_rows = scan->ann.lead.rest_rows;
	int number = -1;
	int count = 0;

	for (; *at < group->left_count; (*at)++)
	{
		int slot = group->left[*at];

		if (!(scan->low[slot] <= limit))
			continue;
		if (count > 0 && slot / rest_rows != number)
			break;
		number = slot / rest_rows;
		slots[count++] = slot;
	}
	return count;
}

/* Pins the page of the batch that comes next, and asks for its rows. */
static void
look_ahead(VxScan *scan, double limit)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	int at = group->left_next;
	int count = next_batch(scan, &at, limit, group->index);

	if (count == 0)
		return;
	group->ahead_number = group->index[0] / layout->rest_rows;
	group->ahead = pin_code(scan, layout->sign_pages + group->ahead_number);
	for (int i = 0; i < count; i++)
		group->index[i] %= layout->rest_rows;
	vx_refine_ahead(scan->ann.dims, vx_code_data(BufferGetPage(group->ahead)),
					group->index, count);
}

static void
gather(VxScan *scan)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	Page lead = group->lead;

	for (int i = 0; i < group->count; i++)
	{
		int slot = group->slots[i];

		group->index[i] = slot % layout->rest_rows;
		group->f[i] = vx_plane(lead, layout->f, float)[slot];
		group->n[i] = vx_plane(lead, layout->n, float)[slot];
		group->sn[i] = vx_plane(lead, layout->sn, uint16)[slot];
		group->en[i] = vx_plane(lead, layout->en, uint16)[slot];
		group->dots[i] = group->sums[slot];
	}
}

bool
vx_group_next(VxScan *scan, const VxTerms *terms, double limit)
{
	VxGroup *group = scan->group;
	const VxLeadLayout *layout = &scan->ann.lead;
	VxFactors factors = {group->f, group->n, group->sn, group->en};
	Buffer buffer = group->ahead;
	int number;
	Page page;

	group->ahead = InvalidBuffer;
	group->count = next_batch(scan, &group->left_next, limit, group->slots);
	number = group->count > 0 ? group->slots[0] / layout->rest_rows : -1;
	/* What was looked ahead at may be above the limit by now. */
	if (BufferIsValid(buffer) && group->ahead_number != number)
	{
		vx_page_unpin(buffer);
		buffer = InvalidBuffer;
	}
	if (group->count == 0)
		return true;
	if (!BufferIsValid(buffer))
		buffer = pin_code(scan, layout->sign_pages + number);
	look_ahead(scan, limit);
	gather(scan);
	page = lock_code(scan, layout->sign_pages + number,
					 (Size) (group->index[group->count - 1] + 1) *
						 layout->rest_bytes,
					 buffer);
	if (page == NULL)
	{
		if (BufferIsValid(group->ahead))
			vx_page_unpin(group->ahead);
		return false;
	}
	vx_refine(&group->query, &terms->whole, vx_code_data(page), group->index,
			  group->count, &factors, group->dots, group->est, group->low);
	vx_page_unlock(buffer);
	scan->work.refined += group->count;
	return true;
}
