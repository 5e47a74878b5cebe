/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A job for the sharing benchmark and its tests, and the sampler that watches all jobs.
 *
 *   sharing_client job [OPTION=VALUE...]      processes that write a file and read it back, again and again
 *   sharing_client sample [OPTION=VALUE...]   counters of all jobs at all servers, as CSV
 *
 * Both take servers=LIST, start=S (seconds from now, or from the monotonic time at=T) and seconds=S. A job takes
 * job=NAME nodes=N priority=N (or THEMIS_PRIORITY) uid=N gid=N processes=N depth=N (requests outstanding)
 * request=BYTES file=BYTES mode=rw|write|stat|counter|status|bsp think=US (pause after each request, but in mode bsp)
 * server=N (its files are on that server alone) shared=1 (one file, of which each process has a part of `file` bytes)
 * check=0|1 (fill before writing, compare after reading) rounds=N (of mode bsp: pause `think`, then write the file;
 * ends after them) linger=S (stay connected after the end) period=MS busy=MS (of each period the first `busy` are a
 * window: outside of it the job has no requests) steady=1 (nor fewer: it only counts). The sampler takes every=MS.
 *
 * A job prints "NAME bytes=N operations=N in_windows=N seconds=S" when it ends; in_windows leaves out the first 20 ms
 * of each window. The sampler prints "time_s,server,job,bytes,requests, metadata,queued,share" with times from its
 * start.
 */
#define _GNU_SOURCE
#include <fcntl.h>
#include <grp.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>
#include <jansson.h>
#include "themis/themis.h"

enum { MAX_DEPTH = 256 };

typedef struct settings {
    const char *servers, *job, *mode;
    double at, start, seconds, linger;
    long nodes, priority, uid, gid, processes, depth, request, file, think, server, check, rounds, every;
    long period, busy, steady, shared;
} settings_t;

/* Counters that the processes of a job share. */
typedef struct totals {
    uint64_t bytes, operations, failures, in_windows;
} totals_t;

static double now(void)
{
    struct timespec time;

    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec * 1e-9;
}

static void sleep_until(double when)
{
    struct timespec time = {.tv_sec = (time_t)when, .tv_nsec = (long)((when - (double)(time_t)when) * 1e9)};

    while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &time, NULL) != 0)
        ;
}

static int take_option(settings_t *settings, const char *option)
{
    const struct {
        const char *name;
        const char **text;
        long *number;
        double *real;
    } known[] = {
        {"servers", &settings->servers, NULL, NULL},   {"job", &settings->job, NULL, NULL},
        {"mode", &settings->mode, NULL, NULL},         {"start", NULL, NULL, &settings->start},
        {"seconds", NULL, NULL, &settings->seconds},   {"at", NULL, NULL, &settings->at},
        {"linger", NULL, NULL, &settings->linger},     {"nodes", NULL, &settings->nodes, NULL},
        {"priority", NULL, &settings->priority, NULL}, {"uid", NULL, &settings->uid, NULL},
        {"gid", NULL, &settings->gid, NULL},           {"processes", NULL, &settings->processes, NULL},
        {"depth", NULL, &settings->depth, NULL},       {"request", NULL, &settings->request, NULL},
        {"file", NULL, &settings->file, NULL},         {"think", NULL, &settings->think, NULL},
        {"server", NULL, &settings->server, NULL},     {"check", NULL, &settings->check, NULL},
        {"rounds", NULL, &settings->rounds, NULL},     {"every", NULL, &settings->every, NULL},
        {"period", NULL, &settings->period, NULL},     {"busy", NULL, &settings->busy, NULL},
        {"steady", NULL, &settings->steady, NULL},     {"shared", NULL, &settings->shared, NULL},
    };
    const char *equals = strchr(option, '=');

    for (size_t i = 0; equals != NULL && i < sizeof known / sizeof *known; i++) {
        if (strlen(known[i].name) != (size_t)(equals - option) || strncmp(known[i].name, option, equals - option) != 0)
            continue;
        if (known[i].text != NULL)
            *known[i].text = equals + 1;
        else if (known[i].number != NULL)
            *known[i].number = atol(equals + 1);
        else
            *known[i].real = atof(equals + 1);
        return 1;
    }
    return 0;
}

