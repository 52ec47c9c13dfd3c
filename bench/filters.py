#!/usr/bin/env python3
"""The bench of conditions: `make bench-filters`, see README.md.

Nearest rows that meet a condition, beside sorting what meets it and beside
pgvector's hnsw with iterative scans; what the planner chooses; the gate; rows
within a distance.  Needs numpy and psycopg2.  The server is the one that PGHOST
and PGPORT name; BENCH_... as in bench.mk.
"""
import datetime
import os
import sys
import time

import numpy as np
import psycopg2

import plot
import run
from common import Options, log
from sets import DATABASE
from tables import Table, Targets, digits, write_csv

K = 10
SHARES = (0.5, 0.1, 0.01, 0.001, 0.0001)
CLUSTERS = (2, 10, 100, 1000)
COLUMNS = ["r"] + [f"c{k}" for k in CLUSTERS]
RANDOM = 1_000_000  # r is below it
EF = (40, 100, 200)


class Data:
    """Vectors of unit length, their labels, and each query's two clusters."""

    def __init__(self, options):
        self.rows = self.read(options.set.base, options.set.dims)
        self.queries = self.read(options.set.queries, options.set.dims)
        self.queries = self.queries[:options.queries]
        rng = np.random.default_rng(5)
        self.labels = [rng.integers(0, RANDOM, len(self.rows))]
        self.own, self.other = {}, {}
        for k in CLUSTERS:
            label, near = self.cluster(k, rng)
            self.labels.append(label)
            self.own[k] = near.argmax(1)
            self.other[k] = self.others(label, self.own[k], k, rng)
        self.distances = 1 - self.queries @ self.rows.T

    @staticmethod
    def read(path, dims):
        kind = "<f2" if path.endswith(".f16") else "<f4"
        x = np.fromfile(path, kind).reshape(-1, dims).astype(np.float32)
        return x / np.linalg.norm(x, axis=1, keepdims=True)

    def cluster(self, k, rng):
        """Spherical k-means on a sample; labels, likeness of the queries."""
        x = self.rows
        sample = x[rng.choice(len(x), min(len(x), 100 * k), replace=False)]
        centres = sample[rng.choice(len(sample), k, replace=False)].copy()
        for _ in range(8):
            label = (sample @ centres.T).argmax(1)
            for j in range(k):
                if (label == j).any():
                    mean = sample[label == j].mean(0)
                    centres[j] = mean / np.linalg.norm(mean)
        return (x @ centres.T).argmax(1), self.queries @ centres.T

    @staticmethod
    def others(label, own, k, rng):
        """For each query a cluster at random that is not its own."""
        counts = np.bincount(label, minlength=k)
        enough = np.flatnonzero(counts > K)
        return np.array([rng.choice(enough[enough != o]) for o in own])


class Condition:
    """What is asked of each query: SQL, and the rows that meet it."""

    def __init__(self, name, share, sql, meets):
        self.name, self.share, self.sql, self.meets = name, share, sql, meets


def conditions(data):
    r = data.labels[0]
    yield Condition("none", 1.0, lambda i: "true",
                    lambda i: np.ones(len(r), bool))
    for share in SHARES:
        below = int(share * RANDOM)
        yield Condition(f"random {share:.2%}", share,
                        lambda i, b=below: f"r < {b}", lambda i, b=below: r < b)
    for kind, of in (("own", data.own), ("other", data.other)):
        for k, label in zip(CLUSTERS, data.labels[1:]):
            yield Condition(
                f"{kind} of {k}", 1 / k,
                lambda i, k=k, of=of: f"c{k} = {of[k][i]}",
                lambda i, k=k, of=of, l=label: l == of[k][i])


class Method:
    """A way to answer: a database, settings, a table."""

    def __init__(self, name, extension, settings, table="items", most=10**6,
                 known=True):
        self.name, self.extension = name, extension
        self.known = known  # does the planner know the LIMIT?
        self.settings, self.table, self.most = settings, table, most
        self.db = connect(DATABASE[extension])
        for setting in settings.split("; "):
            if setting:
                run_on(self.db, "SET " + setting)
        self.pid = self.db.info.backend_pid


