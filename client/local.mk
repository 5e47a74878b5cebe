# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += client/libthemis-client.la
client_libthemis_client_la_SOURCES = client/admin.c client/array.h client/auth.c client/auth.h client/binding.c client/binding.h client/cache.c client/call.c client/call.h \
	client/capability.c client/capability.h \
	client/convert.h client/cursor.h client/direct.c client/direct.h client/direct_copy.c client/direct_copy.h \
	client/direct_map.c client/direct_map.h client/direct_segments.c client/direct_segments.h client/direct_view.c \
	client/direct_view.h client/enlist.c client/enlist.h client/error.c client/error.h client/extent.h client/extra.c client/extra.h client/links.c client/links.h client/file.c client/file.h \
	client/io.c client/io.h client/held_locks.c client/held_locks.h client/lock.c client/lock.h client/multicall.c client/multicall.h client/namespace.c \
	client/namespace.h client/open.c client/path.c client/path.h client/peer.c client/peer.h client/peers.c \
	client/peers.h client/placement.c client/placement.h client/striping.c client/striping.h client/poller.c client/poller.h client/read_ahead.c \
	client/read_ahead.h client/rename.c client/request.c client/request.h \
	client/session.c client/session.h client/settings.c client/settings.h client/short_read.c client/short_read.h \
	client/split.c client/split.h client/write_behind.c client/write_behind.h
client_libthemis_client_la_LIBADD = $(XXHASH_LIBS)
# Convenience libraries do not contain each other, since a shared library takes all of each; this is what a user of the
# client library needs.
CLIENT_LIBS = $(INIH_ARCHIVE) client/libthemis-client.la proto/libthemis-proto.la net/libthemis-net.la util/libthemis-util.la

# What programs link; exports the functions that are marked THEMIS_API, and nothing else.
lib_LTLIBRARIES += client/libthemis.la
client_libthemis_la_SOURCES =
client_libthemis_la_LIBADD = $(CLIENT_LIBS)
client_libthemis_la_LDFLAGS = $(AM_LDFLAGS) $(INIH_LDFLAGS) -version-info 0:0:0 -no-undefined \
	-Wl,--version-script=$(top_srcdir)/client/themis.map
EXTRA_client_libthemis_la_DEPENDENCIES = $(top_srcdir)/client/themis.map
EXTRA_DIST += client/themis.map

nodist_pkgconfig_DATA += client/themis.pc
EXTRA_DIST += client/themis.pc.in

check_PROGRAMS += test/client/test_striping
test_client_test_striping_SOURCES = test/client/test_striping.c test/client/random.h
test_client_test_striping_LDADD = client/libthemis-client.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/client/test_placement
test_client_test_placement_LDADD = client/libthemis-client.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/client/test_settings
test_client_test_settings_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)

# These start server/themisd.
check_PROGRAMS += test/client/test_live
test_client_test_live_SOURCES = test/client/test_live.c test/client/random.h test/client/servers.c test/client/servers.h
test_client_test_live_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_live_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_cache
test_client_test_cache_SOURCES = test/client/test_cache.c test/client/random.h test/client/servers.c test/client/servers.h
test_client_test_cache_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_cache_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_expiry
test_client_test_expiry_SOURCES = test/client/test_expiry.c test/client/servers.c test/client/servers.h
test_client_test_expiry_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_expiry_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_fencing
test_client_test_fencing_SOURCES = test/client/test_fencing.c test/client/servers.c test/client/servers.h
test_client_test_fencing_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_fencing_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_reclaim
test_client_test_reclaim_SOURCES = test/client/test_reclaim.c test/client/servers.c test/client/servers.h
test_client_test_reclaim_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_reclaim_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_lost
test_client_test_lost_SOURCES = test/client/test_lost.c test/client/scene.c test/client/scene.h \
	test/client/servers.c test/client/servers.h
test_client_test_lost_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_lost_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_faults
test_client_test_faults_SOURCES = test/client/test_faults.c test/client/scene.c test/client/scene.h \
	test/client/servers.c test/client/servers.h
test_client_test_faults_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_faults_DEPENDENCIES = server/themisd

check_PROGRAMS += test/client/test_client_direct
test_client_test_client_direct_SOURCES = test/client/test_client_direct.c test/client/fake.c test/client/fake.h test/client/random.h \
	test/client/servers.c test/client/servers.h
test_client_test_client_direct_LDADD = $(CLIENT_LIBS) $(TEST_LIBS)
EXTRA_test_client_test_client_direct_DEPENDENCIES = server/themisd

# Serves test/intents.sh.
check_PROGRAMS += test/client/cuts
test_client_cuts_LDADD = $(CLIENT_LIBS)
test_client_cuts_LDFLAGS = $(AM_LDFLAGS) -Wl,--wrap=themis_net_send

# Serves test/nth.sh.
check_PROGRAMS += test/nth/sweep
test_nth_sweep_SOURCES = test/nth/control.h test/nth/scene.c test/nth/scene.h test/nth/sweep.c
test_nth_sweep_LDADD = $(CLIENT_LIBS)

# Serves test/many.sh.
check_PROGRAMS += test/client/many
test_client_many_LDADD = $(CLIENT_LIBS)
