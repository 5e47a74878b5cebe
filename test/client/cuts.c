/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * cuts cut: for each operation on names, processes that end before the first, the second, ... message of it, each with
 * names of its own. It is linked so that it sees the client library's messages (--wrap).
 * cuts late: clients that stop in the middle of a rename for longer than servers wait for them.
 * cuts verify SECONDS: waits that long at most until every operation is done or undone as a whole: no object has two
 * names, no entry that had a name is without it, and the servers have no objects beyond those of the files. Then
 * removes everything, after which they have none at all.
 */
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include "client/namespace.h"
#include "net/net.h"
#include "proto/proto.h"
#include "themis/themis.h"
#include "util/clock.h"

enum { STRIPE = 4096, MAX_CUTS = 40, MAX_FILES = 4096, COMPLETE = 0, CUT = 3, LATE_S = 18 };

static themis_t *session;
static uint32_t servers;

/* --- cutting ------------------------------------------------------------------------------------------------------ */

static int armed, messages_left, stops;

themis_status_t __real_themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length);
themis_status_t __wrap_themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length);

/* Ends the process instead of the message whose turn it is; heartbeats and the like do not count. */
themis_status_t __wrap_themis_net_send(themis_net_conn_t *conn, const void *bytes, size_t length)
{
    themis_proto_header_t header;

    if (armed && themis_proto_decode_header(bytes, length, &header) == THEMIS_OK && header.opcode >= THEMIS_OP_LOOKUP &&
        header.opcode < THEMIS_OP_STATUS && messages_left-- == 0)
        _exit(CUT);
    if (stops && themis_proto_decode_header(bytes, length, &header) == THEMIS_OK && header.opcode == THEMIS_OP_REMOVE) {
        stops = 0;
        sleep(LATE_S);
    }
    return __real_themis_net_send(conn, bytes, length);
}

/* --- files -------------------------------------------------------------------------------------------------------- */

static void must(themis_status_t status, const char *what)
{
    if (status == THEMIS_OK)
        return;
    fprintf(stderr, "%s: %s\n", what, themis_last_error());
    exit(1);
}

static void connect_servers(void)
{
    must(themis_connect(NULL, &session), "connect");
    servers = 1;
    for (const char *at = getenv("THEMIS_SERVERS"); at && (at = strchr(at, ',')); at++)
        servers++;
}

/* A stripe of the letter on each server. */
static void file_write(const char *path, char letter)
{
    const themis_layout_t layout = {.stripe_size = STRIPE, .count = servers, .first = UINT32_MAX};
    size_t bytes = (size_t)STRIPE * servers, done;
    char *content = malloc(bytes);
    themis_file_t *file;

    memset(content, letter, bytes);
    must(themis_open(session, path, THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, &layout, &file), path);
    must(themis_write(file, content, bytes, 0, &done), path);
    must(themis_close(file), path);
    free(content);
}

/* The letter of a file that is whole, 'l' for a symbolic link, '-' for nothing, '?' for anything else. */
static char content_of(const char *path)
{
    size_t bytes = (size_t)STRIPE * servers, done = 0;
    themis_stat_t stat;
    themis_file_t *file;
    themis_status_t status = themis_lstat(session, path, &stat);

    if (status == THEMIS_NO_ENTRY)
        return '-';
    if (status != THEMIS_OK)
        return '?';
    if (stat.type == THEMIS_TYPE_SYMLINK)
        return 'l';
    if (stat.size == 0)
        return '0';
    char *content = malloc(bytes + 1), letter = '?';
    if (stat.size == bytes && themis_open(session, path, THEMIS_OPEN_READ, 0, NULL, &file) == THEMIS_OK) {
        if (themis_read(file, content, bytes, 0, &done) == THEMIS_OK && done == bytes)
            letter = content[0];
        for (size_t i = 0; i < done; i++)
            letter = content[i] == letter ? letter : '?';
        themis_close(file);
    }
    free(content);
    return letter;
}

/* --- operations --------------------------------------------------------------------------------------------------- */

/* "/NAME-CUT" has the files "from" and "other/to", or some of them: what they have at first, and what they may have
 * afterwards. */
typedef struct operation {
    const char *name;
    const char *before;
    const char *after[3]; /* one of them */
    themis_status_t (*act)(const char *from, const char *to);
} operation_t;

