/* SPDX-License-Identifier: BSD-3-Clause */
/* Samples of jobs in bounded memory, the phases found in them, and records as JSON. */
#include <check.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "history/phases.h"
#include "history/rate.h"
#include "history/record.h"
#include "history/series.h"
#include "test/lib/run.h"

static uint64_t seed;

/* Uniform in [low, high). */
static double draw(double low, double high)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return low + (high - low) * (double)(seed >> 11) * 0x1p-53;
}

/* ---- series ---- */

TEST(series_is_bounded)
{
    themis_history_series_t series;
    uint64_t total = 0, kept = 0;

    ck_assert_int_eq(themis_history_series_make(&series, 1000, 1, 100), THEMIS_OK);
    for (int i = 0; i < 100000; i++) {
        themis_history_sample_t moved = {.read_bytes = (uint64_t)i, .written_bytes = 2, .requests = 1};
        total += moved.read_bytes;
        ck_assert_int_eq(themis_history_series_add(&series, 1000 + i * 0.7, &moved), THEMIS_OK);
        ck_assert_uint_le(series.count, 100);
    }
    ck_assert_uint_le(series.allocated, 100);
    ck_assert_double_eq(series.interval, 1024); /* 70,000 s in 100 samples */
    for (uint32_t i = 0; i < series.count; i++)
        kept += series.sample[i].read_bytes;
    ck_assert_uint_eq(kept, total);
    themis_history_series_release(&series);
}

TEST(series_takes_odd_times)
{
    const themis_history_sample_t moved = {.read_bytes = UINT64_MAX, .requests = UINT32_MAX};
    themis_history_series_t series;

    ck_assert_int_eq(themis_history_series_make(&series, 0, 1, 3), THEMIS_INVALID);
    ck_assert_int_eq(themis_history_series_make(&series, NAN, 1, 4), THEMIS_INVALID);
    ck_assert_int_eq(themis_history_series_make(&series, 0, 0, 4), THEMIS_INVALID);
    ck_assert_int_eq(themis_history_series_make(&series, 10, 1, 4), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_add(&series, INFINITY, &moved), THEMIS_INVALID);
    ck_assert_int_eq(themis_history_series_add(&series, 12.5, &moved), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_add(&series, -5, &moved), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_add(&series, 10.5, &moved), THEMIS_OK);
    ck_assert_uint_eq(series.count, 3);
    ck_assert_uint_eq(series.sample[0].read_bytes, UINT64_MAX);
    ck_assert_uint_eq(series.sample[0].requests, UINT32_MAX);
    ck_assert_int_eq(themis_history_series_add(&series, 1e300, &moved), THEMIS_OK);
    ck_assert_uint_le(series.count, 4);
    themis_history_series_release(&series);
}

/* ---- phases ---- */

/* Bytes at a constant rate in [begin, end). */
static void move(themis_history_series_t *series, double begin, double end, double bytes)
{
    double rate = bytes / (end - begin);

    for (double at = begin, next; at < end; at = next) {
        next = fmin(floor(at) + 1, end);
        themis_history_sample_t moved = {.written_bytes = (uint64_t)(rate * (next - at))};
        ck_assert_int_eq(themis_history_series_add(series, (at + next) / 2, &moved), THEMIS_OK);
    }
}

/* Checkpoints with jitter of their time and noise of their volume, a second's pause within some, and a faint stream
 * between them. */
TEST(periodic_job)
{
    themis_history_series_t series;
    themis_history_phases_t found;
    double first = 0, last = 0, sum = 0;
    int count = 12 + _i % 40;

    seed = (uint64_t)_i + 1;
    double period = draw(12, 90), length = period * draw(0.06, 0.4), volume = exp(draw(15, 25)), stream = draw(0, 0.02);
    ck_assert_int_eq(themis_history_series_make(&series, 0, 1, 8192), THEMIS_OK);
    for (int k = 0; k < count; k++) {
        double begin = (k + 0.5 + draw(-0.05, 0.05)) * period - length / 2, bytes = volume * draw(0.9, 1.1);
        double end = begin + length * draw(0.95, 1.05);
        first = k == 0 ? (begin + end) / 2 : first;
        last = (begin + end) / 2;
        sum += bytes;
        begin = fmax(begin, 0);
        if (_i % 3 == 0 && length > 9) {
            move(&series, begin, (begin + end) / 2 - 0.5, bytes / 2);
            move(&series, (begin + end) / 2 + 0.5, end, bytes / 2);
        } else {
            move(&series, begin, end, bytes);
        }
    }
    for (double at = 0; at < count * period - 1; at++)
        move(&series, at, at + 1, volume / length * stream * draw(0, 2));
    ck_assert_int_eq(themis_history_phases_find(&series, &found, NULL), THEMIS_OK);
    ck_assert_msg(fabs(found.period / ((last - first) / (count - 1)) - 1) <= 0.05, "seed %d: period %g, not %g", _i + 1,
                  found.period, (last - first) / (count - 1));
    ck_assert_msg(fabs(found.volume / (sum / count) - 1) <= 0.02, "seed %d: volume %g, not %g", _i + 1, found.volume,
                  sum / count);
    ck_assert_msg(fabs(found.compute - (period - length)) <= 0.05 * period + 1, "seed %d: compute %g, not %g", _i + 1,
                  found.compute, period - length);
    ck_assert_double_ge(found.confidence, 0.5);
    themis_history_series_release(&series);
}

