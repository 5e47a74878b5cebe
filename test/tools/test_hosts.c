/* SPDX-License-Identifier: BSD-3-Clause */
#include <check.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "test/lib/run.h"
#include "tools/command.h"
#include "tools/hosts.h"
#include "tools/launcher.h"
#include "tools/lines.h"

/* What the tool prints is looked at in test/tool_hosts.sh; here only the results. */
int themis_tools_say(int result, const char *format, ...)
{
    (void)format;
    return result;
}
int themis_tools_error_errno(const char *what)
{
    (void)what;
    return THEMIS_TOOLS_FAILED;
}

/* All names, joined by blanks. */
static const char *joined(const themis_tools_hosts_t *hosts)
{
    static char text[4096];

    text[0] = '\0';
    for (int i = 0; i < hosts->count; i++)
        snprintf(text + strlen(text), sizeof text - strlen(text), "%s%s", i ? " " : "", hosts->names[i]);
    return text;
}

static const struct {
    const char *list, *names; /* NULL: refused */
} lists[] = {
    {"a", "a"},
    {"a,b.example.org,c", "a b.example.org c"},
    {"n[0-3]", "n0 n1 n2 n3"},
    {"n[08-11],m", "n08 n09 n10 n11 m"},
    {"n[1,3,5-6]x,n2x", "n1x n3x n5x n6x n2x"},
    {"r[0-1]n[0-1]", "r0n0 r0n1 r1n0 r1n1"},
    {"a,a,b,a", "a b"},
    {"n[0001-0002]", "n0001 n0002"},
    {"", NULL},
    {"n[", NULL},
    {"n[]", NULL},
    {"n[3-1]", NULL},
    {"n[1-]", NULL},
    {"n[a]", NULL},
    {"n[0-9999999]", NULL},
    {"n[0-99999999999999999999]", NULL},
    {"-oProxyCommand=x", NULL},
    {"a;b", NULL},
    {"a b", NULL},
};

TEST(lists_are_expanded)
{
    themis_tools_hosts_t hosts = {.count = 0};
    int result = themis_tools_hosts_parse(lists[_i].list, &hosts);

    ck_assert_int_eq(result == 0, lists[_i].names != NULL);
    if (lists[_i].names)
        ck_assert_str_eq(joined(&hosts), lists[_i].names);
    themis_tools_hosts_free(&hosts);
}

TEST(files_name_a_host_a_line)
{
    static const char text[] = "# cores\n\nn0 slots=4\nn0\nn1:8\n  n2\r\nn1\n";
    char path[] = "/tmp/themis-test-hosts.XXXXXX";
    themis_tools_hosts_t hosts = {.count = 0};
    int fd = mkstemp(path);

    ck_assert_int_eq(write(fd, text, sizeof text - 1), sizeof text - 1);
    close(fd);
    ck_assert_int_eq(themis_tools_hosts_find(path, &hosts), 0);
    ck_assert_str_eq(joined(&hosts), "n0 n1 n2");
    themis_tools_hosts_free(&hosts);
    setenv("PBS_NODEFILE", path, 1);
    ck_assert_int_eq(themis_tools_hosts_find(NULL, &hosts), 0);
    ck_assert_str_eq(hosts.source, "PBS");
    ck_assert_str_eq(joined(&hosts), "n0 n1 n2");
    themis_tools_hosts_free(&hosts);
    setenv("SLURM_JOB_NODELIST", "c[1-2]", 1);
    ck_assert_int_eq(themis_tools_hosts_find(NULL, &hosts), 0);
    ck_assert_str_eq(joined(&hosts), "c1 c2");
    themis_tools_hosts_free(&hosts);
    unlink(path);
}

static const char *launched(const char *launcher, const char *program)
{
    static char text[1024];
    char *names[] = {(char[]){"n0"}, (char[]){"n7"}};
    const themis_tools_hosts_t hosts = {.names = names, .count = 2};
    themis_tools_launcher_command_t command;

    text[0] = '\0';
    if (themis_tools_launcher_build(launcher, &hosts, 1, (const char *[]){program, "agent"}, &command) == 0)
        for (int i = 0; i < command.count; i++)
            snprintf(text + strlen(text), sizeof text - strlen(text), "<%s>", command.words[i]);
    themis_tools_launcher_free(&command);
    return text;
}

