/*
 * gate_scan.c
 *		Executing the node AnnGate.
 *
 * It has two children: an ordered index scan, whose rows it passes on, and what
 * makes a bitmap.  The bitmap is made when the first row is asked for, and given
 * to the index scan before that begins to look for rows.
 */
#include "postgres.h"

#include "access/genam.h"
#include "executor/executor.h"
#include "nodes/extensible.h"
#include "nodes/tidbitmap.h"
#include "utils/memutils.h"

#include "ann/ann.h"
#include "ann/gate.h"
#include "compat.h"
#include "plan/gate.h"

/*
 * A late gate is made when the index scan has looked at so many rows, and fewer
 * than one in so many met the conditions.
 */
#define LATE_ROWS 40
#define LATE_SHARE 10

typedef struct GateState
{
	CustomScanState css;
	IndexScanState *index_scan;
	PlanState *bitmap;
	MemoryContext context; /* of the gate */
	bool late;			   /* it is made only when few rows pass */
	bool set;			   /* the index scan has it, or knows where to ask */
	bool gated;			   /* it is made */
	int64 passed;		   /* rows of the index scan since the last rescan */
	int64 rows;			   /* that passed last time; negative: not known */
} GateState;

static Node *create_state(CustomScan *plan);
static void begin(CustomScanState *node, EState *estate, int eflags);
static TupleTableSlot *next(CustomScanState *node);
static void end(CustomScanState *node);
static void rescan(CustomScanState *node);
static void explain(CustomScanState *node, List *ancestors, ExplainState *es);

const CustomScanMethods vx_gate_scan_methods = {
	.CustomName = "AnnGate",
	.CreateCustomScanState = create_state,
};

static const CustomExecMethods exec_methods = {
	.CustomName = "AnnGate",
	.BeginCustomScan = begin,
	.ExecCustomScan = next,
	.EndCustomScan = end,
	.ReScanCustomScan = rescan,
	.ExplainCustomScan = explain,
};

void
vx_gate_register(void)
{
	RegisterCustomScanMethods(&vx_gate_scan_methods);
}

PlanState *
vx_gate_index_scan(PlanState *node)
{
	if (!IsA(node, CustomScanState) ||
		((CustomScanState *) node)->methods != &exec_methods)
		return NULL;
	return &((GateState *) node)->index_scan->ss.ps;
}

static Node *
create_state(CustomScan *plan)
{
	GateState *state =
		(GateState *) newNode(sizeof(GateState), T_CustomScanState);

	state->css.methods = &exec_methods;
	state->late = intVal(linitial(plan->custom_private)) != 0;
	return (Node *) state;
}

static void
begin(CustomScanState *node, EState *estate, int eflags)
{
	GateState *state = (GateState *) node;
	CustomScan *plan = (CustomScan *) node->ss.ps.plan;
	PlanState *scan =
		ExecInitNode(linitial(plan->custom_plans), estate, eflags);

	state->index_scan = castNode(IndexScanState, scan);
	state->bitmap = ExecInitNode(lsecond(plan->custom_plans), estate, eflags);
	node->custom_ps = list_make2(scan, state->bitmap);
	state->context = AllocSetContextCreate(CurrentMemoryContext, "ann gate",
										   ALLOCSET_DEFAULT_SIZES);
}

/* Begins the child's scan as its first fetch would, so that it can be told. */
static IndexScanDesc
begin_index_scan(IndexScanState *node)
{
	if (node->iss_NumRuntimeKeys != 0 && !node->iss_RuntimeKeysReady)
		ExecReScan(&node->ss.ps);
	if (node->iss_ScanDesc == NULL)
	{
		node->iss_ScanDesc =
			vx_compat_beginscan(node, node->ss.ps.state->es_snapshot);
		index_rescan(node->iss_ScanDesc, node->iss_ScanKeys,
					 node->iss_NumScanKeys, node->iss_OrderByKeys,
					 node->iss_NumOrderByKeys);
	}
	return node->iss_ScanDesc;
}

static const VxGate *
make_gate(GateState *state)
{
	TIDBitmap *bitmap = (TIDBitmap *) MultiExecProcNode(state->bitmap);
	MemoryContext caller;
	VxGate *gate;

	if (bitmap == NULL || !IsA(bitmap, TIDBitmap))
		elog(ERROR, "unrecognized result from subplan");
	caller = MemoryContextSwitchTo(state->context);
	gate = vx_gate_create(bitmap);
	MemoryContextSwitchTo(caller);
	tbm_free(bitmap);
	state->rows = vx_gate_count(gate);
	state->gated = true;
	return gate;
}

