/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/rights.h"
#include <string.h>
#include "client/capability.h"
#include "client/file.h"
#include "client/namespace.h"
#include "posix/claim.h"

enum { MAX_RENEWALS = 3 };

/* What a renewal ends with if the old name, or a directory of it, is gone, another's, or closed to the user. */
static int may_be_renamed(themis_status_t status)
{
    return status == THEMIS_STALE || status == THEMIS_ACCESS || status == THEMIS_NOT_DIRECTORY;
}

/* `path`: the claimed name of the file. */
static int renew(themis_file_t *file, const char *path)
{
    themis_proto_attr_t attr;

    if (strcmp(path, themis_file_path(file)) == 0 ||
        themis_client_namespace_lookup(file->session, path, themis_client_capability_rights(file->flags), &attr) !=
            THEMIS_OK ||
        attr.id != file->attr.id)
        return 0;
    pthread_mutex_lock(&file->session->poller.lock);
    file->attr.capability = attr.capability;
    pthread_mutex_unlock(&file->session->poller.lock);
    return 1;
}

int themis_posix_rights_renew(themis_posix_file_t *file, unsigned *renewals, themis_status_t status)
{
    themis_posix_claim_t claim;

    if (!may_be_renamed(status) || (*renewals)++ >= MAX_RENEWALS ||
        themis_posix_claim_node(file->filesystem, NULL, file->node, THEMIS_POSIX_SHARED, &claim) != 0)
        return 0;
    int renewed = renew(file->file, claim.path);
    themis_posix_unclaim(file->filesystem, &claim, 1);
    return renewed;
}
