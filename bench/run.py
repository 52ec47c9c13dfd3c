#!/usr/bin/env python3
"""Runs the steps of the bench and writes their tables: see README.md."""
import datetime
import os
import platform
import re

import build
import cold
import flat
import growth
import ingest
import insert
import reference
import search
import serve
import work
from common import Options, load, log, run_sql
from sets import DATABASE, EXTENSION
from tables import Table, Targets, write_csv

# In this order: later steps use the rows of search, ingest drops its table.
STEPS = {"build": build, "search": search, "serve": serve, "work": work,
         "flat": flat, "growth": growth, "cold": cold, "reference": reference,
         "ingest": ingest, "insert": insert}


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
    table = Table("Facts: machine and versions", ["what", "value"], names=1)
    table.add("date", start.strftime("%Y-%m-%d %H:%M UTC"))
    table.add("revision", options.revision)
    table.add("mode", "full" if options.full else "quick")
    table.add("set", f"{options.set.name}, {options.set.title}")
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


def find_databases(options):
    """The databases that are there, for a set that was loaded before."""
    for method, extension in EXTENSION.items():
        database = DATABASE[method]
        if run_sql("postgres", "SELECT 1 FROM pg_database WHERE datname = "
                   f"'{database}'"):
            options.methods[method] = run_sql(
                database, "SELECT extversion FROM pg_extension WHERE extname = "
                f"'{extension}'")


def write(options, tables):
    """Writes the files; the text."""
    path = os.path.join(options.out, options.name)
    text = "\n".join(table.markdown() for table in tables)
    with open(path + ".md", "w") as out:
        out.write(f"# Bench: {options.name}\n\n{text}")
    write_csv(path + ".csv", tables)
    return text


def run_steps(options):
    """Runs the steps asked for in the order of STEPS.

    What was found is written after each, so that a run cut short keeps it.
    """
    start = datetime.datetime.now(datetime.timezone.utc)
    load_before = load_average()
    targets, tables, text = Targets(), [], ""
    for name, step in STEPS.items():
        if name in options.steps:
            tables += step.bench(options, targets)
            text = write(options, [facts(options, start, load_before),
                                   targets.table, *tables])
    print(text)


def main():
    options = Options()
    if not os.path.exists(options.set.base):
        print("skipped: bench needs the data set debian (../shared/data/debian)")
        return
    unknown = set(options.steps) - set(STEPS)
    if unknown:
        raise SystemExit(f"unknown steps: {' '.join(sorted(unknown))}")
    make_databases(options)
    if set(options.steps) - {"ingest", "insert"}:
        for method in options.methods:
            load(options, method, "items", options.set.rows)
        if "build" not in options.steps:
            build.only_create(options)
    run_steps(options)


if __name__ == "__main__":
    main()
