# SPDX-License-Identifier: BSD-3-Clause
# Benchmarks of periodic I/O schedules.
EXTRA_DIST += bench/persched.sh bench/periodic.sh bench/dfra.sh
EXTRA_PROGRAMS += bench/persched
CLEANFILES += bench/persched
bench_persched_SOURCES = bench/persched.c test/persched/paper.h
bench_persched_LDADD = persched/libthemis-persched.la -lm
