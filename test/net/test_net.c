/* SPDX-License-Identifier: BSD-3-Clause */
/* Messages and bulk data between two processes. Each case runs with local copies and without: _i is the option. */
#include <arpa/inet.h>
#include <check.h>
#include <netinet/in.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>
#include "net/connect.h"
#include "net/conn.h"
#include "net/descriptor.h"
#include "net/local/listener.h"
#include "test/lib/run.h"
#include "test/net/peer.h"
#include "util/clock.h"

#define SECOND THEMIS_NS_PER_S

typedef struct client {
    test_peer_t peer;
    themis_net_t *net;
    themis_net_conn_t *conn;
    _Atomic unsigned got, closed;
    themis_status_t why;
    test_request_t answer; /* the last one */
    unsigned char *bytes;  /* the last message, if `keep` */
    size_t length;
    int keep;
    uint64_t next; /* the id that has to come next, for echoes */
} client_t;

static void on_message(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    client_t *client = arg;

    memcpy(&client->answer, bytes, length < sizeof client->answer ? length : sizeof client->answer);
    if (client->keep) {
        free(client->bytes);
        client->bytes = malloc(length + 1);
        memcpy(client->bytes, bytes, length);
    }
    client->length = length;
    client->got++;
}

static void on_closed(void *arg, themis_net_conn_t *conn, themis_status_t why)
{
    client_t *client = arg;

    client->why = why;
    client->closed++;
}

static client_t *client_that_spins(int local_copy, uint64_t spin)
{
    themis_net_options_t options = {spin, local_copy, 1};
    themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};
    client_t *client = calloc(1, sizeof *client);

    client->peer = test_peer_start(&options, 0);
    ck_assert_uint_ne(client->peer.port, 0);
    ck_assert_int_eq(themis_net_create(&options, &handlers, client, &client->net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", client->peer.port, 10 * SECOND, &client->conn),
                     THEMIS_OK);
    return client;
}

static client_t *client_new(int local_copy)
{
    return client_that_spins(local_copy, 20 * THEMIS_NS_PER_US);
}

static void client_free(client_t *client)
{
    themis_net_conn_close(client->conn);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    test_peer_end(&client->peer, SIGKILL);
    free(client->bytes);
    free(client);
}

static void await(client_t *client, unsigned got)
{
    uint64_t until = themis_util_clock_now() + 20 * SECOND;

    while (client->got < got && client->closed == 0) {
        ck_assert_uint_lt(themis_util_clock_now(), until);
        themis_net_progress(client->net, SECOND / 10);
    }
}

START_TEST(echoes)
{
    static const size_t sizes[] = {0, 1, 8, 64, 1000, 4096, 8192, 65536, 100000, 1 << 20, 2 << 20};
    client_t *client = client_new(_i);
    unsigned char *bytes = malloc(2 << 20);

    client->keep = 1;
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        test_fill(bytes, 0, sizes[i], i);
        memset(bytes, 0, sizes[i] < sizeof(test_request_t) ? sizes[i] : sizeof(test_request_t)); /* ASK_ECHO */
        ck_assert_int_eq(themis_net_send(client->conn, bytes, sizes[i]), THEMIS_OK);
        await(client, (unsigned)i + 1);
        ck_assert_uint_eq(client->length, sizes[i]);
        ck_assert(memcmp(client->bytes, bytes, sizes[i]) == 0);
    }
    ck_assert_int_eq(themis_net_send(client->conn, bytes, (2 << 20) + 1), THEMIS_RANGE);
    free(bytes);
    client_free(client);
}
END_TEST

static void ordered(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    client_t *client = arg;
    test_request_t request;

    memcpy(&request, bytes, sizeof request);
    ck_assert_uint_eq(request.id, client->next++);
    client->got++;
}

