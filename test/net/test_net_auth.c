/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Between hosts: what strangers send to a server's port, what somebody between client and server may change, and who is
 * believed to be whom. Clients use no local socket, as those of another host.
 */
#define _GNU_SOURCE
#include "config.h"
#include <arpa/inet.h>
#include <check.h>
#include <errno.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>
#if THEMIS_MUNGE
#include <munge.h>
#endif
#include "net/conn.h"
#include "net/frame.h"
#include "net/handshake.h"
#include "net/munge.h"
#include "net/tcp/record.h"
#include "test/lib/run.h"
#include "test/net/munged.h"
#include "test/net/peer.h"
#include "util/clock.h"

#define SECOND THEMIS_NS_PER_S

static themis_net_options_t options_of(themis_net_auth_kind_t kind, const char *secret)
{
    themis_net_options_t options = test_options(0);

    options.auth.kind = kind;
    themis_net_auth_set_secret(&options.auth, secret, strlen(secret));
    return options;
}

static int connect_to(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_port = htons(port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_ge(fd, 0);
    ck_assert_msg(connect(fd, (struct sockaddr *)&address, sizeof address) == 0, "connect: %s", strerror(errno));
    return fd;
}

/* Is the connection closed by the other side within the time? */
static int ends_within(int fd, int ms)
{
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    uint64_t until = themis_util_clock_now() + (uint64_t)ms * THEMIS_NS_PER_MS;
    char bytes[1024];

    while (themis_util_clock_now() < until)
        if (poll(&readable, 1, 100) > 0 && recv(fd, bytes, sizeof bytes, MSG_DONTWAIT) <= 0)
            return 1;
    return 0;
}

/* --- the handshake alone ------------------------------------------------------------------------------------------ */

typedef struct sides {
    themis_net_auth_t client_auth, server_auth;
    themis_net_handshake_t client, server;
} sides_t;

static void begin(sides_t *sides, themis_net_auth_kind_t kind)
{
    static const uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY] = "one of them";
    themis_net_handshake_address_t address = {.port = 7711};

    memset(sides, 0, sizeof *sides);
    sides->client_auth.kind = kind == THEMIS_NET_AUTH_SERVERS ? THEMIS_NET_AUTH_LOCAL : kind;
    themis_net_auth_set_secret(&sides->client_auth, "a secret of the test", 20);
    if (kind == THEMIS_NET_AUTH_SERVERS)
        themis_net_auth_set_servers_key(&sides->client_auth, "a key of the test", 17);
    sides->server_auth = sides->client_auth;
    themis_net_handshake_accept(&sides->server, &sides->server_auth, identity, 99);
    ck_assert_int_eq(themis_net_handshake_start(&sides->client, &sides->client_auth, &address), THEMIS_OK);
}

/* Hands the message of one to the other, with one bit changed: `flip`, or none if it is -1. */
static void pass(themis_net_handshake_t *from, themis_net_handshake_t *to, long flip)
{
    uint8_t bytes[THEMIS_NET_HANDSHAKE_BYTES];
    size_t length = from->out_length, at = 0;

    memcpy(bytes, from->out, length);
    from->out_length = 0;
    if (flip >= 0)
        bytes[flip / 8] ^= (uint8_t)(1 << flip % 8);
    while (to->state == THEMIS_NET_HANDSHAKE_READS && at < length) {
        size_t wanted = themis_net_handshake_wanted(to);
        ck_assert_uint_gt(wanted, 0);
        ck_assert_uint_le(to->have + wanted, sizeof to->in);
        wanted = wanted < length - at ? wanted : length - at;
        memcpy(to->in + to->have, bytes + at, wanted);
        themis_net_handshake_take(to, wanted);
        at += wanted;
    }
}

static int is_complete(const sides_t *sides)
{
    return sides->client.state == THEMIS_NET_HANDSHAKE_DONE && sides->server.state == THEMIS_NET_HANDSHAKE_DONE;
}

