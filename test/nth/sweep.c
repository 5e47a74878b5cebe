/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Makes calls of themisd or of the client library fail, one in each run of a scene:
 *
 *   sweep [OPTION]... client|serve|start memory|descriptor|thread [SERVER-OPTION...]
 *
 * client: the calls of a client from connecting to disconnecting, of this process; serve: those of servers while a
 * client works with them; start: those of a server until it serves, and from its end on. The options, all with a value:
 *
 *   --themisd FILE, --shim FILE    what is run, and what is preloaded into it (shim.c)
 *   --directory DIR                for files; DIR in front of an option's value is the server's part of it
 *   --servers N                    1 or 2; start sweeps the first
 *   --direct -1|1                  as in themis_options_t
 *   --fresh 1                      start: without what an earlier server has stored
 *   --step N, --seed N             every N-th call fails, the first one by the seed. With 1 all do, else also the
 *                                  first one of each place in the code
 *   --only N                       the N-th call alone
 *   --after MS                     serve: only calls after the scene, for so long: what it has left to do
 *   --quiet 1                      prints no clean errors
 *
 * A run is good if nothing ends or hangs that should not, every operation succeeds or fails with a text that says what
 * was lacking, bytes are right, and the next scene is played without an error. Prints the others, and a summary; the
 * exit status is 1 if there are some.
 */
#define _GNU_SOURCE
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include "test/nth/control.h"
#include "test/nth/scene.h"

enum { MAX_SERVERS = 2, MAX_WORDS = 64, MAX_RUNS = 20000, WORD = 600, MAX_LOG = 1 << 20 };
enum { READY_MS = 20000, STOP_MS = 20000, SCENE_MS = 60000 };

typedef struct sweep {
    const char *themisd, *shim, *directory, *mode;
    int kind, servers, direct, fresh, quiet;
    long step, seed, only, after;
    char **words; /* a server's, up to NULL */
} sweep_t;

/* One call that is to fail: the n-th one of a site, or of all. */
typedef struct fault {
    uint32_t site;
    long n;
} fault_t;

static sweep_t sweep = {.servers = 1, .direct = 1, .step = 1, .directory = "."};
static nth_control_t *control;
static char control_path[WORD], log_path[WORD], list[128], key_word[16];
static pid_t pids[MAX_SERVERS];
static int ports[MAX_SERVERS], ready[MAX_SERVERS] = {-1, -1};
static unsigned scenes; /* played so far */
static long bad;

/* --- the log of a run --------------------------------------------------------------------------------------------- */

static char log_text[MAX_LOG];

static const char *log_read(void)
{
    FILE *file = fopen(log_path, "r");
    size_t length = file ? fread(log_text, 1, sizeof log_text - 1, file) : 0;

    log_text[length] = 0;
    if (file)
        fclose(file);
    return log_text;
}

static void log_begin(void)
{
    int fd = open(log_path, O_WRONLY | O_CREAT | O_TRUNC, 0600);

    if (fd >= 0)
        close(fd);
}

/* In a child: what it prints goes to the log. */
static void log_take(void)
{
    int fd = open(log_path, O_WRONLY | O_CREAT | O_APPEND, 0600);

    dup2(fd, STDOUT_FILENO);
    dup2(fd, STDERR_FILENO);
    setvbuf(stdout, NULL, _IOLBF, 0);
}

static const char *log_defect(void)
{
    static const char *const defects[] = {"Sanitizer", "runtime error:", "Assertion", "WRONG",
                                          "SLOW",      "UNCLEAR",        "AGAIN"};

    log_read();
    for (size_t i = 0; i < sizeof defects / sizeof *defects; i++)
        if (strstr(log_text, defects[i]))
            return defects[i];
    return NULL;
}

/* Does the log say what was lacking? */
static int log_names_cause(void)
{
    static const char *const causes[] = {"emory", "open files", "thread"};

    log_read();
    for (size_t i = 0; i < sizeof causes / sizeof *causes; i++)
        if (strstr(log_text, causes[i]))
            return 1;
    return 0;
}

/* --- faults ------------------------------------------------------------------------------------------------------- */

static void disarm(void)
{
    control->kind = 0;
}

static void arm(const fault_t *fault)
{
    disarm();
    control->count = 0;
    control->hit = 0;
    control->record = 0;
    control->site = fault->site;
    control->fail = fault->n;
    control->kind = sweep.kind;
}

/* Goes on counting. */
static void arm_again(void)
{
    control->kind = sweep.kind;
}

