/*
 * validate.c
 *		Checks an operator class of the access method `ann`.
 *
 * A class of vectors holds one ordering operator, whose float8 result sorts as
 * btree's float family does, and support function 1.  A class of a filter column
 * holds search operators and support function 2.  Nothing else.
 */
#include "postgres.h"

#include "access/amvalidate.h"
#include "access/htup_details.h"
#include "catalog/pg_amop.h"
#include "catalog/pg_amproc.h"
#include "catalog/pg_opclass.h"
#include "catalog/pg_opfamily.h"
#include "catalog/pg_type_d.h"
#include "utils/builtins.h"
#include "utils/regproc.h"
#include "utils/syscache.h"

#include "ann/ann.h"

/* The family under test, and what was found wrong so far. */
typedef struct Validation
{
	const char *family;
	Oid type; /* input type of the class */
	bool valid;
} Validation;

/* One fault, reported as amvalidate does; what names the member. */
static void
fault(Validation *v, const char *problem, const char *member)
{
	ereport(INFO, (errcode(ERRCODE_INVALID_OBJECT_DEFINITION),
				   errmsg("operator family \"%s\" of access method ann "
						  "has %s: %s",
						  v->family, problem, member)));
	v->valid = false;
}

static void
check_function(Validation *v, Form_pg_amproc form)
{
	const char *name = format_procedure(form->amproc);

	if (form->amproclefttype != form->amprocrighttype)
		fault(v, "a support function with cross-type registration", name);
	if (form->amprocnum != VX_ANN_SUPPORT_PROC &&
		form->amprocnum != VX_ANN_COLUMN_PROC)
		fault(v, "a function with invalid support number", name);
	else if (!check_amproc_signature(form->amproc, INTERNALOID, true, 1, 1,
									 INTERNALOID))
		fault(v, "a function with wrong signature", name);
}

static void
check_search_operator(Validation *v, Form_pg_amop form, const char *name)
{
	if (form->amoppurpose != AMOP_SEARCH)
		fault(v, "an operator that is not for searching", name);
	if (!check_amop_signature(form->amopopr, BOOLOID, form->amoplefttype,
							  form->amoprighttype))
		fault(v, "an operator with wrong signature", name);
}

static void
check_operator(Validation *v, Form_pg_amop form)
{
	const char *name = format_operator(form->amopopr);

	if (form->amopstrategy < 1 || form->amopstrategy > VX_ANN_STRATEGIES)
		fault(v, "an operator with invalid strategy number", name);
	if (form->amopstrategy != VX_ANN_DISTANCE_STRATEGY &&
		form->amopstrategy != VX_ANN_FALLING_STRATEGY &&
		form->amopstrategy != VX_ANN_NAN_FIRST_STRATEGY)
	{
		check_search_operator(v, form, name);
		return;
	}
	if (form->amoppurpose != AMOP_ORDER)
		fault(v, "an operator that is not for ordering", name);
	else if (!opfamily_can_sort_type(form->amopsortfamily, FLOAT8OID))
		fault(v, "an operator with invalid ORDER BY specification", name);
	if (form->amoplefttype != v->type)
		fault(v, "an operator of another type", name);
	if (!check_amop_signature(form->amopopr, FLOAT8OID, form->amoplefttype,
							  form->amoprighttype))
		fault(v, "an operator with wrong signature", name);
}

/* The class itself must have its operators and its support function. */
static void
check_complete(Validation *v, CatCList *operators, CatCList *functions)
{
	uint64 operator_set = 0;
	uint64 function_set = 0;
	const uint64 ordering = UINT64CONST(1) << VX_ANN_DISTANCE_STRATEGY;
	ListCell *lc;

	foreach (lc, identify_opfamily_groups(operators, functions))
	{
		OpFamilyOpFuncGroup *group = (OpFamilyOpFuncGroup *) lfirst(lc);

		if (group->lefttype == v->type && group->righttype == v->type)
		{
			operator_set = group->operatorset;
			function_set = group->functionset;
		}
	}
	if ((function_set & (UINT64CONST(1) << VX_ANN_COLUMN_PROC)) != 0)
	{
		if ((operator_set & ~ordering) == 0)
			fault(v, "no search operator for type", format_type_be(v->type));
		return;
	}
	if ((operator_set & ordering) == 0)
		fault(v, "no ordering operator for type", format_type_be(v->type));
	if ((function_set & (UINT64CONST(1) << VX_ANN_SUPPORT_PROC)) == 0)
		fault(v, "no support function for type", format_type_be(v->type));
}

/* Looks up what is under test; returns the family. */
static Oid
begin(Validation *v, Oid opclass)
{
	HeapTuple tuple = SearchSysCache1(CLAOID, ObjectIdGetDatum(opclass));
	Oid family;

	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator class %u", opclass);
	family = ((Form_pg_opclass) GETSTRUCT(tuple))->opcfamily;
	v->type = ((Form_pg_opclass) GETSTRUCT(tuple))->opcintype;
	v->valid = true;
	ReleaseSysCache(tuple);

	tuple = SearchSysCache1(OPFAMILYOID, ObjectIdGetDatum(family));
	if (!HeapTupleIsValid(tuple))
		elog(ERROR, "cache lookup failed for operator family %u", family);
	v->family =
		pstrdup(NameStr(((Form_pg_opfamily) GETSTRUCT(tuple))->opfname));
	ReleaseSysCache(tuple);
	return family;
}

bool
annvalidate(Oid opclass)
{
	Validation v;
	Oid family = begin(&v, opclass);
	CatCList *operators;
	CatCList *functions;

	operators = SearchSysCacheList1(AMOPSTRATEGY, ObjectIdGetDatum(family));
	functions = SearchSysCacheList1(AMPROCNUM, ObjectIdGetDatum(family));
	for (int i = 0; i < functions->n_members; i++)
		check_function(
			&v, (Form_pg_amproc) GETSTRUCT(&functions->members[i]->tuple));
	for (int i = 0; i < operators->n_members; i++)
		check_operator(&v,
					   (Form_pg_amop) GETSTRUCT(&operators->members[i]->tuple));
	check_complete(&v, operators, functions);
	ReleaseCatCacheList(functions);
	ReleaseCatCacheList(operators);
	return v.valid;
}
