/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "test/client/scene.h"
#include "test/lib/scratch.h"
#include "util/clock.h"

themis_t *session;

themis_file_t *open_file(const char *path)
{
    themis_layout_t layout = {TEST_STRIPE, TEST_SERVERS, 0};
    themis_file_t *file;

    ck_ok(themis_open(session, path, THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, &layout, &file));
    return file;
}

themis_status_t write_all(themis_file_t *file)
{
    static unsigned char bytes[TEST_SERVERS * TEST_STRIPE];
    size_t done;

    return themis_write(file, bytes, sizeof bytes, 0, &done);
}

void start_servers(void)
{
    ck_assert_int_eq(test_servers_start(), 0);
    ck_ok(test_connect(test_server_list, 10 * THEMIS_NS_PER_S, &session));
    themis_file_t *file = open_file("/warm"); /* all servers are started and connected */
    ck_ok(write_all(file));
    ck_ok(themis_close(file));
}

void stop_servers(void)
{
    themis_disconnect(session);
    for (int i = 0; i < TEST_SERVERS; i++)
        test_server_kill(i);
}

void start_posix_servers(void)
{
    test_scratch_make();
    test_server_directory = test_scratch;
    start_servers();
}

void stop_posix_servers(void)
{
    stop_servers();
    test_scratch_remove();
}
