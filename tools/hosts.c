/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/hosts.h"
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/array.h"
#include "tools/command.h"
#include "util/config.h"

enum { NAME_BYTES = 256, LINE_BYTES = 4096, LIST_BYTES = 1 << 20, MAX_DIGITS = 9 };

static int is_known(const themis_tools_hosts_t *hosts, const char *name)
{
    for (int i = hosts->count - 1; i >= 0; i--) /* a file names a host once for each of its cores, mostly in a row */
        if (strcmp(hosts->names[i], name) == 0)
            return 1;
    return 0;
}

/* A name goes to a launcher as an argument, so it must not look like an option. */
static int is_name(const char *name)
{
    if (!isalnum((unsigned char)*name))
        return 0;
    for (; *name; name++)
        if (!isalnum((unsigned char)*name) && !strchr("-._", *name))
            return 0;
    return 1;
}

static int host_add(themis_tools_hosts_t *hosts, const char *name)
{
    if (!is_name(name))
        return themis_tools_misuse("'%s' is not the name of a host", name);
    if (is_known(hosts, name))
        return THEMIS_TOOLS_OK;
    if (hosts->count == THEMIS_TOOLS_MAX_HOSTS)
        return themis_tools_misuse("more than %d hosts", THEMIS_TOOLS_MAX_HOSTS);
    char **names = themis_tools_array_room(hosts->names, (size_t)hosts->count, &hosts->capacity, sizeof *names);
    if (!names)
        return themis_tools_error("out of memory");
    hosts->names = names;
    char *copy = strdup(name);
    if (!copy)
        return themis_tools_error("out of memory");
    hosts->names[hosts->count++] = copy;
    return THEMIS_TOOLS_OK;
}

/* --- lists -------------------------------------------------------------------------------------------------------- */

static int names_expand(const char *name, themis_tools_hosts_t *hosts);

/* "07-12" or "3": at least as many digits as the first number has. */
typedef struct range {
    long first, last;
    int digits;
} range_t;

/* Reads one range; returns what follows it, or NULL. */
static const char *range_read(const char *text, range_t *range)
{
    int digits = (int)strspn(text, "0123456789");
    char *end;

    if (digits == 0 || digits > MAX_DIGITS)
        return NULL;
    range->digits = digits;
    range->first = range->last = strtol(text, &end, 10);
    if (*end == '-') {
        text = end + 1;
        digits = (int)strspn(text, "0123456789");
        if (digits == 0 || digits > MAX_DIGITS)
            return NULL;
        range->last = strtol(text, &end, 10);
    }
    return range->last >= range->first && range->last - range->first < THEMIS_TOOLS_MAX_HOSTS ? end : NULL;
}

/* "head[ranges]tail", with `open` at the bracket: all names with a number in its place. */
static int bracket_expand(const char *name, const char *open, themis_tools_hosts_t *hosts)
{
    const char *close = strchr(open, ']'), *at = open;
    char expanded[NAME_BYTES];
    range_t range;

    if (!close)
        return themis_tools_misuse("'%s' in a list of hosts: ']' is missing", name);
    while (at < close) {
        at = range_read(at + 1, &range);
        if (!at || (*at != ',' && at != close))
            return themis_tools_misuse("'%s' in a list of hosts: expected numbers as in [0-3,7]", name);
        for (long number = range.first; number <= range.last; number++) {
            if (snprintf(expanded, sizeof expanded, "%.*s%0*ld%s", (int)(open - name), name, range.digits, number,
                         close + 1) >= (int)sizeof expanded)
                return themis_tools_misuse("'%s' in a list of hosts is too long", name);
            int result = names_expand(expanded, hosts);
            if (result != THEMIS_TOOLS_OK)
                return result;
        }
    }
    return THEMIS_TOOLS_OK;
}

/* By its first bracket; those behind it by recursion. */
static int names_expand(const char *name, themis_tools_hosts_t *hosts)
{
    const char *open = strchr(name, '[');

    return open ? bracket_expand(name, open, hosts) : host_add(hosts, name);
}

/* Bytes up to the next comma that is not within brackets. */
static size_t item_length(const char *list)
{
    int depth = 0;
    size_t length = 0;

    for (; list[length] && (list[length] != ',' || depth > 0); length++)
        depth += (list[length] == '[') - (list[length] == ']');
    return length;
}

