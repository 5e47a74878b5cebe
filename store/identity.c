/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/identity.h"
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/random.h>
#include <unistd.h>
#include "store/log_file.h"
#include "util/clock.h"
#include "util/log.h"
#include "util/status.h"

enum { BYTES = sizeof(themis_store_identity_t), VERSION_AT = 6, VARIANT_AT = 8 };

void themis_store_identity_make(themis_store_identity_t *identity)
{
    if (getrandom(identity->bytes, BYTES, 0) != BYTES) {
        uint64_t words[2] = {themis_util_clock_wall(), themis_util_clock_now() ^ (uint64_t)getpid() << 40};
        memcpy(identity->bytes, words, BYTES);
    }
    identity->bytes[VERSION_AT] = (uint8_t)((identity->bytes[VERSION_AT] & 0x0f) | 0x40);
    identity->bytes[VARIANT_AT] = (uint8_t)((identity->bytes[VARIANT_AT] & 0x3f) | 0x80);
}

/* 1 if a dash comes before that byte. */
static int has_dash(int byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

const char *themis_store_identity_text(const themis_store_identity_t *identity, char text[THEMIS_STORE_IDENTITY_TEXT])
{
    char *at = text;

    for (int i = 0; i < BYTES; i++)
        at += sprintf(at, "%s%02x", has_dash(i) ? "-" : "", identity->bytes[i]);
    return text;
}

static int digit(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int themis_store_identity_parse(const char *text, themis_store_identity_t *identity)
{
    for (int i = 0; i < BYTES; i++) {
        if (has_dash(i) && *text++ != '-')
            return -1;
        int high = digit(text[0]), low = high < 0 ? -1 : digit(text[1]);
        if (low < 0)
            return -1;
        identity->bytes[i] = (uint8_t)(high << 4 | low);
        text += 2;
    }
    return 0;
}

void themis_store_identity_of_boot(themis_store_identity_t *boot)
{
    char text[THEMIS_STORE_IDENTITY_TEXT] = "";
    FILE *file = fopen("/proc/sys/kernel/random/boot_id", "re");
    const char *cause = file ? "it is no identity" : strerror(errno);
    int known = file && fgets(text, sizeof text, file) && themis_store_identity_parse(text, boot) == 0;

    if (file)
        fclose(file);
    if (known)
        return;
    themis_warn("the kernel's boot id cannot be read (%s): after a restart of this server, clients take their unsynced "
                "data to be lost",
                cause);
    themis_store_identity_make(boot);
}

/* --- the two directories of a store ----------------------------------------------------------------------------- */

typedef struct directory {
    int has_store, has_identity; /* a file STORE; with an identity */
    int is_other;                /* 1: the STORE is not of what the directory is to hold */
    int is_used;                 /* 1: it has a database of names, or objects */
    themis_store_identity_t identity;
} directory_t;

static themis_status_t look_failed(const char *path)
{
    themis_status_t status = themis_util_status_from_errno(errno);

    themis_error("cannot open %s: %s", path, strerror(errno));
    return status;
}

static themis_status_t find_store(const char *path, const char *content, directory_t *found)
{
    char name[PATH_MAX], line[96], expected[96];

    if (snprintf(name, sizeof name, "%s/STORE", path) >= (int)sizeof name)
        return THEMIS_OK;
    FILE *file = fopen(name, "re");
    if (!file)
        return errno == ENOENT || errno == ENOTDIR ? THEMIS_OK : look_failed(name);
    snprintf(expected, sizeof expected, "themis-store 1 %s\n", content);
    found->has_store = 1;
    found->is_other = !fgets(line, sizeof line, file) || strcmp(line, expected) != 0;
    while (!found->has_identity && fgets(line, sizeof line, file))
        found->has_identity =
            strncmp(line, "store ", 6) == 0 && themis_store_identity_parse(line + 6, &found->identity) == 0;
    fclose(file);
    return THEMIS_OK;
}

/* Files that a directory of that kind has, once it is used; -1 with errno: it cannot be found out. */
static int is_of_names(int directory, const char *name)
{
    return strcmp(name, "CURRENT") == 0;
}

static int is_of_objects(int directory, const char *name)
{
    return strlen(name) == 2 && isxdigit((unsigned char)name[0]) && isxdigit((unsigned char)name[1]);
}

/* The log of an arena that has had no object yet has nothing behind its head. What is no file is none. */
static int has_frames(int directory, const char *name)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    uint64_t word = 0;
    struct stat stat;

    if (fd < 0)
        return errno == ENOENT || errno == ELOOP || errno == ENXIO ? 0 : -1;
    int is_file = fstat(fd, &stat) == 0 && S_ISREG(stat.st_mode);
    ssize_t got = is_file ? pread(fd, &word, sizeof word, THEMIS_STORE_LOG_HEAD) : 0;
    int cause = errno;
    close(fd);
    errno = cause;
    return got < 0 ? -1 : word != 0;
}

static int is_of_arena(int directory, const char *name)
{
    if (strncmp(name, "log.", 4) == 0)
        return has_frames(directory, name);
    return strncmp(name, "checkpoint.", 11) == 0;
}

/* A directory that is not there is an empty one. */
static themis_status_t look_into(const char *path, const char *content, int (*is_of)(int directory, const char *name),
                                 directory_t *found)
{
    DIR *directory = opendir(path);
    const struct dirent *entry;

    *found = (directory_t){0};
    if (!directory)
        return errno == ENOENT || errno == ENOTDIR ? THEMIS_OK : look_failed(path);
    while (!found->is_used && (errno = 0, entry = readdir(directory)))
        found->is_used = is_of(dirfd(directory), entry->d_name);
    int failed = found->is_used < 0 || (!found->is_used && errno);
    themis_status_t status = failed ? look_failed(path) : THEMIS_OK;
    closedir(directory);
    return status == THEMIS_OK ? find_store(path, content, found) : status;
}

/* NULL, or why names and objects do not belong together. A server that ended while it made them has left an identity in
 * the directory of objects, and no object. */
static const char *find_mismatch(const directory_t *names, const directory_t *objects)
{
    if (names->is_other || objects->is_other)
        return NULL; /* they are refused when they are opened, for that reason */
    if (names->has_identity && objects->has_identity &&
        memcmp(names->identity.bytes, objects->identity.bytes, BYTES) != 0)
        return "they are of different stores";
    if (names->has_identity && !objects->has_store)
        return "the objects of these names are not there";
    if (objects->has_identity && objects->is_used && !names->has_store && !names->is_used)
        return "the names of these objects are not there";
    return NULL;
}

themis_status_t themis_store_identity_of_directories(const char *type, const char *names, const char *objects,
                                                     uint32_t index, themis_store_identity_t *identity)
{
    int arena = strcmp(type, "arena") == 0;
    directory_t of_names, of_objects;
    char content[64];

    snprintf(content, sizeof content, "names of server %" PRIu32, index);
    themis_status_t status = look_into(names, content, is_of_names, &of_names);
    snprintf(content, sizeof content, "%s of server %" PRIu32, arena ? "arena" : "objects", index);
    if (status == THEMIS_OK)
        status = look_into(objects, content, arena ? is_of_arena : is_of_objects, &of_objects);
    if (status != THEMIS_OK)
        return status;
    const char *mismatch = find_mismatch(&of_names, &of_objects);
    if (mismatch) {
        themis_error("state = %s and directory = %s do not belong together: %s. Nothing was changed; use the ones that "
                     "do, or empty both if their contents are not needed",
                     names, objects, mismatch);
        return THEMIS_CONFIG;
    }
    if (of_names.has_identity)
        *identity = of_names.identity;
    else if (of_objects.has_identity)
        *identity = of_objects.identity;
    else
        themis_store_identity_make(identity);
    return THEMIS_OK;
}
