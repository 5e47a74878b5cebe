/* SPDX-License-Identifier: BSD-3-Clause */
/* Who a client is taken to be. */
#include <check.h>
#include <string.h>
#include "server/identity.h"
#include "test/lib/run.h"

static themis_sched_job_identity_t decide(const char *job, const char *host)
{
    const themis_server_identity_limits_t limits = {.nodes = 8, .priority = 4};
    const themis_net_peer_credentials_t peer = {.uid = 7, .gid = 8};
    const themis_proto_hello_t hello = {.job = {job, (uint32_t)strlen(job)},
                                        .host = {host, (uint32_t)strlen(host)},
                                        .pid = 42,
                                        .uid = 0,
                                        .gid = 0,
                                        .nodes = 100,
                                        .priority = 2};
    themis_sched_job_identity_t identity;

    ck_assert_int_eq(themis_server_identity_decide(THEMIS_OK, &peer, &hello, &limits, &identity), THEMIS_OK);
    return identity;
}

TEST(the_kernel_is_believed)
{
    themis_sched_job_identity_t identity = decide("job", "host");

    ck_assert_uint_eq(identity.uid, 7);
    ck_assert_uint_eq(identity.gid, 8);
    ck_assert_uint_eq(identity.nodes, 8);
    ck_assert_uint_eq(identity.priority, 2);
    ck_assert_str_eq(identity.id, "job");
}

TEST(ids_are_printable)
{
    char host[THEMIS_PROTO_MAX_TEXT + 1];

    ck_assert_str_eq(decide("caf\xe9 1\n", "host").id, "caf__1_");
    ck_assert_str_eq(decide("", "h\xffst").id, "h_st:42");
    memset(host, 'h', sizeof host - 1);
    host[sizeof host - 1] = 0;
    ck_assert_ptr_nonnull(strstr(decide("", host).id, "hhh:42"));
    ck_assert_uint_eq(strlen(decide(host, "").id), 255);
}

int main(void)
{
    Suite *suite = suite_create("identity");

    test_case(suite, "all", 30, NULL, NULL, TESTS({the_kernel_is_believed, 1}, {ids_are_printable, 1}));
    return test_run(suite);
}
