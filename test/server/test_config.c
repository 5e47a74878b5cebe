/* SPDX-License-Identifier: BSD-3-Clause */
/* The server's configuration: what is read, what is refused, and the texts of errors. Also the cursor over runs. */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "server/auth.h"
#include "server/server_config.h"
#include "server/cursor.h"
#include "test/lib/run.h"
#include "util/clock.h"

static char error[1024];

static themis_status_t read_text(themis_server_config_t *config, const char *text)
{
    char path[] = "/tmp/themis-config-XXXXXX";
    int fd = mkstemp(path);

    ck_assert_int_ge(fd, 0);
    ck_assert_int_eq(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    themis_server_config_init(config);
    themis_status_t status = themis_server_config_read(config, path, error, sizeof error);
    unlink(path);
    return status;
}

TEST(a_file_sets_keys_of_every_kind)
{
    themis_server_config_t config;

    ck_assert_int_eq(read_text(&config, "[server]\nport = 0\nlisten=127.0.0.1\n[client]\nservers = a:1\n[store]\n"
                                        "size = 64MiB\n[sharing]\npolicy = size-fair\ndraw = statistical\n"
                                        "lambda = 50ms\nexpired = drop\n"),
                     THEMIS_OK);
    ck_assert_int_eq(config.port, 0);
    ck_assert_str_eq(config.listen, "127.0.0.1");
    ck_assert_str_eq(config.servers, "");
    ck_assert_uint_eq(config.size, 64 << 20);
    ck_assert_str_eq(config.policy, "size-fair");
    ck_assert_str_eq(config.draw, "statistical");
    ck_assert_uint_eq(config.lambda, 50 * THEMIS_NS_PER_MS);
    ck_assert_str_eq(config.expired, "drop");
    ck_assert_int_eq(themis_server_config_check(&config, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(config.index, 0);
}

TEST(errors_name_file_line_and_key)
{
    static const struct {
        const char *text, *line, *key;
    } bad[] = {{"[server]\n\nport = 70000\n", ":3:", "port"},          {"[server]\nport = x\n", ":2:", "port"},
               {"[store]\nsize = 5 bananas\n", ":2:", "size"},         {"[store]\nstore = tape\n", ":2:", "store"},
               {"[sharing]\ndraw = lottery\n", ":2:", "draw"},         {"[server]\nsize = 1g\n", ":2:", "size"},
               {"[sharing]\nlambda = soon\n", ":2:", "lambda"},        {"[servers]\na = b\n", ":2:", "servers"},
               {"[layout]\nstripe_size = 1k\n", ":2:", "stripe_size"}, {"[server]\nnonsense\n", ":2:", "expected"},
               {"port = 1\n", ":1:", "before any [section]"},          {"[server\nport = 1\n", ":1:", "expected"},
               {"[server]\nport = 1\nport = 2\n", ":3:", "line 2"}};
    themis_server_config_t config;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_lt(read_text(&config, bad[i].text), 0);
        ck_assert_msg(strstr(error, "/tmp/themis-config-") && strstr(error, bad[i].line) && strstr(error, bad[i].key),
                      "%s", error);
    }
    ck_assert_int_eq(themis_server_config_read(&config, "/no/such/file", error, sizeof error), THEMIS_NO_ENTRY);
    ck_assert_ptr_nonnull(strstr(error, "/no/such/file"));
}

TEST(a_file_with_an_error_changes_nothing)
{
    themis_server_config_t config;

    ck_assert_int_lt(read_text(&config, "[server]\nport = 1234\nindex = -5\n"), 0);
    ck_assert_int_eq(config.port, 7711);
}

TEST(options_override_and_are_checked)
{
    themis_server_config_t config;

    themis_server_config_init(&config);
    ck_assert_int_eq(themis_server_config_set(&config, "store-bandwidth", "10m", error, sizeof error), THEMIS_OK);
    ck_assert_uint_eq(config.store_bandwidth, 10 << 20);
    ck_assert_int_eq(themis_server_config_set(&config, "store-bandwith", "10m", error, sizeof error), THEMIS_NO_ENTRY);
    ck_assert_ptr_nonnull(strstr(error, "--store-bandwith"));
    ck_assert_int_eq(themis_server_config_set(&config, "workers", "-1", error, sizeof error), THEMIS_RANGE);
    ck_assert_str_eq(error, "--workers -1: expected a number from 0 to 1024");
}

TEST(errors_say_what_was_expected)
{
    static const struct {
        const char *option, *value, *expected;
    } bad[] = {{"size", "5 bananas", "expected a size such as 64k, 1m or 2g, at least 4096 bytes"},
               {"quantum", "2g", "expected a size such as 64k, 1m or 2g, at least 4096 bytes and at most 1073741824"},
               {"warm", "x", "expected a size such as 64k, 1m or 2g"},
               {"lease", "soon", "expected a time such as 500ms, 10s or 1m"},
               {"store", "tape", "expected one of arena|posix"}};
    char wanted[256];
    themis_server_config_t config;

    themis_server_config_init(&config);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_lt(themis_server_config_set(&config, bad[i].option, bad[i].value, error, sizeof error), 0);
        snprintf(wanted, sizeof wanted, "--%s %s: %s", bad[i].option, bad[i].value, bad[i].expected);
        ck_assert_str_eq(error, wanted);
    }
    ck_assert_int_lt(read_text(&config, "[store]\nsize = 5 bananas\n"), 0);
    ck_assert_msg(strstr(error, ":2: [store] size = 5 bananas: syntax error (expected a size such as 64k"), "%s",
                  error);
}

static themis_status_t check(const char *servers, const char *port, const char *listen, themis_server_config_t *config)
{
    themis_server_config_init(config);
    ck_assert_int_eq(themis_server_config_set(config, "servers", servers, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_config_set(config, "port", port, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_config_set(config, "listen", listen, error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_config_set(config, "key", "none", error, sizeof error), THEMIS_OK);
    return themis_server_config_check(config, error, sizeof error);
}

TEST(the_server_finds_its_place_in_the_list)
{
    themis_server_config_t config;
    char host[256];
    uint16_t port;

    ck_assert_int_eq(check("127.0.0.1:7711,127.0.0.2:7711,127.0.0.2:7712", "7711", "127.0.0.2", &config), THEMIS_OK);
    ck_assert_int_eq(config.index, 1);
    ck_assert_int_eq(config.count, 3);
    ck_assert_int_eq(themis_server_config_address(&config, 2, host, &port), THEMIS_OK);
    ck_assert_str_eq(host, "127.0.0.2");
    ck_assert_uint_eq(port, 7712);
    ck_assert_int_eq(check("127.0.0.1:7711,127.0.0.2:7711", "7711", "127.0.0.3", &config), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(error, "index"));
    ck_assert_int_eq(check("127.0.0.1:7711,127.0.0.2", "7711", "127.0.0.1", &config), THEMIS_CONFIG);
    ck_assert_ptr_nonnull(strstr(error, "entry 2"));
    ck_assert_int_eq(check("127.0.0.1:7711,127.0.0.2:99999", "7711", "127.0.0.1", &config), THEMIS_CONFIG);
}

TEST(checks_over_several_keys_name_the_line)
{
    static const struct {
        const char *text, *where;
    } bad[] = {
        {"[store]\nstore = posix\n", "[store] directory"},
        {"[store]\nstore = posix\ndirectory = /tmp\n", "[server] state"},
        {"[store]\nsize = 16t\n", ":2: [store] size"},
        {"[store]\nfile = /no/such/place/arena\n", ":2: [store] file"},
        {"[layout]\n\nstripe_size = 5000\n", ":3: [layout] stripe_size"},
        {"[server]\ncount = 2\nindex = 2\n", ":3: [server] index"},
        {"[server]\nservers = a:1,b\n", ":2: [server] servers: entry 2"},
        {"[server]\ncount = 2\nindex = 0\n", ":2: [server] count: the servers' addresses are needed"},
        {"[server]\nservers = a:1,b:1\nindex = 0\n", "[server] key: needed by several servers"},
        {"[server]\ncapability_lifetime = 9000h\n", ":2: [server] capability_lifetime"},
        {"[server]\nlisten = no.such.host.invalid\n", ":2: [server] listen"},
        {"[sharing]\npolicy = user-than-size-fair\n", ":2: [sharing] policy"},
        {"[sharing]\npolicies = any\n[metrics]\nmetrics_port = 1\nmetrics_listen = 1.2.3.4.5\n",
         ":5: [metrics] metrics_listen"},
        {"[sharing]\npolicies = fifo, nonsense\n", ":2: [sharing] policies: nonsense"},
        {"[sharing]\nheartbeat = 0\n", ":2: [sharing] heartbeat"},
        {"[history]\nhistory = /no/such/place\n", ":2: [history] history"},
        {"[history]\nhistory_interval = 1ms\n", ":2: [history] history_interval"},
        {"[history]\nhistory_interval = 10s\nhistory_update = 9s\n", ":3: [history] history_update"},
        {"[history]\nhistory_keep = 59m\n", ":2: [history] history_keep"},
    };
    themis_server_config_t config;

    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        ck_assert_int_eq(read_text(&config, bad[i].text), THEMIS_OK);
        ck_assert_int_eq(themis_server_config_check(&config, error, sizeof error), THEMIS_CONFIG);
        ck_assert_msg(strstr(error, bad[i].where), "%s", error);
    }
    ck_assert_int_eq(themis_server_config_set(&config, "heartbeat", "5s", error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_config_set(&config, "policy", "fifoo", error, sizeof error), THEMIS_OK);
    ck_assert_int_eq(themis_server_config_check(&config, error, sizeof error), THEMIS_CONFIG);
    ck_assert_msg(strstr(error, "option [sharing] policy: fifoo"), "%s", error);
}

/* Nobody is let in without a proof unless it is asked for, and beyond loopback addresses asked for twice. */
TEST(strangers_are_let_in_only_on_request)
{
    static const struct {
        const char *text, *why; /* NULL: it is allowed */
    } cases[] = {{"listen = 127.0.0.1\nauth = none\n", NULL},
                 {"auth = none\n", "insecure = yes"},
                 {"listen = 192.0.2.1\nauth = none\n", "insecure = yes"},
                 {"auth = none\ninsecure = yes\n", NULL},
                 {"transport = ucx\n", "insecure = yes"},
                 {"transport = ucx\ninsecure = yes\n", NULL},
                 {"transport = ucx\ninsecure = yes\nauth = secret\n", "nobody is authenticated"},
                 {"auth = local\n", NULL}};
    themis_server_config_t config;
    char text[256];

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        snprintf(text, sizeof text, "[server]\n%s", cases[i].text);
        ck_assert_int_eq(read_text(&config, text), THEMIS_OK);
        themis_status_t status = themis_server_auth_check(&config, error, sizeof error);
        ck_assert_msg((status == THEMIS_OK) == (cases[i].why == NULL), "%s", text);
        if (cases[i].why != NULL)
            ck_assert_msg(strstr(error, cases[i].why) != NULL, "%s", error);
    }
}

TEST(the_best_auth_there_is)
{
    themis_server_config_t config;
    themis_server_capability_key_t key = {.length = 32};
    themis_net_options_t options = {0};

    unsetenv("THEMIS_SECRET_FILE");
    unsetenv("THEMIS_SECRET");
    ck_assert_int_eq(read_text(&config, ""), THEMIS_OK);
    ck_assert_int_eq(themis_server_auth_kind(&config),
                     themis_net_auth_has_munge() ? THEMIS_NET_AUTH_MUNGE : THEMIS_NET_AUTH_LOCAL);
    setenv("THEMIS_SECRET", "00112233445566778899aabbccddeeff", 1);
    ck_assert_int_eq(themis_server_auth_load(&config, &key, &options), THEMIS_OK);
    ck_assert_int_eq(options.auth.kind, THEMIS_NET_AUTH_SECRET);
    ck_assert_int_eq(options.auth.has_servers_key, 0); /* it is alone */
    config.count = 2;
    ck_assert_int_eq(themis_server_auth_load(&config, &key, &options), THEMIS_OK);
    ck_assert_int_eq(options.auth.has_servers_key, 1);
    setenv("THEMIS_SECRET", "00112233445566778899aabbccddee", 1); /* 15 bytes */
    ck_assert_int_eq(themis_server_auth_load(&config, &key, &options), THEMIS_CONFIG);
    setenv("THEMIS_SECRET", "no digits at all, and of even length", 1);
    ck_assert_int_eq(themis_server_auth_load(&config, &key, &options), THEMIS_CONFIG);
    unsetenv("THEMIS_SECRET");
}

TEST(a_reload_applies_what_can_change_and_lists_the_rest)
{
    themis_server_config_t config, fresh;
    char kept[256];

    themis_server_config_init(&config);
    ck_assert_int_eq(
        read_text(&fresh, "[server]\nport = 1\nlog = debug\n[store]\nsize = 2g\n[sharing]\npolicy = fifo\n"),
        THEMIS_OK);
    themis_server_config_reload(&config, &fresh, kept, sizeof kept);
    ck_assert_str_eq(config.policy, "fifo");
    ck_assert_str_eq(config.log, "debug");
    ck_assert_int_eq(config.port, 7711);
    ck_assert_uint_eq(config.size, 1 << 30);
    ck_assert_str_eq(kept, "port, size");
}

/* --- the cursor --------------------------------------------------------------------------------------------------- */

static uint8_t message[1 << 16];
static themis_proto_header_t header;
static themis_proto_body_t body;

static void make_io(const themis_proto_run_t *runs, uint32_t count)
{
    themis_proto_io_t io = {.object = 1, .runs = count, .run_bytes = (const uint8_t *)runs};
    themis_proto_header_t request = {
        .version = THEMIS_PROTO_VERSION, .kind = THEMIS_PROTO_REQUEST, .opcode = THEMIS_OP_READ, .id = 1};
    size_t length;

    ck_assert_int_eq(themis_proto_encode(&request, &io, message, sizeof message, &length), THEMIS_OK);
    ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
}

TEST(the_cursor_walks_runs)
{
    const themis_proto_run_t runs[] = {{.offset = 100, .length = 10, .stride = 50, .count = 3},
                                       {.offset = 210, .length = 5, .stride = 5, .count = 1},
                                       {.offset = 0, .length = 20, .stride = 20, .count = 2}};
    themis_server_cursor_t cursor;
    themis_store_extent_t extents[8];

    make_io(runs, 3);
    themis_server_cursor_init(&cursor, &body.io);
    ck_assert_uint_eq(themis_server_cursor_total(&body.io), 75);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, UINT64_MAX, extents, 8), 4);
    ck_assert_uint_eq(extents[1].offset, 150);
    ck_assert_uint_eq(extents[2].length, 15); /* 200 and 210 are adjacent */
    ck_assert_uint_eq(extents[3].length, 40);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 15, UINT64_MAX, extents, 8), 2);
    ck_assert_uint_eq(extents[1].length, 5);
    themis_server_cursor_advance(&cursor, 15);
    ck_assert_uint_eq(cursor.done, 15);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, UINT64_MAX, extents, 1), 1);
    ck_assert_uint_eq(extents[0].offset, 155);
    ck_assert_uint_eq(extents[0].length, 5);
    themis_server_cursor_advance(&cursor, 60);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, UINT64_MAX, extents, 8), 0);
}