/* Only counts, once it is armed again. */
static void record(void)
{
    const fault_t none = {0, 0};

    arm(&none);
    disarm();
    control->record = 1;
}

static void place_print(void)
{
    char command[WORD + 128], line[512], self[WORD];
    ssize_t length = readlink("/proc/self/exe", self, sizeof self - 1);

    self[length > 0 ? length : 0] = 0;
    printf("  %s failed in\n", control->call);
    for (int i = 0; i < NTH_FRAMES && *control->object[i] != '-' && control->offset[i]; i++) {
        snprintf(command, sizeof command, "addr2line -s -f -p -e '%s' 0x%lx", *sweep.mode == 'c' ? self : sweep.themisd,
                 (unsigned long)control->offset[i] - 1);
        FILE *lines = popen(command, "r");
        if (lines && fgets(line, sizeof line, lines))
            printf("    %s", line);
        if (lines)
            pclose(lines);
    }
}

static void report(const fault_t *fault, const char *what, int status)
{
    static const char *const kinds[] = {"", "memory", "descriptor", "thread"};

    bad++;
    printf("BAD %s %s --only %ld (site %x): %s", sweep.mode, kinds[sweep.kind], fault->n, fault->site, what);
    if (WIFSIGNALED(status))
        printf(", ended by signal %d", WTERMSIG(status));
    printf("\n");
    if (control->hit)
        place_print();
    log_read();
    size_t length = strlen(log_text);
    printf("  log:\n%s\n", log_text + (length > 6000 ? length - 6000 : 0));
    fflush(stdout);
}

/* What a run with a failure that was well met has said. */
static void errors_print(const fault_t *fault)
{
    const char *error = strstr(log_read(), "error");

    if (!sweep.quiet && control->hit && error)
        printf("well met: %s --only %ld: %.*s\n", control->call, fault->n, (int)strcspn(error, "\n"), error);
}

/* --- servers ------------------------------------------------------------------------------------------------------ */

/* Ports that nobody else gets while these sockets are bound. */
static int ports_reserve(void)
{
    for (int i = 0; i < sweep.servers; i++) {
        struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
        socklen_t length = sizeof address;
        int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0), shared = 1;
        setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &shared, sizeof shared);
        if (bind(fd, (struct sockaddr *)&address, length) != 0 ||
            getsockname(fd, (struct sockaddr *)&address, &length) != 0)
            return -1;
        ports[i] = ntohs(address.sin_port);
        snprintf(list + strlen(list), sizeof list - strlen(list), "%s127.0.0.1:%d", i ? "," : "", ports[i]);
    }
    return 0;
}

static int key_make(void)
{
    static const char key[] = "the same thirty-two bytes for all";
    int fd = memfd_create("key", 0);

    snprintf(key_word, sizeof key_word, "%d", fd);
    return write(fd, key, sizeof key) == sizeof key ? 0 : -1;
}

static void server_exec(int index, int shimmed, int port_fd)
{
    static char own[MAX_WORDS][WORD], port[16], number[16], report_fd[16];
    char *words[MAX_WORDS + 20] = {(char *)"themisd",
                                   (char *)"--listen",
                                   (char *)"127.0.0.1",
                                   (char *)"--port",
                                   port,
                                   (char *)"--servers",
                                   list,
                                   (char *)"--index",
                                   number,
                                   (char *)"--size",
                                   (char *)"64m",
                                   (char *)"--warm",
                                   (char *)"0",
                                   (char *)"--key-fd",
                                   key_word,
                                   (char *)"--port-fd",
                                   report_fd,
                                   (char *)"--lambda",
                                   (char *)"20ms",
                                   (char *)"--lease",
                                   (char *)"500ms"};
    int count = 21;

    snprintf(port, sizeof port, "%d", ports[index]);
    snprintf(number, sizeof number, "%d", index);
    snprintf(report_fd, sizeof report_fd, "%d", port_fd);
    for (int i = 0; sweep.words[i] && i < MAX_WORDS; i++) {
        if (strncmp(sweep.words[i], "DIR", 3) == 0)
            snprintf(own[i], WORD, "%s/%d%s", sweep.directory, index, sweep.words[i] + 3);
        else
            snprintf(own[i], WORD, "%s", sweep.words[i]);
        words[count++] = own[i];
    }
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    log_take();
    if (shimmed) {
        setenv("LD_PRELOAD", sweep.shim, 1);
        setenv(NTH_CONTROL, control_path, 1);
    } else {
        unsetenv("LD_PRELOAD");
        unsetenv(NTH_CONTROL);
    }
    execv(sweep.themisd, words);
    _exit(127);
}

