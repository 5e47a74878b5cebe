# SPDX-License-Identifier: BSD-3-Clause
# Programs that only benchmarks need go into EXTRA_PROGRAMS, or, where automake has no rule for them, into BENCH_TARGETS.
EXTRA_DIST += bench/run.sh bench/options.sh bench/sides.sh bench/compare.sh bench/scaling.sh bench/cluster.sh bench/latency.sh bench/posix.sh \
	$(compare_files) bench/compare.c bench/compare.h bench/latency.c
compare_files = bench/compare_common.c bench/compare_layout.c
COMPARE_INPUTS = $(compare_files:%=$(srcdir)/%)
BENCH_TARGETS = bench/compare bench/latency
CLEANFILES += $(BENCH_TARGETS)

.PHONY: bench-programs
bench-programs: $(BENCH_TARGETS) $(EXTRA_PROGRAMS)

bench/compare: $(srcdir)/bench/compare.c $(srcdir)/bench/compare.h $(COMPARE_INPUTS)
	$(AM_V_CC)$(MKDIR_P) bench && $(EXAMPLE_CC) -o $@ $(srcdir)/bench/compare.c $(COMPARE_INPUTS)

bench/latency: $(srcdir)/bench/latency.c $(srcdir)/bench/compare.h $(COMPARE_INPUTS)
	$(AM_V_CC)$(MKDIR_P) bench && $(EXAMPLE_CC) -o $@ $(srcdir)/bench/latency.c $(COMPARE_INPUTS)

EXTRA_PROGRAMS += bench/posix
bench_posix_SOURCES = bench/posix.c

include bench/sched.mk
include bench/plan.mk
include bench/overlap.mk
include bench/persched.mk
include bench/recovery.mk
