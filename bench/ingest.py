"""Ingest: COPY into a table without index, and with each index."""
import statistics

import insert
from common import client, log, run_sql
from tables import Table, digits

CHUNKS = 5


class Chunks:
    """What COPY did to one table."""

    def __init__(self):
        self.rates, self.wal, self.cpu = [], [], []

    def add(self, rate, wal, cpu):
        self.rates.append(float(rate))
        self.wal.append(float(wal))
        self.cpu.append(float(cpu))

    @property
    def steady(self):
        return statistics.median(self.rates[1:-1])


def measure(options, all_):
    first = insert.BASE_ROWS - options.ingest
    found = {}
    for name, _, _, *figures in client(
            options, "ingest",
            [(name, database, table) for name, database, table in all_],
            "--first", first, "--count", options.ingest, "--batch",
            options.ingest // CHUNKS):
        found.setdefault(name, Chunks()).add(*figures)
    return found


def judge(found, targets):
    ours = found["ann IVF"].steady
    for peer, wanted in (("hnsw", 60), ("ivfflat", 1.5), ("no index", 0.5)):
        if peer in found:
            targets.at_least(f"ann IVF: COPY, rows/s, this / {peer}",
                             ours / found[peer].steady, wanted)


def index_mb(name, database, table):
    if name == "no index":
        return None
    return digits(int(run_sql(database, "SELECT pg_indexes_size("
                              f"'{table}')")) / 1e6)


def bench(options, targets):
    log("ingest")
    all_ = insert.tables(options)
    insert.make_tables(options, insert.BASE_ROWS - options.ingest)
    found = measure(options, all_)
    none = found["no index"].steady
    peers = {peer: found[peer].steady for peer in ("hnsw", "ivfflat")
             if peer in found}
    table = Table(
        f"Ingest: COPY of {options.ingest:,} rows into a table with "
        f"{insert.BASE_ROWS - options.ingest:,}",
        ["index", "chunk rows", "first rows/s", "steady rows/s", "late rows/s",
         "WAL bytes/row", "CPU ms", "index size MB", "this / hnsw",
         "this / ivfflat", "this / no index"],
        [f"COPY BINARY in {CHUNKS} chunks; the tables take turns, a chunk each. "
         "First and late: the first and the last chunk; steady: the median of "
         "the others, which the ratios take. WAL: median of the chunks, after "
         "a checkpoint. CPU ms is what a row costs the backend."])
    for name, database, relation in all_:
        row = found[name]
        table.add(name, options.ingest // CHUNKS, f"{row.rates[0]:.0f}",
                  f"{row.steady:.0f}", f"{row.rates[-1]:.0f}",
                  f"{statistics.median(row.wal):.0f}",
                  f"{statistics.median(row.cpu):.4f}",
                  index_mb(name, database, relation),
                  *[digits(row.steady / peers[peer]) if peer in peers else None
                    for peer in ("hnsw", "ivfflat")],
                  digits(row.steady / none))
    judge(found, targets)
    return [table]
