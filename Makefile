# vector_ext: `make help` lists the targets.
#
# This file is read twice.  A user's make runs the rules at its end, which
# install what is missing and then call make again with VX_BUILD=1: only then
# is PGXS included, because it may not be there before.

MODULE_big = vector_ext
EXTENSION = vector_ext
DATA = sql/vector_ext--0.1.0.sql

KERNEL_OBJS = src/kernel/kernel.o src/kernel/scalar.o \
	src/kernel/scalar_planes.o src/kernel/scalar_filter.o src/kernel/avx2.o \
	src/kernel/avx2_distance.o src/kernel/avx2_code.o \
	src/kernel/avx2_planes.o src/kernel/avx2_filter.o src/kernel/avx2_encode.o
QUANT_OBJS = src/quant/rotate.o src/quant/encode.o src/quant/query.o \
	src/quant/planes.o src/quant/assign.o src/quant/kmeans.o src/quant/blas.o
TYPE_OBJS = src/type/vector_io.o src/type/vector_distance.o src/type/vector_op.o \
	src/type/vector_cast.o src/type/vector_array.o src/type/vector_agg.o src/type/vector_ball.o
PAGE_OBJS = src/page/pin.o src/page/access.o src/page/record.o src/page/alloc.o \
	src/page/build.o src/page/capacity.o
ANN_OBJS = src/ann/options.o src/ann/support.o src/ann/columns.o src/ann/filter_keys.o src/ann/filter.o src/ann/gate.o src/ann/validate.o \
	src/ann/sample.o src/ann/train.o src/ann/balance.o src/ann/rowsort.o \
	src/ann/crew.o src/ann/cluster.o src/ann/workers.o src/ann/truth.o \
	src/ann/calibrator.o src/ann/calibrate.o \
	src/ann/build.o src/ann/write.o src/ann/write_planes.o \
	src/ann/entry.o src/ann/put.o src/ann/insert.o src/ann/choose.o src/ann/birth.o \
	src/ann/directory.o src/ann/probe.o \
	src/ann/walk.o src/ann/score.o src/ann/group.o src/ann/ahead.o src/ann/candidates.o src/ann/rerank.o src/ann/drain.o \
	src/ann/scan.o src/ann/rounds.o src/ann/range.o src/ann/parallel.o src/ann/bitmap.o src/ann/last_scan.o src/ann/vacuum.o \
	src/ann/cleanup.o src/ann/sweep.o
PLAN_OBJS = src/plan/pathlist.o src/plan/match.o src/plan/range.o src/plan/order.o \
	src/plan/gate_path.o src/plan/gate_scan.o src/plan/why.o \
	src/plan/cost.o src/plan/partial.o src/plan/limit.o
INSPECT_OBJS = src/inspect/info.o src/inspect/lists.o src/inspect/check.o \
	src/inspect/check_page.o src/inspect/check_directory.o \
	src/inspect/check_list.o src/inspect/check_codes.o \
	src/inspect/check_tids.o src/inspect/check_heap.o \
	src/inspect/recall.o src/inspect/last_scan.o src/inspect/prewarm.o \
	src/inspect/estimate.o src/inspect/why.o
ROOT_OBJS = src/module.o src/handlers.o src/hints.o
OBJS = $(KERNEL_OBJS) $(QUANT_OBJS) $(TYPE_OBJS) $(PAGE_OBJS) $(ANN_OBJS) \
	$(PLAN_OBJS) $(INSPECT_OBJS) $(ROOT_OBJS)

PG_CONFIG ?= pg_config
export PG_CONFIG

# Only in the second reading: PGXS and what it takes.
ifdef VX_BUILD

