/* SPDX-License-Identifier: BSD-3-Clause */
/* Names and owners are counted; servers agree on limits, tell each other what users have, and share what is left. */
#define _GNU_SOURCE
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "server/intents.h"
#include "server/owners.h"
#include "server/quota.h"
#include "test/lib/run.h"
#include "test/lib/scratch.h"
#include "test/server/names_rig.h"

enum { SERVERS = 3, ALICE = 1000, BOB = 1001, SERVICE = 77 };
#define MIB (INT64_C(1) << 20)
#define KEEP THEMIS_SERVER_QUOTA_KEEP
#define NONE UINT64_MAX

/* A server, as far as quotas are concerned. */
typedef struct rig {
    themis_store_accounts_t *accounts;
    themis_server_name_db_t *db;
    themis_server_quota_t *quota;
} rig_t;
static rig_t rigs[SERVERS];
static uint8_t message[THEMIS_PROTO_MAX_MESSAGE];

static void rig_open(uint32_t i, const char *directory, uint32_t servers)
{
    rig_t *rig = &rigs[i];

    ck_assert_int_eq(themis_store_accounts_create(&rig->accounts), THEMIS_OK);
    ck_assert_int_eq(themis_server_name_db_open(directory, 0, i, NULL, &rig->db), THEMIS_OK);
    const themis_server_quota_options_t options = {.accounts = rig->accounts,
                                                   .db = rig->db,
                                                   .index = i,
                                                   .servers = servers,
                                                   .incarnation = 100 + i,
                                                   .exempt = SERVICE};
    ck_assert_int_eq(themis_server_quota_create(&options, &rig->quota), THEMIS_OK);
}

static void rig_close(uint32_t i)
{
    themis_server_quota_destroy(rigs[i].quota);
    themis_server_name_db_close(rigs[i].db);
    themis_store_accounts_destroy(rigs[i].accounts);
}

static void open_all(void)
{
    for (uint32_t i = 0; i < SERVERS; i++)
        rig_open(i, "", SERVERS);
}

static void close_all(void)
{
    for (uint32_t i = 0; i < SERVERS; i++)
        rig_close(i);
}

static void set(uint32_t i, uint32_t uid, uint64_t bytes, uint64_t count)
{
    const themis_server_quota_limits_t limits = {bytes, count};

    ck_assert_int_eq(themis_server_quota_set(rigs[i].quota, uid, &limits), THEMIS_OK);
}

static themis_store_account_t *account(uint32_t i, uint32_t uid)
{
    return themis_store_accounts_get(rigs[i].accounts, uid);
}

static themis_status_t tell(uint32_t from, uint32_t to)
{
    themis_status_t status = THEMIS_OK;
    themis_proto_header_t header;
    themis_proto_body_t body;
    uint32_t at = 0;
    size_t length;

    do {
        ck_assert_int_eq(themis_server_quota_encode(rigs[from].quota, to, &at, message, &length), THEMIS_OK);
        ck_assert_int_eq(themis_proto_decode(message, length, &header, &body), THEMIS_OK);
        if (status == THEMIS_OK)
            status = themis_server_quota_take(rigs[to].quota, &body.usage);
    } while (at);
    return status;
}

/* A round of each server, as all have them within one interval. */
static void exchange(void)
{
    for (uint32_t i = 0; i < SERVERS; i++) {
        themis_server_quota_begin_round(rigs[i].quota);
        for (uint32_t k = 0; k < SERVERS; k++)
            if (k != i)
                ck_assert_int_eq(tell(i, k), THEMIS_OK);
    }
}

/* Takes as much as there is, at most `bytes`, page by page. */
static int64_t take_bytes(uint32_t i, uint32_t uid, int64_t bytes)
{
    int64_t taken = 0;

    while (taken < bytes && themis_store_account_add_limited(account(i, uid), 4096))
        taken += 4096;
    return taken;
}

/* --- limits ------------------------------------------------------------------------------------------------------- */

