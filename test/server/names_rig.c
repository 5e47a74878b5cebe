/* SPDX-License-Identifier: BSD-3-Clause */
#include "test/server/names_rig.h"
#include <check.h>
#include <string.h>

themis_server_namespace_t *names;
const themis_sched_job_identity_t alice = {.id = "a", .uid = 1000, .gid = 100, .nodes = 1, .priority = 1};
const themis_sched_job_identity_t bob = {.id = "b", .uid = 1001, .gid = 101, .nodes = 1, .priority = 1};
const themis_sched_job_identity_t root = {.id = "r"};

void open_names(const char *where)
{
    themis_server_namespace_options_t options = {.directory = where,
                                                 .index = 2,
                                                 .servers = 4,
                                                 .layout = {.stripe_size = 65536, .count = 0, .first = UINT32_MAX}};

    ck_assert_int_eq(themis_server_namespace_create(&options, &names), THEMIS_OK);
}

void set_up(void)
{
    open_names(NULL);
}

void tear_down(void)
{
    themis_server_namespace_destroy(names);
}

themis_proto_text_t text(const char *bytes)
{
    return (themis_proto_text_t){.bytes = bytes, .length = (uint32_t)strlen(bytes)};
}

themis_status_t create(const themis_sched_job_identity_t *who, const themis_proto_create_t *create,
                       themis_proto_attr_t *attr)
{
    const themis_proto_body_t body = {.create = *create};

    return themis_server_namespace_serve(names, who, THEMIS_OP_CREATE, &body, NULL, attr);
}

themis_status_t set_attr(const themis_sched_job_identity_t *who, const themis_proto_setattr_t *setattr,
                         themis_proto_attr_t *attr)
{
    const themis_proto_body_t body = {.setattr = *setattr};

    return themis_server_namespace_serve(names, who, THEMIS_OP_SETATTR, &body, NULL, attr);
}

themis_status_t make_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_type_t type,
                        uint32_t flags, uint32_t mode, themis_proto_attr_t *attr)
{
    const themis_proto_create_t request = {
        .path = text(path), .flags = flags, .attr = {.type = type, .mode = mode, .layout = {.first = UINT32_MAX}}};

    return create(who, &request, attr);
}

themis_status_t make(const char *path, themis_proto_type_t type, uint32_t flags)
{
    themis_proto_attr_t attr;

    return make_as(&alice, path, type, flags, 0755, &attr);
}

themis_status_t lookup_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_attr_t *attr)
{
    const themis_proto_body_t body = {.lookup = {text(path)}};

    return themis_server_namespace_serve(names, who, THEMIS_OP_LOOKUP, &body, NULL, attr);
}

themis_status_t lookup(const char *path, themis_proto_attr_t *attr)
{
    return lookup_as(&alice, path, attr);
}

themis_status_t remove_as(const themis_sched_job_identity_t *who, const char *path, themis_proto_type_t type)
{
    const themis_proto_body_t body = {.remove = {.path = text(path), .type = type}};
    themis_proto_attr_t attr;

    return themis_server_namespace_serve(names, who, THEMIS_OP_REMOVE, &body, NULL, &attr);
}

themis_status_t add(const themis_sched_job_identity_t *who, const char *dir, const char *name, themis_proto_type_t type)
{
    const themis_proto_body_t body = {.entry = {.directory = text(dir), .name = text(name), .type = type}};

    themis_proto_attr_t directory;

    return themis_server_namespace_serve(names, who, THEMIS_OP_ENTRY_ADD, &body, NULL, &directory);
}

themis_status_t take(const char *dir, const char *name)
{
    const themis_proto_body_t body = {.entry = {.directory = text(dir), .name = text(name), .type = THEMIS_PROTO_FILE}};

    return themis_server_namespace_serve(names, &alice, THEMIS_OP_ENTRY_REMOVE, &body, NULL, NULL);
}
