/* SPDX-License-Identifier: BSD-3-Clause */
/* Counters of objects, and how many a user may have. */
#include <check.h>
#include <endian.h>
#include <stdlib.h>
#include <string.h>
#include "server/counters.h"
#include "test/lib/run.h"

static themis_server_counters_t *counters;

static void set_up(void)
{
    ck_assert_int_eq(themis_server_counters_create(NULL, &counters), THEMIS_OK);
}

static void tear_down(void)
{
    themis_server_counters_destroy(counters);
}

static themis_status_t change(uint32_t uid, uint64_t object, uint8_t action, int64_t value, int64_t *before)
{
    const themis_proto_counter_t request = {.object = object, .action = action, .value = value};

    return themis_server_counters_access(counters, &request, uid, NULL, before);
}

TEST(counters_count)
{
    int64_t before;

    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_ADD, 5, &before), THEMIS_OK);
    ck_assert_int_eq(before, 0);
    ck_assert_int_eq(change(2, 7, THEMIS_PROTO_COUNTER_SET, 100, &before), THEMIS_OK);
    ck_assert_int_eq(before, 5);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_GET, 1, &before), THEMIS_OK);
    ck_assert_int_eq(before, 100);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_ADD, INT64_MAX, &before), THEMIS_RANGE);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_ADD, -1, &before), THEMIS_OK);
    ck_assert_int_eq(before, 100);
    themis_server_counters_forget(counters, 7);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_GET, 0, &before), THEMIS_OK);
    ck_assert_int_eq(before, 0);
}

TEST(a_counter_of_zero_takes_no_memory)
{
    int64_t before;

    for (uint64_t object = 1; object < 1000; object++)
        ck_assert_int_eq(change(1, object, THEMIS_PROTO_COUNTER_GET, 3, &before), THEMIS_OK);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_SET, 0, &before), THEMIS_OK);
    ck_assert_uint_eq(themis_server_counters_count(counters), 0);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_SET, -3, &before), THEMIS_OK);
    ck_assert_uint_eq(themis_server_counters_count(counters), 1);
    ck_assert_int_eq(change(1, 7, THEMIS_PROTO_COUNTER_ADD, 3, &before), THEMIS_OK);
    ck_assert_int_eq(before, -3);
    ck_assert_uint_eq(themis_server_counters_count(counters), 0);
}

TEST(a_user_has_so_many)
{
    int64_t before = 42;
    uint64_t object = 1;

    for (; object <= THEMIS_SERVER_COUNTERS_PER_USER; object++)
        ck_assert_int_eq(change(1, object, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_OK);
    ck_assert_int_eq(change(1, object, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_QUOTA);
    ck_assert_int_eq(change(1, object, THEMIS_PROTO_COUNTER_ADD, 1, &before), THEMIS_QUOTA);
    ck_assert_int_eq(change(1, 1, THEMIS_PROTO_COUNTER_ADD, 1, &before), THEMIS_OK);
    ck_assert_int_eq(change(2, object, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_OK);
    themis_server_counters_forget(counters, 1);
    ck_assert_int_eq(change(1, object + 1, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_OK);
}

TEST(all_users_have_so_many)
{
    int64_t before;

    for (uint64_t object = 0; object < THEMIS_SERVER_COUNTERS_MAX; object++)
        ck_assert_int_eq(change((uint32_t)(object % 20), object, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_OK);
    ck_assert_int_eq(change(20, UINT64_MAX, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_QUOTA);
    ck_assert_uint_eq(themis_server_counters_count(counters), THEMIS_SERVER_COUNTERS_MAX);
}

typedef struct record {
    uint8_t key[9], value[12];
    themis_server_name_db_record_t record;
} record_t;

/* Counters 0 to `count` - 1 of user 1, whose values are one more, as the database has them. */
static void records_write(themis_server_name_db_t *db, uint64_t count)
{
    record_t *records = calloc(count, sizeof *records);

    ck_assert_ptr_nonnull(records);
    for (uint64_t i = 0; i < count; i++) {
        record_t *made = &records[i];
        const uint64_t object = htobe64(i), value = htole64(i + 1);
        const uint32_t uid = htole32(1);
        made->key[0] = THEMIS_SERVER_NAME_DB_COUNTER;
        memcpy(made->key + 1, &object, sizeof object);
        memcpy(made->value, &value, sizeof value);
        memcpy(made->value + sizeof value, &uid, sizeof uid);
        made->record = (themis_server_name_db_record_t){.key = made->key,
                                                        .key_length = sizeof made->key,
                                                        .value = made->value,
                                                        .value_length = sizeof made->value,
                                                        .next = i + 1 < count ? &records[i + 1].record : NULL};
    }
    ck_assert_int_eq(themis_server_name_db_write(db, &records->record), THEMIS_OK);
    free(records);
}

/* A database that has more of them, of a release that allowed more: they are there, and none is added. */
TEST(more_than_allowed_are_read)
{
    themis_server_name_db_t *db;
    themis_server_counters_t *read;
    int64_t before;

    ck_assert_int_eq(themis_server_name_db_open("", 1, 0, NULL, &db), THEMIS_OK);
    records_write(db, THEMIS_SERVER_COUNTERS_PER_USER + 1);
    ck_assert_int_eq(themis_server_counters_create(db, &read), THEMIS_OK);
    ck_assert_uint_eq(themis_server_counters_count(read), THEMIS_SERVER_COUNTERS_PER_USER + 1);
    themis_server_counters_t *made = counters;
    counters = read;
    ck_assert_int_eq(change(1, THEMIS_SERVER_COUNTERS_PER_USER, THEMIS_PROTO_COUNTER_ADD, 1, &before), THEMIS_OK);
    ck_assert_int_eq(before, THEMIS_SERVER_COUNTERS_PER_USER + 1);
    ck_assert_int_eq(change(1, UINT64_MAX, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_QUOTA);
    ck_assert_int_eq(change(2, UINT64_MAX, THEMIS_PROTO_COUNTER_SET, 1, &before), THEMIS_OK);
    counters = made;
    themis_server_counters_destroy(read);
    themis_server_name_db_close(db);
}

int main(void)
{
    Suite *suite = suite_create("counters");

    test_case(suite, "all", 60, set_up, tear_down,
              TESTS({counters_count, 1}, {a_counter_of_zero_takes_no_memory, 1}, {a_user_has_so_many, 1},
                    {all_users_have_so_many, 1}, {more_than_allowed_are_read, 1}));
    return test_run(suite);
}