/* Small and large messages mixed come back in the order in which they were sent. */
START_TEST(order)
{
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};
    themis_net_handlers_t handlers = {.message = ordered, .closed = on_closed};
    client_t client = {.peer = test_peer_start(&options, 0)};
    unsigned char *bytes = calloc(1, 1 << 20);

    ck_assert_int_eq(themis_net_create(&options, &handlers, &client, &client.net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(client.net, "127.0.0.1", client.peer.port, 10 * SECOND, &client.conn),
                     THEMIS_OK);
    for (unsigned i = 0; i < 2000; i++) {
        test_request_t request = {.ask = ASK_ECHO, .id = i};
        size_t length = i % 100 == 7 ? 1 << 20 : i % 10 == 3 ? 30000 : sizeof request;
        memcpy(bytes, &request, sizeof request);
        ck_assert_int_eq(themis_net_send(client.conn, bytes, length), THEMIS_OK);
        if (i % 50 == 0)
            themis_net_progress(client.net, 0);
        while (client.got + 200 < i)
            themis_net_progress(client.net, SECOND / 10);
    }
    await(&client, 2000);
    themis_net_conn_close(client.conn);
    themis_net_conn_unref(client.conn);
    themis_net_destroy(client.net);
    test_peer_end(&client.peer, SIGKILL);
    free(bytes);
}
END_TEST

/* --- bulk -------------------------------------------------------------------------------------------------------- */

static themis_status_t ask(client_t *client, test_request_t *request)
{
    unsigned before = client->got;

    ck_assert_int_eq(themis_net_send(client->conn, request, sizeof *request), THEMIS_OK);
    await(client, before + 1);
    ck_assert_uint_eq(client->closed, 0);
    *request = client->answer;
    return request->status;
}

/* Exposes `total` bytes in `count` pieces with gaps, moves [offset, offset + length) and compares everything. */
static void move(client_t *client, int push, uint64_t total, size_t count, uint64_t offset, uint64_t length,
                 uint32_t local_pieces)
{
    uint64_t step = total / count, gap = count > 1 ? 16 : 0;
    unsigned char *memory = calloc(1, total + count * gap + 1), *expected = calloc(1, total + 1);
    struct iovec *pieces = calloc(count, sizeof *pieces);
    themis_net_exposed_t *exposed;
    test_request_t request = {
        .ask = push ? ASK_PUSH : ASK_PULL, .offset = offset, .length = length, .seed = 99, .pieces = local_pieces};

    test_fill(expected, 0, total, 7);
    for (size_t i = 0; i < count; i++) {
        uint64_t end = i + 1 == count ? total : (i + 1) * step;
        pieces[i] = (struct iovec){memory + i * (step + gap), end - i * step};
        memcpy(pieces[i].iov_base, expected + i * step, pieces[i].iov_len);
    }
    ck_assert_int_eq(themis_net_expose(client->conn, pieces, count, push, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    ck_assert_int_eq(ask(client, &request), THEMIS_OK);
    themis_net_exposed_flush(exposed);
    themis_net_unexpose(exposed);
    if (push)
        test_fill(expected + offset, offset, length, 99);
    else
        ck_assert_uint_eq(request.sum, test_sum(expected + offset, length));
    for (size_t i = 0; i < count; i++) {
        ck_assert(memcmp(pieces[i].iov_base, expected + i * step, pieces[i].iov_len) == 0);
        for (uint64_t j = 0; i + 1 < count && j < gap; j++)
            ck_assert_uint_eq(memory[i * (step + gap) + step + j], 0);
    }
    free(pieces);
    free(expected);
    free(memory);
}

START_TEST(bulk)
{
    static const uint64_t sizes[] = {0, 1, 4096, 10000, 1 << 20, (5 << 20) + 13, 32 << 20};
    client_t *client = client_new(_i);

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
        for (int push = 0; push < 2; push++) {
            move(client, push, sizes[i], 1, 0, sizes[i], 1);
            if (sizes[i] < 100)
                continue;
            move(client, push, sizes[i], 10, sizes[i] / 3, sizes[i] / 2, 3);
            move(client, push, sizes[i], 1, sizes[i] - 1, 1, 1);
        }
    client_free(client);
}
END_TEST

START_TEST(bulk_in_many_pieces)
{
    client_t *client = client_new(_i);

    for (int push = 0; push < 2; push++) {
        move(client, push, 16384 * 64, 16384, 0, 16384 * 64, 1);
        move(client, push, 16384 * 100, 16384, 12345, 16384 * 50, 1000);
        move(client, push, 16384 * 4096, 16384, 4096 * 100 + 17, 40 << 20, 4000);
    }
    client_free(client);
}
END_TEST

/* 1 GiB, moved by 4 MiB as the server's scheduler would. */
START_TEST(bulk_in_slices)
{
    client_t *client = client_new(_i);
    uint64_t total = UINT64_C(1) << 30, slice = 4 << 20;
    unsigned char *memory = malloc(total), *expected = malloc(slice);
    themis_net_exposed_t *exposed;

    for (int push = 1; push >= 0; push--) { /* so that pushed bytes are pulled */
        struct iovec all = {memory, total};
        ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, push, &exposed), THEMIS_OK);
        for (uint64_t offset = 0; offset < total; offset += slice) {
            test_request_t request = {.ask = push ? ASK_PUSH : ASK_PULL, .offset = offset, .length = slice, .seed = 5};
            themis_net_exposed_descriptor(exposed, request.descriptor);
            ck_assert_int_eq(ask(client, &request), THEMIS_OK);
            if (offset % (64 * slice) != 0)
                continue;
            test_fill(expected, offset, slice, 5);
            ck_assert(memcmp(memory + offset, expected, slice) == 0);
            if (!push)
                ck_assert_uint_eq(request.sum, test_sum(expected, slice));
        }
        themis_net_unexpose(exposed);
    }
    free(memory);
    free(expected);
    client_free(client);
}
END_TEST