TEST(limits_are_set_and_unset)
{
    themis_server_quota_limits_t limits;

    ck_assert(!themis_server_quota_is_active(rigs[0].quota) &&
              !themis_server_quota_find(rigs[0].quota, ALICE, &limits));
    set(0, ALICE, 10 * MIB, 5);
    ck_assert(themis_server_quota_is_active(rigs[0].quota) && themis_server_quota_find(rigs[0].quota, ALICE, &limits));
    ck_assert(limits.bytes == 10 * MIB && limits.names == 5);
    set(0, ALICE, KEEP, NONE);
    ck_assert(themis_server_quota_find(rigs[0].quota, ALICE, &limits) && limits.bytes == 10 * MIB &&
              limits.names == NONE);
    set(0, THEMIS_PROTO_USAGE_DEFAULT, 1, 2);
    ck_assert(themis_server_quota_find(rigs[0].quota, BOB, &limits) && limits.bytes == 1 && limits.names == 2);
    ck_assert(themis_server_quota_find(rigs[0].quota, ALICE, &limits) && limits.bytes == 10 * MIB);
    ck_assert_int_eq(themis_server_quota_set(rigs[0].quota, ALICE, NULL), THEMIS_OK);
    ck_assert(themis_server_quota_find(rigs[0].quota, ALICE, &limits) && limits.bytes == 1);
    ck_assert_int_eq(themis_server_quota_set(rigs[0].quota, THEMIS_PROTO_USAGE_DEFAULT, NULL), THEMIS_OK);
    ck_assert(!themis_server_quota_find(rigs[0].quota, ALICE, &limits));
}

TEST(some_have_none)
{
    static const uint32_t exempt[] = {0, SERVICE, THEMIS_STORE_NOBODY};
    themis_server_quota_limits_t limits;
    char text[THEMIS_SERVER_QUOTA_TEXT];

    set(0, THEMIS_PROTO_USAGE_DEFAULT, 0, 0);
    set(0, 0, 0, 0);
    for (size_t i = 0; i < sizeof exempt / sizeof *exempt; i++) {
        ck_assert(!themis_server_quota_find(rigs[0].quota, exempt[i], &limits));
        ck_assert_int_eq(account(0, exempt[i])->byte_limit, THEMIS_STORE_NO_LIMIT);
        themis_server_quota_explain(rigs[0].quota, exempt[i], text, sizeof text);
        ck_assert_str_eq(text, "");
    }
    ck_assert_int_eq(account(0, ALICE)->byte_limit, 0); /* also of who comes later */
    ck_assert(!themis_store_account_add_limited(account(0, ALICE), 1));
}

TEST(there_are_not_too_many)
{
    const themis_server_quota_limits_t limits = {1, 1};

    for (uint32_t i = 0; i < THEMIS_PROTO_MAX_LIMITS; i += 512) /* each is written */
        set(0, 10 + i, 1, 1);
    themis_server_quota_version_t before = themis_server_quota_version(rigs[0].quota);
    for (uint32_t i = 0; i < THEMIS_PROTO_MAX_LIMITS; i++)
        if (themis_server_quota_set(rigs[0].quota, 100000 + i, &limits) != THEMIS_OK) {
            ck_assert_uint_eq(i, THEMIS_PROTO_MAX_LIMITS - 16);
            before = themis_server_quota_version(rigs[0].quota);
            ck_assert_int_eq(themis_server_quota_set(rigs[0].quota, 100000 + i, &limits), THEMIS_QUOTA);
            break;
        }
    ck_assert_uint_eq(themis_server_quota_version(rigs[0].quota).time, before.time);
    exchange();
    ck_assert_uint_eq(themis_server_quota_version(rigs[2].quota).time, before.time);
}

TEST(the_text_tells_of_it)
{
    char text[THEMIS_SERVER_QUOTA_TEXT];

    set(0, ALICE, 10 * MIB, NONE);
    account(0, ALICE)->bytes = 3 * MIB / 2;
    themis_server_quota_explain(rigs[0].quota, ALICE, text, sizeof text);
    ck_assert_str_eq(text, "quota exceeded: user 1000 has 1.5 MiB of at most 10.0 MiB");
    set(0, ALICE, KEEP, 7);
    account(0, ALICE)->names = 7;
    themis_server_quota_explain(rigs[0].quota, ALICE, text, sizeof text);
    ck_assert_str_eq(text, "quota exceeded: user 1000 has 1.5 MiB of at most 10.0 MiB, 7 of at most 7 files");
}

/* --- agreement ---------------------------------------------------------------------------------------------------- */

