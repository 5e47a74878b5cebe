/* SPDX-License-Identifier: BSD-3-Clause */
/* The wire format: what is encoded comes back, and whatever else arrives is refused. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "proto/proto.h"
#include "test/lib/run.h"

#define TEXT(literal)                                                                                                  \
    {                                                                                                                  \
        literal, sizeof literal - 1                                                                                    \
    }

static uint8_t buffer[THEMIS_PROTO_MAX_MESSAGE];

/* The header takes part in nothing but its kind, opcode and status here. */
static themis_proto_header_t request(unsigned opcode)
{
    return (themis_proto_header_t){.kind = THEMIS_PROTO_REQUEST, .opcode = (uint16_t)opcode, .id = 77};
}

static themis_proto_header_t reply(unsigned opcode)
{
    return (themis_proto_header_t){.kind = THEMIS_PROTO_REPLY, .opcode = (uint16_t)opcode, .id = 77};
}

static size_t encode(themis_proto_header_t header, const void *body)
{
    size_t length = 0;

    ck_assert_int_eq(themis_proto_encode(&header, body, buffer, sizeof buffer, &length), THEMIS_OK);
    return length;
}

static void refuse(themis_proto_header_t header, const void *body)
{
    size_t length = 12345;

    ck_assert_int_eq(themis_proto_encode(&header, body, buffer, sizeof buffer, &length), THEMIS_RANGE);
    ck_assert_uint_eq(length, 12345);
}

static themis_proto_body_t decode(size_t length)
{
    themis_proto_header_t header;
    themis_proto_body_t body;

    ck_assert_int_eq(themis_proto_decode(buffer, length, &header, &body), THEMIS_OK);
    ck_assert_uint_eq(header.id, 77);
    return body;
}

static int text_is(themis_proto_text_t text, const char *expected)
{
    return text.length == strlen(expected) && memcmp(text.bytes, expected, text.length) == 0;
}

/* Every prefix of a message is refused, and so is a message with bytes after it. */
static void assert_only_whole(size_t length)
{
    themis_proto_header_t header;
    themis_proto_body_t body;
    uint8_t *exact;

    for (size_t cut = 0; cut < length; cut++) {
        exact = malloc(cut + 1); /* of the exact size, for the address sanitizer */
        ck_assert_ptr_nonnull(exact);
        memcpy(exact, buffer, cut);
        ck_assert_int_eq(themis_proto_decode(exact, cut, &header, &body), THEMIS_PROTOCOL);
        if (cut >= THEMIS_PROTO_HEADER_BYTES) { /* the header agrees, the body is short */
            uint32_t shorter = (uint32_t)(cut - THEMIS_PROTO_HEADER_BYTES);
            memcpy(exact + 12, &shorter, sizeof shorter);
            themis_status_t status = themis_proto_decode(exact, cut, &header, &body);
            ck_assert(status == THEMIS_PROTOCOL || header.status < 0 || header.opcode == THEMIS_OP_STATUS ||
                      header.opcode == THEMIS_OP_POLICY);
        }
        free(exact);
    }
    buffer[length] = 0;
    ck_assert_int_eq(themis_proto_decode(buffer, length + 1, &header, &body), THEMIS_PROTOCOL);
}

static const themis_proto_layout_t layout = {65536, 2, 1};

TEST(hello_and_welcome)
{
    themis_proto_hello_t hello = {.session = 9,
                                  .job = TEXT("slurm.17"),
                                  .uid = 1000,
                                  .gid = 100,
                                  .nodes = 4,
                                  .priority = 1,
                                  .host = TEXT("node1"),
                                  .pid = 4711,
                                  .policy = TEXT(""),
                                  .role = 2,
                                  .application = TEXT("Str\xc3\xb6mung"),
                                  .project = TEXT("p1")};
    size_t length = encode(request(THEMIS_OP_HELLO), &hello);
    themis_proto_hello_t seen = decode(length).hello;

    ck_assert_uint_eq(seen.session, 9);
    ck_assert(text_is(seen.job, "slurm.17") && text_is(seen.host, "node1") && text_is(seen.policy, ""));
    ck_assert_uint_eq(seen.uid, 1000);
    ck_assert_uint_eq(seen.gid, 100);
    ck_assert_uint_eq(seen.nodes, 4);
    ck_assert_uint_eq(seen.priority, 1);
    ck_assert_uint_eq(seen.pid, 4711);
    ck_assert_uint_eq(seen.role, 2);
    ck_assert(text_is(seen.application, "Str\xc3\xb6mung") && text_is(seen.project, "p1"));
    assert_only_whole(length);
    hello.nodes = 0;
    refuse(request(THEMIS_OP_HELLO), &hello);
    hello.nodes = 1;
    static const char *const none[] = {"\xff", "\xc3", "\xc0\x80", "\xed\xa0\x80", "\xf4\x90\x80\x80", "a\nb"};
    for (size_t i = 0; i < sizeof none / sizeof *none; i++) {
        hello.application = (themis_proto_text_t){none[i], (uint32_t)strlen(none[i])};
        refuse(request(THEMIS_OP_HELLO), &hello);
    }
    hello.application = (themis_proto_text_t)TEXT("a");
    hello.job = (themis_proto_text_t)TEXT("a\033[2Jb");
    refuse(request(THEMIS_OP_HELLO), &hello);

    themis_proto_welcome_t welcome = {.incarnation = 5,
                                      .index = 1,
                                      .servers = 2,
                                      .heartbeat = 1000,
                                      .layout = layout,
                                      .name = TEXT("s1"),
                                      .policy = TEXT("job-fair"),
                                      .policy_granted = 1,
                                      .fault = TEXT("character 5"),
                                      .store = "0123456789abcde",
                                      .boot = "edcba9876543210"};
    length = encode(reply(THEMIS_OP_HELLO), &welcome);
    themis_proto_welcome_t got = decode(length).welcome;
    ck_assert_uint_eq(got.incarnation, 5);
    ck_assert_uint_eq(got.index, 1);
    ck_assert_uint_eq(got.layout.stripe_size, 65536);
    ck_assert(text_is(got.name, "s1") && text_is(got.policy, "job-fair") && got.policy_granted == 1);
    ck_assert(text_is(got.fault, "character 5"));
    ck_assert(memcmp(got.store, welcome.store, sizeof got.store) == 0);
    ck_assert(memcmp(got.boot, welcome.boot, sizeof got.boot) == 0);
    assert_only_whole(length);
    welcome.index = 2;
    refuse(reply(THEMIS_OP_HELLO), &welcome);
}

