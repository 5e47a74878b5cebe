/* SPDX-License-Identifier: BSD-3-Clause */
/* What `themis check` makes of the answers of servers, without any. */
#include <check.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include "test/lib/run.h"
#include "tools/check_compare.h"
#include "tools/check_lines.h"
#include "util/clock.h"

enum { SERVERS = 3, STRIPE = 4096, FILE_TYPE = 1, DIRECTORY_TYPE = 2 };
#define NOW_S UINT64_C(1700000000)
#define EPOCH_S UINT64_C(1577836800)

static themis_tools_check_scan_t scan;
static themis_tools_check_findings_t findings, earlier;

static void begin(void)
{
    ck_assert_int_eq(themis_tools_check_scan_init(&scan, SERVERS), THEMIS_OK);
    for (int i = 0; i < SERVERS; i++) {
        scan.server[i].clock = NOW_S * THEMIS_NS_PER_S;
        scan.server[i].first_id = 1; /* since 2020 */
    }
}

static void end(void)
{
    themis_tools_check_findings_free(&findings);
    themis_tools_check_findings_free(&earlier);
    themis_tools_check_scan_free(&scan);
}

/* An id that a server made some seconds ago. */
static uint64_t id_of(uint32_t server, uint64_t seconds)
{
    return (uint64_t)(server + 1) << THEMIS_TOOLS_CHECK_SERVER_SHIFT | (NOW_S - EPOCH_S - seconds) * 1000000;
}

static themis_status_t take(themis_tools_check_line_fn fn, uint32_t server, const char *line)
{
    static themis_tools_check_list_t list;

    list = (themis_tools_check_list_t){.scan = &scan, .server = server};
    return fn(&list, line);
}

__attribute__((format(printf, 3, 4))) static void add(themis_tools_check_line_fn fn, uint32_t server,
                                                      const char *format, ...)
{
    char line[512];
    va_list arguments;

    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    ck_assert_int_eq(take(fn, server, line), THEMIS_OK);
}

static uint32_t home(const char *path)
{
    return themis_tools_check_scan_home(&scan, path, strlen(path));
}

static void add_entry(const char *path, int type)
{
    add(themis_tools_check_line_entry, home("/"), "%d / %s", type, path + 1);
}

/* A file in "/" on all servers from server 0 on, with an entry. */
static void add_file(const char *path, uint64_t id, uint64_t generation)
{
    add(themis_tools_check_line_name, home(path), "1 %" PRIu64 " %" PRIu64 " %d 0 %d %s", id, generation, SERVERS,
        STRIPE, path);
    add_entry(path, FILE_TYPE);
}

/* An object of one byte that has not changed for an hour. */
static void add_object(uint64_t id, uint32_t server)
{
    add(themis_tools_check_line_object, server, "%" PRIu64 " 1 %" PRIu64, id, (NOW_S - 3600) * THEMIS_NS_PER_S);
}

static void compare(uint64_t age_s)
{
    themis_tools_check_findings_free(&findings);
    ck_assert_int_eq(themis_tools_check_scan_sort(&scan), THEMIS_OK);
    ck_assert_int_eq(themis_tools_check_compare(&scan, age_s * THEMIS_NS_PER_S, &findings), THEMIS_OK);
}

static void found(size_t count, themis_tools_check_kind_t kind, uint64_t id, uint32_t server, const char *path)
{
    ck_assert_uint_eq(findings.count, count);
    for (size_t i = 0; i < count; i++) {
        const themis_tools_check_finding_t *finding = &findings.list[i];
        if (finding->kind == kind && finding->id == id && finding->server == server && strcmp(finding->path, path) == 0)
            return;
    }
    ck_abort_msg("kind %d, id %" PRIx64 ", server %u, path '%s' is not found", kind, id, server, path);
}

static const char *obstacle(int force, int unsettled)
{
    int is_unsettled = -1;
    const char *text = themis_tools_check_obstacle(&scan, &findings.list[0], force, &is_unsettled);

    ck_assert_int_eq(is_unsettled, unsettled);
    return text;
}

