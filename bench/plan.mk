# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks of collective I/O planning: assignment, file domains, plans, hop-bytes.
EXTRA_DIST += bench/domains.sh bench/hopbytes.sh bench/lap.sh bench/lap.py bench/plan.sh
EXTRA_PROGRAMS += bench/domains bench/hopbytes bench/planning
CLEANFILES += bench/domains bench/hopbytes bench/planning
bench_domains_LDADD = $(AGGREGATION_LIBS)
bench_hopbytes_SOURCES = bench/hopbytes.c test/aggregation/draw.h tools/access_pattern.c
bench_hopbytes_LDADD = $(AGGREGATION_LIBS)
bench_planning_LDADD = $(AGGREGATION_LIBS)
