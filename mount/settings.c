/* SPDX-License-Identifier: BSD-3-Clause */
#include "mount/settings.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "util/config.h"

enum { KEY_ALLOW_OTHER = 1 };

#define OPTION(text, member, value)                                                                                    \
    {                                                                                                                  \
        text, offsetof(themis_mount_settings_t, member), value                                                         \
    }

/* The last ones are for mount(8) and systemd. */
static const struct fuse_opt options_known[] = {OPTION("attr_timeout=%lf", attr_timeout, 0),
                                                OPTION("entry_timeout=%lf", entry_timeout, 0),
                                                OPTION("directory_timeout=%lf", directory_timeout, 0),
                                                OPTION("timeout=%s", timeout_text, 0),
                                                OPTION("cache", cache, 1),
                                                OPTION("nocache", cache, 0),
                                                FUSE_OPT_KEY("allow_other", KEY_ALLOW_OTHER),
                                                FUSE_OPT_KEY("defaults", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("auto", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("noauto", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("nofail", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("user", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("users", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("nouser", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_KEY("_netdev", FUSE_OPT_KEY_DISCARD),
                                                FUSE_OPT_END};

static int option_see(void *data, const char *text, int key, struct fuse_args *arguments)
{
    themis_mount_settings_t *settings = data;

    (void)arguments;
    if (strncmp(text, "x-", 2) == 0)
        return 0; /* systemd's */
    if (key == KEY_ALLOW_OTHER)
        settings->allow_other = 1;
    return 1; /* libfuse gets it */
}

static themis_status_t check(themis_mount_settings_t *settings, char *error, size_t size)
{
    const double times[] = {settings->attr_timeout, settings->entry_timeout, settings->directory_timeout};

    for (size_t i = 0; i < sizeof times / sizeof *times; i++)
        if (!(times[i] >= 0 && times[i] <= 86400)) {
            snprintf(error, size, "attr_timeout, entry_timeout and directory_timeout are 0 to 86400 seconds");
            return THEMIS_INVALID;
        }
    if (settings->timeout_text &&
        themis_util_config_duration(settings->timeout_text, &settings->timeout) != THEMIS_OK) {
        snprintf(error, size, "timeout=%s is not a duration such as 10s", settings->timeout_text);
        return THEMIS_INVALID;
    }
    if (settings->allow_other && geteuid() != 0) {
        snprintf(error, size,
                 "allow_other is for root only: servers would take what others do for what you do (doc/names.md)");
        return THEMIS_INVALID;
    }
    return THEMIS_OK;
}

/* The kernel checks modes for each caller; so do the servers for the user of the mount. */
static int fuse_arguments_begin(themis_mount_settings_t *settings)
{
    return fuse_opt_add_arg(&settings->fuse, "themis") == 0 && fuse_opt_add_arg(&settings->fuse, "-o") == 0 &&
           fuse_opt_add_arg(&settings->fuse, "fsname=themis,subtype=themis,default_permissions") == 0;
}

themis_status_t themis_mount_settings_parse(const char *const *options, int count, themis_mount_settings_t *settings,
                                            char *error, size_t size)
{
    int failed = 0;

    *settings = (themis_mount_settings_t){.directory_timeout = 1};
    failed = !fuse_arguments_begin(settings);
    for (int i = 0; i < count && !failed; i++)
        failed = fuse_opt_add_arg(&settings->fuse, "-o") != 0 || fuse_opt_add_arg(&settings->fuse, options[i]) != 0;
    if (failed) {
        snprintf(error, size, "out of memory");
        return THEMIS_NO_MEMORY;
    }
    if (fuse_opt_parse(&settings->fuse, settings, options_known, option_see) != 0) {
        snprintf(error, size, "an option of -o is wrong");
        return THEMIS_INVALID;
    }
    return check(settings, error, size);
}

void themis_mount_settings_free(themis_mount_settings_t *settings)
{
    free(settings->timeout_text);
    settings->timeout_text = NULL;
    fuse_opt_free_args(&settings->fuse);
}
