# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks of collective I/O planning: assignment, file domains, plans, hop-bytes.
EXTRA_DIST += bench/domains.sh bench/hopbytes.sh bench/lap.sh bench/lap.py bench/plan.sh
EXTRA_PROGRAMS += bench/domains bench/hopbytes bench/plan
CLEANFILES += bench/domains bench/hopbytes bench/plan
bench_domains_SOURCES = bench/domains.c
bench_domains_LDADD = $(AGGREGATION_LIBS)
bench_hopbytes_SOURCES = bench/hopbytes.c
bench_hopbytes_LDADD = $(AGGREGATION_LIBS)
bench_plan_SOURCES = bench/plan.c
bench_plan_LDADD = $(AGGREGATION_LIBS)
