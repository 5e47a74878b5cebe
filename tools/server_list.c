/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/server_list.h"
#include <stdio.h>
#include <string.h>
#include <unistd.h>
#include "tools/command.h"
#include "util/config.h"

enum { PATH_BYTES = 4096 };

void themis_tools_server_list_directory(char *path, size_t size)
{
    const char *runtime = themis_util_config_env("XDG_RUNTIME_DIR");

    if (runtime)
        snprintf(path, size, "%s/themis", runtime);
    else
        snprintf(path, size, "/tmp/themis-%u", (unsigned)getuid());
}

static const char *list_path(const char *directory, char path[PATH_BYTES])
{
    snprintf(path, PATH_BYTES, "%s/servers", directory);
    return path;
}

int themis_tools_server_list_write(const char *directory, const char *list)
{
    char path[PATH_BYTES];
    FILE *file = fopen(list_path(directory, path), "we");

    if (!file || fprintf(file, "%s\n", list) < 0 || fclose(file) != 0)
        return themis_tools_error_errno(path);
    return THEMIS_TOOLS_OK;
}

int themis_tools_server_list_read(const char *directory, char *list, size_t size)
{
    char path[PATH_BYTES];
    FILE *file = fopen(list_path(directory, path), "re");
    int found = file && fgets(list, (int)size, file);

    if (file)
        fclose(file);
    if (found)
        list[strcspn(list, "\n")] = '\0';
    return found;
}

void themis_tools_server_list_remove(const char *directory)
{
    char path[PATH_BYTES];

    unlink(list_path(directory, path));
}