static void server_begin(int index, int shimmed)
{
    int ends[2];

    if (pipe2(ends, O_CLOEXEC) != 0)
        exit(2);
    fflush(stdout);
    pids[index] = fork();
    if (pids[index] == 0) {
        int port_fd = fcntl(ends[1], F_DUPFD, 3); /* without O_CLOEXEC */
        server_exec(index, shimmed, port_fd);
    }
    close(ends[1]);
    ready[index] = ends[0];
}

/* 1: it serves; 0: it has ended, or closed the pipe; -1: neither in time. */
static int server_await(int index)
{
    struct pollfd descriptor = {ready[index], POLLIN, 0};
    char byte;
    int result = -1;

    if (poll(&descriptor, 1, READY_MS) == 1)
        result = read(ready[index], &byte, 1) == 1;
    close(ready[index]);
    return result;
}

/* Its status when it has ended by itself, or -1 when it did not in time and was killed. */
static int child_await(pid_t pid, int ms)
{
    int status;

    for (int waited = 0; waited < ms; waited++) {
        if (waitpid(pid, &status, WNOHANG) == pid)
            return status;
        usleep(1000);
    }
    kill(pid, SIGABRT);
    waitpid(pid, &status, 0);
    return -1;
}

static int server_stop(int index)
{
    int status;

    if (pids[index] <= 0)
        return 0;
    kill(pids[index], SIGTERM);
    status = child_await(pids[index], STOP_MS);
    pids[index] = 0;
    return status;
}

/* 0 when all serve. */
static int servers_start(int shimmed)
{
    for (int i = 0; i < sweep.servers; i++)
        server_begin(i, shimmed);
    for (int i = 0; i < sweep.servers; i++)
        if (server_await(i) != 1)
            return -1;
    return 0;
}

/* --- scenes ------------------------------------------------------------------------------------------------------- */

enum { EXIT_BASE = 40 }; /* plus the result: no sanitizer ends a process so */

static void scene_child(const fault_t *fault)
{
    scene_options_t options = {list, scenes, sweep.direct, 0};

    log_take();
    if (fault)
        arm_again();
    scene_result_t result = scene_play(&options);
    if (fault)
        disarm();
    if (fault && result != SCENE_WRONG) {
        options.number++;
        if (scene_play(&options) != SCENE_GOOD) {
            printf("AGAIN a scene after the failure\n");
            result = SCENE_WRONG;
        }
    }
    exit(EXIT_BASE + (int)result);
}

/* The status of a process that plays a scene; with `fault` in that process. */
static int scene_run(const fault_t *fault)
{
    fflush(stdout);
    pid_t pid = fork();

    if (pid == 0)
        scene_child(fault);
    scenes += 2;
    return child_await(pid, SCENE_MS);
}

static int is_result(int status, scene_result_t result)
{
    return status >= 0 && WIFEXITED(status) && WEXITSTATUS(status) == EXIT_BASE + (int)result;
}

static int is_clean(int status)
{
    return is_result(status, SCENE_GOOD) || is_result(status, SCENE_FAILED);
}

/* --- one run of each mode. They return 1 if the call was reached -------------------------------------------------- */

static int client_run(const fault_t *fault)
{
    log_begin();
    int status = scene_run(fault);
    const char *defect = log_defect();
    disarm();
    if (status == -1)
        report(fault, "the client hangs", 0);
    else if (!is_clean(status) || defect)
        report(fault, defect ? defect : "the client ends", status);
    else
        errors_print(fault);
    return control->hit;
}

static const char *servers_lost(int *status)
{
    for (int i = 0; i < sweep.servers; i++)
        if (pids[i] > 0 && waitpid(pids[i], status, WNOHANG) == pids[i]) {
            pids[i] = 0;
            return "a server has ended";
        }
    return NULL;
}

/* While servers do what the scene has left. */
static void linger(void)
{
    for (long ms = 0; ms < sweep.after && !control->hit; ms += 10)
        usleep(10000);
}

