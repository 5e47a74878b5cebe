# SPDX-License-Identifier: BSD-3-Clause
# The collective path of the driver: needs MPI, but neither ROMIO nor a server.
noinst_LTLIBRARIES += adio/libthemis-coll.la
adio_libthemis_coll_la_SOURCES = adio/ad_themis/coll/census.c adio/ad_themis/coll/census.h adio/ad_themis/coll/coll.c adio/ad_themis/coll/coll.h adio/ad_themis/coll/config.c \
	adio/ad_themis/coll/config.h adio/ad_themis/coll/direct.c adio/ad_themis/coll/discovery.c \
	adio/ad_themis/coll/discovery.h adio/ad_themis/coll/exchange.c \
	adio/ad_themis/coll/exchange.h adio/ad_themis/coll/group.c adio/ad_themis/coll/group.h adio/ad_themis/coll/lists.c \
	adio/ad_themis/coll/lists.h adio/ad_themis/coll/measure.c adio/ad_themis/coll/measure.h adio/ad_themis/coll/model.c adio/ad_themis/coll/model.h adio/ad_themis/coll/op.h \
	adio/ad_themis/coll/plan.c adio/ad_themis/coll/plan.h adio/ad_themis/coll/pool.c adio/ad_themis/coll/pool.h \
	adio/ad_themis/coll/runs.c adio/ad_themis/coll/runs.h \
	adio/ad_themis/coll/sink.h adio/ad_themis/coll/span.h adio/ad_themis/coll/streak.c adio/ad_themis/coll/tags.h adio/ad_themis/coll/topology.c \
	adio/ad_themis/coll/topology.h adio/ad_themis/coll/twophase.c adio/ad_themis/coll/type.c \
	adio/ad_themis/coll/type.h adio/ad_themis/coll/window.c adio/ad_themis/coll/window.h
adio_libthemis_coll_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) $(XXHASH_CFLAGS)
adio_libthemis_coll_la_LIBADD = $(XXHASH_LIBS)

check_PROGRAMS += test/adio/collective_core
test_adio_collective_core_SOURCES = test/adio/collective_core.c
test_adio_collective_core_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_adio_collective_core_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc
test_adio_collective_core_LDADD = adio/libthemis-coll.la $(AGGREGATION_LIBS) $(MPI_LIBS)

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
check_PROGRAMS += test/adio/plan_mpi
test_adio_plan_mpi_SOURCES = test/adio/plan_mpi.c
test_adio_plan_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_adio_plan_mpi_LDADD = adio/libthemis-coll.la $(AGGREGATION_LIBS) $(MPI_LIBS)

check_PROGRAMS += test/adio/test_runs
test_adio_test_runs_SOURCES = test/adio/test_runs.c
test_adio_test_runs_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) $(CHECK_CFLAGS)
test_adio_test_runs_LDADD = adio/libthemis-coll.la util/libthemis-util.la $(TEST_LIBS)
