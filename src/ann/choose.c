/*
 * choose.c
 *		Choosing the list of a row that is inserted.
 *
 * The first row of a statement reads the directory page by page, which is all
 * that an INSERT of one row needs.  From the second on the statement keeps a
 * copy of it, and centroids in the forms that encoding needs.
 *
 * The copy holds while META's dir_epoch is what it was when the copy was made.
 * An older copy would do no harm beyond a less near list: whoever puts a row
 * into a list looks at its head first, ids of lists are not used twice, and a
 * list's centroid never changes (README.md, "Insert").
 */
#include "postgres.h"

#include "miscadmin.h"
#include "utils/float.h"
#include "utils/memutils.h"

#include "ann/choose.h"

/* Memory of what is kept, within work_mem. */
#define KEPT_BYTES_MAX ((Size) 8 * 1024 * 1024)

/* Lists scored between two looks at interrupts. */
#define BLOCK 512

struct VxChooser
{
	MemoryContext context;
	bool warm;	  /* a row was there before */
	bool valid;	  /* the copy is */
	uint64 epoch; /* META's dir_epoch when it was made */
	int count;
	VxDirList *lists;
	VxDirCodes codes;
	float *offsets; /* see nearest_kept; infinite for a list that is closed */
	/* Centroids, each where its list's id says; owner VX_LIST_NONE: none. */
	int slots;
	uint32 *owners;
	float *centroids; /* per slot: the centroid, its rotated difference */
};

VxChooser *
vx_chooser_create(MemoryContext parent)
{
	VxChooser *chooser =
		MemoryContextAllocZero(parent, sizeof(struct VxChooser));

	chooser->context = AllocSetContextCreate(parent, "ann insert lists",
											 ALLOCSET_DEFAULT_SIZES);
	return chooser;
}

void
vx_chooser_forget(VxChooser *chooser)
{
	chooser->valid = false;
}

/* --- the nearest list ------------------------------------------------------- */

/* The best list so far. */
typedef struct Best
{
	const VxDirList *list;
	double distance;
} Best;

/* est is the directory's estimate for the list, see vx_dir_read. */
static inline void
consider(Best *best, const VxAnnIndex *ann, const VxDirList *list, double est)
{
	double distance = est;

	if (list->flags & VX_DIR_CLOSING)
		return;
	/* Rows belong to the nearest centroid by L2, whatever the metric. */
	if (ann->type->metric == VX_METRIC_IP)
		distance = list->norm2 + 2 * est;
	if (best->list != NULL && (list->flags & VX_DIR_ROOT))
		return;
	if (best->list == NULL || (best->list->flags & VX_DIR_ROOT) ||
		distance < best->distance)
	{
		best->list = list;
		best->distance = distance;
	}
}

static void
init_query(const VxAnnIndex *ann, const float *x, VxQuery *query)
{
	vx_query_init(query, &ann->coarse, x, ann->centre,
				  palloc(VX_QUERY8_BYTES(ann->dims)),
				  palloc(sizeof(float) * ann->dims));
}

/* By the directory's pages. */
static const VxDirList *
nearest_read(const VxAnnIndex *ann, const float *x)
{
	VxQuery query;
	VxDirList *lists;
	Best best = {0};
	int count;

	/* One list needs no query to be chosen. */
	if (ann->meta.list_count > 1)
		init_query(ann, x, &query);
	count = vx_dir_read(ann, ann->meta.list_count > 1 ? &query : NULL, &lists);
	for (int i = 0; i < count; i++)
		consider(&best, ann, &lists[i], lists[i].key);
	return best.list;
}

/* By the copy. */
static const VxDirList *
nearest_kept(const VxChooser *chooser, const VxAnnIndex *ann, const float *x)
{
	const VxDirCodes *codes = &chooser->codes;
	Size code_bytes = vx_code_bytes(ann->dims, 4);
	VxQuery query;
	VxListQuery terms;
	/* Rows belong to the nearest centroid by L2, see consider. */
	double factor = ann->type->metric == VX_METRIC_IP ? 2 : 1;
	double least = get_float8_infinity();
	int nearest = -1;
	Best best = {0};
	int32 dots[BLOCK];
	float est[BLOCK];
	float low[BLOCK];

	if (chooser->count == 1)
	{
		consider(&best, ann, chooser->lists, 0);
		return best.list;
	}
	init_query(ann, x, &query);
	vx_query_list(&query, &ann->coarse, ann->centre, ann->centre, 0, &terms);
	for (int from = 0; from < chooser->count; from += BLOCK)
	{
		int count = Min(BLOCK, chooser->count - from);
		VxFactors factors = {codes->f + from, codes->n + from, codes->sn + from,
							 codes->en + from};

		CHECK_FOR_INTERRUPTS();
		vx_score(&query, &ann->coarse, &terms, codes->codes + from * code_bytes,
				 &factors, count, NULL, dots, est, low);
		for (int i = 0; i < count; i++)
		{
			double distance = chooser->offsets[from + i] + factor * est[i];

			if (distance < least)
			{
				least = distance;
				nearest = from + i;
			}
		}
	}
	if (nearest >= 0)
		return &chooser->lists[nearest];
	/* The root, or distances that are infinite: whatever is open. */
	for (int i = 0; i < chooser->count; i++)
		consider(&best, ann, &chooser->lists[i], 0);
	return best.list;
}

