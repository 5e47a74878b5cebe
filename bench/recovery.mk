# SPDX-License-Identifier: BSD-3-Clause
# Benchmark of the start of a durable arena.
EXTRA_DIST += bench/recovery.sh
EXTRA_PROGRAMS += bench/recovery
CLEANFILES += bench/recovery
bench_recovery_SOURCES = bench/recovery.c
bench_recovery_LDADD = store/libthemis-store.la util/libthemis-util.la
