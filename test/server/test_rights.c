/* SPDX-License-Identifier: BSD-3-Clause */
/* What users may do, by requests as any program can send them: no client library stands in between. */
#define _GNU_SOURCE
#include <check.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "server/access.h"
#include "server/capability_key.h"
#include "store/store.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

enum { ALICE = 4001, MALLORY = 65534, BYTES = 8192 };

static const themis_proto_opcode_t object_opcodes[] = {
    THEMIS_OP_READ, THEMIS_OP_WRITE,   THEMIS_OP_TRUNCATE, THEMIS_OP_ALLOCATE, THEMIS_OP_SIZE,    THEMIS_OP_SYNC,
    THEMIS_OP_MAP,  THEMIS_OP_DESTROY, THEMIS_OP_LOCK,     THEMIS_OP_UNLOCK,   THEMIS_OP_COUNTER, THEMIS_OP_TOUCH};
enum { OBJECT_OPCODES = sizeof object_opcodes / sizeof *object_opcodes };

static themis_server_t *server;
static rig_client_t *alice, *mallory, *root;
static uint8_t bytes[BYTES];

/* --- the scene ---------------------------------------------------------------------------------------------------- */

/* A client of another user: the kernel tells the server who connects. */
static rig_client_t *client_open(uint32_t user, uint64_t session)
{
    ck_assert_int_eq(setegid(user), 0);
    ck_assert_int_eq(seteuid(user), 0);
    rig_client_t *client = rig_client_open(server, session, "job");
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(setegid(0), 0);
    client->raw = 1;
    return client;
}

static void change_nothing(themis_server_config_t *config)
{
}

static void scene_start(void (*change)(themis_server_config_t *config))
{
    server = rig_server_start(change);
    alice = client_open(ALICE, 1);
    mallory = client_open(MALLORY, 2);
    root = client_open(0, 3);
    rig_fill(bytes, sizeof bytes, 1);
}

static void scene_end(void)
{
    rig_client_close(alice, 1);
    rig_client_close(mallory, 1);
    rig_client_close(root, 1);
    rig_server_stop(server);
}

static void set_up(void)
{
    scene_start(change_nothing);
}

/* --- requests ----------------------------------------------------------------------------------------------------- */

static themis_status_t create(rig_client_t *client, const char *path, uint32_t mode, themis_proto_attr_t *attr)
{
    themis_proto_create_t request = {
        .path = rig_text(path), .attr = {.type = THEMIS_PROTO_FILE, .mode = mode, .layout = {.first = UINT32_MAX}}};
    themis_status_t status = rig_call(client, THEMIS_OP_CREATE, &request);

    if (status == THEMIS_OK)
        *attr = client->body.attr;
    return status;
}

static themis_status_t lookup(rig_client_t *client, const char *path, uint32_t rights, themis_proto_attr_t *attr)
{
    themis_proto_lookup_t request = {rig_text(path), rights};
    themis_status_t status = rig_call(client, THEMIS_OP_LOOKUP, &request);

    if (status == THEMIS_OK)
        *attr = client->body.attr;
    return status;
}

static themis_status_t set_mode(rig_client_t *client, const char *path, uint32_t mode)
{
    themis_proto_setattr_t request = {.path = rig_text(path), .mask = THEMIS_PROTO_SET_MODE, .mode = mode};

    return rig_call(client, THEMIS_OP_SETATTR, &request);
}

static themis_status_t removed(rig_client_t *client, const char *path)
{
    themis_proto_remove_t request = {rig_text(path), THEMIS_PROTO_FILE};

    return rig_call(client, THEMIS_OP_REMOVE, &request);
}

static themis_status_t adopt(rig_client_t *client, const char *path, uint32_t flags, const themis_proto_attr_t *attr)
{
    themis_proto_create_t request = {.path = rig_text(path), .flags = THEMIS_PROTO_CREATE_ADOPT | flags, .attr = *attr};

    return rig_call(client, THEMIS_OP_CREATE, &request);
}

static themis_status_t move_bytes(rig_client_t *client, themis_proto_opcode_t opcode, const themis_proto_attr_t *attr,
                                  void *memory)
{
    themis_proto_run_t run = {0, BYTES, BYTES, 1};
    themis_proto_io_t io = {
        .object = attr->id, .capability = attr->capability, .runs = 1, .run_bytes = (const uint8_t *)&run};
    themis_net_exposed_t *exposed = rig_expose(client, memory, BYTES, opcode == THEMIS_OP_READ, &io);
    themis_status_t status = rig_call(client, opcode, &io);

    themis_net_exposed_flush(exposed);
    themis_net_unexpose(exposed);
    return status;
}

