/*
 * serve.c
 *		client serve: many clients at once, closed loop or open loop.
 *
 * Closed loop: each client asks its next query when the last is answered, for
 * so many seconds.  Open loop: queries arrive at a given mean rate, as a Poisson
 * process that is the same for every line, whether or not the earlier ones are
 * answered; a free client takes the next one, and its latency counts from the
 * moment it was due, so that waiting for a client is part of it.
 *
 * The lines take turns, a round each; every figure is the median of the rounds.
 * Recall is that of the answers given while the clock ran.
 */
#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>

#include "client.h"

#define WARM_QUERIES 10
#define SEED 42

typedef struct Answer
{
	double ms;
	int query;
	int rows;
	uint32_t ids[K];
} Answer;

/* One round of one line. */
typedef struct Run
{
	const Questions *questions;
	double start; /* by now_ms() */
	double end;
	double *due; /* open loop: ms after the start, else NULL */
	int due_count;
	atomic_int next;
	pthread_barrier_t ready;
} Run;

typedef struct Client
{
	Run *run;
	PGconn *conn;
	pthread_t thread;
	int first_query;
	Answer *answers;
	int count;
	int room;
	double finished;
} Client;

typedef struct Line
{
	const Spec *spec;
	int clients;
	double rate; /* a second; 0: closed loop */
	long answers;
	long right;
	double *qps; /* one a round */
	double *p50;
	double *p95;
	double *p99;
	double *cpu; /* ms of the backends, a query */
} Line;

static void
sleep_until(double ms)
{
	struct timespec t = {(time_t) (ms / 1e3), 0};

	t.tv_nsec = (long) ((ms - t.tv_sec * 1e3) * 1e6);
	while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &t, NULL) == EINTR)
		;
}

static void
ask_and_keep(Client *client, int query, double since)
{
	const Questions *q = client->run->questions;
	PGresult *result = ask(q, client->conn, query);
	Answer *answer;

	if (client->count == client->room)
	{
		client->room = client->room ? 2 * client->room : 1024;
		client->answers =
			realloc(client->answers, sizeof(Answer) * client->room);
		if (!client->answers)
			die("out of memory");
	}
	answer = &client->answers[client->count++];
	answer->ms = now_ms() - since;
	answer->query = query;
	answer->rows = answer_ids(result, answer->ids);
	PQclear(result);
}

static void
closed_loop(Client *client)
{
	const Run *run = client->run;
	int queries = run->questions->queries.count;
	double now;

	while ((now = now_ms()) < run->end)
		ask_and_keep(client, (client->first_query + client->count) % queries,
					 now);
}

static void
open_loop(Client *client)
{
	Run *run = client->run;
	int queries = run->questions->queries.count;
	int i;

	while ((i = atomic_fetch_add(&run->next, 1)) < run->due_count)
	{
		double due = run->start + run->due[i];

		sleep_until(due);
		ask_and_keep(client, i % queries, due);
	}
}

static void *
client_main(void *argument)
{
	Client *client = argument;
	Run *run = client->run;

	/* Wake up when it is time, not up to 50 us later. */
	prctl(PR_SET_TIMERSLACK, 1UL, 0, 0, 0);
	pthread_barrier_wait(&run->ready); /* all are there */
	pthread_barrier_wait(&run->ready); /* the clock runs */
	if (run->due)
		open_loop(client);
	else
		closed_loop(client);
	client->finished = now_ms();
	return NULL;
}

/* Times of arrival, ms after the start, of a Poisson process. */
static void
make_arrivals(Run *run, double rate, double seconds)
{
	unsigned short seed[3] = {SEED, SEED, SEED};
	double at = 0;
	int room = 0;

	for (;;)
	{
		at += -log(1 - erand48(seed)) * 1e3 / rate;
		if (at >= seconds * 1e3)
			return;
		if (run->due_count == room)
		{
			room = room ? 2 * room : 1024;
			run->due = realloc(run->due, sizeof(double) * room);
			if (!run->due)
				die("out of memory");
		}
		run->due[run->due_count++] = at;
	}
}

static double
cpu_ms(const Client *clients, int count)
{
	double sum = 0;

	for (int i = 0; i < count; i++)
		sum += backend_cpu_ms(clients[i].conn);
	return sum;
}

