/* SPDX-License-Identifier: BSD-3-Clause */
/* Records with their series, versions and limits, and the records of several servers made one for each job. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history/merge.h"
#include "test/lib/run.h"

static char error[256];

static themis_history_record_t record_of(const char *job, double start, double end)
{
    themis_history_record_t record = {.application = "a",
                                      .user = 7,
                                      .nodes = 1,
                                      .start = start,
                                      .end = end,
                                      .written_bytes = 1000,
                                      .requests = 10,
                                      .collective = -1};

    snprintf(record.job, sizeof record.job, "%s", job);
    return record;
}

/* From `start` on, `bytes` every `period` seconds, in one sample. */
static themis_history_series_t series_of(double start, int count, int period, uint64_t bytes)
{
    themis_history_series_t series;

    ck_assert_int_eq(themis_history_series_make(&series, start, 1, 4096), THEMIS_OK);
    for (int i = 0; i < count; i++) {
        themis_history_sample_t moved = {.written_bytes = i % period == 0 ? bytes : 0};
        ck_assert_int_eq(themis_history_series_add(&series, start + i + 0.5, &moved), THEMIS_OK);
    }
    return series;
}

static uint64_t series_bytes(const themis_history_series_t *series)
{
    uint64_t bytes = 0;

    for (uint32_t i = 0; i < series->count; i++)
        bytes += series->sample[i].written_bytes;
    return bytes;
}

static void entries_release(themis_history_entry_t *entry, size_t count)
{
    for (size_t i = 0; i < count; i++)
        themis_history_series_release(&entry[i].series);
}

TEST(series_round_trip)
{
    themis_history_record_t record = record_of("j", 1e9, 1e9 + 4000), seen;
    themis_history_series_t series = series_of(1e9, 4000, 3, INT64_MAX / 4000), back;
    char *text;

    ck_assert_int_eq(themis_history_record_encode(&record, &series, &text, error, sizeof error), THEMIS_OK);
    ck_assert_uint_le(strlen(text), THEMIS_HISTORY_RECORD_MOST);
    ck_assert_msg(themis_history_record_decode(text, strlen(text), &seen, &back, error, sizeof error) == THEMIS_OK,
                  "%s", error);
    ck_assert_uint_le(back.count, THEMIS_HISTORY_RECORD_SAMPLES);
    ck_assert_double_eq(back.interval, 8);
    ck_assert_double_eq(back.start, 1e9);
    ck_assert_uint_eq(series_bytes(&back), series_bytes(&series));
    free(text);
    themis_history_series_release(&series);
    themis_history_series_release(&back);
}

static const struct {
    const char *from, *to;
    themis_status_t status;
    const char *words;
} bad[] = {
    {"\"version\":1", "\"version\":2", THEMIS_VERSION, "version 2"},
    {"\"version\":1", "\"version\":\"1\"", THEMIS_PARSE, "\"version\""},
    {"\"end\":1000000100.0", "\"end\":253402300800.0", THEMIS_RANGE, "\"end\""},
    {"\"end\":1000000100.0", "\"end\":1e999", THEMIS_PARSE, "JSON"},
    {"\"interval\":1.0", "\"interval\":0.0", THEMIS_PARSE, "\"series\""},
    {"\"interval\":1.0", "\"interval\":1e300", THEMIS_PARSE, "\"series\""},
    {"[5,0", "[-5,0", THEMIS_PARSE, "\"series\""},
    {"[5,0", "[5.5,0", THEMIS_PARSE, "\"series\""},
    {"\"written_bytes\":[", "\"colour\":[", THEMIS_PARSE, "\"series\""},
};

TEST(record_with_series_refused)
{
    themis_history_record_t record = record_of("j", 1e9, 1e9 + 100);
    themis_history_series_t series = series_of(1e9, 10, 4, 5), back;
    char *text, changed[8192];

    ck_assert_int_eq(themis_history_record_encode(&record, &series, &text, error, sizeof error), THEMIS_OK);
    char *at = strstr(text, bad[_i].from);
    ck_assert_msg(at != NULL, "%s is not in %s", bad[_i].from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, bad[_i].to, at + strlen(bad[_i].from));
    ck_assert_int_eq(themis_history_record_decode(changed, strlen(changed), &record, &back, error, sizeof error),
                     bad[_i].status);
    ck_assert_msg(strstr(error, bad[_i].words) != NULL, "%s", error);
    free(text);
    themis_history_series_release(&series);
}

