/* SPDX-License-Identifier: BSD-3-Clause */
/* JSON and OpenMetrics text about jobs, and metrics over HTTP. */
#include <arpa/inet.h>
#include <check.h>
#include <jansson.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
#include "server/metrics_http.h"
#include "server/open_metrics.h"
#include "server/report.h"
#include "test/lib/run.h"
#include "test/sched/rig.h"

static const themis_server_open_metrics_t server = {.name = "a\"b",
                                                    .workers = 2,
                                                    .capacity = 1 << 30,
                                                    .used = 4096,
                                                    .uptime = 1500000000,
                                                    .direct = {.mode = "auto", .grants = 3, .read = 5, .written = 7},
                                                    .history = {.records = 11, .dropped = 13, .bytes = 17}};

static void create(rig_t *rig)
{
    themis_sched_options_t options;

    themis_sched_options_init(&options);
    options.policy = "size-fair";
    rig_create(rig, &options, 2, 2);
    rig_add(rig, "17", 1000, 100, 3, 1 << 20, 4);
    rig_add(rig, "odd \"name\\", 1001, 100, 1, 4096, 4);
    rig_run(rig, rig->now + 100000000);
}

static themis_sched_job_t *job_of_number(themis_sched_job_table_t *table, uint64_t number)
{
    themis_sched_job_t *job = themis_sched_job_table_first(table);

    while (job->number != number)
        job = themis_sched_job_table_next(table, job);
    return job;
}

TEST(json_lists_every_job)
{
    rig_t rig;

    create(&rig);
    char *text = themis_server_report_jobs(rig.table, rig.sched, 0);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_uint_eq(json_array_size(root), 2);
    json_t *job = json_array_get(root, 0);
    ck_assert_str_eq(json_string_value(json_object_get(job, "job")), "17");
    ck_assert_double_eq_tol(json_real_value(json_object_get(job, "share")), 0.75, 1e-9);
    ck_assert_int_gt(json_integer_value(json_object_get(job, "requests")), 0);
    ck_assert(json_is_null(json_object_get(job, "plan_fit")));
    ck_assert_double_gt(json_real_value(json_object_get(job, "wait_p50_us")), 0);
    json_decref(root);
    free(text);
    text = themis_sched_explain(rig.sched, rig.now);
    ck_assert_ptr_nonnull(strstr(text, "75.00 %  job 17"));
    free(text);
    rig_destroy(&rig);
}

/* What is not UTF-8 is no JSON, and would make the list of all jobs unreadable. */
TEST(ids_that_are_not_utf_8_are_listed)
{
    const themis_sched_job_identity_t latin = {.id = "caf\xe9", .nodes = 1}, utf8 = {.id = "caf\xc3\xa9", .nodes = 1};
    themis_sched_job_t *job;
    json_error_t error;
    int fresh, changed;
    rig_t rig;

    create(&rig);
    ck_assert_int_eq(themis_sched_job_table_join(rig.table, &latin, 0, &job, &fresh, &changed), THEMIS_OK);
    ck_assert_int_eq(themis_sched_job_table_join(rig.table, &utf8, 0, &job, &fresh, &changed), THEMIS_OK);
    char *text = themis_server_report_jobs(rig.table, rig.sched, 0);
    json_t *root = json_loads(text, 0, &error);
    ck_assert_msg(root != NULL, "%s", error.text);
    ck_assert_uint_eq(json_array_size(root), 4);
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(root, 2), "job")), "caf_");
    ck_assert_str_eq(json_string_value(json_object_get(json_array_get(root, 3), "job")), "caf\xc3\xa9");
    json_decref(root);
    free(text);
    rig_destroy(&rig);
}

