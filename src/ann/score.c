/*
 * score.c
 *		What a scan does with the pages of a list: scoring, and candidates.
 *
 * Slots that do not pass the filter are left out first.  Whole codes are scored
 * under the page's lock; a lead whose codes are in two planes is copied, and
 * scored by group.c.
 */
#include "postgres.h"

#include "ann/scan.h"

/* Where more than this part of a page's rows pass, all are scored at once. */
#define SCORE_ALL_SHARE 4

/* So many rows, and so many times those wanted, are fetched without scoring. */
#define EXACT_ROWS_MIN 100
#define EXACT_ROWS_FACTOR 10

/* So many entries must have been scanned before it is known how few pass. */
#define EXACT_SCANNED_MIN 1000

typedef struct ScoreWalk
{
	const VxDirList *list;
	VxTerms terms;
	bool ready; /* the terms are */
	bool full;	/* the candidates' limit was hit */
} ScoreWalk;

static bool
score_prepare(VxScan *scan, void *arg)
{
	ScoreWalk *walk = arg;
	int64 count = scan->candidates.count;

	walk->full = !vx_candidates_reserve(&scan->candidates, scan->ann.lead.slots,
										vx_smallest_top(&scan->top));
	if (scan->candidates.count < count)
		scan->cut = true;
	return !walk->full;
}

int
vx_score_page(VxScan *scan, const VxListQuery *terms, Page page, Page ahead)
{
	const VxLeadLayout *layout = &scan->ann.lead;
	int rows =
		vx_used_slots(vx_plane(page, layout->live, uint64), layout->slots);
	VxFactors factors = {
		vx_plane(page, layout->f, float), vx_plane(page, layout->n, float),
		vx_plane(page, layout->sn, uint16), vx_plane(page, layout->en, uint16)};

	for (int at = 0; ahead != NULL && at < layout->codes; at += 64)
		__builtin_prefetch((char *) ahead + at);
	vx_score(&scan->query, &scan->ann.quantizer, terms,
			 vx_plane(page, layout->codes, uint8), &factors, rows,
			 ahead == NULL ? NULL : vx_plane(ahead, layout->codes, uint8),
			 scan->dots, scan->est, scan->low);
	return rows;
}

/*
 * An entry that may be among the wanted becomes a candidate.  top holds upper
 * bounds, so its top is one for the wanted-th nearest distance.
 */
static inline void
add_candidate(VxScan *scan, const ItemPointerData *tid, float est, float low)
{
	VxCandidate *candidate = &scan->candidates.items[scan->candidates.count];

	if (scan->rounds > 1 && vx_handled_has(scan->handled, vx_tid_number(tid)))
		return;
	candidate->low = low;
	candidate->tid = *tid;
	scan->candidates.count++;
	if (low > -get_float4_infinity())
		vx_smallest_add(&scan->top, 2.0 * est - low);
}

/* An entry that is not a candidate may be one in a later round. */
static inline void
leave_out(VxScan *scan, float low)
{
	if (low <= scan->top.ceiling)
		scan->cut = true;
}

/* So few rows pass that they are fetched without a look at their codes. */
static void
add_unscored(VxScan *scan, Page page, const uint64 *pass)
{
	const ItemPointerData *tids =
		vx_plane(page, scan->ann.lead.tids, ItemPointerData);
	int slots = scan->ann.lead.slots;

	for (int slot = vx_bit_next(pass, slots, 0); slot < slots;
		 slot = vx_bit_next(pass, slots, slot + 1))
	{
		add_candidate(scan, &tids[slot], get_float4_infinity(),
					  -get_float4_infinity());
		scan->exact_rows++;
	}
}

/* Scores one entry of a page. */
static void
score_slot(VxScan *scan, const VxListQuery *terms, Page page, int slot)
{
	const VxLeadLayout *layout = &scan->ann.lead;
	VxFactors factors = {vx_plane(page, layout->f, float) + slot,
						 vx_plane(page, layout->n, float) + slot,
						 vx_plane(page, layout->sn, uint16) + slot,
						 vx_plane(page, layout->en, uint16) + slot};

	vx_score(&scan->query, &scan->ann.quantizer, terms,
			 vx_plane(page, layout->codes, uint8) +
				 (Size) slot * layout->code_bytes,
			 &factors, 1, NULL, scan->dots, scan->est, scan->low);
}

