"""Work: buffers and bytes of a query, and what a backend keeps of its memory."""
import json
import statistics
import struct

import search
from common import Session, log, process_kb
from tables import Table, digits

BLOCK_KB = 8
QUERIES = 20
MEMORY_QUERIES = 1000
SLOW_MS = 20  # of these, not a thousand


def vector_text(options, number):
    """A query of the set as text."""
    width, code = (2, "e") if options.set.queries.endswith("f16") else (4, "f")
    dims = options.set.dims
    with open(options.set.queries, "rb") as file:
        file.seek(number * dims * width)
        values = struct.unpack(f"<{dims}{code}", file.read(dims * width))
    return "[" + ",".join(f"{value:.8g}" for value in values) + "]"


def open_session(options, row):
    index = options.set.index(row.method)
    _, database, _, settings, query, plan = index.specification(row.setting)
    session = Session(database)
    return session, settings, f"PREPARE q(vector) AS {query}", plan


def buffers(session, vector):
    answer = session.run("EXPLAIN (ANALYZE, BUFFERS, TIMING off, FORMAT json) "
                         f"EXECUTE q('{vector}')")
    node = json.loads(answer)[0]["Plan"]
    return node["Shared Hit Blocks"] + node["Shared Read Blocks"]


def last_scan(session):
    answer = session.run("SELECT probed, entries, refined, fetched "
                         "FROM ann_last_scan()")
    return [int(value) for value in answer.split("|")]


def per_query(options, rows):
    table = Table(
        f"Work: of a query, {options.set.title}",
        ["method", "setting", "recall@10", "buffers", "buffers KB", "lists",
         "entries", "refined", "rows fetched"],
        [f"Means of {QUERIES} queries. Buffers: page accesses of EXPLAIN "
         "(BUFFERS), those of the table and its TOAST included, a page twice "
         "when it is looked at twice. The last four are what ann_last_scan() "
         "says; pgvector does not."])
    vectors = [vector_text(options, number) for number in range(QUERIES)]
    for row in rows:
        session, settings, prepare, _ = open_session(options, row)
        session.run(settings)
        session.run(prepare)
        pages, scans = [], []
        for vector in vectors:
            pages.append(buffers(session, vector))
            if row.method.startswith("ann"):
                scans.append(last_scan(session))
        session.close()
        mean = statistics.mean(pages)
        table.add(row.method, row.setting, f"{row.recall:.4f}", digits(mean),
                  digits(mean * BLOCK_KB),
                  *[digits(statistics.mean(column)) for column in zip(*scans)]
                  or [None] * 4)
    return table


def memory_table(options, rows, targets):
    table = Table(
        f"Backend memory: after {MEMORY_QUERIES:,} queries, {options.set.title}",
        ["method", "setting", "recall@10", "idle MB", "after MB", "more MB"],
        ["RssAnon of the backend: after SELECT 1, and after the queries, sent "
         "as text and executed as a prepared statement."])
    count = options.query_count
    for row in rows:
        session, settings, prepare, _ = open_session(options, row)
        pid = session.run("SELECT 1; SELECT pg_backend_pid()").split()[-1]
        idle = process_kb(pid, "RssAnon") / 1024
        session.run(settings)
        session.run(prepare)
        for number in range(MEMORY_QUERIES):
            session.run(f"EXECUTE q('{vector_text(options, number % count)}')")
        after = process_kb(pid, "RssAnon") / 1024
        session.close()
        table.add(row.method, row.setting, f"{row.recall:.4f}", f"{idle:.1f}",
                  f"{after:.1f}", f"{after - idle:.1f}")
        if row.method.startswith("ann"):
            targets.at_most(f"{row.method}: backend MB above idle after "
                            f"{MEMORY_QUERIES:,} queries", after - idle, 16)
    return table


def bench(options, targets):
    rows = [row for row in search.rows(options)
            if row.method != "sequential scan"]
    log("work")
    return [per_query(options, rows),
            memory_table(options, [row for row in search.typical(options)
                                   if row.p50 < SLOW_MS], targets)]
