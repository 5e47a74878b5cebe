# SPDX-License-Identifier: BSD-3-Clause
EXTRA_DIST += bench/overlap.sh bench/overlap.c
BENCH_TARGETS += bench/overlap

bench/overlap: $(srcdir)/bench/overlap.c
	$(AM_V_CC)$(MKDIR_P) bench && $(EXAMPLE_CC) -o $@ $(srcdir)/bench/overlap.c -lm
