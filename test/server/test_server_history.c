/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server records of its jobs: counters, samples, names, sharing, and when a record is written. */
#define _GNU_SOURCE
#include <check.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "history/merge.h"
#include "server/history_job.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

enum { MOST = 64, BYTES = 64 << 10 };

static themis_server_t *server;

static void configure(themis_server_config_t *config)
{
    snprintf(config->history, sizeof config->history, "%s/history", test_scratch);
    strcpy(config->name, "s");
    config->history_size = 1 << 30;
    config->history_keep = 3600 * THEMIS_NS_PER_S;
    config->history_interval = 20 * THEMIS_NS_PER_MS;
    config->history_update = 20 * THEMIS_NS_PER_MS;
}

static void set_up(void)
{
    test_scratch_make();
    server = rig_server_start(configure);
}

/* Sessions leave their job after 0.4 s, as the server looks every half second. */
static void configure_impatient(themis_server_config_t *config)
{
    configure(config);
    config->heartbeat = config->lease = 200 * THEMIS_NS_PER_MS;
    config->heartbeat_limit = 1;
}

static void set_up_impatient(void)
{
    test_scratch_make();
    server = rig_server_start(configure_impatient);
}

static void tear_down(void)
{
    if (server)
        rig_server_stop(server);
    server = NULL;
    test_scratch_remove();
}

static void server_stop(void)
{
    rig_server_stop(server);
    server = NULL;
}

/* The records in files whose names end so, for this user. */
static size_t records_read(const char *end, themis_history_record_t record[MOST])
{
    char path[512], file[1024], line[THEMIS_HISTORY_RECORD_MOST + 2], error[256];
    const struct dirent *entry;
    size_t count = 0;

    snprintf(path, sizeof path, "%s/history/%u", test_scratch, geteuid());
    DIR *files = opendir(path);
    while (files && (entry = readdir(files))) {
        size_t length = strlen(entry->d_name);
        if (length < strlen(end) || strcmp(entry->d_name + length - strlen(end), end) != 0)
            continue;
        snprintf(file, sizeof file, "%s/%s", path, entry->d_name);
        FILE *in = fopen(file, "re");
        while (in && count < MOST && fgets(line, sizeof line, in))
            ck_assert_msg(themis_history_record_decode(line, strlen(line), &record[count++], NULL, error,
                                                       sizeof error) == THEMIS_OK,
                          "%s", error);
        if (in)
            fclose(in);
    }
    if (files)
        closedir(files);
    return count;
}

/* Waits up to 10 s for so many records. */
static void records_await(const char *end, size_t wanted, themis_history_record_t record[MOST])
{
    size_t count = 0;

    for (int i = 0; i < 1000 && (count = records_read(end, record)) != wanted; i++)
        usleep(10000);
    ck_assert_uint_eq(count, wanted);
}

static uint64_t object_write(rig_client_t *client, const char *path, int times)
{
    static uint8_t bytes[BYTES];
    uint64_t object;

    ck_assert_int_eq(rig_create(client, path, 0, &object), THEMIS_OK);
    for (int i = 0; i < times; i++)
        ck_assert_int_eq(rig_write(client, object, (uint64_t)i * BYTES, bytes, BYTES), THEMIS_OK);
    return object;
}

TEST(a_job_that_ends_has_a_record)
{
    themis_history_record_t record[MOST];
    static uint8_t bytes[BYTES];
    rig_client_t *client = rig_client_open(server, 11, "job");
    uint64_t object = object_write(client, "/f", 10);

    for (int i = 0; i < 4; i++)
        ck_assert_int_eq(rig_read(client, object, (uint64_t)i * BYTES, bytes, BYTES / 2), THEMIS_OK);
    rig_client_close(client, 1);
    records_await(".jsonl", 1, record);
    ck_assert_str_eq(record->job, "job");
    ck_assert_str_eq(record->application, "themis");
    ck_assert_uint_eq(record->user, geteuid());
    ck_assert_uint_eq(record->written_bytes, 10 * BYTES);
    ck_assert_uint_eq(record->read_bytes, 4 * BYTES / 2);
    ck_assert_uint_eq(record->request_sizes[16], 10);
    ck_assert_uint_eq(record->request_sizes[15], 4);
    ck_assert_uint_eq(record->requests, 14 + record->metadata_operations);
    ck_assert_uint_ge(record->metadata_operations, 1);
    ck_assert_int_eq(record->sharing, THEMIS_HISTORY_SHARING_1_1);
    ck_assert_int_eq(record->interim, 0);
    ck_assert_double_gt(record->peak_bandwidth, 0);
    ck_assert(record->end > record->start && record->end < (double)themis_util_clock_wall() / 1e9);
    records_await(".running", 0, record);
}

