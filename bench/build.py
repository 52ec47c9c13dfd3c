"""Builds: time by phase, size and peak memory of CREATE INDEX."""
import os
import re
import statistics
import threading
import time

from common import Session, log, process_kb, run_sql
from tables import Table, digits

SAMPLE_SECONDS = 0.020
# Where the graph of hnsw fits; with less it goes to disk while it is built.
MEMORY_HNSW = {"debian": "512MB", "large": "8GB"}
# How many times faster than hnsw and ivfflat; None: whatever comes.
WANTED = {"debian": (8, None), "large": (12, 2)}
WANTED_SIZE = 9


class Sampler(threading.Thread):
    """Watches a build: memory of backend and parallel workers, and phases."""

    def __init__(self, database, backend):
        super().__init__(daemon=True)
        self.backend = backend
        self.postmaster = process_kb(backend, "PPid")
        self.others = set(self.children())  # not workers of this build
        self.segments = self.shared()
        self.peak_kb, self.workers, self.phases = 0, 0, {}
        self.session = Session(database)
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

    def shared(self):
        """Segments that the backend shares with its workers: {path: KB}."""
        found = {}
        try:
            with open(f"/proc/{self.backend}/maps") as maps:
                for path in set(re.findall(r"/dev/shm/PostgreSQL\.\S+",
                                           maps.read())):
                    inside = f"/proc/{self.backend}/root{path}"
                    found[path] = os.stat(inside).st_blocks // 2
        except OSError:
            pass
        return found

    def memory_kb(self):
        workers = [p for p in set(self.children()) - self.others
                   if self.is_worker(p)]
        self.workers = max(self.workers, len(workers))
        private = sum(process_kb(p, "RssAnon")
                      for p in [self.backend, *workers])
        return private + sum(kb for path, kb in self.shared().items()
                             if path not in self.segments)

    def phase(self):
        answer = self.session.run("SELECT phase FROM pg_stat_progress_create_index"
                                  f" WHERE pid = {self.backend}")
        return answer.removeprefix("building index: ") or "before and after"

    def run(self):
        at, phase = time.monotonic(), "before and after"
        while not self.stopping.wait(SAMPLE_SECONDS):
            self.peak_kb = max(self.peak_kb, self.memory_kb())
            now, old, phase = time.monotonic(), phase, self.phase()
            self.phases[old] = self.phases.get(old, 0) + now - at
            at = now
        self.phases[phase] = self.phases.get(phase, 0) + time.monotonic() - at

    def stop(self):
        self.stopping.set()
        self.join()
        self.session.close()


class Build:
    """One CREATE INDEX, or what the index remembers of it."""

    def __init__(self, seconds, sampler=None):
        self.seconds = seconds
        self.peak_mb = sampler and sampler.peak_kb / 1024
        self.workers = sampler and sampler.workers
        self.phases = sampler.phases if sampler else {}


def comment(memory, workers, seconds):
    return f"bench: {seconds:.1f} s, {memory}, {workers} workers"


def build(index, memory, workers):
    """Replaces the index, which then remembers how long that took."""
    session = Session(index.database)
    session.run(f"DROP INDEX IF EXISTS {index.relation}")
    session.run("CHECKPOINT")
    session.run(f"SET maintenance_work_mem = '{memory}'")
    session.run(f"SET max_parallel_maintenance_workers = {workers}")
    session.run(f"ALTER TABLE items SET (parallel_workers = {workers})")
    sampler = Sampler(index.database, int(session.run("SELECT pg_backend_pid()")))
    sampler.start()
    start = time.monotonic()
    session.run(index.create())
    seconds = time.monotonic() - start
    sampler.stop()
    session.run("ALTER TABLE items RESET (parallel_workers)")
    session.run(f"COMMENT ON INDEX {index.relation} IS "
                f"'{comment(memory, workers, seconds)}'")
    session.close()
    log(f"  {index.name} {memory}, {workers} workers: {seconds:.2f} s, "
        f"peak {sampler.peak_kb / 1024:.1f} MB")
    return Build(seconds, sampler)


def remembered(index):
    """(memory, workers, Build) of an index that was built before, or None."""
    text = run_sql(index.database, "SELECT obj_description(to_regclass"
                   f"('{index.relation}'), 'pg_class')")
    found = re.match(r"bench: ([0-9.]+) s, (\w+), (\d+) workers", text)
    return found and (found[2], int(found[3]), Build(float(found[1])))


def plan(options):
    """(index name, maintenance_work_mem, workers, repeats); the last stays."""
    hnsw = MEMORY_HNSW[options.set.name]
    if options.set.name == "large":
        return [("ann flat", "2GB", 1, 1), ("ann IVF", "64MB", 1, 1),
                ("ann IVF", "2GB", 1, 1), ("ivfflat", "2GB", 1, 1),
                ("hnsw", hnsw, 1, 1)]
    all_ = [("ann flat", "64MB", 0, options.builds),
            ("ann IVF", "2GB", 0, 1), ("ann IVF", "64MB", 1, options.builds),
            ("ann IVF", "2GB", 1, 1), ("ann IVF", "64MB", 0, options.builds),
            ("ivfflat", "64MB", 0, options.builds), ("hnsw", hnsw, 0, 1)]
    if options.full:
        all_[-1:-1] = [("ivfflat", "64MB", 1, 1), ("hnsw", "64MB", 0, 1),
                       ("hnsw", hnsw, 1, 1)]
    return all_


