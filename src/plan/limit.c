/*
 * limit.c
 *		Tells ann scans how many rows the plan will ask for.
 *
 * When the executor starts, the plan is searched for LIMIT nodes; the scans that
 * feed one row by row learn LIMIT + OFFSET before their first fetch, so they
 * visit enough lists to give that many rows in true order.  Without a LIMIT
 * above, a node that compares neighbours (Unique, WindowAgg, ...) needs all rows
 * in true order, or it would count one distance twice.  The number is kept in
 * the scan itself, which is begun here as its first fetch would begin it.
 *
 * A parallel scan is begun later, when its shared memory is there: its number
 * travels with its scan key.  Its workers see only the plan below the node that
 * gathers their rows, but the executor tells them how many rows that node wants.
 */
#include "postgres.h"

#include "access/parallel.h"
#include "access/relscan.h"
#include "executor/executor.h"
#include "nodes/execnodes.h"
#include "nodes/nodeFuncs.h"
#include "optimizer/clauses.h"
#include "optimizer/optimizer.h"

#include "ann/ann.h"
#include "compat.h"
#include "plan/gate.h"
#include "plan/limit.h"

/* The bound of a scan whose rows must all come in true order. */
#define ALL_ROWS PG_INT64_MAX

static ExecutorStart_hook_type next_start = NULL;
static ExecutorRun_hook_type next_run = NULL;

/* What the search for LIMIT nodes carries down the plan. */
typedef struct Search
{
	List *subplans; /* the roots of plans that may never run */
	bool subplan;	/* below one of them */
	bool limited;	/* below a LIMIT */
} Search;

/* Does the expression depend on something not known before execution? */
static bool
late_value(Node *node, void *context)
{
	if (node == NULL)
		return false;
	if (IsA(node, Param))
		return ((Param *) node)->paramkind != PARAM_EXTERN;
	if (IsA(node, Var) || IsA(node, SubPlan) || IsA(node, AlternativeSubPlan))
		return true;
	return expression_tree_walker(node, late_value, context);
}

/* A constant or parameter, perhaps cast: computing it cannot fail. */
static bool
plain_value(Node *node)
{
	while (node != NULL && IsA(node, FuncExpr) &&
		   ((FuncExpr *) node)->funcformat != COERCE_EXPLICIT_CALL &&
		   list_length(((FuncExpr *) node)->args) == 1)
		node = linitial(((FuncExpr *) node)->args);
	return node != NULL && (IsA(node, Const) || IsA(node, Param));
}

/*
 * The value of a LIMIT or OFFSET; -1 when it is not known or NULL.  The main
 * plan's will be computed anyway; a subplan may never run, and then its
 * expressions must not raise an error.
 */
static int64
known_value(PlanState *node, ExprState *state, Node *expression, bool subplan)
{
	bool isnull;
	Datum value;

	if (late_value(expression, NULL) ||
		contain_volatile_functions(expression) ||
		(subplan && !plain_value(expression)))
		return -1;
	value = ExecEvalExprSwitchContext(state, node->ps_ExprContext, &isnull);
	return isnull ? -1 : DatumGetInt64(value);
}

/* Rows a LIMIT node will ask of its child at most; 0 = not known. */
static int64
limit_rows(LimitState *node, bool subplan)
{
	Limit *plan = (Limit *) node->ps.plan;
	int64 count;
	int64 offset = 0;

	if (plan->limitCount == NULL || plan->limitOption == LIMIT_OPTION_WITH_TIES)
		return 0;
	count = known_value(&node->ps, node->limitCount, plan->limitCount, subplan);
	if (plan->limitOffset != NULL)
		offset = known_value(&node->ps, node->limitOffset, plan->limitOffset,
							 subplan);
	if (count <= 0 || offset < 0 || count > PG_INT64_MAX - offset)
		return 0;
	return count + offset;
}

/* Keeps the number where the scan will find it when it is begun. */
static void
bound_key(IndexScanState *node, int64 rows)
{
	EState *estate = node->ss.ps.state;
	int64 *kept = MemoryContextAlloc(estate->es_query_cxt, sizeof(int64));

	*kept = rows;
	node->iss_OrderByKeys->sk_func.fn_extra = kept;
}