/* --- one process of a job ----------------------------------------------------------------------------------------- */

typedef struct process {
    const settings_t *settings;
    totals_t *totals;
    double start, end; /* end: of the requests; of those of this window, if the job pauses between windows */
    themis_t *session;
    themis_file_t *file;
    unsigned char *buffer;
    unsigned char pattern;
    uint64_t base; /* of its part of the file */
} process_t;

static int fail(const process_t *process, const char *what)
{
    fprintf(stderr, "%s: %s: %s\n", process->settings->job, what, themis_last_error());
    __atomic_add_fetch(&process->totals->failures, 1, __ATOMIC_RELAXED);
    return -1;
}

/* Seconds since the start of this period. */
static double in_period(const process_t *process)
{
    double period = (double)process->settings->period * 1e-3, since = now() - process->start;

    return since - period * (double)(long)(since / period);
}

static int is_in_window(const process_t *process)
{
    enum { BEGINNING_MS = 20 };
    const settings_t *settings = process->settings;
    double ms = settings->period > 0 ? in_period(process) * 1e3 : 0;

    return ms >= BEGINNING_MS && ms < (double)settings->busy;
}

static void count(process_t *process, uint64_t bytes)
{
    if (is_in_window(process))
        __atomic_add_fetch(&process->totals->in_windows, bytes, __ATOMIC_RELAXED);
    __atomic_add_fetch(&process->totals->bytes, bytes, __ATOMIC_RELAXED);
    __atomic_add_fetch(&process->totals->operations, 1, __ATOMIC_RELAXED);
    if (process->settings->think > 0 && strcmp(process->settings->mode, "bsp") != 0)
        usleep((useconds_t)process->settings->think);
}

static themis_status_t begin(process_t *process, int writes, long offset, struct iovec *memory, themis_run_t *run,
                             themis_request_t **request)
{
    const settings_t *settings = process->settings;
    long length = settings->file - offset < settings->request ? settings->file - offset : settings->request;

    *memory = (struct iovec){process->buffer + offset, (size_t)length};
    *run = (themis_run_t){process->base + (uint64_t)offset, (uint64_t)length, (uint64_t)length, 1};
    themis_list_t list = {memory, 1, run, 1};
    return writes ? themis_iwrite_list(process->file, &list, request)
                  : themis_iread_list(process->file, &list, request);
}

/* The whole file once, `depth` requests outstanding; ends early when time is up. */
static int pass(process_t *process, int writes)
{
    const settings_t *settings = process->settings;
    struct iovec memory[MAX_DEPTH];
    themis_run_t runs[MAX_DEPTH];
    themis_request_t *requests[MAX_DEPTH] = {NULL};
    long offset = 0, slot = 0, outstanding = 0;
    int status = 0;

    while (outstanding > 0 || (offset < settings->file && status == 0 && now() < process->end)) {
        if (requests[slot] != NULL) {
            size_t done;
            if (themis_request_wait(requests[slot], &done) != THEMIS_OK)
                status = fail(process, writes ? "write" : "read");
            else
                count(process, done);
            requests[slot] = NULL;
            outstanding--;
        }
        if (offset < settings->file && status == 0 && now() < process->end) {
            if (begin(process, writes, offset, &memory[slot], &runs[slot], &requests[slot]) != THEMIS_OK)
                status = fail(process, writes ? "write" : "read");
            else
                outstanding++;
            offset += settings->request;
        }
        slot = (slot + 1) % settings->depth;
    }
    return status;
}

static int compare(const process_t *process)
{
    const settings_t *settings = process->settings;

    for (long i = 0; i < settings->file; i++)
        if (process->buffer[i] != process->pattern) {
            fprintf(stderr, "%s: byte %ld is %d, not %d\n", settings->job, i, process->buffer[i], process->pattern);
            __atomic_add_fetch(&process->totals->failures, 1, __ATOMIC_RELAXED);
            return -1;
        }
    return 0;
}

static void fill(process_t *process)
{
    memset(process->buffer, ++process->pattern, (size_t)process->settings->file);
}