/* Runs it to its end; message `number` (from 0) has a bit changed. */
static void run(sides_t *sides, int number, long flip)
{
    pass(&sides->client, &sides->server, number == 0 ? flip : -1);
    pass(&sides->server, &sides->client, number == 1 ? flip : -1);
    if (sides->client.state == THEMIS_NET_HANDSHAKE_PROVES)
        themis_net_handshake_prove(&sides->client);
    pass(&sides->client, &sides->server, number == 2 ? flip : -1);
    if (sides->server.state == THEMIS_NET_HANDSHAKE_CHECKS)
        themis_net_handshake_check(&sides->server);
    pass(&sides->server, &sides->client, number == 3 ? flip : -1);
    if (sides->client.state == THEMIS_NET_HANDSHAKE_CHECKS)
        themis_net_handshake_check(&sides->client);
}

TEST(both_have_the_same_keys)
{
    static const themis_net_auth_kind_t kinds[] = {THEMIS_NET_AUTH_NONE, THEMIS_NET_AUTH_SECRET,
                                                   THEMIS_NET_AUTH_SERVERS};
    themis_net_handshake_keys_t of_client, of_server, before = {{0}, {0}};
    sides_t sides;

    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++) {
        begin(&sides, kinds[i]);
        run(&sides, -1, -1);
        ck_assert_msg(is_complete(&sides), "%s, %s", sides.client.why, sides.server.why);
        ck_assert_uint_eq(sides.client.cookie, 99);
        ck_assert_int_eq(sides.server.peer.server, kinds[i] == THEMIS_NET_AUTH_SERVERS);
        ck_assert_int_eq(themis_net_handshake_derive(&sides.client, &of_client), THEMIS_OK);
        ck_assert_int_eq(themis_net_handshake_derive(&sides.server, &of_server), THEMIS_OK);
        ck_assert_mem_eq(&of_client, &of_server, sizeof of_client);
        ck_assert_mem_ne(of_client.to_client, of_client.to_server, 32);
        ck_assert_mem_ne(&of_client, &before, sizeof before); /* others for each connection */
        before = of_client;
    }
}

/* Whatever bit of the first three messages somebody changes, nobody is believed; of the last, not by the client. */
TEST(no_bit_can_be_changed)
{
    static const int lengths[] = {104, 112, 52, 52};
    sides_t sides;

    for (int message = 0; message < 4; message++)
        for (long bit = message; bit < 8 * lengths[message]; bit += 5) { /* X25519 takes its time */
            begin(&sides, THEMIS_NET_AUTH_SECRET);
            run(&sides, message, bit);
            ck_assert_msg(!is_complete(&sides), "message %d, bit %ld", message, bit);
        }
}

TEST(others_are_refused)
{
    sides_t sides;

    begin(&sides, THEMIS_NET_AUTH_SECRET);
    themis_net_auth_set_secret(&sides.client_auth, "a secret of the tesT", 20);
    run(&sides, -1, -1);
    ck_assert_int_eq(sides.server.status, THEMIS_ACCESS);
    ck_assert_int_eq(sides.client.status, THEMIS_ACCESS);
    /* the client asks for less than the server demands, and the other way round */
    begin(&sides, THEMIS_NET_AUTH_SECRET);
    sides.server_auth.kind = THEMIS_NET_AUTH_NONE;
    run(&sides, -1, -1);
    ck_assert_int_eq(sides.client.status, THEMIS_ACCESS);
    ck_assert_ptr_nonnull(strstr(sides.client.why, "the server's auth is none"));
    begin(&sides, THEMIS_NET_AUTH_NONE);
    sides.server_auth.kind = THEMIS_NET_AUTH_SECRET;
    run(&sides, -1, -1);
    ck_assert(!is_complete(&sides) && sides.server.state == THEMIS_NET_HANDSHAKE_READS);
}