/* Any request about an object, with the id and the capability of these attributes. */
static themis_status_t request(rig_client_t *client, themis_proto_opcode_t opcode, const themis_proto_attr_t *attr)
{
    static uint8_t memory[BYTES];
    themis_proto_body_t body = {.map = {.length = BYTES, .allocate = 1, .listed = 1}};

    if (opcode == THEMIS_OP_READ || opcode == THEMIS_OP_WRITE)
        return move_bytes(client, opcode, attr, memory);
    if (opcode == THEMIS_OP_TRUNCATE)
        body.resize = (themis_proto_resize_t){.size = 1};
    if (opcode == THEMIS_OP_LOCK || opcode == THEMIS_OP_UNLOCK)
        body.lock = (themis_proto_lock_t){.length = 1, .owner = 1};
    if (opcode == THEMIS_OP_COUNTER)
        body.counter = (themis_proto_counter_t){.action = THEMIS_PROTO_COUNTER_ADD, .value = 1};
    body.object = (themis_proto_object_t){attr->id, attr->capability};
    themis_status_t status = rig_call(client, opcode, &body);
    if (opcode == THEMIS_OP_MAP && status == THEMIS_OK)
        return client->body.mapped.grant ? THEMIS_OK : THEMIS_ACCESS;
    return status;
}

static void refuse_all(rig_client_t *client, const themis_proto_attr_t *attr)
{
    for (int i = 0; i < OBJECT_OPCODES; i++)
        ck_assert_msg(request(client, object_opcodes[i], attr) == THEMIS_ACCESS, "%s is not refused",
                      themis_proto_opcode_name(object_opcodes[i]));
}

/* The bytes are still there, and what the owner's capability gives is, too. */
static void check_bytes(rig_client_t *client, const themis_proto_attr_t *attr)
{
    static uint8_t seen[BYTES];

    memset(seen, 0, sizeof seen);
    ck_assert_int_eq(move_bytes(client, THEMIS_OP_READ, attr, seen), THEMIS_OK);
    ck_assert_mem_eq(seen, bytes, sizeof bytes);
}

/* A file of alice's, with bytes. */
static themis_proto_attr_t file_of_alice(const char *path, uint32_t mode)
{
    themis_proto_attr_t attr;

    ck_assert_int_eq(create(alice, path, mode, &attr), THEMIS_OK);
    ck_assert_int_eq(move_bytes(alice, THEMIS_OP_WRITE, &attr, bytes), THEMIS_OK);
    return attr;
}

/* --- objects ------------------------------------------------------------------------------------------------------ */

TEST(another_users_file_is_closed_to_every_request)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600), own, found, with;

    ck_assert_int_eq(lookup(mallory, "/f", 0, &found), THEMIS_OK);
    ck_assert(found.id == 0 && found.capability.rights == 0);
    for (uint32_t right = 1; right <= THEMIS_PROTO_RIGHT_SIZE; right *= 2)
        ck_assert_int_eq(lookup(mallory, "/f", right, &found), THEMIS_ACCESS);
    refuse_all(mallory, &(themis_proto_attr_t){.id = file.id}); /* without a capability */
    refuse_all(mallory, &file);                                 /* with the owner's */
    ck_assert_int_eq(create(mallory, "/own", 0600, &own), THEMIS_OK);
    own.id = file.id;
    refuse_all(mallory, &own); /* with one of another file */
    with = file;
    with.capability.uid = MALLORY;
    refuse_all(mallory, &with); /* with one that another was made of */
    ck_assert_int_eq(removed(mallory, "/f"), THEMIS_ACCESS);
    ck_assert_int_eq(set_mode(mallory, "/f", 0666), THEMIS_ACCESS);
    check_bytes(alice, &file);
}

TEST(altered_capabilities_are_refused)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600), altered;
    unsigned char *at = (unsigned char *)&altered.capability;

    for (size_t i = 0; i < sizeof file.capability; i++) {
        altered = file;
        at[i] ^= 0x10;
        if ((altered.capability.rights & ~(uint32_t)THEMIS_PROTO_RIGHTS) == 0)
            ck_assert_int_eq(request(alice, THEMIS_OP_READ, &altered), THEMIS_ACCESS);
    }
    altered = file;
    altered.capability.rights |= THEMIS_PROTO_RIGHT_DESTROY;
    ck_assert_int_eq(request(alice, THEMIS_OP_DESTROY, &altered), THEMIS_ACCESS);
    check_bytes(alice, &file);
}

/* The second capability was given with a longer lifetime, as by a server that has not been reloaded yet. */
static void short_lifetime(themis_server_config_t *config)
{
    config->capability_lifetime = THEMIS_NS_PER_S;
}

