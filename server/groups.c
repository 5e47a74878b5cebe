/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "server/groups.h"
#include <grp.h>
#include <pthread.h>
#include <pwd.h>
#include <stdlib.h>
#define HASH_NONFATAL_OOM 1
#include <uthash.h>
#include "util/clock.h"

enum { CACHE = 1024, PASSWD_BYTES = 65536, MAX_GROUPS = 65536 };
static const uint64_t kept = 60 * THEMIS_NS_PER_S;

typedef struct user {
    uint32_t uid;
    uint64_t asked; /* ns */
    gid_t *groups;  /* NULL: none */
    int count;
    UT_hash_handle hh;
} user_t;

struct themis_server_groups {
    pthread_mutex_t lock;
    user_t *users; /* by uid, the one asked for longest ago first */
};

themis_status_t themis_server_groups_create(themis_server_groups_t **groups)
{
    themis_server_groups_t *made = calloc(1, sizeof *made);

    if (!made)
        return THEMIS_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    *groups = made;
    return THEMIS_OK;
}

static void user_remove(themis_server_groups_t *groups, user_t *user)
{
    HASH_DELETE(hh, groups->users, user);
    free(user->groups);
    free(user);
}

void themis_server_groups_destroy(themis_server_groups_t *groups)
{
    if (!groups)
        return;
    while (groups->users)
        user_remove(groups, groups->users);
    pthread_mutex_destroy(&groups->lock);
    free(groups);
}

/* All groups of a user; how many, or 0 with *list NULL. */
static int list_find(const struct passwd *entry, gid_t **list)
{
    int count = 64;

    for (*list = NULL; count <= MAX_GROUPS;) {
        int room = count;
        gid_t *more = realloc(*list, (size_t)room * sizeof **list);
        if (!more)
            break;
        *list = more;
        if (getgrouplist(entry->pw_name, entry->pw_gid, *list, &count) >= 0)
            return count;
        count = count > room ? count : 2 * room;
    }
    free(*list);
    *list = NULL;
    return 0;
}

/* Asks the user database. NULL when memory is short, or when it did not answer; a user that it does not know has no
 * groups. */
static user_t *user_ask(uint32_t uid)
{
    struct passwd entry, *found = NULL;
    user_t *user = calloc(1, sizeof *user);
    char *buffer = malloc(PASSWD_BYTES);

    if (!user || !buffer || getpwuid_r(uid, &entry, buffer, PASSWD_BYTES, &found) != 0) {
        free(user);
        free(buffer);
        return NULL;
    }
    user->uid = uid;
    if (found)
        user->count = list_find(found, &user->groups);
    user->asked = themis_util_clock_now();
    free(buffer);
    return user;
}

static int user_has(const user_t *user, uint32_t gid)
{
    for (int i = 0; i < user->count; i++)
        if (user->groups[i] == gid)
            return 1;
    return 0;
}

/* In place of what was known of the user. With the lock. */
static void user_keep(themis_server_groups_t *groups, user_t *user)
{
    user_t *old;

    HASH_FIND(hh, groups->users, &user->uid, sizeof user->uid, old);
    if (old)
        user_remove(groups, old);
    else if (HASH_COUNT(groups->users) >= CACHE)
        user_remove(groups, groups->users);
    HASH_ADD(hh, groups->users, uid, sizeof user->uid, user);
    if (user->hh.tbl)
        return;
    free(user->groups);
    free(user);
}

int themis_server_groups_has(themis_server_groups_t *groups, uint32_t uid, uint32_t gid)
{
    user_t *user;
    int has = 0;

    pthread_mutex_lock(&groups->lock);
    HASH_FIND(hh, groups->users, &uid, sizeof uid, user);
    int known = user && themis_util_clock_now() - user->asked < kept;
    if (known)
        has = user_has(user, gid);
    pthread_mutex_unlock(&groups->lock);
    if (known || !(user = user_ask(uid)))
        return has;
    has = user_has(user, gid);
    pthread_mutex_lock(&groups->lock);
    user_keep(groups, user);
    pthread_mutex_unlock(&groups->lock);
    return has;
}
