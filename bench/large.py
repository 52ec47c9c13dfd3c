#!/usr/bin/env python3
"""The steps of the bench over a large set, in a server that stays.

usage: large.py DATA OUT [NAME]

DATA holds what generate.py wrote.  The server is the one of PGHOST and PGPORT,
with the databases and indexes that large_load.sh made.  Writes OUT/NAME.md and
.csv.  The environment is that of bench.mk, and

BENCH_REBUILD  indexes that the step build makes anew, "ann IVF,ann flat" unless
               told; of the others it says what they remember
BENCH_SERVER   command that stops and starts the server (its argument), for the
               step cold; without it pg_ctl is asked
"""
import os
import sys

import run
import sets
from common import Options

STEPS = "build search serve work flat growth cold reference"


def main():
    data, out = sys.argv[1:3]
    os.environ.setdefault("BENCH_MODE", "full")
    options = Options()
    options.set = sets.large(data)
    options.queries = int(os.environ.get("BENCH_QUERIES") or 300)
    options.rounds = int(os.environ.get("BENCH_ROUNDS") or 3)
    options.steps = (os.environ.get("BENCH_ONLY") or STEPS).split()
    options.rebuild = (os.environ.get("BENCH_REBUILD") or
                       "ann IVF,ann flat").split(",")
    options.out = out
    options.name = sys.argv[3] if len(sys.argv) > 3 else "large"
    run.find_databases(options)
    run.run_steps(options)


if __name__ == "__main__":
    main()