/* A server that serves its own host only has no key to compare with, so it looks at no proof. */
TEST(who_is_refused_has_no_proof)
{
    enum { KIND_AT = 12 }; /* header and status are before it */
    sides_t sides;

    begin(&sides, THEMIS_NET_AUTH_SECRET);
    sides.server_auth.kind = THEMIS_NET_AUTH_LOCAL;
    memset(sides.server_auth.secret, 0, sizeof sides.server_auth.secret);
    memset(sides.client_auth.secret, 0, sizeof sides.client_auth.secret);
    pass(&sides.client, &sides.server, -1);
    pass(&sides.server, &sides.client, -1);
    ck_assert_int_eq(sides.client.kind, THEMIS_NET_AUTH_LOCAL);
    sides.client.kind = THEMIS_NET_AUTH_SECRET;
    sides.client.status = THEMIS_OK;
    themis_net_handshake_prove(&sides.client);
    ck_assert_int_eq(sides.client.out[KIND_AT], THEMIS_NET_AUTH_SECRET);
    sides.client.out[KIND_AT] = THEMIS_NET_AUTH_LOCAL;
    pass(&sides.client, &sides.server, -1);
    ck_assert_int_eq(sides.server.state, THEMIS_NET_HANDSHAKE_FAILED);
}

/* Somebody in the middle has both sides agree on keys with him, and hands on the proofs. */
TEST(nobody_stands_between)
{
    sides_t left, right;

    begin(&left, THEMIS_NET_AUTH_SECRET);
    begin(&right, THEMIS_NET_AUTH_SECRET);
    pass(&left.client, &left.server, -1); /* his: left.server and right.client */
    pass(&left.server, &left.client, -1);
    pass(&right.client, &right.server, -1);
    pass(&right.server, &right.client, -1);
    themis_net_handshake_prove(&left.client);
    pass(&left.client, &right.server, -1);
    themis_net_handshake_check(&right.server);
    ck_assert_int_eq(right.server.state, THEMIS_NET_HANDSHAKE_FAILED);
    ck_assert_int_eq(right.server.status, THEMIS_ACCESS);
    /* what a client has sent once opens no second connection */
    begin(&left, THEMIS_NET_AUTH_SECRET);
    themis_net_handshake_t again = left.server, hello = left.client;
    pass(&left.client, &left.server, -1);
    pass(&left.server, &left.client, -1);
    themis_net_handshake_prove(&left.client);
    themis_net_handshake_t credential = left.client;
    pass(&left.client, &left.server, -1);
    themis_net_handshake_check(&left.server);
    ck_assert_int_eq(left.server.state, THEMIS_NET_HANDSHAKE_DONE);
    pass(&hello, &again, -1);
    again.out_length = 0;
    pass(&credential, &again, -1);
    themis_net_handshake_check(&again);
    ck_assert_int_eq(again.state, THEMIS_NET_HANDSHAKE_FAILED);
}

/* --- records ------------------------------------------------------------------------------------------------------ */

TEST(records)
{
    static const uint8_t bytes[32] = "a key";
    uint8_t record[2][THEMIS_NET_RECORD_HEAD + 100 + THEMIS_NET_RECORD_TAG];
    themis_net_record_key_t out, in, start;
    size_t length, whole = sizeof record[0];

    themis_net_record_key_set(&out, bytes);
    themis_net_record_key_set(&start, bytes);
    for (int i = 0; i < 2; i++) {
        memset(record[i] + THEMIS_NET_RECORD_HEAD, i, 100);
        ck_assert_uint_eq(themis_net_record_seal(&out, record[i], 100), whole);
    }
    for (size_t bit = 0; bit < 8 * whole; bit++) {
        in = start;
        record[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
        ck_assert_int_le(themis_net_record_open(&in, record[0], whole, &length), 0);
        record[0][bit / 8] ^= (uint8_t)(1 << bit % 8);
    }
    in = start;
    ck_assert_int_eq(themis_net_record_open(&in, record[0], whole - 1, &length), 0);
    ck_assert_int_eq(themis_net_record_open(&in, record[0], whole, &length), 1);
    ck_assert_uint_eq(length, 100);
    themis_net_record_key_t after = in;
    ck_assert_int_eq(themis_net_record_open(&in, record[0], whole, &length), -1); /* again */
    ck_assert_int_eq(themis_net_record_open(&after, record[1], whole, &length), 1);
    ck_assert_int_eq(themis_net_record_open(&start, record[1], whole, &length), -1); /* the first is left out */
}

/* --- who is between client and server ----------------------------------------------------------------------------- */

typedef enum wrong { NOTHING, FLIP, REPEAT, DROP, CUT } wrong_t;

/* Hands on what client and server send each other, and does something wrong to the client's bytes: only after the first
 * `after` ones. */
typedef struct middle {
    int listener, server;
    uint16_t port;
    wrong_t wrong;
    size_t after, passed;
    pthread_t thread;
} middle_t;

static int middle_pass(middle_t *middle, int from, int to, int harm)
{
    char bytes[4096];
    ssize_t got = recv(from, bytes, sizeof bytes, 0);

    if (got <= 0)
        return 0;
    if (harm && middle->passed >= middle->after && middle->wrong != NOTHING) {
        if (middle->wrong == FLIP)
            bytes[got / 2] ^= 4;
        if (middle->wrong == REPEAT && send(to, bytes, (size_t)got, MSG_NOSIGNAL) != got)
            return 0;
        if (middle->wrong == DROP)
            return middle->wrong = NOTHING, 1;
        if (middle->wrong == CUT)
            got /= 2;
        int ends = middle->wrong == CUT;
        middle->wrong = NOTHING;
        return send(to, bytes, (size_t)got, MSG_NOSIGNAL) == got && !ends;
    }
    middle->passed += harm ? (size_t)got : 0;
    return send(to, bytes, (size_t)got, MSG_NOSIGNAL) == got;
}

static void *middle_main(void *arg)
{
    middle_t *middle = arg;
    int client = accept(middle->listener, NULL, NULL), goes_on = client >= 0;
    struct pollfd both[2] = {{.fd = client, .events = POLLIN}, {.fd = middle->server, .events = POLLIN}};

    while (goes_on && poll(both, 2, 20000) > 0)
        for (int i = 0; i < 2 && goes_on; i++)
            if (both[i].revents)
                goes_on = middle_pass(middle, both[i].fd, both[1 - i].fd, i == 0);
    close(client);
    close(middle->server);
    return NULL;
}

static int listen_at(uint16_t *port)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 1), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    *port = ntohs(address.sin_port);
    return listener;
}

