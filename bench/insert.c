/*
 * insert.c
 *		client insert: single-row prepared INSERTs into several tables.
 *
 * The tables take turns, a transaction each, so that what disturbs the machine
 * disturbs all alike.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

typedef struct Target
{
	const char *name;
	PGconn *conn;
	double total_ms; /* of the transactions, BEGIN and COMMIT included */
	double wal_bytes;
	double cpu_ms; /* of the backend, of the transactions */
	double *times; /* of each INSERT */
	int rows;
} Target;

static void
insert_row(PGconn *conn, int id, const char *vector, int bytes)
{
	uint32_t sent_id = htobe32(id);
	const char *values[2] = {(const char *) &sent_id, vector};
	int lengths[2] = {4, bytes};
	int formats[2] = {1, 1};

	PQclear(expect_status(
		conn, PQexecPrepared(conn, "i", 2, values, lengths, formats, 1),
		PGRES_COMMAND_OK));
}

static void
insert_batch(Target *target, const Vectors *v, int first, int count,
			 int first_id)
{
	int bytes = (int) VECTOR_BYTES(v->dims);
	char *sent = allocate((size_t) bytes * count);
	double log_before = log_end(target->conn);
	double start;

	for (int i = 0; i < count; i++)
		vector_send(vectors_row(v, first + i), v->dims,
					sent + (size_t) bytes * i);
	target->cpu_ms -= backend_cpu_ms(target->conn);
	start = now_ms();
	run_sql(target->conn, "BEGIN");
	for (int i = 0; i < count; i++)
	{
		double before = now_ms();

		insert_row(target->conn, first_id + i, sent + (size_t) bytes * i,
				   bytes);
		target->times[target->rows++] = now_ms() - before;
	}
	run_sql(target->conn, "COMMIT");
	target->total_ms += now_ms() - start;
	target->cpu_ms += backend_cpu_ms(target->conn);
	target->wal_bytes += log_end(target->conn) - log_before;
	free(sent);
}

static Target
prepare(const Spec *spec, const Options *options, int rows)
{
	Target target = {
		.name = spec->field[0],
		.conn = connect_to(spec->field[1], options),
		.times = allocate(sizeof(double) * rows),
	};
	char sql[300];

	snprintf(sql, sizeof sql, "INSERT INTO %s (id, v) VALUES ($1, $2)",
			 spec->field[2]);
	PQclear(expect_status(target.conn,
						  PQprepare(target.conn, "i", sql, 0, NULL),
						  PGRES_COMMAND_OK));
	return target;
}

/* A line for each: name, rows/s, p50 and p99 in ms, log bytes a row, CPU ms. */
void
command_insert(const Options *options)
{
	Vectors v = vectors_read(options->base, options->dims, options->first,
							 options->count);
	Spec *specs;
	int count = read_specs(&specs, 3);
	Target *targets = allocate(sizeof(Target) * count);

	for (int i = 0; i < count; i++)
		targets[i] = prepare(&specs[i], options, v.count);
	for (int row = 0; row < v.count; row += options->batch)
	{
		int rows = v.count - row;

		if (rows > options->batch)
			rows = options->batch;
		for (int i = 0; i < count; i++)
			insert_batch(&targets[i], &v, row, rows, options->first + row);
	}
	for (int i = 0; i < count; i++)
	{
		Target *t = &targets[i];

		printf("%s\t%.1f\t%.4f\t%.4f\t%.0f\t%.4f\n", t->name,
			   t->rows * 1e3 / t->total_ms, quantile(t->times, t->rows, 0.5),
			   quantile(t->times, t->rows, 0.99), t->wal_bytes / t->rows,
			   t->cpu_ms / t->rows);
		PQfinish(t->conn);
	}
}
