/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * proto_seeds DIRECTORY: writes messages of each kind into files, for test/fuzz/proto.c to begin with. They are made
 * from the list of opcodes, so that none is missing, and each has to be decoded again.
 */
#include <stdio.h>
#include <string.h>
#include "proto/proto.h"

#define TEXT(literal)                                                                                                  \
    {                                                                                                                  \
        literal, sizeof literal - 1                                                                                    \
    }
#define CAPABILITY                                                                                                     \
    {                                                                                                                  \
        .rights = 3, .uid = 1000, .expires = 1 << 20, .mac = { 1, 2, 3 }                                               \
    }
#define LAYOUT                                                                                                         \
    {                                                                                                                  \
        .stripe_size = 65536, .count = 2, .first = 1                                                                   \
    }
#define ATTR                                                                                                           \
    {                                                                                                                  \
        .id = 3, .type = THEMIS_PROTO_FILE, .mode = 0644, .uid = 1, .gid = 2, .created = 3, .modified = 4,             \
        .generation = 5, .layout = LAYOUT, .capability = CAPABILITY, .seal = {                                         \
            4,                                                                                                         \
            5,                                                                                                         \
            6                                                                                                          \
        }                                                                                                              \
    }

static const themis_proto_run_t runs[] = {{0, 4096, 0, 1}, {8192, 1024, 2048, 100}};
static const themis_proto_mapped_extent_t extents[] = {{0, 4096, {1, 8192}, {0, 0}}, {4096, 4096, {2, 0}, {1, 64}}};
static const themis_proto_table_row_t rows[] = {{TEXT("a"), 1, 2, 3, 4, 5, 6}, {TEXT("b"), 2, 3, 4, 5, 6, 7}};
static const themis_proto_settle_step_t steps[] = {
    {.action = THEMIS_PROTO_SETTLE_DESTROY, .object = 5, .path = TEXT("/")},
    {.action = THEMIS_PROTO_SETTLE_ENTRY, .path = TEXT("/d/a")},
    {.action = THEMIS_PROTO_SETTLE_NAME,
     .object = 5,
     .generation = 6,
     .rename = 7,
     .uid = 1,
     .gid = 2,
     .renamed = TEXT("/b"),
     .path = TEXT("/a")},
    {.action = THEMIS_PROTO_SETTLE_RENAME, .rename = 7, .path = TEXT("/b")}};
static const themis_proto_listed_t listed[] = {{0, 77}, {3, 78}};
static const themis_status_t ends[] = {THEMIS_OK, THEMIS_BUSY, THEMIS_NO_ENTRY};
static uint8_t entry_bytes[256], xattr_bytes[256];

/* A body of each kind, by the names of THEMIS_PROTO_OPCODES. */
static struct {
    themis_proto_none_t none;
    themis_proto_hello_t hello;
    themis_proto_welcome_t welcome;
    themis_proto_lookup_t lookup;
    themis_proto_attr_t attr;
    themis_proto_create_t create;
    themis_proto_remove_t remove;
    themis_proto_rename_end_t rename_end;
    themis_proto_setattr_t setattr;
    themis_proto_entry_t entry;
    themis_proto_added_t added;
    themis_proto_extra_t extra;
    themis_proto_setxattr_t setxattr;
    themis_proto_readdir_t readdir;
    themis_proto_entries_t entries;
    themis_proto_io_t io;
    themis_proto_io_done_t io_done;
    themis_proto_resize_t resize;
    themis_proto_touch_t touch;
    themis_proto_range_t range;
    themis_proto_object_t object;
    themis_proto_unmap_t unmap;
    themis_proto_size_t size;
    themis_proto_map_t map;
    themis_proto_mapped_t mapped;
    themis_proto_segment_t segment;
    themis_proto_lock_t lock;
    themis_proto_granted_t granted;
    themis_proto_counter_t counter;
    themis_proto_counted_t counted;
    themis_proto_text_body_t text;
    themis_proto_table_t table;
    themis_proto_settle_t settle;
    themis_proto_settled_t settled;
    themis_proto_enlist_t enlist;
    themis_proto_enlisted_t enlisted;
} bodies = {.hello = {1, TEXT("job"), 1, 2, 4, 1, TEXT("host"), 77, TEXT("job-fair"), 0, TEXT("ap"), TEXT("pr"), 1},
            .welcome = {1, 0, 2, 1000, LAYOUT, TEXT("s"), TEXT("fifo"), 1, TEXT(""), {1, 2}, {3, 4}},
            .lookup = {TEXT("/a/b"), THEMIS_PROTO_RIGHT_READ},
            .attr = ATTR,
            .create = {.path = TEXT("/a"), .flags = THEMIS_PROTO_CREATE_EXCLUSIVE, .attr = ATTR},
            .remove = {.path = TEXT("/a"),
                       .type = THEMIS_PROTO_FILE,
                       .renamed = TEXT("/b"),
                       .object = 5,
                       .generation = 6,
                       .rename = 7},
            .rename_end = {TEXT("/b"), 7},
            .setattr = {TEXT("/a"), 7, 0600, 2, 3, 4, LAYOUT},
            .entry = {TEXT("/d"), TEXT("n"), THEMIS_PROTO_FILE},
            .added = {LAYOUT, 02755, 7},
            .setxattr = {TEXT("/a"), TEXT("user.a"), THEMIS_PROTO_XATTR_CREATE, TEXT("value")},
            .readdir = {TEXT("/d"), TEXT("n"), 100},
            .io = {5, CAPABILITY, 3, {1, 2, 3}, 2, (const uint8_t *)runs},
            .io_done = {1, 2},
            .resize = {1, CAPABILITY, 2},
            .touch = {1, CAPABILITY, 2},
            .range = {1, CAPABILITY, 2, 3},
            .object = {1, CAPABILITY},
            .unmap = {1},
            .size = {1, 2, 3, 2, (const uint8_t *)listed},
            .map = {1, CAPABILITY, 2, 3, 1, 0},
            .mapped = {1, 2, {1, 64}, {1, 4096}, 2, (const uint8_t *)extents},
            .segment = {1, 1 << 20},
            .lock = {1, CAPABILITY, 2, 3, 4, 1, 1, 0, THEMIS_PROTO_LOCK_ADD},
            .granted = {3},
            .counter = {1, CAPABILITY, THEMIS_PROTO_COUNTER_ADD, 3},
            .counted = {3},
            .text = {TEXT("jobs")},
            .table = {1, 2, 3, 4, TEXT("fifo"), 5, 2, 2, (const uint8_t *)rows, 0},
            .settle = {4, (const uint8_t *)steps, 0},
            .settled = {3, (const uint8_t *)ends},
            .enlist = {1, CAPABILITY, 1, 2, (const uint8_t *)listed},
            .enlisted = {UINT32_MAX}};

