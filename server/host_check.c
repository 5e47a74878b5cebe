/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/host_check.h"
#include <arpa/inet.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <pwd.h>
#include <stdarg.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>
#include "server/capability_key.h"

typedef struct finding {
    const themis_server_config_t *config;
    FILE *out, *errors;
    int faults;
} finding_t;

__attribute__((format(printf, 3, 4))) static void fault(finding_t *finding, const void *member, const char *format, ...)
{
    char where[THEMIS_SERVER_CONFIG_TEXT + 128];
    va_list list;

    themis_server_config_where(finding->config, member, where, sizeof where);
    fprintf(finding->errors, "themisd: %s", where);
    va_start(list, format);
    vfprintf(finding->errors, format, list);
    va_end(list);
    fputc('\n', finding->errors);
    finding->faults++;
}

static const char *user_name(uid_t uid, char text[64])
{
    const struct passwd *user = getpwuid(uid);

    if (user)
        snprintf(text, 64, "%s", user->pw_name);
    else
        snprintf(text, 64, "%ld", (long)uid);
    return text;
}

/* --- directories and space ---------------------------------------------------------------------------------------- */

/* Bytes that this user may still write there. */
static unsigned long long space_free(const char *path)
{
    struct statvfs space;

    return statvfs(path, &space) == 0 ? (unsigned long long)space.f_bavail * space.f_frsize : 0;
}

static void directory_tell(finding_t *finding, const char *name, const char *path, const struct stat *info)
{
    char owner[64];

    fprintf(finding->out, "%s = %s: of %s, mode %04o, %llu MiB free\n", name, path, user_name(info->st_uid, owner),
            (unsigned)info->st_mode & 07777, space_free(path) >> 20);
}

/* Cuts the last component off; "." where there is none. */
static void parent_of(char *path)
{
    char *slash = strrchr(path, '/');

    while (slash && slash > path && !slash[1]) {
        *slash = '\0';
        slash = strrchr(path, '/');
    }
    if (!slash)
        strcpy(path, ".");
    else
        slash[slash == path] = '\0';
}

/* Does it exist, as a directory in which this user may create files? 0 with a fault. */
static int directory_usable(finding_t *finding, const char *member, const char *path, struct stat *info)
{
    char owner[64], user[64];

    if (stat(path, info) != 0)
        fault(finding, member, "%s: %s", path, strerror(errno));
    else if (!S_ISDIR(info->st_mode))
        fault(finding, member, "%s is not a directory", path);
    else if (access(path, W_OK | X_OK) != 0)
        fault(finding, member, "%s belongs to %s, mode %04o: user %s cannot write there: %s", path,
              user_name(info->st_uid, owner), (unsigned)info->st_mode & 07777, user_name(geteuid(), user),
              strerror(errno));
    else
        return 1;
    return 0;
}

/* `made`: 1 if a server makes it where it does not exist; not those above it. */
static void check_directory(finding_t *finding, const char *name, const char *member, int made)
{
    char parent[THEMIS_SERVER_CONFIG_TEXT];
    struct stat info;

    if (!*member)
        return;
    if (!made || stat(member, &info) == 0 || errno != ENOENT) {
        if (directory_usable(finding, member, member, &info))
            directory_tell(finding, name, member, &info);
        return;
    }
    snprintf(parent, sizeof parent, "%s", member);
    parent_of(parent);
    if (directory_usable(finding, member, parent, &info))
        fprintf(finding->out, "%s = %s: will be made; %llu MiB free\n", name, member, space_free(parent) >> 20);
}

/* Blocks of the file are allocated as they are used, so a full file system would be found late. */
static void check_file(finding_t *finding)
{
    const themis_server_config_t *config = finding->config;
    char parent[THEMIS_SERVER_CONFIG_TEXT];
    unsigned long long available;
    struct stat info, directory;

    snprintf(parent, sizeof parent, "%s", config->file);
    parent_of(parent);
    int exists = stat(config->file, &info) == 0;
    if (!directory_usable(finding, config->file, parent, &directory))
        return;
    if (exists && !S_ISREG(info.st_mode)) {
        fault(finding, config->file, "%s is not a regular file", config->file);
        return;
    }
    if (exists && access(config->file, R_OK | W_OK) != 0)
        fault(finding, config->file, "%s: %s", config->file, strerror(errno));
    available = space_free(parent) + (exists ? (unsigned long long)info.st_blocks * 512 : 0);
    if (config->size > available)
        fault(finding, &config->size, "%llu MiB do not fit into %s, which has %llu MiB for it",
              (unsigned long long)(config->size >> 20), parent, available >> 20);
    fprintf(finding->out, "file = %s: %s, %llu MiB free\n", config->file, exists ? "exists" : "will be made",
            available >> 20);
}

