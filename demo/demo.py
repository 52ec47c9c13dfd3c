"""The demo: nearest-neighbour search over Debian's package catalogue.

    demo.py run           load, index, ask, measure
    demo.py ask QUESTION

Runs in the demo's folder, beside its server (PGHOST and so on are set).
"""
import statistics
import struct
import subprocess
import sys
import time

import catalogue
import embed

HELD_OUT = 100
K = 10
MODEL = "model.joblib"
QUESTIONS = ("show which process uses the network",
             "find duplicate files",
             "typeset a book with mathematical formulas")
TABLE = """
CREATE EXTENSION IF NOT EXISTS vector_ext;
CREATE TABLE packages (
    id integer PRIMARY KEY, name text, section text, installed_size integer,
    priority text, synopsis text, description text,
    embedding vector({dim}));
CREATE TABLE held_out (LIKE packages);
"""
NEAREST = """
SELECT name, section, embedding <=> '{vector}' AS distance, synopsis
FROM packages ORDER BY embedding <=> '{vector}' LIMIT {limit}
"""
# One prepared plan, run once for each held-out row, timed in the server.
MEASURE = """
CREATE FUNCTION pg_temp.measure(k integer)
RETURNS TABLE (id integer, ms float8, distances float8[])
LANGUAGE plpgsql AS $$
DECLARE
    q record;
    started timestamptz;
BEGIN
    FOR q IN SELECT h.id, h.embedding FROM held_out h ORDER BY h.id LOOP
        started := clock_timestamp();
        SELECT array_agg(s.d) INTO distances
        FROM (SELECT p.embedding <=> q.embedding AS d FROM packages p
              ORDER BY p.embedding <=> q.embedding LIMIT k) s;
        id := q.id;
        ms := 1000 * extract(epoch FROM clock_timestamp() - started);
        RETURN NEXT;
    END LOOP;
END $$;
SELECT id, ms, array_to_string(distances, ' ') FROM pg_temp.measure({k});
"""

PSQL = ["psql", "-X", "-q", "-v", "ON_ERROR_STOP=1"]
started = time.monotonic()


def say(text):
    print(f"{time.monotonic() - started:6.1f} s  {text}", flush=True)


def sql(script, *options):
    """Runs a script in a session of its own; returns what it prints."""
    done = subprocess.run([*PSQL, *options, "-f", "-"], input=script,
                          stdout=subprocess.PIPE, text=True)
    if done.returncode:
        raise SystemExit(f"failed: {script.strip()[:200]}")
    return done.stdout


def rows(script):
    lines = sql(script, "-A", "-t", "-F", "\t").splitlines()
    return [line.split("\t") for line in lines]


def literal(vector):
    return "[" + ",".join(f"{x:.7g}" for x in vector) + "]"


def field(data):
    return struct.pack(">i", len(data)) + data


def copy_binary(table, packages, vectors):
    """COPY in binary form: a vector is int16 dim, int16 zero, float4 each."""
    copy = subprocess.Popen(
        [*PSQL, "-c", f"COPY {table} FROM STDIN (FORMAT binary)"],
        stdin=subprocess.PIPE)
    with copy.stdin as out:
        out.write(b"PGCOPY\n\xff\r\n\0" + struct.pack(">ii", 0, 0))
        for (number, package), vector in zip(packages, vectors):
            head = struct.pack(">hh", len(vector), 0)
            out.write(struct.pack(">h", 8) + b"".join((
                field(struct.pack(">i", number)),
                field(package.name.encode()),
                field(package.section.encode()),
                field(struct.pack(">i", package.installed_size)),
                field(package.priority.encode()),
                field(package.synopsis.encode()),
                field(package.description.encode()),
                field(head + vector.astype(">f4").tobytes()))))
        out.write(struct.pack(">h", -1))
    if copy.wait():
        raise SystemExit(f"failed: COPY {table}")


