# SPDX-License-Identifier: BSD-3-Clause
# Programs that only benchmarks need go into EXTRA_PROGRAMS, or, where automake has no rule for them, into BENCH_TARGETS.
EXTRA_DIST += bench/run.sh bench/options.sh bench/compare.sh bench/compare.c
BENCH_TARGETS = bench/compare
CLEANFILES += $(BENCH_TARGETS)

.PHONY: bench-programs
bench-programs: $(BENCH_TARGETS) $(EXTRA_PROGRAMS)

bench/compare: $(srcdir)/bench/compare.c
	$(AM_V_CC)$(MKDIR_P) bench && $(EXAMPLE_CC) -o $@ $(srcdir)/bench/compare.c -lm

include bench/sched.mk
include bench/plan.mk
include bench/overlap.mk
include bench/persched.mk
