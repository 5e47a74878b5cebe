/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a peer is: credentials from the kernel, and what others may try. _i is local_copy unless a case says otherwise.
 */
#include <arpa/inet.h>
#include <check.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>
#include "net/conn.h"
#include "net/connect.h"
#include "net/local/hello.h"
#include "net/local/listener.h"
#include "test/lib/run.h"
#include "test/net/peer.h"
#include "util/clock.h"

#define SECOND THEMIS_NS_PER_S

/* A client of another user is served, by messages. Only root can be another one. */
TEST(another_user)
{
    if (geteuid() != 0)
        return;
    themis_net_options_t options = test_options(_i);
    test_peer_t peer = test_peer_start(&options, 0);

    ck_assert_int_eq(seteuid(65534), 0);
    test_client_t *client = test_client_start("127.0.0.1", peer.port, _i);
    ck_assert_int_eq(themis_net_connect_progress(client->conn, 10 * SECOND), THEMIS_OK);
    test_client_move(client, 0, 100000, 3, 0, 100000, 1);
    test_client_move(client, 1, 100000, 3, 0, 100000, 1);
    ck_assert_int_eq(seteuid(0), 0);
    test_client_free(client);
    test_peer_end(&peer, SIGKILL);
}

static themis_status_t ask_who(test_client_t *client)
{
    test_request_t request = {.ask = ASK_WHO};

    return test_client_ask(client, &request);
}

/* On the server's host the kernel says who a client is, or the client has no credentials. */
TEST(credentials)
{
    test_client_t *client = test_client_new(1), *other = test_client_start("127.0.0.1", client->peer.port, 0);

    ck_assert_int_eq(ask_who(client), THEMIS_OK);
    ck_assert_uint_eq(client->answer.sum, geteuid());
    ck_assert_int_eq(themis_net_connect_progress(other->conn, 10 * SECOND), THEMIS_OK);
    ck_assert_int_eq(ask_who(other), THEMIS_ACCESS);
    test_client_free(other);
    test_client_free(client);
}

static void await_welcome(test_client_t *client)
{
    uint64_t until = themis_util_clock_now() + 20 * SECOND;

    while (client->conn->state != THEMIS_NET_HANDSHAKE) {
        ck_assert_uint_lt(themis_util_clock_now(), until);
        themis_net_progress(client->net, SECOND / 10);
    }
}

/* What a listener at that address may do: send WELCOME with the name of another server's socket. Returns how the client
 * fares. */
static themis_status_t misdirect(test_client_t *client, const test_client_t *of)
{
    themis_net_frame_t welcome = {.type = THEMIS_NET_WELCOME, .id = of->conn->peer_key, .token = of->conn->cookie};

    themis_net_lock(client->net);
    themis_net_connect_on_welcome(client->conn, &welcome, NULL);
    themis_net_unlock(client->net);
    themis_status_t status = themis_net_connect_progress(client->conn, SECOND);
    if (status != THEMIS_OK)
        client->conn = NULL; /* a failure has dropped the reference */
    return status;
}

/*
 * A victim connects to where an attacker listens: at another port than the true server's (0), or at the same port of
 * another address (1). The attacker has started to connect to the true server, and sends the victim there with what
 * that server sent. The victim is not connected then, and the attacker's connection does not count as the victim's.
 */
