#!/bin/bash
# Loads a set of generate.py into the server of PGHOST and PGPORT and makes the
# indexes that large.py asks: databases bench_pgvector and bench_vector_ext.
#
#	bench/large_load.sh DATA [ROWS]
#
# The server reads the set's files, so it must be allowed to.  hnsw takes most of
# the time: 10 to 20 minutes for 1,000,000 rows on two cores.
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
	local start=$SECONDS
	sql -d "$1" -c "SET maintenance_work_mem = '8GB'" \
		-c "ALTER TABLE items SET (parallel_workers = 1)" \
		-c "CREATE INDEX $2"
	echo "$1: ${2%% *} $((SECONDS - start)) s"
}

load bench_vector_ext vector_ext
build bench_vector_ext "items_ann ON items USING ann (v vector_cosine_ops)"
load bench_pgvector vector
build bench_pgvector "items_ivf ON items USING ivfflat (v vector_cosine_ops) WITH (lists = 1000)"
build bench_pgvector "items_hnsw ON items USING hnsw (v vector_cosine_ops) WITH (m = 16, ef_construction = 64)"
