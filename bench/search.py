"""Search: latency and recall@10 of every method and setting, one client."""
import math

from common import client, log
from sets import DATABASE, ORDER
from tables import Table, digits

# Recall, and how many times faster than hnsw and ivfflat is wanted, by set.
WANTED = {"debian": [(0.95, 6, 15), (0.99, 10, 20)],
          "large": [(0.95, 8, 50), (0.99, 10, 50)]}


class Row:
    """A line of the client's answer."""

    def __init__(self, fields):
        self.method, self.setting = fields[0].split(";")
        self.recall, self.p50, self.p95, self.p99, self.qps, self.cpu = \
            map(float, fields[2:])
        self.value = float(self.setting.split(" = ")[1]) \
            if " = " in self.setting else None


def specifications(options):
    if options.set.name == "debian":  # over a million rows it takes seconds
        for extension in options.methods:
            yield (f"sequential scan;{extension}", DATABASE[extension],
                   options.exact_queries, "SET enable_indexscan = off",
                   f"SELECT id FROM items {ORDER}", "Seq Scan on items")
    for settings in options.set.settings:
        index = options.set.index(settings.index)
        if index.extension in options.methods:
            for setting in settings.texts():
                yield index.specification(setting, settings.queries)


def rows(options):
    """The rows of this run; measured when they are first asked for."""
    if options.search_rows is None:
        log("search")
        options.search_rows = [Row(fields) for fields in client(
            options, "search", specifications(options), "--query-count",
            options.queries, "--rounds", options.rounds, "--cpu", options.cpu)]
    return options.search_rows


def of_method(options, method):
    return [row for row in rows(options) if row.method == method]


def ours_at(options, recall):
    """Our fastest row with at least that recall, None if there is none."""
    good = [row for row in of_method(options, options.set.ours.name)
            if row.recall >= recall and row.setting.startswith("vector_ext.recall")]
    return min(good, key=lambda row: row.p50, default=None)


def typical(options, recall=0.95):
    """Of each index, the row of its fastest setting with that recall."""
    for index in options.indexes():
        all_ = [row for row in of_method(options, index.name)
                if not row.setting.startswith("vector_ext.probes")]
        good = [row for row in all_ if row.recall >= recall]
        if all_:
            yield min(good, key=lambda row: row.p50) if good else \
                max(all_, key=lambda row: row.recall)


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


def judge(options, targets):
    exact = min((r.p50 for r in of_method(options, "sequential scan")),
                default=None)
    for row in of_method(options, "ann flat"):
        targets.at_least("ann flat: recall@10", row.recall, 0.999)
        if exact:
            targets.at_least("ann flat: p50, sequential scan / this",
                             exact / row.p50, 100)
    for row in of_method(options, options.set.ours.name):
        if row.setting.startswith("vector_ext.recall"):
            targets.at_least(f"{row.method}: recall@10 at {row.setting}",
                             row.recall, row.value - 0.01)
    for recall, *factors in WANTED[options.set.name]:
        ours = ours_at(options, recall)
        if not ours:
            targets.not_measured(f"{options.set.ours.name}: p50 at recall "
                                 f"{recall}", "no setting reaches it")
            continue
        for peer, factor in zip(("hnsw", "ivfflat"), factors):
            ratio, text = ratio_text(of_method(options, peer), ours)
            if ratio:
                outside = "" if text[0].isdigit() else f" ({text[0]})"
                targets.at_least(
                    f"{ours.method}, {ours.setting}, recall {ours.recall:.4f}: "
                    f"p50, {peer} at that recall / this{outside}", ratio, factor)


def bench(options, targets):
    all_ = rows(options)
    hnsw, ivfflat = of_method(options, "hnsw"), of_method(options, "ivfflat")
    exact = min((r.p50 for r in of_method(options, "sequential scan")),
                default=None)
    table = Table(
        f"Search: ten nearest of {options.set.title}, one client",
        ["method", "setting", "recall@10", "p50 ms", "p95 ms", "p99 ms", "QPS",
         "CPU ms", "sequential scan / this", "hnsw / this", "ivfflat / this"],
        [f"{options.queries} queries; medians of {options.rounds} interleaved "
         "rounds after a warm one; client and backend on one CPU. CPU ms is "
         "what a query costs the backend, which other work on the machine "
         "lengthens least. "
         "The last columns divide p50, of hnsw and ivfflat at the recall of "
         "the row: between two of their settings ln(p50) is taken as linear "
         "in recall; ≥ and ≤ mark a recall above or below all their settings, "
         "where the nearest one's p50 is taken. Fewer queries are asked of "
         + (f"the sequential scan ({options.exact_queries})."
            if exact else "ivfflat and ann flat (50) and hnsw (300).")])
    for row in all_:
        ours = row.method.startswith("ann")
        table.add(row.method, row.setting, f"{row.recall:.4f}",
                  f"{row.p50:.3f}", f"{row.p95:.3f}", f"{row.p99:.3f}",
                  digits(row.qps), f"{row.cpu:.3f}",
                  digits(exact / row.p50) if exact else None,
                  ratio_text(hnsw, row)[1] if ours else None,
                  ratio_text(ivfflat, row)[1] if ours else None)
    judge(options, targets)
    return [table]
