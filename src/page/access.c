/*
 * access.c
 *		Reading pages: lock, and checks that every reader relies on.
 *
 * What is checked here: the special area, the used bytes, the block number, the
 * fixed part of a lead, META's ranges, a centroid's owner.  What the callers
 * check: that a wrong owner is explained by a change (src/ann/README.md).
 */
#include "postgres.h"

#include <math.h>

#include "utils/rel.h"

#include "compat.h"
#include "page/page.h"

void
vx_corrupt(Relation index, BlockNumber block, const char *what, ...)
{
	StringInfoData detail;
	va_list args;

	initStringInfo(&detail);
	for (;;)
	{
		int needed;

		va_start(args, what);
		needed = appendStringInfoVA(&detail, what, args);
		va_end(args);
		if (needed == 0)
			break;
		enlargeStringInfo(&detail, needed);
	}
	ereport(ERROR, (errcode(ERRCODE_INDEX_CORRUPTED),
					errmsg("index \"%s\" is corrupted at block %u: %s",
						   RelationGetRelationName(index), block, detail.data),
					errhint("Please REINDEX it.")));
}

static void
check_page(Relation index, BlockNumber block, Page page)
{
	PageHeader header = (PageHeader) page;
	VxPageSpecial *special = vx_page_special(page);

	if (PageIsNew(page))
		return;
	if (header->pd_special != VX_PAGE_END || special->page_id != VX_PAGE_ID)
		vx_corrupt(index, block, "not a page of an ann index");
	if (special->format > VX_FORMAT)
		ereport(
			ERROR,
			(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
			 errmsg("index \"%s\" has format version %d, this version of "
					"vector_ext reads up to %d",
					RelationGetRelationName(index), special->format, VX_FORMAT),
			 errhint("Update vector_ext, or REINDEX the index.")));
	if (special->format == 0 || special->flags != 0 ||
		special->kind < VX_PAGE_META || special->kind > VX_PAGE_FREE)
		vx_corrupt(index, block, "page has kind %d, format %d, flags %d",
				   special->kind, special->format, special->flags);
	if (header->pd_lower < VX_PAGE_BODY || header->pd_lower > VX_PAGE_END ||
		header->pd_upper < header->pd_lower || header->pd_upper > VX_PAGE_END)
		vx_corrupt(index, block, "page uses bytes up to %d", header->pd_lower);
}

Page
vx_page_lock_extended(Relation index, BlockNumber block, VxLockMode mode,
					  BufferAccessStrategy strategy, Buffer *buffer)
{
	Page page;

	*buffer = vx_page_pin(index, block, strategy);
	LockBuffer(*buffer, mode);
	page = BufferGetPage(*buffer);
	check_page(index, block, page);
	return page;
}

Page
vx_page_lock(Relation index, BlockNumber block, VxLockMode mode, Buffer *buffer)
{
	return vx_page_lock_extended(index, block, mode, NULL, buffer);
}

VxPageKind
vx_page_kind(Page page)
{
	if (PageIsNew(page))
		return VX_PAGE_FREE;
	return (VxPageKind) vx_page_special(page)->kind;
}

static void
check_kind(Relation index, BlockNumber block, Page page, VxPageKind kind)
{
	if (vx_page_kind(page) != kind)
		vx_corrupt(index, block, "page of kind %d where kind %d belongs",
				   vx_page_kind(page), kind);
}

Page
vx_page_lock_kind(Relation index, BlockNumber block, VxLockMode mode,
				  VxPageKind kind, Buffer *buffer)
{
	Page page = vx_page_lock(index, block, mode, buffer);

	check_kind(index, block, page, kind);
	return page;
}

/* The lead's fixed part; NULL, unlocked and unpinned, for another owner's page. */
static Page
check_lead(Relation index, BlockNumber block, uint32 list_id, Buffer buffer)
{
	Page page = BufferGetPage(buffer);
	VxLead *lead = vx_page_lead(page);

	if (vx_page_kind(page) != VX_PAGE_LEAD || lead->list_id != list_id)
	{
		vx_page_unlock(buffer);
		return NULL;
	}
	if (lead->slots == 0 || lead->live > lead->slots ||
		(lead->flags & ~VX_LEAD_FLAGS_ALL) != 0 ||
		VX_LEAD_PLANES_AT + lead->slots * sizeof(ItemPointerData) > VX_PAGE_END)
		vx_corrupt(index, block, "lead has %d slots, %d live, flags %d",
				   lead->slots, lead->live, lead->flags);
	return page;
}

Page
vx_lead_lock(Relation index, BlockNumber block, VxLockMode mode, uint32 list_id,
			 BufferAccessStrategy strategy, Buffer *buffer)
{
	Page page;

	vx_page_lock_extended(index, block, mode, strategy, buffer);
	page = check_lead(index, block, list_id, *buffer);
	if (page == NULL)
		*buffer = InvalidBuffer;
	return page;
}

Page
vx_lead_lock_pinned(Relation index, BlockNumber block, VxLockMode mode,
					uint32 list_id, Buffer buffer)
{
	LockBuffer(buffer, mode);
	check_page(index, block, BufferGetPage(buffer));
	return check_lead(index, block, list_id, buffer);
}

