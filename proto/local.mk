# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += proto/libthemis-proto.la
proto_libthemis_proto_la_SOURCES = proto/body.c proto/body.h proto/coder.c proto/coder.h proto/list.c \
	proto/list.h proto/message.c proto/proto.h proto/xattrs.c

check_PROGRAMS += test/proto/test_proto
test_proto_test_proto_LDADD = proto/libthemis-proto.la util/libthemis-util.la $(TEST_LIBS)

# For test/fuzz.sh.
check_PROGRAMS += test/fuzz/proto_seeds
test_fuzz_proto_seeds_LDADD = proto/libthemis-proto.la util/libthemis-util.la
