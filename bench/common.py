"""What the steps of the bench share: options, psql sessions, the client, tables.

Standard library only.  The server is the one that PGHOST and PGPORT name.
"""
import os
import re
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
DIMS = 512
ROWS = 63181

# The databases: both extensions define a type vector, so each has its own.
DATABASE = {"pgvector": "bench_pgvector", "vector_ext": "bench_vector_ext"}
EXTENSION = {"pgvector": "vector", "vector_ext": "vector_ext"}

# Every index is made over the one table of its database, so that all of them
# and the table fit in shared_buffers.  Each has a predicate of its own that
# holds for all rows; a query that repeats it can use that index and no other,
# and the planner drops the condition, which the index implies.
INDEXES = {
    "hnsw": ("pgvector", "hnsw", "m = 16, ef_construction = 64"),
    "ivfflat": ("pgvector", "ivfflat", "lists = 250"),
    "ann flat": ("vector_ext", "ann", "lists = 0"),
    "ann IVF": ("vector_ext", "ann", ""),
}


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
        self.inserts_free = min(self.inserts, 3000)
        self.steps = (get("BENCH_ONLY") or "build search insert").split()
        self.cpu = int(get("BENCH_CPU") or os.cpu_count() - 1)
        self.client = get("BENCH_CLIENT") or os.path.join(HERE, "client")
        self.data = os.path.join(get("VX_SHARED", ""), "data/debian")
        self.out = get("BENCH_OUT", ".")
        self.name = get("BENCH_NAME", "latest")
        self.revision = get("BENCH_REVISION", "unknown")
        self.methods = {}  # "pgvector", "vector_ext": version


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
    done = subprocess.run(
        [options.client, command, "--dims", str(DIMS), *arguments],
        input="".join("\t".join(map(str, s)) + "\n" for s in specs),
        stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"client {command} failed")
    return [line.split("\t") for line in done.stdout.splitlines()]


def load(options, method, table, count):
    """A table (id, v) with the first rows of the data, vacuumed."""
    database = DATABASE[method]
    run_sql(database, f"CREATE TABLE {table} (id int4, v vector({DIMS}))")
    client(options, "load", [(database, table)],
           "--base", options.data + "/vectors.f16", "--count", str(count))
    run_sql(database, f"VACUUM ANALYZE {table}")


def index_sql(name, table="items", predicate=True):
    """CREATE INDEX for an index of INDEXES; its name is index_name()."""
    _, method, reloptions = INDEXES[name]
    with_ = f" WITH ({reloptions})" if reloptions else ""
    where = f" WHERE {condition(name)}" if predicate else ""
    return (f"CREATE INDEX {index_name(name, table)} ON {table} USING {method} "
            f"(v vector_cosine_ops){with_}{where}")


def index_name(name, table="items"):
    return f"{table}_{name.replace(' ', '_').lower()}"


def condition(name):
    return f"id <> -{1 + list(INDEXES).index(name)}"


def log(text):
    print(text, file=sys.stderr, flush=True)


class Table:
    """A table of results: Markdown for people, lines for programs."""

    def __init__(self, title, columns, notes=()):
        self.title, self.columns, self.notes = title, columns, list(notes)
        self.rows = []

    def add(self, *values):
        self.rows.append(["" if v is None else str(v) for v in values])

    def markdown(self):
        lines = [f"## {self.title}", "", row_text(self.columns),
                 row_text(["-"] * len(self.columns))]
        lines += [row_text(row) for row in self.rows] + [""]
        lines += [note + "\n" for note in self.notes]
        return "\n".join(lines)

    def tsv(self):
        """table, row (its first two cells), column, value"""
        table = self.title.split(":")[0].lower()
        return "".join(
            f"{table}\t{row[0]}\t{row[1]}\t{column}\t{value}\n"
            for row in self.rows
            for column, value in zip(self.columns[2:], row[2:]))


def row_text(cells):
    return "| " + " | ".join(cells) + " |"


def digits(value, significant=3):
    """A number for a table: three digits that say something."""
    if value is None:
        return ""
    if abs(value) >= 10 ** (significant - 1):
        return f"{value:.0f}"
    return re.sub(r"e.*", "", f"{value:.{significant}g}") if value >= 0.001 \
        else f"{value:.5f}"