Page
vx_code_lock_pinned(Relation index, BlockNumber block, VxLockMode mode,
					const VxCode *owner, Size used, Buffer buffer)
{
	Page page = BufferGetPage(buffer);
	VxCode *code = vx_page_code(page);

	LockBuffer(buffer, mode);
	check_page(index, block, page);
	if (vx_page_kind(page) != VX_PAGE_CODE || code->list_id != owner->list_id ||
		code->lead != owner->lead || code->ordinal != owner->ordinal ||
		code->plane != owner->plane)
	{
		vx_page_unlock(buffer);
		return NULL;
	}
	if (((PageHeader) page)->pd_lower < VX_CODE_DATA_AT + used)
		vx_corrupt(index, block,
				   "code page of lead %u uses bytes up to %d, not to %d",
				   code->lead, ((PageHeader) page)->pd_lower,
				   (int) (VX_CODE_DATA_AT + used));
	return page;
}

void
vx_page_unlock(Buffer buffer)
{
	UnlockReleaseBuffer(buffer);
}

/* Ranges that callers rely on for addressing memory. */
static void
check_meta(Relation index, const VxMeta *meta)
{
	if (meta->magic != VX_MAGIC)
		vx_corrupt(index, VX_META_BLOCK, "wrong magic number");
	if (meta->format > VX_FORMAT || meta->required_flags != 0)
		ereport(ERROR,
				(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
				 errmsg("index \"%s\" has format version %u with features %x, "
						"which this version of vector_ext cannot read",
						RelationGetRelationName(index), meta->format,
						meta->required_flags),
				 errhint("Update vector_ext, or REINDEX the index.")));
	if (meta->format == 0 || meta->dims < 1 || meta->dims > VX_DIM_MAX ||
		(meta->bits != 4 && meta->bits != 8) || meta->metric < VX_METRIC_L2 ||
		meta->metric > VX_METRIC_COSINE || meta->layout < VX_LAYOUT_WHOLE ||
		meta->layout > VX_LAYOUT_PLANES ||
		meta->columns > VX_FILTER_COLUMNS_MAX || !isfinite(meta->t0) ||
		meta->t0 <= 0)
		vx_corrupt(index, VX_META_BLOCK,
				   "metapage says %u dimensions, %d bits, metric %d, "
				   "layout %d",
				   meta->dims, meta->bits, meta->metric, meta->layout);
	if (meta->next_list_id < VX_LIST_FIRST ||
		(meta->dir_head == InvalidBlockNumber) != (meta->list_count == 0))
		vx_corrupt(index, VX_META_BLOCK,
				   "metapage says %u lists, directory at %u", meta->list_count,
				   meta->dir_head);
}

void
vx_meta_read(Relation index, VxMeta *meta)
{
	Buffer buffer;
	Page page = vx_page_lock_kind(index, VX_META_BLOCK, VX_SHARE, VX_PAGE_META,
								  &buffer);

	memcpy(meta, vx_page_meta(page), sizeof(VxMeta));
	vx_page_unlock(buffer);
	check_meta(index, meta);
	vx_page_keep_hints(index);
}

/* By the exponents' bits, in a form that the compiler makes wide loops of. */
static bool
all_finite(const float *x, int count)
{
	uint32 largest = 0;

	for (int i = 0; i < count; i++)
	{
		uint32 bits;

		memcpy(&bits, &x[i], sizeof(bits));
		bits = (bits << 1) >> 1;
		largest = Max(largest, bits);
	}
	return largest < UINT32_C(0x7F800000);
}

bool
vx_cent_read(Relation index, const VxMeta *meta, const VxCentPlace *place,
			 float *x)
{
	int dims = meta->dims;
	bool chained = vx_cent_per_page(dims) == 0;
	int part = chained ? VX_CENT_PAGE_FLOATS : dims;
	BlockNumber block = place->block;

	for (int done = 0; done < dims; done += part)
	{
		Buffer buffer = vx_page_pin(index, block, NULL);
		Page page = BufferGetPage(buffer);
		VxCentSlot *at;

		LockBuffer(buffer, BUFFER_LOCK_SHARE);
		check_page(index, block, page);
		if (vx_page_kind(page) != VX_PAGE_CENT)
		{
			vx_page_unlock(buffer);
			return false;
		}
		if (place->slot >= (chained ? 1 : vx_cent_per_page(dims)))
			vx_corrupt(index, block, "no centroid slot %d", place->slot);
		at = vx_cent_slot(page, chained ? 0 : dims, place->slot);
		if (at->list_id != place->owner)
		{
			vx_page_unlock(buffer);
			return false;
		}
		memcpy(x + done, at->x, sizeof(float) * Min(part, dims - done));
		if (!all_finite(x + done, Min(part, dims - done)))
			vx_corrupt(index, block, "centroid of list %u is not finite",
					   place->owner);
		block = vx_page_cent(page)->next;
		vx_page_unlock(buffer);
	}
	return true;
}