/* --- the copy ---------------------------------------------------------------- */

/* Bytes of the copy of the directory that META speaks of. */
static Size
copy_bytes(const VxAnnIndex *ann)
{
	return (Size) ann->meta.list_count *
		   (sizeof(VxDirList) + vx_dir_entry_bytes(ann->dims));
}

static Size
kept_bytes_max(void)
{
	return Min((Size) work_mem * 1024, KEPT_BYTES_MAX);
}

/* What a list's estimate is added to, to compare lists by distance alone. */
static void
set_offsets(VxChooser *chooser, const VxAnnIndex *ann)
{
	chooser->offsets = MemoryContextAllocHuge(
		CurrentMemoryContext, sizeof(float) * Max(chooser->count, 1));
	for (int i = 0; i < chooser->count; i++)
	{
		const VxDirList *list = &chooser->lists[i];

		if (list->flags & (VX_DIR_CLOSING | VX_DIR_ROOT))
			chooser->offsets[i] = get_float4_infinity();
		else
			chooser->offsets[i] =
				ann->type->metric == VX_METRIC_IP ? list->norm2 : 0;
	}
}

/* As many centroids as memory is left for: all, or those used of late. */
static void
make_room_for_centroids(VxChooser *chooser, const VxAnnIndex *ann)
{
	Size bytes = sizeof(float) * 2 * ann->dims;
	Size left = kept_bytes_max() - copy_bytes(ann);

	chooser->slots = Min(left / (bytes + sizeof(uint32)), chooser->count);
	if (chooser->slots == 0)
		return;
	chooser->owners = palloc0(sizeof(uint32) * chooser->slots);
	chooser->centroids = palloc(bytes * chooser->slots);
}

/*
 * Makes the copy anew where it is not that of META.  False: it would take too
 * much memory.
 */
static bool
keep_directory(VxChooser *chooser, const VxAnnIndex *ann)
{
	MemoryContext caller;

	if (chooser->valid && chooser->epoch == ann->meta.dir_epoch)
		return true;
	chooser->valid = false;
	MemoryContextReset(chooser->context);
	if (copy_bytes(ann) > kept_bytes_max())
		return false;
	caller = MemoryContextSwitchTo(chooser->context);
	chooser->count = vx_dir_read_codes(ann, &chooser->lists, &chooser->codes);
	set_offsets(chooser, ann);
	make_room_for_centroids(chooser, ann);
	MemoryContextSwitchTo(caller);
	chooser->epoch = ann->meta.dir_epoch;
	chooser->valid = true;
	return true;
}

const VxDirList *
vx_choose_list(VxChooser *chooser, const VxAnnIndex *ann, const float *x)
{
	bool first = !chooser->warm;

	chooser->warm = true;
	if (first || !keep_directory(chooser, ann))
		return nearest_read(ann, x);
	return nearest_kept(chooser, ann, x);
}

/* --- centroids ---------------------------------------------------------------- */

/*
 * Fills centroid and rotated, dims floats each.  The root's centroid is the
 * centre, whose rotated difference from itself is zero.  False: the list is gone.
 */
static bool
read_centroid(const VxAnnIndex *ann, const VxDirList *list, float *centroid,
			  float *rotated)
{
	bool root = (list->flags & VX_DIR_ROOT) != 0;
	VxCentPlace place = vx_list_cent(list);

	if (root)
		memcpy(centroid, ann->centre, sizeof(float) * ann->dims);
	else if (!vx_cent_read(ann->index, &ann->meta, &place, centroid))
		return false;
	if (root && ann->type->metric != VX_METRIC_IP)
		memset(rotated, 0, sizeof(float) * ann->dims);
	else
		vx_list_rotate(&ann->quantizer, centroid, ann->centre, rotated);
	return true;
}

bool
vx_choose_centroid(VxChooser *chooser, const VxAnnIndex *ann,
				   const VxDirList *list, VxListRef *ref)
{
	float *centroid;
	uint32 *owner = NULL;

	if (chooser->valid && chooser->slots > 0)
	{
		int slot = list->list_id % chooser->slots;

		owner = &chooser->owners[slot];
		centroid = chooser->centroids + (Size) 2 * ann->dims * slot;
	}
	else
		centroid = palloc(sizeof(float) * 2 * ann->dims);
	ref->centroid = centroid;
	ref->rotated = centroid + ann->dims;
	if (owner != NULL && *owner == list->list_id)
		return true;
	/* A failure in between must not leave a half under the old name. */
	if (owner != NULL)
		*owner = VX_LIST_NONE;
	if (!read_centroid(ann, list, centroid, centroid + ann->dims))
		return false;
	if (owner != NULL)
		*owner = list->list_id;
	return true;
}