TEST(a_read_skips_what_lies_past_the_end)
{
    const themis_proto_run_t runs[] = {{.offset = 100, .length = 10, .stride = 50, .count = 5},
                                       {.offset = 0, .length = 20, .stride = 20, .count = 1}};
    themis_server_cursor_t cursor;
    themis_store_extent_t extents[8];

    make_io(runs, 2);
    themis_server_cursor_init(&cursor, &body.io);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, 155, extents, 8), 2);
    ck_assert_uint_eq(extents[1].offset, 150);
    ck_assert_uint_eq(extents[1].length, 5);
    themis_server_cursor_advance(&cursor, 15);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, 155, extents, 8), 1);
    ck_assert_uint_eq(cursor.done, 50); /* the place of the second run in the buffer */
    ck_assert_uint_eq(extents[0].offset, 0);
    themis_server_cursor_advance(&cursor, 20);
    ck_assert_uint_eq(themis_server_cursor_fill(&cursor, 1000, 155, extents, 8), 0);
}

int main(void)
{
    Suite *suite = suite_create("config");

    test_case(suite, "configuration", 20, NULL, NULL,
              TESTS({a_file_sets_keys_of_every_kind, 1}, {errors_name_file_line_and_key, 1},
                    {a_file_with_an_error_changes_nothing, 1}, {options_override_and_are_checked, 1},
                    {errors_say_what_was_expected, 1}, {the_server_finds_its_place_in_the_list, 1},
                    {checks_over_several_keys_name_the_line, 1}, {strangers_are_let_in_only_on_request, 1},
                    {the_best_auth_there_is, 1}, {a_reload_applies_what_can_change_and_lists_the_rest, 1}));
    test_case(suite, "cursor", 60, NULL, NULL,
              TESTS({the_cursor_walks_runs, 1}, {a_read_skips_what_lies_past_the_end, 1}));
    return test_run(suite);
}
