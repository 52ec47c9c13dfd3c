# Unit tests and kernel bench of the layers that are free of PostgreSQL.
# Part of the main Makefile, and complete alone:
#	make -f test/unit/unit.mk unit

UNIT_CC ?= gcc
UNIT_BUILD = build/unit
# Expanded late: this very run of make may be what installs gcc.
UNIT_ARCH = $(shell gcc -dumpmachine 2>/dev/null)
OPENBLAS_DIR ?= /usr/lib/$(UNIT_ARCH)/openblas-serial

UNIT_LAYERS = $(wildcard src/kernel/*.c src/quant/*.c)
UNIT_TESTS = $(filter-out test/unit/bench_%,$(wildcard test/unit/*.c))
UNIT_BENCH = $(wildcard test/unit/bench_*.c)
UNIT_HEADERS = $(wildcard src/kernel/*.h src/quant/*.h test/unit/*.h)
UNIT_CFLAGS = -std=gnu11 -g -O1 -Wall -Wextra -Wdeclaration-after-statement \
	-Werror -ffp-contract=off -Isrc -Itest/unit $(UNIT_BLAS)
UNIT_SANITIZE = -fsanitize=address,undefined -fno-sanitize-recover=all \
	-fno-omit-frame-pointer
UNIT_BLAS = -I/usr/include/$(UNIT_ARCH)/openblas-serial \
	-DVX_OPENBLAS='"$(OPENBLAS_DIR)/libopenblas.so.0"'
UNIT_LIBS = -ldl -lm

.PHONY: unit bench-kernels

unit: $(UNIT_BUILD)/unit
	$(UNIT_BUILD)/unit

$(UNIT_BUILD)/unit: $(UNIT_LAYERS) $(UNIT_TESTS) $(UNIT_HEADERS)
	@mkdir -p $(UNIT_BUILD)
	$(UNIT_CC) $(UNIT_CFLAGS) $(UNIT_SANITIZE) $(UNIT_LAYERS) $(UNIT_TESTS) \
		$(UNIT_LIBS) -o $@

# Timings, not a test: bench-kernels [BENCH=dot|planes|encode|kmeans]
bench-kernels: $(UNIT_BUILD)/bench_kernels
	$(UNIT_BUILD)/bench_kernels $(BENCH)

$(UNIT_BUILD)/bench_kernels: $(UNIT_LAYERS) $(UNIT_BENCH) $(UNIT_HEADERS)
	@mkdir -p $(UNIT_BUILD)
	$(UNIT_CC) -std=gnu11 -O2 -ftree-vectorize -Wall -Wextra -ffp-contract=off \
		-Isrc $(UNIT_BLAS) $(UNIT_LAYERS) $(UNIT_BENCH) \
		$(UNIT_LIBS) -o $@
