#!/usr/bin/env python3
"""Generates a large set of vectors from real sentence embeddings.

usage: generate.py DEBIAN OUT [--rows N] [--queries N] [--dims D] [--seed S]

Every row starts at a vector of DEBIAN/vectors.f16 and is moved by Gaussian
noise with the local spectrum of that set: in the basis of its principal
components, with half the variance of the difference between a vector and its
tenth neighbour, times 1.75 squared, times a log-normal factor of the row
(sigma 0.35).  A random orthonormal frame lifts the result to D dimensions; the
dimensions that the frame adds carry noise whose variance falls as 1/i.  Rows
are of unit length.  Queries come from the same process, after the rows.

Writes OUT/vectors.f32 (rows x D, little-endian), OUT/queries.f32, OUT/truth.i32
(the ten nearest rows of each query, by cosine, from 0) and OUT/difficulty.tsv,
which says how hard the set is beside the real one and its own queries: easier
than these, harder than its rows.
"""
import argparse
import os

import numpy as np

CHUNK = 20000
NEIGHBOUR = 10
SPREAD = 1.75  # of the noise, in local standard deviations
ROW_SIGMA = 0.35  # of the logarithm of a row's factor
SAMPLE = 2000  # vectors whose neighbours are looked up


def normalized(x):
    return x / np.linalg.norm(x, axis=1, keepdims=True)


def nearest(base, queries, count, skip_self):
    """The count nearest rows of base: (similarity, row) by query."""
    best = np.full((len(queries), 0), -np.inf, np.float32)
    rows = np.zeros((len(queries), 0), np.int32)
    keep = count + skip_self
    for at in range(0, len(base), CHUNK):
        dots = queries @ base[at:at + CHUNK].T
        part = np.argpartition(-dots, min(keep, dots.shape[1] - 1), axis=1)[:, :keep]
        best = np.hstack([best, np.take_along_axis(dots, part, 1)])
        rows = np.hstack([rows, (part + at).astype(np.int32)])
        order = np.argsort(-best, axis=1, kind="stable")[:, :keep]
        best = np.take_along_axis(best, order, 1)
        rows = np.take_along_axis(rows, order, 1)
    return best[:, skip_self:], rows[:, skip_self:]


def local_spectrum(base, rng):
    """Basis (columns) and standard deviations of the noise in it."""
    centred = base - base.mean(0)
    _, basis = np.linalg.eigh(centred.T @ centred / len(base))
    basis = np.ascontiguousarray(basis[:, ::-1].astype(np.float32))
    sample = rng.choice(len(base), min(SAMPLE, len(base)), replace=False)
    _, rows = nearest(base, base[sample], NEIGHBOUR, 1)
    difference = (base[sample] - base[rows[:, -1]]) @ basis
    return basis, SPREAD * np.sqrt((difference ** 2).mean(0) / 2)


class Generator:
    def __init__(self, base, dims, seed):
        self.rng = np.random.default_rng(seed)
        self.base = base
        self.basis, self.deviation = local_spectrum(base, self.rng)
        frame = np.linalg.qr(self.rng.standard_normal((dims, dims)))[0]
        real = base.shape[1]
        self.frame = frame[:real].astype(np.float32)
        self.rest = frame[real:].astype(np.float32)
        tail = (self.deviation[-16:] ** 2).mean() / np.arange(1, dims - real + 1)
        self.tail = np.sqrt(tail).astype(np.float32)

    def rows(self, count):
        rng = self.rng
        seeds = rng.integers(len(self.base), size=count)
        factor = np.exp(ROW_SIGMA * rng.standard_normal((count, 1), np.float32))
        noise = rng.standard_normal((count, len(self.deviation)), np.float32)
        noise *= factor * self.deviation.astype(np.float32)
        x = (self.base[seeds] + noise @ self.basis.T) @ self.frame
        if len(self.tail):
            extra = rng.standard_normal((count, len(self.tail)), np.float32)
            x += (extra * factor * self.tail) @ self.rest
        return normalized(x)


def difficulty(base, queries, similarities):
    """Relative contrast at 10, intrinsic dimension, cosine of the tenth."""
    distance = np.sqrt(np.maximum(2 - 2 * similarities[:, :NEIGHBOUR], 1e-12))
    some = base[:: max(1, len(base) // 5000)]
    far = np.sqrt(np.maximum(2 - 2 * queries @ some.T, 0)).mean(1)
    contrast = np.median(far / distance[:, -1])
    # Levina and Bickel's estimate, by the spread of all distances to the tenth.
    with np.errstate(divide="ignore"):
        logs = np.log(distance[:, -1:] / distance[:, :-1])
    inverse = logs.mean(1)
    dimension = 1 / np.mean(inverse[np.isfinite(inverse)])
    return contrast, dimension, np.median(similarities[:, NEIGHBOUR - 1])


def read_unit(path):
    x = np.fromfile(path, "<f2").reshape(-1, 512)
    return normalized(x.astype(np.float32))


def write_rows(generator, path, rows, dims):
    with open(path, "wb") as out:
        for at in range(0, rows, CHUNK):
            generator.rows(min(CHUNK, rows - at)).astype("<f4").tofile(out)
    return np.memmap(path, "<f4", "r", shape=(rows, dims))


def main():
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("debian")
    parser.add_argument("out")
    parser.add_argument("--rows", type=int, default=1000000)
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--dims", type=int, default=768)
    parser.add_argument("--seed", type=int, default=42)
    options = parser.parse_args()

    base = read_unit(options.debian + "/vectors.f16")
    questions = read_unit(options.debian + "/query_vectors.f16")
    os.makedirs(options.out, exist_ok=True)
    generator = Generator(base, options.dims, options.seed)
    rows = write_rows(generator, options.out + "/vectors.f32", options.rows,
                      options.dims)
    queries = generator.rows(options.queries)
    queries.astype("<f4").tofile(options.out + "/queries.f32")
    similarities, truth = nearest(rows, queries, NEIGHBOUR, 0)
    truth.astype("<i4").tofile(options.out + "/truth.i32")

    sample = base[generator.rng.choice(len(base), 1000, replace=False)]
    real, _ = nearest(base, sample, NEIGHBOUR, 1)
    asked, _ = nearest(base, questions, NEIGHBOUR, 0)
    with open(options.out + "/difficulty.tsv", "w") as out:
        out.write("set\tcontrast at 10\tintrinsic dimension\tcosine of the 10th\n")
        for name, values in (
                ("generated", difficulty(rows, queries, similarities)),
                ("debian, held-out questions",
                 difficulty(base, questions, asked)),
                ("debian, its own rows", difficulty(base, sample, real))):
            out.write(name + "".join(f"\t{v:.3f}" for v in values) + "\n")


if __name__ == "__main__":
    main()
