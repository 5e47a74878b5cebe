/* SPDX-License-Identifier: BSD-3-Clause */
/* The allocation service: questions, what lasts, the index of the history, and what tables tell of jobs and servers. */
#define _GNU_SOURCE
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "sched/lambda.h"
#include "server/allocator.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

enum { SERVERS = 6, RECORDS = 107001 };

static themis_server_t *server;
static rig_client_t *client;
static char *answer;

static void file_write(const char *name, const char *text)
{
    char path[512];

    snprintf(path, sizeof path, "%s/%s", test_scratch, name);
    FILE *out = fopen(path, "ae");
    ck_assert_ptr_nonnull(out);
    fputs(text, out);
    fclose(out);
}

static void history_make(void)
{
    char path[512];

    snprintf(path, sizeof path, "%s/history", test_scratch);
    mkdir(path, 0700);
    snprintf(path, sizeof path, "%s/history/7", test_scratch);
    mkdir(path, 0700);
    file_write("site.ini", "[servers]\nservers = a:1 b:1 c:1 d:1 e:1 f:1\ndefault_servers = 2\nnodes_per_server = 4\n"
                           "server_bandwidth = 200000000\nnode_bandwidth = 100000000\n");
}

static void configure(themis_server_config_t *config)
{
    strcpy(config->servers, "a:1,b:1, c:1,d:1,e:1,f:1");
    config->index = 0;
    config->lambda = 0;
    snprintf(config->allocate, sizeof config->allocate, "%s/site.ini", test_scratch);
    snprintf(config->allocate_history, sizeof config->allocate_history, "%s/history , %s/none", test_scratch,
             test_scratch);
    snprintf(config->state, sizeof config->state, "%s/state", test_scratch);
}

static void set_up(void)
{
    test_scratch_make();
    history_make();
    server = rig_server_start(configure);
    client = rig_client_open(server, 1, "job");
}

static void tear_down(void)
{
    rig_client_close(client, 1);
    rig_server_stop(server);
    test_scratch_remove();
    free(answer);
    answer = NULL;
}

static themis_status_t ask(const char *question)
{
    const themis_proto_text_body_t body = {rig_text(question)};
    themis_status_t status;

    while ((status = rig_call(client, THEMIS_OP_JOB_SERVERS, &body)) == THEMIS_BUSY)
        usleep(10000);
    free(answer);
    answer = strndup(client->body.text.text.bytes, client->body.text.text.length);
    return status;
}

static json_int_t ask_id(const char *question)
{
    ck_assert_msg(ask(question) == THEMIS_OK, "%s", answer);
    json_t *json = json_loads(answer, 0, NULL);
    json_int_t id = json_integer_value(json_object_get(json, "id"));
    json_decref(json);
    ck_assert_int_gt(id, 0);
    return id;
}

/* --- questions ---------------------------------------------------------------------------------------------------- */

TEST(questions_that_are_none)
{
    static const char *const wrong[] = {
        "",
        "{",
        "[]",
        "null",
        "{}",
        "{\"action\": 1}",
        "{\"action\": \"steal\"}",
        "{\"action\": \"release\"}",
        "{\"action\": \"allocate\"}",
        "{\"action\": \"allocate\", \"application\": \"a\"}",
        "{\"action\": \"allocate\", \"application\": \"\", \"nodes\": \"1\"}",
        "{\"action\": \"allocate\", \"application\": 5, \"nodes\": \"1\"}",
        "{\"action\": \"allocate\", \"application\": \"a\\u001b\", \"nodes\": \"1\"}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"2-1\"}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"1\", \"lease_s\": 0}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"1\", \"lease_s\": 1e9}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"1\", \"lease_s\": 9999999999}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"1\", \"user\": -1}",
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"1\", \"token\": \"x\"}",
        "{\"action\": \"allocate\", \"action\": \"list\"}",
        "{\"action\": \"renew\", \"id\": -5}",
        "{\"action\": \"list\", \"after\": \"x\"}"};
    char *large = malloc(70000);

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(ask(wrong[i]) != THEMIS_OK, "%s gives %s", wrong[i], answer);
    memset(large, ' ', 70000);
    strcpy(large + 69000, "{\"action\": \"list\"}");
    ck_assert_int_eq(ask(large), THEMIS_RANGE);
    memset(large, '[', 60000); /* deep */
    large[60000] = 0;
    ck_assert_int_ne(ask(large), THEMIS_OK);
    char *name = large;
    int used = sprintf(name, "{\"action\": \"allocate\", \"nodes\": \"1\", \"application\": \"");
    memset(name + used, 'n', 256);
    strcpy(name + used + 256, "\"}");
    ck_assert_int_ne(ask(name), THEMIS_OK);
    free(large);
    ck_assert_int_eq(ask("{\"action\": \"list\"}"), THEMIS_OK);
    ck_assert_str_eq(answer, "{\"allocations\":[],\"anomalous\":[],\"more\":false}");
}

