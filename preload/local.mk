# SPDX-License-Identifier: BSD-3-Clause
# libthemis-posix: what programs preload; it stands in front of the C library and needs nothing else.
# libthemis-posix-core: what it loads at the first path below the mount point.
lib_LTLIBRARIES += preload/libthemis-posix.la preload/libthemis-posix-core.la
preload_libthemis_posix_la_SOURCES = preload/core.h preload/description.c preload/description.h preload/kernel.h \
	preload/entry/aio_calls.c preload/entry/attribute_calls.c preload/entry/byte_calls.c preload/entry/descriptor_calls.c \
	preload/entry/descriptor_names.c preload/entry/descriptors.c preload/entry/directory_calls.c preload/entry/entry.h preload/entry/fts_calls.c preload/entry/internal_calls.c preload/entry/load.c \
	preload/entry/message_calls.c \
	preload/entry/name_calls.c preload/entry/paths.c preload/entry/process_calls.c preload/entry/real.c \
	preload/entry/real.def preload/entry/stream_calls.c preload/entry/system_calls.c preload/entry/system_calls.def \
	preload/entry/tree_calls.c preload/entry/xattr_calls.c client/path.c util/config_env.c util/log.c \
	util/mount_point.c
preload_libthemis_posix_la_CPPFLAGS = $(AM_CPPFLAGS)
preload_libthemis_posix_la_CFLAGS = $(AM_CFLAGS) -fvisibility=hidden
# Its functions call each other, though programs such as patch have functions of the same names.
preload_libthemis_posix_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version -Wl,-Bsymbolic-functions
preload_libthemis_posix_la_LIBADD = -ldl

preload_libthemis_posix_core_la_SOURCES = preload/core.h preload/core/byte_calls.c preload/core/calls.h preload/core/core.c \
	preload/core/follow.c preload/core/kernel.c preload/core/target.c preload/core/target.h preload/core/xattr_calls.c \
	preload/core/locks.c preload/core/locks.h preload/core/maps.c preload/core/maps.h preload/core/name_calls.c \
	preload/core/open_files.c preload/core/open_files.h preload/core/rights.c preload/core/rights.h preload/core/state.c preload/core/state.h preload/core/walk.c \
	preload/core/walk.h preload/description.c preload/kernel.h
preload_libthemis_posix_core_la_LDFLAGS = $(AM_LDFLAGS) -avoid-version \
	-Wl,--version-script=$(top_srcdir)/preload/libthemis-posix-core.map -Wl,-Bsymbolic-functions
preload_libthemis_posix_core_la_LIBADD = posix/libthemis-posix.la $(CLIENT_LIBS) $(JANSSON_LIBS)
EXTRA_preload_libthemis_posix_core_la_DEPENDENCIES = $(top_srcdir)/preload/libthemis-posix-core.map
EXTRA_DIST += preload/libthemis-posix-core.map

# Serve test/preload.sh.
check_PROGRAMS += test/preload/calls test/preload/errors test/preload/others test/preload/stripped test/preload/syscalls
test_preload_calls_SOURCES = test/preload/calls.c test/preload/cases.h
test_preload_errors_SOURCES = test/preload/errors.c
test_preload_others_SOURCES = test/preload/cases.h test/preload/others.c
test_preload_syscalls_SOURCES = test/preload/cases.h test/preload/syscalls.c
test_preload_stripped_SOURCES = test/preload/stripped.c
test_preload_stripped_CPPFLAGS = $(MPI_CFLAGS)
test_preload_stripped_LDADD = $(MPI_LIBS)