/* Sessions of one job: each of them, and each file, counts once. */
TEST(sharing_is_seen)
{
    themis_history_record_t record[MOST];
    rig_client_t *client[4];
    char path[16];

    for (unsigned i = 0; i < 4; i++)
        client[i] = rig_client_open(server, 11 + i, "job");
    for (int i = 0; i < 4; i++) {
        snprintf(path, sizeof path, "/f%d", _i ? i : 0);
        object_write(client[i], path, 3);
    }
    for (int i = 0; i < 4; i++)
        rig_client_close(client[i], 1);
    records_await(".jsonl", 1, record);
    ck_assert_int_eq(record->sharing, _i ? THEMIS_HISTORY_SHARING_N_N : THEMIS_HISTORY_SHARING_N_1);
    ck_assert_uint_eq(record->clients, 4);
    ck_assert_uint_eq(record->files, _i ? 4 : 1);
    ck_assert_uint_eq(record->io_nodes, 1);
    ck_assert_uint_eq(record->written_bytes, 12 * BYTES);
}

/* A job with a connection has a record while it runs, which is interim; so is that of a server that stops. */
TEST(a_running_job_has_a_record)
{
    themis_history_record_t record[MOST];
    rig_client_t *client = rig_client_open(server, 11, "job");

    object_write(client, "/f", 2);
    for (int i = 0; i < 500 && (records_read(".running", record) != 1 || record->written_bytes != 2 * BYTES); i++)
        usleep(10000);
    ck_assert_uint_eq(records_read(".running", record), 1);
    ck_assert_uint_eq(record->written_bytes, 2 * BYTES);
    ck_assert_int_eq(record->interim, 1);
    ck_assert_uint_eq(records_read(".jsonl", record), 0);
    server_stop();
    ck_assert_uint_eq(records_read(".running", record), 0);
    ck_assert_uint_eq(records_read(".jsonl", record), 1);
    ck_assert_int_eq(record->interim, 1);
    ck_assert_uint_eq(record->written_bytes, 2 * BYTES);
    rig_client_close(client, 0);
}

/* Clients that only ask how the server is leave no record. */
TEST(a_job_without_requests_has_none)
{
    themis_proto_text_body_t what = {rig_text("server")};
    themis_history_record_t record[MOST];
    rig_client_t *client = rig_client_open(server, 11, "asks");

    ck_assert_int_eq(rig_call(client, THEMIS_OP_STATUS, &what), THEMIS_OK);
    rig_client_close(client, 1);
    client = rig_client_open(server, 12, "job");
    object_write(client, "/f", 1);
    rig_client_close(client, 1);
    records_await(".jsonl", 1, record);
    server_stop();
    ck_assert_uint_eq(records_read(".jsonl", record), 1);
    ck_assert_str_eq(record->job, "job");
}

/* The thread samples and writes while clients come and go: no record is lost, and none is there twice. */
TEST(many_short_jobs)
{
    themis_history_record_t record[MOST];
    char job[16], path[16];

    for (unsigned i = 0; i < 40; i++) {
        snprintf(job, sizeof job, "job%u", i);
        snprintf(path, sizeof path, "/f%u", i);
        rig_client_t *client = rig_client_open(server, 100 + i, job);
        object_write(client, path, 1 + (int)i % 3);
        rig_client_close(client, i % 2);
    }
    server_stop();
    ck_assert_uint_eq(records_read(".jsonl", record), 40);
    for (unsigned i = 0; i < 40; i++) {
        unsigned number = (unsigned)atoi(record[i].job + 3);
        ck_assert_uint_eq(record[i].written_bytes, (1 + number % 3) * BYTES);
    }
}