def connect(database):
    db = psycopg2.connect(dbname=database)
    db.autocommit = True
    return db


def run_on(db, sql):
    with db.cursor() as cursor:
        cursor.execute(sql)
        return cursor.fetchall() if cursor.description else None


def cpu_ms(pid):
    with open(f"/proc/{pid}/schedstat") as stat:
        return int(stat.read().split()[0]) / 1e6


def text_of(vector):
    return "[" + ",".join(map(repr, map(float, vector))) + "]"


# --- loading ---------------------------------------------------------------------


class Rows:
    """The table as a file of COPY's text form."""

    def __init__(self, data):
        self.lines = self.make(data)
        self.left = ""

    @staticmethod
    def make(data):
        for i, row in enumerate(data.rows):
            labels = "\t".join(str(label[i]) for label in data.labels)
            yield f"{i}\t{labels}\t{text_of(row)}\n"

    def read(self, size):
        while len(self.left) < size:
            line = next(self.lines, None)
            if line is None:
                break
            self.left += line
        part, self.left = self.left[:size], self.left[size:]
        return part


def load(options, data):
    columns = ", ".join(f"{c} int" for c in COLUMNS)
    for extension in options.methods:
        log(f"load {extension}")
        db = connect(DATABASE[extension])
        run_on(db, f"CREATE TABLE items (id int, {columns}, "
                   f"v vector({options.set.dims}))")
        with db.cursor() as cursor:
            cursor.copy_expert("COPY items FROM STDIN", Rows(data), 1 << 20)
        for column in COLUMNS:
            run_on(db, f"CREATE INDEX ON items ({column})")
        if extension == "vector_ext":
            run_on(db, "CREATE TABLE plain AS SELECT * FROM items")
            run_on(db, "CREATE INDEX ON plain (r)")
            run_on(db, "CREATE INDEX ON plain USING ann (v vector_cosine_ops)")
            run_on(db, "CREATE INDEX ON items USING ann (v vector_cosine_ops, "
                       + ", ".join(COLUMNS) + ")")
        else:
            run_on(db, "SET maintenance_work_mem = '1GB'")
            run_on(db, "CREATE INDEX ON items USING hnsw (v vector_cosine_ops)")
        run_on(db, "VACUUM ANALYZE")
        db.close()


# --- asking ----------------------------------------------------------------------


class Answer:
    """What one method gave for one condition."""

    def __init__(self):
        self.ms, self.cpu, self.found, self.short = [], [], [], 0

    def add(self, data, i, meets, ids, limit, ms, cpu):
        distance = np.where(meets, data.distances[i], 9)
        wanted = min(limit, int(meets.sum()))
        self.ms.append(ms)
        self.cpu.append(cpu)
        self.short += len(ids) < wanted
        if wanted:
            kth = np.partition(distance, wanted - 1)[wanted - 1]
            self.found.append(
                sum(distance[j] <= kth + 1e-6 for j in ids) / wanted)

    recall = property(lambda self: float(np.mean(self.found or [1])))
    p50 = property(lambda self: float(np.median(self.ms)))
    p95 = property(lambda self: float(np.percentile(self.ms, 95)))
    cpu_p50 = property(lambda self: float(np.median(self.cpu)))


def ask(data, method, condition, answer, i, limit=K):
    """One query: the second of two executions of a prepared statement counts."""
    sql = (f"SELECT id FROM {method.table} WHERE {condition.sql(i)} "
           f"ORDER BY v <=> '{text_of(data.queries[i])}' LIMIT "
           + (str(limit) if method.known else "$1"))
    execute = "EXECUTE q" if method.known else f"EXECUTE q ({limit})"
    with method.db.cursor() as cursor:
        cursor.execute(f"PREPARE q{'' if method.known else ' (int)'} AS {sql}")
        cursor.execute(execute)
        cpu = cpu_ms(method.pid)
        start = time.perf_counter()
        cursor.execute(execute)
        ms = 1e3 * (time.perf_counter() - start)
        ids = [row[0] for row in cursor.fetchall()]
        cpu = cpu_ms(method.pid) - cpu
        cursor.execute("DEALLOCATE q")
    answer.add(data, i, condition.meets(i), ids, limit, ms, cpu)