static int agree(void)
{
    themis_server_quota_version_t first = themis_server_quota_version(rigs[0].quota);

    for (uint32_t i = 1; i < SERVERS; i++) {
        themis_server_quota_version_t version = themis_server_quota_version(rigs[i].quota);
        if (version.time != first.time || version.setter != first.setter)
            return 0;
    }
    return 1;
}

TEST(the_last_one_wins)
{
    themis_server_quota_limits_t limits;

    set(0, ALICE, 1 * MIB, 1);
    set(2, ALICE, 2 * MIB, 2); /* of who does not know yet of the first one */
    set(1, BOB, 3 * MIB, 3);
    ck_assert(!agree());
    exchange();
    ck_assert(agree());
    for (uint32_t i = 0; i < SERVERS; i++) {
        ck_assert(themis_server_quota_find(rigs[i].quota, BOB, &limits) && limits.bytes == 3 * MIB);
        ck_assert(!themis_server_quota_find(rigs[i].quota, ALICE, &limits));
    }
    set(0, BOB, 4 * MIB, 4); /* of who knows */
    exchange();
    ck_assert(agree() && themis_server_quota_find(rigs[1].quota, BOB, &limits) && limits.bytes == 4 * MIB);
}

/* One with a clock that is behind makes later versions all the same. */
TEST(versions_grow)
{
    themis_proto_usage_t usage = {.index = 1, .round = 1, .version = UINT64_MAX - 5, .has_limits = 1, .last = 1};

    ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    set(0, ALICE, 1, 1);
    ck_assert_uint_eq(themis_server_quota_version(rigs[0].quota).time, UINT64_MAX - 4);
}

TEST(limits_outlive_the_server)
{
    themis_server_quota_limits_t limits;

    test_scratch_make();
    rig_open(0, test_scratch, SERVERS);
    set(0, ALICE, 7 * MIB, 8);
    set(0, THEMIS_PROTO_USAGE_DEFAULT, NONE, 9);
    themis_server_quota_version_t version = themis_server_quota_version(rigs[0].quota);
    rig_close(0);
    rig_open(0, test_scratch, SERVERS);
    ck_assert_uint_eq(themis_server_quota_version(rigs[0].quota).time, version.time);
    ck_assert(themis_server_quota_find(rigs[0].quota, ALICE, &limits) && limits.bytes == 7 * MIB && limits.names == 8);
    ck_assert(themis_server_quota_find(rigs[0].quota, BOB, &limits) && limits.bytes == NONE && limits.names == 9);
    ck_assert_int_eq(account(0, ALICE)->byte_limit, 7 * MIB);
    rig_close(0);
    test_scratch_remove();
}

/* A record that is none is an error, not limits of some kind. */
TEST(a_damaged_record)
{
    static const char key[] = {THEMIS_SERVER_NAME_DB_QUOTA}, value[] = "12345678901234567890123";
    const themis_server_name_db_record_t record = {
        .key = key, .key_length = 1, .value = value, .value_length = sizeof value};
    themis_server_quota_t *quota;

    rig_open(0, "", SERVERS);
    ck_assert_int_eq(themis_server_name_db_write(rigs[0].db, &record), THEMIS_OK);
    const themis_server_quota_options_t options = {
        .accounts = rigs[0].accounts, .db = rigs[0].db, .servers = SERVERS, .exempt = SERVICE};
    ck_assert_int_eq(themis_server_quota_create(&options, &quota), THEMIS_CORRUPT);
    rig_close(0);
}

/* --- what is known of others -------------------------------------------------------------------------------------- */

TEST(a_sum_over_servers_is_refused)
{
    set(0, ALICE, 100 * MIB, NONE);
    exchange();
    ck_assert_int_eq(take_bytes(0, ALICE, 30 * MIB), 30 * MIB);
    ck_assert_int_eq(take_bytes(1, ALICE, 30 * MIB), 30 * MIB);
    exchange();
    /* all that is left may go to one server */
    ck_assert_int_eq(take_bytes(2, ALICE, 60 * MIB), 40 * MIB);
    exchange();
    for (uint32_t i = 0; i < SERVERS; i++)
        ck_assert_int_eq(take_bytes(i, ALICE, MIB), 0);
    ck_assert_int_eq(take_bytes(1, BOB, MIB), MIB);
    /* what is freed at one server can be taken at another, after one exchange */
    themis_store_account_add(account(1, ALICE), -20 * MIB);
    exchange();
    ck_assert_int_eq(take_bytes(0, ALICE, 15 * MIB), 15 * MIB);
}

