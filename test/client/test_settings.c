/* SPDX-License-Identifier: BSD-3-Clause */
/* Settings from options and environment: servers, job and number of nodes; and paths. */
#define _GNU_SOURCE /* nftw */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "client/settings.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"

static const char *const variables[] = {
    "THEMIS_JOB",        "THEMIS_NODES",    "SLURM_JOB_ID", "SLURM_JOB_NUM_NODES", "PBS_JOBID",      "PBS_NUM_NODES",
    "FLUX_JOB_ID",       "FLUX_JOB_NNODES", "PMI_RANK",     "THEMIS_APPLICATION",  "THEMIS_PROJECT", "SLURM_JOB_NAME",
    "SLURM_JOB_ACCOUNT", "PBS_JOBNAME",     "PBS_ACCOUNT",
};

static void clear_environment(void)
{
    for (size_t i = 0; i < sizeof variables / sizeof *variables; i++)
        unsetenv(variables[i]);
}

static void expect(const char *job, uint32_t given, uint32_t nodes)
{
    themis_options_t options;
    themis_client_settings_t settings;

    themis_options_init(&options);
    options.servers = "localhost:1";
    options.nodes = given;
    ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_OK);
    if (job)
        ck_assert_str_eq(settings.job, job);
    ck_assert_uint_eq(settings.nodes, nodes);
    themis_client_settings_free(&settings);
}

TEST(batch_systems_name_job_and_nodes)
{
    setenv("FLUX_JOB_ID", "f1", 1);
    setenv("FLUX_JOB_NNODES", "3", 1);
    expect("flux:f1", 0, 3);
    setenv("PBS_JOBID", "12.host", 1);
    setenv("PBS_NUM_NODES", "5", 1);
    expect("pbs:12.host", 0, 5);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NUM_NODES", "16", 1);
    expect("slurm:77", 0, 16);
}

TEST(direct_access_is_on_or_off)
{
    themis_options_t options;
    themis_client_settings_t settings;

    themis_options_init(&options);
    options.servers = "localhost:1";
    setenv("THEMIS_DIRECT", "off", 1);
    ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_OK);
    ck_assert_int_eq(settings.direct, -1);
    themis_client_settings_free(&settings);
    options.direct = 1; /* what the program says counts more */
    ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_OK);
    ck_assert_int_eq(settings.direct, 1);
    themis_client_settings_free(&settings);
    options.direct = 0;
    setenv("THEMIS_DIRECT", "maybe", 1);
    ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(themis_last_error(), "THEMIS_DIRECT=maybe"));
    unsetenv("THEMIS_DIRECT");
}

static themis_status_t place(const char *servers, const char *given, uint32_t *runs)
{
    themis_options_t options = {.servers = servers, .placement = given};
    themis_client_settings_t settings;
    themis_status_t status = themis_client_settings_load(&options, &settings);

    *runs = settings.placement.runs;
    if (status == THEMIS_OK)
        themis_client_settings_free(&settings);
    return status;
}

