# The bench: `make bench`, part of the main Makefile.
#
#	make bench                       a few minutes, fewer queries and rounds
#	make bench MODE=full RUN=epyc    what is worth keeping
#
# MODE=quick|full, RUN (name of the results), ONLY="build search ..." (steps, see
# README.md), QUERIES, ROUNDS, BUILDS, INSERTS, RESTARTS, SECONDS (numbers), CPU
# (client and backend run on it; -1: anywhere), REVISION (of what is measured),
# BENCH_PYTHON (that has faiss and hnswlib).  The results are RESULTS/RUN.md and
# .csv, the plots IMG-*.svg.

BENCH_BUILD = build/bench
BENCH_C = $(wildcard bench/*.c)
BENCH_FILES = $(BENCH_BUILD) bench
BENCH_CFLAGS = -std=gnu11 -D_GNU_SOURCE -O3 -g -Wall -Wextra \
	-Wdeclaration-after-statement -I$(shell $(PG_CONFIG) --includedir)

# The server: larger buffers than the tables, no checkpoint or vacuum halfway.
FILTERS_CONF = --conf 'fsync = on' --conf 'shared_buffers = 1GB' \
	--conf 'max_wal_size = 16GB' --conf 'checkpoint_timeout = 1h' \
	--conf 'autovacuum = off' --conf 'jit = off' \
	--conf 'max_parallel_workers_per_gather = 0' \
	--conf 'max_parallel_maintenance_workers = 0'
BENCH_CONF = $(FILTERS_CONF) --conf 'plan_cache_mode = force_generic_plan'

RUN ?= latest
MODE ?= quick
RESULTS ?= bench/results
IMG ?= $(if $(filter full,$(MODE)),docs/img/debian,$(RESULTS)/$(RUN))
REVISION ?= $(shell git describe --always --dirty 2>/dev/null)

.PHONY: bench bench-filters

bench: $(BENCH_BUILD)/client
	@mkdir -p $(RESULTS)
	@VX_KEEP=$(abspath $(RESULTS)) BENCH_MODE="$(MODE)" \
	BENCH_NAME="$(RUN)" BENCH_ONLY="$(ONLY)" BENCH_QUERIES="$(QUERIES)" \
	BENCH_ROUNDS="$(ROUNDS)" BENCH_BUILDS="$(BUILDS)" \
	BENCH_INSERTS="$(INSERTS)" BENCH_RESTARTS="$(RESTARTS)" \
	BENCH_SECONDS="$(SECONDS)" BENCH_CPU="$(CPU)" BENCH_OUT=../out \
	BENCH_CLIENT=$(BENCH_BUILD)/client BENCH_PYTHON="$(BENCH_PYTHON)" \
	BENCH_REVISION="$(REVISION)" \
	test/cluster.sh run $(BENCH_CONF) \
		$(patsubst %,--copy %,$(BENCH_FILES)) -- python3 bench/run.py
	@rm -f $(RESULTS)/server.log
	@[ ! -f $(RESULTS)/$(RUN).csv ] || \
		python3 bench/plot.py $(RESULTS)/$(RUN).csv $(IMG) "63,181 x 512"

# Conditions: bench/filters.py, which needs python3-numpy and python3-psycopg2.
bench-filters: | install
	@mkdir -p $(RESULTS)
	@VX_KEEP=$(abspath $(RESULTS)) BENCH_MODE="$(MODE)" \
	BENCH_NAME="$(or $(filter-out latest,$(RUN)),filters)" \
	BENCH_QUERIES="$(QUERIES)" BENCH_OUT=../out BENCH_REVISION="$(REVISION)" \
	test/cluster.sh run $(FILTERS_CONF) \
		--copy bench -- /usr/bin/python3 bench/filters.py
	@rm -f $(RESULTS)/server.log

# After install, which brings the compiler and libpq where they are missing.
$(BENCH_BUILD)/client: $(BENCH_C) bench/client.h | install
	@mkdir -p $(BENCH_BUILD)
	gcc $(BENCH_CFLAGS) $(BENCH_C) -L$$($(PG_CONFIG) --libdir) -lpq -lm \
		-lpthread -o $@
