# SPDX-License-Identifier: BSD-3-Clause
# The collective path of the driver: needs MPI, but neither ROMIO nor a server.
noinst_LTLIBRARIES += collective/libthemis-collective.la
collective_libthemis_collective_la_SOURCES = collective/census.c collective/census.h collective/coll.c \
	collective/coll.h collective/config.c collective/config.h collective/direct.c collective/discovery.c \
	collective/discovery.h collective/exchange.c collective/exchange.h collective/group.c collective/group.h \
	collective/lists.c collective/lists.h collective/measure.c collective/measure.h collective/model.c \
	collective/model.h collective/op.h collective/plan.c collective/plan.h collective/pool.c collective/pool.h \
	collective/sink.h collective/span.h collective/streak.c collective/tags.h collective/topology.c \
	collective/topology.h collective/twophase.c collective/window.c collective/window.h
collective_libthemis_collective_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) $(XXHASH_CFLAGS)
collective_libthemis_collective_la_LIBADD = $(XXHASH_LIBS)

check_PROGRAMS += test/collective/collective_core
test_collective_collective_core_SOURCES = test/collective/collective_core.c
test_collective_collective_core_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_collective_collective_core_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_collective_collective_core_LDADD = collective/libthemis-collective.la $(AGGREGATION_LIBS) $(MPI_LIBS)

check_PROGRAMS += test/adio/collective_mpi
test_adio_collective_mpi_SOURCES = test/adio/collective_mpi.c
test_adio_collective_mpi_CPPFLAGS = $(MPI_CFLAGS)
test_adio_collective_mpi_LDADD = $(MPI_LIBS)

check_PROGRAMS += test/adio/independent_cache
test_adio_independent_cache_SOURCES = test/adio/independent_cache.c
test_adio_independent_cache_CPPFLAGS = $(MPI_CFLAGS)
test_adio_independent_cache_LDADD = $(MPI_LIBS)

check_PROGRAMS += test/adio/order
test_adio_order_SOURCES = test/adio/order.c
test_adio_order_CPPFLAGS = $(MPI_CFLAGS)
test_adio_order_LDADD = $(MPI_LIBS)

# For test/topology.sh.
check_PROGRAMS += test/collective/plan_mpi
test_collective_plan_mpi_SOURCES = test/collective/plan_mpi.c
test_collective_plan_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_collective_plan_mpi_LDADD = collective/libthemis-collective.la $(AGGREGATION_LIBS) $(MPI_LIBS)