static int serve_run(const fault_t *fault)
{
    const char *what = NULL;
    int lost = 0;

    if (!sweep.after)
        arm_again();
    int status = scene_run(NULL);
    if (sweep.after)
        arm_again();
    linger();
    disarm();
    if (status == -1)
        what = "a client hangs";
    else if (!is_clean(status))
        what = "the client's scene is wrong";
    if (!what)
        what = servers_lost(&lost);
    int next = what ? 0 : scene_run(NULL);
    if (!what && !is_result(next, SCENE_GOOD))
        what = "the next client is not served";
    if (!what)
        what = servers_lost(&lost);
    if (!what)
        what = log_defect();
    if (what) {
        report(fault, what, lost);
        for (int i = 0; i < sweep.servers; i++)
            server_stop(i);
        log_begin();
        if (servers_start(1) != 0)
            printf("servers do not start again\n");
    } else {
        errors_print(fault);
    }
    if (!fault->n || control->hit || what)
        log_begin();
    return control->hit;
}

static void directories_empty(void)
{
    char command[2 * WORD];

    snprintf(command, sizeof command, "rm -rf '%s/0' && mkdir -p '%s/0/objects'", sweep.directory, sweep.directory);
    if (system(command) != 0)
        exit(2);
}

/* A server that starts without a failure, after one that failed. */
static const char *start_again(int *status)
{
    server_begin(0, 0);
    if (server_await(0) != 1) {
        *status = server_stop(0);
        return "the next server does not start";
    }
    int scene = scene_run(NULL);
    *status = server_stop(0);
    if (!is_result(scene, SCENE_GOOD))
        return "the next server does not serve";
    return *status == 0 ? NULL : "the next server does not end well";
}

static const char *start_served(int *status)
{
    disarm();
    int scene = scene_run(NULL);
    arm_again();
    *status = server_stop(0);
    if (scene == -1)
        return "a client hangs";
    if (!is_result(scene, SCENE_GOOD))
        return "the client is not served";
    if (*status == -1)
        return "the server does not stop";
    if (WIFSIGNALED(*status))
        return "the server ends badly";
    return WEXITSTATUS(*status) == 0 || log_names_cause() ? NULL : "the server's end has no cause";
}

static int start_run(const fault_t *fault)
{
    const char *what = NULL;
    int status = 0;

    if (sweep.fresh)
        directories_empty();
    server_stop(1); /* it would wait before it connects to the first one again */
    log_begin();
    if (sweep.servers == 2)
        server_begin(1, 0);
    arm_again();
    server_begin(0, 1);
    int serves = server_await(0);
    if (sweep.servers == 2)
        server_await(1);
    if (serves == 1) {
        what = start_served(&status);
    } else {
        status = child_await(pids[0], serves == 0 ? STOP_MS : 1);
        if (status == -1)
            what = "the server neither serves nor ends";
        else if (WIFSIGNALED(status) || WEXITSTATUS(status) == 0)
            what = "the server ends badly";
        else if (!log_names_cause())
            what = "the server does not say what was lacking";
        pids[0] = 0;
    }
    disarm();
    int hit = control->hit;
    if (!what)
        what = log_defect();
    if (!what && serves != 1)
        what = start_again(&status);
    if (what)
        report(fault, what, status < 0 ? 0 : status);
    else
        errors_print(fault);
    return hit;
}

/* --- sweeping ----------------------------------------------------------------------------------------------------- */

static int run(const fault_t *fault)
{
    if (fault->n) {
        arm(fault);
        disarm();
    }
    return *sweep.mode == 'c'                 ? client_run(fault)
           : strcmp(sweep.mode, "serve") == 0 ? serve_run(fault)
                                              : start_run(fault);
}

/* The first call of each site, in `faults`; returns how many. */
static long sites_choose(long calls, fault_t faults[MAX_RUNS])
{
    long chosen = 0;

    for (long i = 0; i < calls; i++) {
        int seen = 0;
        for (long j = 0; j < chosen; j++)
            seen |= faults[j].site == control->sites[i];
        if (!seen && chosen < MAX_RUNS)
            faults[chosen++] = (fault_t){control->sites[i], 1};
    }
    return chosen;
}

static void sweep_all(void)
{
    static fault_t faults[MAX_RUNS];
    const fault_t none = {0, 0};
    long hits = 0, runs = 0;

    record();
    run(&none);
    long calls = control->count < NTH_SITES ? control->count : NTH_SITES;
    control->record = 0;
    long chosen = sweep.step > 1 && !sweep.only ? sites_choose(calls, faults) : 0;
    for (long i = 0; i < chosen; i++, runs++)
        hits += run(&faults[i]);
    fault_t fault = {0, sweep.only ? sweep.only : 1 + sweep.seed % sweep.step};
    /* until none is reached, though not all runs make as many calls */
    for (int missed = 0; missed < 3; fault.n += sweep.step, runs++) {
        int hit = run(&fault);
        hits += hit;
        missed = hit ? 0 : missed + 1;
        if (sweep.only)
            break;
    }
    printf("%ld calls, %ld chosen by their place, %ld runs, %ld with a failure, %ld bad\n", calls, chosen, runs, hits,
           bad);
}

