/*
 * lists.c
 *		ann_lists: one row about each list of an index.
 *
 * Counts rows as they are now, beside inserts and VACUUM, by the rules of a
 * scan: a walk is good when the stamp of the head is the same after it.
 */
#include "postgres.h"

#include <math.h>

#include "fmgr.h"
#include "funcapi.h"
#include "miscadmin.h"
#include "utils/builtins.h"

#include "inspect/inspect.h"

PG_FUNCTION_INFO_V1(ann_lists);

#define LISTS_COLUMNS 8

/* Copies the head block; false when the page is not the head of that list. */
static bool
read_head(Relation index, uint32 list_id, BlockNumber block, VxLead *head)
{
	Buffer buffer;
	Page page = vx_lead_lock(index, block, VX_SHARE, list_id, NULL, &buffer);

	if (page == NULL)
		return false;
	*head = *vx_page_lead(page);
	vx_page_unlock(buffer);
	return (head->flags & VX_LEAD_HEAD) != 0;
}

/* Walks from the head to its tail; false when a page is not the list's. */
static bool
walk(Relation index, uint32 list_id, BlockNumber block, const VxLead *head,
	 VxListCount *count)
{
	BlockNumber blocks = vx_page_count(index);

	count->rows = 0;
	count->pages = 0;
	count->code_pages = 0;
	count->run = head->lead_run;
	for (;;)
	{
		BlockNumber next;
		Buffer buffer;
		Page page;

		CHECK_FOR_INTERRUPTS();
		if (block == InvalidBlockNumber || count->pages == blocks)
			vx_corrupt(index, head->tail_block,
					   "chain of list %u does not end at its tail", list_id);
		page = vx_lead_lock(index, block, VX_SHARE, list_id, NULL, &buffer);
		if (page == NULL)
			return false;
		count->pages++;
		count->rows += vx_page_lead(page)->live;
		count->code_pages += vx_page_lead(page)->codes;
		next = vx_page_lead(page)->next;
		vx_page_unlock(buffer);
		if (block == head->tail_block)
			return true;
		block = next;
	}
}

bool
vx_inspect_count(const VxAnnIndex *ann, uint32 list_id, BlockNumber head_block,
				 VxListCount *count)
{
	VxLead before;
	VxLead after;
	bool whole;

	if (!read_head(ann->index, list_id, head_block, &before))
		return false;
	for (;;)
	{
		whole = walk(ann->index, list_id, head_block, &before, count);
		if (!read_head(ann->index, list_id, head_block, &after))
			return false;
		if (after.stamp == before.stamp)
			break;
		before = after;
	}
	/* The stamp is set in the record that unlinks, so nothing explains this. */
	if (!whole)
		vx_corrupt(ann->index, head_block,
				   "chain of list %u leads to a page of another list", list_id);
	return true;
}

static const char *
kind_name(uint32 list_id, uint16 flags)
{
	if (list_id == VX_LIST_NULL)
		return "null";
	if (list_id == VX_LIST_ZERO)
		return "zero";
	return (flags & VX_DIR_ROOT) != 0 ? "flat" : "ordinary";
}

/* Adds the row of a list; list has id, head, flags, r2, norm2 set. */
static void
put_list(ReturnSetInfo *result, const VxAnnIndex *ann, const VxDirList *list)
{
	bool special = list->list_id < VX_LIST_FIRST;
	Datum values[LISTS_COLUMNS];
	bool nulls[LISTS_COLUMNS] = {false};
	VxListCount count;

	if (!vx_inspect_count(ann, list->list_id, list->head, &count))
	{
		if (special)
			vx_corrupt(ann->index, list->head, "not the head of list %u",
					   list->list_id);
		return;
	}
	values[0] = Int64GetDatum(list->list_id);
	values[1] = Int64GetDatum(count.rows);
	values[2] = Int32GetDatum(count.pages);
	values[3] = Int32GetDatum(count.run);
	values[4] = Int32GetDatum(count.code_pages);
	nulls[5] = special;
	values[5] = Float8GetDatum(sqrt(list->r2));
	nulls[6] = special;
	values[6] = Float8GetDatum(sqrt(list->norm2));
	values[7] = CStringGetTextDatum(kind_name(list->list_id, list->flags));
	tuplestore_putvalues(result->setResult, result->setDesc, values, nulls);
}

Datum
ann_lists(PG_FUNCTION_ARGS)
{
	ReturnSetInfo *result = (ReturnSetInfo *) fcinfo->resultinfo;
	VxDirList null_list = {.list_id = VX_LIST_NULL};
	VxDirList zero_list = {.list_id = VX_LIST_ZERO};
	VxDirList *lists;
	VxAnnIndex ann;
	Relation index;
	int count;

	InitMaterializedSRF(fcinfo, 0);
	index = vx_inspect_open(PG_GETARG_OID(0), AccessShareLock);
	vx_ann_open(&ann, index);
	null_list.head = ann.meta.null_head;
	zero_list.head = ann.meta.zero_head;
	put_list(result, &ann, &null_list);
	put_list(result, &ann, &zero_list);
	count = vx_dir_read(&ann, NULL, &lists);
	for (int i = 0; i < count; i++)
		put_list(result, &ann, &lists[i]);
	index_close(index, AccessShareLock);
	return (Datum) 0;
}