/* Bytes that the files of a directory have. */
static unsigned long long space_of_files(const char *path)
{
    unsigned long long bytes = 0;
    struct stat info;
    struct dirent *entry;
    DIR *list = opendir(path);

    while (list && (entry = readdir(list)))
        if (fstatat(dirfd(list), entry->d_name, &info, AT_SYMLINK_NOFOLLOW) == 0 && S_ISREG(info.st_mode))
            bytes += (unsigned long long)info.st_blocks * 512;
    if (list)
        closedir(list);
    return bytes;
}

/* The same for an arena in a directory, which takes its space in steps. */
static void check_size(finding_t *finding)
{
    const themis_server_config_t *config = finding->config;
    char parent[THEMIS_SERVER_CONFIG_TEXT];
    struct stat info;

    snprintf(parent, sizeof parent, "%s", config->directory);
    if (stat(parent, &info) != 0)
        parent_of(parent); /* it will be made there */
    unsigned long long available = space_free(parent) + space_of_files(config->directory);
    if (available > 0 && config->size > available)
        fault(finding, &config->size, "%llu MiB do not fit into %s, which has %llu MiB for it",
              (unsigned long long)(config->size >> 20), config->directory, available >> 20);
}

/* Its directory has to be there. */
static void check_log(finding_t *finding)
{
    const char *path = finding->config->log_file;
    char parent[THEMIS_SERVER_CONFIG_TEXT];
    struct stat directory;

    if (!*path || (access(path, W_OK) == 0 && stat(path, &directory) == 0 && !S_ISDIR(directory.st_mode)))
        return;
    snprintf(parent, sizeof parent, "%s", path);
    parent_of(parent);
    if (directory_usable(finding, path, parent, &directory) && access(path, F_OK) == 0)
        fault(finding, path, "%s cannot be written", path);
}

static void check_key(finding_t *finding)
{
    const themis_server_config_t *config = finding->config;
    themis_server_capability_key_t key;
    char why[256];

    if (config->key_fd >= 0 || !*config->key || strcmp(config->key, "none") == 0)
        return;
    if (themis_server_capability_key_read(config->key, &key, why, sizeof why) != THEMIS_OK)
        fault(finding, config->key, "%s: %s", config->key, why);
    explicit_bzero(&key, sizeof key);
}

/* --- addresses ---------------------------------------------------------------------------------------------------- */

/* Can a socket of this host have this address? The port is left open, as a server may run. */
static int is_own(const struct addrinfo *address)
{
    struct sockaddr_in own;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

    memcpy(&own, address->ai_addr, sizeof own);
    own.sin_port = 0;
    int bound = fd >= 0 && (bind(fd, (struct sockaddr *)&own, sizeof own) == 0 || errno != EADDRNOTAVAIL);
    if (fd >= 0)
        close(fd);
    return bound;
}

static void check_address(finding_t *finding, const char *member)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM, .ai_flags = AI_PASSIVE};
    struct addrinfo *found = NULL;
    char address[INET_ADDRSTRLEN] = "";

    if (!*member || getaddrinfo(member, NULL, &wanted, &found) != 0)
        return;
    inet_ntop(AF_INET, &((const struct sockaddr_in *)(const void *)found->ai_addr)->sin_addr, address, sizeof address);
    if (!is_own(found))
        fault(finding, member, "%s%s%s%s is not an address of this host", member, strcmp(address, member) ? " (" : "",
              strcmp(address, member) ? address : "", strcmp(address, member) ? ")" : "");
    freeaddrinfo(found);
}

/* Names that other servers and clients could not resolve either. */
static void check_names(finding_t *finding)
{
    const struct addrinfo wanted = {.ai_family = AF_INET, .ai_socktype = SOCK_STREAM};
    struct addrinfo *found;
    char host[256];
    uint16_t port;

    for (uint32_t i = 0; themis_server_config_address(finding->config, i, host, &port) == THEMIS_OK; i++) {
        int failed = getaddrinfo(host, NULL, &wanted, &found);
        if (failed)
            fault(finding, finding->config->servers, "%s: %s", host, gai_strerror(failed));
        else
            freeaddrinfo(found);
    }
}

int themis_server_host_check(const themis_server_config_t *config, FILE *out, FILE *errors)
{
    finding_t finding = {.config = config, .out = out, .errors = errors};
    int arena = strcmp(config->store, "arena") == 0;

    check_directory(&finding, "state", config->state, 1);
    if (!arena || *config->directory)
        check_directory(&finding, "directory", config->directory, arena);
    if (arena && *config->directory)
        check_size(&finding);
    if (arena && *config->file)
        check_file(&finding);
    check_directory(&finding, "history", config->history, 1);
    check_log(&finding);
    check_key(&finding);
    check_address(&finding, config->listen);
    if (config->metrics_port)
        check_address(&finding, config->metrics_listen);
    check_names(&finding);
    return finding.faults;
}