def measure(data, methods, condition, limit=K):
    """The methods take turns, query by query."""
    answers = [Answer() for _ in methods]
    for i in range(len(data.queries)):
        for method, answer in zip(methods, answers):
            if i < method.most:
                ask(data, method, condition, answer, i, limit)
    return answers


FORCED = "enable_seqscan = off; enable_sort = off; enable_bitmapscan = off"
SORTED = "enable_indexscan = off"
SCANNED = "enable_indexscan = off; enable_bitmapscan = off"


def filter_methods(options):
    methods = [Method("ann, as planned", "vector_ext", ""),
               Method("ann index", "vector_ext", FORCED),
               Method("filter, then sort", "vector_ext", SORTED, most=40),
               Method("sequential scan", "vector_ext", SCANNED, most=5)]
    if "pgvector" in options.methods:
        for order in ("relaxed_order", "strict_order"):
            methods += [Method(f"hnsw {order}, {ef}", "pgvector",
                               FORCED + f"; hnsw.iterative_scan = {order}; "
                               f"hnsw.ef_search = {ef}", most=100) for ef in EF]
    return methods


# --- the questions ---------------------------------------------------------------


def hnsw_at(answers, recall):
    """The fastest hnsw answer with that recall and no short one; or None."""
    good = [a for name, a in answers if name.startswith("hnsw")
            and a.recall >= recall and not a.short]
    return min(good, key=lambda a: a.p50, default=None)


def judge(targets, condition, answers, unfiltered):
    by_name = dict(answers)
    ann = by_name["ann, as planned"]
    name = f"{condition.name}: "
    targets.at_least(name + "recall@10", ann.recall, 0.95)
    targets.at_least(name + "share of answers of full length",
                     1 - ann.short / len(ann.ms), 1)
    if condition.share >= 0.1:
        targets.at_most(name + "p50 / without a condition",
                        ann.p50 / unfiltered, 1.5)
    elif condition.share >= 0.01:
        targets.at_most(name + "p50 / without a condition",
                        ann.p50 / unfiltered, 3)
    else:
        targets.at_most(name + "p50 / filter, then sort",
                        ann.p50 / by_name["filter, then sort"].p50, 1.2)
    peer = hnsw_at(answers, min(ann.recall, 0.95) - 0.01)
    if any(n.startswith("hnsw") for n, _ in answers) and \
            condition.share <= 0.1:
        if peer:
            targets.at_least(name + f"p50, hnsw at recall {peer.recall:.3f} / "
                             "this", peer.p50 / ann.p50,
                             5 if condition.share > 0.03 else 10)
        else:
            targets.not_measured(name + "p50, hnsw / this",
                                 "none of its settings reaches the recall")


def bench_filters(options, data, targets):
    table = Table("Filters: ten nearest that meet a condition",
                  ["condition", "method", "share", "recall@10", "short",
                   "p50 ms", "p95 ms", "CPU ms"],
                  ["random: a column that has nothing to do with the vectors; "
                   "own and other: the query's own cluster of so many, and one "
                   "at random. Medians over the queries, in which the methods "
                   "take turns; 40 of filter then sort, 5 of the sequential "
                   "scan, 100 of hnsw, whose number is ef_search. Short: "
                   "answers with fewer rows than meet the condition."])
    methods = filter_methods(options)
    unfiltered = None
    for condition in conditions(data):
        log(f"filters: {condition.name}")
        answers = measure(data, methods, condition)
        named = [(m.name, a) for m, a in zip(methods, answers)]
        share = np.mean([condition.meets(i).mean()
                         for i in range(len(data.queries))])
        for name, answer in named:
            table.add(condition.name, name, f"{share:.4%}",
                      f"{answer.recall:.4f}", answer.short,
                      f"{answer.p50:.3f}", f"{answer.p95:.3f}",
                      f"{answer.cpu_p50:.3f}")
        if condition.name == "none":
            unfiltered = answers[0].p50
        else:
            judge(targets, condition, named, unfiltered)
    return [table]