/* Phases at random times, of random volumes. */
TEST(job_without_period)
{
    themis_history_series_t series;
    themis_history_phases_t found;
    themis_history_phase_t *phase;
    double at = 0;

    seed = (uint64_t)_i + 1;
    ck_assert_int_eq(themis_history_series_make(&series, 0, 1, 8192), THEMIS_OK);
    for (int k = 0; k < 40; k++) {
        at += 5 - 40 * log(draw(1e-6, 1));
        move(&series, at, at + 3, 1e9 * exp(draw(0, 2)));
        at += 3;
    }
    ck_assert_int_eq(themis_history_phases_find(&series, &found, &phase), THEMIS_OK);
    ck_assert_double_lt(found.confidence, 0.5);
    for (uint32_t i = 0; i < found.count; i++)
        ck_assert(phase[i].first < phase[i].end && phase[i].end <= series.count);
    free(phase);
    themis_history_series_release(&series);
}

TEST(job_without_phases)
{
    themis_history_series_t series;
    themis_history_phases_t found;

    seed = 1;
    ck_assert_int_eq(themis_history_series_make(&series, 0, 1, 1024), THEMIS_OK);
    ck_assert_int_eq(themis_history_phases_find(&series, &found, NULL), THEMIS_OK);
    ck_assert_uint_eq(found.count, 0);
    for (int i = 0; i < 500; i++)
        move(&series, i, i + 1, draw(8e8, 1e9));
    ck_assert_int_eq(themis_history_phases_find(&series, &found, NULL), THEMIS_OK);
    ck_assert_uint_eq(found.count, 1);
    ck_assert_double_eq(found.confidence, 0);
    themis_history_series_release(&series);
}

/* A job whose rhythm changes after 1000 s, from 50 to 20 s, and which ends its I/O at 2000 s. */
TEST(recent_phases)
{
    themis_history_series_t series;
    themis_history_phases_t found;

    ck_assert_int_eq(themis_history_series_make(&series, 5000, 1, 8192), THEMIS_OK);
    for (double at = 40; at < 2000; at += at < 1000 ? 50 : 20)
        move(&series, 5000 + at, 5000 + at + 5, 1e9);
    ck_assert_int_eq(themis_history_phases_recent(&series, 0, 6000, 10, &found), THEMIS_OK);
    ck_assert_int_eq(themis_history_phases_recent(&series, 0, 7000, 10, &found), THEMIS_OK);
    ck_assert_double_eq_tol(found.period, 20, 1);
    ck_assert_uint_ge(found.count, 9);
    ck_assert_uint_le(found.count, 26); /* ten of the periods that the whole series has */
    ck_assert_int_eq(themis_history_phases_recent(&series, 6900, 7000, 10, &found), THEMIS_OK);
    ck_assert_uint_eq(found.count, 5);
    ck_assert_double_eq_tol(found.compute, 15, 1);
    ck_assert_int_eq(themis_history_phases_recent(&series, 7000, 7000, 10, &found), THEMIS_OK);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_int_eq(themis_history_phases_recent(&series, 1e300, 7000, 10, &found), THEMIS_OK);
    ck_assert_uint_eq(found.count, 0);
    ck_assert_int_eq(themis_history_phases_recent(&series, 0, 7200, 10, &found), THEMIS_OK);
    ck_assert_uint_eq(found.count, 0); /* silent */
    themis_history_series_release(&series);
}

/* Two jobs: one that can move 20, and one that can move 500, of 100 bytes/s. */
TEST(own_rate)
{
    themis_history_series_t slow, fast, all;

    ck_assert_int_eq(themis_history_series_make(&slow, 0, 1, 64), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_make(&fast, 0, 1, 64), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_make(&all, 0, 1, 64), THEMIS_OK);
    move(&slow, 2, 7, 5 * 18);  /* beside the other one */
    move(&slow, 20, 26.5, 130); /* alone */
    move(&fast, 1, 9, 8 * 80);  /* all that servers have */
    move(&fast, 30.5, 32, 150); /* and never less for long */
    ck_assert_int_eq(themis_history_series_add_all(&all, &slow), THEMIS_OK);
    ck_assert_int_eq(themis_history_series_add_all(&all, &fast), THEMIS_OK);
    ck_assert_double_eq_tol(themis_history_own_rate(&slow, &all, 100), 20, 1);
    ck_assert_double_eq(themis_history_own_rate(&fast, &all, 100), 0);
    all.count = 0;
    ck_assert_double_eq(themis_history_own_rate(&slow, &all, 100), 0);
    themis_history_series_release(&slow);
    themis_history_series_release(&fast);
    themis_history_series_release(&all);
}

/* ---- records ---- */

