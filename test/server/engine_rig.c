/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/core.h"
#include "test/server/engine_rig.h"
#include <check.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>
#include "server/capability_key.h"
#include "util/clock.h"
#include "util/config.h"
#include "util/log.h"

static const uint8_t key[THEMIS_SERVER_CAPABILITY_KEY_MIN] = "a key that only this program has";

themis_server_capabilities_t *rig_capabilities(void)
{
    static themis_server_capabilities_t *capabilities;

    if (!capabilities)
        ck_assert_int_eq(themis_server_capabilities_create(key, sizeof key, 24 * 3600 * THEMIS_NS_PER_S, &capabilities),
                         THEMIS_OK);
    return capabilities;
}

themis_server_t *rig_server_start(void (*change)(themis_server_config_t *config))
{
    static themis_server_config_t config;
    themis_server_t *server;
    char error[1024];

    themis_util_config_env_default("UCX_NET_DEVICES", "lo");
    themis_util_log_set_level(THEMIS_LOG_ERROR);
    themis_server_config_init(&config);
    config.port = 0;
    config.size = 64 << 20;
    config.warm = 0;
    config.drain = 2 * THEMIS_NS_PER_S;
    strcpy(config.listen, "127.0.0.1");
    strcpy(config.auth, "none");
    config.key_fd = memfd_create("key", MFD_CLOEXEC);
    ck_assert_int_eq(write(config.key_fd, key, sizeof key), sizeof key);
    if (change)
        change(&config);
    ck_assert_int_eq(themis_server_config_check(&config, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_create(&config, &server), THEMIS_OK);
    server->net->options.emulate_hosts = 1;
    ck_assert_int_eq(themis_server_start(server), THEMIS_OK);
    return server;
}

void rig_server_stop(themis_server_t *server)
{
    themis_server_drain_start(server);
    themis_server_engine_join(server);
    themis_server_destroy(server);
}

uint32_t rig_in_service(themis_server_t *server)
{
    pthread_mutex_lock(&server->lock);
    uint32_t count = server->slices.in_service;
    pthread_mutex_unlock(&server->lock);
    return count;
}

void rig_fill(uint8_t *bytes, size_t length, unsigned seed)
{
    for (size_t i = 0; i < length; i++)
        bytes[i] = (uint8_t)(rand_r(&seed) >> 7);
}

static uint64_t id_of(const void *bytes, size_t length)
{
    themis_proto_header_t header;
    themis_proto_body_t body;

    return themis_proto_decode(bytes, length, &header, &body) == THEMIS_OK ? header.id : 0;
}

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    rig_client_t *client = arg;

    ck_assert_uint_le(length, sizeof client->bytes);
    if (client->descriptor >= 0)
        close(client->descriptor);
    client->descriptor = themis_net_take_descriptor(conn);
    client->replies++;
    if (client->replied && client->awaited && id_of(client->bytes, client->length) == client->awaited)
        return; /* several came at once */
    memcpy(client->bytes, bytes, length);
    client->length = length;
    client->replied = 1;
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    ((rig_client_t *)arg)->closed = 1;
}

static const themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};

themis_proto_text_t rig_text(const char *bytes)
{
    return (themis_proto_text_t){.bytes = bytes, .length = (uint32_t)strlen(bytes)};
}

static void say_hello(rig_client_t *client, const char *job)
{
    themis_proto_hello_t hello = {.session = client->session,
                                  .job = rig_text(job),
                                  .uid = getuid(),
                                  .gid = getgid(),
                                  .nodes = 1,
                                  .priority = 1,
                                  .host = rig_text("here"),
                                  .pid = (uint32_t)getpid(),
                                  .policy = rig_text("")};

    ck_assert_int_eq(rig_call(client, THEMIS_OP_HELLO, &hello), THEMIS_OK);
    ck_assert_uint_ge(client->body.welcome.servers, 1);
}