TEST(nothing_is_wrong)
{
    begin();
    add(themis_tools_check_line_name, home("/"), "2 0 9 0 4294967295 0 /");
    add(themis_tools_check_line_name, home("/d"), "2 0 10 0 4294967295 0 /d");
    add_entry("/d", DIRECTORY_TYPE);
    add(themis_tools_check_line_name, home("/d/l"), "3 7 7 0 0 0 /d/l");
    add(themis_tools_check_line_entry, home("/d"), "3 /d l");
    add_file("/f%20", id_of(1, 10), 5);
    for (uint32_t i = 0; i < SERVERS; i++)
        add_object(id_of(1, 10), i);
    compare(0);
    ck_assert_uint_eq(findings.count, 0);
    end();
}

/* Which name stays: the newest, whatever servers have made them. */
TEST(of_two_names_the_newest_stays)
{
    const uint64_t id = id_of(0, 100), other = UINT64_C(1) << THEMIS_TOOLS_CHECK_SERVER_SHIFT;

    for (int i = 0; i < 2; i++) {
        begin();
        add_file("/one", id, i ? 3 * other + 8 : other + 7);
        add_file("/two", id, i ? other + 7 : 3 * other + 8);
        add_file("/l", id_of(0, 90), 6);
        compare(0);
        found(1, THEMIS_TOOLS_CHECK_DOUBLED, id, home(i ? "/two" : "/one"), i ? "/two" : "/one");
        ck_assert_ptr_null(obstacle(0, 0));
        end();
        begin();
        add_file("/one", id, i ? other + 8 : 3 * other + 7);
        add_file("/two", id, i ? 3 * other + 7 : other + 8);
        compare(0);
        found(1, THEMIS_TOOLS_CHECK_DOUBLED, id, home(i ? "/two" : "/one"), i ? "/two" : "/one");
        end();
    }
}

/* It is to go, and not to be listed before. */
TEST(a_doubled_name_without_an_entry_is_one_finding)
{
    const uint64_t id = id_of(0, 100);

    begin();
    add(themis_tools_check_line_name, home("/one"), "1 %" PRIu64 " 1 1 0 4096 /one", id);
    add_file("/two", id, 2);
    compare(0);
    found(1, THEMIS_TOOLS_CHECK_DOUBLED, id, home("/one"), "/one");
    end();
}

TEST(entries_and_names)
{
    begin();
    add(themis_tools_check_line_name, home("/none"), "1 5 5 1 0 4096 /none");
    add(themis_tools_check_line_name, home("/type"), "1 6 6 1 0 4096 /type");
    add_entry("/type", DIRECTORY_TYPE);
    add_entry("/entry", FILE_TYPE);
    compare(0);
    found(3, THEMIS_TOOLS_CHECK_NO_ENTRY, 5, home("/none"), "/none");
    found(3, THEMIS_TOOLS_CHECK_WRONG_TYPE, 6, home("/type"), "/type");
    found(3, THEMIS_TOOLS_CHECK_NO_NAME, 0, home("/"), "/entry");
    end();
}

/* What is where nobody looks for it is told, but neither mended nor counted as what it seems to be. */
TEST(a_name_on_another_server_than_its_home)
{
    const uint64_t id = id_of(0, 100);

    begin();
    uint32_t away = (home("/f") + 1) % SERVERS, away_entry = (home("/") + 1) % SERVERS;
    add_file("/f", id, 1);
    add(themis_tools_check_line_name, away, "1 %" PRIu64 " 2 3 0 4096 /f", id);
    add(themis_tools_check_line_name, away, "1 77 3 3 0 4096 /f");
    add(themis_tools_check_line_entry, away_entry, "1 / f");
    add_object(77, 0);
    compare(0);
    found(3, THEMIS_TOOLS_CHECK_MISPLACED, id, away, "/f");
    found(3, THEMIS_TOOLS_CHECK_MISPLACED, 77, away, "/f");
    found(3, THEMIS_TOOLS_CHECK_MISPLACED, 0, away_entry, "/f");
    ck_assert_ptr_nonnull(obstacle(1, 0));
    end();
}

