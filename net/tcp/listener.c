/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "net/tcp/listener.h"
#include <errno.h>
#include <netdb.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/socket.h>
#include <unistd.h>
#include "net/event.h"
#include "net/silent.h"
#include "net/tcp/tcp.h"
#include "util/clock.h"
#include "util/log.h"

#define MAX_SILENCE (5 * THEMIS_NS_PER_S)
#define ACCEPT_PAUSE (100 * THEMIS_NS_PER_MS)
#define REPORT_INTERVAL (10 * THEMIS_NS_PER_S)
enum { BACKLOG = 4096, MAX_ACCEPTED = 64 };
_Static_assert(THEMIS_NET_TCP_STRANGERS + THEMIS_NET_MAX_STRANGERS <= THEMIS_NET_TCP_KEYS, "events of their own");

/* WAITING and CHECKED: for the thread, and by it. */
typedef enum stranger_state { SPEAKS, WAITING, CHECKING, CHECKED } stranger_state_t;

/* Beside the socket of the same place in `silents`. */
typedef struct stranger {
    stranger_state_t state;
    struct sockaddr_in address;
    themis_net_handshake_t handshake;
    themis_net_handshake_keys_t keys; /* CHECKED, if the handshake is complete */
} stranger_t;

typedef struct themis_net_listening {
    int fd;
    uint64_t accept_again; /* when accepting goes on; 0: it does */
    uint8_t identity[THEMIS_NET_HANDSHAKE_IDENTITY];
    themis_net_silents_t silents;
    themis_net_silent_t sockets[THEMIS_NET_MAX_STRANGERS];
    unsigned waiting, checked; /* strangers in these states */
    uint64_t refused;          /* since the last report */
    uint64_t report_again;
    int started, stop; /* of the thread */
    pthread_t thread;
    pthread_cond_t work; /* with net->lock */
    stranger_t strangers[THEMIS_NET_MAX_STRANGERS];
} listening_t;

/* --- reports ------------------------------------------------------------------------------------------------------ */

static void address_text(const struct sockaddr_in *address, char *text, size_t size)
{
    char host[48], port[8];

    if (getnameinfo((const struct sockaddr *)address, sizeof *address, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) == 0)
        snprintf(text, size, "%s:%s", host, port);
    else
        snprintf(text, size, "unknown");
}

/* One line for all that were refused within a while: strangers shall not fill the log. */
static void report_refused(listening_t *listening, const struct sockaddr_in *address, const char *why)
{
    uint64_t now = themis_util_clock_now();
    char text[64];

    listening->refused++;
    if (now < listening->report_again)
        return;
    address_text(address, text, sizeof text);
    themis_warn("refused %llu connections of other hosts; the last, from %s: %s",
                (unsigned long long)listening->refused, text, why);
    listening->refused = 0;
    listening->report_again = now + REPORT_INTERVAL;
}

/* --- strangers ---------------------------------------------------------------------------------------------------- */

static void stranger_drop(listening_t *listening, unsigned index)
{
    themis_net_silent_drop(&listening->sockets[index]);
    themis_net_handshake_wipe(&listening->strangers[index].handshake);
    explicit_bzero(&listening->strangers[index].keys, sizeof listening->strangers[index].keys);
}

static void stranger_progress(themis_net_t *net, unsigned index)
{
    listening_t *listening = net->tcp->listening;
    themis_net_silent_t *silent = &listening->sockets[index];
    stranger_t *stranger = &listening->strangers[index];

    if (silent->fd < 0 || stranger->state != SPEAKS)
        return;
    int goes_on = themis_net_tcp_handshake_read(silent->fd, &stranger->handshake) &&
                  themis_net_tcp_handshake_write(silent->fd, &stranger->handshake);
    if (stranger->handshake.state == THEMIS_NET_HANDSHAKE_FAILED)
        report_refused(listening, &stranger->address, stranger->handshake.why);
    if (!goes_on || stranger->handshake.state == THEMIS_NET_HANDSHAKE_FAILED) {
        stranger_drop(listening, index);
    } else if (stranger->handshake.state == THEMIS_NET_HANDSHAKE_CHECKS) {
        themis_net_tcp_remove(net->tcp, silent->fd);
        stranger->state = WAITING;
        listening->waiting++;
        pthread_cond_signal(&listening->work);
    }
}

/* A connection of its own for who has shown who it is. */
static void stranger_admit(themis_net_t *net, unsigned index)
{
    listening_t *listening = net->tcp->listening;
    stranger_t *stranger = &listening->strangers[index];
    int fd = listening->sockets[index].fd, one_of_us = stranger->handshake.kind != THEMIS_NET_AUTH_NONE;
    themis_net_stream_t *stream = themis_net_stream_new(fd);
    themis_net_conn_t *conn = stream != NULL ? themis_net_conn_new(net, 1) : NULL;

    listening->sockets[index].fd = -1; /* the stream has it */
    if (conn == NULL) {
        themis_net_stream_free(NULL, stream);
        return;
    }
    conn->stream = stream;
    conn->address = stranger->address;
    address_text(&conn->address, conn->peer, sizeof conn->peer);
    conn->proved = stranger->handshake.peer;
    conn->credentials = one_of_us ? &conn->proved : NULL;
    conn->needs_local = net->options.local_copy && !net->options.emulate_hosts;
    themis_net_stream_set_keys(stream, &stranger->keys, 1);
    if (themis_net_tcp_add(net->tcp, fd, EPOLLIN, conn->key) != 0) {
        themis_net_conn_lose(conn, THEMIS_IO);
        return;
    }
    stream->events = EPOLLIN;
    themis_net_event_opened(conn);
}

