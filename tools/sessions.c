/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/command.h"
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char scheme[] = "themis:";

static void tell(const themis_tools_command_t *self, const char *format, va_list list)
{
    char text[1024];

    vsnprintf(text, sizeof text, format, list);
    fprintf(stderr, "themis %s: %s\n", self->name, text);
}

int themis_tools_complain(const themis_tools_command_t *self, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    tell(self, format, list);
    va_end(list);
    return THEMIS_TOOLS_FAILED;
}

int themis_tools_misused(const themis_tools_command_t *self, const char *format, ...)
{
    va_list list;

    va_start(list, format);
    tell(self, format, list);
    va_end(list);
    return THEMIS_TOOLS_USAGE;
}

int themis_tools_failed(const themis_tools_command_t *self)
{
    return themis_tools_complain(self, "%s", themis_last_error());
}

static void print_usage(const themis_tools_command_t *self, FILE *out)
{
    fprintf(out, "usage: themis %s %s\n%s\n", self->name, self->usage, self->summary);
    if (self->options)
        fputs(self->options, out);
}

int themis_tools_usage(const themis_tools_command_t *self)
{
    print_usage(self, stderr);
    return THEMIS_TOOLS_USAGE;
}

/* --- options ------------------------------------------------------------------------------------------------------ */

static const themis_tools_option_t *find_long(const themis_tools_option_t *options, const char *name, size_t length)
{
    for (; options->flag || options->text; options++)
        if (options->name && strlen(options->name) == length && strncmp(options->name, name, length) == 0)
            return options;
    return NULL;
}

static const themis_tools_option_t *find_letter(const themis_tools_option_t *options, char letter)
{
    for (; options->flag || options->text; options++)
        if (options->letter == letter)
            return options;
    return NULL;
}

/* Takes option `option`, whose value is `value` or else the next argument. Returns how many arguments more it took. */
static int take(const themis_tools_command_t *self, const themis_tools_option_t *option, const char *given,
                const char *value, const char *next)
{
    if (!option) {
        themis_tools_complain(self, "unknown option %s", given);
        return -1;
    }
    if (option->flag && !value) {
        *option->flag = 1;
        return 0;
    }
    if (option->flag || (!value && !next)) {
        themis_tools_complain(self, "option %s %s", given, option->flag ? "takes no value" : "needs a value");
        return -1;
    }
    *option->text = value ? value : next;
    return value ? 0 : 1;
}

static int take_long(const themis_tools_command_t *self, const themis_tools_option_t *options, const char *argument,
                     const char *next)
{
    const char *name = argument + 2, *equals = strchr(name, '=');
    size_t length = equals ? (size_t)(equals - name) : strlen(name);

    return take(self, find_long(options, name, length), argument, equals ? equals + 1 : NULL, next);
}

static int take_letters(const themis_tools_command_t *self, const themis_tools_option_t *options, const char *argument,
                        const char *next)
{
    for (const char *letter = argument + 1; *letter; letter++) {
        const themis_tools_option_t *option = find_letter(options, *letter);
        int with_value = option && option->text;
        int taken = take(self, option, argument, with_value && letter[1] ? letter + 1 : NULL, next);
        if (taken < 0 || with_value)
            return taken;
    }
    return 0;
}

int themis_tools_options(const themis_tools_command_t *self, int argc, char **argv,
                         const themis_tools_option_t *options)
{
    int at = 1;

    for (; at < argc && argv[at][0] == '-' && argv[at][1]; at++) {
        const char *next = at + 1 < argc ? argv[at + 1] : NULL;
        if (strcmp(argv[at], "--") == 0)
            return at + 1;
        int more =
            argv[at][1] == '-' ? take_long(self, options, argv[at], next) : take_letters(self, options, argv[at], next);
        if (more < 0)
            return -1;
        at += more;
    }
    return at;
}

/* --- sessions ----------------------------------------------------------------------------------------------------- */

/* One for each server list that was named; a tool runs in one thread and names few. */
typedef struct known {
    char *servers; /* "": the default */
    themis_t *session;
    struct known *next;
} known_t;

static known_t *all_known;