START_TEST(bulk_refusals)
{
    client_t *client = client_new(_i);
    unsigned char memory[100] = {0};
    struct iovec all = {memory, sizeof memory};
    themis_net_exposed_t *exposed;
    test_request_t request = {.ask = ASK_PULL, .offset = 50, .length = 51}, again;

    ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, 0, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    uint64_t place = _i == 0 ? (uintptr_t)memory : 0; /* by shared memory: the number of the slot */
    for (int i = 0; i < 8; i++) {                     /* as doc/wire.md has it, whatever the host */
        ck_assert_uint_eq(request.descriptor[8 + i], i ? 0 : 100);
        ck_assert_uint_eq(request.descriptor[16 + i], place >> 8 * i & 0xff);
    }
    again = request;
    ck_assert_int_eq(ask(client, &again), THEMIS_RANGE);
    again = request;
    again.offset = UINT64_MAX;
    ck_assert_int_eq(ask(client, &again), THEMIS_RANGE);
    again = request;
    again.ask = ASK_PUSH;
    again.length = 1;
    ck_assert_int_eq(ask(client, &again), THEMIS_ACCESS);
    again = request;
    again.descriptor[3] ^= 1;
    ck_assert_int_eq(ask(client, &again), THEMIS_PROTOCOL);
    again = request;
    again.length = 50;
    ck_assert_int_eq(ask(client, &again), THEMIS_OK);
    themis_net_unexpose(exposed);
    if (_i == 0) { /* by messages it is out of reach now */
        again = request;
        again.length = 50;
        ck_assert_int_eq(ask(client, &again), THEMIS_STALE);
    }
    client_free(client);
}
END_TEST

/* --- failures ---------------------------------------------------------------------------------------------------- */

START_TEST(server_killed)
{
    client_t *client = client_new(_i);
    uint64_t start = themis_util_clock_now();

    test_peer_end(&client->peer, SIGKILL);
    while (client->closed == 0 && themis_util_clock_now() - start < 10 * SECOND)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed, 1);
    ck_assert_int_eq(client->why, THEMIS_DISCONNECTED);
    ck_assert_int_eq(themis_net_send(client->conn, "x", 1), THEMIS_DISCONNECTED);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    free(client);
}
END_TEST

/* The server dies while it pulls from us: memory is given back, the loss is told. */
START_TEST(server_killed_while_moving)
{
    client_t *client = client_new(_i);
    uint64_t total = 256 << 20, start = themis_util_clock_now();
    unsigned char *memory = calloc(1, total);
    struct iovec all = {memory, total};
    themis_net_exposed_t *exposed;
    test_request_t request = {.ask = ASK_PULL, .length = total};

    ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, 0, &exposed), THEMIS_OK);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
    while (themis_util_clock_now() - start < SECOND / 50)
        themis_net_progress(client->net, SECOND / 1000);
    test_peer_end(&client->peer, SIGKILL);
    while (client->closed == 0 && client->got == 0 && themis_util_clock_now() - start < 10 * SECOND)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed + client->got, 1);
    themis_net_unexpose(exposed);
    memset(memory, 1, total);
    themis_net_conn_close(client->conn);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    free(memory);
    free(client);
}
END_TEST

