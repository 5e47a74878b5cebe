/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/xattrs.h"
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>
#include "client/namespace.h"
#include "posix/claim.h"
#include "posix/error.h"
#include "util/config.h"

/* The node's name; what has none, as it was removed, has no attributes. */
static int claim_begin(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                       themis_posix_claim_t *claim)
{
    if (node->type == THEMIS_TYPE_SYMLINK)
        return EOPNOTSUPP;
    int error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, claim);
    return error == ESTALE ? ENODATA : error;
}

/* --- the layout --------------------------------------------------------------------------------------------------- */

typedef enum layout_part { NO_LAYOUT, STRIPE_SIZE, STRIPE_COUNT } layout_part_t;

static layout_part_t layout_part_of(const char *name)
{
    if (strcmp(name, "user.themis.stripe_size") == 0)
        return STRIPE_SIZE;
    return strcmp(name, "user.themis.stripe_count") == 0 ? STRIPE_COUNT : NO_LAYOUT;
}

static int layout_read(themis_t *session, const char *path, layout_part_t part, void *value, size_t capacity,
                       size_t *length)
{
    char text[32];
    themis_stat_t stat;
    int error = themis_posix_error(themis_client_namespace_look(session, path, &stat));

    if (error)
        return error;
    const uint64_t number = part == STRIPE_SIZE ? stat.layout.stripe_size : stat.layout.count;
    if (number == 0)
        return ENODATA;
    *length = (size_t)snprintf(text, sizeof text, "%" PRIu64, number);
    if (capacity == 0)
        return 0;
    if (capacity < *length)
        return ERANGE;
    memcpy(value, text, *length);
    return 0;
}

/* `number` 0: for the servers to choose. */
static int layout_write(themis_t *session, const char *path, layout_part_t part, uint64_t number)
{
    themis_stat_t stat;
    int error = themis_posix_error(themis_client_namespace_look(session, path, &stat));

    if (error)
        return error;
    themis_layout_t layout = stat.layout;
    if (part == STRIPE_SIZE)
        layout.stripe_size = number;
    else
        layout.count = (uint32_t)number;
    layout.first = THEMIS_FIRST_ANY;
    return themis_posix_error(themis_set_layout(session, path, &layout));
}

static int layout_set(themis_posix_t *filesystem, themis_posix_node_t *node, const char *path, layout_part_t part,
                      const void *value, size_t length)
{
    char text[32];
    int64_t number;

    if (length >= sizeof text)
        return EINVAL;
    memcpy(text, value, length);
    text[length] = '\0';
    if (themis_util_config_integer(text, 1, part == STRIPE_SIZE ? INT64_C(1) << 32 : 4096, &number) != THEMIS_OK)
        return EINVAL;
    pthread_mutex_lock(&filesystem->lock);
    const int used = node->files != NULL;
    pthread_mutex_unlock(&filesystem->lock);
    return used ? EBUSY : layout_write(filesystem->session, path, part, (uint64_t)number);
}

/* --- all of them -------------------------------------------------------------------------------------------------- */

int themis_posix_xattr_get(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                           const char *name, void *value, size_t capacity, size_t *length)
{
    const layout_part_t part = layout_part_of(name);
    themis_posix_claim_t claim;

    if (strncmp(name, "user.", 5) != 0)
        return EOPNOTSUPP;
    int error = claim_begin(filesystem, caller, node, &claim);
    if (error)
        return error;
    if (part != NO_LAYOUT)
        error = layout_read(filesystem->session, claim.path, part, value, capacity, length);
    else
        error = themis_posix_error(themis_xattr_get(filesystem->session, claim.path, name, value, capacity, length));
    themis_posix_unclaim(filesystem, &claim, 1);
    return error == EFBIG ? ERANGE : error;
}

int themis_posix_xattr_set(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                           const char *name, const void *value, size_t length, int flags)
{
    const layout_part_t part = layout_part_of(name);
    const int wanted =
        (flags & XATTR_CREATE ? THEMIS_XATTR_CREATE : 0) | (flags & XATTR_REPLACE ? THEMIS_XATTR_REPLACE : 0);
    themis_posix_claim_t claim;
    int error = claim_begin(filesystem, caller, node, &claim);

    if (error)
        return error;
    if (part != NO_LAYOUT)
        error = layout_set(filesystem, node, claim.path, part, value, length);
    else
        error = themis_posix_error(themis_xattr_set(filesystem->session, claim.path, name, value, length, wanted));
    themis_posix_unclaim(filesystem, &claim, 1);
    return error == EFBIG ? E2BIG : error;
}

int themis_posix_xattr_remove(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                              themis_posix_node_t *node, const char *name)
{
    const layout_part_t part = layout_part_of(name);
    themis_posix_claim_t claim;
    int error = claim_begin(filesystem, caller, node, &claim);

    if (error)
        return error;
    if (part == NO_LAYOUT)
        error = themis_posix_error(themis_xattr_remove(filesystem->session, claim.path, name));
    else if (node->type == THEMIS_TYPE_DIRECTORY)
        error = layout_write(filesystem->session, claim.path, part, 0);
    else
        error = EPERM;
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

typedef struct listing {
    char *names;
    size_t capacity, used;
} listing_t;

static int name_add(void *arg, const char *name, const void *value, size_t length)
{
    listing_t *listing = arg;
    const size_t bytes = strlen(name) + 1;

    (void)value;
    (void)length;
    if (listing->used + bytes <= listing->capacity)
        memcpy(listing->names + listing->used, name, bytes);
    listing->used += bytes;
    return 0;
}

int themis_posix_xattr_list(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                            char *names, size_t capacity, size_t *length)
{
    listing_t listing = {.names = names, .capacity = capacity};
    themis_posix_claim_t claim;
    int error = claim_begin(filesystem, caller, node, &claim);

    if (error == ENODATA || error == EOPNOTSUPP) {
        *length = 0;
        return 0;
    }
    if (error)
        return error;
    error = themis_posix_error(themis_xattr_list(filesystem->session, claim.path, name_add, &listing));
    themis_posix_unclaim(filesystem, &claim, 1);
    if (error)
        return error;
    *length = listing.used;
    return capacity > 0 && listing.used > capacity ? ERANGE : 0;
}
