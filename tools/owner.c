/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/owner.h"
#include <grp.h>
#include <inttypes.h>
#include <pwd.h>
#include <stdio.h>
#include <string.h>
#include "tools/command.h"
#include "util/config.h"

static int number_parse(const char *text, uint32_t *id)
{
    int64_t number;

    if (themis_util_config_integer(text, 0, (int64_t)UINT32_MAX - 1, &number) != THEMIS_OK)
        return 0;
    *id = (uint32_t)number;
    return 1;
}

/* *login: the user's group, UINT32_MAX if not known. */
static int user_parse(const char *name, uint32_t *uid, uint32_t *login)
{
    const struct passwd *user = getpwnam(name);

    *login = user ? user->pw_gid : UINT32_MAX;
    if (user)
        *uid = user->pw_uid;
    return user || number_parse(name, uid) ? THEMIS_TOOLS_OK
                                           : themis_tools_misuse("there is no user %s on this host", name);
}

static int group_parse(const char *name, uint32_t *gid)
{
    const struct group *group = getgrnam(name);

    if (group)
        *gid = group->gr_gid;
    return group || number_parse(name, gid) ? THEMIS_TOOLS_OK
                                            : themis_tools_misuse("there is no group %s on this host", name);
}

int themis_tools_owner_parse(const char *text, uint32_t *uid, uint32_t *gid)
{
    char user[256];
    const char *colon = strchr(text, ':');
    uint32_t login = UINT32_MAX;
    int length = colon ? (int)(colon - text) : (int)strlen(text);

    *uid = *gid = UINT32_MAX;
    if (!*text || strcmp(text, ":") == 0 || length >= (int)sizeof user)
        return themis_tools_misuse("'%.100s' is neither USER, USER:GROUP nor :GROUP", text);
    snprintf(user, sizeof user, "%.*s", length, text);
    int result = *user ? user_parse(user, uid, &login) : THEMIS_TOOLS_OK;
    if (result != THEMIS_TOOLS_OK || !colon)
        return result;
    if (colon[1])
        return group_parse(colon + 1, gid);
    *gid = login;
    return login != UINT32_MAX ? THEMIS_TOOLS_OK : themis_tools_misuse("the group of user %s is not known", user);
}

/* Files of a directory mostly have one owner. */
const char *themis_tools_owner_user(uint32_t uid, int numeric, char *text)
{
    static char last[THEMIS_TOOLS_OWNER_TEXT];
    static uint32_t last_uid;
    const struct passwd *user = NULL;

    if (*last && uid == last_uid && !numeric)
        return strcpy(text, last);
    if (!numeric)
        user = getpwuid(uid);
    if (user)
        snprintf(text, THEMIS_TOOLS_OWNER_TEXT, "%s", user->pw_name);
    else
        snprintf(text, THEMIS_TOOLS_OWNER_TEXT, "%" PRIu32, uid);
    if (!numeric) {
        strcpy(last, text);
        last_uid = uid;
    }
    return text;
}

const char *themis_tools_owner_group(uint32_t gid, int numeric, char *text)
{
    static char last[THEMIS_TOOLS_OWNER_TEXT];
    static uint32_t last_gid;
    const struct group *group = NULL;

    if (*last && gid == last_gid && !numeric)
        return strcpy(text, last);
    if (!numeric)
        group = getgrgid(gid);
    if (group)
        snprintf(text, THEMIS_TOOLS_OWNER_TEXT, "%s", group->gr_name);
    else
        snprintf(text, THEMIS_TOOLS_OWNER_TEXT, "%" PRIu32, gid);
    if (!numeric) {
        strcpy(last, text);
        last_gid = gid;
    }
    return text;
}