TEST(relay)
{
    test_client_t *client = test_client_new(1), *attacker = test_client_start("127.0.0.1", client->peer.port, 0);
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    struct sockaddr_in address = {.sin_family = AF_INET,
                                  .sin_port = _i ? htons(client->peer.port) : 0,
                                  .sin_addr.s_addr = htonl(INADDR_LOOPBACK + (unsigned)_i)};
    socklen_t size = sizeof address;

    ck_assert_int_eq(bind(listener, (struct sockaddr *)&address, size), 0);
    ck_assert_int_eq(listen(listener, 5), 0);
    ck_assert_int_eq(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    await_welcome(attacker);
    test_client_t *victim = test_client_start(_i ? "127.0.0.2" : "127.0.0.1", ntohs(address.sin_port), 1);
    ck_assert_int_eq(misdirect(victim, attacker), THEMIS_REFUSED);
    ck_assert_int_eq(themis_net_connect_progress(attacker->conn, SECOND), THEMIS_OK);
    ck_assert_int_eq(ask_who(attacker), THEMIS_ACCESS);
    ck_assert_int_eq(ask_who(client), THEMIS_OK);
    close(listener);
    test_client_free(victim);
    test_client_free(attacker);
    test_client_free(client);
}

/* A server that listens at all addresses is meant by those of its host. For an address of another host no client uses
 * the local socket: its name is no secret, and here anybody may have taken it. */
TEST(any_address)
{
    themis_net_options_t options = test_options(1);
    themis_net_handlers_t handlers = {.message = NULL};
    static const char *const meant[] = {"127.0.0.1", "127.0.0.3", "0.0.0.0", "192.0.2.1"};
    themis_net_t *net;
    themis_net_conn_t *conn;
    uint16_t port;

    ck_assert_int_eq(themis_net_create(&options, &handlers, NULL, &net), THEMIS_OK);
    ck_assert_int_eq(themis_net_listen(net, "127.0.0.1", 0, &port), THEMIS_OK);
    net->address.sin_addr.s_addr = INADDR_ANY; /* pretended: a test listens at loopback alone */
    for (unsigned i = 0; i < 4; i++) {
        ck_assert_int_eq(themis_net_connect_start(net, "127.0.0.1", port, &conn), THEMIS_OK);
        conn->address.sin_addr.s_addr = inet_addr(meant[i]);
        themis_status_t status = themis_net_connect_progress(conn, 10 * SECOND);
        ck_assert_int_eq(status, THEMIS_OK);
        ck_assert_int_eq(conn->channel != NULL, i < 3);
        themis_net_conn_close(conn);
        themis_net_conn_unref(conn);
    }
    themis_net_destroy(net);
}

/* More processes than may be silent connect to the local socket and say nothing: others connect, and none is kept for
 * ever. */
TEST(silent_processes)
{
    enum { PROCESSES = THEMIS_NET_MAX_SILENT_OF_USER + 20 };
    test_client_t *client = test_client_new(1);
    struct sockaddr_un address;
    int sockets[PROCESSES];

    socklen_t size = themis_net_hello_address(client->conn->cookie, &address);
    for (int i = 0; i < PROCESSES; i++) {
        sockets[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
        ck_assert_int_eq(connect(sockets[i], (struct sockaddr *)&address, size), 0);
    }
    test_client_t *other = test_client_start("127.0.0.1", client->peer.port, _i);
    ck_assert_int_eq(themis_net_connect_progress(other->conn, 10 * SECOND), THEMIS_OK);
    test_client_move(other, 0, 5000, 1, 0, 5000, 1);
    test_client_move(client, 0, 5000, 1, 0, 5000, 1);
    for (int i = 0; i < PROCESSES; i++) /* dropped, though nothing else happens */
        ck_assert_int_eq(read(sockets[i], &address, 1), 0);
    for (int i = 0; i < PROCESSES; i++)
        close(sockets[i]);
    test_client_free(other);
    test_client_free(client);
}

/* A process of another user connects all the time and says nothing. */
static void flood_main(uint64_t cookie)
{
    enum { SOCKETS = 400 };
    int sockets[SOCKETS];
    struct sockaddr_un address;
    socklen_t size = themis_net_hello_address(cookie, &address);

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(sockets, -1, sizeof sockets);
    if (setuid(65534) != 0)
        _exit(1);
    for (unsigned i = 0;; i = (i + 1) % SOCKETS) {
        close(sockets[i]);
        sockets[i] = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
        if (connect(sockets[i], (struct sockaddr *)&address, size) != 0)
            usleep(100);
    }
}

/* Only root can be two users. */
TEST(a_flood_keeps_no_other_user_out)
{
    if (geteuid() != 0)
        return;
    test_client_t *client = test_client_new(1);
    pid_t flood = fork();
    if (flood == 0)
        flood_main(client->conn->cookie);
    usleep(300000);
    uint64_t before = themis_util_clock_now();
    for (int i = 0; i < 10; i++) {
        test_client_t *other = test_client_start("127.0.0.1", client->peer.port, 1);
        ck_assert_int_eq(themis_net_connect_progress(other->conn, 10 * SECOND), THEMIS_OK);
        ck_assert_int_eq(ask_who(other), THEMIS_OK); /* by the local socket */
        test_client_free(other);
    }
    ck_assert_uint_lt(themis_util_clock_now() - before, 10 * SECOND);
    ck_assert_int_eq(waitpid(flood, NULL, WNOHANG), 0);
    kill(flood, SIGKILL);
    waitpid(flood, NULL, 0);
    test_client_free(client);
}

int main(int count, char **words)
{
    setenv("UCX_NET_DEVICES", "lo", 1);
    test_peer_main(count, words, NULL);
    Suite *suite = suite_create("net_identity");

    TEST_CASE(suite, another_user);
    TEST_CASE(suite, credentials);
    TEST_CASE(suite, relay);
    TEST_CASE(suite, any_address);
    TEST_CASE(suite, silent_processes);
    TEST_CASE(suite, a_flood_keeps_no_other_user_out);
    return test_run(suite);
}
