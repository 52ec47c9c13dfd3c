"""What the steps of the bench share: options, psql sessions, the client.

Standard library only.  The server is the one that PGHOST and PGPORT name.
"""
import os
import re
import subprocess
import sys

import sets
from sets import DATABASE

HERE = os.path.dirname(os.path.abspath(__file__))
DEFAULT_STEPS = "build search serve work flat cold reference ingest insert"


class Options:
    """BENCH_... of the environment; see bench.mk."""

    def __init__(self):
        get = os.environ.get
        self.full = get("BENCH_MODE", "quick") == "full"
        self.queries = int(get("BENCH_QUERIES") or (500 if self.full else 100))
        self.exact_queries = 20 if self.full else 5
        self.rounds = int(get("BENCH_ROUNDS") or (5 if self.full else 3))
        self.builds = int(get("BENCH_BUILDS") or (3 if self.full else 1))
        self.inserts = int(get("BENCH_INSERTS") or (10000 if self.full else 2000))
        self.ingest = 15000 if self.full else 5000
        self.inserts_free = min(self.inserts, 3000)
        self.seconds = float(get("BENCH_SECONDS") or (5 if self.full else 1))
        self.restarts = int(get("BENCH_RESTARTS") or (5 if self.full else 2))
        self.steps = (get("BENCH_ONLY") or DEFAULT_STEPS).split()
        self.cpu = int(get("BENCH_CPU") or os.cpu_count() - 1)
        self.client = get("BENCH_CLIENT") or \
            os.path.join(HERE, "../build/bench/client")
        self.python = get("BENCH_PYTHON") or "/usr/bin/python3"
        self.server = get("BENCH_SERVER")  # called with stop and start
        self.out = get("BENCH_OUT") or "."
        self.name = get("BENCH_NAME") or "latest"
        self.revision = get("BENCH_REVISION") or "unknown"
        self.set = sets.debian(os.path.join(get("VX_SHARED", ""), "data/debian"))
        self.methods = {}  # "pgvector", "vector_ext": version
        self.search_rows = None  # of the step search
        self.tables_made = False  # of the steps ingest and insert
        self.rebuild = None  # names of indexes to build anew, None: all

    @property
    def query_count(self):
        """Queries that the set's file holds."""
        width = 2 if self.set.queries.endswith("f16") else 4
        return os.path.getsize(self.set.queries) // (width * self.set.dims)

    def indexes(self):
        return [i for i in self.set.indexes if i.extension in self.methods]


class Session:
    """One psql process: its statements run in one backend."""

    MARK = "-- end of answer --"

    def __init__(self, database):
        self.psql = subprocess.Popen(
            ["psql", "-XqAt", "-v", "ON_ERROR_STOP=1", "-d", database],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.run("SET client_min_messages = warning")

    def send(self, statement):
        self.psql.stdin.write(f"{statement};\n\\echo {self.MARK}\n")
        self.psql.stdin.flush()

    def answer(self):
        lines = []
        for line in self.psql.stdout:
            if line.rstrip("\n") == self.MARK:
                return "\n".join(lines)
            lines.append(line.rstrip("\n"))
        raise SystemExit("psql stopped")

    def run(self, statement):
        self.send(statement)
        return self.answer()

    def close(self):
        self.psql.stdin.close()
        self.psql.wait()


def run_sql(database, *statements):
    """Runs statements, each in its own transaction; the last one's answer."""
    session = Session(database)
    answer = ""
    for statement in statements:
        answer = session.run(statement)
    session.close()
    return answer


def client(options, command, specs, *arguments):
    """Runs the client on lines of fields; returns its output lines, split."""
    # The nearest of all rows are known, of a part of them (--count) not.
    known = options.set.truth and "--count" not in arguments
    truth = ["--truth", options.set.truth] if known else []
    done = subprocess.run(
        [options.client, command, "--dims", str(options.set.dims), "--base",
         options.set.base, "--queries", options.set.queries,
         *truth, *map(str, arguments)],
        input="".join("\t".join(map(str, s)) + "\n" for s in specs),
        stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"client {command} failed")
    return [line.split("\t") for line in done.stdout.splitlines()]


def memory_bandwidth(options):
    """GB/s that one core reads from memory."""
    done = subprocess.run([options.client, "bandwidth"], check=True,
                          stdout=subprocess.PIPE, text=True)
    return float(done.stdout)


def load(options, extension, table, count):
    """A table (id, v) with the first rows of the set, vacuumed."""
    database = DATABASE[extension]
    run_sql(database,
            f"CREATE TABLE {table} (id int4, v vector({options.set.dims}))")
    client(options, "load", [(database, table)], "--count", count)
    run_sql(database, f"VACUUM ANALYZE {table}")


def process_kb(pid, what):
    """A line of a process's status, such as RssAnon; 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return int(re.search(rf"{what}:\s*(\d+)", status.read())[1])
    except (OSError, TypeError):
        return 0


def log(text):
    print(text, file=sys.stderr, flush=True)
