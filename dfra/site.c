/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfra/site.h"
#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "util/config.h"

typedef themis_dfra_named_site_t site_t;

static themis_status_t refuse(site_t *s, themis_status_t status, const char *reason)
{
    snprintf(s->reason, sizeof s->reason, "%s", reason);
    return status;
}

uint32_t themis_dfra_site_find(const site_t *s, const char *name)
{
    for (uint32_t i = 0; i < s->site.servers; i++)
        if (strcmp(s->name[i], name) == 0)
            return i;
    return UINT32_MAX;
}

/* Appends the servers of a list with commas; several lines may have one. */
static themis_status_t servers_add(site_t *s, const char *list)
{
    static const char separators[] = ", \t";
    char one[256];

    for (list += strspn(list, separators); *list; list += strspn(list, separators)) {
        size_t length = strcspn(list, separators);

        if (length >= sizeof one)
            return refuse(s, THEMIS_RANGE, "a server's name is longer than 255 bytes");
        snprintf(one, sizeof one, "%.*s", (int)length, list);
        list += length;
        if (themis_dfra_site_find(s, one) != UINT32_MAX)
            return refuse(s, THEMIS_EXISTS, "a server is named twice");
        if (s->site.servers == THEMIS_DFRA_MOST_SERVERS)
            return refuse(s, THEMIS_RANGE, "too many servers");
        char **name = realloc(s->name, (s->site.servers + 1) * sizeof *name);
        s->name = name ? name : s->name;
        char *copy = name ? strdup(one) : NULL;
        if (!copy)
            return THEMIS_NO_MEMORY;
        s->name[s->site.servers++] = copy;
    }
    return THEMIS_OK;
}

static themis_status_t count_read(site_t *s, const char *text, uint32_t *value)
{
    int64_t number;

    if (themis_util_config_integer(text, 1, INT32_MAX, &number) != THEMIS_OK)
        return refuse(s, THEMIS_RANGE, "wanted: a whole number from 1 on");
    *value = (uint32_t)number;
    return THEMIS_OK;
}

static themis_status_t bytes_read(site_t *s, const char *text, double *value)
{
    uint64_t bytes;

    if (themis_util_config_bytes(text, &bytes) != THEMIS_OK)
        return refuse(s, THEMIS_RANGE, "wanted: bytes, such as 2500000000 or 20GB");
    *value = (double)bytes;
    return THEMIS_OK;
}

static themis_status_t number_read(site_t *s, const char *text, double *value)
{
    char *end;
    double number = strtod(text, &end);

    if (end == text || *end || !(number >= 0) || !(number <= 1e15))
        return refuse(s, THEMIS_RANGE, "wanted: a number from 0 to 1e15");
    *value = number;
    return THEMIS_OK;
}

static themis_status_t on_entry(void *arg, const char *section, const char *key, const char *value, int line)
{
    site_t *s = arg;
    themis_dfra_site_t *site = &s->site;
    const struct {
        const char *section, *key;
        themis_status_t (*bytes_or_number)(site_t *s, const char *text, double *value);
        double *number;
        uint32_t *count;
    } keys[] = {
        {"servers", "default_servers", NULL, NULL, &site->defaults},
        {"servers", "nodes_per_server", NULL, NULL, &site->nodes_per_server},
        {"servers", "threads", NULL, NULL, &site->threads},
        {"servers", "server_bandwidth", bytes_read, &site->server_bandwidth, NULL},
        {"servers", "node_bandwidth", bytes_read, &site->node_bandwidth, NULL},
        {"thresholds", "min_volume", bytes_read, &site->min_volume, NULL},
        {"thresholds", "min_nodes", number_read, &site->min_nodes, NULL},
        {"thresholds", "max_metadata", number_read, &site->max_metadata, NULL},
        {"thresholds", "high_bandwidth", bytes_read, &site->high_bandwidth, NULL},
        {"thresholds", "high_iops", number_read, &site->high_iops, NULL},
        {"thresholds", "quiet_time", number_read, &site->quiet_time, NULL},
        {"thresholds", "quiet_part", number_read, &site->quiet_part, NULL},
        {"thresholds", "min_records", NULL, NULL, &site->min_records},
    };

    if (strcmp(section, "servers") == 0 && strcmp(key, "servers") == 0)
        return servers_add(s, value);
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        if (strcmp(section, keys[i].section) == 0 && strcmp(key, keys[i].key) == 0)
            return keys[i].count ? count_read(s, value, keys[i].count)
                                 : keys[i].bytes_or_number(s, value, keys[i].number);
    return refuse(s, THEMIS_CONFIG, "no such key; doc/dfra.md lists those of [servers] and [thresholds]");
}

themis_status_t themis_dfra_site_read(site_t *s, const char *path, char *error, size_t size)
{
    char wrong[256];

    s->site = themis_dfra_defaults;
    themis_status_t status = themis_util_config_read(path, on_entry, s, wrong, sizeof wrong);
    if (status != THEMIS_OK) {
        snprintf(error, size, "%s%s%s", wrong, s->reason[0] ? ": " : "", s->reason);
        return status;
    }
    s->site.defaults = s->site.defaults ? s->site.defaults : s->site.servers;
    status = themis_dfra_site_check(&s->site, wrong, sizeof wrong);
    if (status != THEMIS_OK)
        snprintf(error, size, "%s: %s", path, wrong);
    return status;
}

void themis_dfra_site_release(site_t *s)
{
    for (uint32_t i = 0; i < s->site.servers; i++)
        free(s->name[i]);
    free(s->name);
}

/* --- nodes -------------------------------------------------------------------------------------------------------- */

static int node_read(const char **text, uint32_t *node)
{
    char *end;

    errno = 0;
    unsigned long long number = **text >= '0' && **text <= '9' ? strtoull(*text, &end, 10) : ULLONG_MAX;
    if (errno || number >= UINT32_MAX)
        return 0;
    *text = end;
    *node = (uint32_t)number;
    return 1;
}

themis_status_t themis_dfra_nodes_parse(const char *text, themis_dfra_range_t *range, uint32_t most, uint32_t *ranges,
                                        uint32_t *nodes)
{
    uint64_t next = 0, count = 0;
    uint32_t used = 0;

    for (;; text++) {
        themis_dfra_range_t one;
        int good = used < most && node_read(&text, &one.first);

        if (good) {
            one.last = one.first;
            good = *text != '-' || (text++, node_read(&text, &one.last));
        }
        if (!good || one.first < next || one.last < one.first || (*text && *text != ','))
            return THEMIS_INVALID;
        next = (uint64_t)one.last + 1;
        count += one.last - one.first + 1;
        range[used++] = one;
        if (!*text)
            break;
    }
    *ranges = used;
    *nodes = (uint32_t)count;
    return THEMIS_OK;
}
