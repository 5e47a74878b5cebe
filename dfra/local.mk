# SPDX-License-Identifier: BSD-3-Clause
# Which servers a job gets. Pure computation.
noinst_LTLIBRARIES += dfra/libthemis-dfra.la
dfra_libthemis_dfra_la_SOURCES = dfra/anomaly.c dfra/application.c dfra/check.c dfra/check.h dfra/decide.c dfra/decision_json.c \
	dfra/decision_json.h dfra/dfra.h dfra/explain.c dfra/run.c dfra/run.h dfra/site.c dfra/site.h
dfra_libthemis_dfra_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
dfra_libthemis_dfra_la_LIBADD = history/libthemis-history.la util/libthemis-util.la $(JANSSON_LIBS) -lm

check_PROGRAMS += test/dfra/test_dfra
test_dfra_test_dfra_LDADD = $(INIH_ARCHIVE) dfra/libthemis-dfra.la $(JANSSON_LIBS) $(TEST_LIBS)
test_dfra_test_dfra_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS)