/* The thread has looked at the stranger's proof. */
static void stranger_finish(themis_net_t *net, unsigned index)
{
    listening_t *listening = net->tcp->listening;
    stranger_t *stranger = &listening->strangers[index];
    int sent = themis_net_tcp_handshake_write(listening->sockets[index].fd, &stranger->handshake);

    listening->checked--;
    if (stranger->handshake.state != THEMIS_NET_HANDSHAKE_DONE)
        report_refused(listening, &stranger->address, stranger->handshake.why);
    else if (sent)
        stranger_admit(net, index);
    stranger_drop(listening, index);
}

int themis_net_listening_is_due(const themis_net_t *net)
{
    return net->tcp->listening->checked > 0;
}

/* --- the thread --------------------------------------------------------------------------------------------------- */

/* Is the one looked at before the other? Those that do not need munged come first: servers must not lose each other
 * when it is slow. */
static int is_before(const listening_t *listening, int one, int other)
{
    int slow = listening->strangers[one].handshake.kind == THEMIS_NET_AUTH_MUNGE;
    int other_slow = listening->strangers[other].handshake.kind == THEMIS_NET_AUTH_MUNGE;

    return slow != other_slow ? slow < other_slow : listening->sockets[one].since < listening->sockets[other].since;
}

/* The one that has waited for the longest time, or -1. */
static int waiting_find(const listening_t *listening)
{
    int found = -1;

    for (int i = 0; i < THEMIS_NET_MAX_STRANGERS; i++)
        if (listening->sockets[i].fd >= 0 && listening->strangers[i].state == WAITING &&
            (found < 0 || is_before(listening, i, found)))
            found = i;
    return found;
}

static void stranger_check(stranger_t *stranger)
{
    themis_net_handshake_t *handshake = &stranger->handshake;

    themis_net_handshake_check(handshake);
    if (handshake->state == THEMIS_NET_HANDSHAKE_DONE &&
        themis_net_handshake_derive(handshake, &stranger->keys) != THEMIS_OK)
        handshake->state = THEMIS_NET_HANDSHAKE_FAILED;
}

static void *checks_main(void *arg)
{
    themis_net_t *net = arg;
    listening_t *listening = net->tcp->listening;

    themis_net_lock(net);
    while (!listening->stop) {
        int index = listening->waiting > 0 ? waiting_find(listening) : -1;
        if (index < 0) {
            listening->waiting = 0; /* those that gave way meanwhile */
            pthread_cond_wait(&listening->work, &net->lock);
            continue;
        }
        listening->waiting--;
        listening->strangers[index].state = CHECKING;
        listening->sockets[index].held = 1;
        themis_net_unlock(net);
        stranger_check(&listening->strangers[index]);
        themis_net_lock(net);
        listening->strangers[index].state = CHECKED;
        listening->checked++;
        net->kick = 1;
        themis_net_unlock(net); /* wakes who sleeps */
        themis_net_lock(net);
    }
    themis_net_unlock(net);
    return NULL;
}

/* Signals are for the program's other threads. */
static themis_status_t thread_start(themis_net_t *net, listening_t *listening)
{
    sigset_t all, before;

    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    int cause = pthread_create(&listening->thread, NULL, checks_main, net);
    listening->started = cause == 0;
    pthread_sigmask(SIG_SETMASK, &before, NULL);
    if (cause)
        themis_error("cannot start a thread that checks who connects: %s", strerror(cause));
    return cause ? THEMIS_NO_MEMORY : THEMIS_OK;
}

/* --- accepting ---------------------------------------------------------------------------------------------------- */

static void accept_one(themis_net_t *net, int fd, const struct sockaddr_in *address)
{
    listening_t *listening = net->tcp->listening;
    int index = themis_net_silents_place(&listening->silents, address->sin_addr.s_addr);

    if (index < 0 || themis_net_tcp_add(net->tcp, fd, EPOLLIN, THEMIS_NET_TCP_STRANGERS + (uint64_t)index) != 0) {
        close(fd);
        return;
    }
    stranger_t *stranger = &listening->strangers[index];
    listening->sockets[index] = (themis_net_silent_t){fd, 0, address->sin_addr.s_addr, themis_util_clock_now()};
    net->loop.short_sleep = 1; /* it has a deadline */
    stranger->state = SPEAKS;
    stranger->address = *address;
    themis_net_handshake_accept(&stranger->handshake, &net->options.auth, listening->identity, net->cookie);
}

