# vector_ext: `make help` lists the targets.
MODULE_big = vector_ext
EXTENSION = vector_ext
DATA = sql/vector_ext--0.1.0.sql

KERNEL_OBJS = src/kernel/kernel.o src/kernel/scalar.o src/kernel/avx2.o
QUANT_OBJS = src/quant/rotate.o src/quant/encode.o src/quant/query.o \
	src/quant/kmeans.o
TYPE_OBJS = src/type/vector_io.o src/type/vector_distance.o src/type/vector_op.o \
	src/type/vector_cast.o src/type/vector_array.o src/type/vector_agg.o
PAGE_OBJS = src/page/access.o src/page/record.o src/page/alloc.o \
	src/page/build.o src/page/capacity.o
ANN_OBJS = src/ann/options.o src/ann/support.o src/ann/validate.o \
	src/ann/train.o src/ann/build.o src/ann/write.o src/ann/insert.o \
	src/ann/directory.o src/ann/probe.o src/ann/walk.o src/ann/candidates.o \
	src/ann/rerank.o src/ann/scan.o src/ann/bitmap.o src/ann/vacuum.o
PLAN_OBJS = src/plan/cost.o src/plan/limit.o
INSPECT_OBJS = src/inspect/info.o src/inspect/lists.o src/inspect/check.o
ROOT_OBJS = src/module.o src/handlers.o
OBJS = $(KERNEL_OBJS) $(QUANT_OBJS) $(TYPE_OBJS) $(PAGE_OBJS) $(ANN_OBJS) \
	$(PLAN_OBJS) $(INSPECT_OBJS) $(ROOT_OBJS)

# The serial OpenBLAS: a backend must never get a thread.  The run path keeps
# the choice whatever the system's alternatives say.
OPENBLAS_DIR ?= /usr/lib/$(shell gcc -dumpmachine)/openblas-serial
PG_CPPFLAGS = -I$(srcdir)/src
# Stored codes must not depend on fused multiply-add.
PG_CFLAGS = -ffp-contract=off -ftree-vectorize
SHLIB_LINK = -L$(OPENBLAS_DIR) -Wl,-rpath,$(OPENBLAS_DIR) -lopenblas -lm

PG_CONFIG ?= pg_config
PGXS := $(shell $(PG_CONFIG) --pgxs)
include $(PGXS)

HEADERS_ALL = $(wildcard src/*.h src/*/*.h)
$(OBJS) $(OBJS:.o=.bc): $(HEADERS_ALL)