/* What cannot be appended remains as the record of a running job, which the next server appends. */
TEST(a_record_that_cannot_be_appended_is_kept)
{
    themis_history_record_t record[MOST];
    char path[512];
    rig_client_t *client = rig_client_open(server, 11, "job");

    object_write(client, "/f", 2);
    records_await(".running", 1, record);
    snprintf(path, sizeof path, "%s/history/%u/s-9999999999.jsonl", test_scratch, geteuid());
    ck_assert_int_eq(mkdir(path, 0700), 0);
    rig_client_close(client, 1);
    server_stop();
    ck_assert_int_eq(rmdir(path), 0);
    ck_assert_uint_eq(records_read(".running", record), 1);
    server = rig_server_start(configure);
    client = rig_client_open(server, 12, "next"); /* the first job of this server, too */
    object_write(client, "/g", 1);
    records_await(".jsonl", 1, record);
    ck_assert_str_eq(record->job, "job");
    rig_client_close(client, 1);
    records_await(".jsonl", 2, record);
}

static uint32_t clients_of(const char *id)
{
    uint32_t clients = 0;

    pthread_mutex_lock(&server->lock);
    for (themis_sched_job_t *job = themis_sched_job_table_first(server->jobs); job;
         job = themis_sched_job_table_next(server->jobs, job))
        if (strcmp(job->identity.id, id) == 0)
            clients += job->clients;
    pthread_mutex_unlock(&server->lock);
    return clients;
}

/* A client that computes is silent, and leaves its job in the scheduler: it has one record nevertheless. */
TEST(a_job_that_computes_has_one_record)
{
    themis_history_record_t record[MOST];
    rig_client_t *client = rig_client_open(server, 11, "job");

    object_write(client, "/f", 2);
    for (int i = 0; i < 1000 && clients_of("job") > 0; i++)
        usleep(10000);
    ck_assert_uint_eq(clients_of("job"), 0);
    usleep(1500000); /* the server has looked again */
    ck_assert_uint_eq(records_read(".jsonl", record), 0);
    object_write(client, "/g", 3);
    ck_assert_uint_eq(clients_of("job"), 1);
    rig_client_close(client, 1);
    records_await(".jsonl", 1, record);
    ck_assert_uint_eq(record->written_bytes, 5 * BYTES);
    ck_assert_int_eq(record->interim, 0);
    ck_assert_double_gt(record->end - record->start, 1);
}

/* A job that is silent when its last session ends has its record then. */
TEST(a_silent_job_ends_with_its_session)
{
    themis_history_record_t record[MOST];
    rig_client_t *client = rig_client_open(server, 11, "job");

    object_write(client, "/f", 2);
    for (int i = 0; i < 1000 && clients_of("job") > 0; i++)
        usleep(10000);
    rig_client_close(client, 0);
    records_await(".jsonl", 1, record);
    ck_assert_int_eq(record->interim, 0);
}

/* Also of a job so long that its series has longer samples than were configured. */
TEST(the_peak_is_of_one_interval)
{
    themis_sched_job_t counted = {0};
    themis_server_history_job_t *job = themis_server_history_job_create(&counted, 0, 1000 * THEMIS_NS_PER_S, 1);

    ck_assert_ptr_nonnull(job);
    for (uint64_t i = 1; i <= 20000; i++) {
        counted.bytes_written += i == 19000 ? 1000000 : 1000;
        themis_server_history_job_count(&counted, i * THEMIS_NS_PER_S, &job->now);
        themis_server_history_job_sample(job);
    }
    ck_assert_double_gt(job->series.interval, 1);
    ck_assert_double_eq_tol(job->peak, 1000000, 1);
    themis_server_history_job_destroy(job);
}

int main(void)
{
    Suite *suite = suite_create("history of jobs");

    test_case(suite, "jobs", 60, set_up, tear_down,
              TESTS({a_job_that_ends_has_a_record, 1}, {sharing_is_seen, 2}, {a_running_job_has_a_record, 1},
                    {a_job_without_requests_has_none, 1}, {many_short_jobs, 1},
                    {a_record_that_cannot_be_appended_is_kept, 1}));
    test_case(suite, "long jobs", 60, set_up_impatient, tear_down,
              TESTS({a_job_that_computes_has_one_record, 1}, {a_silent_job_ends_with_its_session, 1},
                    {the_peak_is_of_one_interval, 1}));
    return test_run(suite);
}
