# SPDX-License-Identifier: BSD-3-Clause
# What jobs did: samples, phases of I/O, records. Pure computation.
noinst_LTLIBRARIES += history/libthemis-history.la
history_libthemis_history_la_SOURCES = history/merge.c history/merge.h history/phases.c history/phases.h history/rate.c history/rate.h history/record.c history/record.h \
	history/series.c history/series.h history/series_json.c history/series_json.h
history_libthemis_history_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
history_libthemis_history_la_LIBADD = $(JANSSON_LIBS) -lm

check_PROGRAMS += test/history/test_history
test_history_test_history_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
test_history_test_history_LDADD = history/libthemis-history.la $(JANSSON_LIBS) $(TEST_LIBS)

check_PROGRAMS += test/history/test_merge
test_history_test_merge_LDADD = history/libthemis-history.la $(JANSSON_LIBS) $(TEST_LIBS)