static void middle_start(middle_t *middle, uint16_t port, wrong_t wrong)
{
    *middle = (middle_t){.wrong = wrong, .after = SIZE_MAX};
    middle->listener = listen_at(&middle->port);
    middle->server = connect_to(port);
    ck_assert_int_eq(pthread_create(&middle->thread, NULL, middle_main, middle), 0);
}

/* A connection by which somebody changes, repeats, drops or cuts off bytes ends, and the server has served none of
 * them. Others go on. */
TEST(bytes_that_were_changed_end_the_connection)
{
    themis_net_options_t options = options_of(THEMIS_NET_AUTH_SECRET, "a secret of the test");
    test_client_t *other = test_client_new_with(&options);

    for (wrong_t wrong = NOTHING; wrong <= CUT; wrong++) {
        middle_t middle;
        test_request_t request = {.ask = ASK_ECHO, .id = 7};
        middle_start(&middle, other->peer.port, wrong);
        test_client_t *client = test_client_start_with("127.0.0.1", middle.port, &options);
        ck_assert_int_eq(themis_net_connect_progress(client->conn, 20 * SECOND), THEMIS_OK);
        ck_assert_int_eq(test_client_ask(client, &request), THEMIS_OK);
        middle.after = 0; /* from the next bytes on */
        ck_assert_int_eq(themis_net_send(client->conn, &request, sizeof request), THEMIS_OK);
        uint64_t until = themis_util_clock_now() + 10 * SECOND;
        while ((wrong != NOTHING || client->got < 2) && !client->closed && themis_util_clock_now() < until &&
               wrong != DROP)
            themis_net_progress(client->net, SECOND / 10);
        if (wrong == DROP) /* it is missed when the next one comes */
            while (!client->closed && themis_util_clock_now() < until &&
                   themis_net_send(client->conn, &request, sizeof request) == THEMIS_OK)
                themis_net_progress(client->net, SECOND / 10);
        ck_assert_msg(client->closed == (unsigned)(wrong != NOTHING), "%d: closed %u", wrong, client->closed);
        ck_assert_msg(client->got == 1U + (wrong == NOTHING || wrong == REPEAT), "%d: got %u", wrong, client->got);
        test_client_free(client);
        pthread_join(middle.thread, NULL);
        close(middle.listener);
    }
    test_client_move(other, 0, 100000, 3, 0, 100000, 1);
    test_client_free(other);
}

