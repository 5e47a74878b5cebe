/* SPDX-License-Identifier: BSD-3-Clause */
/* What names have beside their attributes: extended attributes, targets of symbolic links, layouts. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "test/lib/run.h"
#include "test/server/names_rig.h"

static themis_status_t set_xattr(const themis_sched_job_identity_t *who, const char *path, const char *name,
                                 const char *value, uint32_t flags)
{
    const themis_proto_body_t body = {
        .setxattr = {.path = text(path), .name = text(name), .flags = flags, .value = text(value)}};

    return themis_server_namespace_serve(names, who, THEMIS_OP_SETXATTR, &body, NULL, NULL);
}

/* "target|name=value;name=value;" of a path, as `who` gets it with `rights`; "!" and the status if it fails. */
static const char *extra_of(const themis_sched_job_identity_t *who, const char *path, uint32_t rights)
{
    static char shown[256];
    const themis_proto_lookup_t lookup = {text(path), rights};
    themis_proto_extra_t extra;
    themis_proto_text_t name, value;
    uint32_t cursor = 0;
    void *memory;
    themis_status_t status = themis_server_namespace_extra(names, who, &lookup, &extra, &memory);
    int length = status == THEMIS_OK ? sprintf(shown, "%.*s|", (int)extra.target.length, extra.target.bytes)
                                     : sprintf(shown, "!%d", status);

    if (status != THEMIS_OK)
        return shown;
    while (themis_proto_xattrs_next(&extra.xattrs, &cursor, &name, &value))
        length += sprintf(shown + length, "%.*s=%.*s;", (int)name.length, name.bytes, (int)value.length, value.bytes);
    free(memory);
    return shown;
}

TEST(extended_attributes_stay_with_their_name)
{
    themis_proto_setattr_t set = {.path = text("/f"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0640};
    themis_proto_attr_t attr;

    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", "1", 0), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.b", "2", THEMIS_PROTO_XATTR_CREATE), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", "x", THEMIS_PROTO_XATTR_CREATE), THEMIS_EXISTS);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.other", "x", THEMIS_PROTO_XATTR_REPLACE), THEMIS_NO_DATA);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.other", "", THEMIS_PROTO_XATTR_REMOVE), THEMIS_NO_DATA);
    ck_assert_int_eq(set_xattr(&alice, "/f", "trusted.a", "x", 0), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.", "x", 0), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(set_xattr(&bob, "/f", "user.a", "x", 0), THEMIS_ACCESS);
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_OK); /* keeps them */
    ck_assert_str_eq(extra_of(&alice, "/f", THEMIS_PROTO_RIGHT_READ), "|user.a=1;user.b=2;");
    ck_assert_str_eq(extra_of(&alice, "/f", 0), "|");
    ck_assert_str_eq(extra_of(&bob, "/f", THEMIS_PROTO_RIGHT_READ), "!-26");
    ck_assert_int_eq(lookup("/f", &attr), THEMIS_OK);
    ck_assert_uint_gt(attr.xattrs, 0);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", "", THEMIS_PROTO_XATTR_REMOVE), THEMIS_OK);
    ck_assert_str_eq(extra_of(&alice, "/f", THEMIS_PROTO_RIGHT_READ), "|user.b=2;");
    ck_assert_int_eq(remove_as(&alice, "/f", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_str_eq(extra_of(&alice, "/f", THEMIS_PROTO_RIGHT_READ), "|");
}

TEST(extended_attributes_are_bounded)
{
    static char value[THEMIS_PROTO_MAX_XATTR + 1];

    memset(value, 'v', THEMIS_PROTO_MAX_XATTR);
    ck_assert_int_eq(make("/f", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", value, 0), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.b", value, 0), THEMIS_NO_SPACE);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.b", value + 1000, 0), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", "small", 0), THEMIS_OK);
}

static themis_proto_xattrs_t one_xattr(const char *name, void *room, size_t capacity)
{
    const themis_proto_text_t key = text(name), value = text("1");
    size_t used = 0;

    ck_assert_int_eq(themis_proto_xattrs_add(room, capacity, &used, &key, &value), THEMIS_OK);
    return (themis_proto_xattrs_t){1, room, (uint32_t)used};
}