enum { VICTIM_BYTES = 64 << 20 };

/* A client that dies while the server moves its bytes: `number` is ten times the port, and one to be pushed to. */
static void victim(const themis_net_options_t *options, unsigned number, int out)
{
    themis_net_handlers_t handlers = {.message = NULL};
    themis_net_t *net;
    themis_net_conn_t *conn;
    themis_net_exposed_t *exposed;
    int push = (int)(number % 10);
    struct iovec all = {calloc(1, VICTIM_BYTES), VICTIM_BYTES};
    test_request_t request = {.ask = push ? ASK_PUSH : ASK_PULL, .length = VICTIM_BYTES};

    if (themis_net_create(options, &handlers, NULL, &net) != THEMIS_OK ||
        themis_net_connect(net, "127.0.0.1", (uint16_t)(number / 10), 10 * SECOND, &conn) != THEMIS_OK ||
        themis_net_expose(conn, &all, 1, push, &exposed) != THEMIS_OK || write(out, &push, 2) != 2)
        _exit(1);
    themis_net_exposed_descriptor(exposed, request.descriptor);
    themis_net_send(conn, &request, sizeof request);
    for (;;)
        themis_net_progress(net, SECOND);
}

/* Clients die while a server pulls from and pushes to them; the server goes on serving others. */
START_TEST(clients_killed_while_moving)
{
    client_t *client = client_new(_i);
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};

    for (unsigned round = 0; round < 8; round++) {
        test_peer_t peer = test_peer_spawn("victim", &options, client->peer.port * 10 + round % 2);
        ck_assert_uint_eq(peer.port, round % 2);
        usleep(1000 << round);
        test_peer_end(&peer, SIGKILL);
        move(client, 0, 5000, 1, 0, 5000, 1);
        move(client, 1, 5000, 1, 0, 5000, 1);
    }
    client_free(client);
}
END_TEST

/* A client of another user is served, by messages. Only root can be another one. */
START_TEST(another_user)
{
    if (geteuid() != 0)
        return;
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};
    test_peer_t peer = test_peer_start(&options, 0);
    themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};
    client_t client = {.peer = peer};

    ck_assert_int_eq(seteuid(65534), 0);
    ck_assert_int_eq(themis_net_create(&options, &handlers, &client, &client.net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(client.net, "127.0.0.1", peer.port, 10 * SECOND, &client.conn), THEMIS_OK);
    move(&client, 0, 100000, 3, 0, 100000, 1);
    move(&client, 1, 100000, 3, 0, 100000, 1);
    ck_assert_int_eq(seteuid(0), 0);
    themis_net_conn_close(client.conn);
    themis_net_conn_unref(client.conn);
    themis_net_destroy(client.net);
    test_peer_end(&peer, SIGKILL);
}
END_TEST

/* Sends ASK_WHO by a connection, and returns the answer's status. */
static themis_status_t ask_who(client_t *client)
{
    test_request_t request = {.ask = ASK_WHO};

    ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
    await(client, client->got + 1);
    return client->answer.status;
}

/* A net of its own with a connection to the peer that has begun. */
static client_t *attempt_at(const char *host, uint16_t port, int local_copy)
{
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, local_copy, 1};
    themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};
    client_t *client = calloc(1, sizeof *client);

    client->peer.port = port;
    ck_assert_int_eq(themis_net_create(&options, &handlers, client, &client->net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect_start(client->net, host, port, &client->conn), THEMIS_OK);
    return client;
}

static client_t *attempt(uint16_t port, int local_copy)
{
    return attempt_at("127.0.0.1", port, local_copy);
}

static void attempt_free(client_t *client)
{
    themis_net_conn_close(client->conn);
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    free(client);
}