/* --- strangers ---------------------------------------------------------------------------------------------------- */

/* Each kind of stranger, while a client works: none of them has an effect on it, or on the server. */
static void strangers_begin(test_client_t **client, themis_net_options_t *options)
{
    *options = options_of(THEMIS_NET_AUTH_SECRET, "a secret of the test");
    *client = test_client_new_with(options);
    test_client_move(*client, 0, 100000, 3, 0, 100000, 1);
}

/* Also a new client gets in. */
static void strangers_end(test_client_t *client, const themis_net_options_t *options)
{
    test_client_t *fresh = test_client_start_with("127.0.0.1", client->peer.port, options);

    ck_assert_int_eq(themis_net_connect_progress(fresh->conn, 20 * SECOND), THEMIS_OK);
    test_client_move(fresh, 1, 100000, 3, 0, 100000, 1);
    test_client_move(client, 1, 100000, 3, 0, 100000, 1);
    test_client_free(fresh);
    test_client_free(client);
}

/* What ended servers whose first reader was UCX: a length that is wrong, and garbage, twice. */
TEST(strangers_with_garbage)
{
    themis_net_options_t options;
    test_client_t *client;
    unsigned char bytes[4096];

    strangers_begin(&client, &options);
    memset(bytes, 0xff, sizeof bytes);
    for (size_t length = 1; length <= sizeof bytes; length = length < 63 ? length + 31 : length * 3) {
        for (int twice = 0; twice < 2; twice++) {
            int fd = connect_to(client->peer.port);
            send(fd, bytes, length, MSG_NOSIGNAL);
            ck_assert_int_eq(ends_within(fd, length < 8 ? 9000 : 3000), 1);
            close(fd);
        }
    }
    for (int i = 0; i < 300; i++) /* a scan of ports */
        close(connect_to(client->peer.port));
    strangers_end(client, &options);
}

/* One byte at a time: 5 s are all that a stranger has. */
TEST(strangers_that_are_slow)
{
    themis_net_options_t options;
    test_client_t *client;
    sides_t sides;
    int sent = 1;

    strangers_begin(&client, &options);
    begin(&sides, THEMIS_NET_AUTH_SECRET);
    int fd = connect_to(client->peer.port);
    uint64_t start = themis_util_clock_now();
    for (size_t i = 0; i < sides.client.out_length && sent; i++) {
        sent = send(fd, sides.client.out + i, 1, MSG_NOSIGNAL) == 1 && !ends_within(fd, 100);
        themis_net_progress(client->net, 0);
    }
    ck_assert_int_eq(sent, 0);
    ck_assert_uint_ge(themis_util_clock_now() - start, 4 * SECOND);
    close(fd);
    strangers_end(client, &options);
}

TEST(strangers_that_are_many)
{
    enum { SILENT = 900 };
    themis_net_options_t options;
    test_client_t *client;
    int fds[SILENT], open = 0;

    strangers_begin(&client, &options);
    for (int i = 0; i < SILENT; i++)
        fds[i] = connect_to(client->peer.port);
    strangers_end(client, &options);
    for (int i = 0; i < SILENT; i++) {
        char byte;
        open += recv(fds[i], &byte, 1, MSG_DONTWAIT) < 0 && errno == EAGAIN;
        close(fds[i]);
    }
    ck_assert_int_le(open, 300); /* of one host */
}

/* Hellos and credentials with some bytes changed, cut or doubled, one connection for each. THEMIS_TEST_STREAMS says how
 * many. */
TEST(strangers_that_mutate_streams)
{
    const char *count = getenv("THEMIS_TEST_STREAMS");
    long streams = count ? atol(count) : 10000;
    themis_net_options_t options;
    test_client_t *client;
    unsigned seed = 1;
    sides_t sides;

    strangers_begin(&client, &options);
    begin(&sides, THEMIS_NET_AUTH_SECRET);
    for (long i = 0; i < streams; i++) {
        unsigned char bytes[2 * THEMIS_NET_HANDSHAKE_BYTES];
        size_t length = sides.client.out_length;
        memcpy(bytes, sides.client.out, length);
        for (int changes = 1 + rand_r(&seed) % 4; changes > 0; changes--)
            bytes[(size_t)rand_r(&seed) % (i % 2 ? 8 : length)] = (unsigned char)rand_r(&seed);
        if (rand_r(&seed) % 2 == 0)
            memcpy(bytes + length, bytes, length), length *= 2;
        length = rand_r(&seed) % 4 ? length : (size_t)rand_r(&seed) % length;
        int fd = connect_to(client->peer.port);
        send(fd, bytes, length, MSG_NOSIGNAL);
        close(fd);
        if (i % 1000 == 0)
            test_client_move(client, 0, 10000, 1, 0, 10000, 1);
    }
    strangers_end(client, &options);
}

