/* SPDX-License-Identifier: BSD-3-Clause */
/* Which servers a job gets: the paper's applications, interference by pairs, pools, anomalies, bad input. */
#include <check.h>
#include <math.h>
#include <string.h>
#include "dfra/run.h"
#include "dfra/site.h"
#include "test/lib/run.h"

enum { N_N, N_1, ONE, DNDC, APT, CLASSES };

static const double GB = 1e9;
static char error[256];

/* The paper's machine: 80 default servers of 240, F = 32. */
static themis_dfra_site_t machine(void)
{
    themis_dfra_site_t site = themis_dfra_defaults;

    site.servers = 240;
    site.defaults = 80;
    site.server_bandwidth = 2.5 * GB;
    site.node_bandwidth = 2.5 * GB / 32;
    return site;
}

typedef struct row {
    const char *name;
    themis_dfra_application_t known;
    themis_dfra_eligibility_t eligibility;
    uint32_t wanted;
    unsigned classes;
} row_t;

#define KNOWN(volume, bandwidth, iops, waiting, nodes, io_nodes, sharing)                                              \
    {                                                                                                                  \
        volume, 3600, 1e6, bandwidth, iops, waiting, nodes, io_nodes, 3, sharing                                       \
    }

/* The applications with the scales, sharing and classes that the text gives; volumes are on the side that it tells. */
static const row_t rows[] = {
    {"CESM", KNOWN(200e9, 2e9, 500, 1, 256, 256, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 8, 4},
    {"CAM", KNOWN(30e9, 1e8, 100, 1, 256, 1, THEMIS_DFRA_1_1), THEMIS_DFRA_FEW_NODES, 0, 0},
    {"AWP", KNOWN(100e9, 2e8, 900, 1, 256, 256, THEMIS_DFRA_N_1), THEMIS_DFRA_ELIGIBLE, 8, 1},
    {"Shentu", KNOWN(2e12, 2.4e9, 900, 1, 1024, 1024, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 32, 4},
    {"LAMMPS", KNOWN(2e12, 2.4e9, 900, 1, 1024, 1024, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 32, 4},
    {"Macdrp", KNOWN(1e12, 2.4e9, 900, 1, 1024, 1024, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 32, 4},
    {"DNDC", KNOWN(300e6, 1e7, 900, 90, 512, 512, THEMIS_DFRA_N_N), THEMIS_DFRA_LITTLE_VOLUME, 0, 2},
    {"WRF 1", KNOWN(30e9, 1e8, 100, 1, 256, 1, THEMIS_DFRA_1_1), THEMIS_DFRA_FEW_NODES, 0, 0},
    {"WRF N", KNOWN(200e9, 2e9, 500, 1, 256, 256, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 8, 4},
    {"APT", KNOWN(40e9, 8e7, 80000, 1, 256, 16, THEMIS_DFRA_N_N), THEMIS_DFRA_FEW_NODES, 0, 8},
    {"XCFD", KNOWN(200e9, 2e9, 500, 1, 256, 256, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 8, 4},
    {"swDNN", KNOWN(500e9, 2e9, 500, 1, 512, 512, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 16, 4},
    {"MPI-IO N", KNOWN(200e9, 2e9, 500, 1, 256, 256, THEMIS_DFRA_N_N), THEMIS_DFRA_ELIGIBLE, 8, 4},
};
enum { ROWS = sizeof rows / sizeof *rows };

/* One application of each class of interference, too small to be scaled. */
static const themis_dfra_application_t class_row[CLASSES] = {
    [N_N] = KNOWN(5e9, 2e9, 500, 1, 256, 256, THEMIS_DFRA_N_N),
    [N_1] = KNOWN(5e9, 2e8, 500, 1, 256, 256, THEMIS_DFRA_N_1),
    [ONE] = KNOWN(5e9, 1e8, 100, 1, 256, 1, THEMIS_DFRA_1_1),
    [DNDC] = KNOWN(3e8, 1e7, 900, 90, 256, 256, THEMIS_DFRA_N_N),
    [APT] = KNOWN(5e9, 8e7, 80000, 1, 256, 256, THEMIS_DFRA_N_N),
};

static themis_dfra_decision_t decide(const themis_dfra_site_t *site, const themis_dfra_pool_t *pool,
                                     const themis_dfra_application_t *known, uint32_t first, uint32_t nodes)
{
    themis_dfra_range_t range = {first, first + nodes - 1};
    themis_dfra_job_t job = {known, &range, 1};
    themis_dfra_decision_t decision;
    themis_status_t status = themis_dfra_decide(site, pool, &job, &decision, error, sizeof error);

    ck_assert_msg(status == THEMIS_OK, "%s", error);
    return decision;
}

static int explains(const themis_dfra_site_t *site, const themis_dfra_application_t *known,
                    const themis_dfra_decision_t *decision, const char *words)
{
    char text[1024];

    themis_dfra_explain(site, known, decision, text, sizeof text);
    ck_assert_msg(strstr(text, words) != NULL, "'%s' has no '%s'", text, words);
    return 1;
}

/* ---- the paper ---- */

TEST(table_of_applications)
{
    const row_t *row = &rows[_i];
    themis_dfra_site_t site = machine();
    themis_dfra_pool_t pool = {0};
    themis_dfra_decision_t d = decide(&site, &pool, &row->known, 0, row->known.nodes);

    ck_assert_msg(themis_dfra_eligible(&site, &row->known) == row->eligibility, "%s", row->name);
    ck_assert_uint_eq(themis_dfra_classes(&site, &row->known, NULL), row->classes);
    ck_assert_uint_eq(d.wanted, row->wanted);
    ck_assert_int_eq(d.kind, row->wanted ? THEMIS_DFRA_SCALED : THEMIS_DFRA_DEFAULT);
    ck_assert_uint_eq(d.servers, row->wanted ? row->wanted : 1);
    ck_assert_uint_eq(d.server[0], row->wanted ? site.defaults : 0);
    themis_dfra_release(&d);
}

TEST(tests_at_their_limits)
{
    themis_dfra_site_t site = machine();
    themis_dfra_application_t a = rows[0].known;

    a.volume = 20e9;
    ck_assert_int_eq(themis_dfra_eligible(&site, &a), THEMIS_DFRA_LITTLE_VOLUME);
    a.volume = nextafter(20e9, INFINITY), a.io_nodes = 31;
    ck_assert_int_eq(themis_dfra_eligible(&site, &a), THEMIS_DFRA_FEW_NODES);
    a.io_nodes = 32, a.metadata_waiting = 32;
    ck_assert_int_eq(themis_dfra_eligible(&site, &a), THEMIS_DFRA_METADATA_BOUND);
    ck_assert_uint_eq(themis_dfra_classes(&site, &a, NULL) & THEMIS_DFRA_METADATA_HEAVY, 0);
    a.metadata_waiting = 31.9;
    ck_assert_int_eq(themis_dfra_eligible(&site, &a), THEMIS_DFRA_ELIGIBLE);
    ck_assert_uint_eq(themis_dfra_wanted(&site, &a), 1);
    a.io_nodes = 33;
    ck_assert_uint_eq(themis_dfra_wanted(&site, &a), 2);
    site.min_records = a.records + 1;
    ck_assert_int_eq(themis_dfra_eligible(&site, &a), THEMIS_DFRA_NEW);
    ck_assert_int_eq(themis_dfra_eligible(&site, NULL), THEMIS_DFRA_NEW);
}

/* One job of 256 nodes beside another on server 0. Only two of which neither has a class stay together. */
TEST(interference_of_pairs)
{
    int own = _i / CLASSES, other = _i % CLASSES;
    themis_dfra_site_t site = machine();
    uint32_t server = 0;
    themis_dfra_running_t running = {.known = &class_row[other], .server = &server, .servers = 1};
    themis_dfra_pool_t pool = {NULL, &running, 1};
    themis_dfra_decision_t d = decide(&site, &pool, &class_row[own], 256, 256);
    int together = own == ONE && other == ONE;

    ck_assert_uint_eq(d.neighbours, 1);
    ck_assert_int_eq(d.kind, together ? THEMIS_DFRA_DEFAULT : THEMIS_DFRA_DEDICATED);
    ck_assert_uint_eq(d.servers, 1);
    ck_assert_uint_eq(d.server[0], together ? 0 : 80);
    explains(&site, &class_row[own], &d, together ? "No interference is expected" : "Interference is likely");
    themis_dfra_release(&d);

    d = decide(&site, &pool, &class_row[own], 512, 256);
    ck_assert_uint_eq(d.neighbours, 0);
    ck_assert_int_eq(d.kind, THEMIS_DFRA_DEFAULT);
    ck_assert_uint_eq(d.server[0], 1);
    themis_dfra_release(&d);
}

static themis_dfra_kind_t beside(const themis_dfra_application_t *own, const themis_dfra_application_t *other,
                                 themis_dfra_observation_t now)
{
    themis_dfra_site_t site = machine();
    uint32_t server = 0;
    themis_dfra_running_t running = {.known = other, .now = now, .server = &server, .servers = 1};
    themis_dfra_pool_t pool = {NULL, &running, 1};
    themis_dfra_decision_t d = decide(&site, &pool, own, 256, 256);

    themis_dfra_release(&d);
    return d.kind;
}

TEST(what_neighbours_do_now)
{
    const themis_dfra_application_t *low = &class_row[ONE], *n_1 = &class_row[N_1];

    /* Its I/O is turned off; a short look does not tell; nor does little I/O where little is due. */
    ck_assert_int_eq(beside(low, n_1, (themis_dfra_observation_t){.duration = 1800}), THEMIS_DFRA_DEFAULT);
    ck_assert_int_eq(beside(n_1, low, (themis_dfra_observation_t){.duration = 1800}), THEMIS_DFRA_DEFAULT);
    ck_assert_int_eq(beside(low, n_1, (themis_dfra_observation_t){.duration = 500}), THEMIS_DFRA_DEDICATED);
    ck_assert_int_eq(beside(low, n_1, (themis_dfra_observation_t){.duration = 1800, .volume = 1e9}),
                     THEMIS_DFRA_DEDICATED);
    ck_assert_int_eq(beside(low, n_1, (themis_dfra_observation_t){.duration = 1800, .operations = 1e5}),
                     THEMIS_DFRA_DEDICATED);
    /* More than its history says. */
    ck_assert_int_eq(beside(low, low, (themis_dfra_observation_t){.duration = 5, .peak_bandwidth = 2e9}),
                     THEMIS_DFRA_DEDICATED);
    ck_assert_int_eq(beside(low, low, (themis_dfra_observation_t){.duration = 5, .peak_iops = 2e4}),
                     THEMIS_DFRA_DEDICATED);
    ck_assert_int_eq(beside(low, low, (themis_dfra_observation_t){.duration = 5, .metadata_waiting = 33}),
                     THEMIS_DFRA_DEDICATED);
    ck_assert_int_eq(beside(low, low, (themis_dfra_observation_t){.duration = 5, .shared_file = 1}),
                     THEMIS_DFRA_DEDICATED);
    /* A new neighbour counts by what is seen of it. */
    ck_assert_int_eq(beside(low, NULL, (themis_dfra_observation_t){0}), THEMIS_DFRA_DEFAULT);
    ck_assert_int_eq(beside(low, NULL, (themis_dfra_observation_t){.duration = 5, .shared_file = 1}),
                     THEMIS_DFRA_DEDICATED);
    /* A new application keeps the default. */
    ck_assert_int_eq(beside(NULL, n_1, (themis_dfra_observation_t){0}), THEMIS_DFRA_DEFAULT);
}

/* ---- the pool ---- */

TEST(at_most_the_idle_servers)
{
    themis_dfra_site_t site = machine();
    uint32_t used[240];
    themis_dfra_running_t running = {.known = &class_row[ONE], .server = used};
    themis_dfra_pool_t pool = {NULL, &running, 1};

    for (uint32_t i = 0; i < 240; i++)
        used[i] = i;
    running.servers = 240 - 5;
    themis_dfra_decision_t d = decide(&site, &pool, &rows[3].known, 0, 1024);
    ck_assert_int_eq(d.kind, THEMIS_DFRA_SCALED);
    ck_assert_uint_eq(d.wanted, 32);
    ck_assert_uint_eq(d.idle, 5);
    ck_assert_uint_eq(d.servers, 5);
    ck_assert_uint_eq(d.server[0], 235);
    themis_dfra_release(&d);

    /* One idle server is fewer than the default two: neither scaled nor dedicated. */
    running.servers = 239;
    d = decide(&site, &pool, &rows[3].known, 0, 1024);
    ck_assert_int_eq(d.kind, THEMIS_DFRA_DEFAULT);
    ck_assert_uint_eq(d.servers, 2);
    explains(&site, &rows[3].known, &d, "of 2 servers needed only 1 are idle");
    themis_dfra_release(&d);
}

/* A file is on neighbours: eight of them are taken before eight that come earlier. */
TEST(neighbours_are_preferred)
{
    themis_dfra_site_t site = machine();
    uint32_t used[] = {82, 87, 96, 100};
    themis_dfra_running_t running = {.known = &class_row[ONE], .server = used, .servers = 4};
    themis_dfra_pool_t pool = {NULL, &running, 1};

    themis_dfra_decision_t d = decide(&site, &pool, &rows[0].known, 0, 256);
    ck_assert_uint_eq(d.servers, 8);
    for (uint32_t i = 0; i < d.servers; i++)
        ck_assert_uint_eq(d.server[i], 88 + i);
    themis_dfra_release(&d);
    site.servers = 96; /* spare ones that are no neighbours before default ones that are */
    used[2] = 91;
    running.servers = 3;
    d = decide(&site, &pool, &rows[0].known, 0, 256);
    ck_assert_uint_eq(d.servers, 8);
    ck_assert_uint_eq(d.server[0], 80);
    ck_assert_uint_eq(d.server[2], 83);
    ck_assert_uint_eq(d.server[7], 89);
    themis_dfra_release(&d);
}

TEST(no_more_than_the_default_is_not_scaled)
{
    themis_dfra_application_t a = rows[0].known;
    themis_dfra_site_t site = machine();
    themis_dfra_pool_t pool = {0};

    a.nodes = 2048, a.io_nodes = 128;
    themis_dfra_decision_t d = decide(&site, &pool, &a, 0, 2048);
    ck_assert_uint_eq(d.wanted, 4);
    ck_assert_uint_eq(d.defaults, 4);
    ck_assert_int_eq(d.kind, THEMIS_DFRA_DEFAULT);
    ck_assert_uint_eq(d.servers, 4);
    themis_dfra_release(&d);
    /* The blocks of nodes go round the default servers, each of which counts once. */
    d = decide(&site, &pool, NULL, 79 * 512 + 500, 24);
    ck_assert_uint_eq(d.servers, 2);
    ck_assert_uint_eq(d.server[0], 0);
    ck_assert_uint_eq(d.server[1], 79);
    themis_dfra_release(&d);
    d = decide(&site, &pool, NULL, 0, UINT32_MAX);
    ck_assert_uint_eq(d.servers, 80);
    themis_dfra_release(&d);
}

TEST(anomalous_servers_are_left_out)
{
    themis_dfra_site_t site = machine();
    uint8_t anomalous[240] = {[0] = 1, [80] = 1};
    themis_dfra_pool_t pool = {.anomalous = anomalous};
    themis_dfra_decision_t d = decide(&site, &pool, &rows[3].known, 0, 1024);

    ck_assert_uint_eq(d.servers, 32);
    for (uint32_t i = 0; i < d.servers; i++)
        ck_assert(!anomalous[d.server[i]]);
    themis_dfra_release(&d);
    d = decide(&site, &pool, NULL, 0, 1024);
    ck_assert_int_eq(d.kind, THEMIS_DFRA_DEFAULT);
    ck_assert_uint_eq(d.replaced, 1);
    ck_assert_uint_eq(d.servers, 2);
    ck_assert_uint_eq(d.server[0], 1);
    ck_assert_uint_eq(d.server[1], 81);
    explains(&site, NULL, &d, "1 of its default servers");
    themis_dfra_release(&d);

    themis_dfra_range_t range = {0, 511};
    themis_dfra_job_t job = {NULL, &range, 1};
    memset(anomalous, 1, sizeof anomalous);
    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_RANGE);
    ck_assert_ptr_null(d.server);
    ck_assert_ptr_nonnull(strstr(error, "every server"));
}

TEST(servers_of_another_job_are_not_shared)
{
    themis_dfra_site_t site = machine();
    uint32_t own = 0;
    themis_dfra_running_t running = {.known = &class_row[N_1], .server = &own, .servers = 1, .alone = 1};
    themis_dfra_pool_t pool = {NULL, &running, 1};
    themis_dfra_decision_t d = decide(&site, &pool, NULL, 0, 256);

    ck_assert_uint_eq(d.servers, 1);
    ck_assert_uint_eq(d.server[0], 80);
    themis_dfra_release(&d);
}

/* ---- slow servers ---- */

enum { PEERS = 96, SAMPLES = 9 };
static double sample[PEERS][SAMPLES];
static themis_dfra_rates_t rates[PEERS];
static uint64_t seed;

static double draw(void)
{
    seed = seed * UINT64_C(6364136223846793005) + UINT64_C(1442695040888963407);
    return (double)(seed >> 11) * 0x1p-53;
}

/* Rates of 2.5 GB/s that vary by +-part; one sample in ten is disturbed and only half of that. */
static void rates_draw(uint64_t start, double part)
{
    seed = start * 7919 + 1;
    for (int i = 0; i < PEERS; i++) {
        for (int k = 0; k < SAMPLES; k++)
            sample[i][k] = 2.5e9 * (1 + part * (2 * draw() - 1)) * (draw() < 0.1 ? 0.5 : 1);
        rates[i] = (themis_dfra_rates_t){sample[i], SAMPLES};
    }
}

static void server_slow(int server, double part)
{
    for (int k = 0; k < SAMPLES; k++)
        sample[server][k] *= part;
}

TEST(slow_servers_are_found)
{
    static const double parts[] = {0.07, 0.12, 0.6};
    uint8_t slow[PEERS] = {0};

    rates_draw((uint64_t)_i, 0.15);
    for (int i = 0; i < 3; i++)
        server_slow(8 + 20 * i, parts[i]);
    ck_assert_int_eq(themis_dfra_find_slow(rates, PEERS, slow), THEMIS_OK);
    for (int i = 0; i < PEERS; i++)
        ck_assert_msg(slow[i] == (i == 8 || i == 28 || i == 48), "server %d: %d", i, slow[i]);
}

TEST(noise_is_no_anomaly)
{
    static const double noise[] = {0, 0.02, 0.1, 0.15, 0.2};
    uint8_t slow[PEERS] = {0};

    rates_draw((uint64_t)_i, noise[_i % 5]);
    ck_assert_int_eq(themis_dfra_find_slow(rates, PEERS, slow), THEMIS_OK);
    for (int i = 0; i < PEERS; i++)
        ck_assert_msg(!slow[i], "server %d at noise %g", i, noise[_i % 5]);
}

TEST(slow_servers_heal)
{
    uint8_t slow[PEERS] = {[3] = 1, [5] = 1, [7] = 1};

    rates_draw(1, 0);
    for (int i = 0; i < PEERS; i++)
        for (int k = 0; k < SAMPLES; k++)
            sample[i][k] = 2e9;
    server_slow(3, 0.8);
    server_slow(5, 0.9);
    server_slow(9, 0.8);
    rates[7].samples = THEMIS_DFRA_MIN_SAMPLES - 1;
    ck_assert_int_eq(themis_dfra_find_slow(rates, PEERS, slow), THEMIS_OK);
    ck_assert(slow[3] && !slow[5] && slow[7] && !slow[9]);
    ck_assert_int_eq(themis_dfra_find_slow(rates, THEMIS_DFRA_MIN_PEERS - 1, slow), THEMIS_OK);
    ck_assert(slow[3]);
    sample[2][2] = NAN;
    ck_assert_int_eq(themis_dfra_find_slow(rates, PEERS, slow), THEMIS_INVALID);
    ck_assert(slow[3]);
    sample[2][2] = -1;
    ck_assert_int_eq(themis_dfra_find_slow(rates, PEERS, slow), THEMIS_INVALID);
}

/* ---- bad input ---- */

TEST(values_of_an_application)
{
    static const double bad[] = {NAN, INFINITY, -1, 1e300};
    themis_dfra_application_t a = rows[0].known;
    double *const field[] = {&a.volume,         &a.duration,  &a.operations,
                             &a.peak_bandwidth, &a.peak_iops, &a.metadata_waiting};

    for (size_t f = 0; f < sizeof field / sizeof *field; f++)
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
            a = rows[0].known;
            ck_assert_int_eq(themis_dfra_application_check(&a, error, sizeof error), THEMIS_OK);
            *field[f] = bad[i];
            ck_assert_int_eq(themis_dfra_application_check(&a, error, sizeof error), THEMIS_INVALID);
        }
    a = rows[0].known;
    a.io_nodes = a.nodes + 1;
    ck_assert_int_eq(themis_dfra_application_check(&a, error, sizeof error), THEMIS_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "io_nodes is 257, wanted: from 0 to 256"));
    a.io_nodes = a.nodes = 0;
    ck_assert_int_eq(themis_dfra_application_check(&a, error, sizeof error), THEMIS_INVALID);
}

static void site_refused(themis_dfra_site_t site, const char *words)
{
    ck_assert_int_eq(themis_dfra_site_check(&site, error, sizeof error), THEMIS_INVALID);
    ck_assert_msg(strstr(error, words) != NULL, "'%s' has no '%s'", error, words);
}

TEST(values_of_a_site)
{
    themis_dfra_site_t site = machine();

    ck_assert_int_eq(themis_dfra_site_check(&site, error, sizeof error), THEMIS_OK);
    site_refused(themis_dfra_defaults, "servers");
    site.defaults = 241;
    site_refused(site, "default_servers is 241, wanted: from 1 to 240");
    site = machine(), site.node_bandwidth = 3 * GB;
    site_refused(site, "node_bandwidth");
    site = machine(), site.server_bandwidth = NAN;
    site_refused(site, "server_bandwidth");
    site = machine(), site.nodes_per_server = 0;
    site_refused(site, "nodes_per_server");
    site = machine(), site.quiet_part = 1.5;
    site_refused(site, "quiet_part");
}

TEST(jobs_and_pools)
{
    themis_dfra_site_t site = machine();
    themis_dfra_range_t range[2] = {{5, 4}, {0, UINT32_MAX - 1}};
    uint32_t server = 240;
    themis_dfra_running_t running = {.server = &server, .servers = 1};
    themis_dfra_pool_t pool = {NULL, &running, 0};
    themis_dfra_job_t job = {NULL, range, 1};
    themis_dfra_decision_t d;

    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "nodes 5-4"));
    range[0] = range[1], job.ranges = 2;
    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_INVALID);
    job.ranges = 0;
    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_INVALID);
    job.ranges = 1, pool.jobs = 1;
    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_INVALID);
    ck_assert_ptr_nonnull(strstr(error, "server 240"));
    server = 0, running.now.volume = NAN;
    ck_assert_int_eq(themis_dfra_decide(&site, &pool, &job, &d, error, sizeof error), THEMIS_INVALID);
    ck_assert_ptr_null(d.server);
}

