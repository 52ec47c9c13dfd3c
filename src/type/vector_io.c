/*
 * vector_io.c
 *		Text, binary and type modifier of vector, and the checks every vector
 *		passes before it exists.
 *
 * Owns the invariants of a stored vector: 1 to VX_DIM_MAX dimensions, the
 * unused field 0, every value finite.  Other files that make vectors call the
 * checks below.
 */
#include "postgres.h"

#include <errno.h>
#include <math.h>

#include "catalog/pg_type.h"
#include "common/shortest_dec.h"
#include "libpq/pqformat.h"
#include "utils/array.h"

#include "compat.h"
#include "type/vector.h"

PG_FUNCTION_INFO_V1(vector_in);
PG_FUNCTION_INFO_V1(vector_out);
PG_FUNCTION_INFO_V1(vector_typmod_in);
PG_FUNCTION_INFO_V1(vector_recv);
PG_FUNCTION_INFO_V1(vector_send);

Vector *
vx_vector_new(int dim)
{
	Size bytes = VECTOR_SIZE(dim);
	Vector *v = (Vector *) palloc0(bytes);

	SET_VARSIZE(v, bytes);
	v->dim = dim;
	return v;
}

/*
 * The checks, as input asks them: false when the error went to escontext, an
 * ERROR when that takes none.
 */
static bool
dim_is_valid(int dim, Node *escontext)
{
	if (dim < 1)
		ereturn(escontext, false,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("vector must have at least 1 dimension")));
	if (dim > VX_DIM_MAX)
		ereturn(
			escontext, false,
			(errcode(ERRCODE_PROGRAM_LIMIT_EXCEEDED),
			 errmsg("vector cannot have more than %d dimensions", VX_DIM_MAX)));
	return true;
}

static bool
typmod_is_met(int dim, int32 typmod, Node *escontext)
{
	if (typmod != -1 && typmod != dim)
		ereturn(escontext, false,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("expected %d dimensions, not %d", typmod, dim)));
	return true;
}

static inline bool
value_is_valid(float value, Node *escontext)
{
	if (isnan(value))
		ereturn(escontext, false,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("NaN not allowed in vector")));
	if (isinf(value))
		ereturn(escontext, false,
				(errcode(ERRCODE_DATA_EXCEPTION),
				 errmsg("infinite value not allowed in vector")));
	return true;
}

void
vx_vector_check_dim(int dim)
{
	(void) dim_is_valid(dim, NULL);
}

void
vx_vector_check_typmod(int dim, int32 typmod)
{
	(void) typmod_is_met(dim, typmod, NULL);
}

void
vx_vector_check_same_dim(const Vector *a, const Vector *b)
{
	if (a->dim != b->dim)
		ereport(ERROR, (errcode(ERRCODE_DATA_EXCEPTION),
						errmsg("different vector dimensions %d and %d", a->dim,
							   b->dim)));
}

void
vx_vector_check_value(float value)
{
	(void) value_is_valid(value, NULL);
}

/* The white space of the text form, whatever the locale. */
static const char *
skip_space(const char *at)
{
	while (*at == ' ' || (*at >= '\t' && *at <= '\r'))
		at++;
	return at;
}

/*
 * Always false, when it returns.  The position is a character position as well
 * as a byte position: what parsed so far is ASCII.
 */
static bool
syntax_error(const char *text, const char *at, const char *expected,
			 Node *escontext)
{
	ereturn(escontext, false,
			(errcode(ERRCODE_INVALID_TEXT_REPRESENTATION),
			 errmsg("invalid input syntax for type vector: \"%s\"", text),
			 *at == '\0' ? errdetail("Expected %s at the end.", expected)
						 : errdetail("Expected %s at character %d.", expected,
									 (int) (at - text) + 1)));
}

/*
 * Reads one number and moves *at past it; false after an error.  Underflow
 * gives zero.
 */
static bool
parse_value(const char *text, const char **at, float *value, Node *escontext)
{
	const char *start = skip_space(*at);
	char *end;

	errno = 0;
	*value = strtof(start, &end);
	if (end == start)
		return syntax_error(text, start, "a number", escontext);
	if (errno == ERANGE && isinf(*value))
		ereturn(escontext, false,
				(errcode(ERRCODE_NUMERIC_VALUE_OUT_OF_RANGE),
				 errmsg("\"%s\" is out of range for type vector",
						pnstrdup(start, end - start))));
	*at = end;
	return value_is_valid(*value, escontext);
}

/* How many values the text can hold: its commas and one. */
static int
count_values(const char *text)
{
	int count = 1;

	while ((text = strchr(text, ',')) != NULL)
	{
		count++;
		text++;
	}
	return count;
}

