/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/server_list.h"
#include <arpa/inet.h>
#include <netinet/in.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
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

int themis_tools_server_list_is_private(const char *directory)
{
    struct stat stats;

    return lstat(directory, &stats) == 0 && S_ISDIR(stats.st_mode) && stats.st_uid == getuid() &&
           (stats.st_mode & 022) == 0;
}

int themis_tools_server_list_started(char *list, size_t size)
{
    char directory[PATH_BYTES];

    themis_tools_server_list_directory(directory, sizeof directory);
    return themis_tools_server_list_is_private(directory) && themis_tools_server_list_read(directory, list, size);
}

static int port_answers(uint16_t port)
{
    struct sockaddr_in address = {
        .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK), .sin_port = htons(port)};
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int answers = fd >= 0 && connect(fd, (struct sockaddr *)&address, sizeof address) == 0;

    if (fd >= 0)
        close(fd);
    return answers;
}

int themis_tools_server_list_answers(const char *list)
{
    for (const char *at = list; at; at = strchr(at, ',')) {
        at = strchr(at, ':');
        if (!at || !port_answers((uint16_t)strtoul(at + 1, NULL, 10)))
            return 0;
    }
    return 1;
}

void themis_tools_server_list_remove(const char *directory)
{
    char path[PATH_BYTES];

    unlink(list_path(directory, path));
}