/* --- who is whom -------------------------------------------------------------------------------------------------- */

static themis_status_t connect_as(test_client_t **client, uint16_t port, const themis_net_options_t *options)
{
    *client = test_client_start_with("127.0.0.1", port, options);
    themis_status_t status = themis_net_connect_progress((*client)->conn, 20 * SECOND);
    if (status != THEMIS_OK)
        (*client)->conn = NULL; /* a failure has dropped the reference */
    return status;
}

/* Who knows the secret is the server's user, whoever it is; who does not is nobody. */
TEST(a_secret_stands_for_its_user)
{
    themis_net_options_t options = options_of(THEMIS_NET_AUTH_SECRET, "a secret of the test"),
                         other = options_of(THEMIS_NET_AUTH_SECRET, "another secret, as long"),
                         none = options_of(THEMIS_NET_AUTH_NONE, "");
    test_peer_t peer = test_peer_start(&options, 0);
    test_request_t request = {.ask = ASK_WHO};
    test_client_t *client;

    ck_assert_int_eq(connect_as(&client, peer.port, &other), THEMIS_ACCESS);
    test_client_free(client);
    ck_assert_int_eq(connect_as(&client, peer.port, &none), THEMIS_ACCESS);
    test_client_free(client);
    ck_assert_int_eq(connect_as(&client, peer.port, &options), THEMIS_OK);
    ck_assert_int_eq(test_client_ask(client, &request), THEMIS_OK);
    ck_assert_uint_eq(request.sum, geteuid());
    test_client_free(client);
    test_peer_end(&peer, SIGKILL);
}

#if THEMIS_MUNGE
/* --- munged ------------------------------------------------------------------------------------------------------- */

static test_munged_t munged;
static const char *no_munge; /* why it is left out */

static void munged_begin(void)
{
    no_munge = test_munged_start(&munged);
    if (no_munge != NULL)
        printf("skipped: %s\n", no_munge);
}

static void munged_finish(void)
{
    test_munged_end(&munged);
}

static themis_net_options_t munge_options(void)
{
    themis_net_options_t options = test_options(0);

    options.auth.kind = THEMIS_NET_AUTH_MUNGE;
    strcpy(options.auth.munge_socket, munged.socket);
    return options;
}

/* As another user, whatever it claims; and a server of another user is believed only where the client says so. */
TEST(munged_says_who_it_is)
{
    enum { NOBODY = 65534, OTHER = 65533 };
    test_request_t request = {.ask = ASK_WHO};
    test_client_t *client;

    if (no_munge != NULL)
        return;
    themis_net_options_t options = munge_options();
    test_peer_t peer = test_peer_start(&options, 0);
    ck_assert_int_eq(seteuid(NOBODY), 0);
    ck_assert_int_eq(connect_as(&client, peer.port, &options), THEMIS_OK); /* a server of root's */
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(test_client_ask(client, &request), THEMIS_OK);
    ck_assert_uint_eq(request.sum, NOBODY);
    test_client_move(client, 0, 100000, 3, 0, 100000, 1);
    test_client_move(client, 1, 100000, 3, 0, 100000, 1);
    test_client_free(client);
    test_peer_end(&peer, SIGKILL);

    ck_assert_int_eq(seteuid(OTHER), 0);
    peer = test_peer_start(&options, 0);
    ck_assert_int_eq(seteuid(0), 0);
    ck_assert_int_eq(connect_as(&client, peer.port, &options), THEMIS_ACCESS);
    test_client_free(client);
    options.auth.has_server_user = 1;
    options.auth.server_user = OTHER;
    ck_assert_int_eq(connect_as(&client, peer.port, &options), THEMIS_OK);
    test_client_free(client);
    kill(peer.pid, SIGKILL);
    test_peer_end(&peer, SIGKILL);
}