TEST(aged_capabilities_are_refused)
{
    themis_proto_attr_t file, found;

    scene_start(short_lifetime);
    file = file_of_alice("/f", 0600);
    check_bytes(alice, &file);
    found = file;
    themis_server_capabilities_sign(rig_capabilities(), ALICE, &found);
    ck_assert_int_eq(request(alice, THEMIS_OP_READ, &found), THEMIS_OK);
    ck_assert_int_eq(request(alice, THEMIS_OP_LOCK, &file), THEMIS_OK);
    usleep(1200000);
    for (int i = 0; i < OBJECT_OPCODES; i++) {
        themis_status_t status = request(alice, object_opcodes[i], &file);
        if (object_opcodes[i] == THEMIS_OP_UNLOCK) /* what is held can always be given back */
            ck_assert_int_eq(status, THEMIS_OK);
        else if (object_opcodes[i] == THEMIS_OP_MAP || object_opcodes[i] == THEMIS_OP_DESTROY)
            ck_assert_int_eq(status, THEMIS_ACCESS);
        else
            ck_assert_int_eq(status, THEMIS_EXPIRED);
    }
    ck_assert_int_eq(lookup(alice, "/f", THEMIS_PROTO_RIGHT_READ, &file), THEMIS_OK);
    check_bytes(alice, &file);
    scene_end();
}

enum {
    READER = THEMIS_PROTO_RIGHT_READ | THEMIS_PROTO_RIGHT_LOCK | THEMIS_PROTO_RIGHT_SIZE,
    WRITER = THEMIS_PROTO_RIGHT_WRITE | THEMIS_PROTO_RIGHT_TRUNCATE | THEMIS_PROTO_RIGHT_LOCK |
             THEMIS_PROTO_RIGHT_TOUCH | THEMIS_PROTO_RIGHT_SIZE,
    OWNER = THEMIS_PROTO_RIGHT_OWNER
};

TEST(the_mode_decides_about_rights)
{
    static const struct {
        uint32_t mode, owner, other;
    } cases[] = {{0600, READER | WRITER, 0},
                 {0644, READER | WRITER, READER},
                 {0622, READER | WRITER, WRITER},
                 {0400, READER, 0},
                 {0200, WRITER, 0},
                 {0006, THEMIS_PROTO_RIGHT_SIZE, READER | WRITER},
                 {0000, THEMIS_PROTO_RIGHT_SIZE, 0}};
    themis_proto_attr_t file = file_of_alice("/f", 0600), found;

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(set_mode(alice, "/f", cases[i].mode), THEMIS_OK);
        ck_assert_uint_eq(alice->body.attr.capability.rights, cases[i].owner | OWNER);
        ck_assert_int_eq(lookup(alice, "/f", 0, &found), THEMIS_OK);
        ck_assert_uint_eq(found.capability.rights, cases[i].owner | OWNER);
        ck_assert_int_eq(lookup(mallory, "/f", 0, &found), THEMIS_OK);
        ck_assert_uint_eq(found.capability.rights, cases[i].other);
        ck_assert_uint_eq(found.id, cases[i].other ? file.id : 0);
        ck_assert_int_eq(lookup(root, "/f", 0, &found), THEMIS_OK);
        ck_assert_uint_eq(found.capability.rights, READER | WRITER);
    }
    check_bytes(alice, &file); /* an open file keeps the rights that it was opened with */
}

/* What each right allows. */
TEST(a_right_allows_its_requests_and_no_others)
{
    static const struct {
        themis_proto_opcode_t opcode;
        int reader, writer;
    } cases[] = {{THEMIS_OP_READ, 1, 0},     {THEMIS_OP_WRITE, 0, 1},   {THEMIS_OP_ALLOCATE, 0, 1},
                 {THEMIS_OP_TRUNCATE, 0, 1}, {THEMIS_OP_SIZE, 1, 1},    {THEMIS_OP_SYNC, 1, 1},
                 {THEMIS_OP_MAP, 0, 0},      {THEMIS_OP_LOCK, 1, 1},    {THEMIS_OP_UNLOCK, 1, 1},
                 {THEMIS_OP_COUNTER, 0, 1},  {THEMIS_OP_DESTROY, 0, 0}, {THEMIS_OP_TOUCH, 0, 1}};
    themis_proto_attr_t reader, writer;

    file_of_alice("/r", 0604);
    file_of_alice("/w", 0602);
    ck_assert_int_eq(lookup(mallory, "/r", THEMIS_PROTO_RIGHT_READ, &reader), THEMIS_OK);
    ck_assert_int_eq(lookup(mallory, "/w", THEMIS_PROTO_RIGHT_WRITE, &writer), THEMIS_OK);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        ck_assert_int_eq(request(mallory, cases[i].opcode, &reader), cases[i].reader ? THEMIS_OK : THEMIS_ACCESS);
        ck_assert_int_eq(request(mallory, cases[i].opcode, &writer), cases[i].writer ? THEMIS_OK : THEMIS_ACCESS);
    }
    themis_proto_lock_t lock = {.object = reader.id, .capability = reader.capability, .length = 1, .exclusive = 1};
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_LOCK, &lock), THEMIS_ACCESS);
    themis_proto_counter_t counter = {
        .object = reader.id, .capability = reader.capability, .action = THEMIS_PROTO_COUNTER_GET};
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_COUNTER, &counter), THEMIS_OK);
    counter.action = THEMIS_PROTO_COUNTER_SET;
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_COUNTER, &counter), THEMIS_ACCESS);
}