/* The figures of a round, from what its clients kept. */
static void
summarize(Line *line, const Run *run, const Client *clients, int round)
{
	const Questions *q = run->questions;
	double finished = 0;
	double *times;
	int count = 0;
	int at = 0;

	for (int i = 0; i < line->clients; i++)
	{
		count += clients[i].count;
		if (clients[i].finished > finished)
			finished = clients[i].finished;
	}
	if (count == 0)
		die("%s: no query in the time given", line->spec->field[0]);
	times = allocate(sizeof(double) * count);
	for (int i = 0; i < line->clients; i++)
		for (int j = 0; j < clients[i].count; j++)
		{
			const Answer *a = &clients[i].answers[j];

			times[at++] = a->ms;
			line->right += count_right(q, a->query, a->ids, a->rows);
		}
	line->answers += count;
	line->qps[round] = count * 1e3 / (finished - run->start);
	line->p50[round] = quantile(times, count, 0.50);
	line->p95[round] = quantile(times, count, 0.95);
	line->p99[round] = quantile(times, count, 0.99);
	line->cpu[round] /= count;
	free(times);
}

static void
run_line(const Questions *q, Line *line, int round)
{
	double seconds = q->options->seconds;
	Run run = {.questions = q};
	Client *clients = allocate(sizeof(Client) * line->clients);
	double cpu;

	if (line->rate > 0)
		make_arrivals(&run, line->rate, seconds);
	pthread_barrier_init(&run.ready, NULL, line->clients + 1);
	for (int i = 0; i < line->clients; i++)
	{
		int first = (int) ((long) q->queries.count * i / line->clients);

		clients[i] = (Client){.run = &run, .first_query = first};
		clients[i].conn = connect_asking(q, line->spec);
		for (int j = 0; j < WARM_QUERIES; j++)
			PQclear(ask(q, clients[i].conn, (first + j) % q->queries.count));
		if (pthread_create(&clients[i].thread, NULL, client_main,
						   &clients[i]) != 0)
			die("cannot start a thread");
	}
	pthread_barrier_wait(&run.ready);
	cpu = cpu_ms(clients, line->clients);
	run.start = now_ms();
	run.end = run.start + seconds * 1e3;
	pthread_barrier_wait(&run.ready);
	for (int i = 0; i < line->clients; i++)
		pthread_join(clients[i].thread, NULL);
	line->cpu[round] = cpu_ms(clients, line->clients) - cpu;
	summarize(line, &run, clients, round);
	for (int i = 0; i < line->clients; i++)
	{
		PQfinish(clients[i].conn);
		free(clients[i].answers);
	}
	pthread_barrier_destroy(&run.ready);
	free(clients);
	free(run.due);
}

static Line
make_line(const Spec *spec, int rounds)
{
	Line line = {
		.spec = spec,
		.clients = atoi(spec->field[6]),
		.rate = atof(spec->field[7]),
		.qps = allocate(sizeof(double) * rounds),
		.p50 = allocate(sizeof(double) * rounds),
		.p95 = allocate(sizeof(double) * rounds),
		.p99 = allocate(sizeof(double) * rounds),
		.cpu = allocate(sizeof(double) * rounds),
	};

	if (line.clients < 1)
		die("%s: no clients", spec->field[0]);
	return line;
}

/*
 * A line for each: name, clients, rate (0: closed), queries, recall; QPS, p50,
 * p95, p99 in ms, CPU ms.
 */
void
command_serve(const Options *options)
{
	Questions q = questions_read(options);
	Spec *specs;
	int count = read_specs(&specs, 8);
	Line *lines = allocate(sizeof(Line) * count);
	int rounds = options->rounds;

	for (int i = 0; i < count; i++)
		lines[i] = make_line(&specs[i], rounds);
	for (int round = 0; round < rounds; round++)
		for (int i = 0; i < count; i++)
			run_line(&q, &lines[i], round);
	for (int i = 0; i < count; i++)
	{
		Line *l = &lines[i];

		printf("%s\t%d\t%.1f\t%ld\t%.4f\t%.1f\t%.4f\t%.4f\t%.4f\t%.4f\n",
			   l->spec->field[0], l->clients, l->rate, l->answers,
			   l->right / (double) (K * l->answers),
			   quantile(l->qps, rounds, 0.5), quantile(l->p50, rounds, 0.5),
			   quantile(l->p95, rounds, 0.5), quantile(l->p99, rounds, 0.5),
			   quantile(l->cpu, rounds, 0.5));
	}
}
