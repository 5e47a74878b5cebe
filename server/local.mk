# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += server/libthemis-server.la
server_libthemis_server_la_SOURCES = server/store.c server/store.h server/store_types.h server/arena.c \
	server/posix_store.c server/space.c server/space.h
server_libthemis_server_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
server_libthemis_server_la_LIBADD = util/libthemis-util.la

check_PROGRAMS += test/server/test_store
test_server_test_store_SOURCES = test/server/test_store.c
test_server_test_store_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_server_test_store_LDADD = server/libthemis-server.la $(TEST_LIBS)
include server/sched.mk
