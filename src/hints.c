/*
 * hints.c
 *		A better hint for an error that is not ours.
 *
 * CREATE INDEX on a column of a type that has no operator class fails in core, which
 * does not know what would do.  The access method's handler has run by then, so
 * this library is loaded, and completes the message on its way out.
 */
#include "postgres.h"

#include "utils/elog.h"
#include "utils/memutils.h"

#include "hints.h"

static emit_log_hook_type next_log = NULL;

/* Is it the error about a key column of an ann index? */
static bool
lacks_class(const ErrorData *error)
{
	return error->elevel == ERROR &&
		   error->sqlerrcode == ERRCODE_UNDEFINED_OBJECT &&
		   error->message_id != NULL && error->message != NULL &&
		   strstr(error->message_id, "no default operator class") != NULL &&
		   strstr(error->message, "ann") != NULL;
}

static void
complete_hint(ErrorData *error)
{
	if (lacks_class(error))
		error->hint = MemoryContextStrdup(
			ErrorContext,
			"The first column is a vector.  Filter columns may be int2, int4, "
			"int8, float4, float8, bool, date, time, timestamp, timestamptz, "
			"oid, uuid, enums, text, varchar, char(n), name, numeric, inet, "
			"and "
			"arrays.");
	if (next_log)
		next_log(error);
}

void
vx_hints_install(void)
{
	next_log = emit_log_hook;
	emit_log_hook = complete_hint;
}
