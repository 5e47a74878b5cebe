/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/space.h"
#include <errno.h>
#include <jansson.h>
#include <stdlib.h>

enum { BLOCK_BYTES = 4096 };

static uint64_t number_of(const json_t *object, const char *name)
{
    const double value = json_number_value(json_object_get(object, name));

    return value > 0 && value < 9e18 ? (uint64_t)value : 0;
}

/* Adds a server's to the sums, if it tells. */
static int server_add(themis_t *session, uint32_t index, uint64_t *capacity, uint64_t *used)
{
    char *text = NULL;

    if (themis_query(session, index, "server", &text) != THEMIS_OK)
        return 0;
    json_t *server = json_loads(text, 0, NULL);
    free(text);
    *capacity += number_of(server, "capacity_bytes");
    *used += number_of(server, "used_bytes");
    json_decref(server);
    return server != NULL;
}

int themis_posix_space(themis_posix_t *filesystem, struct statvfs *space)
{
    themis_session_info_t info;
    uint64_t capacity = 0, used = 0;
    int answered = 0;

    if (themis_session_info(filesystem->session, &info) != THEMIS_OK)
        return EIO;
    for (uint32_t i = 0; i < info.servers; i++)
        answered += server_add(filesystem->session, i, &capacity, &used);
    if (!answered)
        return EIO;
    const uint64_t left = capacity > used ? capacity - used : 0;
    *space = (struct statvfs){.f_bsize = BLOCK_BYTES,
                              .f_frsize = BLOCK_BYTES,
                              .f_blocks = capacity / BLOCK_BYTES,
                              .f_bfree = left / BLOCK_BYTES,
                              .f_bavail = left / BLOCK_BYTES,
                              .f_namemax = THEMIS_CLIENT_NAME_BYTES - 1};
    return 0;
}
