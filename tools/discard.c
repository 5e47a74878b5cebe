/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "tools/discard.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "themis/themis.h"
#include "tools/array.h"
#include "tools/command.h"
#include "tools/json.h"
#include "tools/statistics.h"
#include "util/clock.h"

/* Counting more would make the command's end late. */
enum { MAX_COUNTED = 20000 };

typedef struct census {
    themis_t *session;
    uint64_t files, bytes;
    char **directories; /* that are still to be listed; owned */
    size_t count, capacity;
    const char *directory; /* that is being listed */
    int (*cancelled)(void);
} census_t;

static int directory_push(census_t *census, char *path)
{
    char **grown = themis_tools_array_room(census->directories, census->count, &census->capacity, sizeof *grown);

    if (!grown)
        return -1;
    census->directories = grown;
    census->directories[census->count++] = path;
    return 0;
}

static int is_enough(const census_t *census)
{
    return census->files >= MAX_COUNTED || census->cancelled();
}

static int entry_count(void *arg, const char *name, themis_type_t type)
{
    census_t *census = arg;
    themis_stat_t stat;
    char *path;

    if (asprintf(&path, "%s/%s", census->directory, name) < 0)
        return 1;
    if (type == THEMIS_TYPE_DIRECTORY && directory_push(census, path) == 0)
        return 0;
    if (type == THEMIS_TYPE_FILE && themis_stat(census->session, path, &stat) == THEMIS_OK) {
        census->files++;
        census->bytes += stat.size;
    }
    free(path);
    return is_enough(census);
}

static void census_take(census_t *census)
{
    char *root = strdup("");

    if (!root || directory_push(census, root) != 0)
        free(root);
    while (census->count > 0) {
        char *path = census->directories[--census->count];
        census->directory = path;
        if (!is_enough(census))
            themis_readdir(census->session, *path ? path : "/", entry_count, census);
        free(path);
    }
    free(census->directories);
}

/* Whether the files of server 0 end with it. */
static int is_volatile(themis_t *session)
{
    const char *error;
    json_t *server = themis_tools_json_query(session, 0, "server", &error);
    int found = server && strcmp(themis_tools_json_text(server, "store"), "arena") == 0;

    json_decref(server);
    return found;
}

static int is_unused(themis_t *session)
{
    themis_tools_statistics_t sample = {0};
    int unused = 0;

    if (themis_tools_statistics_take(session, NULL, 0, &sample) == 0)
        unused = sample.count == 0;
    themis_tools_statistics_release(&sample);
    return unused;
}

void themis_tools_discard_tell(const char *list, const char *note, int failed, int (*cancelled)(void))
{
    census_t census = {.cancelled = cancelled};
    themis_options_t options;

    themis_options_init(&options);
    options.servers = list;
    options.timeout = THEMIS_NS_PER_S;
    if (themis_connect(&options, &census.session) != THEMIS_OK)
        return;
    if (failed && is_unused(census.session))
        themis_tools_note("nothing has used these servers; if MPI_File_open did not know themis:, something replaced "
                          "LD_PRELOAD for the ranks, and has to name libthemis-mpiio.so, too");
    else if (is_volatile(census.session))
        census_take(&census);
    if (census.files > 0 && !cancelled())
        themis_tools_note("%s%llu file%s, %.1f MiB, discarded with the servers; %s",
                          census.files >= MAX_COUNTED ? "at least " : "", (unsigned long long)census.files,
                          census.files == 1 ? "" : "s", (double)census.bytes / 0x1p20, note);
    themis_disconnect(census.session);
}