/* What requests and replies may say of their object, and nothing else. */
TEST(flags)
{
    themis_proto_object_t object = {.object = 3};
    themis_proto_header_t header = request(THEMIS_OP_SYNC), seen;
    themis_proto_body_t body;

    header.flags = THEMIS_PROTO_FLAG_EXISTS;
    size_t length = encode(header, &object);
    ck_assert_int_eq(themis_proto_decode(buffer, length, &seen, &body), THEMIS_OK);
    ck_assert_uint_eq(seen.flags, THEMIS_PROTO_FLAG_EXISTS);
    buffer[8] = 4;
    ck_assert_int_eq(themis_proto_decode(buffer, length, &seen, &body), THEMIS_PROTOCOL);
    header.flags = 4;
    refuse(header, &object);
    header.flags = THEMIS_PROTO_FLAG_EXISTS | THEMIS_PROTO_FLAG_LISTED;
    encode(header, &object);
    header.opcode = THEMIS_OP_DESTROY;
    refuse(header, &object);
    header = reply(THEMIS_OP_SYNC);
    header.flags = THEMIS_PROTO_FLAG_EXISTS;
    encode(header, &object);
    header.flags = THEMIS_PROTO_FLAG_LISTED;
    refuse(header, &object);
}

/* Servers that may have an object of a file. */
TEST(lists_of_servers)
{
    const themis_proto_listed_t list[] = {{1, 7}, {THEMIS_PROTO_MAX_SERVERS - 1, UINT64_MAX}},
                                beyond = {THEMIS_PROTO_MAX_SERVERS, 1};
    themis_proto_size_t size = {.end = 5, .listed = 2, .list = (const uint8_t *)list};
    themis_proto_enlist_t enlist = {.object = 3, .drop = 1, .count = 2, .list = (const uint8_t *)list};
    const themis_proto_enlisted_t enlisted = {9};

    size_t length = encode(reply(THEMIS_OP_SIZE), &size);
    assert_only_whole(length);
    const themis_proto_size_t sized = decode(length).size;
    ck_assert_uint_eq(sized.listed, 2);
    ck_assert_uint_eq(themis_proto_listed_get(sized.list, 1).index, THEMIS_PROTO_MAX_SERVERS - 1);
    ck_assert_uint_eq(themis_proto_listed_get(sized.list, 1).store, UINT64_MAX);
    length = encode(request(THEMIS_OP_ENLIST), &enlist);
    assert_only_whole(length);
    const themis_proto_enlist_t listed = decode(length).enlist;
    ck_assert(listed.object == 3 && listed.drop == 1 && listed.count == 2);
    ck_assert_uint_eq(themis_proto_listed_get(listed.list, 0).store, 7);
    ck_assert_uint_eq(decode(encode(reply(THEMIS_OP_ENLIST), &enlisted)).enlisted.lost, 9);
    enlist.list = (const uint8_t *)&beyond;
    enlist.count = 1;
    refuse(request(THEMIS_OP_ENLIST), &enlist);
    enlist.count = 0;
    refuse(request(THEMIS_OP_ENLIST), &enlist);
    enlist.count = THEMIS_PROTO_MAX_SERVERS + 1;
    refuse(request(THEMIS_OP_ENLIST), &enlist);
}

TEST(names)
{
    static const char *const bad[] = {"", "a", "//", "/a/", "/a//b", "/.", "/a/..", "/../a", "/a/./b"};
    static const char *const good[] = {"/", "/a", "/a/b", "/.a", "/...", "/a b/\xc3\xa4"};
    themis_proto_lookup_t path = {.rights = 0};
    char longest[THEMIS_PROTO_MAX_PATH + 2];

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        path.path = (themis_proto_text_t){bad[i], (uint32_t)strlen(bad[i])};
        refuse(request(THEMIS_OP_LOOKUP), &path);
    }
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        path.path = (themis_proto_text_t){good[i], (uint32_t)strlen(good[i])};
        size_t length = encode(request(THEMIS_OP_LOOKUP), &path);
        ck_assert(text_is(decode(length).lookup.path, good[i]));
        assert_only_whole(length);
    }
    path.path = (themis_proto_text_t){"/a\0b", 4};
    refuse(request(THEMIS_OP_LOOKUP), &path);
    memset(longest, 'x', sizeof longest);
    longest[0] = '/';
    path.path = (themis_proto_text_t){longest, THEMIS_PROTO_MAX_PATH};
    encode(request(THEMIS_OP_LOOKUP), &path);
    path.path.length++;
    refuse(request(THEMIS_OP_LOOKUP), &path);
    path.path.length = 65536 + 2; /* would look like 2 in 16 bits */
    refuse(request(THEMIS_OP_LOOKUP), &path);
}

