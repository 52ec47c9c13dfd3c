"""Search: latency and recall@10 of every method and setting."""
import math

from common import (DATABASE, INDEXES, Table, client, condition, digits,
                    index_name, log)

SETTINGS = [
    ("hnsw", "hnsw.ef_search", [40, 100, 120, 200, 400]),
    ("ivfflat", "ivfflat.probes", [10, 20, 25, 40, 80]),
    ("ann flat", "vector_ext.recall", [0.95]),
    ("ann IVF", "vector_ext.recall", [0.90, 0.95, 0.98, 0.99]),
    ("ann IVF", "vector_ext.probes", [20, 40]),
]
ORDER = "ORDER BY v <=> $1 LIMIT 10"


class Row:
    """A line of the client's answer."""

    def __init__(self, fields):
        self.method, self.setting = fields[0].split(";")
        (self.recall, self.p50, self.p99, self.qps,
         self.cpu) = map(float, fields[2:])


def specifications(options):
    for method, database in DATABASE.items():
        if method in options.methods:
            yield (f"sequential scan;{method}", database,
                   options.exact_queries, "SET enable_indexscan = off",
                   f"SELECT id FROM items {ORDER}", "Seq Scan on items")
    for name, variable, values in SETTINGS:
        method = INDEXES[name][0]
        if method not in options.methods:
            continue
        for value in values:
            yield (f"{name};{variable} = {value}", DATABASE[method], 0,
                   f"SET enable_seqscan = off; SET {variable} = {value}",
                   f"SELECT id FROM items WHERE {condition(name)} {ORDER}",
                   f"Index Scan using {index_name(name)} ")


def latency_at(rows, recall):
    """p50 of a peer at a recall, and whether that lies outside its settings.

    Between two settings ln(p50) is linear in recall; outside, the nearest
    setting's p50 is taken.
    """
    rows = sorted(rows, key=lambda row: row.recall)
    if recall <= rows[0].recall or recall >= rows[-1].recall:
        edge = rows[0] if recall <= rows[0].recall else rows[-1]
        return edge.p50, edge.recall != recall
    for low, high in zip(rows, rows[1:]):
        if low.recall <= recall <= high.recall and low.recall < high.recall:
            at = (recall - low.recall) / (high.recall - low.recall)
            return math.exp((1 - at) * math.log(low.p50) +
                            at * math.log(high.p50)), False
    raise ValueError(recall)


def ratio_text(rows, ours):
    """How many times slower a peer is at the recall of a row of ours."""
    if not rows:
        return None, None
    p50, outside = latency_at(rows, ours.recall)
    mark = ""
    if outside:  # its fastest setting is better, or its best one is worse
        mark = "≤ " if ours.recall < min(r.recall for r in rows) else "≥ "
    return p50 / ours.p50, mark + digits(p50 / ours.p50)


def judge(rows, targets):
    by = {}
    for row in rows:
        by.setdefault(row.method, []).append(row)
    exact = min((r.p50 for r in by["sequential scan"]), default=None)
    for row in by.get("ann flat", []):
        targets.at_least("ann flat: recall@10", row.recall, 0.999)
        targets.at_least("ann flat: p50, sequential scan / this",
                         exact / row.p50, 100)
    good = [r for r in by.get("ann IVF", []) if r.recall >= 0.95]
    default = next((r for r in by.get("ann IVF", [])
                    if r.setting == "vector_ext.recall = 0.95"), None)
    if default:
        targets.at_least("ann IVF: recall@10 at the default", default.recall,
                         0.95)
    if good:
        ours = min(good, key=lambda row: row.p50)
        for peer, factor in (("hnsw", 3), ("ivfflat", 8)):
            if peer in by:
                targets.at_least(
                    f"ann IVF ({ours.setting}, recall {ours.recall:.4f}): "
                    f"p50, {peer} at that recall / this",
                    ratio_text(by[peer], ours)[0], factor)


def bench(options, targets):
    log("search")
    rows = [Row(fields) for fields in client(
        options, "search", specifications(options),
        "--base", options.data + "/vectors.f16",
        "--queries", options.data + "/query_vectors.f16",
        "--query-count", str(options.queries),
        "--rounds", str(options.rounds), "--cpu", str(options.cpu))]
    peers = {peer: [r for r in rows if r.method == peer]
             for peer in ("hnsw", "ivfflat")}
    exact = min(r.p50 for r in rows if r.method == "sequential scan")
    table = Table(
        f"Search: ten nearest of 63,181 rows, {options.queries} queries",
        ["method", "setting", "recall@10", "p50 ms", "p99 ms", "QPS",
         "CPU ms", "sequential scan / this", "hnsw / this", "ivfflat / this"],
        [f"One client; medians of {options.rounds} interleaved rounds after a "
         "warm one; client and backend on one CPU. CPU ms is what a query "
         "costs the backend, which other work on the machine lengthens least. "
         "The last columns divide p50, of hnsw and ivfflat at the recall of "
         "the row: between two of their settings ln(p50) is taken as linear "
         "in recall; ≥ and ≤ mark a recall above or below all their settings, "
         "where the nearest one's p50 is taken. "
         f"The sequential scan is asked {options.exact_queries} queries."])
    for row in rows:
        ours = row.method.startswith("ann")
        table.add(row.method, row.setting, f"{row.recall:.4f}",
                  f"{row.p50:.3f}", f"{row.p99:.3f}", digits(row.qps),
                  f"{row.cpu:.3f}",
                  digits(exact / row.p50),
                  ratio_text(peers["hnsw"], row)[1] if ours else None,
                  ratio_text(peers["ivfflat"], row)[1] if ours else None)
    judge(rows, targets)
    return table
