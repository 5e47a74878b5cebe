# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += util/libthemis-util.la
util_libthemis_util_la_SOURCES = util/clock.c util/clock.h util/config.c util/config.h util/config_env.c util/copy.c util/copy.h util/direct.h util/direction.h util/directory.c util/directory.h util/escape.c util/escape.h \
	util/flat_type.c util/flat_type.h util/hash_ring.c util/hash_ring.h util/iov.h util/log.c util/log.h util/memory.c \
	util/memory.h util/memory_limit.c util/memory_limit.h util/min.h util/mount_point.c util/mount_point.h util/runs.c util/runs.h util/secret.c util/secret.h util/status.c util/status.h \
	util/utf8.c util/utf8.h
util_libthemis_util_la_LIBADD = $(INIH_LIBS) $(XXHASH_LIBS) -lm

check_PROGRAMS += test/util/test_util
test_util_test_util_LDADD = util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/util/test_hash_ring
test_util_test_hash_ring_LDADD = util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/util/test_runs
test_util_test_runs_LDADD = util/libthemis-util.la $(TEST_LIBS)
