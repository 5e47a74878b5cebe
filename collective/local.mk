# SPDX-License-Identifier: BSD-3-Clause
# Two-phase and list I/O: needs MPI, but neither ROMIO nor the client.
noinst_LTLIBRARIES += collective/libthemis-collective.la
COLLECTIVE_SOURCES = collective/access.h collective/backoff.c collective/backoff.h \
	collective/call_plan.c collective/call_plan.h collective/candidates.c collective/candidates.h \
	collective/collective.c collective/collective.h collective/collective_buffer.c collective/collective_buffer.h \
	collective/consensus.c collective/consensus.h collective/consensus_record.c collective/consensus_record.h \
	collective/mode_choice.c collective/mode_choice.h collective/domain_extents.c collective/domain_extents.h \
	collective/fabric_discovery.c collective/fabric_discovery.h collective/file_ops.h collective/group.c \
	collective/group.h collective/group_cache.c collective/group_cache.h collective/info.h collective/list_io.c \
	collective/list_io.h collective/list_messages.c collective/list_messages.h collective/node_distances.c \
	collective/node_distances.h collective/node_info.c collective/node_info.h collective/operation.c \
	collective/operation.h collective/options.c collective/options.h collective/planner.c collective/planner.h \
	collective/shuffle.c \
	collective/shuffle.h collective/twophase.c collective/twophase.h
collective_libthemis_collective_la_SOURCES = $(COLLECTIVE_SOURCES)
collective_libthemis_collective_la_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS) $(XXHASH_CFLAGS)
collective_libthemis_collective_la_LIBADD = $(XXHASH_LIBS)

if OPENMPI
noinst_LTLIBRARIES += collective/libthemis-collective-ompi.la
collective_libthemis_collective_ompi_la_SOURCES = $(COLLECTIVE_SOURCES)
collective_libthemis_collective_ompi_la_CPPFLAGS = $(AM_CPPFLAGS) $(OMPI_CFLAGS) $(XXHASH_CFLAGS)
collective_libthemis_collective_ompi_la_LIBADD = $(XXHASH_LIBS)
endif

check_PROGRAMS += test/collective/collective_core
test_collective_collective_core_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_collective_collective_core_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=malloc,--wrap=calloc,--wrap=realloc,--wrap=free
test_collective_collective_core_LDADD = collective/libthemis-collective.la $(AGGREGATION_LIBS) $(MPI_LIBS)

check_PROGRAMS += test/adio/collective_mpi
test_adio_collective_mpi_CPPFLAGS = $(MPI_CFLAGS)
test_adio_collective_mpi_LDADD = $(MPI_LIBS)

check_PROGRAMS += test/adio/independent_cache test/adio/many_files
test_adio_many_files_CPPFLAGS = $(MPI_CFLAGS)
test_adio_many_files_LDADD = $(MPI_LIBS)
test_adio_independent_cache_CPPFLAGS = $(MPI_CFLAGS)
test_adio_independent_cache_LDADD = $(MPI_LIBS)

check_PROGRAMS += test/adio/order
test_adio_order_CPPFLAGS = $(MPI_CFLAGS)
test_adio_order_LDADD = $(MPI_LIBS)

# For test/topology.sh.
check_PROGRAMS += test/collective/plan_mpi
test_collective_plan_mpi_CPPFLAGS = $(AM_CPPFLAGS) $(MPI_CFLAGS)
test_collective_plan_mpi_LDADD = collective/libthemis-collective.la $(AGGREGATION_LIBS) $(MPI_LIBS)