#define JOB(name) "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"0\", \"job\": \"" name "\""

TEST(a_question_that_is_sent_again)
{
    static const char question[] =
        "{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"0-7\", \"token\": 77}";
    json_int_t id = ask_id(question);

    ck_assert_ptr_nonnull(strstr(answer, "/none cannot be read."));
    ck_assert_int_eq(ask_id(question), id);
    ck_assert_ptr_nonnull(strstr(answer, "\"servers\":[\"a:1\",\"b:1\"]"));
    ck_assert_int_ne(ask_id("{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"0-7\"}"), id);
    id = ask_id("{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"0-7\", \"job\": \"j\"}");
    ck_assert_int_eq(ask_id(JOB("j") ", \"once\": true}"), id);
    ck_assert_int_ne(ask_id(JOB("k") ", \"once\": true}"), id);
    ck_assert_int_ne(ask_id(JOB("j") "}"), id);
    ck_assert_ptr_nonnull(strstr(answer, "\"lease_s\":86400"));
}

TEST(a_job_s_allocations_end_together)
{
    ask_id(JOB("j") "}");
    ask_id(JOB("k") "}");
    json_int_t last = ask_id(JOB("j") "}");
    ck_assert_int_eq(ask_id(JOB("j") ", \"once\": true}"), last);
    ck_assert_int_eq(ask("{\"action\": \"release\", \"job\": \"j\"}"), THEMIS_OK);
    ck_assert_str_eq(answer, "{\"released\":2}");
    ck_assert_int_eq(ask("{\"action\": \"release\", \"job\": \"j\"}"), THEMIS_OK);
    ck_assert_str_eq(answer, "{\"released\":0}");
    ask_id(JOB("j") ", \"token\": 5}");
    ck_assert_int_eq(ask("{\"action\": \"release\", \"token\": 5}"), THEMIS_OK);
    ck_assert_str_eq(answer, "{\"released\":1}");
    ck_assert_int_eq(ask("{\"action\": \"release\", \"job\": \"\"}"), THEMIS_INVALID);
    ck_assert_int_eq(ask("{\"action\": \"list\"}"), THEMIS_OK);
    ck_assert_ptr_nonnull(strstr(answer, "\"job\":\"k\""));
    ck_assert_ptr_null(strstr(answer, "\"job\":\"j\""));
}

TEST(allocations_outlive_the_server)
{
    char question[128];
    json_int_t id = ask_id("{\"action\": \"allocate\", \"application\": \"a b\", \"nodes\": \"4\", \"job\": \"j\"}"),
               next;

    rig_client_close(client, 1);
    rig_server_stop(server);
    server = rig_server_start(configure);
    client = rig_client_open(server, 2, "job");
    ck_assert_int_eq(ask("{\"action\": \"list\"}"), THEMIS_OK);
    ck_assert_ptr_nonnull(strstr(answer, "\"application\":\"a b\",\"job\":\"j\""));
    ck_assert_ptr_nonnull(strstr(answer, "\"servers\":[\"b:1\"]"));
    snprintf(question, sizeof question, "{\"action\": \"release\", \"id\": %lld}", (long long)id);
    ck_assert_int_eq(ask(question), THEMIS_OK);
    ck_assert_int_eq(ask(question), THEMIS_NO_ENTRY);
    next = ask_id("{\"action\": \"allocate\", \"application\": \"a\", \"nodes\": \"4\"}");
    ck_assert_int_gt(next, id);
}

/* --- the table ---------------------------------------------------------------------------------------------------- */