# The serial OpenBLAS: a backend must never get a thread.  It is loaded by its
# path when an index is built, whatever the system's alternatives say.
MULTIARCH := $(shell gcc -dumpmachine)
OPENBLAS_DIR ?= /usr/lib/$(MULTIARCH)/openblas-serial
PG_CPPFLAGS = -I$(srcdir)/src -I/usr/include/$(MULTIARCH)/openblas-serial \
	-DVX_OPENBLAS='"$(OPENBLAS_DIR)/libopenblas.so.0"'
# Stored codes must not depend on fused multiply-add.
PG_CFLAGS = -ffp-contract=off -ftree-vectorize
SHLIB_LINK = -lm

PGXS := $(shell $(PG_CONFIG) --pgxs)
# Bitcode for the server's JIT only where its clang is installed.
CLANG_WANTED := $(shell sed -n 's/^CLANG *= *//p' $(dir $(PGXS))../Makefile.global)
ifeq ($(and $(CLANG_WANTED),$(shell command -v $(CLANG_WANTED))),)
override with_llvm = no
endif
include $(PGXS)

HEADERS_ALL = $(wildcard src/*.h src/*/*.h)
$(OBJS) $(OBJS:.o=.bc): $(HEADERS_ALL)

else

# One job a processor, unless make was given a number.
JOBS = $(if $(filter -j% --jobserver%,$(MAKEFLAGS)),,-j$(shell nproc))
BUILD = +@$(MAKE) --no-print-directory -s VX_BUILD=1 $(JOBS)
SOURCES = $(wildcard src/*.[ch] src/*/*.[ch] test/*/*.[ch] bench/*.[ch])
TESTS =

.DEFAULT_GOAL = all

-include test/unit/unit.mk bench/bench.mk

.PHONY: all install demo demo-clean ask check unit regress isolation tap lint \
	format format-check bench clean help packages-build packages-test \
	packages-demo

all: packages-build ## build the extension (what `make` alone does)
	@echo "building vector_ext for $$($(PG_CONFIG) --version)"
	$(BUILD) all

install: all ## install it into the server that PG_CONFIG names
	+@test/install.sh $(MAKE)

demo: packages-demo install ## search 60,000 package descriptions: the whole job
	@demo/demo.sh run

ask: ## ask the demo: make ask Q="play music in a terminal"
	@demo/demo.sh ask

demo-clean: ## stop the demo's server and remove the demo
	@demo/demo.sh clean

export SIMD

check: packages-test ## run all tests; the last line says N passed, N failed (SIMD=scalar: without AVX2)
	@test/check.sh $(MAKE) lint unit regress isolation tap

unit: packages-test ## plain C tests of the layers below PostgreSQL
$(UNIT_BUILD)/unit: | packages-test

regress: packages-test install ## SQL tests; TESTS="a b" runs some
	@test/suite.sh regress $(TESTS)

isolation: packages-test install ## tests of concurrent sessions; TESTS=...
	@test/suite.sh isolation $(TESTS)

tap: packages-test install ## tests of crash, replica, damage; TESTS=...
	@test/suite.sh tap $(TESTS)

lint: packages-test ## include rule, other rules, formatting
	@perl test/lint/lint.pl

format: packages-test ## lay out the C code with clang-format 14
	clang-format-14 -i $(SOURCES)

format-check: ## say what `make format` would change
	@if command -v clang-format-14 >/dev/null; then \
		clang-format-14 --dry-run -Werror $(SOURCES); \
	else echo "skipped: clang-format-14 is not installed"; fi

bench: packages-demo install ## measure speed and recall, see bench/

bench-filters: packages-demo install ## the same of conditions

clean: ## remove what was built
	rm -rf build results src/*.o src/*.bc src/*/*.o src/*/*.bc *.so

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## \(.*\)/\1\t\2/p' $(firstword $(MAKEFILE_LIST)) | \
		expand -t 14

packages-build packages-test packages-demo:
	@test/packages.sh $(@:packages-%=%) "$(PG_CONFIG)"

# One object, for those who work on it.
src/%.o: packages-build
	$(BUILD) $@

endif