TEST(attributes_and_layouts)
{
    themis_proto_attr_t attr = {.id = 3,
                                .type = THEMIS_PROTO_FILE,
                                .mode = 0644,
                                .uid = 1,
                                .gid = 2,
                                .created = 8,
                                .modified = 9,
                                .layout = layout,
                                .fresh = 1};
    size_t length = encode(reply(THEMIS_OP_LOOKUP), &attr);
    themis_proto_attr_t seen = decode(length).attr;

    ck_assert(seen.id == 3 && seen.type == THEMIS_PROTO_FILE && seen.mode == 0644 && seen.uid == 1 && seen.gid == 2);
    ck_assert(seen.created == 8 && seen.modified == 9 && seen.fresh == 1 && seen.layout.first == 1);
    assert_only_whole(length);
    attr.layout.stripe_size = 0; /* a client would divide by it */
    refuse(reply(THEMIS_OP_LOOKUP), &attr);
    attr.layout = (themis_proto_layout_t){5000, 1, 0};
    refuse(reply(THEMIS_OP_LOOKUP), &attr);
    attr.layout = (themis_proto_layout_t){UINT64_C(8) << 30, 1, 0};
    refuse(reply(THEMIS_OP_LOOKUP), &attr);
    attr.layout = (themis_proto_layout_t){4096, 0, 0};
    refuse(reply(THEMIS_OP_LOOKUP), &attr);
    attr.type = THEMIS_PROTO_DIRECTORY;
    encode(reply(THEMIS_OP_LOOKUP), &attr);
    attr.target = 3; /* only symbolic links have one */
    refuse(reply(THEMIS_OP_LOOKUP), &attr);
    attr.type = THEMIS_PROTO_SYMLINK;
    attr.xattrs = 7;
    seen = decode(encode(reply(THEMIS_OP_LOOKUP), &attr)).attr;
    ck_assert(seen.type == THEMIS_PROTO_SYMLINK && seen.target == 3 && seen.xattrs == 7);
    attr.type = (themis_proto_type_t)4;
    refuse(reply(THEMIS_OP_LOOKUP), &attr);

    themis_proto_create_t create = {.path = TEXT("/d/f"),
                                    .flags = THEMIS_PROTO_CREATE_EXCLUSIVE,
                                    .attr = {.type = THEMIS_PROTO_FILE, .layout = {0, 0, UINT32_MAX}}};
    length = encode(request(THEMIS_OP_CREATE), &create);
    ck_assert(text_is(decode(length).create.path, "/d/f"));
    assert_only_whole(length);
    create.flags = THEMIS_PROTO_CREATE_ADOPT; /* takes all over, so all has to be there */
    refuse(request(THEMIS_OP_CREATE), &create);
    create.flags = 16;
    refuse(request(THEMIS_OP_CREATE), &create);
}

TEST(name_operations)
{
    themis_proto_remove_t remove = {.path = TEXT("/x"), .type = THEMIS_PROTO_DIRECTORY};
    themis_proto_setattr_t setattr = {.path = TEXT("/x"), .mask = 15, .mode = 1, .uid = 2, .gid = 3, .modified = 4};
    themis_proto_entry_t entry = {TEXT("/"), TEXT("name"), THEMIS_PROTO_FILE};

    size_t length = encode(request(THEMIS_OP_REMOVE), &remove);
    ck_assert_int_eq(decode(length).remove.type, THEMIS_PROTO_DIRECTORY);
    assert_only_whole(length);
    length = encode(request(THEMIS_OP_SETATTR), &setattr);
    themis_proto_setattr_t set = decode(length).setattr;
    ck_assert(set.mask == 15 && set.mode == 1 && set.uid == 2 && set.gid == 3 && set.modified == 4);
    assert_only_whole(length);
    setattr.mask = 16;
    refuse(request(THEMIS_OP_SETATTR), &setattr);
    length = encode(request(THEMIS_OP_ENTRY_ADD), &entry);
    themis_proto_entry_t got = decode(length).entry;
    ck_assert(text_is(got.directory, "/") && text_is(got.name, "name") && got.type == THEMIS_PROTO_FILE);
    assert_only_whole(length);
    entry.name = (themis_proto_text_t)TEXT("a/b");
    refuse(request(THEMIS_OP_ENTRY_ADD), &entry);
    entry.name = (themis_proto_text_t)TEXT("..");
    refuse(request(THEMIS_OP_ENTRY_ADD), &entry);
}

TEST(symbolic_links)
{
    const themis_proto_text_t name = TEXT("user.a"), value = {"\0x\0", 3};
    themis_proto_create_t link = {.path = TEXT("/l"),
                                  .attr = {.type = THEMIS_PROTO_SYMLINK, .mode = 0777},
                                  .extra = {.target = TEXT("../any where")}};
    size_t length = encode(request(THEMIS_OP_CREATE), &link);

    ck_assert(text_is(decode(length).create.extra.target, "../any where"));
    assert_only_whole(length);
    link.extra.target.length = 0; /* a link without a target, a file with one, a NUL in it */
    refuse(request(THEMIS_OP_CREATE), &link);
    link.extra.target = value;
    refuse(request(THEMIS_OP_CREATE), &link);
    link.extra.target = name;
    link.attr.type = THEMIS_PROTO_FILE;
    link.attr.layout = layout;
    refuse(request(THEMIS_OP_CREATE), &link);
}