/* Scores the entries of a page that pass the filter. */
static void
narrow_visit(VxScan *scan, void *arg, Page page, Page ahead)
{
	ScoreWalk *walk = arg;
	const VxLeadLayout *layout = &scan->ann.lead;
	const ItemPointerData *tids = vx_plane(page, layout->tids, ItemPointerData);
	int rows =
		vx_used_slots(vx_plane(page, layout->live, uint64), layout->slots);
	uint64 pass[VX_SLOT_WORDS_MAX] = {0};
	int passed = vx_filter_slots(scan, layout, page, rows, pass);
	bool all = passed > rows / SCORE_ALL_SHARE;

	scan->rows_scanned += vx_page_lead(page)->live;
	scan->rows_passed += passed;
	if (passed > 0 && scan->exact)
	{
		add_unscored(scan, page, pass);
		return;
	}
	if (all)
		vx_score_page(scan, &walk->terms.whole, page, ahead);
	for (int slot = vx_bit_next(pass, rows, 0); slot < rows;
		 slot = vx_bit_next(pass, rows, slot + 1))
	{
		int at = all ? slot : 0;

		if (!all)
			score_slot(scan, &walk->terms.whole, page, slot);
		if (scan->low[at] <= vx_smallest_top(&scan->top))
			add_candidate(scan, &tids[slot], scan->est[at], scan->low[at]);
		else
			leave_out(scan, scan->low[at]);
	}
}

/* Scores the entries of a page. */
static void
score_visit(VxScan *scan, void *arg, Page page, Page ahead)
{
	ScoreWalk *walk = arg;
	const VxLeadLayout *layout = &scan->ann.lead;
	const uint64 *live = vx_plane(page, layout->live, uint64);
	const ItemPointerData *tids = vx_plane(page, layout->tids, ItemPointerData);
	int rows = vx_score_page(scan, &walk->terms.whole, page, ahead);
	double top = vx_smallest_top(&scan->top);

	for (int i = 0; i < rows; i++)
	{
		if (!(scan->low[i] <= top))
		{
			leave_out(scan, scan->low[i]);
			continue;
		}
		if (!vx_bit(live, i))
			continue;
		add_candidate(scan, &tids[i], scan->est[i], scan->low[i]);
		top = vx_smallest_top(&scan->top);
	}
	scan->rows_scanned += vx_page_lead(page)->live;
	scan->rows_passed += vx_page_lead(page)->live;
}

/* The same for a lead whose codes are in two planes. */
static bool
score_follow(VxScan *scan, void *arg, BlockNumber block)
{
	ScoreWalk *walk = arg;
	VxGroup *group = scan->group;
	const ItemPointerData *tids =
		vx_plane(group->lead, scan->ann.lead.tids, ItemPointerData);
	int64 refined = scan->work.refined;

	if (scan->exact || group->passed == 0)
	{
		if (group->passed > 0)
			add_unscored(scan, group->lead, group->pass);
		scan->rows_scanned += group->live;
		scan->rows_passed += group->passed;
		return true;
	}
	/* Under a filter many lists have nothing to score. */
	if (!walk->ready)
		walk->ready = vx_walk_start(scan, walk->list, &walk->terms);
	if (!walk->ready || !vx_group_first(scan, &walk->terms, block))
		return false;
	vx_group_keep(scan, vx_smallest_top(&scan->top));
	do
	{
		if (!vx_group_next(scan, &walk->terms, vx_smallest_top(&scan->top)))
			return false;
		for (int i = 0; i < group->count; i++)
		{
			if (group->low[i] <= vx_smallest_top(&scan->top))
				add_candidate(scan, &tids[group->slots[i]], group->est[i],
							  group->low[i]);
			else
				leave_out(scan, group->low[i]);
		}
	} while (group->count > 0);
	/* What the first stage left out: nothing but what is beyond the reach? */
	if (scan->work.refined - refined < group->passed &&
		vx_smallest_top(&scan->top) < scan->top.ceiling)
		scan->cut = true;
	scan->rows_scanned += group->live;
	scan->rows_passed += group->passed;
	return true;
}