int themis_tools_hosts_parse(const char *list, themis_tools_hosts_t *hosts)
{
    char name[NAME_BYTES];

    while (*list) {
        size_t length = item_length(list);
        if (length >= sizeof name)
            return themis_tools_misuse("'%.40s...' in a list of hosts is too long", list);
        snprintf(name, sizeof name, "%.*s", (int)length, list);
        int result = names_expand(name, hosts);
        if (result != THEMIS_TOOLS_OK)
            return result;
        list += length + (list[length] == ',');
    }
    return hosts->count > 0 ? THEMIS_TOOLS_OK : themis_tools_misuse("the list of hosts is empty");
}

int themis_tools_hosts_read(const char *path, themis_tools_hosts_t *hosts)
{
    int result = THEMIS_TOOLS_OK;
    char line[LINE_BYTES];
    FILE *file = fopen(path, "re");

    if (!file)
        return themis_tools_error_errno(path);
    while (result == THEMIS_TOOLS_OK && fgets(line, sizeof line, file)) {
        char *name = line + strspn(line, " \t");
        name[strcspn(name, " \t\r\n:#")] = '\0';
        if (*name)
            result = host_add(hosts, name);
    }
    if (result == THEMIS_TOOLS_OK && ferror(file))
        result = themis_tools_error_errno(path);
    fclose(file);
    if (result == THEMIS_TOOLS_OK && hosts->count == 0)
        result = themis_tools_error("%s: no host is in it", path);
    return result;
}

/* --- batch systems ------------------------------------------------------------------------------------------------ */

/* Flux tells the list of its instance by a command only. */
static int flux_ask(themis_tools_hosts_t *hosts)
{
    char *list = malloc(LIST_BYTES);
    FILE *output = list ? popen("flux getattr hostlist", "re") : NULL;
    int found = output && fgets(list, LIST_BYTES, output);

    if (output && pclose(output) != 0)
        found = 0;
    if (found)
        list[strcspn(list, "\n")] = '\0';
    int result = found
                     ? themis_tools_hosts_parse(list, hosts)
                     : themis_tools_error("FLUX_URI is set, but 'flux getattr hostlist' tells no hosts; --hosts names "
                                          "them");
    free(list);
    return result;
}

int themis_tools_hosts_find(const char *given, themis_tools_hosts_t *hosts)
{
    static const struct {
        const char *variable, *source;
        int (*get)(const char *value, themis_tools_hosts_t *hosts);
    } systems[] = {{"SLURM_JOB_NODELIST", "Slurm", themis_tools_hosts_parse},
                   {"PBS_NODEFILE", "PBS", themis_tools_hosts_read},
                   {"LSB_DJOB_HOSTFILE", "LSF", themis_tools_hosts_read}};

    *hosts = (themis_tools_hosts_t){.count = 0};
    if (given) {
        hosts->source = "--hosts";
        return access(given, R_OK) == 0 ? themis_tools_hosts_read(given, hosts)
                                        : themis_tools_hosts_parse(given, hosts);
    }
    /* the inner one counts: an instance of Flux may run within a job of Slurm */
    if (themis_util_config_env("FLUX_URI")) {
        hosts->source = "Flux";
        return flux_ask(hosts);
    }
    for (size_t i = 0; i < sizeof systems / sizeof *systems; i++) {
        const char *value = themis_util_config_env(systems[i].variable);
        if (value) {
            hosts->source = systems[i].source;
            return systems[i].get(value, hosts);
        }
    }
    return THEMIS_TOOLS_OK;
}

int themis_tools_host_is_this(const char *name)
{
    char own[NAME_BYTES] = "";

    if (strcmp(name, "localhost") == 0)
        return 1;
    if (gethostname(own, sizeof own - 1) != 0)
        return 0;
    size_t length = strcspn(own, ".");
    return length == strcspn(name, ".") && strncmp(own, name, length) == 0;
}

void themis_tools_hosts_free(themis_tools_hosts_t *hosts)
{
    for (int i = 0; i < hosts->count; i++)
        free(hosts->names[i]);
    free(hosts->names);
    *hosts = (themis_tools_hosts_t){.count = 0};
}
