/*
 * load.c
 *		client load: base vectors into tables (id int4, v vector), ids counted
 *		from 0 at the file's first row.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

static void
put(PGconn *conn, const void *data, size_t bytes)
{
	if (PQputCopyData(conn, data, (int) bytes) != 1)
		die("%s", PQerrorMessage(conn));
}

/* A field or a number: length or value in network order. */
static char *
add32(char *out, uint32_t value)
{
	value = htobe32(value);
	memcpy(out, &value, 4);
	return out + 4;
}

static void
send_rows(PGconn *conn, const Vectors *v, int first_id)
{
	static const char head[] = "PGCOPY\n\377\r\n\0\0\0\0\0\0\0\0\0";
	static const uint16_t end = 0xFFFF;
	size_t bytes = 2 + 4 + 4 + 4 + VECTOR_BYTES(v->dims);
	char *tuple = allocate(bytes);

	put(conn, head, 19);
	for (int i = 0; i < v->count; i++)
	{
		uint16_t fields = htobe16(2);
		char *out = tuple + 2;

		memcpy(tuple, &fields, 2);
		out = add32(out, 4);
		out = add32(out, first_id + i);
		out = add32(out, VECTOR_BYTES(v->dims));
		vector_send(vectors_row(v, i), v->dims, out);
		put(conn, tuple, bytes);
	}
	put(conn, &end, 2);
	free(tuple);
}

void
copy_vectors(PGconn *conn, const char *table, const Vectors *v, int first_id)
{
	char sql[300];

	snprintf(sql, sizeof sql, "COPY %s (id, v) FROM STDIN (FORMAT binary)",
			 table);
	PQclear(expect_status(conn, PQexec(conn, sql), PGRES_COPY_IN));
	send_rows(conn, v, first_id);
	if (PQputCopyEnd(conn, NULL) != 1)
		die("%s", PQerrorMessage(conn));
	PQclear(expect_status(conn, PQgetResult(conn), PGRES_COMMAND_OK));
	PQclear(PQgetResult(conn)); /* NULL: the command has ended */
}

void
command_load(const Options *options)
{
	Vectors v = vectors_read(options->base, options->dims, options->first,
							 options->count);
	Spec *specs;
	int count = read_specs(&specs, 2);

	for (int i = 0; i < count; i++)
	{
		PGconn *conn = connect_to(specs[i].field[0], options);

		copy_vectors(conn, specs[i].field[1], &v, options->first);
		PQfinish(conn);
	}
}
