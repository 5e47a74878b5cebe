/* SPDX-License-Identifier: BSD-3-Clause */
/* Names, entries and rights, in memory and in a directory. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/names_rig.h"
#include "util/log.h"

TEST(a_file_gets_id_owner_and_layout)
{
    themis_proto_attr_t made, found, other;

    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0640, &made), THEMIS_OK);
    ck_assert_uint_eq(made.fresh, 1);
    ck_assert_uint_ne(made.id, 0);
    ck_assert_uint_eq(made.uid, 1000);
    ck_assert_uint_eq(made.gid, 100);
    ck_assert_uint_eq(made.mode, 0640);
    ck_assert_uint_eq(made.layout.stripe_size, 65536);
    ck_assert_uint_eq(made.layout.count, 4);
    ck_assert_uint_lt(made.layout.first, 4);
    ck_assert_int_eq(lookup("/f", &found), THEMIS_OK);
    ck_assert_uint_eq(found.id, made.id);
    ck_assert_uint_eq(found.created, made.created);
    ck_assert_int_eq(make_as(&alice, "/g", THEMIS_PROTO_FILE, 0, 0640, &other), THEMIS_OK);
    ck_assert_uint_ne(other.id, made.id);
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0600, &other), THEMIS_OK);
    ck_assert_uint_eq(other.fresh, 0);
    ck_assert_uint_eq(other.id, made.id);
    ck_assert_int_eq(lookup("/h", &found), THEMIS_NO_ENTRY);
}

TEST(creation_of_an_existing_name)
{
    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, THEMIS_PROTO_CREATE_EXCLUSIVE), THEMIS_OK);
    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, THEMIS_PROTO_CREATE_EXCLUSIVE), THEMIS_EXISTS);
    ck_assert_int_eq(make("/f", THEMIS_PROTO_DIRECTORY, 0), THEMIS_EXISTS);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_FILE, 0), THEMIS_IS_DIRECTORY);
    ck_assert_int_eq(make("/", THEMIS_PROTO_DIRECTORY, THEMIS_PROTO_CREATE_EXCLUSIVE), THEMIS_EXISTS);
}

TEST(a_requested_layout_is_limited_to_the_servers)
{
    themis_proto_create_t request = {
        .path = text("/f"),
        .attr = {.type = THEMIS_PROTO_FILE, .layout = {.stripe_size = 8192, .count = 99, .first = 6}}};
    themis_proto_attr_t attr;

    ck_assert_int_eq(create(&alice, &request, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.layout.stripe_size, 8192);
    ck_assert_uint_eq(attr.layout.count, 4);
    ck_assert_uint_eq(attr.layout.first, 2);
    request.path = text("/g");
    request.attr.layout.stripe_size = 5000;
    ck_assert_int_eq(create(&alice, &request, &attr), THEMIS_INVALID);
}

TEST(a_directory_is_removed_only_when_empty)
{
    ck_assert_int_eq(add(&alice, "/d", "x", THEMIS_PROTO_FILE), THEMIS_NO_ENTRY);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/d", "x", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_NOT_EMPTY);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_FILE), THEMIS_IS_DIRECTORY);
    ck_assert_int_eq(take("/d", "x"), THEMIS_OK);
    ck_assert_int_eq(take("/d", "x"), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/d", "y", THEMIS_PROTO_FILE), THEMIS_NO_ENTRY);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_NO_ENTRY);
    ck_assert_int_eq(remove_as(&root, "/", THEMIS_PROTO_DIRECTORY), THEMIS_BUSY);
    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/f", THEMIS_PROTO_DIRECTORY), THEMIS_NOT_DIRECTORY);
    ck_assert_int_eq(add(&alice, "/f", "y", THEMIS_PROTO_FILE), THEMIS_NOT_DIRECTORY);
}

/* Prefixes that are not path components: entries of "/dx" are not entries of "/d". */
TEST(directories_with_a_common_prefix_do_not_mix)
{
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(make("/d2", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(make("/d/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/d2", "x", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/d/d", "x", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d2", THEMIS_PROTO_DIRECTORY), THEMIS_NOT_EMPTY);
}

static uint32_t list(const char *dir, const char *after, uint32_t limit, char *all, int *more)
{
    themis_proto_readdir_t readdir = {.path = text(dir), .after = text(after), .limit = limit};
    themis_proto_entries_t entries;
    themis_proto_text_t name;
    themis_proto_type_t type;
    char buffer[65536];
    uint32_t cursor = 0;

    ck_assert_int_eq(themis_server_namespace_readdir(names, &alice, &readdir, buffer, sizeof buffer, &entries),
                     THEMIS_OK);
    *all = 0;
    while (themis_proto_entries_next(&entries, &cursor, &name, &type))
        sprintf(all + strlen(all), "%.*s%s ", (int)name.length, name.bytes, type == THEMIS_PROTO_DIRECTORY ? "/" : "");
    *more = entries.more;
    return entries.count;
}

TEST(listing_goes_in_order_and_in_parts)
{
    char all[4096];
    int more;

    ck_assert_uint_eq(list("/", "", 10, all, &more), 0);
    ck_assert_int_eq(add(&alice, "/", "b", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/", "a", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/", "ba", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/", "\xff", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_uint_eq(list("/", "", 10, all, &more), 4);
    ck_assert_str_eq(all, "a/ b ba \xff ");
    ck_assert_int_eq(more, 0);
    ck_assert_uint_eq(list("/", "", 2, all, &more), 2);
    ck_assert_str_eq(all, "a/ b ");
    ck_assert_int_eq(more, 1);
    ck_assert_uint_eq(list("/", "b", 2, all, &more), 2);
    ck_assert_str_eq(all, "ba \xff ");
    ck_assert_int_eq(more, 0);
    themis_proto_readdir_t readdir = {.path = text("/no"), .limit = 1};
    themis_proto_entries_t entries;
    ck_assert_int_eq(themis_server_namespace_readdir(names, &alice, &readdir, all, sizeof all, &entries),
                     THEMIS_NO_ENTRY);
}

TEST(bad_names_are_refused)
{
    static const char *const bad[] = {"", "f", "/f/", "//f", "/f//g", "/.", "/a/../b", "/a/./b"};
    char path[THEMIS_PROTO_MAX_PATH + 2] = "/";

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        ck_assert_msg(make(bad[i], THEMIS_PROTO_FILE, 0) == THEMIS_BAD_NAME, "%s", bad[i]);
    memset(path + 1, 'x', 255);
    ck_assert_int_eq(make(path, THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(add(&alice, "/", path + 1, THEMIS_PROTO_FILE), THEMIS_OK);
    path[256] = 'x';
    ck_assert_int_eq(make(path, THEMIS_PROTO_FILE, 0), THEMIS_NAME_TOO_LONG);
    ck_assert_int_eq(add(&alice, "/", path + 1, THEMIS_PROTO_FILE), THEMIS_NAME_TOO_LONG);
    for (int i = 0; i < THEMIS_PROTO_MAX_PATH; i++)
        path[i] = i % 200 ? 'y' : '/';
    ck_assert_int_eq(make(path, THEMIS_PROTO_FILE, 0), THEMIS_OK);
    path[THEMIS_PROTO_MAX_PATH] = 'y';
    ck_assert_int_eq(make(path, THEMIS_PROTO_FILE, 0), THEMIS_NAME_TOO_LONG);
    ck_assert_int_eq(add(&alice, "/", "a/b", THEMIS_PROTO_FILE), THEMIS_BAD_NAME);
    ck_assert_int_eq(add(&alice, "/", "..", THEMIS_PROTO_FILE), THEMIS_BAD_NAME);
}

TEST(permissions_are_those_of_the_mode)
{
    themis_proto_attr_t attr;
    themis_proto_setattr_t set = {.path = text("/d"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0777};

    ck_assert_int_eq(make_as(&alice, "/d", THEMIS_PROTO_DIRECTORY, 0, 0755, &attr), THEMIS_OK);
    ck_assert_int_eq(add(&bob, "/d", "x", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(add(&root, "/d", "x", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(set_attr(&bob, &set, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.mode, 0777);
    ck_assert_int_eq(add(&bob, "/d", "y", THEMIS_PROTO_FILE), THEMIS_OK);
    set = (themis_proto_setattr_t){.path = text("/d"), .mask = THEMIS_PROTO_SET_OWNER, .uid = 1001, .gid = 101};
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(set_attr(&root, &set, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.uid, 1001);
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    ck_assert_int_eq(remove_as(&bob, "/f", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(remove_as(&alice, "/f", THEMIS_PROTO_FILE), THEMIS_OK);
}

/* What a client says of a file of its own, with an id that it has learnt elsewhere. */
static themis_proto_create_t adoption(const themis_sched_job_identity_t *who, const char *path, uint32_t flags)
{
    return (themis_proto_create_t){.path = text(path),
                                   .flags = THEMIS_PROTO_CREATE_ADOPT | flags,
                                   .attr = {.type = THEMIS_PROTO_FILE,
                                            .id = 4711,
                                            .mode = 0644,
                                            .uid = who->uid,
                                            .gid = who->gid,
                                            .layout = {.stripe_size = 4096, .count = 1}}};
}

TEST(a_private_file_is_neither_destroyed_nor_taken)
{
    themis_proto_create_t adopt = adoption(&bob, "/secret", THEMIS_PROTO_CREATE_REPLACE);
    themis_proto_attr_t made, attr;

    ck_assert_int_eq(make_as(&root, "/secret", THEMIS_PROTO_FILE, 0, 0600, &made), THEMIS_OK);
    ck_assert_int_eq(create(&bob, &adopt, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(make_as(&bob, "/secret", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, 0);
    ck_assert_uint_eq(attr.uid, 0);
    ck_assert_int_eq(lookup_as(&bob, "/secret", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, 0);
    ck_assert_uint_eq(attr.mode, 0600);
    ck_assert_int_eq(remove_as(&bob, "/secret", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(lookup_as(&root, "/secret", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, made.id);
    adopt = adoption(&root, "/other", 0); /* bob claims that it is root's */
    ck_assert_int_eq(create(&bob, &adopt, &attr), THEMIS_ACCESS);
}

TEST(a_client_cannot_claim_an_impossible_file)
{
    themis_proto_create_t adopt = adoption(&alice, "/f", 0);
    themis_proto_attr_t attr;

    adopt.attr.type = THEMIS_PROTO_DIRECTORY;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_INVALID);
    adopt = adoption(&alice, "/f", 0);
    adopt.attr.layout.count = 5;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_INVALID);
    adopt.attr.layout = (themis_proto_layout_t){.stripe_size = 4096, .count = 1, .first = 4};
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_INVALID);
    adopt = adoption(&alice, "/f", 0);
    adopt.attr.id = 0;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_INVALID);
    adopt = adoption(&alice, "/f", 0);
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_OK);
}

/* As with SETATTR. */
TEST(a_client_cannot_claim_a_group)
{
    themis_proto_create_t adopt = adoption(&alice, "/f", THEMIS_PROTO_CREATE_REPLACE);
    themis_proto_attr_t attr;

    adopt.attr.gid = 4712;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(lookup("/f", &attr), THEMIS_NO_ENTRY);
    adopt.attr.gid = alice.gid;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_OK);
    adopt.attr.gid = 4712;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(create(&root, &adopt, &attr), THEMIS_OK);
}

/* Whether or not the client asks for the entry, as it should. */
TEST(directories_protect_their_names)
{
    themis_proto_attr_t attr;
    themis_proto_setattr_t set = {.path = text("/d"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0700};

    ck_assert_int_eq(make_as(&alice, "/d", THEMIS_PROTO_DIRECTORY, 0, 0755, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&alice, "/d/d", THEMIS_PROTO_DIRECTORY, 0, 0777, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&alice, "/d/f", THEMIS_PROTO_FILE, 0, 0666, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&bob, "/d/g", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(remove_as(&bob, "/d/f", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(make_as(&bob, "/d/d/g", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    ck_assert_int_eq(lookup_as(&bob, "/d/f", &attr), THEMIS_OK);
    ck_assert_uint_ne(attr.id, 0);
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_OK); /* nobody else goes through it */
    ck_assert_int_eq(lookup_as(&bob, "/d/f", &attr), THEMIS_ACCESS);
    ck_assert_int_eq(lookup_as(&bob, "/d/d/g", &attr), THEMIS_ACCESS);
    ck_assert_int_eq(add(&bob, "/d/d", "h", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(lookup_as(&root, "/d/d/g", &attr), THEMIS_OK);
    ck_assert_int_eq(make("/d/f/below", THEMIS_PROTO_FILE, 0), THEMIS_NOT_DIRECTORY);
}

/* Nor do errors tell those who may not pass a directory what is in it. */
TEST(directories_hide_their_names)
{
    static const char *const paths[] = {"/d/f", "/d/d", "/d/none"};
    const themis_proto_readdir_t readdir = {.path = text("/d/none"), .after = text(""), .limit = 1};
    themis_proto_entries_t entries;
    themis_proto_attr_t attr;
    char buffer[64];

    ck_assert_int_eq(make_as(&alice, "/d", THEMIS_PROTO_DIRECTORY, 0, 0700, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&alice, "/d/d", THEMIS_PROTO_DIRECTORY, 0, 0777, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&alice, "/d/f", THEMIS_PROTO_FILE, 0, 0666, &attr), THEMIS_OK);
    for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
        const themis_proto_setattr_t set = {.path = text(paths[i]), .mask = THEMIS_PROTO_SET_MODE};
        const uint32_t flags = THEMIS_PROTO_CREATE_EXCLUSIVE;
        ck_assert_int_eq(make_as(&bob, paths[i], THEMIS_PROTO_FILE, flags, 0644, &attr), THEMIS_ACCESS);
        ck_assert_int_eq(make_as(&bob, paths[i], THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_ACCESS);
        ck_assert_int_eq(remove_as(&bob, paths[i], THEMIS_PROTO_FILE), THEMIS_ACCESS);
        ck_assert_int_eq(set_attr(&bob, &set, &attr), THEMIS_ACCESS);
        ck_assert_int_eq(add(&bob, paths[i], "x", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    }
    ck_assert_int_eq(themis_server_namespace_readdir(names, &bob, &readdir, buffer, sizeof buffer, &entries),
                     THEMIS_ACCESS);
}

TEST(a_sticky_directory_keeps_the_names_of_others)
{
    themis_proto_attr_t attr;

    ck_assert_int_eq(make_as(&root, "/tmp", THEMIS_PROTO_DIRECTORY, 0, 01777, &attr), THEMIS_OK);
    ck_assert_int_eq(make_as(&alice, "/tmp/f", THEMIS_PROTO_FILE, 0, 0666, &attr), THEMIS_OK);
    ck_assert_int_eq(remove_as(&bob, "/tmp/f", THEMIS_PROTO_FILE), THEMIS_ACCESS);
    ck_assert_int_eq(remove_as(&alice, "/tmp/f", THEMIS_PROTO_FILE), THEMIS_OK);
}

/* The user database says that the user is in the group, the connection does not. */
TEST(supplementary_groups_count)
{
    const struct passwd *entry = getpwnam("daemon");
    themis_proto_setattr_t set = {.path = text("/f"), .mask = THEMIS_PROTO_SET_OWNER};
    themis_proto_attr_t attr;

    ck_assert_ptr_nonnull(entry);
    const themis_sched_job_identity_t member = {.id = "m", .uid = entry->pw_uid, .gid = 4711, .nodes = 1};
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0640, &attr), THEMIS_OK);
    ck_assert_int_eq(lookup_as(&member, "/f", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, 0);
    set.uid = alice.uid;
    set.gid = entry->pw_gid;
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_ACCESS); /* it is not her group */
    ck_assert_int_eq(set_attr(&root, &set, &attr), THEMIS_OK);
    for (int i = 0; i < 2; i++) { /* asked, and known */
        ck_assert_int_eq(lookup_as(&member, "/f", &attr), THEMIS_OK);
        ck_assert_uint_ne(attr.id, 0);
        ck_assert_int_eq(lookup_as(&bob, "/f", &attr), THEMIS_OK);
        ck_assert_uint_eq(attr.id, 0);
    }
}

static int database_down;

/* In front of that of libc, for the server too. */
int getpwuid_r(uid_t uid, struct passwd *entry, char *buffer, size_t bytes, struct passwd **found)
{
    int (*real)(uid_t, struct passwd *, char *, size_t, struct passwd **) =
        (int (*)(uid_t, struct passwd *, char *, size_t, struct passwd **))dlsym(RTLD_NEXT, "getpwuid_r");

    *found = NULL;
    return database_down ? EIO : real(uid, entry, buffer, bytes, found);
}

/* A user database that does not answer says nothing about a user's groups. */
TEST(groups_are_asked_for_again)
{
    const struct passwd *daemon = getpwnam("daemon");
    themis_proto_setattr_t set = {.path = text("/f"), .mask = THEMIS_PROTO_SET_OWNER, .uid = alice.uid};
    themis_proto_attr_t attr;

    ck_assert_ptr_nonnull(daemon);
    const themis_sched_job_identity_t member = {.id = "m", .uid = daemon->pw_uid, .gid = 4711, .nodes = 1};
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0640, &attr), THEMIS_OK);
    set.gid = daemon->pw_gid;
    ck_assert_int_eq(set_attr(&root, &set, &attr), THEMIS_OK);
    database_down = 1;
    ck_assert_int_eq(lookup_as(&member, "/f", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, 0);
    database_down = 0;
    ck_assert_int_eq(lookup_as(&member, "/f", &attr), THEMIS_OK);
    ck_assert_uint_ne(attr.id, 0);
}

TEST(renaming_keeps_all_attributes)
{
    themis_proto_attr_t from, attr;
    themis_proto_create_t adopt = {.path = text("/new"), .flags = THEMIS_PROTO_CREATE_ADOPT};

    ck_assert_int_eq(make_as(&alice, "/old", THEMIS_PROTO_FILE, 0, 0604, &from), THEMIS_OK);
    adopt.attr = from;
    ck_assert_int_eq(create(&bob, &adopt, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.fresh, 1);
    ck_assert_int_eq(lookup("/new", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, from.id);
    ck_assert_uint_eq(attr.mode, 0604);
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_EXISTS);
    ck_assert_int_eq(make_as(&alice, "/third", THEMIS_PROTO_FILE, 0, 0644, &from), THEMIS_OK);
    adopt.attr = from;
    adopt.flags |= THEMIS_PROTO_CREATE_REPLACE;
    ck_assert_int_eq(lookup("/new", &attr), THEMIS_OK);
    uint64_t replaced = attr.id;
    ck_assert_int_eq(create(&alice, &adopt, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.fresh, 0);
    ck_assert_uint_eq(attr.id, replaced);
    ck_assert_int_eq(lookup("/new", &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.id, from.id);
}

TEST(names_in_a_directory_outlive_the_process)
{
    themis_proto_attr_t before, after, next;

    test_scratch_make();
    open_names(test_scratch);
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0644, &before), THEMIS_OK);
    ck_assert_int_eq(themis_server_namespace_sync(names), THEMIS_OK);
    themis_server_namespace_destroy(names);
    open_names(test_scratch);
    ck_assert_int_eq(lookup("/f", &after), THEMIS_OK);
    ck_assert_uint_eq(after.id, before.id);
    ck_assert_int_eq(make_as(&alice, "/g", THEMIS_PROTO_FILE, 0, 0644, &next), THEMIS_OK);
    ck_assert_uint_gt(next.id, before.id);
    themis_server_namespace_destroy(names);
    test_scratch_remove();
}

/* Overwrites the first half of RocksDB's tables: blocks of data. */
static void damage_tables(void)
{
    static const char zeros[4096];
    char path[512];
    struct dirent *entry;
    struct stat stat;
    int damaged = 0;
    DIR *directory = opendir(test_scratch);

    ck_assert_ptr_nonnull(directory);
    while ((entry = readdir(directory))) {
        snprintf(path, sizeof path, "%s/%s", test_scratch, entry->d_name);
        int fd = strstr(entry->d_name, ".sst") ? open(path, O_WRONLY) : -1;
        if (fd < 0)
            continue;
        ck_assert_int_eq(fstat(fd, &stat), 0);
        for (off_t at = 0; at < stat.st_size / 2; at += (off_t)sizeof zeros)
            ck_assert_int_eq(pwrite(fd, zeros, sizeof zeros, at), sizeof zeros);
        close(fd);
        damaged++;
    }
    closedir(directory);
    ck_assert_int_gt(damaged, 0);
}

/* A directory that cannot be read is not an empty one. */
TEST(entries_that_cannot_be_read_are_an_error)
{
    enum { ENTRIES = 2000 };
    const themis_proto_readdir_t readdir = {.path = text("/d"), .after = text(""), .limit = 10};
    themis_proto_entries_t entries;
    themis_proto_attr_t attr;
    char name[64], buffer[4096];

    themis_util_log_set_level(THEMIS_LOG_ERROR);
    test_scratch_make();
    open_names(test_scratch);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    for (int i = 0; i < ENTRIES; i++) {
        snprintf(name, sizeof name, "%032d", i);
        ck_assert_int_eq(add(&alice, "/d", name, THEMIS_PROTO_FILE), THEMIS_OK);
    }
    themis_server_namespace_destroy(names);
    open_names(test_scratch); /* makes tables of the log */
    themis_server_namespace_destroy(names);
    damage_tables();
    open_names(test_scratch);
    /* the root's attributes are not in the database */
    const themis_proto_readdir_t root_readdir = {.path = text("/"), .after = text(""), .limit = 10};
    themis_status_t listed =
        themis_server_namespace_readdir(names, &alice, &root_readdir, buffer, sizeof buffer, &entries);
    ck_assert_int_eq(listed, THEMIS_CORRUPT);
    ck_assert_int_ne(themis_server_namespace_readdir(names, &alice, &readdir, buffer, sizeof buffer, &entries),
                     THEMIS_OK);
    ck_assert_int_ne(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    ck_assert_int_eq(lookup("/d", &attr), THEMIS_CORRUPT);
    themis_server_namespace_destroy(names);
    test_scratch_remove();
}

enum { ROUNDS = 500 };

static void *adder_main(void *arg)
{
    int *orphans = arg;

    for (int i = 0; i < ROUNDS; i++) {
        if (add(&alice, "/race", "x", THEMIS_PROTO_FILE) != THEMIS_OK)
            continue;
        themis_proto_attr_t attr;
        *orphans += lookup("/race", &attr) != THEMIS_OK;
        take("/race", "x");
    }
    return NULL;
}

TEST(adding_and_removing_exclude_each_other)
{
    pthread_t thread;
    int orphans = 0;

    ck_assert_int_eq(make("/race", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(pthread_create(&thread, NULL, adder_main, &orphans), 0);
    for (int i = 0; i < ROUNDS; i++) {
        remove_as(&alice, "/race", THEMIS_PROTO_DIRECTORY);
        make("/race", THEMIS_PROTO_DIRECTORY, 0);
    }
    pthread_join(thread, NULL);
    ck_assert_int_eq(orphans, 0);
}

int main(void)
{
    Suite *suite = suite_create("namespace");

    test_case(suite, "in memory", 60, set_up, tear_down,
              TESTS({a_file_gets_id_owner_and_layout, 1}, {creation_of_an_existing_name, 1},
                    {a_requested_layout_is_limited_to_the_servers, 1}, {a_directory_is_removed_only_when_empty, 1},
                    {directories_with_a_common_prefix_do_not_mix, 1}, {listing_goes_in_order_and_in_parts, 1},
                    {bad_names_are_refused, 1}, {permissions_are_those_of_the_mode, 1},
                    {a_private_file_is_neither_destroyed_nor_taken, 1}, {a_client_cannot_claim_an_impossible_file, 1},
                    {a_client_cannot_claim_a_group, 1}, {directories_protect_their_names, 1},
                    {directories_hide_their_names, 1}, {a_sticky_directory_keeps_the_names_of_others, 1},
                    {supplementary_groups_count, 1}, {groups_are_asked_for_again, 1},
                    {renaming_keeps_all_attributes, 1}, {adding_and_removing_exclude_each_other, 1}));
    test_case(suite, "in a directory", 60, NULL, NULL,
              TESTS({names_in_a_directory_outlive_the_process, 1}, {entries_that_cannot_be_read_are_an_error, 1}));
    return test_run(suite);
}
