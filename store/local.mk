# SPDX-License-Identifier: BSD-3-Clause
# Where bytes are: in a region of memory, a mapped file or the files of a directory (arena), or in a directory of a mounted file system (posix).
noinst_LTLIBRARIES += store/libthemis-store.la
store_libthemis_store_la_SOURCES = store/arena.c store/arena.h store/arena_direct.c store/arena_direct.h \
	store/arena_durable.c store/arena_durable.h store/arena_entries.c store/arena_entries.h store/arena_keeper.c \
	store/arena_keeper.h store/arena_recovery.c store/arena_recovery.h store/entry.c store/entry.h store/log.c store/log.h \
	store/log_file.c store/log_file.h store/log_open.c store/log_state.h store/space_durable.c store/space_durable.h \
	store/space_state.h store/arena_extents.c store/arena_extents.h store/arena_object.c store/arena_object.h store/arena_shadow.c \
	store/arena_shadow.h store/exclusive_use.c \
	store/exclusive_use.h store/identity.c store/identity.h store/list.c store/list.h store/posix.c store/posix.h store/space.c store/space.h store/space_file.c store/space_file.h \
	store/space_memory.c store/space_memory.h store/store.c store/store.h

check_PROGRAMS += test/store/test_store
test_store_test_store_SOURCES = test/store/test_store.c test/store/objects.c test/store/objects.h
test_store_test_store_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_direct
test_store_test_store_direct_SOURCES = test/store/test_store_direct.c test/store/grants.c test/store/grants.h \
	test/store/objects.c test/store/objects.h
test_store_test_store_direct_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_pages
test_store_test_store_pages_SOURCES = test/store/test_store_pages.c test/store/grants.c test/store/grants.h \
	test/store/objects.c test/store/objects.h
test_store_test_store_pages_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_direct_many
test_store_test_store_direct_many_SOURCES = test/store/test_store_direct_many.c test/store/grants.c \
	test/store/grants.h test/store/objects.c test/store/objects.h
test_store_test_store_direct_many_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_shadow
test_store_test_store_shadow_SOURCES = test/store/test_store_shadow.c test/store/grants.c \
	test/store/grants.h test/store/objects.c test/store/objects.h
test_store_test_store_shadow_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_durable
test_store_test_store_durable_SOURCES = test/store/test_store_durable.c test/store/durable.c test/store/durable.h \
	test/store/grants.c test/store/grants.h test/store/objects.c test/store/objects.h
test_store_test_store_durable_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)

check_PROGRAMS += test/store/test_store_power
test_store_test_store_power_SOURCES = test/store/test_store_power.c test/store/durable.c test/store/durable.h \
	test/store/grants.c test/store/grants.h test/store/objects.c test/store/objects.h
test_store_test_store_power_LDADD = store/libthemis-store.la util/libthemis-util.la $(TEST_LIBS)
