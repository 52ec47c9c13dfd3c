/*
 * ask.c
 *		What the searching commands share: the questions, a connection that asks
 *		them, and which rows of an answer are right.
 *
 * A row is right when it is at most as far as the true k-th, within TIE: rows
 * with equal text have equal vectors.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define TIE 1e-6

/* Distances of the true k-th rows, of a file with the K nearest of each query. */
static double *
known_kth(const Questions *q, const char *path)
{
	double *kth = allocate(sizeof(double) * q->queries.count);
	FILE *file = fopen(path, "rb");

	for (int i = 0; i < q->queries.count; i++)
	{
		uint32_t rows[K];
		uint32_t last;

		if (!file || fread(rows, sizeof(uint32_t), K, file) != K)
			die("cannot read %s", path);
		last = le32toh(rows[K - 1]);
		if (last >= (uint32_t) q->base.count)
			die("%s is not of these vectors", path);
		kth[i] =
			cosine_distance(vectors_row(&q->queries, i),
							vectors_row(&q->base, (int) last), q->base.dims);
	}
	fclose(file);
	return kth;
}

Questions
questions_read(const Options *options)
{
	Questions q = {
		.options = options,
		.base = vectors_read(options->base, options->dims, options->first,
							 options->count),
		.queries = vectors_read(options->queries, options->dims, 0,
								options->query_count),
	};
	size_t bytes = VECTOR_BYTES(options->dims);

	q.sent = allocate(bytes * q.queries.count);
	for (int i = 0; i < q.queries.count; i++)
		vector_send(vectors_row(&q.queries, i), options->dims,
					q.sent + bytes * i);
	q.kth = options->truth ? known_kth(&q, options->truth)
						   : exact_kth(&q.base, &q.queries, K);
	return q;
}

/* Ends the program when the statement's plan is not the one to be measured. */
static void
check_plan(const Questions *q, PGconn *conn, const char *wanted)
{
	const float *query = vectors_row(&q->queries, 0);
	int dims = q->queries.dims;
	char *sql = allocate(64 + 16 * (size_t) dims);
	char *out = sql + sprintf(sql, "EXPLAIN (COSTS off) EXECUTE q('[");
	char *plan = strdup("");
	PGresult *result;

	for (int i = 0; i < dims; i++)
		out += sprintf(out, "%s%.7g", i ? "," : "", query[i]);
	strcpy(out, "]')");
	result = expect_status(conn, PQexec(conn, sql), PGRES_TUPLES_OK);
	for (int i = 0; i < PQntuples(result); i++)
	{
		char *longer;

		if (asprintf(&longer, "%s%s\n", plan, PQgetvalue(result, i, 0)) < 0)
			die("out of memory");
		free(plan);
		plan = longer;
	}
	if (!strstr(plan, wanted))
		die("the plan has no \"%s\":\n%.500s", wanted, plan);
	free(plan);
	free(sql);
	PQclear(result);
}

void
prepare_query(PGconn *conn, const Spec *spec)
{
	PQclear(expect_status(conn, PQprepare(conn, "q", spec->field[4], 0, NULL),
						  PGRES_COMMAND_OK));
}

PGconn *
connect_asking(const Questions *q, const Spec *spec)
{
	PGconn *conn = connect_to(spec->field[1], q->options);

	run_sql(conn, spec->field[3]);
	prepare_query(conn, spec);
	check_plan(q, conn, spec->field[5]);
	return conn;
}

PGresult *
ask(const Questions *q, PGconn *conn, int query)
{
	int bytes = (int) VECTOR_BYTES(q->base.dims);
	const char *value = q->sent + (size_t) query * bytes;
	int format = 1;

	return expect_status(
		conn, PQexecPrepared(conn, "q", 1, &value, &bytes, &format, 1),
		PGRES_TUPLES_OK);
}

int
answer_ids(const PGresult *answer, uint32_t *ids)
{
	int rows = PQntuples(answer);

	if (rows > K)
		die("%d rows instead of %d", rows, K);
	for (int i = 0; i < rows; i++)
	{
		memcpy(&ids[i], PQgetvalue(answer, i, 0), 4);
		ids[i] = be32toh(ids[i]);
	}
	return rows;
}

int
count_right(const Questions *q, int query, const uint32_t *ids, int rows)
{
	const float *vector = vectors_row(&q->queries, query);
	int right = 0;

	for (int i = 0; i < rows; i++)
	{
		for (int j = 0; j < i; j++)
			if (ids[j] == ids[i])
				die("query %d returned row %u twice", query, ids[i]);
		if (ids[i] >= (uint32_t) q->base.count)
			die("query %d returned unknown row %u", query, ids[i]);
		right += cosine_distance(vector, vectors_row(&q->base, (int) ids[i]),
								 q->base.dims) <= q->kth[query] + TIE;
	}
	return right;
}