/* On the server's host the kernel says who a client is, or nobody does. */
START_TEST(who_it_is)
{
    client_t *client = client_new(1), *other = attempt(client->peer.port, 0);

    ck_assert_int_eq(ask_who(client), THEMIS_OK);
    ck_assert_uint_eq(client->answer.sum, geteuid());
    ck_assert_int_eq(themis_net_connect_progress(other->conn, 10 * SECOND), THEMIS_OK);
    ck_assert_int_eq(ask_who(other), THEMIS_ACCESS);
    attempt_free(other);
    client_free(client);
}
END_TEST

static void await_welcome(client_t *client)
{
    uint64_t until = themis_util_clock_now() + 20 * SECOND;

    while (client->conn->state != THEMIS_NET_HANDSHAKE) {
        ck_assert_uint_lt(themis_util_clock_now(), until);
        themis_net_progress(client->net, SECOND / 10);
    }
}

/* What a listener at that address may say: that the socket of `of` is its own. Returns how the client fares. */
static themis_status_t send_on(client_t *client, const client_t *of)
{
    themis_net_frame_t welcome = {.type = THEMIS_NET_WELCOME, .id = of->conn->peer_key, .token = of->conn->cookie};

    themis_net_lock(client->net);
    themis_net_connect_on_welcome(client->conn, &welcome);
    themis_net_unlock(client->net);
    themis_status_t status = themis_net_connect_progress(client->conn, SECOND);
    if (status != THEMIS_OK)
        client->conn = NULL; /* a failure has taken it */
    return status;
}

/*
 * A victim wants to go to where an attacker listens: at another port than a true server's (0), or at the same one of
 * another address (1). The attacker has begun a connection to the true server, and sends the victim on with what that
 * server told it. Neither is the victim connected then, nor does the attacker's connection count as the victim's.
 */
START_TEST(relay)
{
    client_t *client = client_new(1), *attacker = attempt(client->peer.port, 0);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = _i ? htons(client->peer.port) : 0,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (unsigned)_i)};
    socklen_t size = sizeof address;

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 5), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    await_welcome(attacker);
    client_t *victim = attempt_at(_i ? "127.0.0.2" : "127.0.0.1", ntohs(address.sin_port), 1);
    ck_assert_int_eq(send_on(victim, attacker), THEMIS_REFUSED);
    ck_assert_int_eq(themis_net_connect_progress(attacker->conn, SECOND), THEMIS_OK);
    ck_assert_int_eq(ask_who(attacker), THEMIS_ACCESS);
    ck_assert_int_eq(ask_who(client), THEMIS_OK);
    close(listener);
    attempt_free(victim);
    attempt_free(attacker);
    client_free(client);
}
END_TEST

/* A server that listens at all addresses is meant by those of its host, and by no other. */
START_TEST(any_address)
{
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, 1, 1};
    themis_net_handlers_t handlers = {.message = on_message};
    static const char *const meant[] = {"127.0.0.1", "127.0.0.3", "0.0.0.0", "192.0.2.1"};
    client_t client = {0};
    uint16_t port;

    ck_assert_int_eq(themis_net_create(&options, &handlers, &client, &client.net), THEMIS_OK);
    ck_assert_int_eq(themis_net_listen(client.net, "127.0.0.1", 0, &port), THEMIS_OK);
    client.net->address.sin_addr.s_addr = INADDR_ANY; /* pretended: a test listens at loopback alone */
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(themis_net_connect_start(client.net, "127.0.0.1", port, &client.conn), THEMIS_OK);
        client.conn->address.sin_addr.s_addr = inet_addr(meant[i]);
        themis_status_t status = themis_net_connect_progress(client.conn, 10 * SECOND);
        ck_assert_int_eq(status, i < 3 ? THEMIS_OK : THEMIS_REFUSED);
        if (status == THEMIS_OK) {
            themis_net_conn_close(client.conn);
            themis_net_conn_unref(client.conn);
        }
    }
    themis_net_destroy(client.net);
}
END_TEST

/* A client that is stopped in the middle holds nobody up. */
START_TEST(stopped_client)
{
    client_t *client = client_new(_i);
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};

    for (unsigned push = 0; push < 2; push++) {
        test_peer_t peer = test_peer_spawn("victim", &options, client->peer.port * 10 + push);
        kill(peer.pid, SIGSTOP);
        move(client, 0, 5000, 1, 0, 5000, 1);
        move(client, 1, 5000, 1, 0, 5000, 1);
        test_peer_end(&peer, SIGKILL);
    }
    client_free(client);
}
END_TEST