/* A job that only monitors is marked in JSON, not counted, and not in the metrics. */
TEST(monitoring_clients_are_not_counted)
{
    themis_sched_job_identity_t identity = {.id = "monitors", .uid = 1, .nodes = 1};
    themis_sched_job_t *job;
    int fresh, changed;
    rig_t rig;

    create(&rig);
    ck_assert_int_eq(themis_sched_job_table_join(rig.table, &identity, 0, &job, &fresh, &changed), THEMIS_OK);
    ck_assert_int_eq(themis_sched_add_job(rig.sched, job, rig.now), THEMIS_OK);
    ck_assert_uint_eq(themis_server_report_count(rig.table, rig.sched), 2);
    char *text = themis_server_report_jobs(rig.table, rig.sched, 0);
    json_t *root = json_loads(text, 0, NULL);
    ck_assert_uint_eq(json_array_size(root), 3);
    ck_assert(json_is_true(json_object_get(json_array_get(root, 0), "asked")));
    ck_assert(json_is_false(json_object_get(json_array_get(root, 2), "asked")));
    json_decref(root);
    free(text);
    text = themis_server_open_metrics_text(&server, rig.table, rig.sched);
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_jobs 2\n"));
    ck_assert_ptr_null(strstr(text, "monitors"));
    free(text);
    job->requests = 1;
    ck_assert_uint_eq(themis_server_report_count(rig.table, rig.sched), 3);
    themis_sched_remove_job(rig.sched, job, rig.now);
    rig_destroy(&rig);
}

/* The longest and oddest ids fit into a message, and pages list each job once, even if jobs leave meanwhile. */
TEST(many_jobs_come_in_pages)
{
    enum { JOBS = 1000 };
    themis_sched_job_identity_t identity = {.uid = UINT32_MAX, .gid = UINT32_MAX, .nodes = 1};
    uint64_t after = 0;
    size_t rows, seen = 0;
    themis_sched_job_t *job;
    int fresh, changed;
    rig_t rig;

    create(&rig);                                   /* two jobs */
    memset(identity.id, 1, sizeof identity.id - 1); /* six bytes each in JSON */
    for (uint32_t i = 0; i < JOBS; i++) {
        identity.uid = i;
        ck_assert_int_eq(themis_sched_job_table_join(rig.table, &identity, 0, &job, &fresh, &changed), THEMIS_OK);
    }
    do {
        char *text = themis_server_report_jobs(rig.table, rig.sched, after);
        ck_assert_uint_lt(strlen(text), 1000000);
        json_t *page = json_loads(text, 0, NULL);
        ck_assert_ptr_nonnull(page);
        rows = json_array_size(page);
        for (size_t i = 0; i < rows; i++) {
            uint64_t number = (uint64_t)json_integer_value(json_object_get(json_array_get(page, i), "number"));
            ck_assert_uint_gt(number, after);
            after = number;
        }
        seen += rows;
        json_decref(page);
        free(text);
        if (rows > 0) /* the last job of a page leaves before the next page is requested */
            themis_sched_job_table_remove(rig.table, job_of_number(rig.table, after));
    } while (rows > 0);
    ck_assert_uint_eq(seen, JOBS + 2);
    rig_destroy(&rig);
}

/* Every sample follows its family's header, and the text ends as OpenMetrics requires. */
TEST(metrics_are_open_metrics)
{
    char family[200] = "", line[400];
    rig_t rig;

    create(&rig);
    char *text = themis_server_open_metrics_text(&server, rig.table, rig.sched);
    ck_assert_ptr_nonnull(strstr(text, "themis_job_share_ratio{job_id=\"17\",uid=\"1000\",gid=\"100\"} 0.75\n"));
    ck_assert_ptr_nonnull(strstr(text, "job_id=\"odd \\\"name\\\\\""));
    ck_assert_ptr_nonnull(strstr(text, "name=\"a\\\"b\""));
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_direct_bytes_total{direction=\"write\"} 7\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_direct_grants 3\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_history_records_total 11\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_history_dropped_records_total 13\n"));
    ck_assert_ptr_nonnull(strstr(text, "\nthemis_history_written_bytes_total 17\n"));
    size_t length = strlen(text);
    ck_assert_str_eq(text + length - 6, "# EOF\n");
    for (char *at = text; at < text + length;) {
        size_t bytes = strcspn(at, "\n");
        snprintf(line, sizeof line, "%.*s", (int)bytes, at);
        at += bytes + 1;
        if (sscanf(line, "# TYPE %199s", family) == 1 || line[0] == '#')
            continue;
        ck_assert_msg(strncmp(line, family, strlen(family)) == 0, "%s after %s", line, family);
    }
    free(text);
    rig_destroy(&rig);
}

