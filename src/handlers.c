/*
 * handlers.c
 *		The handler of the access method, which wires its callbacks.
 */
#include "postgres.h"

#include "access/amapi.h"
#include "commands/vacuum.h"

#include "ann/ann.h"
#include "compat.h"

PG_FUNCTION_INFO_V1(ann_handler);

static bool annproperty(Oid index, int attno, IndexAMProperty property,
						const char *name, bool *result, bool *isnull);

Datum
ann_handler(PG_FUNCTION_ARGS)
{
	IndexAmRoutine *am = makeNode(IndexAmRoutine);

	am->amstrategies = VX_ANN_STRATEGIES;
	am->amsupport = VX_ANN_COLUMN_PROC;
	am->amoptsprocnum = 0;
	am->amcanorder = false;
	am->amcanorderbyop = true;
	am->amcanbackward = false;
	am->amcanunique = false;
	am->amcanmulticol = true;
	am->amoptionalkey = true;
	am->amsearcharray = true;
	am->amsearchnulls = true;
	am->amstorage = false;
	am->amclusterable = false;
	am->ampredlocks = false;
	am->amcanparallel = true;
	am->amcaninclude = false;
	vx_compat_can_build_parallel(am);
	am->amusemaintenanceworkmem = true;
	am->amparallelvacuumoptions = VACUUM_OPTION_PARALLEL_BULKDEL;
	am->amkeytype = InvalidOid;

	am->ambuild = annbuild;
	am->ambuildempty = annbuildempty;
	am->aminsert = anninsert;
	am->ambulkdelete = annbulkdelete;
	am->amvacuumcleanup = annvacuumcleanup;
	am->amcostestimate = anncostestimate;
	am->amoptions = annoptions;
	am->ambuildphasename = annbuildphasename;
	am->amproperty = annproperty;
	am->amvalidate = annvalidate;
	am->ambeginscan = annbeginscan;
	am->amrescan = annrescan;
	am->amgettuple = anngettuple;
	am->amgetbitmap = anngetbitmap;
	am->amendscan = annendscan;
	am->amestimateparallelscan = annestimateparallelscan;
	am->aminitparallelscan = anninitparallelscan;
	am->amparallelrescan = annparallelrescan;

	PG_RETURN_POINTER(am);
}

/* What pg_index_column_has_property() asks of a method that orders by operator. */
static bool
annproperty(Oid index, int attno, IndexAMProperty property, const char *name,
			bool *result, bool *isnull)
{
	if (property != AMPROP_DISTANCE_ORDERABLE || attno == 0)
		return false;
	*result = attno == 1;
	*isnull = false;
	return true;
}

bool
vx_is_ann_index(Relation index)
{
	return index->rd_indam != NULL &&
		   index->rd_indam->amgettuple == anngettuple;
}