/* Begins the scan as its first fetch would, and tells it. */
static void
bound_scan(IndexScanState *node, int64 rows)
{
	IndexScan *plan = (IndexScan *) node->ss.ps.plan;

	if (node->iss_RelationDesc == NULL || node->iss_NumOrderByKeys == 0 ||
		!vx_is_ann_index(node->iss_RelationDesc))
		return;
	if (node->iss_ScanDesc == NULL && plan->scan.plan.parallel_aware)
	{
		bound_key(node, rows);
		return;
	}
	if (node->iss_ScanDesc == NULL)
	{
		node->iss_ScanDesc =
			vx_compat_beginscan(node, node->ss.ps.state->es_snapshot);
		if (node->iss_NumRuntimeKeys == 0 || node->iss_RuntimeKeysReady)
			index_rescan(node->iss_ScanDesc, node->iss_ScanKeys,
						 node->iss_NumScanKeys, node->iss_OrderByKeys,
						 node->iss_NumOrderByKeys);
	}
	vx_ann_scan_set_bound(node->iss_ScanDesc, rows);
}

/* Follows a number of rows down through nodes that pass them on one by one. */
static void
bound_below(PlanState *node, int64 rows)
{
	if (node == NULL)
		return;
	switch (nodeTag(node))
	{
		case T_IndexScanState:
			bound_scan((IndexScanState *) node, rows);
			break;
		case T_ResultState:
		case T_LockRowsState:
		case T_ProjectSetState:
		case T_NestLoopState:
		case T_MaterialState:
		case T_GatherMergeState:
			bound_below(outerPlanState(node), rows);
			break;
		case T_IncrementalSortState:
		case T_WindowAggState:
		case T_UniqueState:
			/* They look one row past each group of equal distances. */
			bound_below(outerPlanState(node),
						rows < ALL_ROWS ? rows + 1 : ALL_ROWS);
			break;
		case T_CustomScanState:
			bound_below(vx_gate_index_scan(node), rows);
			break;
		case T_SubqueryScanState:
			bound_below(((SubqueryScanState *) node)->subplan, rows);
			break;
		case T_MergeAppendState:
			for (int i = 0; i < ((MergeAppendState *) node)->ms_nplans; i++)
				bound_below(((MergeAppendState *) node)->mergeplans[i], rows);
			break;
		case T_AppendState:
			for (int i = 0; i < ((AppendState *) node)->as_nplans; i++)
				bound_below(((AppendState *) node)->appendplans[i], rows);
			break;
		default:
			break;
	}
}

/*
 * Does the node compare neighbours, and read its input to the end?  limited:
 * there is a LIMIT above.  A merge join fails when a row is out of order.
 */
static bool
needs_order(PlanState *node, bool limited)
{
	switch (nodeTag(node))
	{
		case T_MergeJoinState:
			return true;
		case T_UniqueState:
		case T_GroupState:
		case T_IncrementalSortState:
			return !limited;
		case T_AggState:
			return !limited && ((Agg *) node->plan)->aggstrategy == AGG_SORTED;
		case T_WindowAggState:
			/* A condition on the row number ends it as a LIMIT does. */
			return !limited && ((WindowAggState *) node)->runcondition == NULL;
		default:
			return false;
	}
}

/* context: points to whether there is a LIMIT above. */
static bool
find_limits(PlanState *node, void *context)
{
	Search search = *(Search *) context;

	if (node == NULL)
		return false;
	if (list_member_ptr(search.subplans, node))
		search.subplan = true;
	if (IsA(node, LimitState))
	{
		int64 rows = limit_rows((LimitState *) node, search.subplan);

		if (rows > 0)
			bound_below(outerPlanState(node), rows);
		search.limited = true;
	}
	else if (needs_order(node, search.limited))
	{
		bound_below(outerPlanState(node), ALL_ROWS);
		bound_below(innerPlanState(node), ALL_ROWS);
	}
	return planstate_tree_walker(node, find_limits, &search);
}

static void
start_with_bounds(QueryDesc *query, int eflags)
{
	Search search = {0};

	if (next_start)
		next_start(query, eflags);
	else
		standard_ExecutorStart(query, eflags);
	if (eflags & EXEC_FLAG_EXPLAIN_ONLY)
		return;
	search.subplans = query->estate->es_subplanstates;
	find_limits(query->planstate, &search);
}

/* In a worker, count is what the node above the workers wants of each. */
static void
run_with_bounds(QueryDesc *query, ScanDirection direction,
				uint64 count VX_COMPAT_RUN_ONCE_ARG)
{
	if (IsParallelWorker() && count > 0 && count <= PG_INT64_MAX)
		bound_below(query->planstate, count);
	if (next_run)
		next_run(query, direction, count VX_COMPAT_RUN_ONCE);
	else
		standard_ExecutorRun(query, direction, count VX_COMPAT_RUN_ONCE);
}

void
vx_limit_hook_install(void)
{
	next_start = ExecutorStart_hook;
	ExecutorStart_hook = start_with_bounds;
	next_run = ExecutorRun_hook;
	ExecutorRun_hook = run_with_bounds;
}
