#!/usr/bin/env python3
"""faiss and hnswlib in process, one thread: the reference of step reference.

usage: native.py LIBRARY DIMS BASE QUERIES ROWS QUERY_COUNT ROUNDS CPU

LIBRARY is faiss or hnswlib.  The first line tells the version and how it was
compiled, the others are name;setting, recall, p50 and p99 in ms, QPS.  A library
that is missing is exit status 3 and a line that says so.  Needs python3-numpy.
"""
import importlib
import os
import sys
import time

import numpy as np

K = 10
TIE = 1e-6
CHUNK = 20000


def read(path, dims, count):
    kind = "<f2" if path.endswith("f16") else "<f4"
    rows = np.memmap(path, kind, "r").reshape(-1, dims)[:count]
    rows = np.array(rows, np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def kth_similarity(base, queries):
    """Similarity of the true k-th row of each query."""
    best = np.full((len(queries), 0), -np.inf, np.float32)
    for at in range(0, len(base), CHUNK):
        best = np.hstack([best, queries @ base[at:at + CHUNK].T])
        best = -np.partition(-best, K - 1, axis=1)[:, :K]
    return best.min(1)


def faiss_settings(faiss, base, rows):
    """Yields (name, function of a query), settings as they come."""
    faiss.omp_set_num_threads(1)
    dims = base.shape[1]
    lists = 250 if rows < 200000 else 1000
    start = time.monotonic()
    coarse = faiss.index_factory(
        dims, f"IVF{lists},PQ{dims // 2}x4fs", faiss.METRIC_INNER_PRODUCT)
    coarse.train(base[np.random.default_rng(42).permutation(rows)[:100 * lists]])
    coarse.add(base)
    flat = faiss.IndexFlatIP(dims)
    flat.add(base)
    index = faiss.IndexRefine(coarse, flat)
    built = time.monotonic() - start
    for probes in (10, 20, 40, 80, 160):
        for factor in (5, 10, 20):
            coarse.nprobe, index.k_factor = probes, factor
            yield (f"faiss IVF+PQ+refine;lists {lists} (built in {built:.0f} s), "
                   f"nprobe {probes}, k_factor {factor}",
                   lambda query: index.search(query[None], K)[1][0])


def hnswlib_settings(hnswlib, base, rows):
    if rows > 200000:
        return  # its build would take longer than all others
    index = hnswlib.Index("cosine", base.shape[1])
    index.init_index(rows, M=16, ef_construction=64, random_seed=42)
    start = time.monotonic()
    index.add_items(base, num_threads=os.cpu_count())
    built = time.monotonic() - start
    index.set_num_threads(1)
    for ef in (40, 100, 200, 400, 800):
        index.set_ef(ef)
        yield (f"hnswlib;M 16, ef_construction 64 (built in {built:.0f} s), "
               f"ef {ef}", lambda query: index.knn_query(query[None], K)[0][0])


def measure(search, base, queries, kth, rounds):
    right = 0
    for query, limit in zip(queries, kth):
        ids = np.unique(search(query).astype(np.int64))
        ids = ids[ids >= 0]
        right += int((base[ids] @ query >= limit - TIE).sum())
    figures = []
    for _ in range(rounds):
        times = []
        for query in queries:
            start = time.perf_counter()
            search(query)
            times.append((time.perf_counter() - start) * 1e3)
        figures.append((np.quantile(times, 0.5), np.quantile(times, 0.99),
                        len(times) / sum(times) * 1e3))
    return (right / (K * len(queries)), *np.median(figures, axis=0))


def main():
    name, dims, base_path, query_path, rows, count, rounds, cpu = sys.argv[1:]
    try:
        library = importlib.import_module(name)
    except ImportError as error:
        print(error)
        sys.exit(3)
    base = read(base_path, int(dims), int(rows))
    queries = read(query_path, int(dims), int(count))
    kth = kth_similarity(base, queries)
    compiled = getattr(library, "get_compile_options", lambda: "")().strip()
    print(name, getattr(library, "__version__", ""), compiled, flush=True)
    settings = {"faiss": faiss_settings, "hnswlib": hnswlib_settings}[name]
    for title, search in settings(library, base, len(base)):
        if int(cpu) >= 0:
            os.sched_setaffinity(0, {int(cpu)})
        print(title, *(f"{value:.4f}" for value in measure(
            search, base, queries, kth, int(rounds))), sep="\t", flush=True)


if __name__ == "__main__":
    main()
