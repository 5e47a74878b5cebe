/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/links.h"
#include <errno.h>
#include "posix/claim.h"
#include "posix/error.h"
#include "posix/names.h"

static int symlink_claimed(themis_posix_t *filesystem, const themis_posix_caller_t *caller,
                           const themis_posix_claim_t *claim, const char *target, themis_posix_node_t **node,
                           struct stat *stat)
{
    int error = themis_posix_error(themis_symlink(filesystem->session, target, claim->path));

    if (error)
        return error;
    error = themis_posix_own(filesystem, caller, claim->parent, claim->path, THEMIS_TYPE_SYMLINK, 0777);
    if (error)
        themis_unlink(filesystem->session, claim->path);
    return error ? error : themis_posix_look(filesystem, claim, node, stat);
}

int themis_posix_symlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *parent,
                         const char *name, const char *target, themis_posix_node_t **node, struct stat *stat)
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_name(filesystem, caller, parent, name, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error;
    error = symlink_claimed(filesystem, caller, &claim, target, node, stat);
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}

int themis_posix_readlink(themis_posix_t *filesystem, const themis_posix_caller_t *caller, themis_posix_node_t *node,
                          char target[THEMIS_PATH_BYTES])
{
    themis_posix_claim_t claim;
    int error = themis_posix_claim_node(filesystem, caller, node, THEMIS_POSIX_SHARED, &claim);

    if (error)
        return error == ESTALE ? ENOENT : error;
    error = themis_posix_error(themis_readlink(filesystem->session, claim.path, target));
    themis_posix_unclaim(filesystem, &claim, 1);
    return error;
}