static rig_client_t *open_client(const themis_server_t *server, uint64_t session, const char *job,
                                 const themis_net_options_t *options)
{
    rig_client_t *client = calloc(1, sizeof *client);

    client->uid = geteuid();
    client->session = session;
    client->descriptor = -1;
    client->next_id = 1;
    ck_assert_int_eq(themis_net_create(options, &handlers, client, &client->net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", server->port, 10 * THEMIS_NS_PER_S, &client->conn),
                     THEMIS_OK);
    if (session)
        say_hello(client, job);
    return client;
}

rig_client_t *rig_client_open(const themis_server_t *server, uint64_t session, const char *job)
{
    return open_client(server, session, job, NULL);
}

rig_client_t *rig_client_open_far(const themis_server_t *server, uint64_t session, const char *job)
{
    static const themis_net_options_t options = {.spin = 20000, .yield = 1, .auth = {.kind = THEMIS_NET_AUTH_NONE}};

    return open_client(server, session, job, &options);
}

void rig_client_close(rig_client_t *client, int goodbye)
{
    static const themis_proto_none_t none;

    if (goodbye)
        rig_call(client, THEMIS_OP_GOODBYE, &none);
    themis_net_conn_close(client->conn);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    if (client->descriptor >= 0)
        close(client->descriptor);
    free(client);
}

static size_t object_body_bytes(themis_proto_opcode_t opcode)
{
    switch (opcode) {
#define CASE(name, body)                                                                                               \
    case THEMIS_OP_##name:                                                                                             \
        return sizeof(themis_proto_##body##_t);
        CASE(READ, io)
        CASE(WRITE, io)
        CASE(TRUNCATE, resize)
        CASE(ALLOCATE, range)
        CASE(SIZE, object)
        CASE(SYNC, object)
        CASE(DESTROY, object)
        CASE(MAP, map)
        CASE(LOCK, lock)
        CASE(UNLOCK, lock)
        CASE(COUNTER, counter)
#undef CASE
    default:
        return 0;
    }
}

/* Returns `body`, or `with`, which is the same with a capability. */
static const void *capability_fill(const rig_client_t *client, themis_proto_opcode_t opcode, const void *body,
                                   themis_proto_body_t *with)
{
    themis_proto_attr_t attr = {.capability.rights = THEMIS_PROTO_RIGHTS & ~(uint32_t)THEMIS_PROTO_RIGHT_RENAME};
    size_t bytes = object_body_bytes(opcode);

    if (bytes == 0 || client->raw)
        return body;
    memcpy(with, body, bytes);
    attr.id = with->object.object;
    if (with->object.capability.rights || attr.id == 0)
        return body;
    themis_server_capabilities_sign(rig_capabilities(), client->uid, &attr);
    with->object.capability = attr.capability;
    return with;
}

void rig_send_as(rig_client_t *client, themis_proto_opcode_t opcode, const void *body, uint64_t id)
{
    themis_proto_header_t header = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = (uint16_t)opcode, .id = id};
    static _Thread_local uint8_t bytes[THEMIS_PROTO_MAX_MESSAGE];
    themis_proto_body_t with;
    size_t length;

    if (!client->is_unlisted && opcode >= THEMIS_OP_READ && opcode <= THEMIS_OP_SYNC)
        header.flags = THEMIS_PROTO_FLAG_LISTED;
    body = capability_fill(client, opcode, body, &with);
    ck_assert_int_eq(themis_proto_encode(&header, body, bytes, sizeof bytes, &length), THEMIS_OK);
    ck_assert_int_eq(themis_net_send(client->conn, bytes, length), THEMIS_OK);
}

uint64_t rig_send(rig_client_t *client, themis_proto_opcode_t opcode, const void *body)
{
    uint64_t id = client->next_id++;

    rig_send_as(client, opcode, body, id);
    return id;
}

themis_status_t rig_wait(rig_client_t *client, uint64_t id, unsigned ms)
{
    uint64_t until = themis_util_clock_now() + ms * THEMIS_NS_PER_MS;

    client->awaited = id;
    for (;;) {
        if (client->replied) {
            client->replied = 0;
            themis_status_t status = themis_proto_decode(client->bytes, client->length, &client->header, &client->body);
            ck_assert_int_eq(status, THEMIS_OK);
            if (client->header.id == id)
                return (themis_status_t)client->header.status;
        }
        uint64_t now = themis_util_clock_now();
        if (client->closed)
            return THEMIS_DISCONNECTED;
        if (now >= until)
            return THEMIS_TIMED_OUT;
        themis_net_progress(client->net, until - now < THEMIS_NS_PER_MS ? until - now : THEMIS_NS_PER_MS);
    }
}

themis_status_t rig_call(rig_client_t *client, themis_proto_opcode_t opcode, const void *body)
{
    return rig_wait(client, rig_send(client, opcode, body), 20000);
}

themis_net_exposed_t *rig_expose(rig_client_t *client, void *memory, size_t length, int writable, themis_proto_io_t *io)
{
    struct iovec piece = {.iov_base = memory, .iov_len = length};
    themis_net_exposed_t *exposed;

    ck_assert_int_eq(themis_net_expose(client->conn, &piece, 1, writable, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, io->descriptor);
    return exposed;
}

themis_status_t rig_io(rig_client_t *client, themis_proto_opcode_t opcode, uint64_t object,
                       const themis_proto_run_t *runs, uint32_t count, void *memory, size_t length)
{
    themis_proto_io_t io = {.object = object, .runs = count, .run_bytes = (const uint8_t *)runs};
    themis_net_exposed_t *exposed = rig_expose(client, memory, length, opcode == THEMIS_OP_READ, &io);
    themis_status_t status = rig_call(client, opcode, &io);
    themis_net_exposed_flush(exposed);
    themis_net_unexpose(exposed);
    return status;
}

themis_status_t rig_write(rig_client_t *client, uint64_t object, uint64_t offset, const void *memory, size_t length)
{
    themis_proto_run_t run = {.offset = offset, .length = length, .stride = length, .count = 1};

    return rig_io(client, THEMIS_OP_WRITE, object, &run, 1, (void *)(uintptr_t)memory, length);
}

themis_status_t rig_read(rig_client_t *client, uint64_t object, uint64_t offset, void *memory, size_t length)
{
    themis_proto_run_t run = {.offset = offset, .length = length, .stride = length, .count = 1};

    return rig_io(client, THEMIS_OP_READ, object, &run, 1, memory, length);
}

themis_status_t rig_create(rig_client_t *client, const char *path, uint32_t flags, uint64_t *object)
{
    themis_proto_create_t create = {.path = rig_text(path),
                                    .flags = flags,
                                    .attr = {.type = THEMIS_PROTO_FILE, .mode = 0644, .layout = {.first = UINT32_MAX}}};
    themis_status_t status = rig_call(client, THEMIS_OP_CREATE, &create);

    if (status == THEMIS_OK)
        *object = client->body.attr.id;
    return status;
}

uint64_t rig_send_write(rig_client_t *client, uint64_t object, void *memory, size_t length,
                        themis_net_exposed_t **exposed)
{
    themis_proto_run_t run = {0, length, length, 1};
    themis_proto_io_t io = {.object = object, .runs = 1, .run_bytes = (const uint8_t *)&run};

    *exposed = rig_expose(client, memory, length, 0, &io);
    return rig_send(client, THEMIS_OP_WRITE, &io);
}

int rig_is_in_tree(themis_server_t *server, const char *id)
{
    pthread_mutex_lock(&server->lock);
    char *tree = themis_sched_explain(server->sched, themis_util_clock_now());
    double share = themis_sched_share(server->sched, themis_sched_job_table_find(server->jobs, id, getuid()));
    pthread_mutex_unlock(&server->lock);
    int found = strstr(tree, id) != NULL || share > 0;
    free(tree);
    return found;
}
