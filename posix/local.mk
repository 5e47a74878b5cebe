# SPDX-License-Identifier: BSD-3-Clause
noinst_LTLIBRARIES += posix/libthemis-posix.la
posix_libthemis_posix_la_SOURCES = posix/attributes.c posix/attributes.h posix/claim.c posix/claim.h posix/directory.c \
	posix/directory.h posix/error.c posix/error.h posix/file.c posix/file.h posix/filesystem.c posix/filesystem.h \
	posix/hidden.c posix/hidden.h posix/links.c posix/links.h posix/locks.c posix/locks.h posix/names.c posix/names.h posix/rights.c posix/rights.h posix/space.c posix/space.h posix/tree.c posix/tree.h \
	posix/xattrs.c posix/xattrs.h
posix_libthemis_posix_la_CPPFLAGS = $(AM_CPPFLAGS) $(JANSSON_CFLAGS)
posix_libthemis_posix_la_LIBADD = $(JANSSON_LIBS)

check_PROGRAMS += test/posix/test_claim
test_posix_test_claim_LDADD = posix/libthemis-posix.la $(CLIENT_LIBS) $(JANSSON_LIBS) $(TEST_LIBS)

# Serves test/conformance.sh.
check_PROGRAMS += test/posix/conformance