static void use_munged(sides_t *sides)
{
    begin(sides, THEMIS_NET_AUTH_MUNGE);
    strcpy(sides->client_auth.munge_socket, munged.socket);
    strcpy(sides->server_auth.munge_socket, munged.socket);
}

/* A credential is for one connection, and for one time. */
TEST(credentials_are_used_once)
{
    sides_t sides, other;

    if (no_munge != NULL)
        return;
    use_munged(&sides);
    pass(&sides.client, &sides.server, -1);
    pass(&sides.server, &sides.client, -1);
    themis_net_handshake_prove(&sides.client);
    ck_assert_msg(sides.client.state == THEMIS_NET_HANDSHAKE_READS, "%s", sides.client.why);
    themis_net_handshake_t credential = sides.client, again = sides.server;
    pass(&sides.client, &sides.server, -1);
    themis_net_handshake_check(&sides.server);
    ck_assert_msg(sides.server.state == THEMIS_NET_HANDSHAKE_DONE, "%s", sides.server.why);
    ck_assert_uint_eq(sides.server.peer.uid, geteuid());
    themis_net_handshake_t first = credential;
    pass(&first, &again, -1); /* the very same connection, again */
    themis_net_handshake_check(&again);
    ck_assert_int_eq(again.status, THEMIS_ACCESS);
    ck_assert_ptr_nonnull(strstr(again.why, "eplayed"));
    pass(&sides.server, &sides.client, -1);
    themis_net_handshake_check(&sides.client);
    ck_assert_msg(sides.client.state == THEMIS_NET_HANDSHAKE_DONE, "%s", sides.client.why);

    use_munged(&sides); /* a fresh one, that somebody takes to another server */
    use_munged(&other);
    pass(&sides.client, &sides.server, -1);
    pass(&sides.server, &sides.client, -1);
    themis_net_handshake_prove(&sides.client);
    pass(&other.client, &other.server, -1);
    other.server.out_length = 0;
    pass(&sides.client, &other.server, -1);
    themis_net_handshake_check(&other.server);
    ck_assert_int_eq(other.server.status, THEMIS_ACCESS);
    ck_assert_ptr_nonnull(strstr(other.server.why, "another connection"));
}

/* What is too old, and what munged does not know, is refused. */
TEST(credentials_that_are_not_sound)
{
    static const char statement[] = "what it is about";
    char credential[THEMIS_NET_MUNGE_MAX], why[128];
    uid_t uid;
    gid_t gid;

    if (no_munge != NULL)
        return;
    munge_ctx_t context = munge_ctx_create();
    for (int lifetime = 1; lifetime <= 120; lifetime += 119) { /* too old soon; or for too long */
        char *made = NULL;
        munge_ctx_set(context, MUNGE_OPT_SOCKET, munged.socket);
        munge_ctx_set(context, MUNGE_OPT_TTL, lifetime);
        ck_assert_int_eq(munge_encode(&made, context, statement, sizeof statement), EMUNGE_SUCCESS);
        sleep(lifetime == 1 ? 3 : 0);
        ck_assert_int_eq(
            themis_net_munge_decode(munged.socket, made, statement, sizeof statement, &uid, &gid, why, sizeof why),
            THEMIS_ACCESS);
        ck_assert_msg(strstr(why, lifetime == 1 ? "xpired" : "longer than") != NULL, "%s", why);
        free(made);
    }
    munge_ctx_destroy(context);
    ck_assert_int_eq(
        themis_net_munge_encode(munged.socket, statement, sizeof statement, (uid_t)-1, credential, why, sizeof why),
        THEMIS_OK);
    credential[40] ^= 1;
    ck_assert_int_eq(
        themis_net_munge_decode(munged.socket, credential, statement, sizeof statement, &uid, &gid, why, sizeof why),
        THEMIS_ACCESS);
    ck_assert_int_eq(
        themis_net_munge_encode("/nowhere", statement, sizeof statement, (uid_t)-1, credential, why, sizeof why),
        THEMIS_ACCESS);
}