def load():
    """Embeds the catalogue and loads it, every n-th row held out."""
    sql(TABLE.format(dim=embed.DIM))
    say("reading the package catalogue of apt")
    packages = list(enumerate(catalogue.read(".", say), 1))
    say(f"{len(packages):,} packages")
    model = embed.Model()
    vectors = model.fit([embed.text_of(p) for _, p in packages], say)
    model.save(MODEL)
    step = len(packages) // HELD_OUT
    held = [i for i in range(len(packages)) if i % step == step // 2][:HELD_OUT]
    kept = sorted(set(range(len(packages))) - set(held))
    say(f"loading {len(kept):,} rows with COPY (binary)")
    begin = time.monotonic()
    copy_binary("packages", [packages[i] for i in kept], vectors[kept])
    copy_binary("held_out", [packages[i] for i in held], vectors[held])
    seconds = time.monotonic() - begin
    sql("VACUUM ANALYZE packages; ANALYZE held_out;")
    return model, seconds


def measure(settings=""):
    """Median latency in ms and the distances found, by held-out row."""
    found = rows(settings + MEASURE.format(k=K))
    return (statistics.median(float(ms) for _, ms, _ in found),
            {q: [float(d) for d in ds.split()] for q, _, ds in found})


def recall(exact, found):
    """Share of rows found that are no farther than the exact k-th."""
    right = sum(d <= exact[q][-1] for q in exact for d in found[q])
    return right / sum(len(ds) for ds in exact.values())


def build(options):
    """Makes the index; returns seconds and bytes."""
    begin = time.monotonic()
    sql(f"CREATE INDEX packages_embedding ON packages "
        f"USING ann (embedding vector_cosine_ops) {options};")
    seconds = time.monotonic() - begin
    return seconds, int(rows(
        "SELECT pg_relation_size('packages_embedding')")[0][0])


def answer(model, question, limit):
    """Prints the packages nearest to a question."""
    vector = model.embed([question])[0]
    print(f"\n  {question.rstrip('?')}?")
    if not vector.any():
        print("    none of these words is in the catalogue")
        return
    for name, section, distance, synopsis in rows(
            NEAREST.format(vector=literal(vector), limit=limit)):
        print(f"    {float(distance):.3f}  {name:<24.24} {section:<12.12} "
              f"{synopsis:.60}")


def show_plan(model):
    vector = literal(model.embed([QUESTIONS[0]])[0])
    plan = sql("EXPLAIN (COSTS off) "
               + NEAREST.format(vector=vector, limit=5), "-A", "-t")
    print("\n  The plan of the first question, chosen by the planner:")
    for line in plan.replace(vector, "[...]").splitlines():
        print(f"    {line}")


def run():
    model, load_seconds = load()
    say(f"exact scan: {HELD_OUT} held-out rows, no index")
    exact_ms, exact = measure()
    table_bytes, vector_bytes = rows(
        "SELECT pg_table_size('packages'), sum(pg_column_size(embedding)) "
        "FROM packages")[0]
    report = [("exact scan", None, None, 1.0, exact_ms)]
    for name, options in (("flat", "WITH (lists = 0)"), ("IVF", "")):
        if name != "flat":
            sql("DROP INDEX packages_embedding;")
        say(f"CREATE INDEX, {name}")
        seconds, size = build(options)
        say(f"{name}: the same {HELD_OUT} rows")
        ms, found = measure()
        report.append((name, seconds, size, recall(exact, found), ms))
    say("done")

    print("\nThree questions, the 5 nearest packages of each (cosine distance)")
    for question in QUESTIONS:
        answer(model, question, 5)
    show_plan(model)

    print(f"\nLoading took {load_seconds:.1f} s: the table has "
          f"{int(table_bytes) / 1e6:.0f} MB, {int(vector_bytes) / 1e6:.0f} MB "
          f"of it vectors of {embed.DIM} dimensions")
    print(f"\n  {'':<12}{'build':>9}{'size':>11}{'recall@' + str(K):>12}"
          f"{'median latency':>17}")
    for name, seconds, size, share, ms in report:
        build_text = f"{seconds:.2f} s" if seconds else "-"
        size_text = f"{size / 1e6:.1f} MB" if size else "-"
        print(f"  {name:<12}{build_text:>9}{size_text:>11}{share:>12.3f}"
              f"{ms:>14.2f} ms")
    print(f"  ({HELD_OUT} rows that are not in the table as queries, one "
          "session, all in memory;\n   a found row counts when it is no "
          "farther than the exact tenth)")
    open("ready", "w").close()


def main():
    if sys.argv[1:] == ["run"]:
        run()
    elif len(sys.argv) == 3 and sys.argv[1] == "ask":
        answer(embed.load(MODEL), sys.argv[2], K)
    else:
        raise SystemExit(__doc__)


if __name__ == "__main__":
    main()
