/*
 * first.c
 *		client first: the first query of a new connection, its planning included,
 *		and what the server read from disk for it.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "client.h"

/* Bytes that a process had read from disk; 0 when it is gone. */
static double
read_bytes(int pid)
{
	char path[64];
	char line[100];
	double bytes = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/io", pid);
	if (!(file = fopen(path, "r")))
		return 0;
	while (fgets(line, sizeof line, file))
		if (sscanf(line, "read_bytes: %lf", &bytes) == 1)
			break;
	fclose(file);
	return bytes;
}

/* Of all processes of the server: since 18 others may read for a backend. */
static double
server_read_bytes(PGconn *conn)
{
	char path[64];
	int server = 0;
	int pid;
	double bytes = 0;
	FILE *file;

	snprintf(path, sizeof path, "/proc/%d/stat", PQbackendPID(conn));
	if (!(file = fopen(path, "r")) ||
		fscanf(file, "%*d (%*[^)]) %*c %d", &server) != 1)
		die("cannot read %s", path);
	fclose(file);
	snprintf(path, sizeof path, "/proc/%d/task/%d/children", server, server);
	if (!(file = fopen(path, "r")))
		die("cannot read %s", path);
	while (fscanf(file, "%d", &pid) == 1)
		bytes += read_bytes(pid);
	fclose(file);
	return bytes;
}

/*
 * A line for each: name, ms of PREPARE and the query, bytes read, right rows.
 * The third field says which query.  Its plan is not looked at: that would warm
 * the backend.
 */
void
command_first(const Options *options)
{
	Questions q = questions_read(options);
	Spec *specs;
	int count = read_specs(&specs, 6);

	for (int i = 0; i < count; i++)
	{
		int query = atoi(specs[i].field[2]);
		PGconn *conn = connect_to(specs[i].field[1], options);
		uint32_t ids[K];
		PGresult *answer;
		double bytes;
		double ms;
		int rows;

		run_sql(conn, specs[i].field[3]);
		bytes = server_read_bytes(conn);
		ms = now_ms();
		prepare_query(conn, &specs[i]);
		answer = ask(&q, conn, query);
		ms = now_ms() - ms;
		bytes = server_read_bytes(conn) - bytes;
		rows = answer_ids(answer, ids);
		printf("%s\t%.3f\t%.0f\t%d\n", specs[i].field[0], ms, bytes,
			   count_right(&q, query, ids, rows));
		PQclear(answer);
		PQfinish(conn);
	}
}