TEST(objects_without_a_name_count_when_they_are_old)
{
    const uint64_t id = id_of(1, 7200);

    begin();
    add_object(id, 0);
    add_object(id, 2);
    compare(3600);
    found(2, THEMIS_TOOLS_CHECK_ORPHAN, id, 0, "");
    found(2, THEMIS_TOOLS_CHECK_ORPHAN, id, 2, "");
    compare(3601);
    ck_assert_uint_eq(findings.count, 0);
    compare(4000000000);
    ck_assert_uint_eq(findings.count, 0);
    compare(0);
    ck_assert_uint_eq(findings.count, 2);
    scan.server[2].clock -= 2 * THEMIS_NS_PER_S; /* its own clock counts */
    compare(3599);
    found(1, THEMIS_TOOLS_CHECK_ORPHAN, id, 0, "");
    end();
}

/* A symbolic link has an id, but no bytes. */
TEST(a_link_leads_to_no_object)
{
    begin();
    add(themis_tools_check_line_name, home("/l"), "3 77 77 0 0 0 /l");
    add_entry("/l", 3);
    add_object(77, 1);
    compare(0);
    found(1, THEMIS_TOOLS_CHECK_ORPHAN, 77, 1, "");
    end();
}

TEST(a_server_without_an_object)
{
    /* where the object of server 2, the second one of the file, ends; and how many servers should have one, too */
    static const struct {
        uint64_t end, missing;
    } cases[] = {{0, 0}, {1, 1}, {STRIPE, 1}, {STRIPE + 1, 2}};
    const uint64_t id = id_of(0, 100);

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        begin();
        add(themis_tools_check_line_name, home("/f"), "1 %" PRIu64 " 1 3 1 %d /f", id, STRIPE);
        add_entry("/f", FILE_TYPE);
        add(themis_tools_check_line_object, 2, "%" PRIu64 " %" PRIu64 " 1", id, cases[i].end);
        compare(0);
        ck_assert_uint_eq(findings.count, cases[i].missing);
        for (uint32_t server = 1; server < 1 + cases[i].missing; server++)
            found(cases[i].missing, THEMIS_TOOLS_CHECK_INCOMPLETE, id, server % 2, "/f");
        end();
    }
}

/* It says nothing about what others should have, and no name leads to it. */
TEST(an_object_outside_of_the_layout)
{
    const uint64_t id = id_of(0, 100);

    begin();
    add(themis_tools_check_line_name, home("/f"), "1 %" PRIu64 " 1 2 2 4096 /f", id);
    add_entry("/f", FILE_TYPE);
    add(themis_tools_check_line_object, 1, "%" PRIu64 " 900000 1", id);
    compare(0);
    found(1, THEMIS_TOOLS_CHECK_ORPHAN, id, 1, "");
    end();
}

TEST(what_gets_another_name_is_left)
{
    const uint64_t id = id_of(0, 100), other = id_of(0, 90);

    begin();
    add_object(id, 0);
    add_file("/one", other, 1);
    add_file("/two", other, 2);
    compare(0);
    ck_assert_uint_eq(findings.count, 2);
    for (size_t i = 0; i < 2; i++)
        ck_assert_ptr_null(themis_tools_check_obstacle(&scan, &findings.list[i], 0, &(int){0}));
    scan.moves_unknown = 1;
    ck_assert_ptr_nonnull(obstacle(1, 1));
    scan.moves_unknown = 0;
    scan.restarted = 1;
    ck_assert_ptr_nonnull(obstacle(1, 1));
    scan.restarted = 0;
    add(themis_tools_check_line_moved, 1, "%" PRIu64, other);
    add(themis_tools_check_line_moved, 0, "%" PRIu64, id);
    themis_tools_check_scan_sort_moved(&scan);
    for (size_t i = 0; i < 2; i++) { /* it has moved after the comparison */
        int unsettled = 0;
        ck_assert_ptr_nonnull(themis_tools_check_obstacle(&scan, &findings.list[i], 1, &unsettled));
        ck_assert_int_eq(unsettled, 1);
    }
    compare(0);
    ck_assert_uint_eq(findings.count, 0);
    end();
}