static themis_status_t act_rename(const char *from, const char *to)
{
    return themis_rename(session, from, to);
}

static themis_status_t act_remove(const char *from, const char *to)
{
    (void)to;
    return themis_unlink(session, from);
}

static themis_status_t act_layout(const char *from, const char *to)
{
    const themis_layout_t layout = {.stripe_size = 2 * STRIPE, .count = 1, .first = UINT32_MAX};

    (void)to;
    return themis_set_layout(session, from, &layout);
}

static themis_status_t act_create(const char *from, const char *to)
{
    themis_file_t *file;
    themis_status_t status =
        themis_open(session, to, THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE | THEMIS_OPEN_EXCLUSIVE, 0644, NULL, &file);

    (void)from;
    return status == THEMIS_OK ? themis_close(file) : status;
}

static themis_status_t act_link(const char *from, const char *to)
{
    (void)from;
    return themis_symlink(session, "target", to);
}

static const operation_t operations[] = {
    {"rename", "A-", {"A-", "-A"}, act_rename},      {"replace", "AB", {"AB", "-A"}, act_rename},
    {"remove", "A-", {"A-", "--"}, act_remove},      {"rename-link", "l-", {"l-", "-l"}, act_rename},
    {"link-over", "lB", {"lB", "-l"}, act_rename},   {"over-link", "Al", {"Al", "-A"}, act_rename},
    {"remove-link", "l-", {"l-", "--"}, act_remove}, {"layout", "0-", {"--"}, act_layout},
    {"create", "--", {"--", "-0"}, act_create},      {"link", "--", {"--", "-l"}, act_link}};
enum { OPERATIONS = sizeof operations / sizeof *operations };

typedef struct paths {
    char directory[64], other[80], from[80], to[96];
} paths_t;

static paths_t paths_of(const operation_t *operation, int cut)
{
    paths_t paths;

    snprintf(paths.directory, sizeof paths.directory, "/%s-%d", operation->name, cut);
    snprintf(paths.other, sizeof paths.other, "%s/other", paths.directory);
    snprintf(paths.from, sizeof paths.from, "%s/from", paths.directory);
    snprintf(paths.to, sizeof paths.to, "%s/to", paths.other);
    return paths;
}

static void make(const char *path, char content)
{
    themis_file_t *file;

    if (content == 'l')
        must(themis_symlink(session, "target", path), path);
    if (content == '0' || (content >= 'A' && content <= 'Z'))
        file_write(path, content);
    if (content != '0')
        return;
    must(themis_open(session, path, THEMIS_OPEN_WRITE, 0, NULL, &file), path);
    must(themis_truncate(file, 0), path);
    must(themis_close(file), path);
}

/* Returns how the process ended. */
static int cut_once(const operation_t *operation, int cut)
{
    const paths_t paths = paths_of(operation, cut);
    int status;
    pid_t child = fork();

    if (child == 0) {
        connect_servers();
        must(themis_mkdir(session, paths.directory, 0755), paths.directory);
        must(themis_mkdir(session, paths.other, 0755), paths.other);
        make(paths.from, operation->before[0]);
        make(paths.to, operation->before[1]);
        messages_left = cut;
        armed = 1;
        must(operation->act(paths.from, paths.to), paths.directory);
        _exit(COMPLETE);
    }
    if (waitpid(child, &status, 0) != child || !WIFEXITED(status))
        return -1;
    return WEXITSTATUS(status);
}

static int cut_all(void)
{
    for (int i = 0; i < OPERATIONS; i++) {
        int cut = 0, status;
        while ((status = cut_once(&operations[i], cut)) == CUT && cut < MAX_CUTS)
            cut++;
        if (status != COMPLETE || cut == 0) {
            fprintf(stderr, "%s: ended with %d before message %d\n", operations[i].name, status, cut);
            return 1;
        }
        printf("%s: %d messages\n", operations[i].name, cut);
    }
    return 0;
}

/* --- verifying ---------------------------------------------------------------------------------------------------- */

static uint64_t ids[MAX_FILES];
static size_t id_count;
static uint64_t objects_expected;
static int wrong, loud;