/* In requests and replies. */
TEST(steps_of_changes)
{
    const themis_proto_settle_step_t steps[] = {{.action = THEMIS_PROTO_SETTLE_DESTROY, .object = 7, .path = TEXT("/")},
                                                {.action = THEMIS_PROTO_SETTLE_NAME,
                                                 .object = 8,
                                                 .generation = 9,
                                                 .uid = 1,
                                                 .gid = 2,
                                                 .renamed = TEXT("/n"),
                                                 .path = TEXT("/o")}};
    const themis_status_t statuses[] = {THEMIS_OK, THEMIS_STALE};
    themis_proto_settle_t settle = {.count = 2, .bytes = (const uint8_t *)steps};
    const themis_proto_settled_t settled = {.count = 2, .bytes = (const uint8_t *)statuses};
    themis_proto_settle_step_t bad = steps[1], step;
    uint32_t cursor = 0;

    const themis_proto_settle_t seen = decode(encode(request(THEMIS_OP_SETTLE), &settle)).settle;
    ck_assert_uint_eq(seen.count, 2);
    ck_assert(themis_proto_settle_next(&seen, &cursor, &step) && step.action == 1 && step.object == 7);
    ck_assert(themis_proto_settle_next(&seen, &cursor, &step) && step.generation == 9 && step.gid == 2 &&
              text_is(step.renamed, "/n") && text_is(step.path, "/o"));
    ck_assert(!themis_proto_settle_next(&seen, &cursor, &step));
    settle = (themis_proto_settle_t){.count = 1, .bytes = (const uint8_t *)&bad};
    bad.action = THEMIS_PROTO_SETTLE_RENAME + 1;
    refuse(request(THEMIS_OP_SETTLE), &settle);
    bad.action = THEMIS_PROTO_SETTLE_NAME;
    bad.path = (themis_proto_text_t)TEXT("/../o");
    refuse(request(THEMIS_OP_SETTLE), &settle);
    settle.count = 0;
    refuse(request(THEMIS_OP_SETTLE), &settle);
    const themis_proto_settled_t got = decode(encode(reply(THEMIS_OP_SETTLE), &settled)).settled;
    ck_assert_uint_eq(got.count, 2);
    ck_assert_int_eq(themis_proto_settled_get(&got, 1), THEMIS_STALE);
}

TEST(renames)
{
    themis_proto_create_t create = {.path = TEXT("/n"),
                                    .attr = {.type = THEMIS_PROTO_FILE, .generation = 5, .layout = {4096, 1, 0}},
                                    .origin = TEXT("/o")};
    themis_proto_remove_t remove = {.path = TEXT("/o"),
                                    .type = THEMIS_PROTO_FILE,
                                    .renamed = TEXT("/n"),
                                    .object = 3,
                                    .generation = 5,
                                    .rename = 6};
    const themis_proto_rename_end_t end = {TEXT("/n"), 3};

    refuse(request(THEMIS_OP_CREATE), &create);
    create.flags = THEMIS_PROTO_CREATE_ADOPT;
    const themis_proto_create_t seen = decode(encode(request(THEMIS_OP_CREATE), &create)).create;
    ck_assert(text_is(seen.origin, "/o") && seen.attr.generation == 5);
    create.origin = (themis_proto_text_t)TEXT("o");
    refuse(request(THEMIS_OP_CREATE), &create);
    const themis_proto_remove_t removed = decode(encode(request(THEMIS_OP_REMOVE), &remove)).remove;
    ck_assert(text_is(removed.renamed, "/n") && removed.object == 3 && removed.generation == 5 && removed.rename == 6);
    remove.rename = 0; /* a new name and its generation come together */
    refuse(request(THEMIS_OP_REMOVE), &remove);
    remove.rename = 6;
    remove.renamed.length = 0;
    refuse(request(THEMIS_OP_REMOVE), &remove);
    ck_assert(text_is(decode(encode(request(THEMIS_OP_RENAME_END), &end)).rename_end.path, "/n"));
}

TEST(extended_attributes)
{
    const themis_proto_text_t name = TEXT("user.a"), value = {"\0x\0", 3};
    themis_proto_text_t seen_name, seen_value;
    uint8_t room[64];
    size_t used = 0, length;
    uint32_t cursor = 0;

    ck_assert_int_eq(themis_proto_xattrs_add(room, sizeof room, &used, &name, &value), THEMIS_OK);
    ck_assert_int_eq(themis_proto_xattrs_add(room, used + 5, &used, &name, &value), THEMIS_RANGE);
    themis_proto_extra_t extra = {.xattrs = {1, room, (uint32_t)used}};
    length = encode(reply(THEMIS_OP_EXTRA), &extra);
    assert_only_whole(length);
    const themis_proto_xattrs_t got = decode(length).extra.xattrs;
    ck_assert_uint_eq(got.count, 1);
    ck_assert(themis_proto_xattrs_next(&got, &cursor, &seen_name, &seen_value));
    ck_assert(text_is(seen_name, "user.a") && seen_value.length == 3 && memcmp(seen_value.bytes, value.bytes, 3) == 0);
    ck_assert(!themis_proto_xattrs_next(&got, &cursor, &seen_name, &seen_value));
    extra.xattrs.count = 2; /* not as many as said; a length beyond the end */
    refuse(reply(THEMIS_OP_EXTRA), &extra);
    extra.xattrs.count = 1;
    extra.xattrs.length--;
    refuse(reply(THEMIS_OP_EXTRA), &extra);

    themis_proto_setxattr_t set = {.path = TEXT("/x"), .name = name, .flags = 1, .value = value};
    length = encode(request(THEMIS_OP_SETXATTR), &set);
    ck_assert(text_is(decode(length).setxattr.name, "user.a") && decode(length).setxattr.value.length == 3);
    set.flags = 8;
    refuse(request(THEMIS_OP_SETXATTR), &set);
    set.flags = 0;
    set.name.length = 0;
    refuse(request(THEMIS_OP_SETXATTR), &set);
    set.name = value;
    refuse(request(THEMIS_OP_SETXATTR), &set);
}

