"""Serve: many clients at once, at equal recall; closed and open loop."""
from common import client, log
from search import of_method, ours_at
from sets import setting_at
from tables import Table, digits

CLIENTS = (1, 2, 8, 16)
SHARES = (0.5, 0.7, 0.9)  # of the saturation rate, in the open loop
RECALL = 0.95
ROUNDS = 3


class Row:
    """A line of the client's answer."""

    def __init__(self, fields):
        self.method, self.setting = fields[0].split(";")
        self.clients = int(fields[1])
        (self.rate, self.queries, self.recall, self.qps, self.p50, self.p95,
         self.p99, self.cpu) = map(float, fields[2:])


def contestants(options):
    """{method: specification}: ours at the recall, hnsw at the same one."""
    ours = ours_at(options, RECALL) or \
        max(of_method(options, options.set.ours.name), key=lambda r: r.recall)
    found = {ours.method: options.set.ours.specification(ours.setting)}
    peers = of_method(options, "hnsw")
    if peers:
        value = setting_at(peers, ours.recall)
        found["hnsw"] = options.set.index("hnsw").specification(
            f"hnsw.ef_search = {value}")
    return found


def ask(options, lines):
    """Rows for lines of (specification, clients, rate)."""
    return [Row(fields) for fields in client(
        options, "serve", [(*spec, count, rate) for spec, count, rate in lines],
        "--query-count", options.queries, "--rounds", ROUNDS,
        "--seconds", options.seconds)]


def judge(rows, ours, targets):
    by = {(row.method, row.clients): row for row in rows}
    mine, before = by[ours, 16], by[ours, 8]
    targets.at_most(f"{ours}: p95 of 16 clients / p95 of 8",
                    mine.p95 / before.p95, 2.5)
    if ("hnsw", 16) in by:
        hnsw = by["hnsw", 16]
        gap = f", recall {mine.recall:.4f} and {hnsw.recall:.4f}"
        targets.at_least(f"{ours}: QPS of 16 clients, this / hnsw{gap}",
                         mine.qps / hnsw.qps, 4)


def closed_table(options, rows):
    table = Table(
        f"Serve: many clients, closed loop, {options.set.title}",
        ["method", "setting, clients", "recall@10", "QPS", "p50 ms", "p95 ms",
         "p99 ms", "CPU ms", "this / hnsw"],
        [f"Each client asks when its last query is answered, {options.seconds:g}"
         f" s a round; medians of {ROUNDS} rounds in which the lines take "
         "turns. Clients (threads of one process) and server share all CPUs. "
         "Recall is that of the answers given. hnsw's setting is the one at "
         "which its recall is that of the other. CPU ms: of the backends, a "
         "query."])
    hnsw = {row.clients: row for row in rows if row.method == "hnsw"}
    for row in rows:
        peer = hnsw.get(row.clients)
        table.add(row.method, f"{row.setting}, {row.clients}",
                  f"{row.recall:.4f}", digits(row.qps), f"{row.p50:.3f}",
                  f"{row.p95:.3f}", f"{row.p99:.3f}", f"{row.cpu:.3f}",
                  digits(row.qps / peer.qps) if peer else None)
    return table


def open_table(options, rows, saturation):
    table = Table(
        f"Open loop: queries arrive, answered or not, {options.set.title}",
        ["method", "setting, share of saturation", "recall@10", "arriving 1/s",
         "answered 1/s", "p50 ms", "p95 ms", "p99 ms", "CPU ms"],
        ["Arrivals are a Poisson process of fixed seed; latency counts from "
         "the moment a query is due, so a wait for one of "
         f"{CLIENTS[-1]} clients is part of it. Saturation is the rate that "
         "the method itself has in the closed loop of as many clients."])
    for row in rows:
        share = row.rate / saturation[row.method]
        table.add(row.method, f"{row.setting}, {share:.0%}",
                  f"{row.recall:.4f}", digits(row.rate), digits(row.qps),
                  f"{row.p50:.3f}", f"{row.p95:.3f}", f"{row.p99:.3f}",
                  f"{row.cpu:.3f}")
    return table


def bench(options, targets):
    found = contestants(options)
    log("serve")
    rows = ask(options, [(spec, count, 0) for count in CLIENTS
                         for spec in found.values()])
    judge(rows, options.set.ours.name, targets)
    saturation = {r.method: r.qps for r in rows if r.clients == CLIENTS[-1]}
    log("open loop")
    arrivals = ask(options, [(spec, CLIENTS[-1], share * saturation[method])
                             for share in SHARES
                             for method, spec in found.items()])
    return [closed_table(options, rows),
            open_table(options, arrivals, saturation)]
