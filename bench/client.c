/*
 * client.c
 *		The command line of the measuring client, and what its commands share.
 */
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "client.h"

static const char usage[] =
	"usage: client COMMAND OPTION... <SPECIFICATION\n"
	"  --base FILE     base vectors, float16, or float32 in NAME.f32\n"
	"  --queries FILE  query vectors, likewise\n"
	"  --truth FILE    the ten nearest of each query, int32; else computed\n"
	"  --dims N        dimensions of both\n"
	"  --first N --count N   base rows to use\n"
	"  --query-count N queries of a round\n"
	"  --rounds N      timed rounds\n"
	"  --seconds N     of a round of serve\n"
	"  --batch N       rows of a transaction\n"
	"  --cpu N         run client and backends on this CPU (-1: anywhere)\n"
	"The specification has a line for each thing to measure, fields separated\n"
	"by tabs:\n"
	"  load    database, table\n"
	"  search  name, database, number of queries (0: all), settings, query,\n"
	"          text that its plan must contain\n"
	"  first   the same, but which query\n"
	"  serve   as search, then clients, queries a second (0: closed loop)\n"
	"  ingest, insert  name, database, table\n"
	"client bandwidth takes neither.\n";

void
die(const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputc('\n', stderr);
	exit(1);
}

void *
allocate(size_t bytes)
{
	void *p = malloc(bytes ? bytes : 1);

	if (!p)
		die("out of memory: %zu bytes", bytes);
	return p;
}

double
now_ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1e3 + t.tv_nsec / 1e6;
}

static void
pin(int pid, int cpu)
{
	cpu_set_t set;

	if (cpu < 0)
		return;
	CPU_ZERO(&set);
	CPU_SET(cpu, &set);
	if (sched_setaffinity(pid, sizeof set, &set) != 0)
		die("cannot move process %d to CPU %d: %s", pid, cpu, strerror(errno));
}

PGconn *
connect_to(const char *database, const Options *options)
{
	const char *keys[] = {"dbname", "application_name", NULL};
	const char *values[] = {database, "bench", NULL};
	PGconn *conn = PQconnectdbParams(keys, values, 0);

	if (PQstatus(conn) != CONNECTION_OK)
		die("%s", PQerrorMessage(conn));
	pin(PQbackendPID(conn), options->cpu);
	return conn;
}

double
backend_cpu_ms(PGconn *conn)
{
	char path[64];
	double ns = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/schedstat", PQbackendPID(conn));
	if (!(file = fopen(path, "r")))
		return 0;
	if (fscanf(file, "%lf", &ns) != 1)
		ns = 0;
	fclose(file);
	return ns / 1e6;
}

PGresult *
expect_status(PGconn *conn, PGresult *result, ExecStatusType status)
{
	if (PQresultStatus(result) != status)
		die("%s: %s", PQdb(conn), PQerrorMessage(conn));
	return result;
}

void
run_sql(PGconn *conn, const char *sql)
{
	PGresult *result = PQexec(conn, sql);

	if (PQresultStatus(result) != PGRES_TUPLES_OK &&
		PQresultStatus(result) != PGRES_EMPTY_QUERY)
		expect_status(conn, result, PGRES_COMMAND_OK);
	PQclear(result);
}

char *
query_value(PGconn *conn, const char *sql)
{
	PGresult *result = expect_status(conn, PQexec(conn, sql), PGRES_TUPLES_OK);
	char *value = strdup(PQgetvalue(result, 0, 0));

	PQclear(result);
	return value;
}

double
log_end(PGconn *conn)
{
	char *text = query_value(conn, "SELECT pg_current_wal_insert_lsn()");
	uint32_t high;
	uint32_t low;

	if (sscanf(text, "%X/%X", &high, &low) != 2)
		die("not a log position: %s", text);
	free(text);
	return high * 4294967296.0 + low;
}

int
read_specs(Spec **specs, int fields)
{
	int count = 0;
	char *line = NULL;
	size_t room = 0;

	*specs = NULL;
	while (getline(&line, &room, stdin) > 0)
	{
		Spec spec = {{NULL}};
		char *rest = strdup(line);

		rest[strcspn(rest, "\n")] = '\0';
		for (int i = 0; i < fields; i++)
			if (!(spec.field[i] = strsep(&rest, "\t")))
				die("a line with fewer than %d fields: %s", fields, line);
		*specs = realloc(*specs, sizeof(Spec) * (count + 1));
		(*specs)[count++] = spec;
	}
	free(line);
	return count;
}

static int
compare_doubles(const void *a, const void *b)
{
	double x = *(const double *) a;
	double y = *(const double *) b;

	return x < y ? -1 : x > y;
}

double
quantile(double *values, int count, double share)
{
	int i = (int) (share * count);

	qsort(values, count, sizeof(double), compare_doubles);
	return values[i < count ? i : count - 1];
}

static Options
parse(int argc, char **argv)
{
	static const struct option names[] = {
		{"base", 1, NULL, 'b'},	  {"queries", 1, NULL, 'q'},
		{"dims", 1, NULL, 'd'},	  {"first", 1, NULL, 'f'},
		{"count", 1, NULL, 'c'},  {"query-count", 1, NULL, 'n'},
		{"rounds", 1, NULL, 'r'}, {"batch", 1, NULL, 't'},
		{"cpu", 1, NULL, 'p'},	  {"seconds", 1, NULL, 's'},
		{"truth", 1, NULL, 'k'},  {NULL, 0, NULL, 0},
	};
	Options options = {.rounds = 3, .batch = 100, .cpu = -1, .seconds = 1};
	int option;

	while ((option = getopt_long(argc, argv, "", names, NULL)) != -1)
	{
		switch (option)
		{
			case 'b':
				options.base = optarg;
				break;
			case 'q':
				options.queries = optarg;
				break;
			case 'd':
				options.dims = atoi(optarg);
				break;
			case 'f':
				options.first = atoi(optarg);
				break;
			case 'c':
				options.count = atoi(optarg);
				break;
			case 'n':
				options.query_count = atoi(optarg);
				break;
			case 'r':
				options.rounds = atoi(optarg);
				break;
			case 't':
				options.batch = atoi(optarg);
				break;
			case 'p':
				options.cpu = atoi(optarg);
				break;
			case 'k':
				options.truth = optarg;
				break;
			case 's':
				options.seconds = atof(optarg);
				break;
			default:
				die("%s", usage);
		}
	}
	if (!options.base || options.dims < 1)
		die("%s", usage);
	return options;
}

int
main(int argc, char **argv)
{
	static const struct
	{
		const char *name;
		void (*run)(const Options *options);
	} commands[] = {
		{"load", command_load},		{"search", command_search},
		{"first", command_first},	{"serve", command_serve},
		{"ingest", command_ingest}, {"insert", command_insert},
	};
	Options options;

	if (argc < 2)
		die("%s", usage);
	if (strcmp(argv[1], "bandwidth") == 0)
	{
		command_bandwidth();
		return 0;
	}
	options = parse(argc - 1, argv + 1);
	pin(0, options.cpu);
	for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
		if (strcmp(argv[1], commands[i].name) == 0)
		{
			commands[i].run(&options);
			return 0;
		}
	die("%s", usage);
}
