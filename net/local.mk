# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += net/libthemis-net.la
net_libthemis_net_la_SOURCES = net/address.c net/address.h net/conn.c net/conn.h net/connect.c net/connect.h \
	net/core.c net/core.h net/descriptor.c net/descriptor.h net/event.c net/event.h net/event_loop.c net/event_loop.h \
	net/exposed_memory.c net/exposed_memory.h net/frame.h net/local/channel.c net/local/channel.h net/local/connector.c \
	net/local/connector.h net/local/hello.c net/local/hello.h net/local/listener.c net/local/listener.h \
	net/local/local.c net/local/local.h net/local/passing.c net/local/passing.h net/local/process_vm.c net/local/process_vm.h net/local/reader.c \
	net/local/reader.h net/local/ring.c net/local/ring.h net/local/staging.c net/local/staging.h net/local/writer.c \
	net/local/writer.h net/message.c net/message.h net/net.c net/net.h net/reaper.c net/reaper.h net/segments.c \
	net/segments.h net/silent.c net/silent.h net/auth.c net/auth.h net/handshake.c net/handshake.h net/munge.c net/munge.h \
	net/tcp/connector.c net/tcp/connector.h net/tcp/listener.c net/tcp/listener.h net/tcp/record.c net/tcp/record.h \
	net/tcp/stream.c net/tcp/stream.h net/tcp/stream_read.c net/tcp/stream_write.c net/tcp/tcp.c net/tcp/tcp.h net/transfer.c net/transfer.h net/transport.h net/ucx/active_message.c net/ucx/active_message.h \
	net/ucx/endpoint.c net/ucx/endpoint.h net/ucx/log_limit.c net/ucx/log_limit.h net/ucx/ucx.c net/ucx/ucx.h
net_libthemis_net_la_CPPFLAGS = $(AM_CPPFLAGS) $(NETTLE_CFLAGS) $(UCX_CFLAGS) $(XXHASH_CFLAGS)
net_libthemis_net_la_LIBADD = $(MUNGE_LIBS) $(NETTLE_LIBS) $(UCX_LIBS) $(XXHASH_LIBS)

check_PROGRAMS += test/net/test_net test/net/test_net_auth test/net/test_net_identity
test_net_test_net_SOURCES = test/net/test_net.c test/net/peer.c test/net/peer.h
test_net_test_net_CPPFLAGS = $(AM_CPPFLAGS) $(XXHASH_CFLAGS)
test_net_test_net_LDADD = net/libthemis-net.la util/libthemis-util.la $(TEST_LIBS) $(XXHASH_LIBS)
test_net_test_net_auth_SOURCES = test/net/test_net_auth.c test/net/munged.c test/net/munged.h test/net/peer.c test/net/peer.h
test_net_test_net_auth_CPPFLAGS = $(test_net_test_net_CPPFLAGS) $(NETTLE_CFLAGS)
test_net_test_net_auth_LDADD = $(test_net_test_net_LDADD) $(MUNGE_LIBS) $(NETTLE_LIBS)
test_net_test_net_identity_SOURCES = test/net/test_net_identity.c test/net/peer.c test/net/peer.h
test_net_test_net_identity_CPPFLAGS = $(test_net_test_net_CPPFLAGS)
test_net_test_net_identity_LDADD = $(test_net_test_net_LDADD)

EXTRA_DIST += test/fuzz.sh test/fuzz/frames.c test/fuzz/handshake.c test/fuzz/proto.c test/fuzz/ring.c test/fuzz/history.c test/fuzz/history.seeds

EXTRA_DIST += bench/net.sh
EXTRA_PROGRAMS += bench/net
CLEANFILES += bench/net
bench_net_LDADD = net/libthemis-net.la util/libthemis-util.la
