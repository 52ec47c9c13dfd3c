"""Growth: what ten times the rows cost at equal recall."""
import statistics

from common import client, log, run_sql
from search import Row, latency_at
from sets import ORDER
from tables import Table, digits

RECALL = 0.95
SHARE = 10
TURNS = 3
VALUES = (0.80, 0.90, 0.95, 0.98)


def make(index, rows):
    """The first rows in a table of their own, unless it is there."""
    if run_sql(index.database, "SELECT to_regclass('few')"):
        return
    run_sql(index.database,
            f"CREATE TABLE few AS SELECT id, v FROM items WHERE id < {rows}",
            "VACUUM ANALYZE few", "SET maintenance_work_mem = '2GB'",
            index.create("few"))


def of_few(specification):
    """The same for the small table, whose index has no predicate."""
    name, database, queries, settings, _, _ = specification
    return (name, database, queries, settings, f"SELECT id FROM few {ORDER}",
            "Index Scan using few_")


def measure(options, specifications, *part):
    return [Row(fields) for fields in client(
        options, "search", specifications, "--query-count", options.queries,
        "--rounds", 1, "--cpu", options.cpu, *part)]


def bench(options, targets):
    index = options.set.ours
    log("growth")
    few = options.set.rows // SHARE
    make(index, few)
    runs = {few: [], options.set.rows: []}
    specs = [index.specification(f"vector_ext.recall = {value}")
             for value in VALUES]
    for _ in range(TURNS):
        runs[few].append(measure(options, map(of_few, specs),
                                 "--count", few))
        runs[options.set.rows].append(measure(options, specs))
    table = Table(
        f"Growth: {few:,} rows and {options.set.rows:,}",
        ["index", "rows, setting", "recall@10", "p50 ms", "CPU ms"],
        [f"Medians of {TURNS} rounds, in which the tables take turns; the "
         f"same queries. The ratio of p50 is taken at recall {RECALL}, "
         "between settings as in the table of searches."])
    latency = {}
    for rows, turns in runs.items():
        for row, *others in zip(*turns):
            row.p50 = statistics.median([row.p50, *(o.p50 for o in others)])
            row.cpu = statistics.median([row.cpu, *(o.cpu for o in others)])
            table.add(row.method, f"{rows:,} rows, {row.setting}",
                      f"{row.recall:.4f}", f"{row.p50:.3f}", f"{row.cpu:.3f}")
        latency[rows] = latency_at(turns[0], RECALL)[0]
    growth = latency[options.set.rows] / latency[few]
    table.notes.append(f"Growth: {digits(growth)} times.")
    targets.at_most(f"{index.name}: p50 of {options.set.rows:,} rows / of "
                    f"{few:,}, at recall {RECALL}", growth, 4)
    return [table]
