/*
 * client.h
 *		The measuring client: what its files share.
 *
 *	client.c	the command line, connections, small sums
 *	vectors.c	vector files and exact answers
 *	ask.c		questions, asking them, recall
 *	load.c		client load: a vector file into a table
 *	search.c	client search: latency and recall of queries
 *	first.c		client first: a query of a cold server
 *	serve.c		client serve: many clients, closed and open loop
 *	ingest.c	client ingest: rate of COPY
 *	insert.c	client insert: rate of single-row inserts
 *	bandwidth.c	client bandwidth: of memory, one core
 *
 * It depends on libpq and libc alone and knows nothing of either extension: a
 * vector is sent in the binary form that both share.  It stops at the first
 * error.
 */
#ifndef BENCH_CLIENT_H
#define BENCH_CLIENT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <libpq-fe.h>

/* What the command line says; each command uses its part. */
typedef struct Options
{
	const char *base;	 /* file of base vectors */
	const char *queries; /* file of query vectors */
	const char *truth;	 /* file of their nearest rows, or NULL */
	int dims;
	int first; /* first base row to use */
	int count; /* base rows to use, 0: all */
	int query_count;
	int rounds;
	int batch;		/* rows of a transaction */
	int cpu;		/* where client and backends run, -1: anywhere */
	double seconds; /* of a round of serve */
} Options;

/* One line of a specification on stdin: tab-separated fields. */
#define FIELDS_MAX 8
typedef struct Spec
{
	char *field[FIELDS_MAX];
} Spec;

/* --- client.c ------------------------------------------------------------- */

extern void die(const char *format, ...)
	__attribute__((format(printf, 1, 2), noreturn));
extern void *allocate(size_t bytes);
extern double now_ms(void);

/* Connects to a database; the backend moves to options->cpu. */
extern PGconn *connect_to(const char *database, const Options *options);
/* Time that its backend was on a CPU so far; 0 where the kernel does not say. */
extern double backend_cpu_ms(PGconn *conn);
/* Runs statements; ends the program on an error. */
extern void run_sql(PGconn *conn, const char *sql);
/* The result of a query, which has the given status. */
extern PGresult *expect_status(PGconn *conn, PGresult *result,
							   ExecStatusType status);
/* First field of the first row, to be freed. */
extern char *query_value(PGconn *conn, const char *sql);

/* Where the log ends now, in bytes. */
extern double log_end(PGconn *conn);

/* Reads stdin: lines of the given number of fields.  Returns how many. */
extern int read_specs(Spec **specs, int fields);

/* The share-th value of an unsorted array, which is sorted then. */
extern double quantile(double *values, int count, double share);

/* --- vectors.c ------------------------------------------------------------ */

/* Rows of float4, one after the other. */
typedef struct Vectors
{
	int dims;
	int count;
	float *values;
} Vectors;

static inline const float *
vectors_row(const Vectors *v, int row)
{
	return v->values + (size_t) row * v->dims;
}

/* Reads count rows (0: all) from row first on of a file of float16. */
extern Vectors vectors_read(const char *path, int dims, int first, int count);
extern double cosine_distance(const float *a, const float *b, int dims);
/* For each query the distance of its k-th nearest base row. */
extern double *exact_kth(const Vectors *base, const Vectors *queries, int k);
/* The binary form of a vector; out has VECTOR_BYTES(dims) bytes. */
#define VECTOR_BYTES(dims) (4 + 4 * (size_t) (dims))
extern void vector_send(const float *values, int dims, char *out);

/* --- ask.c ---------------------------------------------------------------- */

#define K 10 /* rows wanted of a query */

typedef struct Questions
{
	const Options *options;
	Vectors base;
	Vectors queries;
	char *sent;	 /* the queries in binary */
	double *kth; /* distance of the true k-th row of each */
} Questions;

extern Questions questions_read(const Options *options);
/* Prepares the query of a specification: fields name, database, -, settings,
 * query, text of its plan. */
extern void prepare_query(PGconn *conn, const Spec *spec);
/* A connection with these settings and the query prepared, its plan checked. */
extern PGconn *connect_asking(const Questions *q, const Spec *spec);
extern PGresult *ask(const Questions *q, PGconn *conn, int query);
/* The ids of an answer, at most K of them; how many. */
extern int answer_ids(const PGresult *answer, uint32_t *ids);
/* How many of the ids are true nearest rows; a row twice ends the program. */
extern int count_right(const Questions *q, int query, const uint32_t *ids,
					   int rows);

/* --- load.c --------------------------------------------------------------- */

/* COPY into a table (id, v); ids count from first_id. */
extern void copy_vectors(PGconn *conn, const char *table, const Vectors *v,
						 int first_id);

/* --- the commands --------------------------------------------------------- */

extern void command_load(const Options *options);
extern void command_search(const Options *options);
extern void command_first(const Options *options);
extern void command_serve(const Options *options);
extern void command_ingest(const Options *options);
extern void command_bandwidth(void);
extern void command_insert(const Options *options);

#endif