static void direct_always(themis_server_config_t *config)
{
    strcpy(config->direct, "on");
}

/* May this user's processes map the object's memory? */
static themis_status_t pin(const themis_proto_attr_t *attr, uint32_t user)
{
    themis_store_object_t *object;
    themis_store_location_t cell;

    ck_assert_int_eq(themis_store_open(server->store, attr->id, 0, user, &object), THEMIS_OK);
    themis_status_t status = themis_store_pin(server->store, object, user, &cell);
    if (status == THEMIS_OK)
        themis_store_unpin(server->store, object, &cell);
    themis_store_close(server->store, object);
    return status;
}

/* Else the one who has written first could read the file after its owner has closed it to him. */
TEST(memory_is_that_of_the_owner_or_of_nobody)
{
    static const themis_proto_opcode_t makers[] = {THEMIS_OP_WRITE, THEMIS_OP_ALLOCATE, THEMIS_OP_TRUNCATE};
    themis_proto_attr_t file, found;

    scene_start(direct_always);
    file = file_of_alice("/own", 0600);
    ck_assert_int_eq(pin(&file, ALICE), THEMIS_OK);
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++) {
        char path[] = {'/', (char)('a' + i), 0};
        ck_assert_int_eq(create(alice, path, 0666, &file), THEMIS_OK);
        ck_assert_int_eq(lookup(mallory, path, READER | WRITER, &found), THEMIS_OK);
        ck_assert_int_eq(request(mallory, THEMIS_OP_MAP, &found), THEMIS_ACCESS);
        ck_assert_int_eq(request(mallory, makers[i], &found), THEMIS_OK);
        ck_assert_int_eq(pin(&found, MALLORY), THEMIS_UNSUPPORTED);
        ck_assert_int_eq(pin(&found, ALICE), THEMIS_UNSUPPORTED);
        ck_assert_int_eq(request(alice, THEMIS_OP_WRITE, &file), THEMIS_OK);
    }
    ck_assert_int_eq(lookup(mallory, "/a", OWNER, &found), THEMIS_ACCESS);
    scene_end();
}

static themis_status_t enlist(rig_client_t *client, const themis_proto_attr_t *attr, uint64_t store, int drop)
{
    const themis_proto_listed_t entry = {1, store};
    const themis_proto_enlist_t body = {.object = attr->id,
                                        .capability = attr->capability,
                                        .drop = (uint8_t)drop,
                                        .count = 1,
                                        .list = (const uint8_t *)&entry};

    return rig_call(client, THEMIS_OP_ENLIST, &body);
}

/* As in POSIX: the mode is for those who open the file later. */
TEST(who_makes_a_file_may_write_it)
{
    themis_proto_attr_t file = file_of_alice("/f", 0400), again;

    check_bytes(alice, &file);
    ck_assert_int_eq(create(alice, "/f", 0600, &again), THEMIS_OK);
    ck_assert_int_eq(request(alice, THEMIS_OP_WRITE, &again), THEMIS_ACCESS);
}

TEST(setting_the_time_gives_the_right_to_it)
{
    themis_proto_setattr_t set = {.path = rig_text("/f"), .mask = THEMIS_PROTO_SET_MODIFIED, .modified = 1};

    file_of_alice("/f", 0400);
    ck_assert_int_eq(rig_call(alice, THEMIS_OP_SETATTR, &set), THEMIS_OK);
    ck_assert_uint_eq(alice->body.attr.capability.rights, OWNER | READER | THEMIS_PROTO_RIGHT_TOUCH);
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_SETATTR, &set), THEMIS_ACCESS);
}

