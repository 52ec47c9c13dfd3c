/*
 * search.c
 *		client search: latency and recall of several settings, side by side.
 *
 * Each setting has a connection and a prepared statement of its own.  After one
 * warm pass, which also measures recall, the settings take turns: A B C A B C.
 * A figure is the median over the rounds.
 */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"

typedef struct Setting
{
	const char *name;
	PGconn *conn;
	int queries;
	double recall;
	double *p50; /* one a round */
	double *p95;
	double *p99;
	double *qps;
	double *cpu; /* ms of the backend on a CPU, a query */
} Setting;

static void
warm(const Questions *q, Setting *setting)
{
	int right = 0;

	for (int i = 0; i < setting->queries; i++)
	{
		PGresult *answer = ask(q, setting->conn, i);
		uint32_t ids[K];
		int rows = answer_ids(answer, ids);

		right += count_right(q, i, ids, rows);
		PQclear(answer);
	}
	setting->recall = right / (double) (K * setting->queries);
}

static void
measure(const Questions *q, Setting *setting, double *times, int round)
{
	double cpu = backend_cpu_ms(setting->conn);
	double start = now_ms();
	double total;

	for (int i = 0; i < setting->queries; i++)
	{
		double before = now_ms();

		PQclear(ask(q, setting->conn, i));
		times[i] = now_ms() - before;
	}
	total = now_ms() - start;
	cpu = backend_cpu_ms(setting->conn) - cpu;
	setting->cpu[round] = cpu / setting->queries;
	setting->p50[round] = quantile(times, setting->queries, 0.50);
	setting->p95[round] = quantile(times, setting->queries, 0.95);
	setting->p99[round] = quantile(times, setting->queries, 0.99);
	setting->qps[round] = setting->queries * 1e3 / total;
}

static Setting
prepare(const Questions *q, const Spec *spec)
{
	size_t bytes = sizeof(double) * q->options->rounds;
	int queries = atoi(spec->field[2]);

	return (Setting){
		.name = spec->field[0],
		.conn = connect_asking(q, spec),
		.queries = queries > 0 && queries < q->queries.count ? queries
															 : q->queries.count,
		.p50 = allocate(bytes),
		.p95 = allocate(bytes),
		.p99 = allocate(bytes),
		.qps = allocate(bytes),
		.cpu = allocate(bytes),
	};
}

/* A line for each: name, queries, recall; p50, p95, p99 in ms, QPS, CPU ms. */
void
command_search(const Options *options)
{
	Questions q = questions_read(options);
	double *times = allocate(sizeof(double) * q.queries.count);
	Spec *specs;
	int count = read_specs(&specs, 6);
	Setting *settings = allocate(sizeof(Setting) * count);
	int rounds = options->rounds;

	for (int i = 0; i < count; i++)
	{
		settings[i] = prepare(&q, &specs[i]);
		warm(&q, &settings[i]);
	}
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++)
			measure(&q, &settings[i], times, round);
	for (int i = 0; i < count; i++)
	{
		Setting *s = &settings[i];

		printf("%s\t%d\t%.4f\t%.4f\t%.4f\t%.4f\t%.1f\t%.4f\n", s->name,
			   s->queries, s->recall, quantile(s->p50, rounds, 0.5),
			   quantile(s->p95, rounds, 0.5), quantile(s->p99, rounds, 0.5),
			   quantile(s->qps, rounds, 0.5), quantile(s->cpu, rounds, 0.5));
		PQfinish(s->conn);
	}
}
