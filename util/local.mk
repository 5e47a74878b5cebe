# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += util/libthemis-util.la
util_libthemis_util_la_SOURCES = util/clock.c util/clock.h util/config.c util/config.h util/direction.h \
	util/log.c util/log.h util/memory.c util/memory.h util/ring.c util/ring.h util/status.c util/status.h
util_libthemis_util_la_LIBADD = $(INIH_LIBS) $(XXHASH_LIBS) -lm

check_PROGRAMS += test/util/test_util
test_util_test_util_SOURCES = test/util/test_util.c
test_util_test_util_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_util_test_util_LDADD = util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/util/test_ring
test_util_test_ring_SOURCES = test/util/test_ring.c
test_util_test_ring_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_util_test_ring_LDADD = util/libthemis-util.la $(TEST_LIBS)
