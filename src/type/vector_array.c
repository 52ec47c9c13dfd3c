/*
 * vector_array.c
 *		Distance operators with an array on the right-hand side.
 *
 * Many drivers bind a list of numbers as an array.  Each operator here has a
 * vector twin of the same name, and its planner support function rewrites the
 * call into the twin with a cast around the array: that is what an index on the
 * column matches.  The functions themselves compute the same result for where
 * no planner comes by.
 */
#include "postgres.h"

#include "catalog/pg_operator.h"
#include "catalog/pg_type.h"
#include "nodes/makefuncs.h"
#include "nodes/nodeFuncs.h"
#include "nodes/supportnodes.h"
#include "optimizer/optimizer.h"
#include "parser/parse_coerce.h"
#include "utils/lsyscache.h"
#include "utils/syscache.h"

#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector_array_l2_distance);
PG_FUNCTION_INFO_V1(vector_array_negative_inner_product);
PG_FUNCTION_INFO_V1(vector_array_cosine_distance);
PG_FUNCTION_INFO_V1(vector_array_l1_distance);
PG_FUNCTION_INFO_V1(vector_array_support);

typedef double (*Distance)(const float *x, const float *y, int dim);

/* Function of this file to the name of the operator it stands behind. */
static const struct
{
	const char *function;
	const char *oprname;
} twins[] = {
	{"vector_array_l2_distance", "<->"},
	{"vector_array_negative_inner_product", "<#>"},
	{"vector_array_cosine_distance", "<=>"},
	{"vector_array_l1_distance", "<+>"},
};

static Datum
distance_to_array(FunctionCallInfo fcinfo, Distance distance)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	Vector *w = vx_vector_from_array(PG_GETARG_DATUM(1));

	vx_vector_check_same_dim(v, w);
	PG_RETURN_FLOAT8(distance(v->x, w->x, v->dim));
}

Datum
vector_array_l2_distance(PG_FUNCTION_ARGS)
{
	return distance_to_array(fcinfo, vx_l2_distance);
}

Datum
vector_array_negative_inner_product(PG_FUNCTION_ARGS)
{
	return distance_to_array(fcinfo, vx_negative_inner_product);
}

Datum
vector_array_cosine_distance(PG_FUNCTION_ARGS)
{
	return distance_to_array(fcinfo, vx_cosine_distance);
}

Datum
vector_array_l1_distance(PG_FUNCTION_ARGS)
{
	return distance_to_array(fcinfo, vx_l1_distance);
}

/*
 * The (type, type) operator that is the twin of a function of this file, or
 * InvalidOid.  Looked up beside the function, never by search path.
 */
static Oid
twin_operator(Oid function, Oid type)
{
	char *name = get_func_name(function);

	for (int i = 0; i < lengthof(twins); i++)
	{
		if (strcmp(name, twins[i].function) == 0)
			return GetSysCacheOid4(
				OPERNAMENSP, Anum_pg_operator_oid,
				CStringGetDatum(twins[i].oprname), ObjectIdGetDatum(type),
				ObjectIdGetDatum(type),
				ObjectIdGetDatum(get_func_namespace(function)));
	}
	return InvalidOid;
}

/* The array as a vector, by the cast from its declared type, or NULL. */
static Expr *
cast_to_vector(PlannerInfo *root, Node *array, Oid array_type, Oid vector_type)
{
	Oid cast;
	List *args;
	FuncExpr *call;

	if (find_coercion_pathway(vector_type, array_type, COERCION_ASSIGNMENT,
							  &cast) != COERCION_PATH_FUNC)
		return NULL;

	/* The arguments of a cast function: value, no type modifier, implicit. */
	args = list_make3(array,
					  makeConst(INT4OID, -1, InvalidOid, sizeof(int32),
								Int32GetDatum(-1), false, true),
					  makeBoolConst(false, false));
	call = makeFuncExpr(cast, vector_type, args, InvalidOid, InvalidOid,
						COERCE_EXPLICIT_CAST);
	return (Expr *) eval_const_expressions(root, (Node *) call);
}

/* v <op> array -> v <op> array::vector, or NULL to leave the call alone. */
static Node *
simplify(PlannerInfo *root, const FuncExpr *call)
{
	Oid *types;
	int count;
	Oid twin;
	Expr *cast;
	OpExpr *op;

	get_func_signature(call->funcid, &types, &count);
	if (count != 2 || list_length(call->args) != 2)
		return NULL;
	twin = twin_operator(call->funcid, types[0]);
	if (!OidIsValid(twin))
		return NULL;
	cast = cast_to_vector(root, lsecond(call->args), types[1], types[0]);
	if (cast == NULL)
		return NULL;

	op = (OpExpr *) make_opclause(twin, call->funcresulttype, false,
								  linitial(call->args), cast, InvalidOid,
								  InvalidOid);
	set_opfuncid(op);
	op->location = call->location;
	return (Node *) op;
}

Datum
vector_array_support(PG_FUNCTION_ARGS)
{
	Node *request = (Node *) PG_GETARG_POINTER(0);
	Node *result = NULL;

	if (IsA(request, SupportRequestSimplify))
	{
		SupportRequestSimplify *simplification =
			(SupportRequestSimplify *) request;

		result = simplify(simplification->root, simplification->fcall);
	}
	PG_RETURN_POINTER(result);
}