static int write_and_read(process_t *process)
{
    if (process->settings->check)
        fill(process);
    if (pass(process, 1) != 0)
        return -1;
    if (process->settings->mode[0] == 'w' || now() >= process->end)
        return 0;
    if (pass(process, 0) != 0)
        return -1;
    return process->settings->check && now() < process->end ? compare(process) : 0;
}

static int ask(process_t *process, const char *path)
{
    themis_stat_t stat;

    const char *mode = process->settings->mode;
    char *text = NULL;
    themis_status_t status;

    if (strcmp(mode, "stat") == 0)
        status = themis_stat(process->session, path, &stat);
    else if (strcmp(mode, "counter") == 0)
        status = themis_counter_add(process->file, 1, NULL);
    else
        status = themis_query(process->session, 0, "jobs", &text);
    free(text);
    if (status != THEMIS_OK)
        return fail(process, mode);
    count(process, 0);
    return 0;
}

static int run_loop(process_t *process, const char *path)
{
    const settings_t *settings = process->settings;
    long rounds = 0;

    if (strcmp(settings->mode, "bsp") == 0) {
        for (; rounds < settings->rounds; rounds++) {
            usleep((useconds_t)settings->think);
            if (pass(process, 1) != 0)
                return -1;
        }
        return 0;
    }
    int moves = strcmp(settings->mode, "rw") == 0 || strcmp(settings->mode, "write") == 0;
    while (now() < process->end)
        if ((moves ? write_and_read(process) : ask(process, path)) != 0)
            return -1;
    return 0;
}

/* The loop in each window until the job's end. */
static int run_windows(process_t *process, const char *path)
{
    const settings_t *settings = process->settings;
    double last = process->end, period = (double)settings->period * 1e-3;
    int status = 0;

    for (double start = process->start; start < last && status == 0; start += period) {
        process->end = start + (double)settings->busy * 1e-3;
        sleep_until(start);
        status = run_loop(process, path);
    }
    process->end = last;
    return status;
}

static int become(const settings_t *settings)
{
    if (settings->gid >= 0 && (setgroups(0, NULL) != 0 || setgid((gid_t)settings->gid) != 0))
        return -1;
    return settings->uid >= 0 ? setuid((uid_t)settings->uid) : 0;
}

static int run_process(const settings_t *settings, totals_t *totals, int rank, double start)
{
    process_t process = {.settings = settings, .totals = totals, .start = start, .end = start + settings->seconds};
    themis_layout_t layout = {0, settings->server >= 0 ? 1 : 0,
                              settings->server >= 0 ? (uint32_t)settings->server : THEMIS_FIRST_ANY};
    themis_options_t options;
    char path[300];

    if (become(settings) != 0)
        return fail(&process, "setuid");
    themis_options_init(&options);
    options.servers = settings->servers;
    options.job = settings->job;
    options.nodes = (uint32_t)settings->nodes;
    options.priority = (uint32_t)settings->priority;
    process.buffer = malloc((size_t)settings->file);
    process.base = settings->shared ? (uint64_t)rank * (uint64_t)settings->file : 0;
    snprintf(path, sizeof path, "/%s.%u.%ld.%d", settings->job, (unsigned)getuid(), settings->server,
             settings->shared ? 0 : rank);
    if (process.buffer == NULL || themis_connect(&options, &process.session) != THEMIS_OK)
        return fail(&process, "connect");
    /* what an earlier process has left may be lost with its server */
    const int flags = THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_TRUNCATE;
    if (themis_open(process.session, path, flags, 0644, &layout, &process.file) != THEMIS_OK)
        return fail(&process, "open");
    fill(&process);
    sleep_until(start);
    int pauses = settings->period > 0 && !settings->steady;
    int status = pauses ? run_windows(&process, path) : run_loop(&process, path);
    if (settings->linger > 0)
        sleep_until(process.end + settings->linger);
    themis_close(process.file);
    themis_disconnect(process.session);
    free(process.buffer);
    return status;
}