static const char *directory;
static int failed;

static void seed_write(const char *name, int kind, unsigned opcode, int status, const void *body)
{
    const themis_proto_header_t header = {
        .kind = (themis_proto_kind_t)kind, .opcode = (uint16_t)opcode, .id = 7, .status = status};
    static uint8_t bytes[4096];
    themis_proto_header_t header_again;
    themis_proto_body_t body_again;
    char path[4096];
    size_t length;

    themis_status_t result = themis_proto_encode(&header, body, bytes, sizeof bytes, &length);
    if (result == THEMIS_OK)
        result = themis_proto_decode(bytes, length, &header_again, &body_again);
    snprintf(path, sizeof path, "%s/%s-%s", directory, name, kind == THEMIS_PROTO_REQUEST ? "request" : "reply");
    FILE *file = result == THEMIS_OK ? fopen(path, "w") : NULL;
    if (!file || fwrite(bytes, 1, length, file) != length) {
        fprintf(stderr, "%s: %s\n", path, themis_status_string(result));
        failed = 1;
    }
    if (file && fclose(file) != 0)
        failed = 1;
}

static void lists_make(void)
{
    const themis_proto_text_t name = TEXT("user.a"), value = TEXT("1");
    size_t entries = 0, xattrs = 0;

    themis_proto_entries_add(entry_bytes, sizeof entry_bytes, &entries, "a", 1, THEMIS_PROTO_FILE);
    themis_proto_entries_add(entry_bytes, sizeof entry_bytes, &entries, "bc", 2, THEMIS_PROTO_DIRECTORY);
    bodies.entries = (themis_proto_entries_t){2, 1, entry_bytes, (uint32_t)entries};
    themis_proto_xattrs_add(xattr_bytes, sizeof xattr_bytes, &xattrs, &name, &value);
    bodies.extra = (themis_proto_extra_t){TEXT("../x"), {1, xattr_bytes, (uint32_t)xattrs}};
}

/* What one body of a kind leaves out. */
static void others_write(void)
{
    themis_proto_create_t create = bodies.create;

    create.extra.xattrs = bodies.extra.xattrs;
    seed_write("CREATE-xattrs", THEMIS_PROTO_REQUEST, THEMIS_OP_CREATE, 0, &create);
    create.extra = (themis_proto_extra_t){.target = TEXT("../x")};
    create.attr.type = THEMIS_PROTO_SYMLINK;
    create.attr.target = create.extra.target.length;
    seed_write("CREATE-link", THEMIS_PROTO_REQUEST, THEMIS_OP_CREATE, 0, &create);
    create = bodies.create;
    create.flags = THEMIS_PROTO_CREATE_ADOPT | THEMIS_PROTO_CREATE_REPLACE;
    create.origin = (themis_proto_text_t)TEXT("/b");
    seed_write("CREATE-rename", THEMIS_PROTO_REQUEST, THEMIS_OP_CREATE, 0, &create);
    const themis_proto_remove_t remove = {.path = TEXT("/a"), .type = THEMIS_PROTO_DIRECTORY};
    seed_write("REMOVE-any", THEMIS_PROTO_REQUEST, THEMIS_OP_REMOVE, 0, &remove);
    const themis_proto_text_body_t question = {TEXT("names /a%20b")};
    seed_write("CHECK-names", THEMIS_PROTO_REQUEST, THEMIS_OP_CHECK, 0, &question);
    seed_write("failed", THEMIS_PROTO_REPLY, THEMIS_OP_WRITE, THEMIS_NO_SPACE, &bodies.text);
}

int main(int argc, char **argv)
{
    if (argc != 2) {
        fprintf(stderr, "usage: proto_seeds DIRECTORY\n");
        return 2;
    }
    directory = argv[1];
    lists_make();
#define SEEDS_WRITE(name, number, request, reply)                                                                      \
    seed_write(#name, THEMIS_PROTO_REQUEST, THEMIS_OP_##name, 0, &bodies.request);                                     \
    seed_write(#name, THEMIS_PROTO_REPLY, THEMIS_OP_##name, 0, &bodies.reply);
    THEMIS_PROTO_OPCODES(SEEDS_WRITE)
    others_write();
    return failed;
}