/* What a client brings with a new name, as for a rename, is no way around the rules. */
TEST(extended_attributes_of_new_names)
{
    themis_proto_create_t made = {.attr = {.type = THEMIS_PROTO_FILE, .mode = 0644, .layout = {.first = UINT32_MAX}}};
    themis_proto_attr_t attr;
    uint8_t room[64];

    made.path = text("/f");
    made.extra.xattrs = one_xattr("user.a", room, sizeof room);
    ck_assert_int_eq(create(&alice, &made, &attr), THEMIS_OK);
    ck_assert_str_eq(extra_of(&alice, "/f", THEMIS_PROTO_RIGHT_READ), "|user.a=1;");
    made.path = text("/l");
    made.extra.target = text("f");
    made.attr.type = THEMIS_PROTO_SYMLINK;
    ck_assert_int_eq(create(&alice, &made, &attr), THEMIS_UNSUPPORTED);
    made.path = text("/d");
    made.extra = (themis_proto_extra_t){.xattrs = one_xattr("security.capability", room, sizeof room)};
    made.attr.type = THEMIS_PROTO_DIRECTORY;
    ck_assert_int_eq(create(&alice, &made, &attr), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(lookup("/d", &attr), THEMIS_NO_ENTRY);
}

/* Nothing that is made of a link gives access to the bytes of a file. */
TEST(symbolic_links)
{
    themis_proto_create_t link = {
        .path = text("/l"), .attr = {.type = THEMIS_PROTO_SYMLINK, .mode = 0777}, .extra = {.target = text("f")}};
    themis_proto_setattr_t set = {.path = text("/l"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0600};
    const themis_proto_body_t body = {.remove = {.path = text("/m"), .type = THEMIS_PROTO_FILE}};
    themis_proto_attr_t file, attr;

    ck_assert_int_eq(make_as(&bob, "/f", THEMIS_PROTO_FILE, 0, 0600, &file), THEMIS_OK);
    ck_assert_int_eq(create(&alice, &link, &attr), THEMIS_OK);
    ck_assert(attr.type == THEMIS_PROTO_SYMLINK && attr.id != 0 && attr.id != file.id && attr.target == 1);
    ck_assert_uint_eq(attr.capability.rights, 0);
    ck_assert_str_eq(extra_of(&bob, "/l", 0), "f|");
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(set_xattr(&alice, "/l", "user.a", "1", 0), THEMIS_UNSUPPORTED);
    ck_assert_int_eq(make_as(&alice, "/l", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_EXISTS);

    link.path = text("/m"); /* one that claims another user's bytes */
    link.flags = THEMIS_PROTO_CREATE_ADOPT | THEMIS_PROTO_CREATE_REPLACE;
    link.attr.id = file.id;
    link.attr.uid = alice.uid;
    link.attr.gid = alice.gid;
    ck_assert_int_eq(create(&alice, &link, &attr), THEMIS_OK);
    ck_assert_int_eq(create(&alice, &link, &attr), THEMIS_OK); /* the reply is about the one that was replaced */
    ck_assert_uint_eq(attr.capability.rights, 0);
    ck_assert_int_eq(themis_server_namespace_serve(names, &alice, THEMIS_OP_REMOVE, &body, NULL, &attr), THEMIS_OK);
    ck_assert_uint_eq(attr.capability.rights, 0);
    link.attr.uid = bob.uid;
    ck_assert_int_eq(create(&alice, &link, &attr), THEMIS_ACCESS);
}

TEST(layouts_of_directories_and_empty_files)
{
    themis_proto_setattr_t set = {
        .path = text("/d"), .mask = THEMIS_PROTO_SET_LAYOUT, .layout = {1 << 20, 2, UINT32_MAX}};
    themis_proto_create_t renew = {.path = text("/f"),
                                   .flags = THEMIS_PROTO_CREATE_REPLACE,
                                   .attr = {.type = THEMIS_PROTO_FILE, .layout = {1 << 20, 2, UINT32_MAX}}};
    themis_proto_attr_t attr, old;

    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(set_attr(&bob, &set, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_OK);
    ck_assert_int_eq(lookup("/d", &attr), THEMIS_OK);
    ck_assert(attr.layout.stripe_size == 1 << 20 && attr.layout.count == 2);

    ck_assert_int_eq(create(&alice, &renew, &attr), THEMIS_NO_ENTRY);
    ck_assert_int_eq(make_as(&alice, "/f", THEMIS_PROTO_FILE, 0, 0640, &old), THEMIS_OK);
    ck_assert_int_eq(set_xattr(&alice, "/f", "user.a", "1", 0), THEMIS_OK);
    set.path = text("/f");
    ck_assert_int_eq(set_attr(&alice, &set, &attr), THEMIS_NOT_DIRECTORY);
    ck_assert_int_eq(create(&bob, &renew, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(create(&alice, &renew, &attr), THEMIS_OK);
    ck_assert(attr.id == old.id && attr.capability.rights & THEMIS_PROTO_RIGHT_DESTROY);
    ck_assert_int_eq(lookup("/f", &attr), THEMIS_OK);
    ck_assert(attr.id != old.id && attr.mode == 0640 && attr.layout.stripe_size == 1 << 20 && attr.layout.count == 2);
    ck_assert_str_eq(extra_of(&alice, "/f", THEMIS_PROTO_RIGHT_READ), "|user.a=1;");
    renew.path = text("/d");
    ck_assert_int_eq(create(&alice, &renew, &attr), THEMIS_INVALID);
}

int main(void)
{
    Suite *suite = suite_create("name_extra");

    test_case(suite, "all", 60, set_up, tear_down,
              TESTS({extended_attributes_stay_with_their_name, 1}, {extended_attributes_are_bounded, 1},
                    {extended_attributes_of_new_names, 1}, {symbolic_links, 1},
                    {layouts_of_directories_and_empty_files, 1}));
    return test_run(suite);
}
