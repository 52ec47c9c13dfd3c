"""The sets of vectors, their indexes, and the settings asked of these."""
import math
import os
from dataclasses import dataclass

# The databases: both extensions define a type vector, so each has its own.
DATABASE = {"pgvector": "bench_pgvector", "vector_ext": "bench_vector_ext"}
EXTENSION = {"pgvector": "vector", "vector_ext": "vector_ext"}
ORDER = "ORDER BY v <=> $1 LIMIT 10"


@dataclass
class Index:
    """An index over items, and what makes the planner take it and no other.

    All indexes of an extension are over one table, so that they and the table
    fit in shared_buffers.  A predicate that holds for every row keeps them
    apart: only a query that repeats it can use the index, and the planner drops
    the condition, which the index implies.
    """
    name: str
    extension: str
    method: str
    options: str
    relation: str
    predicate: str = ""

    @property
    def database(self):
        return DATABASE[self.extension]

    def create(self, table="items"):
        """CREATE INDEX; over another table than items: no name, no predicate."""
        with_ = f" WITH ({self.options})" if self.options else ""
        if table != "items":
            return (f"CREATE INDEX ON {table} USING {self.method} "
                    f"(v vector_cosine_ops){with_}")
        where = self.predicate and f" WHERE {self.predicate}"
        return (f"CREATE INDEX {self.relation} ON items USING {self.method} "
                f"(v vector_cosine_ops){with_}{where}")

    def query(self):
        where = self.predicate and f"WHERE {self.predicate} "
        return f"SELECT id FROM items {where}{ORDER}"

    def specification(self, setting, queries=0):
        """A line for client search, without what serve adds to it."""
        return (f"{self.name};{setting}", self.database, queries,
                f"SET enable_seqscan = off; SET {setting}", self.query(),
                f"Index Scan using {self.relation} ")


@dataclass
class Settings:
    """Values of a setting to be asked of an index; 0 queries: all."""
    index: str
    variable: str
    values: tuple
    queries: int = 0

    def texts(self):
        return [f"{self.variable} = {value}" for value in self.values]


@dataclass
class DataSet:
    name: str
    dims: int
    rows: int
    base: str
    queries: str
    truth: str  # the ten nearest of each query, where there is a file
    indexes: list
    settings: list

    def index(self, name):
        return next(i for i in self.indexes if i.name == name)

    @property
    def title(self):
        return f"{self.rows:,} x {self.dims}"

    @property
    def ours(self):
        """The index of lists of vector_ext."""
        return next(i for i in self.indexes
                    if i.extension == "vector_ext" and not i.options)


def indexes(lists):
    """Those of both sets; lists: of ivfflat."""
    return [
        Index("hnsw", "pgvector", "hnsw", "m = 16, ef_construction = 64",
              "items_hnsw", "id <> -1"),
        Index("ivfflat", "pgvector", "ivfflat", f"lists = {lists}",
              "items_ivf", "id <> -2"),
        Index("ann flat", "vector_ext", "ann", "lists = 0", "items_flat",
              "id <> -3"),
        Index("ann IVF", "vector_ext", "ann", "", "items_ann", "id <> -4")]


def debian(folder):
    return DataSet(
        "debian", 512, 63181, folder + "/vectors.f16",
        folder + "/query_vectors.f16", "", indexes(250),
        [Settings("hnsw", "hnsw.ef_search", (40, 100, 120, 200, 400, 800)),
         Settings("ivfflat", "ivfflat.probes", (10, 20, 25, 40, 80, 120)),
         Settings("ann flat", "vector_ext.recall", (0.95,)),
         Settings("ann IVF", "vector_ext.recall",
                  (0.90, 0.95, 0.98, 0.99, 0.999)),
         Settings("ann IVF", "vector_ext.probes", (20, 40))])


def large(folder):
    """What generate.py wrote and large_load.sh loaded."""
    dims, base = 768, folder + "/vectors.f32"
    return DataSet(
        "large", dims, os.path.getsize(base) // (4 * dims), base,
        folder + "/queries.f32", folder + "/truth.i32", indexes(1000),
        [Settings("hnsw", "hnsw.ef_search", (40, 100, 200, 400, 800), 300),
         Settings("ivfflat", "ivfflat.probes", (10, 25, 60, 120), 50),
         Settings("ann flat", "vector_ext.recall", (0.95,), 50),
         Settings("ann IVF", "vector_ext.recall",
                  (0.80, 0.90, 0.95, 0.98, 0.99, 0.999), 300)])


def setting_at(rows, recall):
    """The value of a peer's setting that reaches a recall, from its rows.

    Between two values the logarithm of the value is linear in the logarithm of
    what is missing (1 - recall); beyond them, the nearest value.
    """
    points = sorted((math.log(max(1 - r.recall, 1e-5)), math.log(r.value))
                    for r in rows)
    wanted = math.log(max(1 - recall, 1e-5))
    for (low, of_low), (high, of_high) in zip(points, points[1:]):
        if low <= wanted <= high and low < high:
            at = (wanted - low) / (high - low)
            return round(math.exp(of_low + at * (of_high - of_low)))
    edge = points[0] if wanted < points[0][0] else points[-1]
    return round(math.exp(edge[1]))
