/* SPDX-License-Identifier: BSD-3-Clause */
#include "util/status.h"
#include <errno.h>
#include <stddef.h>

static const struct {
    int number;
    const char *text;
} texts[] = {
#define TEXT(name, number, text) {number, text},
    THEMIS_STATUS_MAP(TEXT)
#undef TEXT
};

static const struct {
    int error;
    themis_status_t status;
} errors[] = {
    {0, THEMIS_OK},
    {EINVAL, THEMIS_INVALID},
    {ENOMEM, THEMIS_NO_MEMORY},
    {EOPNOTSUPP, THEMIS_UNSUPPORTED},
    {ENOSYS, THEMIS_UNSUPPORTED},
    {ECANCELED, THEMIS_CANCELED},
    {ERANGE, THEMIS_RANGE},
    {EFAULT, THEMIS_BAD_ADDRESS},
    {EOVERFLOW, THEMIS_RANGE},
    {ENOENT, THEMIS_NO_ENTRY},
    {EEXIST, THEMIS_EXISTS},
    {ENOTDIR, THEMIS_NOT_DIRECTORY},
    {EISDIR, THEMIS_IS_DIRECTORY},
    {ENOTEMPTY, THEMIS_NOT_EMPTY},
    {ENAMETOOLONG, THEMIS_NAME_TOO_LONG},
    {EACCES, THEMIS_ACCESS},
    {EPERM, THEMIS_ACCESS},
    {EROFS, THEMIS_READ_ONLY},
    {ESTALE, THEMIS_STALE},
    {ELOOP, THEMIS_LOOP},
    {ENODATA, THEMIS_NO_DATA},
    {EMFILE, THEMIS_NO_DESCRIPTOR},
    {ENFILE, THEMIS_NO_DESCRIPTOR},
    {EAGAIN, THEMIS_LOCKED},
    {EBUSY, THEMIS_BUSY},
    {ENOSPC, THEMIS_NO_SPACE},
    {EIO, THEMIS_IO},
    {EDQUOT, THEMIS_QUOTA},
    {EFBIG, THEMIS_FILE_TOO_BIG},
    {EHOSTUNREACH, THEMIS_UNREACHABLE},
    {ECONNRESET, THEMIS_DISCONNECTED},
    {ENOTCONN, THEMIS_DISCONNECTED},
    {EPIPE, THEMIS_DISCONNECTED},
    {ETIMEDOUT, THEMIS_TIMED_OUT},
    {EPROTO, THEMIS_PROTOCOL},
    {ECONNREFUSED, THEMIS_REFUSED},
    {ESHUTDOWN, THEMIS_SHUTTING_DOWN},
};

static const char *text_of(int number)
{
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++)
        if (texts[i].number == number)
            return texts[i].text;
    return NULL;
}

const char *themis_status_string(themis_status_t status)
{
    const char *text = text_of((int)status);

    return text ? text : "unknown status";
}

int themis_util_status_is_known(int number)
{
    return text_of(number) != NULL;
}

themis_status_t themis_util_status_from_errno(int error)
{
    for (size_t i = 0; i < sizeof errors / sizeof *errors; i++)
        if (errors[i].error == error)
            return errors[i].status;
    return THEMIS_IO;
}

int themis_util_status_is_away(themis_status_t status)
{
    return status == THEMIS_UNREACHABLE || status == THEMIS_NO_SERVER || status == THEMIS_DISCONNECTED ||
           status == THEMIS_TIMED_OUT;
}