/* ---- files ---- */

TEST(nodes_are_a_list_of_numbers)
{
    static const char *const wrong[] = {"",    ",",     "1,",         "a",   "3-2", "1-",
                                        "5,4", "0-3,3", "4294967295", "1 2", "-1",  "1,2,3,4"};
    themis_dfra_range_t range[3];
    uint32_t ranges, nodes;

    ck_assert_int_eq(themis_dfra_nodes_parse("0-255,600,700-710", range, 3, &ranges, &nodes), THEMIS_OK);
    ck_assert_uint_eq(ranges, 3);
    ck_assert_uint_eq(nodes, 268);
    ck_assert_uint_eq(range[2].last, 710);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        ck_assert_msg(themis_dfra_nodes_parse(wrong[i], range, 3, &ranges, &nodes) == THEMIS_INVALID, "%s", wrong[i]);
}

TEST(a_run_on_several_servers)
{
    themis_history_record_t record = {.nodes = 4,
                                      .io_nodes = 2,
                                      .start = 100,
                                      .end = 110,
                                      .read_bytes = 1000,
                                      .written_bytes = 3000,
                                      .requests = 40,
                                      .metadata_waiting = 1,
                                      .sharing = THEMIS_HISTORY_SHARING_N_1,
                                      .peak_bandwidth = 800};
    themis_dfra_application_t run, more;

    ck_assert_int_eq(themis_dfra_run_take(&record, &run, error, sizeof error), THEMIS_OK);
    ck_assert_double_eq(run.volume, 4000);
    ck_assert_double_eq_tol(run.peak_iops, 8, 1e-9);
    ck_assert_int_eq(run.sharing, THEMIS_DFRA_N_1);
    record.io_nodes = 3, record.sharing = THEMIS_HISTORY_SHARING_UNKNOWN;
    ck_assert_int_eq(themis_dfra_run_take(&record, &more, error, sizeof error), THEMIS_OK);
    themis_dfra_run_add(&run, &more);
    ck_assert_double_eq(run.volume, 8000);
    ck_assert_double_eq(run.peak_bandwidth, 1600);
    ck_assert_uint_eq(run.io_nodes, 3);
    ck_assert_int_eq(run.sharing, THEMIS_DFRA_N_M);
    record.io_nodes = 5;
    ck_assert_int_eq(themis_dfra_run_take(&record, &more, error, sizeof error), THEMIS_INVALID);
}

int main(void)
{
    Suite *suite = suite_create("dfra");

    test_case(suite, "paper", 10, NULL, NULL,
              TESTS({table_of_applications, ROWS}, {tests_at_their_limits, 1},
                    {interference_of_pairs, CLASSES * CLASSES}, {what_neighbours_do_now, 1}));
    test_case(suite, "pool", 10, NULL, NULL,
              TESTS({at_most_the_idle_servers, 1}, {neighbours_are_preferred, 1},
                    {no_more_than_the_default_is_not_scaled, 1}, {anomalous_servers_are_left_out, 1},
                    {servers_of_another_job_are_not_shared, 1}));
    test_case(suite, "slow servers", 10, NULL, NULL,
              TESTS({slow_servers_are_found, 100}, {noise_is_no_anomaly, 100}, {slow_servers_heal, 1}));
    test_case(suite, "errors", 10, NULL, NULL,
              TESTS({values_of_an_application, 1}, {values_of_a_site, 1}, {jobs_and_pools, 1},
                    {nodes_are_a_list_of_numbers, 1}, {a_run_on_several_servers, 1}));
    return test_run(suite);
}
