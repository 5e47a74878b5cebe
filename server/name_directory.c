/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_directory.h"
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include "store/exclusive_use.h"
#include "util/directory.h"
#include "util/log.h"

/* RocksDB removes files with such names, whoever made them. */
static int is_database_file(const char *name)
{
    static const char *const starts[] = {"CURRENT", "IDENTITY", "MANIFEST-", "OPTIONS-"};
    size_t digits = strspn(name, "0123456789");

    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (strncmp(name, starts[i], strlen(starts[i])) == 0)
            return 1;
    return digits > 0 && name[digits] == '.';
}

/* A database without a STORE file is that of a posix store, made by an older version. */
static int has_old_database(const char *directory)
{
    char path[PATH_MAX];

    return snprintf(path, sizeof path, "%s/CURRENT", directory) < PATH_MAX && access(path, F_OK) == 0;
}

/* Makes the name of a new directory survive a power failure. */
static int parent_sync(const char *directory)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s", directory);
    return themis_util_directory_sync(AT_FDCWD, dirname(path));
}

themis_status_t themis_server_name_directory_take(const char *directory, int fresh, uint32_t index,
                                                  const themis_store_identity_t *identity, int *fd)
{
    int old = !fresh && has_old_database(directory);
    char content[64];

    int made = mkdir(directory, 0700);
    if (made < 0 ? errno != EEXIST : parent_sync(directory) < 0) {
        themis_error("state = %s: cannot create the directory: %s", directory, strerror(errno));
        return THEMIS_CONFIG;
    }
    snprintf(content, sizeof content, "names of %sserver %" PRIu32, fresh ? "an arena on " : "", index);
    return themis_store_exclusive_use_directory("state", directory, content, identity, old ? NULL : is_database_file,
                                                fd);
}