__attribute__((format(printf, 1, 2))) static void complain(const char *format, ...)
{
    va_list arguments;

    wrong = 1;
    if (!loud)
        return;
    va_start(arguments, format);
    vprintf(format, arguments);
    va_end(arguments);
    putchar('\n');
}

static void note_object(const char *path)
{
    themis_stat_t stat;

    if (themis_lstat(session, path, &stat) != THEMIS_OK || stat.id == 0)
        return;
    for (size_t i = 0; i < id_count; i++)
        if (ids[i] == stat.id)
            complain("%s: object %" PRIx64 " has two names", path, stat.id);
    if (id_count < MAX_FILES)
        ids[id_count++] = stat.id;
    objects_expected += stat.type == THEMIS_TYPE_FILE && stat.size > 0;
}

static int check_entry(void *arg, const char *name, themis_type_t type)
{
    char path[256];
    themis_stat_t stat;

    (void)type;
    snprintf(path, sizeof path, "%s/%s", (const char *)arg, name);
    /* "to" may never have had a name; such an entry is removed with its directory */
    if (strcmp(name, "to") != 0 && themis_lstat(session, path, &stat) == THEMIS_NO_ENTRY)
        complain("%s: an entry without a name", path);
    return 0;
}

static void verify_one(const operation_t *operation, int cut)
{
    paths_t paths = paths_of(operation, cut);
    const char found[] = {content_of(paths.from), content_of(paths.to), 0};
    int known = 0;

    for (int i = 0; i < 3 && operation->after[i]; i++)
        known |= strcmp(operation->after[i], found) == 0;
    if (!known)
        complain("%s: from and to are %s", paths.directory, found);
    themis_readdir(session, paths.directory, check_entry, paths.directory);
    themis_readdir(session, paths.other, check_entry, paths.other);
    note_object(paths.from);
    note_object(paths.to);
}

static uint64_t objects_of(uint32_t server)
{
    char *text;

    must(themis_query(session, server, "server", &text), "query");
    const char *at = strstr(text, "\"objects\":");
    uint64_t count = at ? strtoull(at + strlen("\"objects\":"), NULL, 10) : UINT64_MAX;
    free(text);
    return count;
}

static int is_there(const operation_t *operation, int cut)
{
    themis_stat_t stat;

    return themis_lstat(session, paths_of(operation, cut).directory, &stat) == THEMIS_OK;
}

static int look(int is_last)
{
    wrong = 0;
    loud = is_last;
    id_count = 0;
    objects_expected = 0;
    for (int i = 0; i < OPERATIONS; i++)
        for (int cut = 0; is_there(&operations[i], cut); cut++)
            verify_one(&operations[i], cut);
    for (uint32_t server = 0; server < servers; server++)
        if (objects_of(server) != objects_expected)
            complain("server %u: %" PRIu64 " objects of %" PRIu64 " files", server, objects_of(server),
                     objects_expected);
    return !wrong;
}

static void remove_all(const operation_t *operation, int cut)
{
    const paths_t paths = paths_of(operation, cut);

    themis_unlink(session, paths.from);
    themis_unlink(session, paths.to);
    must(themis_rmdir(session, paths.other), paths.other);
    must(themis_rmdir(session, paths.directory), paths.directory);
}

/* Removes empty files: which objects they have depends on the cut, but none without them. */
static int remove_empty(const operation_t *operation)
{
    for (int cut = 0; is_there(operation, cut); cut++) {
        const paths_t paths = paths_of(operation, cut);
        if (content_of(paths.from) != '0') {
            printf("%s is not an empty file\n", paths.from);
            return 0;
        }
        must(themis_unlink(session, paths.from), paths.from);
    }
    return 1;
}

static int verify(unsigned seconds)
{
    uint64_t until = themis_util_clock_now() + seconds * THEMIS_NS_PER_S;

    connect_servers();
    for (int i = 0; i < OPERATIONS; i++)
        if (operations[i].before[0] == '0' && !remove_empty(&operations[i]))
            return 1;
    while (!look(0) && themis_util_clock_now() < until)
        usleep(200000);
    if (!look(1))
        return 1;
    for (int i = 0; i < OPERATIONS; i++)
        for (int cut = 0; is_there(&operations[i], cut); cut++)
            remove_all(&operations[i], cut);
    for (uint32_t server = 0; server < servers; server++)
        if (objects_of(server) != 0)
            complain("server %u: %" PRIu64 " objects without files", server, objects_of(server));
    return wrong;
}