/* More than may be silent at the local socket say nothing: others connect, and none is kept for ever. */
START_TEST(silent_strangers)
{
    enum { STRANGERS = THEMIS_NET_MAX_SILENT + 20 };
    client_t *client = client_new(1);
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};
    themis_net_handlers_t handlers = {.message = on_message, .closed = on_closed};
    client_t other = {.peer = client->peer};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int sockets[STRANGERS];

    int length = snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "themis-net-%016llx",
                          (unsigned long long)client->conn->cookie);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    for (int i = 0; i < STRANGERS; i++) {
        sockets[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(sockets[i], (struct sockaddr *)&address, size), 0);
    }
    ck_assert_int_eq(themis_net_create(&options, &handlers, &other, &other.net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(other.net, "127.0.0.1", client->peer.port, 10 * SECOND, &other.conn),
                     THEMIS_OK);
    move(&other, 0, 5000, 1, 0, 5000, 1);
    move(client, 0, 5000, 1, 0, 5000, 1);
    for (int i = 0; i < STRANGERS; i++) /* dropped, though nothing else happens */
        ck_assert_int_eq(read(sockets[i], &address, 1), 0);
    for (int i = 0; i < STRANGERS; i++)
        close(sockets[i]);
    themis_net_conn_close(other.conn);
    themis_net_conn_unref(other.conn);
    themis_net_destroy(other.net);
    client_free(client);
}
END_TEST

START_TEST(reconnect)
{
    client_t *client = client_new(_i);
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};
    uint16_t port = client->peer.port;

    for (int round = 0; round < 5; round++) {
        test_peer_end(&client->peer, SIGKILL);
        while (client->closed == 0)
            themis_net_progress(client->net, SECOND / 10);
        client->closed = 0;
        themis_net_conn_unref(client->conn);
        uint64_t start = themis_util_clock_now();
        ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", port, 5 * SECOND, &client->conn),
                         THEMIS_UNREACHABLE);
        ck_assert_uint_lt(themis_util_clock_now() - start, 2 * SECOND);
        client->peer = test_peer_start(&options, port);
        ck_assert_uint_eq(client->peer.port, port);
        ck_assert_int_eq(themis_net_connect(client->net, "127.0.0.1", port, 10 * SECOND, &client->conn), THEMIS_OK);
        move(client, 0, 5000, 1, 0, 5000, 1);
    }
    client_free(client);
}
END_TEST

/* What listens is not Themis: it says nothing, or something else, or closes. */
START_TEST(not_a_server)
{
    static const char noise[] = "HTTP/1.1 400 Bad Request\r\nConnection: close\r\n\r\n";
    themis_net_handlers_t handlers = {.message = NULL};
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    themis_net_t *net;
    themis_net_conn_t *conn;
    int listener = socket(AF_INET, SOCK_STREAM, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 5), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    ck_assert_int_eq(themis_net_create(NULL, &handlers, NULL, &net), THEMIS_OK);
    int other = fork();
    if (other == 0) {
        for (;;) {
            int fd = accept(listener, NULL, NULL);
            if (_i > 0 && write(fd, noise, sizeof noise) < 0)
                _exit(1);
            if (_i == 0)
                close(fd);
        }
    }
    uint64_t start = themis_util_clock_now();
    themis_status_t status = themis_net_connect(net, "127.0.0.1", ntohs(address.sin_port), SECOND, &conn);
    ck_assert(status == THEMIS_UNREACHABLE || status == THEMIS_TIMED_OUT);
    ck_assert_uint_lt(themis_util_clock_now() - start, 5 * SECOND);
    kill(other, SIGKILL);
    close(listener);
    themis_net_destroy(net);
}
END_TEST

START_TEST(server_closes)
{
    client_t *client = client_new(_i);
    test_request_t request = {.ask = ASK_CLOSE};

    ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
    for (int i = 0; client->closed == 0 && i < 100; i++)
        themis_net_progress(client->net, SECOND / 10);
    ck_assert_uint_eq(client->closed, 1);
    client_free(client);
}
END_TEST

/* --- sleeping ---------------------------------------------------------------------------------------------------- */