/* A server that has names only since after an object was made may have had its name before. */
TEST(names_that_a_server_may_have_lost)
{
    begin();
    add_object(id_of(0, 100), 0);
    compare(0);
    ck_assert_ptr_null(obstacle(0, 0));
    scan.server[2].first_id = id_of(2, 103);
    ck_assert_ptr_null(obstacle(0, 0));
    scan.server[2].first_id = id_of(2, 99);
    ck_assert_ptr_nonnull(obstacle(0, 0));
    ck_assert_ptr_null(obstacle(1, 0));
    scan.server[2].clock += 60 * THEMIS_NS_PER_S; /* by its own clock that was 159 s ago */
    ck_assert_ptr_null(obstacle(0, 0));
    scan.server[2].first_id = 0; /* not known */
    ck_assert_ptr_null(obstacle(0, 0));
    scan.server[0].clock -= 101 * THEMIS_NS_PER_S; /* it will be made */
    ck_assert_ptr_nonnull(obstacle(0, 0));
    end();
    begin();
    add_object(id_of(SERVERS, 100), 0); /* by no server of these */
    compare(0);
    ck_assert_ptr_nonnull(obstacle(0, 0));
    end();
}

TEST(what_is_found_twice_is_kept)
{
    begin();
    add_object(id_of(0, 100), 0);
    add_object(id_of(0, 101), 1);
    add_entry("/a", FILE_TYPE);
    add_entry("/b", FILE_TYPE);
    compare(0);
    earlier = findings;
    findings = (themis_tools_check_findings_t){0};
    themis_tools_check_scan_free(&scan);
    begin();
    add_object(id_of(0, 100), 0);
    add_object(id_of(0, 101), 2);
    add(themis_tools_check_line_object, 1, "%" PRIu64 " 1 5", id_of(0, 101)); /* it has changed */
    add_entry("/b", FILE_TYPE);
    add_entry("/c", FILE_TYPE);
    compare(0);
    ck_assert_uint_eq(findings.count, 5);
    themis_tools_check_findings_keep(&findings, &earlier);
    found(2, THEMIS_TOOLS_CHECK_ORPHAN, id_of(0, 100), 0, "");
    found(2, THEMIS_TOOLS_CHECK_NO_NAME, 0, home("/"), "/b");
    end();
}

TEST(answers_that_no_server_gives)
{
    static const char *const names[] = {"",
                                        "1",
                                        "1\t5 5 1 0 4096 /f",
                                        "1 5 5 1 0 4096  /f",
                                        " 1 5 5 1 0 4096 /f",
                                        "1 -5 5 1 0 4096 /f",
                                        "1 +5 5 1 0 4096 /f",
                                        "0 5 5 1 0 4096 /f",
                                        "4 5 5 1 0 4096 /f",
                                        "1 0 5 1 0 4096 /f",
                                        "1 5 5 0 0 4096 /f",
                                        "1 5 5 4 0 4096 /f",
                                        "1 5 5 4294967297 0 4096 /f",
                                        "1 5 5 1 3 4096 /f",
                                        "1 5 5 1 0 0 /f",
                                        "1 5 5 1 0 4095 /f",
                                        "1 18446744073709551616 5 1 0 4096 /f",
                                        "1 5 5 1 0 4096 f",
                                        "1 5 5 1 0 4096 /f g",
                                        "1 5 5 1 0 4096 /\033[31m",
                                        "1 5 5 1 0 4096 /\xc3\xa4",
                                        "1 5 5 1 0 4096 /%",
                                        "1 5 5 1 0 4096 /%4",
                                        "1 5 5 1 0 4096 /%41",
                                        "1 5 5 1 0 4096 /%zz",
                                        "1 5 5 1 0 4096 /%00"};
    static const char *const entries[] = {"1 /", "1\t/ f", "1 f g", "1 / ", "1 / f g", "1 / a/b", "9 / f", "/ f"};
    static const char *const objects[] = {"x", "1 2", "1 2 3 4", "0 2 3", "1 9223372036854775808 3", "0", "1\t2\t3"};
    static const char *const servers[] = {"", "1 2 3 4 5", "1 2 3 4 5 6 7", "1 2 3 4 5 x"};
    themis_tools_check_server_t server;

    begin();
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        ck_assert_msg(take(themis_tools_check_line_name, 0, names[i]) == THEMIS_PROTOCOL, "%s", names[i]);
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        ck_assert_msg(take(themis_tools_check_line_entry, 0, entries[i]) == THEMIS_PROTOCOL, "%s", entries[i]);
    for (size_t i = 0; i < sizeof objects / sizeof *objects; i++)
        ck_assert_msg(take(themis_tools_check_line_object, 0, objects[i]) == THEMIS_PROTOCOL, "%s", objects[i]);
    for (size_t i = 0; i < sizeof servers / sizeof *servers; i++)
        ck_assert_msg(themis_tools_check_line_server(servers[i], &server) == THEMIS_PROTOCOL, "%s", servers[i]);
    ck_assert_int_eq(take(themis_tools_check_line_moved, 0, "1 2"), THEMIS_PROTOCOL);
    ck_assert_uint_eq(scan.name_count + scan.entry_count + scan.object_count + scan.moved_count, 0);
    end();
}