/* What a new name inherits. */
TEST(entries_that_were_added)
{
    themis_proto_added_t added = {.layout = layout, .mode = 02755, .gid = 7};
    size_t length = encode(reply(THEMIS_OP_ENTRY_ADD), &added);
    ck_assert(decode(length).added.mode == 02755 && decode(length).added.gid == 7);
    assert_only_whole(length);
}

TEST(directories)
{
    themis_proto_readdir_t readdir = {.path = TEXT("/d"), .after = TEXT("m"), .limit = 10};
    uint8_t room[64];
    size_t used = 0, length = encode(request(THEMIS_OP_READDIR), &readdir);
    themis_proto_text_t name;
    themis_proto_type_t type;
    uint32_t cursor = 0;

    ck_assert(text_is(decode(length).readdir.after, "m"));
    assert_only_whole(length);
    readdir.limit = 0;
    refuse(request(THEMIS_OP_READDIR), &readdir);

    ck_assert_int_eq(themis_proto_entries_add(room, sizeof room, &used, "one", 3, THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(themis_proto_entries_add(room, sizeof room, &used, "two", 3, THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    size_t before = used;
    ck_assert_int_eq(themis_proto_entries_add(room, used + 5, &used, "three", 5, THEMIS_PROTO_FILE), THEMIS_RANGE);
    ck_assert_int_eq(themis_proto_entries_add(room, sizeof room, &used, "a/b", 3, THEMIS_PROTO_FILE), THEMIS_RANGE);
    ck_assert_uint_eq(used, before);
    themis_proto_entries_t entries = {.count = 2, .more = 1, .bytes = room, .length = (uint32_t)used};
    length = encode(reply(THEMIS_OP_READDIR), &entries);
    themis_proto_entries_t seen = decode(length).entries;
    ck_assert(seen.count == 2 && seen.more == 1);
    ck_assert_int_eq(themis_proto_entries_next(&seen, &cursor, &name, &type), 1);
    ck_assert(text_is(name, "one") && type == THEMIS_PROTO_FILE);
    ck_assert_int_eq(themis_proto_entries_next(&seen, &cursor, &name, &type), 1);
    ck_assert(text_is(name, "two") && type == THEMIS_PROTO_DIRECTORY);
    ck_assert_int_eq(themis_proto_entries_next(&seen, &cursor, &name, &type), 0);
    assert_only_whole(length);
    entries.count = 3;
    refuse(reply(THEMIS_OP_READDIR), &entries);
}

static themis_proto_io_t io_with(const themis_proto_run_t *runs, uint32_t count)
{
    themis_proto_io_t io = {.object = 12, .runs = count, .run_bytes = (const uint8_t *)runs};

    for (int i = 0; i < THEMIS_PROTO_DESCRIPTOR_BYTES; i++)
        io.descriptor[i] = (uint8_t)i;
    return io;
}

TEST(runs)
{
    themis_proto_run_t some[] = {{0, 4096, 0, 1}, {UINT64_C(1) << 41, 64, 128, 1000000}};
    themis_proto_io_t io = io_with(some, 2);
    themis_proto_run_t run;
    size_t length = encode(request(THEMIS_OP_WRITE), &io);
    themis_proto_io_t seen = decode(length).io;

    ck_assert_uint_eq(seen.object, 12);
    ck_assert_mem_eq(seen.descriptor, io.descriptor, sizeof io.descriptor);
    ck_assert_uint_eq(seen.runs, 2);
    for (uint32_t i = 0; i < 2; i++) {
        themis_proto_run_get(&seen, i, &run);
        ck_assert_mem_eq(&run, &some[i], sizeof run);
    }
    assert_only_whole(length);

    themis_proto_run_t *many = calloc(THEMIS_PROTO_MAX_RUNS + 1, sizeof *many);
    ck_assert_ptr_nonnull(many);
    for (uint32_t i = 0; i <= THEMIS_PROTO_MAX_RUNS; i++)
        many[i] = (themis_proto_run_t){i, 1, 1, 1};
    io = io_with(many, THEMIS_PROTO_MAX_RUNS);
    ck_assert_uint_eq(decode(encode(request(THEMIS_OP_READ), &io)).io.runs, THEMIS_PROTO_MAX_RUNS);
    io.runs++;
    refuse(request(THEMIS_OP_READ), &io);
    io.runs = 0;
    refuse(request(THEMIS_OP_READ), &io);
    refuse(request(THEMIS_OP_WRITE), &io);
    free(many);
}

TEST(runs_stay_in_63_bits)
{
    static const themis_proto_run_t bad[] = {{0, 0, 0, 1},
                                             {0, 1, 0, 0},
                                             {0, 8, 4, 2},
                                             {INT64_MAX, 1, 0, 1},
                                             {UINT64_MAX, 1, 0, 1},
                                             {0, UINT64_MAX, 0, 1},
                                             {0, 1, UINT64_MAX, 2},
                                             {0, 1, 2, UINT64_C(1) << 63},
                                             {UINT64_MAX - 1, 1, UINT64_C(1) << 32, UINT64_C(1) << 32},
                                             {0, UINT64_C(1) << 32, UINT64_C(1) << 32, UINT64_C(1) << 33}};
    themis_proto_run_t two[] = {{0, INT64_MAX, 0, 1}, {0, 1, 0, 1}};
    themis_proto_io_t io;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        io = io_with(&bad[i], 1);
        refuse(request(THEMIS_OP_READ), &io);
    }
    io = io_with(two, 1);
    encode(request(THEMIS_OP_READ), &io);
    io = io_with(two, 2);
    refuse(request(THEMIS_OP_READ), &io);
}

TEST(object_operations)
{
    themis_proto_resize_t resize = {.object = 1, .size = 2};
    themis_proto_range_t range = {.object = 1, .offset = INT64_MAX - 1, .length = 1};
    themis_proto_size_t size = {1, 2, 3};
    themis_proto_io_done_t done = {5, 6};
    themis_proto_object_t object = {UINT64_MAX};

    size_t length = encode(request(THEMIS_OP_TRUNCATE), &resize);
    ck_assert_uint_eq(decode(length).resize.size, 2);
    assert_only_whole(length);
    resize.size = UINT64_C(1) << 63;
    refuse(request(THEMIS_OP_TRUNCATE), &resize);
    length = encode(request(THEMIS_OP_ALLOCATE), &range);
    ck_assert_uint_eq(decode(length).range.offset, INT64_MAX - 1);
    assert_only_whole(length);
    range.length = 2;
    refuse(request(THEMIS_OP_ALLOCATE), &range);
    length = encode(reply(THEMIS_OP_SIZE), &size);
    ck_assert_uint_eq(decode(length).size.modified, 3);
    assert_only_whole(length);
    length = encode(reply(THEMIS_OP_READ), &done);
    ck_assert_uint_eq(decode(length).io_done.end, 6);
    assert_only_whole(length);
    length = encode(request(THEMIS_OP_SYNC), &object);
    ck_assert_uint_eq(decode(length).object.object, UINT64_MAX);
    assert_only_whole(length);
}

/* Every body about an object begins with its id and the capability. */
TEST(capabilities)
{
    static const themis_proto_opcode_t opcodes[] = {
        THEMIS_OP_READ, THEMIS_OP_WRITE, THEMIS_OP_TRUNCATE, THEMIS_OP_ALLOCATE, THEMIS_OP_SIZE,    THEMIS_OP_SYNC,
        THEMIS_OP_MAP,  THEMIS_OP_LOCK,  THEMIS_OP_UNLOCK,   THEMIS_OP_COUNTER,  THEMIS_OP_DESTROY, THEMIS_OP_TOUCH};
    static const themis_proto_capability_t capability = {
        .rights = 129, .uid = 7, .expires = 8, .mac = "0123456789abcde"};
    const themis_proto_run_t run = {0, 1, 1, 1};

    for (size_t i = 0; i < sizeof opcodes / sizeof *opcodes; i++) {
        themis_proto_body_t body = {.map = {.length = 1}}, seen;
        if (opcodes[i] == THEMIS_OP_READ || opcodes[i] == THEMIS_OP_WRITE)
            body.io = (themis_proto_io_t){.runs = 1, .run_bytes = (const uint8_t *)&run};
        if (opcodes[i] == THEMIS_OP_COUNTER)
            body.counter = (themis_proto_counter_t){.value = 1};
        body.object = (themis_proto_object_t){99, capability};
        seen = decode(encode(request(opcodes[i]), &body));
        ck_assert_uint_eq(seen.object.object, 99);
        ck_assert(seen.object.capability.rights == 129 && seen.object.capability.uid == 7 &&
                  seen.object.capability.expires == 8);
        ck_assert_mem_eq(seen.object.capability.mac, capability.mac, sizeof capability.mac);
        body.object.capability.rights = THEMIS_PROTO_RIGHTS + 1;
        refuse(request(opcodes[i]), &body);
    }
}

TEST(maps)
{
    themis_proto_map_t map = {.object = 1, .offset = INT64_MAX - 2, .length = 2, .allocate = 1};
    themis_proto_mapped_extent_t extents[] = {{0, 4096, {1, 8192}, {0, 0}}, {4096, 1, {2, INT64_MAX - 1}, {3, 7}}};
    themis_proto_mapped_t mapped = {.grant = 7,
                                    .retry = UINT64_MAX,
                                    .slot = {1, 64},
                                    .cell = {2, 4096},
                                    .count = 2,
                                    .bytes = (const uint8_t *)extents};
    themis_proto_mapped_extent_t extent;

    size_t length = encode(request(THEMIS_OP_MAP), &map);
    ck_assert(decode(length).map.offset == INT64_MAX - 2 && decode(length).map.allocate == 1);
    assert_only_whole(length);
    map.length = 3;
    refuse(request(THEMIS_OP_MAP), &map);
    map.length = 0;
    refuse(request(THEMIS_OP_MAP), &map);

    length = encode(reply(THEMIS_OP_MAP), &mapped);
    themis_proto_mapped_t seen = decode(length).mapped;
    ck_assert(seen.grant == 7 && seen.retry == UINT64_MAX && seen.slot.at == 64 && seen.cell.segment == 2);
    themis_proto_mapped_get(&seen, 1, &extent);
    ck_assert(extent.offset == 4096 && extent.length == 1 && extent.location.segment == 2 &&
              extent.location.at == INT64_MAX - 1 && extent.pages.segment == 3 && extent.pages.at == 7);
    assert_only_whole(length);
}

TEST(unsound_extents)
{
    const themis_proto_mapped_extent_t wrong[][2] = {
        {{0, 4096, {1, 0}, {0, 0}}, {4095, 1, {1, 4096}, {0, 0}}},   /* overlap */
        {{8, 1, {1, 0}, {0, 0}}, {0, 1, {1, 4096}, {0, 0}}},         /* order */
        {{0, 1, {1, 0}, {0, 0}}, {1, 0, {1, 4096}, {0, 0}}},         /* empty */
        {{0, 1, {1, 0}, {0, 0}}, {1, INT64_MAX, {1, 4096}, {0, 0}}}, /* past 2^63 */
        {{0, 1, {1, 0}, {0, 0}}, {1, 2, {1, INT64_MAX - 1}, {0, 0}}},
        {{0, 1, {1, 0}, {0, 0}}, {1, 2, {1, 0}, {1, INT64_MAX - 1}}}};

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        themis_proto_mapped_t mapped = {.grant = 1, .count = 2, .bytes = (const uint8_t *)wrong[i]};
        refuse(reply(THEMIS_OP_MAP), &mapped);
    }
    themis_proto_mapped_t none = {.grant = 0, .count = 1, .bytes = (const uint8_t *)wrong[0]};
    refuse(reply(THEMIS_OP_MAP), &none);
}

TEST(locks_and_counters)
{
    themis_proto_lock_t lock = {.object = 1, .offset = 2, .length = UINT64_MAX, .owner = 3, .exclusive = 1};
    themis_proto_counter_t counter = {.object = 1, .action = THEMIS_PROTO_COUNTER_ADD, .value = -5};
    themis_proto_granted_t granted = {77};
    themis_proto_counted_t counted = {-6};

    size_t length = encode(request(THEMIS_OP_LOCK), &lock);
    themis_proto_lock_t seen = decode(length).lock;
    ck_assert(seen.length == UINT64_MAX && seen.owner == 3 && seen.exclusive == 1 && seen.wait == 0);
    assert_only_whole(length);
    lock.action = THEMIS_PROTO_LOCK_REPLACE;
    ck_assert_int_eq(decode(encode(request(THEMIS_OP_LOCK), &lock)).lock.action, THEMIS_PROTO_LOCK_REPLACE);
    lock.wait = 1; /* does not wait */
    refuse(request(THEMIS_OP_LOCK), &lock);
    lock.wait = 0;
    lock.reclaim = 7; /* nor was it ever granted */
    refuse(request(THEMIS_OP_LOCK), &lock);
    lock.reclaim = 0;
    lock.action = 3;
    refuse(request(THEMIS_OP_LOCK), &lock);
    lock.action = THEMIS_PROTO_LOCK_ADD;
    lock.length = 0;
    length = encode(request(THEMIS_OP_LOCK), &lock);
    ck_assert_uint_eq(decode(length).lock.length, 0);
    length = encode(reply(THEMIS_OP_LOCK), &granted);
    ck_assert_uint_eq(decode(length).granted.epoch, 77);
    assert_only_whole(length);
    granted.epoch = 0;
    refuse(reply(THEMIS_OP_LOCK), &granted);
    lock.length = INT64_MAX;
    refuse(request(THEMIS_OP_LOCK), &lock);
    lock.length = 1;
    lock.wait = 2;
    refuse(request(THEMIS_OP_LOCK), &lock);
    length = encode(request(THEMIS_OP_COUNTER), &counter);
    ck_assert_int_eq(decode(length).counter.value, -5);
    assert_only_whole(length);
    length = encode(reply(THEMIS_OP_COUNTER), &counted);
    ck_assert_int_eq(decode(length).counted.value, -6);
    assert_only_whole(length);
    counter.action = 3;
    refuse(request(THEMIS_OP_COUNTER), &counter);
}

TEST(texts_and_tables)
{
    themis_proto_text_body_t text = {TEXT("any\n\tbytes\0")};
    themis_proto_table_row_t rows[] = {{TEXT("a"), 1, 2, 3, 4, 5, 6}, {TEXT("bb"), 7, 8, 9, 10, 11, 12}};
    themis_proto_table_t table = {.index = 1,
                                  .incarnation = 2,
                                  .round = 3,
                                  .capacity = 4,
                                  .policy = TEXT("fifo"),
                                  .policy_set = 13,
                                  .total = 5,
                                  .rows = 2,
                                  .bytes = (const uint8_t *)rows};
    themis_proto_table_row_t row;
    uint32_t cursor = 0;

    size_t length = encode(reply(THEMIS_OP_STATUS), &text);
    ck_assert_uint_eq(decode(length).text.text.length, text.text.length);
    assert_only_whole(length);

    length = encode(request(THEMIS_OP_TABLE), &table);
    themis_proto_table_t seen = decode(length).table;
    ck_assert(seen.index == 1 && seen.incarnation == 2 && seen.round == 3 && seen.capacity == 4 && seen.total == 5 &&
              seen.rows == 2 && text_is(seen.policy, "fifo") && seen.policy_set == 13);
    ck_assert_int_eq(themis_proto_table_next(&seen, &cursor, &row), 1);
    ck_assert(text_is(row.job, "a") && row.uid == 1 && row.served == 6);
    ck_assert_int_eq(themis_proto_table_next(&seen, &cursor, &row), 1);
    ck_assert(text_is(row.job, "bb") && row.nodes == 9 && row.demand == 11);
    ck_assert_int_eq(themis_proto_table_next(&seen, &cursor, &row), 0);
    assert_only_whole(length);
    table.policy = (themis_proto_text_t)TEXT("fi\033fo");
    refuse(request(THEMIS_OP_TABLE), &table);
    table.policy = (themis_proto_text_t)TEXT("fifo");
    table.total = 1;
    refuse(request(THEMIS_OP_TABLE), &table);
    table.total = 5;
    rows[1].nodes = 0;
    refuse(request(THEMIS_OP_TABLE), &table);
}

TEST(empty_bodies_and_failures)
{
    themis_proto_header_t header = reply(THEMIS_OP_READ);
    themis_proto_text_body_t cause = {TEXT("disk on fire")};
    themis_proto_body_t body;
    size_t length = encode(request(THEMIS_OP_HEARTBEAT), NULL);

    ck_assert_uint_eq(length, THEMIS_PROTO_HEADER_BYTES);
    decode(length);
    assert_only_whole(length);
    header.status = THEMIS_IO;
    length = encode(header, &cause);
    ck_assert_int_eq(themis_proto_decode(buffer, length, &header, &body), THEMIS_OK);
    ck_assert_int_eq(header.status, THEMIS_IO);
    ck_assert(text_is(body.text.text, "disk on fire"));
    header.status = -1000;
    refuse(header, &cause);
    header.status = THEMIS_IN_PROGRESS;
    refuse(header, &cause);
}

TEST(other_versions_and_opcodes)
{
    themis_proto_header_t header;
    themis_proto_body_t body;
    size_t length = encode(request(THEMIS_OP_HEARTBEAT), NULL);

    buffer[4] = THEMIS_PROTO_VERSION + 1;
    ck_assert_int_eq(themis_proto_decode(buffer, length, &header, &body), THEMIS_VERSION);
    ck_assert_uint_eq(header.version, THEMIS_PROTO_VERSION + 1);
    ck_assert_uint_eq(header.id, 77);
    buffer[4] = THEMIS_PROTO_VERSION;
    buffer[6] = 200;
    ck_assert_int_eq(themis_proto_decode(buffer, length, &header, &body), THEMIS_OPCODE);
    ck_assert_uint_eq(header.opcode, 200);
    ck_assert_uint_eq(header.id, 77);

    header = reply(200); /* so that it can be refused */
    refuse(header, &body);
    header.status = THEMIS_OPCODE;
    themis_proto_text_body_t cause = {TEXT("no such operation")};
    length = encode(header, &cause);
    ck_assert_int_eq(themis_proto_decode(buffer, length, &header, &body), THEMIS_OK);
}

TEST(small_buffers)
{
    themis_proto_object_t object = {1};
    themis_proto_header_t header = request(THEMIS_OP_SYNC);
    size_t length, whole = encode(header, &object);

    for (size_t room = 0; room < whole; room++)
        ck_assert_int_eq(themis_proto_encode(&header, &object, buffer, room, &length), THEMIS_RANGE);
    ck_assert_int_eq(themis_proto_encode(&header, &object, buffer, whole, &length), THEMIS_OK);
    ck_assert_str_eq(themis_proto_opcode_name(THEMIS_OP_SYNC), "SYNC");
    ck_assert_str_eq(themis_proto_opcode_name(9999), "unknown");
}

/* Messages with bytes changed at random: refused or decoded, and what was decoded can be walked. */
TEST(damaged_messages)
{
    themis_proto_run_t some[] = {{0, 4096, 0, 1}, {1 << 20, 64, 128, 100}};
    themis_proto_io_t io = io_with(some, 2);
    size_t length = encode(request(THEMIS_OP_WRITE), &io);
    uint8_t damaged[256];
    unsigned random = 12345, decoded = 0;

    ck_assert_uint_le(length, sizeof damaged);
    for (int round = 0; round < 200000; round++) {
        themis_proto_header_t header;
        themis_proto_body_t body;
        memcpy(damaged, buffer, length);
        for (int change = round % 4; change >= 0; change--) {
            random = random * 1103515245 + 12345;
            damaged[(random >> 8) % length] = (uint8_t)(random >> 16);
        }
        if (themis_proto_decode(damaged, length, &header, &body) != THEMIS_OK)
            continue;
        decoded++;
        themis_proto_run_t run;
        for (uint32_t i = 0; header.opcode == THEMIS_OP_WRITE && i < body.io.runs; i++) {
            themis_proto_run_get(&body.io, i, &run);
            ck_assert_uint_le(run.offset + (run.count - 1) * run.stride + run.length, INT64_MAX);
        }
    }
    ck_assert_uint_gt(decoded, 100);
}

int main(void)
{
    Suite *suite = suite_create("proto");

    test_case(suite, "messages", 60, NULL, NULL,
              TESTS({hello_and_welcome, 1}, {flags, 1}, {lists_of_servers, 1}, {names, 1}, {attributes_and_layouts, 1},
                    {name_operations, 1}, {symbolic_links, 1}, {steps_of_changes, 1}, {renames, 1},
                    {extended_attributes, 1}, {entries_that_were_added, 1}, {directories, 1}, {runs, 1},
                    {runs_stay_in_63_bits, 1}, {object_operations, 1}, {capabilities, 1}, {maps, 1},
                    {unsound_extents, 1}, {locks_and_counters, 1}, {texts_and_tables, 1},
                    {empty_bodies_and_failures, 1}, {other_versions_and_opcodes, 1}, {small_buffers, 1},
                    {damaged_messages, 1}));
    return test_run(suite);
}
