/*
 * ingest.c
 *		client ingest: COPY into several tables, a chunk each in turn.
 */
#include <stdio.h>
#include <stdlib.h>

#include "client.h"

typedef struct Target
{
	const char *name;
	const char *table;
	PGconn *conn;
} Target;

/* A line for each chunk: name, chunk, rows, rows/s, log bytes and CPU ms a row. */
static void
copy_chunk(const Target *target, const Vectors *chunk, int first_id, int number)
{
	double log_before = log_end(target->conn);
	double cpu = backend_cpu_ms(target->conn);
	double start = now_ms();
	double total;

	copy_vectors(target->conn, target->table, chunk, first_id);
	total = now_ms() - start;
	cpu = backend_cpu_ms(target->conn) - cpu;
	printf("%s\t%d\t%d\t%.1f\t%.0f\t%.4f\n", target->name, number, chunk->count,
		   chunk->count * 1e3 / total,
		   (log_end(target->conn) - log_before) / chunk->count,
		   cpu / chunk->count);
}

void
command_ingest(const Options *options)
{
	Vectors v = vectors_read(options->base, options->dims, options->first,
							 options->count);
	Spec *specs;
	int count = read_specs(&specs, 3);
	Target *targets = allocate(sizeof(Target) * count);

	for (int i = 0; i < count; i++)
		targets[i] = (Target){specs[i].field[0], specs[i].field[2],
							  connect_to(specs[i].field[1], options)};
	for (int row = 0; row < v.count; row += options->batch)
	{
		Vectors chunk = {v.dims, v.count - row,
						 v.values + (size_t) row * v.dims};

		if (chunk.count > options->batch)
			chunk.count = options->batch;
		for (int i = 0; i < count; i++)
			copy_chunk(&targets[i], &chunk, options->first + row,
					   row / options->batch);
	}
	for (int i = 0; i < count; i++)
		PQfinish(targets[i].conn);
}