START_TEST(idle_costs_nothing)
{
    client_t *client = client_new(_i);
    struct timespec before, after;

    for (int i = 0; i < 20; i++)
        themis_net_progress(client->net, SECOND / 20);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &before);
    uint64_t start = themis_util_clock_now();
    while (themis_util_clock_now() - start < 2 * SECOND)
        themis_net_progress(client->net, SECOND);
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &after);
    int64_t used = (after.tv_sec - before.tv_sec) * (int64_t)SECOND + after.tv_nsec - before.tv_nsec;
    ck_assert_int_lt(used, (int64_t)(2 * SECOND / 200));
    uint64_t peer = test_peer_end(&client->peer, SIGKILL);
    ck_assert_uint_lt(peer, SECOND / 4); /* start-up included */
    themis_net_conn_unref(client->conn);
    themis_net_destroy(client->net);
    free(client);
}
END_TEST

/* Nobody polls before sleeping, so each message has to wake its receiver; a ring that got lost would be noticed after
 * 10 seconds only. There are more of them than may wait in a socket. */
START_TEST(each_message_wakes)
{
    client_t *client = client_that_spins(_i, 0);
    unsigned char bytes[4096], expected[sizeof bytes];
    struct iovec all = {bytes, sizeof bytes};

    for (unsigned round = 0; round < 1000; round++) {
        static const test_ask_t asks[] = {ASK_ECHO, ASK_PUSH, ASK_PULL};
        test_request_t request = {.ask = asks[round % 3], .length = sizeof bytes, .seed = round};
        themis_net_exposed_t *exposed = NULL;
        uint64_t start = themis_util_clock_now();
        test_fill(bytes, 0, sizeof bytes, 1);
        ck_assert_int_eq(themis_net_expose(client->conn, &all, 1, request.ask == ASK_PUSH, &exposed), THEMIS_OK);
        themis_net_exposed_descriptor(exposed, request.descriptor);
        ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
        while (client->got <= round && client->closed == 0)
            themis_net_progress(client->net, 10 * SECOND);
        themis_net_exposed_flush(exposed);
        themis_net_unexpose(exposed);
        ck_assert_uint_lt(themis_util_clock_now() - start, 8 * SECOND);
        test_fill(expected, 0, sizeof bytes, request.ask == ASK_PUSH ? round : 1);
        ck_assert_mem_eq(bytes, expected, sizeof bytes);
        if (request.ask == ASK_PULL)
            ck_assert_uint_eq(client->answer.sum, test_sum(expected, sizeof bytes));
    }
    client_free(client);
}
END_TEST

static void *wake_later(void *arg)
{
    usleep(100000);
    themis_net_wake(arg);
    return NULL;
}

START_TEST(wake_ends_a_sleep)
{
    client_t *client = client_new(_i);
    pthread_t thread;
    uint64_t start = themis_util_clock_now();

    themis_net_wake(client->net); /* before the sleep */
    themis_net_progress(client->net, 30 * SECOND);
    ck_assert_uint_lt(themis_util_clock_now() - start, 15 * SECOND); /* a lost wake costs the whole sleep */
    pthread_create(&thread, NULL, wake_later, client->net);
    start = themis_util_clock_now();
    themis_net_progress(client->net, 30 * SECOND);
    ck_assert_uint_lt(themis_util_clock_now() - start, 15 * SECOND);
    pthread_join(thread, NULL);
    start = themis_util_clock_now();
    themis_net_progress(client->net, SECOND / 5);
    ck_assert_uint_ge(themis_util_clock_now() - start, SECOND / 5);
    client_free(client);
}
END_TEST

/* --- threads ----------------------------------------------------------------------------------------------------- */

enum { THREADS = 4, ROUNDS = 300 };

typedef struct shared {
    client_t client;
    _Atomic unsigned answers[THREADS];
    _Atomic int wrong;
    test_request_t last[THREADS];
} shared_t;

typedef struct worker {
    shared_t *shared;
    unsigned index;
} worker_t;

static void on_shared(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    shared_t *shared = arg;
    test_request_t answer;

    memcpy(&answer, bytes, sizeof answer);
    if (answer.id >= THREADS) {
        shared->wrong = 1;
        return;
    }
    shared->last[answer.id] = answer;
    shared->answers[answer.id]++;
}