TEST(root_needs_no_capability)
{
    themis_proto_attr_t file = file_of_alice("/f", 0), none = {.id = file.id};

    check_bytes(root, &none);
    for (int i = 0; i < OBJECT_OPCODES; i++)
        if (object_opcodes[i] != THEMIS_OP_MAP) /* the memory is alice's */
            ck_assert_int_eq(request(root, object_opcodes[i], &none), object_opcodes[i] == THEMIS_OP_COUNTER
                                                                          ? THEMIS_STALE /* after DESTROY */
                                                                          : THEMIS_OK);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

TEST(bytes_go_only_with_their_name)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600), gone;

    ck_assert_int_eq(request(alice, THEMIS_OP_DESTROY, &file), THEMIS_ACCESS);
    ck_assert_int_eq(removed(alice, "/f"), THEMIS_OK);
    gone = alice->body.attr;
    ck_assert_uint_eq(gone.capability.rights, THEMIS_PROTO_RIGHT_DESTROY);
    ck_assert_int_eq(request(mallory, THEMIS_OP_DESTROY, &gone), THEMIS_ACCESS);
    check_bytes(alice, &file);
    ck_assert_int_eq(request(alice, THEMIS_OP_DESTROY, &gone), THEMIS_OK);
}

TEST(invented_attributes_are_not_adopted)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600), invented = file, own, proof;

    invented.uid = invented.capability.uid = MALLORY;
    ck_assert_int_eq(create(mallory, "/own", 0600, &own), THEMIS_OK);
    for (int i = 0; i < 2; i++) {
        uint32_t flags = i ? THEMIS_PROTO_CREATE_REPLACE : 0;
        ck_assert_int_eq(adopt(mallory, "/mine", flags, &invented), THEMIS_ACCESS);
        ck_assert_int_eq(adopt(mallory, "/own", flags, &invented), THEMIS_ACCESS);
        ck_assert_int_eq(adopt(mallory, "/mine", flags, &own), THEMIS_ACCESS); /* without the right to rename */
        ck_assert_int_eq(adopt(alice, "/mine", flags, &file), THEMIS_ACCESS);
    }
    ck_assert_int_eq(lookup(mallory, "/own", THEMIS_PROTO_RIGHT_RENAME, &proof), THEMIS_OK);
    invented = proof;
    invented.id = file.id;
    ck_assert_int_eq(adopt(mallory, "/mine", 0, &invented), THEMIS_ACCESS);
    memcpy(&invented.capability, &file.capability, sizeof file.capability);
    ck_assert_int_eq(adopt(mallory, "/mine", 0, &invented), THEMIS_ACCESS);
    check_bytes(alice, &file);
}

TEST(sealed_attributes_cannot_be_changed)
{
    themis_proto_attr_t proof, altered;

    file_of_alice("/f", 0600);
    ck_assert_int_eq(lookup(alice, "/f", THEMIS_PROTO_RIGHT_RENAME, &proof), THEMIS_OK);
    ck_assert_int_eq(adopt(mallory, "/g", 0, &proof), THEMIS_ACCESS);
    for (int i = 0; i < 9; i++) {
        altered = proof;
        altered.id += i == 0;
        altered.mode ^= i == 1;
        altered.gid += i == 2;
        altered.created += i == 3;
        altered.modified += i == 4;
        altered.layout.stripe_size += i == 5 ? 4096 : 0;
        altered.capability.expires += i == 6;
        altered.seal[15] ^= i == 7;
        altered.generation += i == 8;
        ck_assert_int_eq(adopt(alice, "/g", 0, &altered), THEMIS_ACCESS);
    }
    ck_assert_int_eq(adopt(alice, "/g", 0, &proof), THEMIS_OK);
    check_bytes(alice, &alice->body.attr);
    ck_assert_int_eq(lookup(alice, "/g", 0, &altered), THEMIS_OK);
    ck_assert(altered.id == proof.id && altered.uid == ALICE && altered.mode == 0600);
}

/* A symbolic link cannot claim to be another user's file. */
TEST(links_keep_their_own_ids)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600), proof, altered;
    const themis_proto_extra_t extra = {.target = rig_text("target")};
    themis_proto_create_t link = {
        .path = rig_text("/link"), .attr = {.type = THEMIS_PROTO_SYMLINK, .mode = 0777}, .extra = extra};

    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_CREATE, &link), THEMIS_OK);
    ck_assert_int_eq(lookup(mallory, "/link", THEMIS_PROTO_RIGHT_RENAME, &proof), THEMIS_OK);
    link = (themis_proto_create_t){
        .path = rig_text("/other"), .flags = THEMIS_PROTO_CREATE_ADOPT, .attr = proof, .extra = extra};
    link.attr.id = file.id;
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_CREATE, &link), THEMIS_ACCESS);
    ck_assert_int_eq(lookup(mallory, "/link", 0, &link.attr), THEMIS_OK);
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_CREATE, &link), THEMIS_ACCESS);
    link.attr = proof;
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_CREATE, &link), THEMIS_OK);
    ck_assert_int_eq(lookup(mallory, "/other", 0, &altered), THEMIS_OK);
    ck_assert(altered.id == proof.id && altered.id != file.id && altered.type == THEMIS_PROTO_SYMLINK);
}

