# SPDX-License-Identifier: BSD-3-Clause
# Which servers a job gets. Pure computation.
noinst_LTLIBRARIES += dfra/libthemis-dfra.la
dfra_libthemis_dfra_la_SOURCES = dfra/anomaly.c dfra/application.c dfra/check.c dfra/check.h dfra/decide.c dfra/dfra.h \
	dfra/explain.c
dfra_libthemis_dfra_la_LIBADD = util/libthemis-util.la -lm

check_PROGRAMS += test/dfra/test_dfra
test_dfra_test_dfra_LDADD = dfra/libthemis-dfra.la $(TEST_LIBS)