static const char **text_option(const char *name)
{
    return strcmp(name, "--themisd") == 0     ? &sweep.themisd
           : strcmp(name, "--shim") == 0      ? &sweep.shim
           : strcmp(name, "--directory") == 0 ? &sweep.directory
                                              : NULL;
}

static void number_option(const char *name, const char *value)
{
    long number = strtol(value, NULL, 0);

    if (strcmp(name, "--servers") == 0)
        sweep.servers = (int)number;
    else if (strcmp(name, "--direct") == 0)
        sweep.direct = (int)number;
    else if (strcmp(name, "--fresh") == 0)
        sweep.fresh = (int)number;
    else if (strcmp(name, "--quiet") == 0)
        sweep.quiet = (int)number;
    else if (strcmp(name, "--step") == 0)
        sweep.step = number;
    else if (strcmp(name, "--seed") == 0)
        sweep.seed = number;
    else if (strcmp(name, "--only") == 0)
        sweep.only = number;
    else if (strcmp(name, "--after") == 0)
        sweep.after = number;
}

static int arguments_parse(char **argv)
{
    static const char *const kinds[] = {"memory", "descriptor", "thread"};

    for (argv++; argv[0] && argv[1] && strncmp(argv[0], "--", 2) == 0; argv += 2) {
        const char **text = text_option(argv[0]);
        if (text)
            *text = argv[1];
        else
            number_option(argv[0], argv[1]);
    }
    if (!argv[0] || !argv[1] || !sweep.themisd || !sweep.shim)
        return -1;
    sweep.mode = argv[0];
    for (int i = 0; i < NTH_KINDS; i++)
        if (strcmp(argv[1], kinds[i]) == 0)
            sweep.kind = i + 1;
    sweep.words = argv + 2;
    return sweep.kind && sweep.servers >= 1 && sweep.servers <= MAX_SERVERS && sweep.step >= 1 ? 0 : -1;
}

static int control_make(void)
{
    snprintf(control_path, sizeof control_path, "%s/control", sweep.directory);
    snprintf(log_path, sizeof log_path, "%s/log", sweep.directory);
    int fd = open(control_path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0 || ftruncate(fd, sizeof *control) != 0)
        return -1;
    void *map = mmap(NULL, sizeof *control, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    control = map;
    close(fd);
    return map == MAP_FAILED ? -1 : 0;
}

/* A client's calls are counted in this process. */
static void shim_take(char **argv)
{
    if (*sweep.mode != 'c' || getenv(NTH_CONTROL))
        return;
    setenv("LD_PRELOAD", sweep.shim, 1);
    setenv(NTH_CONTROL, control_path, 1);
    execv("/proc/self/exe", argv);
    exit(2);
}

int main(int argc, char **argv)
{
    char command[WORD + 64];

    if (arguments_parse(argv) != 0) {
        fputs("usage: sweep [OPTION VALUE]... client|serve|start memory|descriptor|thread [SERVER-OPTION...]\n",
              stderr);
        return 2;
    }
    if (control_make() != 0) {
        perror(control_path);
        return 2;
    }
    shim_take(argv);
    disarm();
    setenv("UCX_NET_DEVICES", "lo", 0);
    setenv("MALLOC_PERTURB_", "165", 0);
    snprintf(command, sizeof command, "mkdir -p '%s/0/objects' '%s/1/objects'", sweep.directory, sweep.directory);
    if (system(command) != 0 || ports_reserve() != 0 || key_make() != 0)
        return 2;
    int starts = strcmp(sweep.mode, "start") == 0;
    log_begin();
    if (!starts && servers_start(*sweep.mode == 's') != 0) {
        printf("servers do not start\n%s\n", log_read());
        return 2;
    }
    sweep_all();
    const fault_t none = {0, 0};
    for (int i = 0; i < sweep.servers; i++) {
        int status = server_stop(i);
        if (status != 0)
            report(&none, "a server does not end well", status < 0 ? 0 : status);
    }
    if (log_defect())
        report(&none, "the log of the servers", 0);
    return bad > 0;
}
