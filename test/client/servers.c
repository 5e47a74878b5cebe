/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/client/servers.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

char test_server_list[256];
const char *test_server_lease = "15s";
const char *test_server_directory;
const char *test_server_capability_lifetime = "24h";
static int key_fd = -1;
static pid_t pids[TEST_SERVERS];
static int ports[TEST_SERVERS];

/* Ports that the kernel gives, and gives to nobody else while these sockets are bound: a server that starts takes its
 * port over, also again after it was down, since it listens with SO_REUSEADDR. They stay open as long as this process.
 */
static int reserve_ports(void)
{
    size_t used = 0;

    for (int i = 0; i < TEST_SERVERS; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), shared = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared);
        if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &length) != 0) {
            perror("a port for a server");
            return -1;
        }
        ports[i] = ntohs(address.sin_port);
        used += (size_t)snprintf(test_server_list + used, sizeof test_server_list - used, "%s127.0.0.1:%d",
                                 i ? "," : "", ports[i]);
    }
    return 0;
}

themis_status_t test_connect(const char *list, uint64_t timeout, themis_t **session)
{
    themis_options_t options;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = timeout;
    return themis_connect(&options, session);
}

themis_list_t test_list(void *bytes, const themis_run_t *run, struct iovec *memory)
{
    *memory = (struct iovec){bytes, run->length * run->count};
    return (themis_list_t){memory, 1, run, 1};
}

enum { STORE_WORDS = 6 };

/* Where server `index` keeps its names and bytes; no words: in memory. */
static void store_words(int index, const char *words[STORE_WORDS])
{
    static char names[512], objects[512];

    memset(words, 0, STORE_WORDS * sizeof *words);
    if (!test_server_directory)
        return;
    snprintf(names, sizeof names, "%s/names%d", test_server_directory, index);
    snprintf(objects, sizeof objects, "%s/objects%d", test_server_directory, index);
    mkdir(objects, 0700);
    memcpy(words, (const char *[]){"--store", "posix", "--state", names, "--directory", objects},
           STORE_WORDS * sizeof *words);
}

/* Of all servers, also when they are started again. */
static int make_key(void)
{
    static const char key[] = "the same thirty-two bytes for all";

    key_fd = memfd_create("key", 0);
    return write(key_fd, key, sizeof key) == sizeof key ? 0 : -1;
}

void test_server_start_after(int index, unsigned delay_ms)
{
    char port[16], number[16], stripe[16], key[16];
    const char *store[STORE_WORDS];

    snprintf(port, sizeof port, "%d", ports[index]);
    snprintf(number, sizeof number, "%d", index);
    snprintf(stripe, sizeof stripe, "%d", TEST_STRIPE);
    snprintf(key, sizeof key, "%d", key_fd);
    pids[index] = fork();
    if (pids[index] != 0)
        return;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    usleep(delay_ms * 1000);
    store_words(index, store);
    execl("server/themisd", "themisd", "--listen", "127.0.0.1", "--port", port, "--servers", test_server_list,
          "--index", number, "--size", "256m", "--warm", "0", "--stripe-size", stripe, "--log", "error", "--heartbeat",
          "200ms", "--lease", test_server_lease, "--key-fd", key, "--capability-lifetime",
          test_server_capability_lifetime, "--direct", "on", store[0], store[1], store[2], store[3], store[4],
          store[5], (char *)NULL);
    _exit(127);
}

void test_server_start(int index)
{
    test_server_start_after(index, 0);
}

int test_servers_start(void)
{
    if (access("server/themisd", X_OK) != 0) {
        fputs("server/themisd is not built\n", stderr);
        return -1;
    }
    setenv("UCX_NET_DEVICES", "lo", 0);
    if (reserve_ports() != 0 || make_key() != 0)
        return -1;
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_start(i);
    return 0;
}

void test_server_signal(int index, int signal)
{
    if (pids[index] <= 0)
        return;
    kill(pids[index], signal);
    if (signal == SIGSTOP) /* returns when all of its threads have stopped */
        waitpid(pids[index], NULL, WUNTRACED);
}

void test_server_kill(int index)
{
    test_server_signal(index, SIGKILL);
    if (pids[index] > 0)
        waitpid(pids[index], NULL, 0);
    pids[index] = 0;
}

void test_servers_stop(void)
{
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_signal(i, SIGTERM);
    for (int i = 0; i < TEST_SERVERS; i++)
        if (pids[i] > 0)
            waitpid(pids[i], NULL, 0);
}