int themis_tools_session(const themis_tools_command_t *self, const char *servers, themis_t **session)
{
    const char *key = servers ? servers : "";
    themis_options_t options;
    known_t *known = all_known;

    while (known && strcmp(known->servers, key) != 0)
        known = known->next;
    if (known) {
        *session = known->session;
        return THEMIS_TOOLS_OK;
    }
    themis_options_init(&options);
    options.servers = servers;
    known = calloc(1, sizeof *known);
    if (known)
        known->servers = strdup(key);
    if (!known || !known->servers || themis_connect(&options, &known->session) != THEMIS_OK) {
        themis_tools_complain(self, "%s", known && known->servers ? themis_last_error() : "out of memory");
        free(known ? known->servers : NULL);
        free(known);
        return THEMIS_TOOLS_FAILED;
    }
    known->next = all_known;
    all_known = known;
    *session = known->session;
    return THEMIS_TOOLS_OK;
}

void themis_tools_close(void)
{
    while (all_known) {
        known_t *known = all_known;
        all_known = known->next;
        themis_disconnect(known->session);
        free(known->servers);
        free(known);
    }
}

/* Whether server `index` of both is one. THEMIS_OK, or why one of them did not say. */
static themis_status_t compare_server(themis_t *a, themis_t *b, uint32_t index, int *same)
{
    char *text_a = NULL, *text_b = NULL;
    themis_status_t status = themis_query(a, index, "instance", &text_a);

    if (status == THEMIS_OK && (status = themis_query(b, index, "instance", &text_b)) == THEMIS_OK)
        *same = strcmp(text_a, text_b) == 0;
    free(text_a);
    free(text_b);
    return status;
}

/* A list has all servers of its file system in their order, so only those of one number can be the same. */
static int compare_servers(const themis_tools_command_t *self, themis_t *a, themis_t *b, int *same)
{
    themis_session_info_t info_a, info_b;
    uint32_t told = 0;
    int found = 0;

    if (themis_session_info(a, &info_a) != THEMIS_OK || themis_session_info(b, &info_b) != THEMIS_OK)
        return themis_tools_failed(self);
    for (uint32_t i = 0; info_a.servers == info_b.servers && i < info_a.servers && !found; i++)
        told += compare_server(a, b, i, &found) == THEMIS_OK;
    if (info_a.servers == info_b.servers && told == 0)
        return themis_tools_complain(self, "cannot tell whether %s and %s are the same servers: %s", info_a.server_list,
                                     info_b.server_list, themis_last_error());
    *same = found;
    return THEMIS_TOOLS_OK;
}

int themis_tools_same_servers(const themis_tools_command_t *self, themis_t *a, themis_t *b, int *same)
{
    static struct {
        themis_t *a, *b;
        int same;
    } last; /* trees are asked about again and again */

    if (a == b) {
        *same = 1;
        return THEMIS_TOOLS_OK;
    }
    if (last.a != a || last.b != b) {
        int answer = 0, result = compare_servers(self, a, b, &answer);
        if (result != THEMIS_TOOLS_OK)
            return result;
        last.a = a;
        last.b = b;
        last.same = answer;
    }
    *same = last.same;
    return THEMIS_TOOLS_OK;
}

int themis_tools_is_remote(const char *text)
{
    return strncmp(text, scheme, sizeof scheme - 1) == 0;
}

int themis_tools_resolve(const themis_tools_command_t *self, const char *text, themis_t **session, const char **path)
{
    const char *rest = text + sizeof scheme - 1;

    if (!themis_tools_is_remote(text))
        return themis_tools_complain(self, "%s: not a themis:/path", text);
    if (strncmp(rest, "//", 2) != 0) {
        *path = *rest ? rest : "/";
        return themis_tools_session(self, NULL, session);
    }
    const char *slash = strchr(rest + 2, '/');
    char *servers = strndup(rest + 2, slash ? (size_t)(slash - rest - 2) : strlen(rest + 2));
    if (!servers)
        return themis_tools_complain(self, "out of memory");
    *path = slash ? slash : "/";
    int status = themis_tools_session(self, servers, session);
    free(servers);
    return status;
}
