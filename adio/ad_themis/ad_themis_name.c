/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_name.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>
#include "ad_themis_file.h"
#include "ad_themis_session.h"
#include "util/mount_point.h"

/* "@" and a hash of the list stand for a list of servers. */
enum { ABBREVIATION_BYTES = 18 }; /* with the final zero */

static void servers_abbreviate(const char *servers, char text[ABBREVIATION_BYTES])
{
    snprintf(text, ABBREVIATION_BYTES, "@%016llx", (unsigned long long)XXH3_64bits(servers, strlen(servers)));
}

static int is_abbreviated_by(const char *servers, const void *abbreviation)
{
    char text[ABBREVIATION_BYTES];

    servers_abbreviate(servers, text);
    return strcmp(text, abbreviation) == 0;
}

/* Replaces an abbreviation by its list; one that no session knows stays. */
static void servers_expand(char **servers)
{
    char *list = ADIOI_THEMIS_Session_find_servers(is_abbreviated_by, *servers);

    if (!list)
        return;
    free(*servers);
    *servers = list;
}

void ADIOI_THEMIS_Name_complete(ADIO_File fd, const char *server_list)
{
    char full[PATH_MAX - AD_THEMIS_NAME_ROOM + sizeof "//" + ABBREVIATION_BYTES], servers[ABBREVIATION_BYTES];
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    const char *path = themis_file_path(file->handle);

    if (strlen(server_list) + strlen(path) + sizeof "//" > PATH_MAX - AD_THEMIS_NAME_ROOM) {
        servers_abbreviate(server_list, servers);
        server_list = servers;
    }
    snprintf(full, sizeof full, "//%s%s", server_list, path);
    if (!file->name)
        file->name = strdup(fd->filename);
    ADIOI_Free(fd->filename);
    fd->filename = ADIOI_Strdup(full);
}

/* The path, with a "/" in front if it has none; owned by the caller. */
static char *absolute(const char *path)
{
    size_t length = strlen(path);
    char *made = malloc(length + 2);

    if (!made)
        return NULL;
    made[0] = '/';
    memcpy(made + (*path == '/' ? 0 : 1), path, length + 1);
    return made;
}

themis_status_t ADIOI_THEMIS_Name_split(const char *name, char **servers, char **path)
{
    const char *rest = name;
    char *list = NULL, *made;

    if (strncmp(name, "//", 2) == 0 && name[2] != '/') {
        rest = name + 2 + strcspn(name + 2, "/");
        list = strndup(name + 2, (size_t)(rest - name - 2));
        if (list && list[0] == '@')
            servers_expand(&list);
    } else {
        const char *below = themis_util_mount_point_below(rest);
        rest = below ? below : rest;
        list = strdup("");
    }
    made = absolute(rest);
    if (!list || !made) {
        free(list);
        free(made);
        return THEMIS_NO_MEMORY;
    }
    *servers = list;
    *path = made;
    return THEMIS_OK;
}