/* The listening socket would wake us for ever while no more can be accepted. */
static void accept_pause(themis_net_t *net)
{
    themis_net_tcp_change(net->tcp, net->tcp->listening->fd, 0, THEMIS_NET_TCP_LISTENER);
    net->tcp->listening->accept_again = themis_util_clock_now() + ACCEPT_PAUSE;
    net->loop.short_sleep = 1;
}

static void accept_all(themis_net_t *net)
{
    listening_t *listening = net->tcp->listening;

    for (int i = 0; i < MAX_ACCEPTED; i++) {
        struct sockaddr_in address;
        socklen_t size = sizeof address;
        int possible = themis_net_conn_is_possible(net);
        int fd =
            possible ? accept4(listening->fd, (struct sockaddr *)&address, &size, SOCK_CLOEXEC | SOCK_NONBLOCK) : -1;
        if (fd >= 0) {
            accept_one(net, fd, &address);
            continue;
        }
        if (!possible || (errno != EAGAIN && errno != EINTR && errno != ECONNABORTED))
            accept_pause(net);
        return;
    }
}

void themis_net_listening_on_event(themis_net_t *net, uint64_t what)
{
    if (what == THEMIS_NET_TCP_LISTENER)
        accept_all(net);
    else
        stranger_progress(net, (unsigned)(what - THEMIS_NET_TCP_STRANGERS));
}

int themis_net_listening_progress(themis_net_t *net, int thorough)
{
    listening_t *listening = net->tcp->listening;
    uint64_t now;
    unsigned left = 0;

    for (unsigned i = 0; i < THEMIS_NET_MAX_STRANGERS && listening->checked > 0; i++)
        if (listening->sockets[i].fd >= 0 && listening->strangers[i].state == CHECKED)
            stranger_finish(net, i);
    if (!thorough)
        return 0;
    now = themis_util_clock_now();
    if (now > MAX_SILENCE)
        left = themis_net_silents_expire(&listening->silents, now - MAX_SILENCE);
    if (listening->accept_again != 0 && now > listening->accept_again) {
        listening->accept_again = 0;
        themis_net_tcp_change(net->tcp, listening->fd, EPOLLIN, THEMIS_NET_TCP_LISTENER);
    }
    return left > 0 || listening->accept_again != 0;
}

/* --- beginning and end -------------------------------------------------------------------------------------------- */

void themis_net_listening_address(const struct sockaddr_in *from, themis_net_handshake_address_t *to)
{
    *to = (themis_net_handshake_address_t){.ip = {[10] = 0xff, [11] = 0xff}, .port = ntohs(from->sin_port)};
    memcpy(to->ip + 12, &from->sin_addr, 4);
}

static int socket_open(struct sockaddr_in *address)
{
    static const int one = 1;
    socklen_t size = sizeof *address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

    if (fd >= 0 && setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
        bind(fd, (struct sockaddr *)address, sizeof *address) == 0 && listen(fd, BACKLOG) == 0 &&
        getsockname(fd, (struct sockaddr *)address, &size) == 0)
        return fd;
    int error = errno;
    if (fd >= 0)
        close(fd);
    errno = error;
    return -1;
}

themis_status_t themis_net_listening_begin(themis_net_t *net, const char *host, struct sockaddr_in *address)
{
    int fd = socket_open(address);

    if (fd < 0) {
        int busy = errno == EADDRINUSE;
        themis_error("cannot listen at %s:%u: %s", host != NULL && *host ? host : "*", ntohs(address->sin_port),
                     busy ? "address already in use" : strerror(errno));
        return busy ? THEMIS_BUSY : THEMIS_IO;
    }
    listening_t *listening = calloc(1, sizeof *listening);
    if (listening == NULL) {
        close(fd);
        return THEMIS_NO_MEMORY;
    }
    listening->fd = fd;
    pthread_cond_init(&listening->work, NULL);
    themis_net_silents_init(&listening->silents, listening->sockets, THEMIS_NET_MAX_STRANGERS,
                            THEMIS_NET_MAX_STRANGERS_OF_HOST);
    net->tcp->listening = listening;
    net->address = *address;
    net->listening = 1;
    if (getrandom(listening->identity, sizeof listening->identity, 0) != sizeof listening->identity ||
        themis_net_tcp_add(net->tcp, fd, EPOLLIN, THEMIS_NET_TCP_LISTENER) != 0) {
        themis_error("cannot wait for connections: %m");
        return THEMIS_IO;
    }
    return thread_start(net, listening);
}

void themis_net_listening_end(themis_net_t *net)
{
    listening_t *listening = net->tcp->listening;

    if (listening == NULL)
        return;
    themis_net_lock(net);
    listening->stop = 1;
    pthread_cond_signal(&listening->work);
    themis_net_unlock(net);
    if (listening->started)
        pthread_join(listening->thread, NULL);
    close(listening->fd);
    themis_net_silents_close(&listening->silents);
    pthread_cond_destroy(&listening->work);
    explicit_bzero(listening, sizeof *listening);
    free(listening);
    net->tcp->listening = NULL;
}