/* The vector that the text says; false after an error. */
static bool
parse_vector(const char *text, Vector **result, Node *escontext)
{
	const char *at = skip_space(text);
	int dim = 0;
	Vector *v;

	if (*at != '[')
		return syntax_error(text, at, "\"[\"", escontext);
	at = skip_space(at + 1);
	if (!dim_is_valid(*at == ']' ? 0 : count_values(at), escontext))
		return false;

	/* Each value but the last is followed by one of the commas counted. */
	v = vx_vector_new(count_values(at));
	for (;;)
	{
		if (!parse_value(text, &at, &v->x[dim++], escontext))
			return false;
		at = skip_space(at);
		if (*at != ',')
			break;
		at++;
	}
	if (*at != ']')
		return syntax_error(text, at, "\",\" or \"]\"", escontext);
	at = skip_space(at + 1);
	if (*at != '\0')
		return syntax_error(text, at, "nothing after \"]\"", escontext);
	*result = v;
	return true;
}

Datum
vector_in(PG_FUNCTION_ARGS)
{
	const char *text = PG_GETARG_CSTRING(0);
	int32 typmod = PG_GETARG_INT32(2);
	Node *escontext = fcinfo->context;
	Vector *v;

	if (!parse_vector(text, &v, escontext) ||
		!typmod_is_met(v->dim, typmod, escontext))
		PG_RETURN_NULL();
	PG_RETURN_VECTOR_P(v);
}

Datum
vector_out(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	/* A value and its separator fit, for the constant counts a NUL. */
	char *text = palloc(v->dim * FLOAT_SHORTEST_DECIMAL_LEN + 3);
	char *at = text;

	*at++ = '[';
	for (int i = 0; i < v->dim; i++)
	{
		if (i > 0)
			*at++ = ',';
		at += float_to_shortest_decimal_bufn(v->x[i], at);
	}
	*at++ = ']';
	*at = '\0';
	PG_RETURN_CSTRING(text);
}

Datum
vector_typmod_in(PG_FUNCTION_ARGS)
{
	int count;
	int32 *typmods = ArrayGetIntegerTypmods(PG_GETARG_ARRAYTYPE_P(0), &count);

	if (count != 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("invalid type modifier"),
				 errdetail("Type vector takes one modifier, the number of "
						   "dimensions.")));
	if (typmods[0] < 1)
		ereport(ERROR,
				(errcode(ERRCODE_INVALID_PARAMETER_VALUE),
				 errmsg("dimensions for type vector must be at least 1")));
	if (typmods[0] > VX_DIM_MAX)
		ereport(ERROR, (errcode(ERRCODE_INVALID_PARAMETER_VALUE),
						errmsg("dimensions for type vector cannot exceed %d",
							   VX_DIM_MAX)));
	PG_RETURN_INT32(typmods[0]);
}

/*
 * ERROR unless the message holds exactly bytes more.  Asked before the values
 * are read: a message cut short must not get as far as the allocation.
 */
static void
check_bytes_left(StringInfo buf, int bytes)
{
	int left = buf->len - buf->cursor;

	if (left != bytes)
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid binary data for type vector"),
						errdetail("Expected %d bytes of values, not %d.", bytes,
								  left)));
}

Datum
vector_recv(PG_FUNCTION_ARGS)
{
	StringInfo buf = (StringInfo) PG_GETARG_POINTER(0);
	int32 typmod = PG_GETARG_INT32(2);
	int left = buf->len - buf->cursor;
	int dim;
	int unused;
	Vector *v;

	if (left < 2 * (int) sizeof(int16))
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid binary data for type vector"),
						errdetail("Expected at least %d bytes, not %d.",
								  2 * (int) sizeof(int16), left)));
	dim = (int16) pq_getmsgint(buf, sizeof(int16));
	unused = (int16) pq_getmsgint(buf, sizeof(int16));
	if (unused != 0)
		ereport(ERROR, (errcode(ERRCODE_INVALID_BINARY_REPRESENTATION),
						errmsg("invalid binary data for type vector"),
						errdetail("Expected unused to be 0, not %d.", unused)));
	vx_vector_check_dim(dim);
	vx_vector_check_typmod(dim, typmod);
	check_bytes_left(buf, dim * (int) sizeof(float));

	v = vx_vector_new(dim);
	for (int i = 0; i < dim; i++)
	{
		v->x[i] = pq_getmsgfloat4(buf);
		vx_vector_check_value(v->x[i]);
	}
	PG_RETURN_VECTOR_P(v);
}

Datum
vector_send(PG_FUNCTION_ARGS)
{
	Vector *v = PG_GETARG_VECTOR_P(0);
	StringInfoData buf;

	pq_begintypsend(&buf);
	pq_sendint16(&buf, v->dim);
	pq_sendint16(&buf, v->unused);
	for (int i = 0; i < v->dim; i++)
		pq_sendfloat4(&buf, v->x[i]);
	PG_RETURN_BYTEA_P(pq_endtypsend(&buf));
}