static const themis_history_record_t example = {
    .application = "Wetter\xc3\xbc \"x\"",
    .job = "slurm:7",
    .user = 1000,
    .nodes = 8,
    .io_nodes = 2,
    .start = 1.7e9,
    .end = 1.7e9 + 0.25,
    .interim = 1,
    .read_bytes = INT64_MAX,
    .requests = 12,
    .request_sizes = {[3] = 5, [20] = 7},
    .metadata_waiting = 0.1,
    .sharing = THEMIS_HISTORY_SHARING_N_M,
    .collective = -1,
    .peak_bandwidth = 1e9 / 3,
    .phases = {4, 10.5, 1e9, 9, 0.75, 3},
};

TEST(record_round_trip)
{
    char *text, error[256] = "";
    themis_history_record_t record, small = {.application = "a"};

    ck_assert_msg(themis_history_record_encode(&example, NULL, &text, error, sizeof error) == THEMIS_OK, "%s", error);
    ck_assert_msg(themis_history_record_decode(text, strlen(text), &record, NULL, error, sizeof error) == THEMIS_OK,
                  "%s", error);
    ck_assert_str_eq(record.application, example.application);
    ck_assert_str_eq(record.job, example.job);
    ck_assert_uint_eq(record.read_bytes, example.read_bytes);
    ck_assert_mem_eq(record.request_sizes, example.request_sizes, sizeof record.request_sizes);
    ck_assert_double_eq(record.end, example.end);
    ck_assert_double_eq(record.peak_bandwidth, example.peak_bandwidth);
    ck_assert_int_eq(record.sharing, example.sharing);
    ck_assert_int_eq(record.collective, -1);
    ck_assert_int_eq(record.interim, 1);
    ck_assert_double_eq(record.phases.confidence, 0.75);
    for (size_t cut = 0; cut < strlen(text); cut++)
        ck_assert_int_eq(themis_history_record_decode(text, cut, &record, NULL, error, sizeof error), THEMIS_PARSE);
    free(text);
    small.application[0] = (char)0xff;
    ck_assert_int_eq(themis_history_record_encode(&small, NULL, &text, error, sizeof error), THEMIS_INVALID);
}

/* One replacement in a good record, the status, and the field that the error names. */
static const struct {
    const char *from, *to;
    themis_status_t status;
    const char *field;
} bad[] = {
    {"\"nodes\":8", "\"nodes\":-8", THEMIS_PARSE, "\"nodes\""},
    {"\"nodes\":8", "\"nodes\":1", THEMIS_RANGE, "\"io_nodes\""},
    {"\"nodes\":8", "\"nodes\":4294967296", THEMIS_PARSE, "\"nodes\""},
    {"\"nodes\":8", "\"nodes\":8,\"nodes\":8", THEMIS_PARSE, "duplicate"},
    {"\"user\":1000,", "", THEMIS_PARSE, "\"user\""},
    {"\"user\":1000", "\"user\":\"me\"", THEMIS_PARSE, "\"user\""},
    {"\"user\":1000", "\"user\":1000,\"colour\":1", THEMIS_PARSE, "\"colour\""},
    {"N-M", "M-N", THEMIS_PARSE, "\"sharing\""},
    {"slurm:7", "slurm\\n", THEMIS_RANGE, "\"job\""},
    {"1700000000.0", "1800000000.0", THEMIS_RANGE, "\"end\""},
    {"0.75", "1.75", THEMIS_RANGE, "\"confidence\""},
    {"\"count\":4", "\"count\":[]", THEMIS_PARSE, "\"count\""},
    {"\"interim\":true", "\"interim\":null", THEMIS_PARSE, "\"interim\""},
    {"[0,0,0,5", "[0,0,-1,5", THEMIS_PARSE, "\"request_sizes\""},
};

TEST(record_refused)
{
    char *text, error[256] = "", changed[4096];
    themis_history_record_t record;

    ck_assert_int_eq(themis_history_record_encode(&example, NULL, &text, error, sizeof error), THEMIS_OK);
    char *at = strstr(text, bad[_i].from);
    ck_assert_msg(at != NULL, "%s is not in %s", bad[_i].from, text);
    snprintf(changed, sizeof changed, "%.*s%s%s", (int)(at - text), text, bad[_i].to, at + strlen(bad[_i].from));
    ck_assert_int_eq(themis_history_record_decode(changed, strlen(changed), &record, NULL, error, sizeof error),
                     bad[_i].status);
    ck_assert_msg(strstr(error, bad[_i].field) != NULL, "%s", error);
    free(text);
}

int main(void)
{
    Suite *suite = suite_create("history");

    test_case(suite, "series", 20, NULL, NULL, TESTS({series_is_bounded, 1}, {series_takes_odd_times, 1}));
    test_case(suite, "phases", 20, NULL, NULL,
              TESTS({periodic_job, 200}, {job_without_period, 100}, {job_without_phases, 1}, {recent_phases, 1},
                    {own_rate, 1}));
    test_case(suite, "record", 20, NULL, NULL,
              TESTS({record_round_trip, 1}, {record_refused, sizeof bad / sizeof *bad}));
    return test_run(suite);
}
