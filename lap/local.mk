# SPDX-License-Identifier: BSD-3-Clause
themisinclude_HEADERS += include/themis/lap.h
noinst_LTLIBRARIES += lap/libthemis-lap.la
lap_libthemis_lap_la_SOURCES = lap/certificate.c lap/jonker_volgenant.c lap/jonker_volgenant.h lap/scan.c lap/scan.h \
	lap/scan_kernels.h

check_PROGRAMS += test/lap/test_lap
test_lap_test_lap_LDADD = lap/libthemis-lap.la util/libthemis-util.la $(TEST_LIBS)

# The same tests on the narrower vectors, which a newer processor would not choose.
check_PROGRAMS += test/lap/test_lap_plain test/lap/test_lap_avx2
test_lap_test_lap_plain_SOURCES = test/lap/test_lap.c $(lap_libthemis_lap_la_SOURCES)
test_lap_test_lap_plain_CPPFLAGS = $(AM_CPPFLAGS) -DTHEMIS_LAP_PLAIN
test_lap_test_lap_plain_LDADD = util/libthemis-util.la $(TEST_LIBS)
test_lap_test_lap_avx2_SOURCES = test/lap/test_lap.c $(lap_libthemis_lap_la_SOURCES)
test_lap_test_lap_avx2_CPPFLAGS = $(AM_CPPFLAGS) -DTHEMIS_LAP_AVX2
test_lap_test_lap_avx2_LDADD = util/libthemis-util.la $(TEST_LIBS)