#endif

/* A refusal is known at once, and nobody polls for it. */
TEST(refused_at_once)
{
    themis_net_options_t options = options_of(THEMIS_NET_AUTH_SECRET, "a secret of the test");
    struct rusage before, after;
    test_client_t *client;
    uint64_t start = themis_util_clock_now();

    getrusage(RUSAGE_SELF, &before);
    ck_assert_int_eq(connect_as(&client, 1, &options), THEMIS_NO_SERVER);
    getrusage(RUSAGE_SELF, &after);
    ck_assert_uint_lt(themis_util_clock_now() - start, SECOND);
    ck_assert_int_lt(after.ru_utime.tv_usec - before.ru_utime.tv_usec, 100000);
    test_client_free(client);
}

/* A server that says HELLO, and has no local socket any more; it ends `lives_ms` later, or the client does. */
typedef struct ending {
    int listener, lives_ms;
    uint16_t port;
    pthread_t thread;
} ending_t;

static void *ending_main(void *arg)
{
    static const uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY] = "one that ends";
    const themis_net_auth_t auth = {.kind = THEMIS_NET_AUTH_LOCAL};
    ending_t *ending = arg;
    themis_net_handshake_t handshake;
    int client = accept(ending->listener, NULL, NULL);

    themis_net_handshake_accept(&handshake, &auth, identity, 99);
    while (client >= 0 && handshake.state == THEMIS_NET_HANDSHAKE_READS && handshake.out_length == 0) {
        ssize_t got = recv(client, handshake.in + handshake.have, themis_net_handshake_wanted(&handshake), 0);
        if (got <= 0)
            break;
        themis_net_handshake_take(&handshake, (size_t)got);
    }
    send(client, handshake.out, handshake.out_length, MSG_NOSIGNAL);
    ends_within(client, ending->lives_ms);
    close(client);
    return NULL;
}

/* A server is killed after its HELLO: it is tried again. One that lives, and cannot be reached as it asks, is not. */
TEST(killed_after_hello)
{
    themis_net_options_t options = options_of(THEMIS_NET_AUTH_LOCAL, "");

    for (int lives = 0; lives < 2; lives++) {
        ending_t ending = {.lives_ms = lives ? 20000 : 200};
        test_client_t *client;
        ending.listener = listen_at(&ending.port);
        ck_assert_int_eq(pthread_create(&ending.thread, NULL, ending_main, &ending), 0);
        ck_assert_int_eq(connect_as(&client, ending.port, &options), lives ? THEMIS_ACCESS : THEMIS_UNREACHABLE);
        test_client_free(client);
        pthread_join(ending.thread, NULL);
        close(ending.listener);
    }
}

int main(int count, char **words)
{
    test_peer_main(count, words, NULL);
    Suite *suite = suite_create("net_auth");

    signal(SIGPIPE, SIG_IGN);
    test_case(suite, "handshake", 60, NULL, NULL,
              TESTS({both_have_the_same_keys, 1}, {no_bit_can_be_changed, 1}, {others_are_refused, 1},
                    {who_is_refused_has_no_proof, 1}, {nobody_stands_between, 1}, {records, 1}));
    test_case(suite, "middle", 120, NULL, NULL, TESTS({bytes_that_were_changed_end_the_connection, 1}));
    test_case(suite, "strangers", 240, NULL, NULL,
              TESTS({strangers_with_garbage, 1}, {strangers_that_are_slow, 1}, {strangers_that_are_many, 1},
                    {strangers_that_mutate_streams, 1}));
    test_case(suite, "identity", 120, NULL, NULL,
              TESTS({a_secret_stands_for_its_user, 1}, {refused_at_once, 1}, {killed_after_hello, 1}));
#if THEMIS_MUNGE
    TCase *munge = tcase_create("munge");
    tcase_set_timeout(munge, 120);
    tcase_add_unchecked_fixture(munge, munged_begin, munged_finish);
    tcase_add_test(munge, munged_says_who_it_is);
    tcase_add_test(munge, credentials_are_used_once);
    tcase_add_test(munge, credentials_that_are_not_sound);
    suite_add_tcase(suite, munge);
#endif
    return test_run(suite);
}