TEST(new_files_have_a_placement)
{
    uint32_t runs;

    ck_assert_int_eq(place("a:1,b:1,c:1,d:1", NULL, &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 0);
    ck_assert_int_eq(place("a:1,b:1,c:1,d:1", "a:1,c:1", &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 2);
    setenv("THEMIS_PLACEMENT", "b:1 c:1", 1);
    ck_assert_int_eq(place("a:1,b:1,c:1,d:1", NULL, &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 1);
    ck_assert_int_eq(place("a:1,b:1", NULL, &runs), THEMIS_CONFIG);
    ck_assert_str_eq(themis_last_error(), "THEMIS_PLACEMENT: 'c:1' is not in the list of servers, a:1,b:1");
    ck_assert_int_eq(place("x:1,y:1", NULL, &runs), THEMIS_OK); /* it is of others */
    ck_assert_uint_eq(runs, 0);
    ck_assert_int_eq(place("x:1,y:1", "b:1", &runs), THEMIS_CONFIG);
    setenv("THEMIS_SERVERS", "x:1,y:1", 1);
    ck_assert_int_eq(place(NULL, NULL, &runs), THEMIS_CONFIG);
    ck_assert_int_eq(place("x:1 y:1", NULL, &runs), THEMIS_CONFIG); /* the same by name */
    ck_assert_int_eq(place("x:1", NULL, &runs), THEMIS_OK);
    setenv("THEMIS_PLACEMENT", ",", 1);
    ck_assert_int_eq(place(NULL, NULL, &runs), THEMIS_CONFIG);
    unsetenv("THEMIS_PLACEMENT");
    unsetenv("THEMIS_SERVERS");
}

/* Whatever names the list: the placement of a file is of that file's servers. */
TEST(a_file_s_placement_is_of_its_servers)
{
    char path[512];
    uint32_t runs;

    test_scratch_make();
    snprintf(path, sizeof path, "%s/themis.conf", test_scratch);
    FILE *out = fopen(path, "we");
    ck_assert_ptr_nonnull(out);
    fputs("[client]\nservers = a:1, b:1\nplacement = b:1\n", out);
    fclose(out);
    setenv("THEMIS_CONFIG", path, 1);
    ck_assert_int_eq(place(NULL, NULL, &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 1);
    ck_assert_int_eq(place("a:1,b:1", NULL, &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 1);
    setenv("THEMIS_SERVERS", "b:1,x:1", 1);
    ck_assert_int_eq(place(NULL, NULL, &runs), THEMIS_OK);
    ck_assert_uint_eq(runs, 0);
    unsetenv("THEMIS_SERVERS");
    unsetenv("THEMIS_CONFIG");
    test_scratch_remove();
}

static void expect_application(const char *application, const char *project)
{
    themis_options_t options = {.servers = "localhost:1"};
    themis_client_settings_t settings;

    ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_OK);
    ck_assert_str_eq(settings.application, application);
    ck_assert_str_eq(settings.project, project);
    themis_client_settings_free(&settings);
}

TEST(the_application_has_a_name)
{
    char name[400];

    expect_application("test_settings", "");
    themis_options_t tool = {.servers = "localhost:1", .application = ""};
    themis_client_settings_t settings;
    ck_assert_int_eq(themis_client_settings_load(&tool, &settings), THEMIS_OK);
    ck_assert_str_eq(settings.application, "");
    themis_client_settings_free(&settings);
    setenv("PBS_JOBNAME", "flow", 1);
    expect_application("flow", "");
    setenv("SLURM_JOB_NAME", "climate", 1);
    setenv("SLURM_JOB_ACCOUNT", "phys", 1);
    expect_application("climate", "phys");
    setenv("THEMIS_PROJECT", "chem", 1);
    setenv("THEMIS_APPLICATION", "a\n\xff\xc3\xbc", 1);
    expect_application("a??\xc3\xbc", "chem");
    memset(name, 'x', 254); /* a character of two bytes does not fit any more */
    strcpy(name + 254, "\xc3\xbc");
    setenv("THEMIS_APPLICATION", name, 1);
    name[254] = '\0';
    expect_application(name, "chem");
}

TEST(the_larger_number_of_nodes_counts)
{
    expect(NULL, 0, 1);
    expect(NULL, 4, 4);
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NUM_NODES", "16", 1);
    expect("slurm:77", 1, 16);
    expect("slurm:77", 32, 32);
}

TEST(own_names_come_before_the_batch_system)
{
    setenv("THEMIS_NODES", "7", 1);
    expect(NULL, 0, 7); /* without a job's name, too */
    setenv("SLURM_JOB_ID", "77", 1);
    setenv("SLURM_JOB_NUM_NODES", "16", 1);
    expect("slurm:77", 0, 7);
    setenv("THEMIS_JOB", "mine", 1);
    expect("mine", 0, 7);
    unsetenv("THEMIS_NODES");
    expect("mine", 0, 16);
    setenv("THEMIS_NODES", "many", 1);
    expect("mine", 0, 16);
}

/* The ranks of a host are children of one proxy; without Hydra the session is what they share. */
TEST(hydra_names_the_proxy)
{
    char tail[32];
    themis_options_t options;
    themis_client_settings_t settings;

    for (int hydra = 0; hydra < 2; hydra++) {
        if (hydra)
            setenv("PMI_RANK", "0", 1);
        themis_options_init(&options);
        options.servers = "localhost:1";
        ck_assert_int_eq(themis_client_settings_load(&options, &settings), THEMIS_OK);
        snprintf(tail, sizeof tail, "/%d", (int)(hydra ? getppid() : getsid(0)));
        ck_assert_ptr_nonnull(strchr(settings.job, '@'));
        ck_assert_str_eq(strrchr(settings.job, '/'), tail);
        themis_client_settings_free(&settings);
    }
}

TEST(configured_servers_are_found_without_a_session)
{
    themis_options_t options = {.servers = "a:1, b:2"};
    char *list = NULL;

    ck_assert_int_eq(themis_configured_servers(&options, &list), THEMIS_OK);
    ck_assert_str_eq(list, "a:1,b:2");
    free(list);
    list = NULL;
    options.servers = "a";
    ck_assert_int_eq(themis_configured_servers(&options, &list), THEMIS_CONFIG);
    setenv("THEMIS_CONFIG", "/dev/null", 1);
    unsetenv("THEMIS_SERVERS");
    ck_assert_int_eq(themis_configured_servers(NULL, &list), THEMIS_NO_ENTRY);
    ck_assert_ptr_null(list);
    unsetenv("THEMIS_CONFIG");
}

/* How servers of other hosts are met: environment before file, also where the file does not name the servers. */
TEST(auth_comes_from_environment_and_file)
{
    static const struct {
        const char *file, *variable, *value;
        themis_status_t status;
        themis_net_auth_kind_t kind;
    } cases[] = {{"auth = none\n", NULL, NULL, THEMIS_OK, THEMIS_NET_AUTH_NONE},
                 {"auth = none\n", "THEMIS_AUTH", "local", THEMIS_OK, THEMIS_NET_AUTH_LOCAL},
                 {"", "THEMIS_SECRET", "00112233445566778899aabbccddeeff", THEMIS_OK, THEMIS_NET_AUTH_SECRET},
                 {"", "THEMIS_SECRET", "0011", THEMIS_CONFIG, 0},
                 {"", "THEMIS_SECRET_FILE", "/nowhere", THEMIS_CONFIG, 0},
                 {"auth = secret\n", NULL, NULL, THEMIS_CONFIG, 0},
                 {"auth = trust\n", NULL, NULL, THEMIS_CONFIG, 0},
                 {"auth = none\nauth = none\n", NULL, NULL, THEMIS_CONFIG, 0},
                 {"transport = pigeon\n", NULL, NULL, THEMIS_CONFIG, 0},
                 {"server_user = nobody-of-that-name\n", NULL, NULL, THEMIS_CONFIG, 0}};
    themis_options_t options = {.servers = "localhost:1"};
    themis_client_settings_t settings;
    char path[] = "/tmp/themis-settings-XXXXXX";

    close(mkstemp(path));
    setenv("THEMIS_CONFIG", path, 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        FILE *file = fopen(path, "w");
        fprintf(file, "[client]\n%s", cases[i].file);
        fclose(file);
        if (cases[i].variable)
            setenv(cases[i].variable, cases[i].value, 1);
        ck_assert_msg(themis_client_settings_load(&options, &settings) == cases[i].status, "%s", cases[i].file);
        if (cases[i].status == THEMIS_OK)
            ck_assert_int_eq(settings.auth.kind, cases[i].kind);
        themis_client_settings_free(&settings);
        if (cases[i].variable)
            unsetenv(cases[i].variable);
    }
    unsetenv("THEMIS_CONFIG");
    unlink(path);
}

TEST(paths_are_normalised_with_a_text_for_errors)
{
    char normal[THEMIS_PATH_BYTES] = "";

    ck_assert_int_eq(themis_path_normalise("/a//b/../c/", normal), THEMIS_OK);
    ck_assert_str_eq(normal, "/a/c");
    ck_assert_int_eq(themis_path_normalise("a", normal), THEMIS_BAD_NAME);
    ck_assert_str_eq(themis_last_error(), "a: not an absolute path");
    ck_assert_str_eq(normal, "/a/c");
}

int main(void)
{
    Suite *suite = suite_create("client settings");

    test_case(suite, "all", 20, clear_environment, clear_environment,
              TESTS({batch_systems_name_job_and_nodes, 1}, {the_application_has_a_name, 1},
                    {the_larger_number_of_nodes_counts, 1}, {direct_access_is_on_or_off, 1},
                    {new_files_have_a_placement, 1}, {a_file_s_placement_is_of_its_servers, 1},
                    {own_names_come_before_the_batch_system, 1}, {hydra_names_the_proxy, 1},
                    {configured_servers_are_found_without_a_session, 1}, {auth_comes_from_environment_and_file, 1},
                    {paths_are_normalised_with_a_text_for_errors, 1}));
    return test_run(suite);
}
