# SPDX-License-Identifier: BSD-3-Clause
themisinclude_HEADERS += include/themis/lap.h
noinst_LTLIBRARIES += lap/libthemis-lap.la
lap_libthemis_lap_la_SOURCES = lap/certify.h lap/jv.h lap/lap.c lap/lap_f64.c lap/lap_i64.c lap/lap_internal.h lap/scan.h \
	lap/scan_kernels.h

check_PROGRAMS += test/lap/test_lap
test_lap_test_lap_SOURCES = test/lap/test_lap.c
test_lap_test_lap_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_lap_test_lap_LDADD = lap/libthemis-lap.la util/libthemis-util.la $(TEST_LIBS)
