/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/error.h"
#include <errno.h>
#include <stddef.h>

static const struct {
    themis_status_t status;
    int error;
} errors[] = {
    {THEMIS_OK, 0},
    {THEMIS_INVALID, EINVAL},
    {THEMIS_NO_MEMORY, ENOMEM},
    {THEMIS_UNSUPPORTED, EOPNOTSUPP},
    {THEMIS_CANCELED, EINTR},
    {THEMIS_RANGE, EFBIG},
    {THEMIS_BAD_ADDRESS, EFAULT},
    {THEMIS_NO_DESCRIPTOR, ENFILE}, /* a server's, most likely */
    {THEMIS_NO_ENTRY, ENOENT},
    {THEMIS_EXISTS, EEXIST},
    {THEMIS_NOT_DIRECTORY, ENOTDIR},
    {THEMIS_IS_DIRECTORY, EISDIR},
    {THEMIS_NOT_EMPTY, ENOTEMPTY},
    {THEMIS_NAME_TOO_LONG, ENAMETOOLONG},
    {THEMIS_ACCESS, EACCES},
    {THEMIS_READ_ONLY, EROFS},
    {THEMIS_STALE, ESTALE},
    {THEMIS_LOOP, ELOOP},
    {THEMIS_NO_DATA, ENODATA},
    {THEMIS_LOCKED, EAGAIN},
    {THEMIS_BAD_NAME, EINVAL},
    {THEMIS_BUSY, EBUSY},
    {THEMIS_NO_SPACE, ENOSPC},
    {THEMIS_QUOTA, EDQUOT},
    {THEMIS_FILE_TOO_BIG, EFBIG},
};

int themis_posix_error(themis_status_t status)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].status == status)
            return errors[i].error;
    return EIO;
}