/* However fast all servers take, from nine tenths on they exceed it by less than a tenth. */
TEST(near_the_limit_servers_share)
{
    int64_t total = 90 * MIB;

    set(0, ALICE, 100 * MIB, NONE);
    themis_store_account_add(account(0, ALICE), total);
    exchange();
    exchange();
    for (uint32_t i = 0; i < SERVERS; i++) {
        int64_t share = take_bytes(i, ALICE, 100 * MIB);
        ck_assert(share > 3 * MIB && share < 4 * MIB);
        total += share;
    }
    ck_assert_int_le(total, 100 * MIB);
    for (int round = 0; round < 20; round++) {
        exchange();
        for (uint32_t i = 0; i < SERVERS; i++)
            total += take_bytes(i, ALICE, 100 * MIB);
    }
    ck_assert_int_le(total, 110 * MIB);
    ck_assert_int_ge(total, 99 * MIB);
}

/* The worst: each round a server takes all it can before the others hear of it. */
TEST(overshoot_is_bounded)
{
    int64_t total = 0;

    set(0, ALICE, 100 * MIB, NONE);
    exchange();
    for (int round = 0; round < 40; round++)
        for (uint32_t i = 0; i < SERVERS; i++) {
            themis_server_quota_begin_round(rigs[i].quota);
            total += take_bytes(i, ALICE, 5 * MIB); /* what it can write in an interval */
            for (uint32_t k = 0; k < SERVERS; k++)
                if (k != i)
                    ck_assert_int_eq(tell(i, k), THEMIS_OK); /* of before: a round is told as it begins */
        }
    ck_assert_int_ge(total, 95 * MIB);
    ck_assert_int_le(total, 110 * MIB);
}

TEST(names_are_shared_likewise)
{
    set(0, ALICE, NONE, 100);
    account(0, ALICE)->names = 60;
    account(1, ALICE)->names = 40;
    exchange();
    for (uint32_t i = 0; i < SERVERS; i++)
        ck_assert_int_le(account(i, ALICE)->name_limit, account(i, ALICE)->names);
    account(0, ALICE)->names = 20;
    exchange();
    ck_assert_int_eq(account(1, ALICE)->name_limit, 80);
}

/* A server that cannot be reached any more still has what it had; one that is started again tells anew. */
TEST(a_server_is_away)
{
    set(0, ALICE, 100 * MIB, NONE);
    account(2, ALICE)->bytes = 50 * MIB;
    exchange();
    rig_close(2);
    themis_server_quota_begin_round(rigs[0].quota);
    ck_assert_int_eq(account(0, ALICE)->byte_limit, 50 * MIB);
    rig_open(2, "", SERVERS);
    account(2, ALICE)->bytes = 20 * MIB;
    exchange();
    exchange();
    ck_assert_int_eq(account(0, ALICE)->byte_limit, 80 * MIB);
    ck_assert_int_eq(account(2, ALICE)->byte_limit, 100 * MIB);
}

/* More users than a message has room for. */
TEST(many_users)
{
    enum { USERS = THEMIS_PROTO_MAX_USAGE + 1000 };

    set(0, THEMIS_PROTO_USAGE_DEFAULT, 100 * MIB, NONE);
    exchange();
    for (uint32_t uid = 1; uid <= USERS; uid++)
        account(0, uid)->bytes = uid;
    exchange();
    for (uint32_t uid = 1; uid <= USERS; uid += 97)
        if (uid != SERVICE)
            ck_assert_int_eq(account(1, uid)->byte_limit, 100 * MIB - uid);
    for (uint32_t uid = 1; uid <= USERS; uid++)
        account(0, uid)->bytes = 0;
    exchange();
    for (uint32_t uid = 1; uid <= USERS; uid += 97)
        if (uid != SERVICE)
            ck_assert_int_eq(account(1, uid)->byte_limit, 100 * MIB);
}

/* --- messages that are not sound ---------------------------------------------------------------------------------- */

