#!/usr/bin/env python3
"""Writes the rows of a float32 file for COPY ... BINARY of (id int4, v vector).

usage: copy_vectors.py FILE DIMS ROWS >OUT

Ids count from 0.  A vector is int16 dimensions, int16 zero, big-endian float4.
"""
import struct
import sys

import numpy as np

CHUNK = 10000


def main():
    path, dims, rows = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    vectors = np.memmap(path, "<f4", "r").reshape(-1, dims)[:rows]
    record = np.dtype([("columns", ">i2"), ("id_bytes", ">i4"), ("id", ">i4"),
                       ("bytes", ">i4"), ("dims", ">i2"), ("zero", ">i2"),
                       ("v", ">f4", dims)])
    out = sys.stdout.buffer
    out.write(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
    for at in range(0, len(vectors), CHUNK):
        chunk = vectors[at:at + CHUNK]
        lines = np.zeros(len(chunk), record)
        lines["columns"], lines["id_bytes"] = 2, 4
        lines["id"] = np.arange(at, at + len(chunk))
        lines["bytes"], lines["dims"] = 4 + 4 * dims, dims
        lines["v"] = chunk
        out.write(lines.tobytes())
    out.write(struct.pack(">h", -1))


if __name__ == "__main__":
    main()