/* An administrator's repair does not remove what is no file. */
TEST(only_names_of_files_are_superfluous)
{
    const themis_proto_create_t link = {.path = rig_text("/link"),
                                        .attr = {.type = THEMIS_PROTO_SYMLINK, .mode = 0777},
                                        .extra = {.target = rig_text("target")}};
    themis_proto_attr_t file = file_of_alice("/f", 0600);
    char question[128];

    ck_assert_int_eq(rig_call(alice, THEMIS_OP_CREATE, &link), THEMIS_OK);
    for (int i = 0; i < 2; i++) {
        const themis_proto_attr_t attr = i ? file : alice->body.attr;
        snprintf(question, sizeof question, "unname %s %" PRIu64 " %" PRIu64, i ? "/f" : "/link", attr.id,
                 attr.generation);
        const themis_proto_text_body_t repair = {rig_text(question)};
        ck_assert_int_eq(rig_call(root, THEMIS_OP_CHECK, &repair), i ? THEMIS_OK : THEMIS_INVALID);
    }
}

/* Who is not told the id of a file is not told its generation, which may be the same. */
TEST(a_generation_is_hidden_like_an_id)
{
    themis_proto_attr_t attr;

    file_of_alice("/f", 0600);
    ck_assert_int_eq(lookup(alice, "/f", 0, &attr), THEMIS_OK);
    ck_assert(attr.id != 0 && attr.generation != 0);
    ck_assert_int_eq(lookup(mallory, "/f", 0, &attr), THEMIS_OK);
    ck_assert(attr.id == 0 && attr.generation == 0);
}

/* The reply gives what the client needs to destroy the bytes that it has replaced, and no more. */
TEST(a_replaced_file_can_be_destroyed)
{
    themis_proto_attr_t old = file_of_alice("/old", 0600), file = file_of_alice("/f", 0600), proof, replaced;

    ck_assert_int_eq(lookup(alice, "/f", THEMIS_PROTO_RIGHT_RENAME, &proof), THEMIS_OK);
    ck_assert_int_eq(adopt(alice, "/old", THEMIS_PROTO_CREATE_REPLACE, &proof), THEMIS_OK);
    replaced = alice->body.attr;
    ck_assert(replaced.id == old.id && !replaced.fresh);
    ck_assert_int_eq(adopt(alice, "/old", THEMIS_PROTO_CREATE_REPLACE, &replaced), THEMIS_ACCESS);
    ck_assert_int_eq(request(alice, THEMIS_OP_DESTROY, &replaced), THEMIS_OK);
    check_bytes(alice, &file);
}

TEST(a_closed_directory_hides_what_is_in_it)
{
    themis_proto_create_t directory = {.path = rig_text("/d"), .attr = {.type = THEMIS_PROTO_DIRECTORY, .mode = 0700}};
    themis_proto_entry_t entry = {rig_text("/d"), rig_text("g"), THEMIS_PROTO_FILE};
    themis_proto_attr_t file, attr;

    directory.attr.layout.first = UINT32_MAX;
    ck_assert_int_eq(rig_call(alice, THEMIS_OP_CREATE, &directory), THEMIS_OK);
    file = file_of_alice("/d/f", 0666);
    ck_assert_int_eq(lookup(mallory, "/d/f", 0, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(create(mallory, "/d/f", 0666, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(create(mallory, "/d/g", 0666, &attr), THEMIS_ACCESS);
    ck_assert_int_eq(removed(mallory, "/d/f"), THEMIS_ACCESS);
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_ENTRY_ADD, &entry), THEMIS_ACCESS);
    ck_assert_int_eq(set_mode(mallory, "/d", 0777), THEMIS_ACCESS);
    refuse_all(mallory, &(themis_proto_attr_t){.id = file.id});
    check_bytes(alice, &file);
}

/* --- keys --------------------------------------------------------------------------------------------------------- */

static void without_key(themis_server_config_t *config)
{
    close(config->key_fd);
    config->key_fd = -1;
    strcpy(config->key, "none");
}

/* What servers do to each other's names and objects, and what administrators may see and mend. */
TEST(clients_settle_nothing)
{
    themis_proto_attr_t file = file_of_alice("/f", 0600);
    const themis_proto_settle_step_t step = {
        .action = THEMIS_PROTO_SETTLE_DESTROY, .object = file.id, .path = rig_text("/")};
    const themis_proto_settle_t settle = {.count = 1, .bytes = (const uint8_t *)&step};
    const themis_proto_text_body_t names_of_all = {rig_text("names")}, wrong = {rig_text("names x y z")};

    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_SETTLE, &settle), THEMIS_ACCESS);
    ck_assert_int_eq(rig_call(root, THEMIS_OP_SETTLE, &settle), THEMIS_ACCESS);
    ck_assert_int_eq(rig_call(mallory, THEMIS_OP_CHECK, &names_of_all), THEMIS_ACCESS);
    ck_assert_int_eq(rig_call(root, THEMIS_OP_CHECK, &wrong), THEMIS_INVALID);
    ck_assert_int_eq(rig_call(root, THEMIS_OP_CHECK, &names_of_all), THEMIS_OK);
    ck_assert_ptr_nonnull(memmem(root->body.text.text.bytes, root->body.text.text.length, " /f\n", strlen(" /f\n")));
    check_bytes(alice, &file);
}

