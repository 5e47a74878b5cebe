/* SPDX-License-Identifier: BSD-3-Clause */
/* What a server answers to the questions of `themis check`, and what it mends. */
#define _GNU_SOURCE
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "test/server/engine_rig.h"
#include "util/clock.h"

enum { ANSWER_BYTES = 1 << 16, LONG_BYTES = 3 * 4096 + 64 };

static themis_server_t *server;
static rig_client_t *client;
static char answer[ANSWER_BYTES];

static void set_up(void)
{
    server = rig_server_start(NULL);
    client = rig_client_open(server, 1, "job");
}

static void tear_down(void)
{
    rig_client_close(client, 1);
    rig_server_stop(server);
}

__attribute__((format(printf, 1, 2))) static themis_status_t ask(const char *format, ...)
{
    static char question[LONG_BYTES];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(question, sizeof question, format, arguments);
    va_end(arguments);
    const themis_proto_text_body_t body = {rig_text(question)};
    themis_status_t status = rig_call(client, THEMIS_OP_CHECK, &body);
    if (status == THEMIS_OK)
        snprintf(answer, sizeof answer, "%.*s", (int)client->body.text.text.length, client->body.text.text.bytes);
    return status;
}

static uint64_t make(const char *path)
{
    uint64_t id;

    ck_assert_int_eq(rig_create(client, path, 0, &id), THEMIS_OK);
    return id;
}

static void add_entry(const char *directory, const char *name)
{
    const themis_proto_entry_t entry = {rig_text(directory), rig_text(name), THEMIS_PROTO_FILE};

    ck_assert_int_eq(rig_call(client, THEMIS_OP_ENTRY_ADD, &entry), THEMIS_OK);
}

static void write_one(uint64_t object)
{
    ck_assert_int_eq(rig_write(client, object, 0, "x", 1), THEMIS_OK);
}