/* Pushes and pulls of its own, progressing until its answer has come. */
static void *work(void *arg)
{
    worker_t *worker = arg;
    shared_t *shared = worker->shared;
    uint64_t length = 3000 + 70000 * worker->index;
    unsigned char *memory = malloc(length), *expected = malloc(length);

    for (unsigned round = 0; round < ROUNDS && !shared->wrong; round++) {
        struct iovec all = {memory, length};
        themis_net_exposed_t *exposed;
        int push = round % 2 == 0;
        test_request_t request = {
            .ask = push ? ASK_PUSH : ASK_PULL, .id = worker->index, .length = length, .seed = round};
        if (themis_net_expose(shared->client.conn, &all, 1, push, &exposed) != THEMIS_OK)
            break;
        themis_net_exposed_descriptor(exposed, request.descriptor);
        if (themis_net_send(shared->client.conn, &request, sizeof request) != THEMIS_OK)
            break;
        uint64_t until = themis_util_clock_now() + 20 * SECOND;
        while (shared->answers[worker->index] <= round && themis_util_clock_now() < until)
            themis_net_progress(shared->client.net, SECOND);
        themis_net_exposed_flush(exposed);
        themis_net_unexpose(exposed);
        if (push)
            test_fill(expected, 0, length, round);
        if (shared->last[worker->index].status != THEMIS_OK || memcmp(memory, expected, length) != 0 ||
            (!push && shared->last[worker->index].sum != test_sum(expected, length)))
            shared->wrong = 2;
    }
    free(memory);
    free(expected);
    return NULL;
}

START_TEST(threads)
{
    themis_net_options_t options = {20 * THEMIS_NS_PER_US, _i, 1};
    themis_net_handlers_t handlers = {.message = on_shared};
    shared_t *shared = calloc(1, sizeof *shared);
    pthread_t ids[THREADS];
    worker_t workers[THREADS];

    shared->client.peer = test_peer_start(&options, 0);
    ck_assert_int_eq(themis_net_create(&options, &handlers, shared, &shared->client.net), THEMIS_OK);
    ck_assert_int_eq(themis_net_connect(shared->client.net, "127.0.0.1", shared->client.peer.port, 10 * SECOND,
                                        &shared->client.conn),
                     THEMIS_OK);
    for (unsigned i = 0; i < THREADS; i++) {
        workers[i] = (worker_t){shared, i};
        pthread_create(&ids[i], NULL, work, &workers[i]);
    }
    for (unsigned i = 0; i < THREADS; i++) {
        pthread_join(ids[i], NULL);
        ck_assert_uint_eq(shared->answers[i], ROUNDS);
    }
    ck_assert_int_eq(shared->wrong, 0);
    themis_net_conn_close(shared->client.conn);
    themis_net_conn_unref(shared->client.conn);
    themis_net_destroy(shared->client.net);
    test_peer_end(&shared->client.peer, SIGKILL);
    free(shared);
}
END_TEST

#define CASE(name) add(suite, name, #name)

/* Each test is a case of its own, so that CK_RUN_CASE can name it. */
static void add(Suite *suite, const TTest *test, const char *name)
{
    TCase *one = tcase_create(name);

    tcase_set_timeout(one, 120);
    tcase_add_loop_test(one, test, 0, 2);
    suite_add_tcase(suite, one);
}

int main(int count, char **words)
{
    setenv("UCX_NET_DEVICES", "lo", 1);
    test_peer_main(count, words, victim);
    Suite *suite = suite_create("net");

    CASE(echoes);
    CASE(order);
    CASE(bulk);
    CASE(bulk_in_many_pieces);
    CASE(bulk_in_slices);
    CASE(bulk_refusals);
    CASE(server_killed);
    CASE(server_killed_while_moving);
    CASE(clients_killed_while_moving);
    CASE(another_user);
    CASE(who_it_is);
    CASE(relay);
    CASE(any_address);
    CASE(stopped_client);
    CASE(silent_strangers);
    CASE(reconnect);
    CASE(not_a_server);
    CASE(server_closes);
    CASE(idle_costs_nothing);
    CASE(each_message_wakes);
    CASE(wake_ends_a_sleep);
    CASE(threads);
    return test_run(suite);
}