def only_create(options):
    """The indexes for the other steps, without a bench of builds."""
    for index in options.indexes():
        run_sql(index.database, "SET maintenance_work_mem = "
                f"'{MEMORY_HNSW[options.set.name]}'", index.create())


def to_build(options):
    """The part of the plan that is built, not remembered."""
    for name, memory, workers, repeats in plan(options):
        index = options.set.index(name)
        if index.extension in options.methods and \
                (not options.rebuild or name in options.rebuild):
            yield index, memory, workers, repeats


def measure(options):
    """{(index name, memory, workers): [Build]}; the builds take turns."""
    runs = {}
    for repeat in range(options.builds):
        for index, memory, workers, repeats in to_build(options):
            if repeat < repeats:
                runs.setdefault((index.name, memory, workers), []).append(
                    build(index, memory, workers))
    built = {name for name, _, _ in runs}
    for index in options.indexes():
        kept = index.name not in built and remembered(index)
        if kept:
            runs[(index.name, *kept[:2])] = [kept[2]]
    return runs


def judge(options, table, targets):
    wanted = WANTED[options.set.name]
    sized = set()
    for name, memory, workers, seconds, size, peak, peers in table:
        if not name.startswith("ann"):
            continue
        what = f"{name}, {memory}, {workers} workers"
        for (peer, (time_, bytes_)), factor in zip(peers.items(), wanted):
            if time_ and factor:
                targets.at_least(f"{what}: build time, {peer} / this",
                                 time_ / seconds, factor)
            if bytes_ and name not in sized:
                targets.at_least(f"{name}: index size, {peer} / this",
                                 bytes_ / size, WANTED_SIZE)
        sized.add(name)
        if peak:
            limit = 64 + 1024 * int(memory[:-2]) if memory.endswith("GB") \
                else 64 + int(memory[:-2])
            targets.at_most(f"{what}: peak MB of the build", peak, limit)


def size_mb(index):
    return int(run_sql(index.database, "SELECT pg_relation_size("
                       f"'{index.relation}')")) / 1e6


def rows(options, runs):
    """(name, memory, workers, seconds, MB, peak MB, {peer: (seconds, MB)})"""
    sizes = {name: size_mb(options.set.index(name)) for name, _, _ in runs}
    seconds = {key: statistics.median(b.seconds for b in builds)
               for key, builds in runs.items()}

    def peer(name, workers):
        times = [s for (n, memory, w), s in seconds.items()
                 if n == name and w == workers and
                 (n != "hnsw" or memory == MEMORY_HNSW[options.set.name])]
        return min(times, default=None), sizes.get(name)
    for key, builds in runs.items():
        peaks = [b.peak_mb for b in builds if b.peak_mb]
        yield (*key, seconds[key], sizes[key[0]],
               statistics.median(peaks) if peaks else None,
               {p: peer(p, key[2]) for p in ("hnsw", "ivfflat")})


def phase_table(runs):
    table = Table("Build phases: of CREATE INDEX, as its progress view says",
                  ["index", "maintenance_work_mem, workers", "phase", "time s"],
                  ["Of the first build of a row, sampled every 20 ms."], names=3)
    for (name, memory, workers), builds in runs.items():
        for phase, seconds in builds[0].phases.items():
            if seconds >= 0.005:
                table.add(name, f"{memory}, {workers}", phase, f"{seconds:.2f}")
    return table


def bench(options, targets):
    log("build")
    runs = measure(options)
    all_ = list(rows(options, runs))
    table = Table(
        f"Build: CREATE INDEX over {options.set.title}",
        ["index", "maintenance_work_mem, workers", "builds", "time s", "size MB",
         "peak MB", "workers seen", "hnsw time / this", "ivfflat time / this",
         "hnsw size / this"],
        ["Time and memory are medians. Peak: the highest sum of RssAnon of the "
         "backend and its parallel workers and of the memory that they share "
         "for the build, sampled every 20 ms; buffers are not in it. Workers: "
         "as many as may be, beside the backend, and how many there were. Times are divided by those of the peer with "
         "as many workers, hnsw with "
         f"{MEMORY_HNSW[options.set.name]}, where its graph fits. A row "
         "without peak is an index that was kept: it remembers its time."])
    for name, memory, workers, seconds, size, peak, peers in all_:
        hnsw, ivfflat = peers["hnsw"], peers["ivfflat"]
        table.add(name, f"{memory}, {workers}",
                  len(runs[(name, memory, workers)]), f"{seconds:.2f}",
                  f"{size:.1f}", digits(peak),
                  runs[(name, memory, workers)][0].workers,
                  digits(hnsw[0] / seconds) if hnsw[0] else None,
                  digits(ivfflat[0] / seconds) if ivfflat[0] else None,
                  digits(hnsw[1] / size) if hnsw[1] else None)
    judge(options, all_, targets)
    return [table, phase_table(runs)]
