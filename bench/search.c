/*
 * search.c
 *		client search: latency and recall of several settings, side by side.
 *
 * Each setting has a connection and a prepared statement of its own.  After one
 * warm pass, which also measures recall, the settings take turns: A B C A B C.
 * A figure is the median over the rounds.  Recall counts a row when it is at
 * most as far as the true k-th, within TIE: rows with equal text have equal
 * vectors.
 */
#include <endian.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

#define K 10
#define TIE 1e-6

typedef struct Setting
{
	const char *name;
	PGconn *conn;
	int queries;
	double recall;
	double *p50; /* one a round */
	double *p99;
	double *qps;
	double *cpu; /* ms of the backend on a CPU, a query */
} Setting;

typedef struct Bench
{
	const Options *options;
	Vectors base;
	Vectors queries;
	char *sent; /* the queries in binary */
	double *kth;
	double *times;
} Bench;

static PGresult *
ask(const Bench *bench, const Setting *setting, int query)
{
	int bytes = (int) VECTOR_BYTES(bench->base.dims);
	const char *value = bench->sent + (size_t) query * bytes;
	int format = 1;

	return expect_status(
		setting->conn,
		PQexecPrepared(setting->conn, "q", 1, &value, &bytes, &format, 1),
		PGRES_TUPLES_OK);
}

/* The rows of an answer that are among the true nearest. */
static int
count_hits(const Bench *bench, const PGresult *answer, int query)
{
	const float *q = vectors_row(&bench->queries, query);
	uint32_t seen[K];
	int rows = PQntuples(answer);
	int hits = 0;

	if (rows > K)
		die("%d rows instead of %d", rows, K);
	for (int i = 0; i < rows; i++)
	{
		uint32_t id;

		memcpy(&id, PQgetvalue(answer, i, 0), 4);
		seen[i] = id = be32toh(id);
		for (int j = 0; j < i; j++)
			if (seen[j] == id)
				die("query %d returned row %u twice", query, id);
		if (id >= (uint32_t) bench->base.count)
			die("query %d returned unknown row %u", query, id);
		hits += cosine_distance(q, vectors_row(&bench->base, (int) id),
								bench->base.dims) <= bench->kth[query] + TIE;
	}
	return hits;
}

static void
warm(const Bench *bench, Setting *setting)
{
	int hits = 0;

	for (int i = 0; i < setting->queries; i++)
	{
		PGresult *answer = ask(bench, setting, i);

		hits += count_hits(bench, answer, i);
		PQclear(answer);
	}
	setting->recall = hits / (double) (K * setting->queries);
}

static void
measure(const Bench *bench, Setting *setting, int round)
{
	double cpu = backend_cpu_ms(setting->conn);
	double start = now_ms();
	double total;

	for (int i = 0; i < setting->queries; i++)
	{
		double before = now_ms();

		PQclear(ask(bench, setting, i));
		bench->times[i] = now_ms() - before;
	}
	total = now_ms() - start;
	cpu = backend_cpu_ms(setting->conn) - cpu;
	setting->cpu[round] = cpu / setting->queries;
	setting->p50[round] = quantile(bench->times, setting->queries, 0.50);
	setting->p99[round] = quantile(bench->times, setting->queries, 0.99);
	setting->qps[round] = setting->queries * 1e3 / total;
}

/* Ends the program when the statement's plan is not the one to be measured. */
static void
check_plan(const Bench *bench, PGconn *conn, const char *wanted)
{
	const float *query = vectors_row(&bench->queries, 0);
	int dims = bench->queries.dims;
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

static Setting
prepare(const Bench *bench, const Spec *spec)
{
	const Options *options = bench->options;
	int queries = atoi(spec->field[2]);
	Setting setting = {
		.name = spec->field[0],
		.conn = connect_to(spec->field[1], options),
		.queries = queries > 0 && queries < bench->queries.count
					   ? queries
					   : bench->queries.count,
		.p50 = allocate(sizeof(double) * options->rounds),
		.p99 = allocate(sizeof(double) * options->rounds),
		.qps = allocate(sizeof(double) * options->rounds),
		.cpu = allocate(sizeof(double) * options->rounds),
	};

	run_sql(setting.conn, spec->field[3]);
	PQclear(expect_status(setting.conn,
						  PQprepare(setting.conn, "q", spec->field[4], 0, NULL),
						  PGRES_COMMAND_OK));
	check_plan(bench, setting.conn, spec->field[5]);
	return setting;
}

static Bench
open_bench(const Options *options)
{
	Bench bench = {
		.options = options,
		.base = vectors_read(options->base, options->dims, options->first,
							 options->count),
		.queries = vectors_read(options->queries, options->dims, 0,
								options->query_count),
	};
	size_t bytes = VECTOR_BYTES(options->dims);

	bench.sent = allocate(bytes * bench.queries.count);
	bench.times = allocate(sizeof(double) * bench.queries.count);
	for (int i = 0; i < bench.queries.count; i++)
		vector_send(vectors_row(&bench.queries, i), options->dims,
					bench.sent + bytes * i);
	bench.kth = exact_kth(&bench.base, &bench.queries, K);
	return bench;
}

/* A line for each: name, queries, recall, p50 and p99 in ms, QPS, CPU ms. */
void
command_search(const Options *options)
{
	Bench bench = open_bench(options);
	Spec *specs;
	int count = read_specs(&specs, 6);
	Setting *settings = allocate(sizeof(Setting) * count);
	int rounds = options->rounds;

	for (int i = 0; i < count; i++)
	{
		settings[i] = prepare(&bench, &specs[i]);
		warm(&bench, &settings[i]);
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++)
			measure(&bench, &settings[i], round);
	for (int i = 0; i < count; i++)
	{
		Setting *s = &settings[i];

		printf("%s\t%d\t%.4f\t%.4f\t%.4f\t%.1f\t%.4f\n", s->name, s->queries,
			   s->recall, quantile(s->p50, rounds, 0.5),
			   quantile(s->p99, rounds, 0.5), quantile(s->qps, rounds, 0.5),
			   quantile(s->cpu, rounds, 0.5));
		PQfinish(s->conn);
	}
}