def bench_choice(options, data, targets):
    """The planner's choice beside the best, and the gate's place in it."""
    tables = []
    for name, table_name in (("Choice", "items"), ("Gate", "plain")):
        table = Table(
            f"{name}: what the planner takes, "
            + ("with the column in the ann index" if table_name == "items"
               else "with the column in a btree index only"),
            ["condition, LIMIT", "as planned", "recall@10", "planned ms",
             "ann ms", "gate ms", "sort ms", "planned / best"],
            ["Medians of the backend's processor time. ann: an ordered index "
             "scan that no bitmap precedes; gate: the same, but the planner "
             "does not know the LIMIT and takes a tenth of the rows for it, so "
             "that it prefers the gate where there is one."], names=2)
        methods = [Method("planned", "vector_ext", "", table_name),
                   Method("ann", "vector_ext", FORCED, table_name, 60),
                   Method("gate", "vector_ext",
                          "enable_seqscan = off; enable_sort = off; "
                          "plan_cache_mode = force_generic_plan", table_name,
                          60, known=False),
                   Method("sort", "vector_ext", SORTED, table_name, 20)]
        for condition in conditions(data):
            if not condition.name.startswith("random"):
                continue
            for limit in (1, 10, 100):
                log(f"{name.lower()}: {condition.name}, {limit}")
                planned, ann, gate, sort = measure(data, methods, condition,
                                                   limit)
                best = min(ann.cpu_p50, gate.cpu_p50, sort.cpu_p50)
                ratio = planned.cpu_p50 / best
                table.add(f"{condition.name}, {limit}",
                          plan_name(methods[0], condition, limit, data),
                          f"{planned.recall:.4f}", f"{planned.cpu_p50:.3f}",
                          f"{ann.cpu_p50:.3f}", f"{gate.cpu_p50:.3f}",
                          f"{sort.cpu_p50:.3f}", digits(ratio))
                targets.at_most(f"{name}, {condition.name}, LIMIT {limit}: "
                                "planned / best", ratio,
                                2 if table_name == "items" else 1.5)
        tables.append(table)
    return tables


def plan_name(method, condition, limit, data):
    plan = " ".join(row[0] for row in run_on(
        method.db, f"EXPLAIN SELECT id FROM {method.table} WHERE "
        f"{condition.sql(0)} ORDER BY v <=> '{text_of(data.queries[0])}' "
        f"LIMIT {limit}"))
    for mark, name in (("AnnGate", "gate"), ("Sort", "sort"),
                       ("Filter", "stream"), ("Index Cond", "ann")):
        if mark in plan:
            return name
    return "other"


def bench_generic(options, data, targets):
    table = Table("Generic: a generic plan beside a custom one",
                  ["condition", "custom ms", "generic ms", "generic / custom"],
                  ["Medians of the backend's processor time."], names=1)
    db = connect(DATABASE["vector_ext"])
    pid = db.info.backend_pid
    for share in SHARES:
        times = {}
        for mode in ("force_custom_plan", "force_generic_plan"):
            run_on(db, f"SET plan_cache_mode = {mode}")
            run_on(db, "PREPARE q (vector, int) AS SELECT id FROM items WHERE "
                       "r < $2 ORDER BY v <=> $1 LIMIT 10")
            times[mode] = []
            for query in data.queries[:60]:
                sql = f"EXECUTE q ('{text_of(query)}', {int(share * RANDOM)})"
                run_on(db, sql)
                cpu = cpu_ms(pid)
                run_on(db, sql)
                times[mode].append(cpu_ms(pid) - cpu)
            run_on(db, "DEALLOCATE q")
        custom, generic = (float(np.median(t)) for t in times.values())
        table.add(f"random {share:.2%}", f"{custom:.3f}", f"{generic:.3f}",
                  digits(generic / custom))
        targets.at_most(f"random {share:.2%}: generic / custom plan",
                        generic / custom, 5)
    return [table]


