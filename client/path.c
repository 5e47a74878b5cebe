/* SPDX-License-Identifier: BSD-3-Clause */
#include "client/path.h"
#include <stdio.h>
#include <string.h>

/* Appends one component to the `used` bytes of `normal`, or resolves it. */
static themis_status_t component_add(char *normal, size_t *used, const char *name, size_t length)
{
    if (length == 0 || (length == 1 && name[0] == '.'))
        return THEMIS_OK;
    if (length == 2 && name[0] == '.' && name[1] == '.') {
        while (*used > 0 && normal[--*used] != '/')
            ;
        return THEMIS_OK;
    }
    if (length >= THEMIS_CLIENT_NAME_BYTES || *used + 1 + length >= THEMIS_PATH_BYTES)
        return THEMIS_NAME_TOO_LONG;
    normal[(*used)++] = '/';
    memcpy(normal + *used, name, length);
    *used += length;
    return THEMIS_OK;
}

themis_status_t themis_client_path_normalise(const char *path, char normal[THEMIS_PATH_BYTES])
{
    themis_status_t status = THEMIS_OK;
    size_t used = 0;

    if (!path || path[0] != '/')
        return THEMIS_BAD_NAME;
    while (*path && status == THEMIS_OK) {
        size_t length = strcspn(path, "/");
        status = component_add(normal, &used, path, length);
        path += length + (path[length] == '/');
    }
    if (status != THEMIS_OK)
        return status;
    if (used == 0)
        normal[used++] = '/';
    normal[used] = '\0';
    return THEMIS_OK;
}

themis_status_t themis_client_path_split(const char *path, char directory[THEMIS_PATH_BYTES], const char **name)
{
    const char *slash = strrchr(path, '/');
    size_t length = (size_t)(slash - path);

    if (slash[1] == '\0')
        return THEMIS_INVALID;
    memcpy(directory, path, length ? length : 1);
    directory[length ? length : 1] = '\0';
    *name = slash + 1;
    return THEMIS_OK;
}

themis_status_t themis_client_path_join(const char *directory, const char *name, char path[THEMIS_PATH_BYTES])
{
    int length = snprintf(path, THEMIS_PATH_BYTES, "%s/%s", directory[1] ? directory : "", name);

    return length < THEMIS_PATH_BYTES ? THEMIS_OK : THEMIS_NAME_TOO_LONG;
}

int themis_client_path_is_below(const char *path, const char *directory)
{
    size_t length = directory[1] ? strlen(directory) : 0;

    return strncmp(path, directory, length) == 0 && (path[length] == '\0' || path[length] == '/');
}
