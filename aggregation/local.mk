# SPDX-License-Identifier: BSD-3-Clause
themisinclude_HEADERS += include/themis/aggregation.h include/themis/topology.h
noinst_LTLIBRARIES += aggregation/libthemis-aggregation.la
aggregation_libthemis_aggregation_la_SOURCES = aggregation/aggregator_count.c aggregation/candidates.c \
	aggregation/distances.c aggregation/domains.c aggregation/domains.h aggregation/evaluation.c aggregation/fabric.c \
	aggregation/fabric.h aggregation/fabric_ib.c aggregation/fabric_text.c aggregation/fabric_text.h \
	aggregation/link_loads.c aggregation/link_loads.h aggregation/local_distances.c aggregation/matrix.c \
	aggregation/method_choice.c aggregation/methods.c aggregation/methods.h aggregation/placement.c \
	aggregation/workload.c aggregation/workload.h
aggregation_libthemis_aggregation_la_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
aggregation_libthemis_aggregation_la_LIBADD = $(HWLOC_LIBS) $(IBNETDISC_LIBS) \
	$(IBUMAD_LIBS) -lm

AGGREGATION_LIBS = aggregation/libthemis-aggregation.la lap/libthemis-lap.la util/libthemis-util.la

# What other programs link: assignment, file domains, topology and plans, without MPI.
lib_LTLIBRARIES += aggregation/libthemis-plan.la
aggregation_libthemis_plan_la_SOURCES =
aggregation_libthemis_plan_la_LIBADD = $(AGGREGATION_LIBS)
aggregation_libthemis_plan_la_LDFLAGS = $(AM_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/client/themis.map
EXTRA_aggregation_libthemis_plan_la_DEPENDENCIES = $(top_srcdir)/client/themis.map
nodist_pkgconfig_DATA += aggregation/themis-plan.pc
EXTRA_DIST += aggregation/themis-plan.pc.in

check_PROGRAMS += test/aggregation/test_domains
test_aggregation_test_domains_SOURCES = test/aggregation/test_domains.c test/aggregation/draw.h
test_aggregation_test_domains_LDADD = $(AGGREGATION_LIBS) $(TEST_LIBS)

check_PROGRAMS += test/aggregation/test_evaluation
test_aggregation_test_evaluation_SOURCES = test/aggregation/test_evaluation.c test/aggregation/draw.h
test_aggregation_test_evaluation_LDADD = $(AGGREGATION_LIBS) $(TEST_LIBS)

check_PROGRAMS += test/aggregation/test_plan
test_aggregation_test_plan_SOURCES = test/aggregation/test_plan.c test/aggregation/draw.h tools/access_pattern.c
test_aggregation_test_plan_LDADD = $(AGGREGATION_LIBS) $(TEST_LIBS)

check_PROGRAMS += test/aggregation/test_topology
test_aggregation_test_topology_CPPFLAGS = $(AM_CPPFLAGS) -DTHEMIS_TEST_SOURCE='"$(abs_top_srcdir)"'
test_aggregation_test_topology_LDADD = $(AGGREGATION_LIBS) $(TEST_LIBS)

# For test/topology.sh.
check_PROGRAMS += test/aggregation/discover
test_aggregation_discover_LDADD = $(AGGREGATION_LIBS)

EXTRA_DIST += test/aggregation/fabric.sh test/topology.sh
EXTRA_DIST += test/aggregation/data/four.xml test/aggregation/data/laptop.xml test/aggregation/data/pairs.hops \
	test/aggregation/data/plain.xml test/aggregation/data/tree2x2.cache.hex test/aggregation/data/tree2x2.net \
	test/aggregation/data/tree2x2.topo test/aggregation/data/two.xml

# For test/machines.sh.
check_PROGRAMS += test/aggregation/machines
test_aggregation_machines_CPPFLAGS = $(AM_CPPFLAGS) $(HWLOC_CFLAGS)
test_aggregation_machines_LDADD = $(AGGREGATION_LIBS) $(HWLOC_LIBS)
EXTRA_DIST += test/machines.sh