def bench_range(options, data, targets):
    table = Table("Range: rows within a distance",
                  ["rows within", "recall", "p50 ms", "sequential scan ms",
                   "sequential scan / this"],
                  ["The distance is that of the query's n-th row. Recall: share "
                   "of the rows within that were returned, every one of them "
                   "right."], names=1)
    db = connect(DATABASE["vector_ext"])
    for rows in (10, 100, 400):
        fast, slow, found = [], [], []
        for i, query in enumerate(data.queries[:40]):
            radius = float(np.partition(data.distances[i], rows)[rows])
            sql = (f"SELECT id FROM items WHERE v <=> '{text_of(query)}' < "
                   f"{radius!r}")
            run_on(db, sql)
            start = time.perf_counter()
            got = run_on(db, sql)
            fast.append(1e3 * (time.perf_counter() - start))
            found.append(min(1, len(got) / rows))
            if i < 5:
                run_on(db, "SET enable_indexscan = off")
                run_on(db, "SET enable_bitmapscan = off")
                start = time.perf_counter()
                run_on(db, sql)
                slow.append(1e3 * (time.perf_counter() - start))
                run_on(db, "RESET ALL")
        ratio = float(np.median(slow) / np.median(fast))
        table.add(f"{rows} ({rows / len(data.rows):.2%})",
                  f"{np.mean(found):.4f}", f"{np.median(fast):.3f}",
                  f"{np.median(slow):.1f}", digits(ratio))
        targets.at_least(f"range, {rows} rows within: sequential scan / this",
                         ratio, 20)
        targets.at_least(f"range, {rows} rows within: recall",
                         float(np.mean(found)), 0.94)
    return [table]


# --- the plot --------------------------------------------------------------------


def draw(tables, path, title):
    """Time of each way by the share that passes; LIMIT 10, no filter column."""
    gate = next(t for t in tables if t.title.startswith("Gate"))
    points = {"ann": [], "gate": [], "sort": [], "planned": []}
    for row in gate.rows:
        condition, limit = row[0].rsplit(", ", 1)
        if limit == str(K):
            share = float(condition.split()[1].rstrip("%")) / 100
            for i, name in ((3, "planned"), (4, "ann"), (5, "gate"),
                            (6, "sort")):
                points[name].append((share, float(row[i])))
    all_ = [y for line in points.values() for _, y in line]
    x = plot.Scale(max(SHARES) * 1.3, min(SHARES) / 1.3, plot.LEFT,
                   plot.WIDTH - plot.RIGHT)
    y = plot.Scale(min(all_) / 1.3, max(all_) * 1.3,
                   plot.HEIGHT - plot.BOTTOM, plot.TOP)
    parts = plot.rates(y, "ms")
    for share in SHARES:
        parts.append(plot.text(x.at(share), plot.HEIGHT - plot.BOTTOM + 18,
                               f"{share:g}"))
    parts.append(plot.text((plot.LEFT + plot.WIDTH - plot.RIGHT) / 2,
                           plot.HEIGHT - 12, "share of the rows that pass"))
    colours = {"ann": "#c0504d", "gate": "#1f5fa8", "sort": "#9a7a1f",
               "planned": "#333333"}
    for name, line in points.items():
        places = [(x.at(a), y.at(b)) for a, b in line]
        dash = ' stroke-dasharray="5,4"' if name == "planned" else ""
        path_ = " ".join(f"{a:.1f},{b:.1f}" for a, b in places)
        parts.append(f'<polyline points="{path_}" fill="none" '
                     f'stroke="{colours[name]}" stroke-width="2"{dash}/>')
        parts.append(plot.text(places[-1][0] + 8, places[-1][1] + 4, name,
                               "start", 12, colours[name]))
    plot.write(path, f"{title}: streaming, gate, sort; LIMIT 10", parts)


def main():
    options = Options()
    if not os.path.exists(options.set.base):
        print("skipped: needs the data set debian (../shared/data/debian)")
        return
    # Beside those of the other bench.
    DATABASE.update((method, f"filters_{method}") for method in DATABASE)
    start = datetime.datetime.now(datetime.timezone.utc)
    before = run.load_average()
    run.make_databases(options)
    data = Data(options)
    load(options, data)
    targets, tables = Targets(), []
    for step in (bench_filters, bench_choice, bench_generic, bench_range):
        tables += step(options, data, targets)
    tables = [run.facts(options, start, before), targets.table, *tables]
    text = run.write(options, tables)
    write_csv(os.path.join(options.out, options.name + ".csv"), tables)
    draw(tables, os.path.join(options.out, options.name + "-gate.svg"),
         options.set.title)
    print(text)


if __name__ == "__main__":
    sys.exit(main())
