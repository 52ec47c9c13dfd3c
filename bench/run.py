#!/usr/bin/env python3
"""Runs the steps of the bench and writes their tables: see README.md."""
import datetime
import os
import platform
import re

import build
import insert
import search
from common import (DATABASE, EXTENSION, ROWS, Options, Table, digits, load,
                    log, run_sql)


class Targets:
    """What is wanted, what was measured."""

    def __init__(self):
        self.table = Table("Targets: what is wanted of vector_ext",
                           ["what", "wanted", "measured", "verdict"])

    def add(self, what, relation, value, wanted, met):
        by = value / wanted if relation == "≥" else wanted / value
        self.table.add(what, f"{relation} {wanted}",
                       f"{value:.4f}" if wanted < 1 else digits(value),
                       "met" if met else f"MISSED ({by:.2f} of it)")

    def at_least(self, what, value, wanted):
        self.add(what, "≥", value, wanted, value >= wanted)

    def at_most(self, what, value, wanted):
        self.add(what, "≤", value, wanted, value <= wanted)


def cpu_model():
    with open("/proc/cpuinfo") as cpuinfo:
        return re.search(r"model name\s*:\s*(.*)", cpuinfo.read())[1]


def memory_gb():
    with open("/proc/meminfo") as meminfo:
        return int(re.search(r"MemTotal:\s*(\d+)", meminfo.read())[1]) / 2**20


def load_average():
    return "%.2f" % os.getloadavg()[0]


def facts(options, start, load_before):
    server = run_sql("postgres", "SHOW server_version")
    settings = run_sql(
        "postgres", "SELECT string_agg(name || ' = ' || "
        "current_setting(name), ', ' ORDER BY name) FROM pg_settings WHERE name"
        " IN ('shared_buffers', 'fsync', 'jit', 'max_wal_size', 'autovacuum',"
        " 'max_parallel_maintenance_workers',"
        " 'max_parallel_workers_per_gather')")
    table = Table("Facts: machine and versions", ["what", "value"])
    table.add("date", start.strftime("%Y-%m-%d %H:%M UTC"))
    table.add("revision", options.revision)
    table.add("mode", "full" if options.full else "quick")
    table.add("PostgreSQL", server)
    for method, version in options.methods.items():
        table.add(method, version)
    table.add("settings", settings)
    table.add("CPU", f"{cpu_model()}, {os.cpu_count()} cores")
    table.add("memory", f"{memory_gb():.1f} GiB")
    table.add("kernel", platform.release())
    table.add("load average", f"{load_before} before, {load_average()} after")
    return table


def make_databases(options):
    for method, extension in EXTENSION.items():
        version = run_sql(
            "postgres", "SELECT default_version FROM pg_available_extensions "
            f"WHERE name = '{extension}'")
        if not version:
            log(f"skipped: {method} (the extension {extension} is not there)")
            continue
        options.methods[method] = version
        run_sql("postgres",
                f"DROP DATABASE IF EXISTS {DATABASE[method]}",
                f"CREATE DATABASE {DATABASE[method]}")
        run_sql(DATABASE[method], f"CREATE EXTENSION {extension}")


def write(options, tables):
    path = os.path.join(options.out, options.name)
    text = "\n".join(table.markdown() for table in tables)
    with open(path + ".md", "w") as out:
        out.write(f"# Bench: {options.name}\n\n{text}")
    with open(path + ".tsv", "w") as out:
        for table in tables:
            out.write(table.tsv() if len(table.columns) > 2 else "".join(
                f"facts\t{what}\t\t\t{value}\n" for what, value in table.rows))
    print(text)


def main():
    options = Options()
    if not os.path.exists(options.data + "/vectors.f16"):
        print("skipped: bench needs the data set debian (../shared/data/debian)")
        return
    start = datetime.datetime.now(datetime.timezone.utc)
    load_before = load_average()
    make_databases(options)
    targets = Targets()
    tables = []
    if "build" in options.steps or "search" in options.steps:
        for method in options.methods:
            load(options, method, "items", ROWS)
    if "build" in options.steps:
        tables.append(build.bench(options, targets))
    elif "search" in options.steps:
        build.only_create(options)
    if "search" in options.steps:
        tables.insert(0, search.bench(options, targets))
    if "insert" in options.steps:
        tables.append(insert.bench(options, targets))
    write(options, [facts(options, start, load_before), targets.table,
                    *tables])


if __name__ == "__main__":
    main()
