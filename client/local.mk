# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += client/libthemis-client.la
client_libthemis_client_la_SOURCES = client/admin.c client/call.c client/call.h client/error.c client/error.h \
	client/fan.c client/fan.h client/file.c client/file.h client/io.c client/io.h client/lock.c client/names.c \
	client/names.h client/path.c client/path.h client/peer.c client/peer.h client/placement.c client/placement.h \
	client/rename.c client/runs.c client/runs.h client/session.c client/session.h client/settings.c \
	client/settings.h
client_libthemis_client_la_LIBADD = proto/libthemis-proto.la util/libthemis-util.la \
	$(XXHASH_LIBS)

pkgconfigdir = $(libdir)/pkgconfig
nodist_pkgconfig_DATA = client/themis.pc
EXTRA_DIST += client/themis.pc.in

check_PROGRAMS += test/client/test_placement
test_client_test_placement_SOURCES = test/client/test_placement.c client/path.c client/placement.c client/runs.c
test_client_test_placement_CPPFLAGS = $(AM_CPPFLAGS) $(CHECK_CFLAGS)
test_client_test_placement_LDADD = $(TEST_LIBS)