static char *three_words(void *arg)
{
    ++*(_Atomic int *)arg; /* on the thread of the HTTP server */
    return strdup("a b c\n# EOF\n");
}

/* Takes requests as long as *arg is below 2. */
static const char *full_on_request(void *arg)
{
    _Atomic int *calls = arg;

    return *calls < 2 ? NULL : "full\n";
}

/* A port of loopback that is free now. */
static uint16_t free_port(void)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM, 0);

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    close(fd);
    return ntohs(address.sin_port);
}

static void ask(uint16_t port, const char *request, char *answer, size_t size)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM, 0);
    size_t used = 0;
    ssize_t got;

    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    ck_assert_int_eq(connect(fd, (struct sockaddr *)&address, sizeof address), 0);
    ck_assert_int_eq(write(fd, request, strlen(request)), strlen(request));
    while (used < size - 1 && (got = read(fd, answer + used, size - 1 - used)) > 0)
        used += (size_t)got;
    answer[used] = '\0';
    close(fd);
}

TEST(metrics_are_served_over_http)
{
    themis_server_metrics_http_t *http;
    char answer[4096];
    _Atomic int calls = 0;
    uint16_t port = free_port();

    ck_assert_int_eq(themis_server_metrics_http_start("", port, three_words, full_on_request, &calls, &http),
                     THEMIS_OK);
    ask(port, "GET /metrics HTTP/1.0\r\n\r\n", answer, sizeof answer);
    ck_assert_ptr_nonnull(strstr(answer, " 200 OK"));
    ck_assert_ptr_nonnull(strstr(answer, "application/openmetrics-text"));
    ck_assert_ptr_nonnull(strstr(answer, "a b c\n# EOF\n"));
    ck_assert_int_eq(calls, 1);
    ask(port, "GET /other HTTP/1.0\r\n\r\n", answer, sizeof answer);
    ck_assert_ptr_nonnull(strstr(answer, " 404 "));
    ask(port, "DELETE /metrics HTTP/1.0\r\n\r\n", answer, sizeof answer);
    ck_assert_ptr_nonnull(strstr(answer, " 405 "));
    ck_assert_int_eq(calls, 1);
    calls = 1;
    ask(port, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof answer);
    ck_assert_ptr_nonnull(strstr(answer, " 200 OK"));
    calls = 2;
    ask(port, "GET /healthz HTTP/1.0\r\n\r\n", answer, sizeof answer);
    ck_assert_ptr_nonnull(strstr(answer, " 503 "));
    ck_assert_ptr_nonnull(strstr(answer, "full\n"));
    themis_server_metrics_http_stop(http);
    ck_assert_int_eq(themis_server_metrics_http_start("nowhere", port, three_words, full_on_request, &calls, &http),
                     THEMIS_CONFIG);
}

int main(void)
{
    Suite *suite = suite_create("report");

    test_case(suite, "all", 60, NULL, NULL,
              TESTS({json_lists_every_job, 1}, {ids_that_are_not_utf_8_are_listed, 1},
                    {monitoring_clients_are_not_counted, 1}, {many_jobs_come_in_pages, 1},
                    {metrics_are_open_metrics, 1}, {metrics_are_served_over_http, 1}));
    return test_run(suite);
}