TEST(users_have_a_limit)
{
    themis_dfra_named_site_t site = {0};
    themis_server_allocations_t *allocations;
    char path[512], error[256];

    snprintf(path, sizeof path, "%s/site.ini", test_scratch);
    ck_assert_int_eq(themis_dfra_site_read(&site, path, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_allocations_create("", 0, &site, &allocations), THEMIS_OK);
    for (int i = 0; i <= THEMIS_SERVER_ALLOCATIONS_OF_USER; i++) {
        themis_server_allocation_t *a = themis_server_allocation_make(1);
        a->user = 5;
        a->expires = 100 + (uint64_t)i;
        themis_status_t status = themis_server_allocations_add(allocations, a, 1);
        ck_assert_int_eq(status, i < THEMIS_SERVER_ALLOCATIONS_OF_USER ? THEMIS_OK : THEMIS_QUOTA);
        if (status == THEMIS_OK)
            continue;
        ck_assert_int_eq(themis_server_allocations_add(allocations, a, 0), THEMIS_OK); /* an administrator's */
    }
    themis_server_allocations_expire(allocations, 100);
    ck_assert_uint_eq(themis_server_allocations_count(allocations), THEMIS_SERVER_ALLOCATIONS_OF_USER);
    themis_server_allocations_expire(allocations, 1000);
    ck_assert_uint_eq(themis_server_allocations_count(allocations), 0);
    themis_server_allocations_forget(allocations, themis_server_allocations_take_expired(allocations));
    ck_assert_ptr_null(themis_server_allocations_take_expired(allocations));
    themis_server_allocations_destroy(allocations);
    themis_dfra_site_release(&site);
}

/* --- the history -------------------------------------------------------------------------------------------------- */

static void record_write(FILE *out, const char *application, int job, int nodes, int start, double bytes)
{
    fprintf(out,
            "{\"application\":\"%s\",\"user\":7,\"job\":\"%d\",\"nodes\":%d,\"io_nodes\":%d,\"start\":%d,\"end\":%d,"
            "\"read_bytes\":0,\"written_bytes\":%.0f,\"requests\":100,\"metadata_operations\":1,"
            "\"metadata_waiting\":0.5,\"sharing\":\"N-N\",\"peak_bandwidth\":1000000}\n",
            application, job, nodes, nodes, start, start + 60, bytes);
}

static FILE *history_open(const char *name)
{
    char path[512];

    snprintf(path, sizeof path, "%s/history/7/%s", test_scratch, name);
    return fopen(path, "ae");
}

static themis_server_allocation_runs_t *runs_make(void)
{
    themis_server_allocation_runs_t *runs;
    char path[512];

    snprintf(path, sizeof path, "%s/history", test_scratch);
    ck_assert_int_eq(themis_server_allocation_runs_create(path, &runs), THEMIS_OK);
    return runs;
}

static const _Atomic int go_on;

TEST(what_is_appended_is_read)
{
    themis_server_allocation_runs_t *runs = runs_make();
    themis_dfra_application_t known;

    FILE *out = history_open("s-1.jsonl");
    record_write(out, "a", 1, 4, 1000, 5e9);
    record_write(out, "a", 2, 4, 3000, 6e9);
    record_write(out, "a", 3, 4, 2000, 7e9);
    record_write(out, "a", 4, 8, 9000, 9e9);
    fputs("{\"application\":\"a\",\"us", out); /* it is being written */
    fflush(out);
    ck_assert_int_eq(themis_server_allocation_runs_are_read(runs), 0);
    themis_server_allocation_runs_refresh(runs, &go_on);
    ck_assert_int_eq(themis_server_allocation_runs_are_read(runs), 1);
    themis_server_allocation_runs_find(runs, "a", 7, 4, &known);
    ck_assert_uint_eq(known.records, 3);
    ck_assert_double_eq(known.volume, 6e9); /* the run that ended last */
    themis_server_allocation_runs_find(runs, "a", 8, 4, &known);
    ck_assert_uint_eq(known.records, 0);
    themis_server_allocation_runs_find(runs, "a", -1, 8, &known);
    ck_assert_uint_eq(known.records, 1);
    fputs("er\": 1}\n\n", out);
    record_write(out, "a", 5, 4, 4000, 8e9);
    fclose(out);
    out = history_open("t-1.jsonl"); /* what another server has of it */
    record_write(out, "a", 5, 4, 4001, 1e9);
    for (int i = 0; i < 40000; i++)
        fputc('x', out);
    fputc('\n', out);
    record_write(out, "a", 6, 2, 4001, 2e9);
    fclose(out);
    themis_server_allocation_runs_refresh(runs, &go_on);
    themis_server_allocation_runs_find(runs, "a", 7, 4, &known);
    ck_assert_uint_eq(known.records, 4);
    ck_assert_double_eq(known.volume, 9e9);
    ck_assert_double_eq(known.peak_bandwidth, 2e6);
    themis_server_allocation_runs_find(runs, "a", 7, 2, &known);
    ck_assert_double_eq(known.volume, 2e9);
    themis_server_allocation_runs_destroy(runs);
}

/* Servers' peaks add up, those of times after each other do not. */
TEST(a_job_that_runs_twice_has_the_larger_peak)
{
    themis_dfra_application_t known;

    for (int order = 0; order < 2; order++) {
        char first[16], second[16];
        snprintf(first, sizeof first, "s-%d.jsonl", order);
        snprintf(second, sizeof second, "t-%d.jsonl", order);
        themis_server_allocation_runs_t *runs = runs_make();
        FILE *out[] = {history_open(first), history_open(second)};
        for (int i = 0; i < 4; i++) {
            int run = order ? i / 2 : i % 2, which = order ? i % 2 : i / 2;
            record_write(out[which], order ? "b" : "a", 1, 4, 1000 + 61 * run, 1e9);
            fflush(out[which]);
            if (order)
                themis_server_allocation_runs_refresh(runs, &go_on);
        }
        fclose(out[0]);
        fclose(out[1]);
        themis_server_allocation_runs_refresh(runs, &go_on);
        themis_server_allocation_runs_find(runs, order ? "b" : "a", 7, 4, &known);
        ck_assert_double_eq(known.volume, 4e9);
        ck_assert_double_eq(known.peak_bandwidth, 2e6);
        ck_assert_double_eq(known.duration, 121);
        themis_server_allocation_runs_destroy(runs);
    }
}

TEST(a_decision_is_quick)
{
    json_t *reply = NULL;
    themis_dfra_range_t range = {0, 7};
    const themis_server_allocation_wish_t wish = {
        .application = "app77", .job = "", .user = 7, .lease = 60, .range = &range, .ranges = 1, .nodes = 8};
    char error[256] = "";

    FILE *out = history_open("s-1.jsonl");
    for (int i = 0; i < RECORDS; i++) {
        char name[16];
        snprintf(name, sizeof name, "app%d", i % 1000);
        record_write(out, name, i, 8, 10 * i, 30e9);
    }
    fclose(out);
    rig_client_close(client, 1);
    rig_server_stop(server);
    server = rig_server_start(configure);
    client = rig_client_open(server, 2, "job");
    for (int i = 0; i < 6000 && !themis_server_allocation_runs_are_read(server->allocator->runs); i++)
        usleep(10000);
    uint64_t begun = themis_util_clock_now();
    ck_assert_msg(themis_server_allocator_allocate(server, &wish, &reply, error, sizeof error) == THEMIS_OK, "%s",
                  error);
    double seconds = (double)(themis_util_clock_now() - begun) * 1e-9;
    ck_assert_int_eq(json_integer_value(json_object_get(reply, "records")), RECORDS / 1000);
    ck_assert_str_eq(json_string_value(json_object_get(reply, "decision")), "scaled");
    json_decref(reply);
    ck_assert_double_lt(seconds, 0.1);
}

/* --- tables ------------------------------------------------------------------------------------------------------- */

typedef struct world {
    themis_server_allocation_watch_t *watch;
    uint64_t now, round, served[SERVERS];
    double rate[SERVERS];
    uint64_t demand;
} world_t;

/* A job on each server, for so many rounds of 200 ms. */
static void world_turn(world_t *w, int rounds)
{
    for (int r = 0; r < rounds; r++) {
        w->now += 200 * THEMIS_NS_PER_MS;
        w->round++;
        for (uint32_t i = 0; i < SERVERS; i++) {
            char job[] = {'j', (char)('0' + i), 0};
            w->served[i] += (uint64_t)(w->rate[i] * 0.2);
            const themis_proto_table_row_t row = {
                .job = rig_text(job), .uid = 7, .nodes = 1, .demand = w->demand, .served = w->served[i]};
            const themis_proto_table_t table = {
                .index = i, .incarnation = 1 + i, .round = w->round, .rows = 1, .total = 1};
            themis_server_allocation_watch_table(w->watch, &table, &row, w->now);
        }
    }
}

static world_t world_make(void)
{
    world_t w = {.now = 1000 * THEMIS_NS_PER_S, .demand = THEMIS_SCHED_LAMBDA_ALL};

    for (int i = 0; i < SERVERS; i++)
        w.rate[i] = 1e8;
    ck_assert_int_eq(themis_server_allocation_watch_create(SERVERS, 0, &w.watch), THEMIS_OK);
    return w;
}

TEST(a_slow_server_is_noticed_within_30_s)
{
    world_t w = world_make();
    uint8_t slow[SERVERS] = {0};

    world_turn(&w, 150);
    themis_server_allocation_watch_judge(w.watch, w.now, slow);
    for (int i = 0; i < SERVERS; i++)
        ck_assert_int_eq(slow[i], 0);
    w.rate[2] = 1e7;
    world_turn(&w, 5 * 30);
    themis_server_allocation_watch_judge(w.watch, w.now, slow);
    for (int i = 0; i < SERVERS; i++)
        ck_assert_int_eq(slow[i], i == 2);
    w.rate[2] = 1e8;
    world_turn(&w, 5 * 8);
    themis_server_allocation_watch_judge(w.watch, w.now, slow);
    ck_assert_int_eq(slow[2], 0);
    themis_server_allocation_watch_destroy(w.watch);
}

/* One that has little to do is not slow; and what is long ago does not count. */
TEST(only_busy_servers_are_judged)
{
    world_t w = world_make();
    uint8_t slow[SERVERS] = {0};

    w.demand = 5;
    w.rate[2] = 1e7;
    world_turn(&w, 200);
    themis_server_allocation_watch_judge(w.watch, w.now, slow);
    ck_assert_int_eq(slow[2], 0);
    w.demand = THEMIS_SCHED_LAMBDA_ALL;
    world_turn(&w, 100);
    themis_server_allocation_watch_judge(w.watch, w.now, slow);
    ck_assert_int_eq(slow[2], 1);
    themis_server_allocation_watch_judge(w.watch, w.now + 700 * THEMIS_NS_PER_S, slow);
    ck_assert_int_eq(slow[2], 0);
    themis_server_allocation_watch_destroy(w.watch);
}

static void used_note(void *arg, const themis_server_allocation_watched_t *watched)
{
    uint32_t *servers = arg;

    if (strcmp(watched->job, "j3") != 0)
        return;
    ck_assert_uint_eq(watched->servers, 1);
    ck_assert_uint_eq(watched->server[0], 3);
    ck_assert_uint_eq(watched->uid, 7);
    (*servers)++;
}

TEST(jobs_use_the_servers_that_they_move_bytes_on)
{
    world_t w = world_make();
    themis_dfra_observation_t o;
    uint32_t found = 0;

    world_turn(&w, 100);
    themis_server_allocation_watch_each(w.watch, w.now, used_note, &found);
    ck_assert_uint_eq(found, 1);
    themis_server_allocation_watch_observe(w.watch, 7, "j3", w.now, &o);
    ck_assert_double_eq_tol(o.peak_bandwidth, 1e8, 1e6);
    ck_assert_double_eq_tol(o.volume, 1.98e9, 1e7);
    ck_assert_double_eq_tol(o.duration, 19.8, 0.1);
    themis_server_allocation_watch_observe(w.watch, 8, "j3", w.now, &o);
    ck_assert_double_eq(o.duration, 0);
    themis_server_allocation_watch_each(w.watch, w.now + 600 * THEMIS_NS_PER_S, used_note, &found);
    ck_assert_uint_eq(found, 1);
    themis_server_allocation_watch_expire(w.watch, w.now + 600 * THEMIS_NS_PER_S);
    themis_server_allocation_watch_observe(w.watch, 7, "j3", w.now, &o);
    ck_assert_double_eq(o.duration, 0);
    themis_server_allocation_watch_destroy(w.watch);
}

/* One round of a server with a job that has moved so much. */
static void table_note(themis_server_allocation_watch_t *watch, uint64_t round, const char *job, uint32_t uid,
                       uint64_t served, uint64_t now)
{
    const themis_proto_table_row_t row = {.job = rig_text(job), .uid = uid, .demand = 5, .served = served};
    const themis_proto_table_t table = {.index = 1, .incarnation = 1, .round = round, .rows = 1, .total = 1};

    themis_server_allocation_watch_table(watch, &table, &row, now);
}

TEST(tables_that_were_overtaken_are_ignored)
{
    world_t w = world_make();
    themis_dfra_observation_t o;

    table_note(w.watch, 1, "j", 7, 1000, w.now);
    table_note(w.watch, 3, "j", 7, 3000, w.now);
    table_note(w.watch, 2, "j", 7, 2000, w.now);
    table_note(w.watch, 3, "j", 7, 3000, w.now);
    table_note(w.watch, 4, "j", 7, 4000, w.now);
    themis_server_allocation_watch_observe(w.watch, 7, "j", w.now + 1, &o);
    ck_assert_double_eq(o.volume, 3000);
    themis_server_allocation_watch_destroy(w.watch);
}

static int is_watched(const world_t *w, uint32_t uid, const char *job)
{
    themis_dfra_observation_t o;

    themis_server_allocation_watch_observe(w->watch, uid, job, w->now + 1, &o);
    return o.duration > 0;
}

TEST(jobs_that_do_nothing_take_no_room)
{
    world_t w = world_make();
    themis_server_allocation_counters_t idle = {.identity = {.uid = 9, .id = "idle"}};

    themis_server_allocation_watch_job(w.watch, &idle, w.now);
    ck_assert(!is_watched(&w, 9, "idle"));
    idle.requests = 1;
    themis_server_allocation_watch_job(w.watch, &idle, w.now);
    ck_assert(is_watched(&w, 9, "idle"));
    for (int i = 0; i <= THEMIS_SERVER_ALLOCATION_WATCH_OF_USER; i++) {
        char job[16];
        snprintf(job, sizeof job, "%d", i);
        table_note(w.watch, 1, job, 7, 1000, w.now);
    }
    ck_assert(!is_watched(&w, 7, "64")); /* the others have just begun */
    w.now += 10 * THEMIS_NS_PER_S;
    table_note(w.watch, 2, "0", 7, 2000, w.now);
    table_note(w.watch, 2, "64", 7, 2000, w.now);
    ck_assert(is_watched(&w, 7, "64"));
    ck_assert(is_watched(&w, 7, "0"));
    ck_assert(!is_watched(&w, 7, "1"));
    themis_server_allocation_watch_destroy(w.watch);
}

TEST(tables_of_no_server_are_ignored)
{
    world_t w = world_make();
    const themis_proto_table_row_t row = {.job = rig_text(""), .served = 1};
    themis_proto_table_t table = {.index = SERVERS, .rows = 1};

    themis_server_allocation_watch_table(w.watch, &table, &row, w.now);
    table.index = UINT32_MAX;
    themis_server_allocation_watch_table(w.watch, &table, &row, w.now);
    table.index = 1;
    for (uint32_t i = 0; i < 2 * THEMIS_SERVER_ALLOCATION_WATCH_JOBS; i++) {
        char job[16];
        snprintf(job, sizeof job, "%u", i);
        const themis_proto_table_row_t many = {.job = rig_text(job), .served = UINT64_MAX};
        themis_server_allocation_watch_table(w.watch, &table, &many, w.now);
    }
    themis_server_allocation_watch_destroy(w.watch);
}

int main(void)
{
    Suite *suite = suite_create("allocations");

    test_case(suite, "questions", 60, set_up, tear_down,
              TESTS({questions_that_are_none, 1}, {a_question_that_is_sent_again, 1},
                    {a_job_s_allocations_end_together, 1}, {allocations_outlive_the_server, 1},
                    {users_have_a_limit, 1}));
    test_case(
        suite, "history", 120, set_up, tear_down,
        TESTS({what_is_appended_is_read, 1}, {a_job_that_runs_twice_has_the_larger_peak, 1}, {a_decision_is_quick, 1}));
    test_case(suite, "tables", 20, NULL, NULL,
              TESTS({a_slow_server_is_noticed_within_30_s, 1}, {only_busy_servers_are_judged, 1},
                    {jobs_use_the_servers_that_they_move_bytes_on, 1}, {tables_that_were_overtaken_are_ignored, 1},
                    {jobs_that_do_nothing_take_no_room, 1}, {tables_of_no_server_are_ignored, 1}));
    return test_run(suite);
}
