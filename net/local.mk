# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += net/libthemis-net.la
net_libthemis_net_la_SOURCES = net/conn.c net/connect.c net/local/process_vm.c net/local/process_vm.h net/exposed_memory.c net/frame.h \
	net/core.h net/local/channel.c net/local/channel.h net/local/listener.c net/message.c net/net.c net/net.h net/segments.c net/event_loop.c \
	net/local/ring.c net/local/ring.h net/local/staging.c net/local/staging.h net/transfer.c net/ucx/ucx.c
net_libthemis_net_la_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS) $(XXHASH_CFLAGS)
net_libthemis_net_la_LIBADD = $(UCX_LIBS) $(XXHASH_LIBS)

check_PROGRAMS += test/net/test_net
test_net_test_net_SOURCES = test/net/test_net.c test/net/peer.c test/net/peer.h
test_net_test_net_CPPFLAGS = $(AM_CPPFLAGS) $(UCX_CFLAGS) $(CHECK_CFLAGS) $(XXHASH_CFLAGS)
test_net_test_net_LDADD = net/libthemis-net.la util/libthemis-util.la $(TEST_LIBS) $(XXHASH_LIBS)

EXTRA_DIST += test/fuzz.sh test/fuzz/frames.c test/fuzz/proto.c test/fuzz/proto.seeds test/fuzz/ring.c

EXTRA_DIST += bench/net.sh
EXTRA_PROGRAMS += bench/net
CLEANFILES += bench/net
bench_net_SOURCES = bench/net.c
bench_net_LDADD = net/libthemis-net.la util/libthemis-util.la
