/*
 * why.c
 *		ann_why: the first reason why a query does not use an index.
 *
 * The query is planned by the planner, with the settings of the session and the
 * rights of the caller, and never run.
 */
#include "postgres.h"

#include "access/genam.h"
#include "fmgr.h"
#include "nodes/params.h"
#include "nodes/parsenodes.h"
#include "tcop/tcopprot.h"
#include "utils/builtins.h"
#include "utils/rel.h"

#include "compat.h"
#include "inspect/inspect.h"
#include "plan/why.h"

PG_FUNCTION_INFO_V1(ann_why);

/* An error's position is one in the text, not in the query that has the text. */
static void
move_position(void *source)
{
	int position = geterrposition();

	if (position <= 0)
		return;
	errposition(0);
	internalerrposition(position);
	internalerrquery(source);
}

/* Plans of the one query of a text: rules may have made several of it. */
static List *
plan_text(const char *source)
{
	List *parsed = pg_parse_query(source);
	List *plans = NIL;
	Oid *types = NULL;
	int params = 0;
	ListCell *lc;

	if (list_length(parsed) != 1)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("%d queries given in place of one",
							   list_length(parsed))));
	foreach (lc, pg_analyze_and_rewrite_varparams(linitial(parsed), source,
												  &types, &params, NULL))
	{
		Query *query = lfirst(lc);

		if (query->commandType == CMD_UTILITY)
			ereport(ERROR,
					(errcode(ERRCODE_FEATURE_NOT_SUPPORTED),
					 errmsg("cannot say why of a command that is not planned"),
					 errhint("Give the SELECT, INSERT, UPDATE or DELETE "
							 "itself.")));
		plans = lappend(
			plans, pg_plan_query(query, source, CURSOR_OPT_PARALLEL_OK, NULL));
	}
	return plans;
}

/* Plans the text while the planner is watched. */
static List *
plan_watched(char *source, VxWhy *why)
{
	VxWhy *before = vx_why_watch(why);
	ErrorContextCallback context = {.callback = move_position,
									.arg = source,
									.previous = error_context_stack};
	List *plans = NIL;

	error_context_stack = &context;
	PG_TRY();
	{
		plans = plan_text(source);
	}
	PG_FINALLY();
	{
		vx_why_watch(before);
	}
	PG_END_TRY();
	error_context_stack = context.previous;
	return plans;
}

static bool
is_used(List *plans, Oid index)
{
	ListCell *lc;

	foreach (lc, plans)
	{
		PlannedStmt *plan = lfirst(lc);

		/* As EXPLAIN does: estimates tell of the rows. */
		vx_compat_check_permissions(plan);
		if (vx_why_is_used(plan, index))
			return true;
	}
	return false;
}

/* Opens an ann index, in whatever state it is. */
static Relation
open_index(Oid index_id)
{
	Relation index = index_open(index_id, AccessShareLock);

	vx_inspect_check_kind(index);
	return index;
}

Datum
ann_why(PG_FUNCTION_ARGS)
{
	char *source = text_to_cstring(PG_GETARG_TEXT_PP(1));
	Relation index = open_index(PG_GETARG_OID(0));
	VxWhy why = {.index = RelationGetRelid(index),
				 .table = index->rd_index->indrelid};
	bool valid = index->rd_index->indisvalid;
	const char *answer;
	List *plans = plan_watched(source, &why);

	if (is_used(plans, why.index))
		answer = "the index is used";
	else if (!valid)
		answer = "the index is not valid: build it again with REINDEX";
	else if (!why.seen)
		answer = "the query does not read the table, or the planner knows that "
				 "it need not";
	else
		answer = why.reason;
	index_close(index, AccessShareLock);
	PG_RETURN_TEXT_P(cstring_to_text(answer));
}
