"""Reference: faiss and hnswlib in process, without a server or a socket."""
import os
import subprocess

import search
from common import HERE, log
from tables import Table, digits

LIBRARIES = ("faiss", "hnswlib")
# Times faiss's latency, and ms of the socket on top, by set.
WANTED = {"debian": (2, 0.017), "large": (1, 0)}
# ms of faiss 1.9 built with AVX2 on two cores of an AMD EPYC, by recall: what
# there is to compare with where faiss is missing, or without AVX2, which makes
# fast scan 7 to 14 times slower.
EARLIER = {"debian": {0.95: 0.16, 0.99: 0.33}, "large": {0.95: 2.2, 0.99: 4.2}}


class Row:
    """A line of native.py."""

    def __init__(self, fields):
        self.method, self.setting = fields[0].split(";")
        self.recall, self.p50, self.p99, self.qps = map(float, fields[1:])


def run(options, library):
    """(what it is, rows), or (why not, no rows)."""
    done = subprocess.run(
        [options.python, os.path.join(HERE, "native.py"), library,
         str(options.set.dims), options.set.base, options.set.queries,
         str(options.set.rows), str(min(options.queries, 300)),
         str(options.rounds), str(options.cpu)],
        stdout=subprocess.PIPE, text=True)
    lines = done.stdout.splitlines() or ["failed"]
    if done.returncode:
        return lines[-1], []
    return lines[0], [Row(line.split("\t")) for line in lines[1:]]


def fastest(rows, recall):
    return min((row for row in rows if row.recall >= recall),
               key=lambda row: row.p50, default=None)


def judge(options, what, rows, targets):
    factor, floor = WANTED[options.set.name]
    for recall, earlier in EARLIER[options.set.name].items():
        ours = search.ours_at(options, recall)
        title = f"{options.set.ours.name}: p50 / ({factor} x faiss + {floor} ms)"
        if not ours:
            targets.not_measured(f"{title}, recall {recall}",
                                 "no setting reaches it")
            continue
        theirs = fastest(rows, ours.recall) if "AVX" in what else None
        source = f"recall {theirs.recall:.4f}" if theirs else \
            f"{earlier} ms, an earlier AVX2 build at recall {recall}"
        latency = theirs.p50 if theirs else earlier
        targets.at_most(f"{title}, recall {ours.recall:.4f}; faiss: {source}",
                        ours.p50 / (factor * latency + floor), 1)


def bench(options, targets):
    log("reference")
    search.rows(options)
    table = Table(
        f"Reference: libraries in process, one thread, {options.set.title}",
        ["method", "setting", "recall@10", "p50 ms", "p99 ms", "QPS"],
        ["In the same run, before or after the searches of the server, not in "
         "turns with them; on the same CPU. The vectors are in the process; a "
         "query goes through no socket, planner or transaction."])
    for library in LIBRARIES:
        what, rows = run(options, library)
        table.notes.append(f"{library}: {what}" if rows else
                           f"skipped: {library} ({what})")
        log("  " + table.notes[-1])
        for row in rows:
            table.add(row.method, row.setting, f"{row.recall:.4f}",
                      f"{row.p50:.3f}", f"{row.p99:.3f}", digits(row.qps))
        if library == "faiss":
            judge(options, what, rows, targets)
    return [table]