/* A row as it comes, little-endian. */
static void row_put(uint8_t *at, uint32_t uid, uint64_t bytes, uint64_t count)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(uid >> 8 * i);
    for (int i = 0; i < 8; i++) {
        at[4 + i] = (uint8_t)(bytes >> 8 * i);
        at[12 + i] = (uint8_t)(count >> 8 * i);
    }
}

TEST(strangers_are_refused)
{
    static const uint32_t indexes[] = {0, SERVERS, UINT32_MAX};

    for (size_t i = 0; i < sizeof indexes / sizeof *indexes; i++) {
        const themis_proto_usage_t usage = {.index = indexes[i], .version = 9, .has_limits = 1, .last = 1};
        ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_INVALID);
    }
    ck_assert(!themis_server_quota_is_active(rigs[0].quota));
}

/* Numbers that overflow when they are added. */
TEST(use_without_measure)
{
    uint8_t row[20];
    themis_proto_usage_t usage = {.first = 0, .last = UINT32_MAX - 1, .rows = 1, .row_bytes = row};

    set(0, ALICE, 100 * MIB, 10);
    account(0, ALICE)->bytes = 7;
    row_put(row, ALICE, UINT64_MAX, UINT64_MAX);
    for (uint32_t i = 1; i < SERVERS; i++) {
        usage.index = i;
        ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    }
    ck_assert_int_gt(account(0, ALICE)->other_bytes, 0);
    ck_assert_int_eq(take_bytes(0, ALICE, MIB), 0);
    usage.rows = 0;
    for (uint32_t i = 1; i < SERVERS; i++) {
        usage.index = i;
        usage.round++;
        ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    }
    ck_assert_int_eq(account(0, ALICE)->other_bytes, 0);
    themis_server_quota_begin_round(rigs[0].quota);
    ck_assert_int_eq(take_bytes(0, ALICE, MIB), MIB);
}

/* Of the same round or later ones counts the last, earlier ones do not. */
TEST(late_messages)
{
    uint8_t row[20];
    themis_proto_usage_t usage = {.index = 1, .incarnation = 5, .round = 9, .last = 5000, .rows = 1, .row_bytes = row};

    set(0, ALICE, 100 * MIB, NONE);
    row_put(row, ALICE, 10 * MIB, 0);
    ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    usage.round = 8;
    usage.rows = 0;
    ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    ck_assert_int_eq(account(0, ALICE)->other_bytes, 10 * MIB);
    usage.incarnation = 6; /* a new process counts its rounds anew */
    ck_assert_int_eq(themis_server_quota_take(rigs[0].quota, &usage), THEMIS_OK);
    ck_assert_int_eq(account(0, ALICE)->other_bytes, 0);
}

/* --- names -------------------------------------------------------------------------------------------------------- */

static themis_store_accounts_t *accounts;

static void open_counted(const char *where)
{
    const themis_server_namespace_options_t options = {
        .directory = where,
        .index = 2,
        .servers = 4,
        .layout = {.stripe_size = 65536, .count = 0, .first = UINT32_MAX},
        .accounts = accounts};

    ck_assert_int_eq(themis_server_namespace_create(&options, &names), THEMIS_OK);
}

static void names_begin(void)
{
    test_scratch_make();
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    open_counted(test_scratch);
}

static void names_end(void)
{
    themis_server_namespace_destroy(names);
    themis_store_accounts_destroy(accounts);
    test_scratch_remove();
}

static int64_t names_of(uint32_t uid)
{
    return themis_store_accounts_get(accounts, uid)->names;
}