TEST(too_many_samples_are_refused)
{
    char text[8192] = "", *at = text;
    themis_history_record_t record;

    at += sprintf(at, "{\"series\":{\"start\":0,\"interval\":1,\"written_bytes\":[],\"read_bytes\":[0");
    for (int i = 0; i < THEMIS_HISTORY_RECORD_SAMPLES; i++)
        at += sprintf(at, ",0");
    at += sprintf(at, "]}}");
    ck_assert_int_eq(themis_history_record_decode(text, strlen(text), &record, NULL, error, sizeof error),
                     THEMIS_PARSE);
    ck_assert_ptr_nonnull(strstr(error, "too many"));
}

/* Intervals and starts differ: bytes stay where they were in time, and none is lost. */
TEST(series_add_up)
{
    themis_history_series_t sum, other;

    ck_assert_int_eq(themis_history_series_make(&sum, 100, 1, 4096), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_make(&other, 100.25, 4, 64), THEMIS_OK);
    for (int i = 0; i < 50; i++) {
        themis_history_sample_t moved = {.read_bytes = 7, .written_bytes = 4000, .requests = 3};
        ck_assert_int_eq(themis_history_series_add(&other, 102 + i * 4, &moved), THEMIS_OK);
    }
    ck_assert_int_eq(themis_history_series_add_all(&sum, &other), THEMIS_OK);
    ck_assert_uint_eq(series_bytes(&sum), 50 * 4000);
    ck_assert_uint_eq(sum.sample[0].written_bytes, 750);
    ck_assert_uint_eq(sum.sample[1].written_bytes, 1000);
    ck_assert_uint_eq(sum.count, 201);
    uint64_t reads = 0, requests = 0;
    for (uint32_t i = 0; i < sum.count; i++)
        reads += sum.sample[i].read_bytes, requests += sum.sample[i].requests;
    ck_assert_uint_eq(reads, 50 * 7);
    ck_assert_uint_eq(requests, 50 * 3);
    themis_history_series_release(&sum);
    themis_history_series_release(&other);
}

/* Times that a double cannot tell apart: the sum ends. */
TEST(tiny_intervals_add_up)
{
    static const double intervals[] = {1e-9, 1e-6, 1e-5, 3e-5, 1e-4, 1};
    themis_history_series_t sum, other;

    for (size_t i = 0; i < 6; i++)
        for (size_t k = 0; k < 6; k++) {
            themis_history_sample_t moved = {.written_bytes = 4000};
            ck_assert_int_eq(themis_history_series_make(&sum, 2.5e11, intervals[i], 64), THEMIS_OK);
            ck_assert_int_eq(themis_history_series_make(&other, 2.5e11, intervals[k], 64), THEMIS_OK);
            for (int n = 0; n < 64; n++)
                ck_assert_int_eq(themis_history_series_add(&other, 2.5e11 + n * intervals[k], &moved), THEMIS_OK);
            ck_assert_int_eq(themis_history_series_add_all(&sum, &other), THEMIS_OK);
            ck_assert_uint_le(sum.count, 64);
            themis_history_series_release(&sum);
            themis_history_series_release(&other);
        }
}

TEST(servers_are_added_up)
{
    themis_history_entry_t entry[4] = {
        {record_of("b", 1000, 1200), series_of(1000, 200, 20, 50), 0, 0},
        {record_of("b", 1005, 1199), series_of(1005, 195, 20, 50), 1, 0},
        {record_of("a", 10, 20), {0}, 0, 0},
        {record_of("b", 1501, 1600), {0}, 1, 0},
    };
    size_t count = 4;

    entry[0].record.sharing = entry[1].record.sharing = THEMIS_HISTORY_SHARING_N_1;
    entry[1].record.io_nodes = entry[1].record.nodes = 5;
    entry[1].record.metadata_waiting = 3;
    ck_assert_int_eq(themis_history_merge(entry, &count, NULL), THEMIS_OK);
    ck_assert_uint_eq(count, 3); /* the third run of "b" began 301 s after the others */
    ck_assert_str_eq(entry[0].record.job, "a");
    const themis_history_record_t *sum = &entry[1].record;
    ck_assert_uint_eq(sum->written_bytes, 2000);
    ck_assert_uint_eq(sum->requests, 20);
    ck_assert_uint_eq(sum->servers, 2);
    ck_assert_uint_eq(sum->nodes, 5);
    ck_assert_double_eq(sum->metadata_waiting, 3);
    ck_assert_double_eq(sum->start, 1000);
    ck_assert_double_eq(sum->end, 1200);
    ck_assert_int_eq(sum->sharing, THEMIS_HISTORY_SHARING_N_1);
    ck_assert_uint_eq(series_bytes(&entry[1].series), 1000);
    ck_assert_double_eq(sum->peak_bandwidth, 50);
    ck_assert_uint_eq(entry[2].record.servers, 1);
    ck_assert_double_eq(entry[2].record.start, 1501);
    entries_release(entry, count);
}