static uint16_t stranger_port;

static void of_stranger(themis_server_config_t *config)
{
    config->index = 0;
    snprintf(config->servers, sizeof config->servers, "127.0.0.1:1,127.0.0.1:%u", stranger_port);
}

static void of_two(themis_server_config_t *config)
{
    config->index = 0;
    snprintf(config->servers, sizeof config->servers, "127.0.0.1:1,127.0.0.1:2");
}

/* No object is made of which the first server does not know; who may not write does not change what it knows. */
TEST(objects_are_listed_before_they_are_made)
{
    static const themis_proto_opcode_t makers[] = {THEMIS_OP_WRITE, THEMIS_OP_ALLOCATE, THEMIS_OP_TRUNCATE};
    themis_proto_attr_t file, found;

    scene_start(of_two);
    ck_assert_int_eq(create(alice, "/f", 0644, &file), THEMIS_OK);
    alice->is_unlisted = 1;
    for (size_t i = 0; i < sizeof makers / sizeof *makers; i++)
        ck_assert_int_eq(request(alice, makers[i], &file), THEMIS_NOT_LISTED);
    ck_assert_int_eq(request(alice, THEMIS_OP_SIZE, &file), THEMIS_OK);
    ck_assert(alice->header.flags == 0 && alice->body.size.listed == 0);
    alice->is_unlisted = 0;
    ck_assert_int_eq(request(alice, THEMIS_OP_WRITE, &file), THEMIS_OK);
    ck_assert_uint_eq(alice->header.flags, THEMIS_PROTO_FLAG_EXISTS);
    alice->is_unlisted = 1;
    ck_assert_int_eq(request(alice, THEMIS_OP_WRITE, &file), THEMIS_OK); /* it exists */
    ck_assert_int_eq(lookup(mallory, "/f", READER, &found), THEMIS_OK);
    ck_assert_int_eq(enlist(mallory, &found, 7, 0), THEMIS_ACCESS);
    ck_assert_int_eq(enlist(alice, &file, 7, 0), THEMIS_OK);
    ck_assert_uint_eq(alice->body.enlisted.lost, UINT32_MAX);
    ck_assert_int_eq(enlist(alice, &file, 8, 0), THEMIS_OK);
    ck_assert_uint_eq(alice->body.enlisted.lost, 1);
    ck_assert_int_eq(enlist(mallory, &found, 7, 1), THEMIS_ACCESS);
    ck_assert_int_eq(enlist(alice, &file, 7, 1), THEMIS_OK);
    ck_assert_int_eq(enlist(alice, &file, 8, 0), THEMIS_OK);
    ck_assert_int_eq(request(mallory, THEMIS_OP_SIZE, &found), THEMIS_OK);
    ck_assert_uint_eq(mallory->body.size.listed, 1);
    ck_assert_uint_eq(themis_proto_listed_get(mallory->body.size.list, 0).store, 8);
    scene_end();
}

/* A server with another list of servers is told to do nothing: what it has are other names. */
TEST(strangers_are_asked_nothing)
{
    themis_server_t *stranger = rig_server_start(change_nothing);
    themis_proto_attr_t file;
    int i = 0;

    stranger_port = stranger->port;
    scene_start(of_stranger);
    ck_assert_int_eq(create(alice, "/f", 0600, &file), THEMIS_OK);
    ck_assert_int_eq(removed(alice, "/f"), THEMIS_OK);
    const themis_proto_text_body_t question = {rig_text("intents")};
    do {
        ck_assert_int_eq(rig_call(root, THEMIS_OP_CHECK, &question), THEMIS_OK);
        usleep(50000);
    } while (memcmp(root->body.text.text.bytes, "1 0 ", 4) == 0 && i++ < 200);
    ck_assert_int_eq(memcmp(root->body.text.text.bytes, "1 1 ", 4), 0); /* one has failed */
    scene_end();
    rig_server_stop(stranger);
}

