"""Flat: how fast a scan of a flat index reads, and what workers add."""
from common import client, log, memory_bandwidth, run_sql
from search import Row
from tables import Table, digits

WORKERS = (0, 1, 2)
LARGE = 500000  # rows from which a scan is worth workers
PARALLEL = ("SET parallel_setup_cost = 0; SET parallel_tuple_cost = 0; "
            "SET min_parallel_index_scan_size = 0; "
            "SET max_parallel_workers_per_gather = {}")


def specification(index, workers):
    name, database, queries, _, query, plan = index.specification(
        f"{workers} workers")
    settings = f"SET enable_seqscan = off; {PARALLEL.format(workers)}"
    if workers:
        plan = "Gather Merge"
    return (name, database, queries, settings, query, plan)


def plane_rate(options, row):
    """GB/s of the first plane, one bit a dimension, in a query's time."""
    return options.set.rows * options.set.dims / 8 / row.p50 / 1e6


def bench(options, targets):
    index = options.set.index("ann flat")
    log("flat")
    run_sql(index.database, f"SELECT ann_prewarm('{index.relation}')",
            "ALTER TABLE items SET (parallel_workers = 2)")
    bandwidth = memory_bandwidth(options)
    workers = WORKERS if options.set.rows >= LARGE else (0,)
    rows = [Row(fields) for fields in client(
        options, "search", [specification(index, n) for n in workers],
        "--query-count", min(options.queries, 50), "--rounds", options.rounds)]
    run_sql(index.database, "ALTER TABLE items RESET (parallel_workers)")
    table = Table(
        f"Flat: a scan of every code, {options.set.title}",
        ["method", "setting", "recall@10", "p50 ms", "CPU ms",
         "first plane GB/s", "share of memory bandwidth", "serial / this"],
        ["First plane: one bit a dimension, of every row, over the p50 of the "
         "whole query, its second stage, heap rows and socket included. "
         f"Memory bandwidth: {bandwidth:.1f} GB/s, plain loads of one core in "
         "the same run. Workers are beside the backend; no process is bound "
         "to a CPU. CPU ms is that of the backend, not of its workers."])
    for row in rows:
        rate = plane_rate(options, row)
        table.add(row.method, row.setting, f"{row.recall:.4f}",
                  f"{row.p50:.3f}", f"{row.cpu:.3f}", f"{rate:.2f}",
                  digits(rate / bandwidth), digits(rows[0].p50 / row.p50))
    if options.set.rows >= LARGE:
        rate = plane_rate(options, rows[0])
        targets.at_least("ann flat: first plane of a serial scan / memory "
                         "bandwidth", rate / bandwidth, 0.5)
        targets.at_least("ann flat: p50, serial / with 2 workers",
                         rows[0].p50 / rows[-1].p50, 1.7)
    return [table]
