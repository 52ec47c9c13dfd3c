"""Reference: faiss and hnswlib in process, without a server or a socket."""
import subprocess
import os

import search
from common import HERE, log
from tables import Table, digits

LIBRARIES = ("faiss", "hnswlib")
# Times faiss's latency, and ms of the socket on top, by set.
WANTED = {"debian": (2, 0.017), "large": (1, 0)}


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


def judge(options, rows, targets):
    factor, floor = WANTED[options.set.name]
    for recall in (0.95, 0.99):
        ours = search.ours_at(options, recall)
        theirs = ours and fastest(rows, ours.recall)
        what = (f"{options.set.ours.name}: p50 / (faiss {factor}x + {floor} ms) "
                f"at recall {recall}")
        if not theirs:
            targets.not_measured(what, "no setting of both reaches it")
            continue
        targets.at_most(f"{what} ({ours.recall:.4f}, {theirs.recall:.4f})",
                        ours.p50 / (factor * theirs.p50 + floor), 1)


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
            if rows:
                judge(options, rows, targets)
            else:
                targets.not_measured("p50 beside faiss", what)
    return [table]