/* Each server has half of every phase, and one of them also writes on its own. */
TEST(phases_are_those_of_the_sum)
{
    themis_history_entry_t entry[2] = {{record_of("b", 1000, 1400), series_of(1000, 400, 20, 500000), 0, 0},
                                       {record_of("b", 1000, 1400), series_of(1000, 400, 20, 500000), 1, 0}};
    size_t count = 2;

    entry[0].record.phases = (themis_history_phases_t){.count = 50, .period = 3, .volume = 3, .confidence = 1};
    ck_assert_int_eq(themis_history_merge(entry, &count, NULL), THEMIS_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(entry[0].record.phases.count, 20);
    ck_assert(fabs(entry[0].record.phases.period - 20) < 0.2);
    ck_assert(fabs(entry[0].record.phases.volume - 1e6) < 1e4);
    entries_release(entry, count);
}

static void on_load(void *arg, themis_history_entry_t *entry)
{
    ++*(int *)arg;
    entry->series = series_of(1000, 400, 20, entry->place);
}

/* Series that are not in memory are asked for where they are needed, and do not stay. */
TEST(series_are_loaded)
{
    themis_history_entry_t entry[3] = {{record_of("b", 1000, 1400), {0}, 0, 500000},
                                       {record_of("b", 1000, 1400), {0}, 1, 700000},
                                       {record_of("c", 1000, 1400), {0}, 1, 700000}};
    int loads = 0;
    const themis_history_loader_t loader = {on_load, &loads};
    size_t count = 3;

    ck_assert_int_eq(themis_history_merge(entry, &count, &loader), THEMIS_OK);
    ck_assert_uint_eq(count, 2);
    ck_assert_int_eq(loads, 2);
    ck_assert_uint_eq(entry[0].record.phases.count, 20);
    ck_assert(fabs(entry[0].record.phases.volume - 1.2e6) < 1e4);
    ck_assert_uint_eq(entry[0].series.count + entry[1].series.count, 0);
}

/* A record that was written while the job ran is replaced by later ones of the same server, whatever their order. */
TEST(the_last_copy_counts)
{
    themis_history_entry_t entry[3] = {{record_of("b", 1000, 1200), {0}, 0, 0},
                                       {record_of("b", 1000, 1200), {0}, 0, 0},
                                       {record_of("b", 1000, 1260), {0}, 0, 0}};
    size_t count = 3;

    entry[_i % 3].record.interim = 1;
    entry[(_i + 1) % 3].record.interim = 1;
    entry[(_i + 2) % 3].record.written_bytes = 4711;
    ck_assert_int_eq(themis_history_merge(entry, &count, NULL), THEMIS_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(entry[0].record.written_bytes, 4711);
    ck_assert_int_eq(entry[0].record.interim, 0);
    entries_release(entry, count);
}

/* A server was killed and started again in the middle of the job: the job has ended, and both parts count. */
TEST(a_restarted_server_goes_on)
{
    themis_history_entry_t entry[2] = {{record_of("b", 1100, 1200), {0}, 0, 0},
                                       {record_of("b", 1000, 1060), {0}, 0, 0}};
    size_t count = 2;

    entry[1].record.interim = 1;
    ck_assert_int_eq(themis_history_merge(entry, &count, NULL), THEMIS_OK);
    ck_assert_uint_eq(count, 1);
    ck_assert_uint_eq(entry[0].record.written_bytes, 2000);
    ck_assert_int_eq(entry[0].record.interim, 0);
    ck_assert_uint_eq(entry[0].record.servers, 1);
    entries_release(entry, count);
}

int main(void)
{
    Suite *suite = suite_create("history of servers");

    test_case(suite, "records", 20, NULL, NULL,
              TESTS({series_round_trip, 1}, {record_with_series_refused, sizeof bad / sizeof *bad},
                    {too_many_samples_are_refused, 1}));
    test_case(suite, "merge", 20, NULL, NULL,
              TESTS({series_add_up, 1}, {tiny_intervals_add_up, 1}, {servers_are_added_up, 1},
                    {phases_are_those_of_the_sum, 1}, {series_are_loaded, 1}, {the_last_copy_counts, 3},
                    {a_restarted_server_goes_on, 1}));
    return test_run(suite);
}