TEST(launchers_get_host_and_program)
{
    ck_assert_str_eq(launched("mpirun", "/p q/themis"), "<mpirun><-n><1><-host><n7></p q/themis><agent>");
    ck_assert_str_eq(launched("flux", "/p"), "<flux><exec><-r><1></p><agent>");
    ck_assert_str_eq(launched("  rsh  -x ", "/p"), "<rsh><-x><n7></p><agent>");
    /* a shell on the other side sees one word */
    ck_assert_str_eq(launched("rsh", "/p q/it's"), "<rsh><n7><'/p q/it'\\''s'><agent>");
    ck_assert_ptr_nonnull(strstr(launched("ssh", "/p"), "<n7></p><agent>"));
    ck_assert_ptr_nonnull(strstr(launched("srun", "/p"), "<--nodelist=n7>"));
    ck_assert_ptr_nonnull(strstr(launched("srun", "/p"), "<--overlap>"));
    ck_assert_str_eq(launched("", "/p"), "");
}

TEST(lines_come_whole)
{
    themis_tools_lines_t lines;
    int ends[2];

    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(themis_tools_lines_init(&lines, ends[0]), 0);
    ck_assert_ptr_null(themis_tools_lines_next(&lines));
    ck_assert_int_eq(write(ends[1], "one\ntw", 6), 6);
    ck_assert_str_eq(themis_tools_lines_next(&lines), "one");
    ck_assert_ptr_null(themis_tools_lines_next(&lines));
    ck_assert_int_eq(lines.ended, 0);
    ck_assert_int_eq(write(ends[1], "o\n\nend", 6), 6);
    ck_assert_str_eq(themis_tools_lines_next(&lines), "two");
    ck_assert_str_eq(themis_tools_lines_next(&lines), "");
    close(ends[1]);
    ck_assert_ptr_null(themis_tools_lines_next(&lines));
    ck_assert_ptr_null(themis_tools_lines_next(&lines));
    ck_assert_int_eq(lines.ended, 1);
    themis_tools_lines_free(&lines);
    close(ends[0]);
}

/* Who writes without ever ending a line gets no more memory than a line may have. */
TEST(endless_lines_end_it)
{
    themis_tools_lines_t lines;
    char block[4096];
    int ends[2];

    memset(block, 'x', sizeof block);
    ck_assert_int_eq(pipe(ends), 0);
    ck_assert_int_eq(themis_tools_lines_init(&lines, ends[0]), 0);
    for (int i = 0; i < 2 * THEMIS_TOOLS_LINE_BYTES / (int)sizeof block && !lines.ended; i++) {
        ck_assert_int_eq(write(ends[1], block, sizeof block), sizeof block);
        ck_assert_ptr_null(themis_tools_lines_next(&lines));
    }
    ck_assert_int_eq(lines.ended, 1);
    themis_tools_lines_free(&lines);
    close(ends[0]);
    close(ends[1]);
}

TEST(keys_go_through_text)
{
    const unsigned char key[4] = {0x00, 0x7f, 0xa0, 0xff};
    unsigned char back[4];
    char text[9];

    themis_tools_hex_write(key, sizeof key, text);
    ck_assert_str_eq(text, "007fa0ff");
    ck_assert_int_eq(themis_tools_hex_read(text, back, sizeof back), 0);
    ck_assert_mem_eq(key, back, sizeof key);
    ck_assert_int_eq(themis_tools_hex_read("007fa0", back, sizeof back), -1);
    ck_assert_int_eq(themis_tools_hex_read("007fa0fg", back, sizeof back), -1);
}

int main(void)
{
    Suite *suite = suite_create("hosts");

    test_case(suite, "hosts", 20, NULL, NULL,
              TESTS({lists_are_expanded, sizeof lists / sizeof *lists}, {files_name_a_host_a_line, 1},
                    {launchers_get_host_and_program, 1}, {lines_come_whole, 1}, {endless_lines_end_it, 1},
                    {keys_go_through_text, 1}));
    return test_run(suite);
}
