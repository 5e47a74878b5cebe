/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Round trips of net/ between two processes: a message and its answer; a request whose bytes the server pulls or pushes
 * before it answers. Prints a line for each size: microseconds a round trip (best and median of the repeats), MiB/s and
 * CPU microseconds of both processes. -u: UCX only, without the local transport; -o (as root): the client is another
 * user, whose memory the server may not copy. -s: microseconds of polling before a sleep; -y 0: no sched_yield.
 */
#include <getopt.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "net/net.h"
#include "util/clock.h"

enum { MAX_BYTES = 64 << 20, REPEATS = 5 };

typedef enum what { ECHO, PULL, PUSH } what_t;
static const char *const names[] = {"message", "pull", "push"};

typedef struct request {
    what_t what;
    uint64_t length;
    unsigned char descriptor[THEMIS_NET_DESCRIPTOR_BYTES];
} request_t;

typedef struct side {
    themis_net_t *net;
    themis_net_conn_t *conn;
    unsigned char *bytes;
    request_t request;
    unsigned answers;
} side_t;

static void send_answer(void *arg, themis_status_t status)
{
    side_t *side = arg;

    side->request.what = status == THEMIS_OK ? side->request.what : ECHO;
    themis_net_send(side->conn, &side->request, sizeof side->request);
}

static void serve_one(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    side_t *side = arg;
    themis_status_t status;

    memcpy(&side->request, bytes, length < sizeof side->request ? length : sizeof side->request);
    if (length != sizeof side->request || side->request.what == ECHO) {
        themis_net_send(conn, bytes, length);
        return;
    }
    struct iovec local = {side->bytes, side->request.length};
    side->conn = conn;
    if (side->request.what == PULL)
        status = themis_net_pull(conn, side->request.descriptor, 0, &local, 1, send_answer, side);
    else
        status = themis_net_push(conn, side->request.descriptor, 0, &local, 1, send_answer, side);
    if (status != THEMIS_IN_PROGRESS)
        send_answer(side, status);
}

static void count_one(void *arg, themis_net_conn_t *conn, const void *bytes, size_t length)
{
    ((side_t *)arg)->answers++;
}

static void serve(const themis_net_options_t *options, int out)
{
    themis_net_handlers_t handlers = {.message = serve_one};
    side_t side = {.bytes = malloc(MAX_BYTES)};
    uint16_t port;

    prctl(PR_SET_PDEATHSIG, SIGKILL);
    memset(side.bytes, 1, MAX_BYTES);
    if (themis_net_create(options, &handlers, &side, &side.net) != THEMIS_OK ||
        themis_net_listen(side.net, "127.0.0.1", 0, &port) != THEMIS_OK || write(out, &port, sizeof port) < 0)
        _exit(1);
    for (;;)
        themis_net_progress(side.net, THEMIS_NS_PER_S);
}

static double cpu_of(int pid)
{
    clockid_t clock;
    struct timespec used = {0, 0};

    if (clock_getcpuclockid(pid, &clock) == 0)
        clock_gettime(clock, &used);
    return (double)used.tv_sec * 1e6 + (double)used.tv_nsec / 1e3;
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return x < y ? -1 : x > y;
}

/* One round trip after the other; returns microseconds for each. */
static double run(side_t *side, what_t what, uint64_t length, unsigned rounds)
{
    themis_net_exposed_t *exposed = NULL;
    struct iovec memory = {side->bytes, length};
    request_t request = {.what = what, .length = length};
    const void *message = what == ECHO ? (void *)side->bytes : &request;
    size_t bytes = what == ECHO ? length : sizeof request;

    uint64_t start = themis_util_clock_now();
    for (unsigned i = 0; i < rounds; i++) {
        if (what != ECHO && themis_net_expose(side->conn, &memory, 1, what == PUSH, &exposed) != THEMIS_OK)
            exit(1);
        if (what != ECHO)
            themis_net_exposed_descriptor(exposed, request.descriptor);
        unsigned before = side->answers;
        if (themis_net_send(side->conn, message, bytes) != THEMIS_OK)
            exit(1);
        while (side->answers == before)
            themis_net_progress(side->net, THEMIS_NS_PER_S);
        if (what == PUSH)
            themis_net_exposed_flush(exposed);
        if (what != ECHO)
            themis_net_unexpose(exposed);
    }
    return (double)(themis_util_clock_now() - start) / 1e3 / rounds;
}

static void measure(side_t *side, int server, const char *via, what_t what, uint64_t length)
{
    unsigned rounds = length >= 1 << 20 ? 300 : length > 65536 ? 2000 : 10000;
    double us[REPEATS];

    run(side, what, length, rounds / 10);
    double cpu = cpu_of(server) + cpu_of(getpid());
    for (int i = 0; i < REPEATS; i++)
        us[i] = run(side, what, length, rounds);
    cpu = (cpu_of(server) + cpu_of(getpid()) - cpu) / rounds / REPEATS;
    qsort(us, REPEATS, sizeof *us, by_value);
    printf("%s\t%s\t%llu\t%.2f\t%.2f\t%.0f\t%.2f\n", via, names[what], (unsigned long long)length, us[0],
           us[REPEATS / 2], (double)length / 1.048576 / us[REPEATS / 2], cpu);
    fflush(stdout);
}

int main(int count, char **words)
{
    static const uint64_t sizes[] = {8, 512, 4096, 65536, 1 << 20, 16 << 20};
    themis_net_options_t options = {
        .spin = 20 * THEMIS_NS_PER_US, .local_copy = 1, .yield = 1, .auth = {.kind = THEMIS_NET_AUTH_NONE}};
    themis_net_handlers_t handlers = {.message = count_one};
    side_t side = {.bytes = malloc(MAX_BYTES)};
    int ends[2], option, other_user = 0;
    uint16_t port = 0;

    while ((option = getopt(count, words, "utos:y:")) != -1)
        if (option == 'u' || option == 't') {
            options.local_copy = 0;
            options.network = option == 'u' ? THEMIS_NET_UCX : THEMIS_NET_TCP;
        } else if (option == 'o')
            other_user = 1;
        else if (option == 's')
            options.spin = strtoull(optarg, NULL, 10) * THEMIS_NS_PER_US;
        else if (option == 'y')
            options.yield = atoi(optarg);
        else
            return 2;
    memset(side.bytes, 2, MAX_BYTES);
    if (pipe(ends) != 0)
        return 1;
    int server = fork();
    if (server == 0)
        serve(&options, ends[1]);
    if (other_user && seteuid(65534) != 0)
        return 2;
    if (read(ends[0], &port, sizeof port) != sizeof port ||
        themis_net_create(&options, &handlers, &side, &side.net) != THEMIS_OK ||
        themis_net_connect(side.net, "127.0.0.1", port, 10 * THEMIS_NS_PER_S, &side.conn) != THEMIS_OK)
        return 1;
    const char *via = !options.local_copy ? (options.network == THEMIS_NET_UCX ? "ucx" : "tcp")
                      : other_user        ? "local, other user"
                                          : "local";
    printf("via\toperation\tbytes\tbest_us\tmedian_us\tmib_s\tcpu_us\n");
    for (what_t what = ECHO; what <= PUSH; what++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++)
            if (what != ECHO || sizes[i] <= 1 << 20)
                measure(&side, server, via, what, sizes[i]);
    themis_net_conn_close(side.conn);
    themis_net_conn_unref(side.conn);
    themis_net_destroy(side.net);
    kill(server, SIGKILL);
    waitpid(server, NULL, 0);
    free(side.bytes);
    return 0;
}