/* Asked by the index scan: does it look as if few rows meet the conditions? */
static const VxGate *
make_late(void *arg, int64 returned)
{
	GateState *state = arg;
	MemoryContext caller;
	const VxGate *gate;

	if (returned < LATE_ROWS || state->passed * LATE_SHARE >= returned)
		return NULL;
	caller = MemoryContextSwitchTo(state->css.ss.ps.state->es_query_cxt);
	gate = make_gate(state);
	MemoryContextSwitchTo(caller);
	return gate;
}

static void
set_gate(GateState *state)
{
	IndexScanDesc desc = begin_index_scan(state->index_scan);

	if (state->late)
		vx_ann_scan_set_maker(desc, make_late, state);
	else
		vx_ann_scan_set_gate(desc, make_gate(state));
	state->set = true;
}

static void
drop_gate(GateState *state)
{
	if (state->gated)
		vx_ann_scan_set_gate(state->index_scan->iss_ScanDesc, NULL);
	state->gated = state->set = false;
	MemoryContextReset(state->context);
}

/*
 * The next row of the index scan, whose columns are those of the scan tuple.
 * Values are passed on by reference: the index scan keeps them until it is asked
 * again.  When a row is checked again after an update, the index scan gives that
 * row, and there is nothing to be gated.
 */
static TupleTableSlot *
next(CustomScanState *node)
{
	GateState *state = (GateState *) node;
	TupleTableSlot *row;
	TupleTableSlot *slot = node->ss.ss_ScanTupleSlot;
	ExprContext *context = node->ss.ps.ps_ExprContext;

	if (!state->set && node->ss.ps.state->es_epq_active == NULL)
		set_gate(state);
	row = ExecProcNode(&state->index_scan->ss.ps);
	ExecClearTuple(slot);
	if (TupIsNull(row))
		return slot;
	state->passed++;
	slot_getallattrs(row);
	for (int i = 0; i < slot->tts_tupleDescriptor->natts; i++)
	{
		slot->tts_values[i] = row->tts_values[i];
		slot->tts_isnull[i] = row->tts_isnull[i];
	}
	ExecStoreVirtualTuple(slot);
	if (node->ss.ps.ps_ProjInfo == NULL)
		return slot;
	ResetExprContext(context);
	context->ecxt_scantuple = slot;
	return ExecProject(node->ss.ps.ps_ProjInfo);
}

static void
end(CustomScanState *node)
{
	GateState *state = (GateState *) node;

	ExecEndNode(&state->index_scan->ss.ps);
	ExecEndNode(state->bitmap);
	MemoryContextDelete(state->context);
}

/*
 * Core tells this node of changed parameters, but not its children.  With those
 * that the bitmap had, its rows are the same: the gate stays.
 */
static void
rescan(CustomScanState *node)
{
	GateState *state = (GateState *) node;
	PlanState *scan = &state->index_scan->ss.ps;

	if (node->ss.ps.chgParam != NULL)
	{
		UpdateChangedParamSet(scan, node->ss.ps.chgParam);
		UpdateChangedParamSet(state->bitmap, node->ss.ps.chgParam);
	}
	/* What is told of a change begins again when it is asked next. */
	if (state->bitmap->chgParam != NULL)
		drop_gate(state);
	state->passed = 0;
	if (scan->chgParam == NULL)
		ExecReScan(scan);
}

static void
explain(CustomScanState *node, List *ancestors, ExplainState *es)
{
	GateState *state = (GateState *) node;

	double loops = node->ss.ps.instrument ? node->ss.ps.instrument->nloops : 0;

	if (state->late)
		ExplainPropertyText("Gate", "when few rows pass", es);
	if (!es->analyze || !state->gated)
		return;
	if (state->rows >= 0)
		ExplainPropertyInteger("Rows Let Pass", NULL, state->rows, es);
	else
		ExplainPropertyText("Rows Let Pass", "lossy", es);
	ExplainPropertyFloat("Entries Left Out", NULL,
						 vx_ann_scan_gated(state->index_scan->iss_ScanDesc) /
							 Max(loops, 1),
						 0, es);
}
