# Unit tests and kernel bench of the layers that are free of PostgreSQL.
# Part of the main Makefile, and complete alone:
#	make -f test/unit/unit.mk unit

UNIT_CC ?= gcc
UNIT_BUILD = build/unit
OPENBLAS_DIR ?= /usr/lib/$(shell gcc -dumpmachine)/openblas-serial

UNIT_LAYERS = $(wildcard src/kernel/*.c src/quant/*.c)
UNIT_TESTS = $(filter-out test/unit/bench_%,$(wildcard test/unit/*.c))
UNIT_HEADERS = $(wildcard src/kernel/*.h src/quant/*.h test/unit/*.h)
UNIT_CFLAGS = -std=gnu11 -g -O1 -Wall -Wextra -Wdeclaration-after-statement \
	-Werror -ffp-contract=off -Isrc -Itest/unit
UNIT_SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
UNIT_LIBS = -L$(OPENBLAS_DIR) -Wl,-rpath,$(OPENBLAS_DIR) -lopenblas -lm

.PHONY: unit bench-kernels

unit: $(UNIT_BUILD)/unit
	$(UNIT_BUILD)/unit

$(UNIT_BUILD)/unit: $(UNIT_LAYERS) $(UNIT_TESTS) $(UNIT_HEADERS)
	@mkdir -p $(UNIT_BUILD)
	$(UNIT_CC) $(UNIT_CFLAGS) $(UNIT_SANITIZE) $(UNIT_LAYERS) $(UNIT_TESTS) \
		$(UNIT_LIBS) -o $@

# Timings, not a test: bench-kernels [BENCH=dot|encode|kmeans|blas]
bench-kernels: $(UNIT_BUILD)/bench_kernels
	$(UNIT_BUILD)/bench_kernels $(BENCH)

$(UNIT_BUILD)/bench_kernels: $(UNIT_LAYERS) test/unit/bench_kernels.c $(UNIT_HEADERS)
	@mkdir -p $(UNIT_BUILD)
	$(UNIT_CC) -std=gnu11 -O2 -ftree-vectorize -Wall -Wextra -ffp-contract=off \
		-Isrc $(UNIT_LAYERS) test/unit/bench_kernels.c $(UNIT_LIBS) -ldl -o $@