/*
 * An entry that the first stage loses is lost: a flat scan, which visits every
 * row, must not miss what whole codes would not.
 */
static float
sign_width(const VxScan *scan)
{
	return scan->eps > VX_EPS_DEFAULT ? VX_EPS_EXACT : VX_EPS_SIGNS;
}

bool
vx_walk_start(VxScan *scan, const VxDirList *list, VxTerms *terms)
{
	VxCentPlace place = vx_list_cent(list);

	if (!vx_cent_read(scan->ann.index, &scan->ann.meta, &place, scan->centroid))
		return false;
	vx_query_list(&scan->query, &scan->ann.quantizer, scan->centroid,
				  scan->ann.centre, scan->eps, &terms->whole);
	if (scan->group != NULL)
		vx_query_signs(&scan->query, &scan->ann.quantizer, &terms->whole,
					   sign_width(scan), &terms->signs);
	return true;
}

/*
 * The share that passes of the lists walked lately: the older ones fade, so that
 * about the last third of them counts.
 */
static void
note_recent(VxScan *scan, int64 scanned, int64 passed)
{
	double keep = Max(0, 1 - 3.0 / Max(scan->next_list, 1));

	scan->recent_scanned = scan->recent_scanned * keep + scanned;
	scan->recent_passed = scan->recent_passed * keep + passed;
}

/*
 * So few rows pass, as far as has been seen, that it is best to fetch them all;
 * until more of them turn up than that.
 */
static void
choose_exact(VxScan *scan)
{
	double most = Max(EXACT_ROWS_MIN, EXACT_ROWS_FACTOR * scan->wanted);
	double expected = (double) scan->rows_passed / Max(scan->rows_scanned, 1) *
					  Max(scan->rows_total, scan->rows_scanned);

	if (!scan->narrow || scan->rows_scanned < EXACT_SCANNED_MIN)
		return;
	scan->exact = expected <= most && scan->exact_rows <= 2 * most;
}

static void
ask_ahead(VxScan *scan, int i)
{
	VxDirList *list = &scan->lists[i];

	vx_ahead_lists(scan, i);
	if (i + 1 >= scan->list_count)
		return;
	if (!scan->exact)
		vx_page_expect(scan->ann.index, list[1].cent_block);
	vx_page_expect(scan->ann.index, list[1].head);
}

bool
vx_walk_candidates(VxScan *scan, int i)
{
	VxDirList *list = &scan->lists[i];
	ScoreWalk walk = {.list = list};
	VxVisitor visitor = {score_prepare, score_visit, NULL, &walk};
	int64 scanned = scan->rows_scanned;
	int64 passed = scan->rows_passed;
	uint64 stamp;

	if (scan->group != NULL)
	{
		visitor.visit = vx_group_copy;
		visitor.follow = score_follow;
	}
	else if (scan->narrow)
		visitor.visit = narrow_visit;

	choose_exact(scan);
	ask_ahead(scan, i);
	if (!scan->exact && !(scan->narrow && scan->group != NULL))
	{
		walk.ready = vx_walk_start(scan, list, &walk.terms);
		if (!walk.ready)
			return true; /* the list is gone: validation will tell */
	}
	if (vx_walk_list(scan, list->list_id, list->head, &scan->ann.lead, &visitor,
					 &stamp))
	{
		scan->visits[i].walked = true;
		scan->visits[i].stamp = stamp;
		scan->rows_expected +=
			list->rows * (scan->part == NULL ? 1.0 : scan->part->share);
	}
	note_recent(scan, scan->rows_scanned - scanned, scan->rows_passed - passed);
	return !walk.full;
}
