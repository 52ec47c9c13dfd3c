/*
 * prewarm.c
 *		ann_prewarm: reads pages of an index into shared buffers.
 *
 * No more pages than fit beside what else is there, so that a large index does
 * not read its last pages over its first.
 */
#include "postgres.h"

#include "catalog/index.h"
#include "fmgr.h"
#include "miscadmin.h"
#include "storage/bufmgr.h"
#include "utils/acl.h"
#include "utils/builtins.h"
#include "utils/lsyscache.h"

#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(ann_prewarm);

/* Pages asked for ahead of their turn. */
#define AHEAD 32

/* One run of the function. */
typedef struct Prewarm
{
	Relation index;
	BlockNumber blocks; /* of the index */
	int64 most;			/* pages to read */
	int64 pages;		/* read so far */
} Prewarm;

/*
 * Reads a block; false when enough were.  next: what a centroid's page is
 * continued on.
 */
static bool
warm(Prewarm *p, BlockNumber block, BlockNumber *next)
{
	Buffer buffer;
	Page page;

	CHECK_FOR_INTERRUPTS();
	if (p->pages >= p->most)
		return false;
	page = vx_page_lock(p->index, block, VX_SHARE, &buffer);
	if (next != NULL)
		*next = vx_page_kind(page) == VX_PAGE_CENT ? vx_page_cent(page)->next
												   : InvalidBlockNumber;
	vx_page_unlock(buffer);
	p->pages++;
	return true;
}

/* A vector of CENT pages; a long one is a chain.  False when enough were read. */
static bool
warm_vector(Prewarm *p, BlockNumber block, int dims)
{
	/* A slot that was given up may lead anywhere, but no further than this. */
	for (int parts = vx_cent_chain_pages(dims);
		 parts > 0 && block != InvalidBlockNumber; parts--)
		if (!warm(p, block, &block))
			return false;
	return true;
}

/* META, the directory and the centroids: what every scan needs first. */
static void
warm_directory(Prewarm *p)
{
	BlockNumber dir_last = InvalidBlockNumber;
	BlockNumber cent_last;
	VxAnnIndex ann;
	VxDirList *lists;
	int count;

	vx_ann_open(&ann, p->index);
	count = vx_dir_read(&ann, NULL, &lists);
	p->pages = 1;
	for (int i = 0; i < count; i++)
	{
		p->pages += lists[i].dir_block != dir_last;
		dir_last = lists[i].dir_block;
	}
	cent_last = ann.meta.centre_block;
	if (ann.born && !warm_vector(p, cent_last, ann.dims))
		return;
	for (int i = 0; i < count; i++)
	{
		/* Vectors share pages with those before and after them. */
		if (lists[i].cent_block == cent_last)
			continue;
		cent_last = lists[i].cent_block;
		if (!warm_vector(p, cent_last, ann.dims))
			return;
	}
}

static void
warm_all(Prewarm *p)
{
	for (BlockNumber block = 0; block < p->blocks; block++)
	{
		if (block % AHEAD == 0)
			vx_page_prefetch(p->index, block, AHEAD, p->blocks);
		if (!warm(p, block, NULL))
			return;
	}
}

/* Who may read the table may have its index read, and the index's owner may. */
static void
check_allowed(Relation index)
{
	Oid heap = IndexGetRelation(RelationGetRelid(index), false);

	if (pg_class_aclcheck(heap, GetUserId(), ACL_SELECT) == ACLCHECK_OK ||
		vx_compat_is_relation_owner(RelationGetRelid(index), GetUserId()))
		return;
	aclcheck_error(ACLCHECK_NO_PRIV, OBJECT_TABLE, get_rel_name(heap));
}

Datum
ann_prewarm(PG_FUNCTION_ARGS)
{
	char *what = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation index = vx_inspect_open(PG_GETARG_OID(0), AccessShareLock);
	int buffers = RelationUsesLocalBuffers(index) ? num_temp_buffers : NBuffers;
	Prewarm p = {.index = index,
				 .blocks = vx_page_count(index),
				 .most = buffers - buffers / 4};

	check_allowed(index);
	if (strcmp(what, "directory") == 0)
		warm_directory(&p);
	else if (strcmp(what, "all") == 0)
		warm_all(&p);
	else
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("unknown part \"%s\" of an ann index", what),
						errhint("The parts are directory and all.")));
	index_close(index, AccessShareLock);
	PG_RETURN_INT64(p.pages);
}
