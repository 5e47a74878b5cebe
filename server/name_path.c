/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/name_path.h"
#include <string.h>

int themis_server_name_path_is_root(const themis_proto_text_t *path)
{
    return path->length == 1 && path->bytes[0] == '/';
}

themis_proto_text_t themis_server_name_path_directory(const themis_proto_text_t *path)
{
    uint32_t length = path->length;

    while (length > 1 && path->bytes[length - 1] != '/')
        length--;
    return (themis_proto_text_t){path->bytes, length > 1 ? length - 1 : 1};
}

themis_status_t themis_server_name_path_check_name(const char *bytes, size_t length)
{
    if (length > THEMIS_PROTO_MAX_NAME)
        return THEMIS_NAME_TOO_LONG;
    if (length == 0 || memchr(bytes, 0, length) || memchr(bytes, '/', length) || (length == 1 && bytes[0] == '.') ||
        (length == 2 && memcmp(bytes, "..", 2) == 0))
        return THEMIS_BAD_NAME;
    return THEMIS_OK;
}

themis_status_t themis_server_name_path_check(const themis_proto_text_t *path)
{
    themis_status_t status = THEMIS_OK;
    size_t at = 1;

    if (path->length > THEMIS_PROTO_MAX_PATH)
        return THEMIS_NAME_TOO_LONG;
    if (path->length == 0 || path->bytes[0] != '/')
        return THEMIS_BAD_NAME;
    while (!themis_server_name_path_is_root(path) && status == THEMIS_OK && at <= path->length) {
        const char *slash = memchr(path->bytes + at, '/', path->length - at);
        size_t length = slash ? (size_t)(slash - path->bytes) - at : path->length - at;
        status = themis_server_name_path_check_name(path->bytes + at, length);
        at += length + 1;
    }
    return status;
}