TEST(without_a_key_capabilities_are_not_checked)
{
    scene_start(without_key);
    themis_proto_attr_t file = file_of_alice("/f", 0600), found;
    check_bytes(mallory, &(themis_proto_attr_t){.id = file.id});
    /* names are as closed as with a key */
    ck_assert_int_eq(lookup(mallory, "/f", THEMIS_PROTO_RIGHT_READ, &found), THEMIS_ACCESS);
    file.uid = ALICE;
    ck_assert_int_eq(adopt(mallory, "/g", 0, &file), THEMIS_ACCESS);
    scene_end();
}

static void key_in_state(themis_server_config_t *config)
{
    close(config->key_fd);
    config->key_fd = -1;
    snprintf(config->state, sizeof config->state, "%s/state", test_scratch);
}

static void key_in_memory(themis_server_config_t *config)
{
    close(config->key_fd);
    config->key_fd = -1;
}

/* A server that is alone makes a key, which its state directory keeps. */
TEST(a_key_that_was_made_outlives_the_server)
{
    themis_proto_attr_t attr = {.id = 7, .capability.rights = READER}, other = attr;
    char path[512], why[256];
    themis_server_capability_key_t key;

    test_scratch_make();
    for (int i = 0; i < 2; i++) {
        server = rig_server_start(key_in_state);
        if (i == 0)
            themis_server_capabilities_sign(server->capabilities, ALICE, &attr);
        ck_assert_int_eq(themis_server_capabilities_check(server->capabilities, 7, &attr.capability, ALICE, READER),
                         THEMIS_OK);
        rig_server_stop(server);
    }
    snprintf(path, sizeof path, "%s/state/KEY", test_scratch);
    ck_assert_int_eq(themis_server_capability_key_read(path, &key, why, sizeof why), THEMIS_OK);
    ck_assert_uint_eq(key.length, THEMIS_SERVER_CAPABILITY_KEY_MIN);
    for (int i = 0; i < 2; i++) {
        server = rig_server_start(key_in_memory);
        ck_assert_int_eq(themis_server_capabilities_check(server->capabilities, 7, &attr.capability, ALICE, READER),
                         THEMIS_ACCESS);
        ck_assert_int_eq(themis_server_capabilities_check(server->capabilities, 7, &other.capability, ALICE, READER),
                         THEMIS_ACCESS);
        other.capability.rights = READER;
        themis_server_capabilities_sign(server->capabilities, ALICE, &other);
        rig_server_stop(server);
    }
    test_scratch_remove();
}

int main(void)
{
    Suite *suite = suite_create("rights");

    test_case(suite, "keys of servers", 30, NULL, NULL, TESTS({a_key_that_was_made_outlives_the_server, 1}));
    if (geteuid() != 0) {
        puts("the rest is skipped: only root can be other users");
        return test_run(suite);
    }
    test_case(suite, "objects", 30, set_up, scene_end,
              TESTS({another_users_file_is_closed_to_every_request, 1}, {altered_capabilities_are_refused, 1},
                    {the_mode_decides_about_rights, 1}, {a_right_allows_its_requests_and_no_others, 1},
                    {who_makes_a_file_may_write_it, 1}, {setting_the_time_gives_the_right_to_it, 1},
                    {root_needs_no_capability, 1}));
    test_case(suite, "names", 30, set_up, scene_end,
              TESTS({bytes_go_only_with_their_name, 1}, {invented_attributes_are_not_adopted, 1},
                    {sealed_attributes_cannot_be_changed, 1}, {links_keep_their_own_ids, 1},
                    {only_names_of_files_are_superfluous, 1}, {a_generation_is_hidden_like_an_id, 1},
                    {a_replaced_file_can_be_destroyed, 1}, {a_closed_directory_hides_what_is_in_it, 1},
                    {clients_settle_nothing, 1}));
    test_case(suite, "lifetime and none", 30, NULL, NULL,
              TESTS({aged_capabilities_are_refused, 1}, {strangers_are_asked_nothing, 1},
                    {objects_are_listed_before_they_are_made, 1}, {without_a_key_capabilities_are_not_checked, 1},
                    {memory_is_that_of_the_owner_or_of_nobody, 1}));
    return test_run(suite);
}