/* --- races -------------------------------------------------------------------------------------------------------- */

enum { RACES = 60, RIVALS = 3 };

static void rival(int index, int race)
{
    char from[64], to[64];

    snprintf(from, sizeof from, "/race-%d", race);
    snprintf(to, sizeof to, "/race-%d-%d", race, index);
    themis_status_t status = index == 0 && race % 2 ? themis_unlink(session, from) : themis_rename(session, from, to);
    if (status != THEMIS_OK && status != THEMIS_NO_ENTRY)
        fprintf(stderr, "%s to %s: %s\n", from, to, themis_last_error());
    _exit(status == THEMIS_OK ? 0 : status == THEMIS_NO_ENTRY ? 1 : 2);
}

/* Of those who want the name one succeeds. */
static void race_once(int race)
{
    char path[64];
    int status, succeeded = 0, left = 0;

    for (int i = 0; i < RIVALS; i++)
        if (fork() == 0) {
            connect_servers();
            rival(i, race);
        }
    for (int i = 0; i < RIVALS; i++) {
        wait(&status);
        if (!WIFEXITED(status) || WEXITSTATUS(status) > 1)
            complain("race %d: a rival ended with %x", race, (unsigned)status);
        succeeded += WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    if (succeeded != 1)
        complain("race %d: %d of %d have succeeded", race, succeeded, RIVALS);
    for (int i = 0; i < RIVALS; i++) {
        snprintf(path, sizeof path, "/race-%d-%d", race, i);
        char found = content_of(path);
        left += found != '-';
        if (found != '-' && found != 'R')
            complain("%s: is %c", path, found);
        themis_unlink(session, path);
    }
    if (left > 1)
        complain("race %d: %d names", race, left);
}

/* Two of three rename a file to one and the same name, the third removes it, or renames it to another: one of them
 * succeeds, and it has one name afterwards, or none if it was removed. */
static void rush_once(int race)
{
    char from[64], to[2][64];
    int status, outcomes[RIVALS] = {0};
    pid_t rivals[RIVALS];

    snprintf(from, sizeof from, "/rush-%d", race);
    snprintf(to[0], sizeof to[0], "/rush-%d-to", race);
    snprintf(to[1], sizeof to[1], "/rush-%d-other", race);
    for (int i = 0; i < RIVALS; i++)
        if ((rivals[i] = fork()) == 0) {
            connect_servers();
            themis_status_t ended = i > 0      ? themis_rename(session, from, to[0])
                                    : race % 2 ? themis_unlink(session, from)
                                               : themis_rename(session, from, to[1]);
            _exit(ended == THEMIS_OK ? 0 : ended == THEMIS_NO_ENTRY ? 1 : 2);
        }
    for (int i = 0; i < RIVALS; i++) {
        if (waitpid(rivals[i], &status, 0) != rivals[i] || !WIFEXITED(status) || WEXITSTATUS(status) > 1)
            complain("rush %d: rival %d ended with %x", race, i, (unsigned)status);
        outcomes[i] = WIFEXITED(status) && WEXITSTATUS(status) == 0;
    }
    const char found[] = {content_of(from), content_of(to[0]), content_of(to[1]), 0};
    const char *wanted = !outcomes[0] ? "-R-" : race % 2 ? "---" : "--R";
    if (outcomes[0] + outcomes[1] + outcomes[2] != 1 || strcmp(found, wanted) != 0)
        complain("rush %d: outcomes %d %d %d, and names %s", race, outcomes[0], outcomes[1], outcomes[2], found);
    themis_unlink(session, to[0]);
    themis_unlink(session, to[1]);
}

static int race_all(void)
{
    char path[64];

    loud = 1;
    connect_servers();
    for (int race = 0; race < RACES; race++) {
        snprintf(path, sizeof path, "/race-%d", race);
        file_write(path, 'R');
        snprintf(path, sizeof path, "/rush-%d", race);
        file_write(path, 'R');
    }
    for (int race = 0; race < RACES; race++)
        race_once(race);
    for (int race = 0; race < RACES; race++)
        rush_once(race);
    for (uint32_t server = 0; server < servers; server++)
        if (objects_of(server) != 0)
            complain("server %u: %" PRIu64 " objects without files", server, objects_of(server));
    return wrong;
}

/* --- late clients ------------------------------------------------------------------------------------------------- */

static pid_t late_begin(const char *from, const char *to)
{
    pid_t child = fork();

    if (child == 0) {
        connect_servers();
        file_write(from, 'A');
        file_write(to, 'B');
        stops = 1;
        themis_status_t status = themis_rename(session, from, to);
        _exit(status == THEMIS_OK ? 0 : status == THEMIS_NO_ENTRY ? 1 : 2);
    }
    return child;
}

static void late_end(pid_t child, int expected, const char *from, const char *to, char content)
{
    int status;

    if (waitpid(child, &status, 0) != child || !WIFEXITED(status) || WEXITSTATUS(status) != expected)
        complain("%s: the late client ended with %x", from, (unsigned)status);
    if (content_of(from) != '-' || content_of(to) != content)
        complain("%s and %s are %c and %c", from, to, content_of(from), content_of(to));
    themis_unlink(session, to);
}

/* Servers settle a rename at once when the new name is opened, so it is only looked at. */
static int have_one_object(const char *one, const char *other)
{
    themis_stat_t first, second;

    return themis_lstat(session, one, &first) == THEMIS_OK && themis_lstat(session, other, &second) == THEMIS_OK &&
           first.id == second.id;
}

/* The servers complete one rename; the other one is taken back, as somebody removes the file. */
static int late_all(void)
{
    loud = 1;
    pid_t complete = late_begin("/late-a", "/late-b"), undone = late_begin("/late-c", "/late-d");
    connect_servers();
    for (int i = 0; i < 500 && !have_one_object("/late-c", "/late-d"); i++)
        usleep(10000);
    if (themis_unlink(session, "/late-c") != THEMIS_OK)
        complain("/late-c: %s", themis_last_error());
    late_end(complete, 0, "/late-a", "/late-b", 'A');
    late_end(undone, 1, "/late-c", "/late-d", 'B');
    return wrong;
}

/* --- what is to be mended ----------------------------------------------------------------------------------------- */

/* An object without a name. */
static void orphan_make(void)
{
    themis_proto_attr_t attr;

    file_write("/orphan", 'B');
    must(themis_client_namespace_lookup(session, "/orphan", THEMIS_PROTO_RIGHT_RENAME, &attr), "/orphan");
    must(themis_client_namespace_remove_renamed(session, "/orphan", "/none", &attr, 1), "/orphan");
}

static int break_all(void)
{
    const themis_proto_entry_t entry = {{"/", 1}, {"unlisted", 8}, THEMIS_PROTO_FILE};
    themis_proto_attr_t attr, old;
    themis_proto_body_t reply;

    connect_servers();
    file_write("/one", 'A');
    must(themis_client_namespace_lookup(session, "/one", THEMIS_PROTO_RIGHT_RENAME, &attr), "/one");
    must(themis_client_namespace_create_extra(session, "/two", THEMIS_PROTO_CREATE_ADOPT, &attr, NULL, &old), "/two");
    orphan_make();
    must(themis_client_namespace_check_change(session, "/no name", THEMIS_PROTO_FILE), "/no name");
    file_write("/unlisted", 'C');
    must(themis_client_call_ask(&session->calls, themis_client_namespace_home(session, "/"), THEMIS_OP_ENTRY_REMOVE,
                                &entry, "/", &reply),
         "/unlisted");
    file_write("/whole", 'D');
    return 0;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "break") == 0)
        return break_all();
    if (argc == 2 && strcmp(argv[1], "orphan") == 0) {
        connect_servers();
        orphan_make();
        return 0;
    }
    if (argc == 2 && strcmp(argv[1], "race") == 0)
        return race_all();
    if (argc == 2 && strcmp(argv[1], "late") == 0)
        return late_all();
    if (argc == 2 && strcmp(argv[1], "cut") == 0)
        return cut_all();
    if (argc == 3 && strcmp(argv[1], "verify") == 0)
        return verify((unsigned)atoi(argv[2]));
    fprintf(stderr, "usage: cuts break | cuts cut | cuts late | cuts orphan | cuts race | cuts verify SECONDS\n");
    return 2;
}
