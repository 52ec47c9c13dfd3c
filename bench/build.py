"""Builds: time, size and peak private memory of CREATE INDEX."""
import os
import re
import statistics
import threading
import time

from common import (DATABASE, INDEXES, Session, Table, digits, index_name,
                    index_sql, log, run_sql)

SAMPLE_SECONDS = 0.020
MEMORY = "64MB"
# Where the graph of hnsw fits; with less it goes to disk while it is built.
MEMORY_HNSW = "512MB"


def private_kb(pid):
    """RssAnon of a process, 0 when it is gone."""
    try:
        with open(f"/proc/{pid}/status") as status:
            return int(re.search(r"RssAnon:\s*(\d+)", status.read())[1])
    except (OSError, TypeError):
        return 0


def parent(pid):
    with open(f"/proc/{pid}/status") as status:
        return int(re.search(r"PPid:\s*(\d+)", status.read())[1])


class MemorySampler(threading.Thread):
    """Peak of the private memory of a backend and its parallel workers."""

    def __init__(self, backend):
        super().__init__(daemon=True)
        self.backend, self.peak_kb = backend, 0
        self.postmaster = parent(backend)
        self.others = set(self.children())  # not workers of this build
        self.stopping = threading.Event()

    def children(self):
        path = f"/proc/{self.postmaster}/task/{self.postmaster}/children"
        try:
            with open(path) as children:
                return children.read().split()
        except OSError:
            return []

    def is_worker(self, pid):
        try:
            with open(f"/proc/{pid}/cmdline") as line:
                return f"parallel worker for PID {self.backend}" in line.read()
        except OSError:
            return False

    def run(self):
        while not self.stopping.wait(SAMPLE_SECONDS):
            workers = [p for p in set(self.children()) - self.others
                       if self.is_worker(p)]
            total = sum(map(private_kb, [self.backend, *workers]))
            self.peak_kb = max(self.peak_kb, total)

    def stop(self):
        self.stopping.set()
        self.join()
        return self.peak_kb / 1024


def build(name, memory):
    """Replaces the index; returns seconds, size in MB, peak memory in MB."""
    session = Session(DATABASE[INDEXES[name][0]])
    session.run(f"DROP INDEX IF EXISTS {index_name(name)}")
    session.run("CHECKPOINT")
    session.run(f"SET maintenance_work_mem = '{memory}'")
    sampler = MemorySampler(int(session.run("SELECT pg_backend_pid()")))
    sampler.start()
    start = time.monotonic()
    session.run(index_sql(name))
    seconds = time.monotonic() - start
    peak = sampler.stop()
    size = int(session.run(f"SELECT pg_relation_size('{index_name(name)}')"))
    session.close()
    log(f"  {name} {memory}: {seconds:.2f} s, {size / 1e6:.1f} MB, "
        f"peak {peak:.1f} MB")
    return seconds, size / 1e6, peak


def settings(options):
    """(index, maintenance_work_mem, repeats), an index's last one stays."""
    all_ = [("ann flat", MEMORY, options.builds),
            ("ann IVF", MEMORY, options.builds),
            ("ivfflat", MEMORY, options.builds)]
    if options.full:
        all_.append(("hnsw", MEMORY, 1))
    all_.append(("hnsw", MEMORY_HNSW, 1))
    return [s for s in all_ if INDEXES[s[0]][0] in options.methods]


def only_create(options):
    """The indexes for the other steps, without a bench of builds."""
    for name, (method, _, _) in INDEXES.items():
        if method in options.methods:
            run_sql(DATABASE[method],
                    f"SET maintenance_work_mem = '{MEMORY_HNSW}'",
                    index_sql(name))


def bench(options, targets):
    log("build")
    runs = {}
    plan = settings(options)
    for repeat in range(options.builds):
        for name, memory, repeats in plan:
            if repeat < repeats:
                runs.setdefault((name, memory), []).append(build(name, memory))
    table = Table(
        "Build: CREATE INDEX over 63,181 rows, serial",
        ["index", "maintenance_work_mem", "builds", "seconds", "MB",
         "peak private MB", "hnsw time / this", "hnsw size / this"],
        ["Time and memory are medians; memory is the highest RssAnon of the "
         "backend and its parallel workers, sampled every 20 ms, so memory "
         "that processes share is not in it. "
         f"Ratios are to hnsw at {MEMORY_HNSW}, where its graph fits."])
    median = {key: [statistics.median(x) for x in zip(*values)]
              for key, values in runs.items()}
    hnsw = median.get(("hnsw", MEMORY_HNSW))
    for key, (seconds, size, peak) in median.items():
        table.add(*key, len(runs[key]), f"{seconds:.2f}", f"{size:.1f}",
                  f"{peak:.0f}",
                  digits(hnsw[0] / seconds) if hnsw else None,
                  digits(hnsw[1] / size) if hnsw else None)
        if key[0].startswith("ann"):
            if hnsw:
                targets.at_least(f"{key[0]}: build time, hnsw / this",
                                 hnsw[0] / seconds, 8)
                targets.at_least(f"{key[0]}: index size, hnsw / this",
                                 hnsw[1] / size, 8)
            targets.at_most(f"{key[0]}: peak private MB of the build", peak,
                            64 + 64)
    return table