static int run_job(const settings_t *settings)
{
    totals_t *totals = mmap(NULL, sizeof *totals, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    double start = (settings->at > 0 ? settings->at : now()) + settings->start;
    int status, failed = 0;

    if (totals == MAP_FAILED)
        return 1;
    for (int rank = 0; rank < settings->processes; rank++) {
        pid_t child = fork();
        if (child < 0)
            return 1;
        if (child == 0) {
            prctl(PR_SET_PDEATHSIG, SIGKILL); /* its processes end with the job */
            _exit(run_process(settings, totals, rank, start) != 0);
        }
    }
    while (wait(&status) > 0)
        failed |= !WIFEXITED(status) || WEXITSTATUS(status) != 0;
    printf("%s bytes=%llu operations=%llu in_windows=%llu seconds=%.3f\n", settings->job,
           (unsigned long long)totals->bytes, (unsigned long long)totals->operations,
           (unsigned long long)totals->in_windows, now() - start);
    return failed || totals->failures > 0;
}

/* --- the sampler -------------------------------------------------------------------------------------------------- */

static json_int_t number(const json_t *row, const char *name)
{
    return json_integer_value(json_object_get(row, name));
}

static int print_sample(const char *text, uint32_t server, double when)
{
    json_t *root = json_loads(text, 0, NULL), *row;
    size_t i;

    json_array_foreach(root, i, row)
    {
        if (number(row, "requests") + number(row, "queued") == 0)
            continue;
        printf("%.4f,%u,%s@%lld,%lld,%lld,%lld,%lld,%.6f\n", when, server,
               json_string_value(json_object_get(row, "job")), (long long)number(row, "uid"),
               (long long)(number(row, "bytes_read") + number(row, "bytes_written")),
               (long long)number(row, "requests"), (long long)number(row, "metadata"), (long long)number(row, "queued"),
               json_number_value(json_object_get(row, "share")));
    }
    json_decref(root);
    return root == NULL ? -1 : 0;
}

static int run_sampler(const settings_t *settings)
{
    themis_options_t options;
    themis_session_info_t info;
    themis_t *session;
    int status = 0;

    themis_options_init(&options);
    options.servers = settings->servers;
    options.job = "sampler";
    if (themis_connect(&options, &session) != THEMIS_OK || themis_session_info(session, &info) != THEMIS_OK) {
        fprintf(stderr, "sampler: %s\n", themis_last_error());
        return 1;
    }
    printf("time_s,server,job,bytes,requests,metadata,queued,share\n");
    double start = (settings->at > 0 ? settings->at : now()) + settings->start;
    for (long tick = 0; status == 0 && (double)tick * (double)settings->every / 1000 <= settings->seconds; tick++) {
        sleep_until(start + (double)tick * (double)settings->every / 1000);
        for (uint32_t server = 0; server < info.servers && status == 0; server++) {
            char *text = NULL;
            if (themis_query(session, server, "jobs", &text) != THEMIS_OK) {
                fprintf(stderr, "sampler: %s\n", themis_last_error());
                status = 1;
                break;
            }
            status = print_sample(text, server, now() - start);
            free(text);
        }
        fflush(stdout);
    }
    themis_disconnect(session);
    return status != 0;
}

int main(int argc, char **argv)
{
    settings_t settings = {.job = "job",
                           .mode = "rw",
                           .seconds = 10,
                           .nodes = 1,
                           .uid = -1,
                           .gid = -1,
                           .processes = 1,
                           .depth = 1,
                           .request = 10000000,
                           .file = 10000000,
                           .server = -1,
                           .check = 1,
                           .rounds = 10,
                           .every = 100};

    for (int i = 2; i < argc; i++)
        if (!take_option(&settings, argv[i])) {
            fprintf(stderr, "sharing_client: unknown option %s\n", argv[i]);
            return 2;
        }
    if (argc < 2 || settings.depth < 1 || settings.depth > MAX_DEPTH || settings.request < 1 || settings.file < 1) {
        fprintf(stderr, "usage: sharing_client job|sample OPTION=VALUE...\n");
        return 2;
    }
    if (strcmp(argv[1], "sample") == 0)
        return run_sampler(&settings);
    return run_job(&settings);
}
