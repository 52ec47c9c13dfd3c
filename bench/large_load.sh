#!/bin/bash
# Loads a set of generate.py into the server of PGHOST and PGPORT and makes the
# indexes that large.py asks: databases bench_pgvector and bench_vector_ext.
#
#	bench/large_load.sh DATA [ROWS]
#
# hnsw takes most of the time: 10 to 20 minutes for 1,000,000 rows on two cores.
# Each index remembers how long it took, for large.py.
set -euo pipefail
data=$(realpath "${1:?folder that generate.py wrote}")
rows=${2:-1000000}
dims=768
here=$(dirname "$0")
sql() { psql -Xq -v ON_ERROR_STOP=1 "$@"; }

load() { # DATABASE EXTENSION
	sql -d postgres -c "DROP DATABASE IF EXISTS $1" -c "CREATE DATABASE $1"
	sql -d "$1" -c "CREATE EXTENSION $2" \
		-c "CREATE TABLE items (id int4, v vector($dims)) WITH (autovacuum_enabled = off)" \
		-c "CREATE TABLE queries (id int4, v vector($dims))"
	for set in "vectors $rows items" "queries 1000 queries"; do
		read -r file count table <<<"$set"
		/usr/bin/python3 "$here/copy_vectors.py" "$data/$file.f32" $dims "$count" |
			sql -d "$1" -c "COPY $table FROM STDIN BINARY"
	done
	sql -d "$1" -c "VACUUM ANALYZE"
}

build() { # DATABASE DEFINITION
	local start=$SECONDS seconds
	sql -d "$1" -c "SET maintenance_work_mem = '8GB'" \
		-c "SET max_parallel_maintenance_workers = 1" \
		-c "ALTER TABLE items SET (parallel_workers = 1)" \
		-c "CREATE INDEX $2"
	seconds=$((SECONDS - start))
	sql -d "$1" -c "ALTER TABLE items RESET (parallel_workers)" \
		-c "COMMENT ON INDEX ${2%% *} IS 'bench: $seconds.0 s, 8GB, 1 workers'"
	echo "$1: ${2%% *} $seconds s"
}

# Predicates that hold for every row: sets.py says what for.
load bench_vector_ext vector_ext
build bench_vector_ext "items_ann ON items USING ann (v vector_cosine_ops) WHERE id <> -4"
build bench_vector_ext "items_flat ON items USING ann (v vector_cosine_ops) WITH (lists = 0) WHERE id <> -3"
load bench_pgvector vector
build bench_pgvector "items_ivf ON items USING ivfflat (v vector_cosine_ops) WITH (lists = 1000) WHERE id <> -2"
build bench_pgvector "items_hnsw ON items USING hnsw (v vector_cosine_ops) WITH (m = 16, ef_construction = 64) WHERE id <> -1"
