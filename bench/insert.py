"""Inserts: single rows into a table with 50,000 rows and one index."""
from common import client, load, log, run_sql
from sets import DATABASE
from tables import Table, digits

BASE_ROWS = 50000
BATCH = 100


def tables(options):
    """(name, database, table) of what is inserted into."""
    extension = max(options.methods)  # vector_ext where it is there
    return [("no index", DATABASE[extension], "insert_none")] + [
        (i.name, i.database, i.relation.replace("items", "insert"))
        for i in options.indexes()]


def make_tables(options, rows):
    """Makes them, each with so many rows and its index, unless they are there.

    items goes, which makes room in shared_buffers.
    """
    if options.tables_made:
        return
    options.tables_made = True
    for extension in options.methods:
        run_sql(DATABASE[extension], "DROP TABLE IF EXISTS items")
    load(options, max(options.methods), "insert_none", rows)
    for index in options.indexes():
        table = index.relation.replace("items", "insert")
        load(options, index.extension, table, rows)
        run_sql(index.database, "SET maintenance_work_mem = '512MB'",
                index.create(table))
        log(f"  {table}")
    run_sql("postgres", "CHECKPOINT")


def run_client(options, all_, first, count, cpu):
    """Inserts rows first, first + 1, ...; the answers, and rates by name."""
    answers = client(options, "insert", all_, "--first", first, "--count",
                     count, "--batch", BATCH, "--cpu", cpu)
    return answers, {a[0]: float(a[1]) for a in answers}


def judge(name, where, rate, targets):
    if "hnsw" in rate:
        targets.at_least(f"{name}: insert rate, {where}, this / hnsw",
                         rate[name] / rate["hnsw"], 9)
    targets.at_least(f"{name}: insert rate, {where}, this / no index",
                     rate[name] / rate["no index"], 0.7)


def bench(options, targets):
    log("insert")
    make_tables(options, BASE_ROWS)
    all_ = tables(options)
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
    return [table]
