"""Inserts: single rows into a table with 50,000 rows and one index."""
from common import (DATABASE, INDEXES, Table, client, digits, index_sql, load,
                    log, run_sql)

BASE_ROWS = 50000
BATCH = 100


def tables(options):
    """(name, method, table) of what is inserted into."""
    if "vector_ext" in options.methods:
        yield "no index", "vector_ext", "insert_none"
    elif "pgvector" in options.methods:
        yield "no index", "pgvector", "insert_none"
    for name, (method, _, _) in INDEXES.items():
        if method in options.methods:
            yield name, method, "insert_" + name.replace(" ", "_").lower()


def make(options, name, method, table):
    load(options, method, table, BASE_ROWS)
    if name in INDEXES:
        run_sql(DATABASE[method], "SET maintenance_work_mem = '512MB'",
                index_sql(name, table, predicate=False))
    log(f"  {table}")


def run_client(options, all_, first, count, cpu):
    """Inserts rows first, first + 1, ...; the answers, and rates by name."""
    answers = client(
        options, "insert",
        [(name, DATABASE[method], table) for name, method, table in all_],
        "--base", options.data + "/vectors.f16", "--first", str(first),
        "--count", str(count), "--batch", str(BATCH), "--cpu", str(cpu))
    return answers, {a[0]: float(a[1]) for a in answers}


def judge(name, where, rate, targets):
    if "hnsw" in rate:
        targets.at_least(f"{name}: insert rate, {where}, this / hnsw",
                         rate[name] / rate["hnsw"], 9)
    targets.at_least(f"{name}: insert rate, {where}, this / no index",
                     rate[name] / rate["no index"], 0.7)


def bench(options, targets):
    log("insert")
    for method in options.methods:  # make room in shared_buffers
        run_sql(DATABASE[method], "DROP TABLE IF EXISTS items")
    all_ = list(tables(options))
    for name, method, table in all_:
        make(options, name, method, table)
    run_sql("postgres", "CHECKPOINT")
    table = Table(
        f"Insert: {options.inserts:,} rows, one a statement, into "
        f"{BASE_ROWS:,}",
        ["index", "processes", "rows/s", "p50 ms", "p99 ms", "CPU ms",
         "WAL bytes/row", "this / hnsw", "this / no index"],
        [f"Prepared INSERT of a vector in binary, {BATCH} a transaction; the "
         "tables take turns, a transaction each. Rates contain BEGIN and "
         "COMMIT, p50 and p99 are of the INSERT alone. \"one CPU\": client "
         "and backend share one, and nobody waits for a CPU to wake up; "
         f"\"free\": as the kernel places them, {options.inserts_free:,} "
         "further rows. CPU ms is what a row costs the backend. WAL of the "
         "first includes the full-page images after "
         "the checkpoint before it."])
    runs = [("one CPU", BASE_ROWS, options.inserts, options.cpu),
            ("free", BASE_ROWS + options.inserts, options.inserts_free, -1)]
    for where, first, count, cpu in runs:
        answers, rate = run_client(options, all_, first, count, cpu)
        for name, rows, p50, p99, wal, cpu in answers:
            hnsw = rate.get("hnsw")
            table.add(name, where, f"{float(rows):.0f}", f"{float(p50):.3f}",
                      f"{float(p99):.3f}", f"{float(cpu):.3f}", wal,
                      digits(rate[name] / hnsw) if hnsw else None,
                      digits(rate[name] / rate["no index"]))
            if name.startswith("ann"):
                judge(name, where, rate, targets)
    return table