TEST(names_count_for_their_owner)
{
    themis_proto_attr_t attr;

    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK); /* it is there */
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(make_as(&bob, "/b", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    ck_assert(names_of(ALICE) == 2 && names_of(BOB) == 1);
    const themis_proto_setattr_t mode = {.path = text("/a"), .mask = THEMIS_PROTO_SET_MODE, .mode = 0600};
    ck_assert_int_eq(set_attr(&alice, &mode, &attr), THEMIS_OK);
    ck_assert(names_of(ALICE) == 2 && names_of(BOB) == 1);
    const themis_proto_setattr_t given = {.path = text("/a"), .mask = THEMIS_PROTO_SET_OWNER, .uid = BOB, .gid = 101};
    ck_assert_int_eq(set_attr(&root, &given, &attr), THEMIS_OK);
    ck_assert(names_of(ALICE) == 1 && names_of(BOB) == 2);
    ck_assert_int_eq(remove_as(&bob, "/a", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    ck_assert(names_of(ALICE) == 0 && names_of(BOB) == 1);
}

TEST(names_are_counted_at_the_start)
{
    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    themis_server_namespace_destroy(names);
    themis_store_accounts_destroy(accounts);
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    open_counted(test_scratch);
    ck_assert_int_eq(names_of(ALICE), 2);
    ck_assert_int_eq(remove_as(&alice, "/a", THEMIS_PROTO_FILE), THEMIS_OK);
    ck_assert_int_eq(names_of(ALICE), 1);
}

TEST(a_name_too_many)
{
    themis_proto_attr_t attr;

    themis_store_accounts_get(accounts, ALICE)->name_limit = 2;
    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(make("/d", THEMIS_PROTO_DIRECTORY, 0), THEMIS_OK);
    ck_assert_int_eq(make("/e", THEMIS_PROTO_DIRECTORY, 0), THEMIS_QUOTA);
    ck_assert_int_eq(make("/b", THEMIS_PROTO_FILE, 0), THEMIS_QUOTA);
    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK); /* no new one */
    ck_assert_int_eq(make_as(&bob, "/b", THEMIS_PROTO_FILE, 0, 0644, &attr), THEMIS_OK);
    /* a directory takes the place of another one */
    ck_assert_int_eq(make("/f", THEMIS_PROTO_DIRECTORY, THEMIS_PROTO_CREATE_MOVED), THEMIS_OK);
    ck_assert_int_eq(remove_as(&alice, "/d", THEMIS_PROTO_DIRECTORY), THEMIS_OK);
    for (int i = 0; i < 64; i++) {
        char path[16];
        snprintf(path, sizeof path, "/m%d", i);
        ck_assert_int_eq(make(path, THEMIS_PROTO_DIRECTORY, THEMIS_PROTO_CREATE_MOVED), THEMIS_OK);
    }
    ck_assert_int_eq(make("/n", THEMIS_PROTO_DIRECTORY, THEMIS_PROTO_CREATE_MOVED), THEMIS_QUOTA);
}

TEST(a_new_owner_is_to_be_told)
{
    const themis_proto_setattr_t given = {.path = text("/a"), .mask = THEMIS_PROTO_SET_OWNER, .uid = BOB, .gid = 101};
    themis_server_intent_entry_t *entries[4];
    uint64_t open, failing;
    themis_proto_attr_t attr;

    ck_assert_int_eq(make("/a", THEMIS_PROTO_FILE, 0), THEMIS_OK);
    ck_assert_int_eq(set_attr(&root, &given, &attr), THEMIS_OK);
    themis_server_intents_count(themis_server_namespace_intents(names), &open, &failing);
    ck_assert_uint_eq(open, 1);
    themis_server_namespace_destroy(names);
    open_counted(test_scratch); /* it outlives the process */
    themis_server_intents_t *intents = themis_server_namespace_intents(names);
    while (themis_server_intents_take(intents, entries, 4) == 0)
        ck_assert_int_eq(themis_server_intents_wait(intents), 1);
    ck_assert(entries[0]->intent.kind == THEMIS_SERVER_INTENT_OWNER && entries[0]->intent.uid == BOB &&
              entries[0]->intent.object && entries[0]->intent.rename && entries[0]->intent.layout.count == 4);
    themis_server_intents_give_back(intents, entries, 1);
    themis_server_intents_count(intents, &open, &failing);
    ck_assert_uint_eq(open, 0);
}

/* --- owners ------------------------------------------------------------------------------------------------------- */

static themis_store_t *store;
static themis_server_owners_t *owners;

static void owners_begin(void)
{
    ck_assert_int_eq(themis_store_accounts_create(&accounts), THEMIS_OK);
    const themis_store_options_t options = {.type = "arena", .size = 16 << 20, .accounts = accounts};
    ck_assert_int_eq(themis_store_create(&options, &store), THEMIS_OK);
    ck_assert_int_eq(themis_server_name_db_open("", 0, 0, NULL, &rigs[0].db), THEMIS_OK);
    ck_assert_int_eq(themis_server_owners_create(rigs[0].db, store, &owners), THEMIS_OK);
}

static void owners_end(void)
{
    themis_store_destroy(store);
    themis_server_owners_destroy(owners);
    themis_server_name_db_close(rigs[0].db);
    themis_store_accounts_destroy(accounts);
}

/* Reserves a MiB in an object, which is claimed for `uid`; returns whose it is then. */
static uint32_t claim(uint64_t id, uint32_t uid)
{
    const themis_store_extent_t range = {0, 1 << 20};
    themis_store_object_t *object;

    ck_assert_int_eq(themis_store_open(store, id, 1, THEMIS_STORE_COMMON, &object), THEMIS_OK);
    themis_server_owners_claim(owners, id, object, uid);
    ck_assert_int_eq(themis_store_allocate(store, object, &range), THEMIS_OK);
    uint32_t whose = themis_store_owner(store, object);
    themis_store_close(store, object);
    return whose;
}

TEST(the_first_claim_counts)
{
    ck_assert_uint_eq(claim(1, ALICE), ALICE);
    ck_assert_uint_eq(claim(1, BOB), ALICE);
    ck_assert_int_eq(themis_store_accounts_get(accounts, ALICE)->bytes, MIB);
    ck_assert_int_eq(themis_store_accounts_get(accounts, BOB)->bytes, 0);
}

TEST(owners_change_in_order)
{
    ck_assert_uint_eq(claim(1, ALICE), ALICE);
    ck_assert_int_eq(themis_server_owners_set(owners, 1, BOB, 10), THEMIS_OK);
    ck_assert_int_eq(themis_store_accounts_get(accounts, ALICE)->bytes, 0);
    ck_assert_int_eq(themis_store_accounts_get(accounts, BOB)->bytes, MIB);
    ck_assert_int_eq(themis_server_owners_set(owners, 1, ALICE, 9), THEMIS_OK); /* comes late */
    ck_assert_int_eq(themis_server_owners_set(owners, 1, ALICE, 10), THEMIS_OK);
    ck_assert_uint_eq(claim(1, ALICE), BOB);
    ck_assert_int_eq(themis_server_owners_set(owners, 1, ALICE, 11), THEMIS_OK);
    ck_assert_uint_eq(claim(1, BOB), ALICE);
    ck_assert_int_eq(themis_store_remove(store, 1), THEMIS_OK);
    ck_assert_int_eq(themis_server_owners_forget(owners, 1), THEMIS_OK);
    ck_assert_uint_eq(themis_server_owners_find(owners, 1), THEMIS_STORE_NOBODY);
    ck_assert_int_eq(themis_store_accounts_get(accounts, ALICE)->bytes, 0);
}

/* A capability of before says otherwise. */
TEST(an_object_is_made_after_its_file_was_given_away)
{
    ck_assert_int_eq(themis_server_owners_set(owners, 1, BOB, 10), THEMIS_OK);
    ck_assert_uint_eq(claim(1, ALICE), BOB);
}

int main(void)
{
    Suite *suite = suite_create("quota");

    test_case(suite, "limits", 60, open_all, close_all,
              TESTS({limits_are_set_and_unset, 1}, {some_have_none, 1}, {there_are_not_too_many, 1},
                    {the_text_tells_of_it, 1}, {the_last_one_wins, 1}, {versions_grow, 1}));
    test_case(suite, "records", 60, NULL, NULL, TESTS({limits_outlive_the_server, 1}, {a_damaged_record, 1}));
    test_case(suite, "exchange", 60, open_all, close_all,
              TESTS({a_sum_over_servers_is_refused, 1}, {near_the_limit_servers_share, 1}, {overshoot_is_bounded, 1},
                    {names_are_shared_likewise, 1}, {a_server_is_away, 1}, {many_users, 1}, {strangers_are_refused, 1},
                    {use_without_measure, 1}, {late_messages, 1}));
    test_case(suite, "names", 60, names_begin, names_end,
              TESTS({names_count_for_their_owner, 1}, {names_are_counted_at_the_start, 1}, {a_name_too_many, 1},
                    {a_new_owner_is_to_be_told, 1}));
    test_case(suite, "owners", 60, owners_begin, owners_end,
              TESTS({the_first_claim_counts, 1}, {owners_change_in_order, 1},
                    {an_object_is_made_after_its_file_was_given_away, 1}));
    return test_run(suite);
}