/* A list that repeats itself would not end. */
TEST(lists_go_on)
{
    static themis_tools_check_list_t list;

    begin();
    list = (themis_tools_check_list_t){.scan = &scan};
    ck_assert_int_eq(themis_tools_check_line_name(&list, "1 5 5 1 0 4096 /a"), THEMIS_OK);
    ck_assert_int_eq(themis_tools_check_line_name(&list, "1 5 5 1 0 4096 /a%20b"), THEMIS_OK);
    ck_assert_str_eq(list.after, "/a%20b");
    ck_assert_int_eq(themis_tools_check_line_name(&list, "1 5 5 1 0 4096 /a!b"), THEMIS_OK); /* '!' is after ' ' */
    ck_assert_int_eq(themis_tools_check_line_name(&list, "1 5 5 1 0 4096 /a!b"), THEMIS_PROTOCOL);
    ck_assert_int_eq(themis_tools_check_line_name(&list, "1 5 5 1 0 4096 /a!"), THEMIS_PROTOCOL);
    list = (themis_tools_check_list_t){.scan = &scan};
    ck_assert_int_eq(themis_tools_check_line_entry(&list, "1 /a x"), THEMIS_OK);
    ck_assert_int_eq(themis_tools_check_line_entry(&list, "1 /a%01 b"), THEMIS_OK);
    ck_assert_str_eq(list.after, "/a%01 b");
    ck_assert_int_eq(themis_tools_check_line_entry(&list, "1 /a y"), THEMIS_PROTOCOL);
    list = (themis_tools_check_list_t){.scan = &scan};
    ck_assert_int_eq(themis_tools_check_line_object(&list, "7"), THEMIS_OK);
    ck_assert_int_eq(themis_tools_check_line_object(&list, "7"), THEMIS_PROTOCOL);
    ck_assert_int_eq(themis_tools_check_line_object(&list, "18446744073709551615"), THEMIS_OK);
    ck_assert(list.position == UINT64_MAX);
    end();
}

int main(void)
{
    Suite *suite = suite_create("check");

    test_case(suite, "compare", 30, NULL, NULL,
              TESTS({nothing_is_wrong, 1}, {of_two_names_the_newest_stays, 1},
                    {a_doubled_name_without_an_entry_is_one_finding, 1}, {entries_and_names, 1},
                    {a_name_on_another_server_than_its_home, 1}, {objects_without_a_name_count_when_they_are_old, 1},
                    {a_link_leads_to_no_object, 1}, {a_server_without_an_object, 1},
                    {an_object_outside_of_the_layout, 1}, {what_gets_another_name_is_left, 1},
                    {names_that_a_server_may_have_lost, 1}, {what_is_found_twice_is_kept, 1}));
    test_case(suite, "answers", 30, NULL, NULL, TESTS({answers_that_no_server_gives, 1}, {lists_go_on, 1}));
    return test_run(suite);
}
