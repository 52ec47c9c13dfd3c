#!/usr/bin/env python3
"""Searches of a large set of vectors, by one client and by many.

usage: large.py DATA OUT [NAME]

DATA holds what generate.py wrote.  The server is the one of PGHOST and PGPORT,
with the databases bench_vector_ext and bench_pgvector that large_load.sh made:
items(id, v), queries(id, v), and the indexes.  Writes OUT/NAME.md and .tsv.
"""
import os
import re
import subprocess
import sys

from common import DATABASE, Table, client, digits, run_sql
from search import Row, ratio_text

DIMS = 768
ORDER = "ORDER BY v <=> $1 LIMIT 10"
CLIENTS = (1, 2, 8, 16)
SECONDS = 8

# method, variable, values, queries; and what keeps the planner from the other
# index of that database.
SETTINGS = [
    ("hnsw", "hnsw.ef_search", (40, 100, 200, 400), 300,
     "SET ivfflat.probes = 1000"),
    ("ivfflat", "ivfflat.probes", (10, 25, 60), 50,
     "SET hnsw.ef_search = 1000"),
    ("ann", "vector_ext.recall", (0.80, 0.90, 0.95, 0.98, 0.99, 0.999), 300,
     "SET enable_seqscan = off"),
]
DATABASE_OF = {"hnsw": DATABASE["pgvector"], "ivfflat": DATABASE["pgvector"],
               "ann": DATABASE["vector_ext"]}
INDEX_OF = {"hnsw": "items_hnsw", "ivfflat": "items_ivf", "ann": "items_ann"}


class Options:
    def __init__(self, data):
        get = os.environ.get
        self.client = get("BENCH_CLIENT", "build/bench/client")
        self.data = data
        self.rounds = int(get("BENCH_ROUNDS") or 3)
        self.cpu = int(get("BENCH_CPU") or os.cpu_count() - 1)


def specifications():
    for method, variable, values, queries, only in SETTINGS:
        for value in values:
            yield (f"{method};{variable} = {value}", DATABASE_OF[method],
                   queries, f"{only}; SET {variable} = {value}",
                   f"SELECT id FROM items {ORDER}",
                   f"Index Scan using {INDEX_OF[method]} ")


def serial(options):
    lines = client(options, "search", specifications(), "--dims", str(DIMS),
                   "--base", options.data + "/vectors.f32",
                   "--queries", options.data + "/queries.f32",
                   "--query-count", "300", "--rounds", str(options.rounds),
                   "--cpu", str(options.cpu))
    return [Row(fields) for fields in lines]


def serial_table(rows, options):
    peers = {peer: [r for r in rows if r.method == peer]
             for peer in ("hnsw", "ivfflat")}
    table = Table(
        "Search: ten nearest of 1,000,000 x 768, one client",
        ["method", "setting", "recall@10", "p50 ms", "p99 ms", "QPS", "CPU ms",
         "hnsw / this", "ivfflat / this"],
        [f"Medians of {options.rounds} interleaved rounds after a warm one; "
         "client and backend on one CPU; 300 queries, ivfflat 50. The last "
         "columns divide p50 at the recall of the row; ≥ and ≤ mark a recall "
         "beyond the peer's settings."])
    for row in rows:
        ours = row.method == "ann"
        table.add(row.method, row.setting, f"{row.recall:.4f}",
                  f"{row.p50:.3f}", f"{row.p99:.3f}", digits(row.qps),
                  f"{row.cpu:.3f}",
                  ratio_text(peers["hnsw"], row)[1] if ours else None,
                  ratio_text(peers["ivfflat"], row)[1] if ours else None)
    return table


def throughput(method, setting, only, clients):
    """TPS, mean latency and its p95 in ms of pgbench with so many clients."""
    script = ("\\set i random(0, 999)\nSELECT id FROM items ORDER BY v <=> "
              "(SELECT v FROM queries WHERE id = :i) LIMIT 10;\n")
    prefix = f"/tmp/large_bench_{os.getpid()}"
    with open(prefix + ".sql", "w") as out:
        out.write(script)
    environment = dict(os.environ, PGOPTIONS=" ".join(
        "-c " + s.removeprefix("SET ").replace(" ", "")
        for s in (only, setting)))
    done = subprocess.run(
        ["pgbench", "-n", "-M", "prepared", "-c", str(clients), "-T",
         str(SECONDS), "-f", prefix + ".sql", "-l", "--log-prefix", prefix,
         DATABASE_OF[method]],
        env=environment, stdout=subprocess.PIPE, text=True, check=True)
    times = []
    for name in os.listdir("/tmp"):
        if name.startswith(os.path.basename(prefix) + "."):
            path = "/tmp/" + name
            if not name.endswith(".sql"):
                with open(path) as log:
                    times += [int(line.split()[2]) / 1e3 for line in log]
            os.unlink(path)
    times.sort()
    tps = float(re.search(r"tps = ([0-9.]+)", done.stdout)[1])
    return tps, times[len(times) // 2], times[int(len(times) * 0.95)]


def throughput_table(rows):
    """Each method at the least setting with recall 0.95."""
    table = Table(
        "Throughput: pgbench, many clients",
        ["method", "setting", "recall@10", "clients", "QPS", "p50 ms",
         "p95 ms"],
        [f"{SECONDS} s each, client and server share all {os.cpu_count()} "
         "CPUs. The recall is that of the table above."])
    only_of = {s[0]: s[4] for s in SETTINGS}
    for method in ("ann", "hnsw"):
        good = [r for r in rows if r.method == method and r.recall >= 0.95]
        if not good:
            continue
        row = min(good, key=lambda r: r.p50)
        for clients in CLIENTS:
            tps, p50, p95 = throughput(method, row.setting, only_of[method],
                                       clients)
            table.add(method, row.setting, f"{row.recall:.4f}", str(clients),
                      digits(tps), f"{p50:.3f}", f"{p95:.3f}")
    return table


def size_table():
    table = Table("Size", ["method", "index MB", "bytes a row"])
    for method, index in INDEX_OF.items():
        size = int(run_sql(DATABASE_OF[method],
                           f"SELECT pg_relation_size('{index}')"))
        table.add(method, digits(size / 1e6), f"{size / 1e6:.0f}")
    return table


def main():
    data, out = sys.argv[1:3]
    name = sys.argv[3] if len(sys.argv) > 3 else "large"
    options = Options(data)
    rows = serial(options)
    tables = [serial_table(rows, options), throughput_table(rows),
              size_table()]
    facts = run_sql("postgres", "SELECT version()")
    with open(f"{out}/{name}.md", "w") as file:
        file.write(f"# Bench: {name}\n\n{facts}, {os.cpu_count()} CPUs.\n\n" +
                   "\n".join(table.markdown() for table in tables))
    with open(f"{out}/{name}.tsv", "w") as file:
        file.writelines(table.tsv() for table in tables)
    print(open(f"{out}/{name}.md").read())


if __name__ == "__main__":
    main()
