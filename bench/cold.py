"""Cold: the first query after a restart, with no file in the kernel's cache."""
import os
import statistics
import subprocess
import time

import search
from common import client, log, run_sql
from sets import DATABASE
from tables import Table, digits

CHUNK = 1 << 20
READ_MAX = 512 << 20


def files_of(folder):
    for place, _, names in os.walk(folder):
        for name in names:
            yield os.path.join(place, name)


def drop_cache(path):
    """Writes a file out and takes it from the kernel's cache."""
    file = os.open(path, os.O_RDONLY)
    try:
        os.fsync(file)
        os.posix_fadvise(file, 0, 0, os.POSIX_FADV_DONTNEED)
    finally:
        os.close(file)


def disk_bandwidth(folder):
    """MB/s of reading the folder's largest file in order."""
    path = max(files_of(folder), key=os.path.getsize)
    drop_cache(path)
    file = os.open(path, os.O_RDONLY)
    start, total = time.monotonic(), 0
    while total < READ_MAX:
        part = len(os.read(file, CHUNK))
        if part == 0:
            break
        total += part
    seconds = time.monotonic() - start
    os.close(file)
    return total / seconds / 1e6


class Server:
    """Stops and starts the server: by pg_ctl, or by a command of the caller."""

    def __init__(self, options):
        self.command = options.server
        self.data = run_sql("postgres", "SHOW data_directory")

    def do(self, verb):
        if self.command:
            words = [self.command, verb]
        else:
            words = ["pg_ctl", "-D", self.data, "-w", "-s", "-t", "300", verb]
            words += ["-m", "fast"] if verb == "stop" else \
                     ["-l", os.path.join(os.environ["PGHOST"], "server.log")]
        subprocess.run(words, check=True, stdout=subprocess.DEVNULL)

    def restart_cold(self):
        run_sql("postgres", "CHECKPOINT")
        self.do("stop")
        for part in ("base", "global"):
            for path in files_of(os.path.join(self.data, part)):
                drop_cache(path)
        self.do("start")


class First:
    """First queries of an index, one a restart."""

    def __init__(self, row):
        self.row, self.ms, self.bytes, self.right = row, [], [], 0
        self.over = []  # ms beyond what reading the bytes takes


def measure(options, rows):
    server = Server(options)
    firsts, bandwidths = [First(row) for row in rows], []
    oid = {extension: run_sql(database, "SELECT oid FROM pg_database "
                              "WHERE datname = current_database()")
           for extension, database in DATABASE.items()
           if extension in options.methods}
    for number in range(options.restarts):
        for first in firsts:
            index = options.set.index(first.row.method)
            server.restart_cold()
            answer = client(
                options, "first",
                [index.specification(first.row.setting, number)],
                "--query-count", number + 1, "--cpu", options.cpu)[0]
            _, ms, bytes_, right = answer
            bandwidth = disk_bandwidth(os.path.join(server.data, "base",
                                                    oid[index.extension]))
            bandwidths.append(bandwidth)
            first.ms.append(float(ms))
            first.bytes.append(float(bytes_))
            first.right += int(right)
            first.over.append(float(ms) - float(bytes_) / bandwidth / 1e3)
    return firsts, statistics.median(bandwidths)


def bench(options, targets):
    rows = list(search.typical(options))
    log("cold")
    firsts, bandwidth = measure(options, rows)
    table = Table(
        f"Cold: first query after a restart, {options.set.title}",
        ["method", "setting", "recall@10", "first ms", "read KB",
         "beyond the disk ms"],
        [f"Medians of {options.restarts} restarts, each with another query; "
         "recall is that of these answers. The files of all databases leave "
         "the kernel's cache while the server is down. Timed: PREPARE and the "
         "query, on a new connection; bytes: what all processes of the server "
         "read from disk meanwhile. Beyond the disk: time less bytes / "
         "bandwidth, which reading the largest file in order measured after "
         f"each query, {bandwidth:.0f} MB/s. What lies below this kernel may "
         "have a cache of its own."])
    for first in firsts:
        table.add(first.row.method, first.row.setting,
                  f"{first.right / (10 * options.restarts):.4f}",
                  digits(statistics.median(first.ms)),
                  digits(statistics.median(first.bytes) / 1024),
                  digits(statistics.median(first.over)))
        if first.row.method.startswith("ann"):
            targets.at_most(f"{first.row.method}: first query after a cold "
                            "start, ms beyond bytes / bandwidth",
                            statistics.median(first.over), 50)
    return [table]