TEST(names_come_by_path)
{
    char wanted[256];
    uint64_t b = make("/b"), blank = make("/a b");

    ck_assert_int_eq(ask("names"), THEMIS_OK);
    snprintf(wanted, sizeof wanted, "1 %" PRIu64 " %" PRIu64 " 1 0 ", blank, blank);
    char *first = strstr(answer, wanted), *end = first ? strchr(first, '\n') : NULL;
    ck_assert_msg(end && strncmp(end - strlen(" /a%20b"), " /a%20b", 7) == 0, "%s", answer);
    snprintf(wanted, sizeof wanted, "\n1 %" PRIu64 " ", b);
    ck_assert_ptr_eq(strstr(answer, wanted), end);
    ck_assert_int_eq(ask("names /a%%20b"), THEMIS_OK);
    ck_assert(strstr(answer, " /b\n") && !strstr(answer, "%20"));
    ck_assert_int_eq(ask("names /b"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
    ck_assert_int_eq(ask("name /a%%20b"), THEMIS_OK);
    ck_assert(strstr(answer, " /a%20b\n") && strchr(answer, '\n')[1] == 0);
    ck_assert_int_eq(ask("name /a"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
}

TEST(entries_come_in_order)
{
    add_entry("/", "b");
    add_entry("/", "a\xff");
    ck_assert_int_eq(ask("list / d 2"), THEMIS_OK);
    ck_assert_int_eq(ask("entries"), THEMIS_OK);
    ck_assert_str_eq(answer, "1 / a%FF\n1 / b\n2 / d\n");
    ck_assert_int_eq(ask("entries / a%%FF"), THEMIS_OK);
    ck_assert_str_eq(answer, "1 / b\n2 / d\n");
    ck_assert_int_eq(ask("entries / b0"), THEMIS_OK);
    ck_assert_str_eq(answer, "2 / d\n");
    ck_assert_int_eq(ask("entries / d"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
}

TEST(entries_are_corrected)
{
    ck_assert_int_eq(ask("list / f 1"), THEMIS_OK);
    ck_assert_int_eq(ask("list / f 3"), THEMIS_OK);
    ck_assert_int_eq(ask("entries"), THEMIS_OK);
    ck_assert_str_eq(answer, "3 / f\n");
    ck_assert_int_eq(ask("list / g 0"), THEMIS_INVALID);
    ck_assert_int_eq(ask("list / g 4"), THEMIS_INVALID);
    ck_assert_int_eq(ask("list / g x"), THEMIS_INVALID);
    ck_assert_int_eq(ask("list / a%%2Fb 1"), THEMIS_INVALID); /* it is never written so */
    ck_assert_int_ne(ask("list / a/b 1"), THEMIS_OK);
    ck_assert_int_eq(ask("list /none f 1"), THEMIS_NO_ENTRY);
    make("/file");
    ck_assert_int_eq(ask("list /file f 1"), THEMIS_NOT_DIRECTORY);
}

/* An entry that was added since, or not long before, may be that of a name that is being made. */
TEST(young_entries_stay)
{
    const uint64_t long_time = THEMIS_PROTO_ENTRY_LASTS * THEMIS_NS_PER_S;

    add_entry("/", "f");
    uint64_t now = themis_util_clock_wall();
    ck_assert_int_eq(ask("unlist /f %" PRIu64, now), THEMIS_BUSY);
    ck_assert_int_eq(ask("unlist /f %" PRIu64, now - THEMIS_NS_PER_S), THEMIS_BUSY);
    ck_assert_int_eq(ask("unlist /f"), THEMIS_INVALID);
    ck_assert_int_eq(ask("unlist /f x"), THEMIS_INVALID);
    ck_assert_int_eq(ask("unlist /f %" PRIu64, now + long_time + THEMIS_NS_PER_S), THEMIS_OK);
    ck_assert_int_eq(ask("entries"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
    ck_assert_int_eq(ask("unlist /f %" PRIu64, now), THEMIS_OK);
}

TEST(objects_are_destroyed_as_they_were_seen)
{
    uint64_t objects[3], id, end, time, modified = 0, position = 0;
    int found = 0, at;

    for (int i = 0; i < 3; i++) {
        char path[8];
        snprintf(path, sizeof path, "/f%d", i);
        write_one(objects[i] = make(path));
    }
    for (int pages = 0; position < UINT64_MAX; pages++) {
        ck_assert_int_lt(pages, 1000);
        ck_assert_int_eq(ask("objects %" PRIu64, position), THEMIS_OK);
        char *line = answer;
        for (; sscanf(line, "%" SCNu64 " %" SCNu64 " %" SCNu64 "%n", &id, &end, &time, &at) == 3 &&
               strchr(line, ' ') < strchr(line, '\n');
             line += at + 1) {
            ck_assert(id == objects[0] || id == objects[1] || id == objects[2]);
            ck_assert_uint_eq(end, 1);
            modified = id == objects[1] ? time : modified;
            found++;
        }
        position = strtoull(line, NULL, 10);
    }
    ck_assert_int_eq(found, 3);
    id = objects[1];
    ck_assert_int_eq(ask("destroy %" PRIu64 " %" PRIu64, id, modified + 1), THEMIS_BUSY);
    ck_assert_int_eq(ask("destroy %" PRIu64, id), THEMIS_INVALID);
    ck_assert_int_eq(ask("destroy 0 1"), THEMIS_INVALID);
    ck_assert_int_eq(ask("destroy x 1"), THEMIS_INVALID);
    ck_assert_int_eq(ask("destroy -1 1"), THEMIS_INVALID);
    ck_assert_int_eq(ask("destroy %" PRIu64 " %" PRIu64, id, modified), THEMIS_OK);
    ck_assert_int_eq(ask("destroy %" PRIu64 " %" PRIu64, id, modified), THEMIS_OK); /* it is gone */
    ck_assert_int_eq(rig_write(client, id, 0, "x", 1), THEMIS_STALE);
    ck_assert_int_eq(ask("objects x"), THEMIS_INVALID);
    ck_assert_int_eq(ask("objects 1 2"), THEMIS_INVALID);
}

TEST(a_server_tells_of_itself)
{
    uint64_t open, failing, moves, incarnation, clock, first, before = themis_util_clock_wall(), id = make("/f");

    ck_assert_int_eq(ask("intents"), THEMIS_OK);
    ck_assert_int_eq(sscanf(answer, "%" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64 " %" SCNu64, &open,
                            &failing, &moves, &incarnation, &clock, &first),
                     6);
    ck_assert(open == 0 && failing == 0 && moves == 0 && incarnation == server->incarnation);
    ck_assert(clock >= before && clock <= themis_util_clock_wall() && first != 0 && first <= id);
    ck_assert_int_eq(ask("moved 0"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
    themis_server_intents_add_move(themis_server_namespace_intents(server->names), 77);
    ck_assert_int_eq(ask("moved 0"), THEMIS_OK);
    ck_assert_str_eq(answer, "77\n");
    ck_assert_int_eq(ask("moved 1"), THEMIS_OK);
    ck_assert_str_eq(answer, "");
    ck_assert_int_eq(ask("moved 2"), THEMIS_RANGE);
    ck_assert_int_eq(ask("moved"), THEMIS_INVALID);
}

TEST(paths_are_decoded_strictly)
{
    static const char *const wrong[] = {"%", "%4", "%zz", "%00", "%2f", "%2F", "%41", "\t", "\xc3\xa4", "%C3%"};
    static char path[LONG_BYTES];

    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        ck_assert_int_eq(ask("names /%s", wrong[i]), THEMIS_INVALID);
        ck_assert_int_eq(ask("name /%s", wrong[i]), THEMIS_INVALID);
        ck_assert_int_eq(ask("entries / %s", wrong[i]), THEMIS_INVALID);
        ck_assert_int_eq(ask("unname /%s 1 1", wrong[i]), THEMIS_INVALID);
        ck_assert_int_eq(ask("list / %s 1", wrong[i]), THEMIS_INVALID);
        ck_assert_int_eq(ask("unlist /%s 1", wrong[i]), THEMIS_INVALID);
    }
    path[0] = '/';
    for (int i = 1; i <= THEMIS_PROTO_MAX_PATH; i++)
        strcpy(path + 3 * i - 2, "%FF");
    path[3 * THEMIS_PROTO_MAX_PATH - 2] = 0;
    ck_assert_int_eq(ask("name %s", path), THEMIS_OK);
    ck_assert_str_eq(answer, "");
    strcat(path, "x");
    ck_assert_int_eq(ask("name %s", path), THEMIS_INVALID);
    ck_assert_int_eq(ask("names / / /"), THEMIS_INVALID);
    ck_assert_int_eq(ask("a b c d e f"), THEMIS_INVALID);
    ck_assert_int_eq(ask(" "), THEMIS_INVALID);
}

int main(void)
{
    Suite *suite = suite_create("server check");

    test_case(suite, "lists", 30, set_up, tear_down,
              TESTS({names_come_by_path, 1}, {entries_come_in_order, 1}, {a_server_tells_of_itself, 1},
                    {paths_are_decoded_strictly, 1}));
    test_case(suite, "repair", 30, set_up, tear_down,
              TESTS({entries_are_corrected, 1}, {young_entries_stay, 1}, {objects_are_destroyed_as_they_were_seen, 1}));
    return test_run(suite);
}
