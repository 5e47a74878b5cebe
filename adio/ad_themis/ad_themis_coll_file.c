/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_coll_file.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_cache.h"
#include "ad_themis_coll_info.h"
#include "ad_themis_file.h"
#include "ad_themis_hints.h"
#include "ad_themis_hooks.h"
#include "util/config.h"

/* --- the servers as the file of collective operations --- */

themis_status_t ADIOI_THEMIS_Coll_note(ADIOI_THEMIS_Coll *coll, themis_status_t status)
{
    if (status < THEMIS_OK) {
        coll->failed = status;
        snprintf(coll->failure, sizeof coll->failure, "%s", themis_last_error());
    }
    return status;
}

static themis_status_t ops_start(void *arg, themis_direction_t direction, const themis_list_t *list, void **request)
{
    ADIOI_THEMIS_Coll *coll = arg;
    themis_request_t *made;
    themis_status_t status = direction == THEMIS_WRITE ? themis_iwrite_list(coll->handle, list, &made)
                                                       : themis_iread_list(coll->handle, list, &made);

    if (status == THEMIS_OK)
        *request = made;
    return ADIOI_THEMIS_Coll_note(coll, status);
}

static themis_status_t ops_test(void *arg, void *request, size_t *done)
{
    return ADIOI_THEMIS_Coll_note(arg, themis_request_test(request, done));
}

static themis_status_t ops_wait(void *arg, void *request, size_t *done)
{
    return ADIOI_THEMIS_Coll_note(arg, themis_request_wait(request, done));
}

/* --- hints --- */

static int64_t requested_aggregators(ADIO_File fd)
{
    const char *text = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_aggregators);
    int64_t number = THEMIS_AGGREGATION_COUNT_AUTO;

    if (text && strcmp(text, "per-server") == 0)
        return THEMIS_AGGREGATION_PER_SERVER;
    if (text)
        themis_util_config_integer(text, 1, INT32_MAX, &number);
    return number;
}

/* From ROMIO's romio_cb_read and romio_cb_write. */
static themis_collective_mode_t mode_of(int hint)
{
    if (hint == ADIOI_HINT_ENABLE)
        return THEMIS_COLLECTIVE_TWOPHASE;
    return hint == ADIOI_HINT_DISABLE ? THEMIS_COLLECTIVE_LIST : THEMIS_COLLECTIVE_AUTO;
}

static int fake_nodes(void)
{
    const char *text = themis_util_config_env("THEMIS_FAKE_NODES");
    int64_t nodes = 0;

    if (text && themis_util_config_integer(text, 1, INT32_MAX, &nodes) != THEMIS_OK)
        nodes = 0;
    return (int)nodes;
}

/* These values were checked when they were given. */
static void coll_read_hints(ADIO_File fd, themis_collective_options_t *config)
{
    const char *mode = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_collective);
    const char *method = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_fd_method);
    const char *placement = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_placement);
    const char *topology = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_topology);

    config->method = THEMIS_AGGREGATION_METHOD_AUTO;
    config->placement = THEMIS_AGGREGATION_AUTO;
    if (mode)
        themis_collective_mode_parse(mode, &config->mode);
    if (method)
        themis_aggregation_method_parse(method, &config->method);
    if (placement)
        themis_aggregation_placement_parse(placement, &config->placement);
    config->topology = topology ? topology : themis_util_config_env("THEMIS_TOPOLOGY");
    config->aggregators = requested_aggregators(fd);
    config->mode_for[THEMIS_READ] = mode_of(fd->hints->cb_read);
    config->mode_for[THEMIS_WRITE] = mode_of(fd->hints->cb_write);
}

static void coll_configure(ADIO_File fd, themis_collective_options_t *config)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info = {0};

    memset(config, 0, sizeof *config);
    coll_read_hints(fd, config);
    if (themis_session_info(file->session, &info) == THEMIS_OK) {
        config->servers_local = info.all_local;
        config->server_list = info.server_list;
    }
    config->max_aggregators = (uint32_t)file->cb_nodes;
    config->config_list = fd->hints->cb_config_list;
    config->buffer_size = (uint64_t)fd->hints->cb_buffer_size;
    config->layout.stripe_size = file->layout.stripe_size;
    config->layout.servers = file->layout.count;
    config->first_server = file->layout.first;
    config->fake_nodes = fake_nodes();
}

/* --- opening and closing --- */

static void coll_free(ADIOI_THEMIS_Coll *coll)
{
    if (!coll)
        return;
    themis_collective_destroy(coll->coll);
    ADIOI_THEMIS_Flat_free(&coll->buffer);
    themis_util_runs_free(&coll->file);
    themis_util_runs_free(&coll->memory);
    free(coll);
}

ADIOI_THEMIS_Coll *ADIOI_THEMIS_Coll_get(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    ADIOI_THEMIS_Coll *coll = file->coll;
    themis_collective_t *made = NULL;
    themis_status_t status;

    if (coll)
        return coll;
    coll = calloc(1, sizeof *coll);
    if (coll) {
        coll_configure(fd, &coll->config);
        coll->fd = fd;
        coll->handle = file->handle;
        coll->file_ops =
            (themis_collective_file_ops_t){.arg = coll, .start = ops_start, .test = ops_test, .wait = ops_wait};
    }
    AD_THEMIS_UNLOCKED(
        status, themis_collective_create(fd->comm, coll ? &coll->config : NULL, coll ? &coll->file_ops : NULL, &made));
    if (status != THEMIS_OK) {
        coll_free(coll);
        return NULL;
    }
    coll->coll = made;
    file->coll = coll;
    ADIOI_THEMIS_Coll_info_opened(coll);
    return coll;
}

int ADIOI_THEMIS_Coll_sync(ADIO_File fd)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(fd)->coll;
    themis_status_t own, status;

    AD_THEMIS_UNLOCKED(own, ADIOI_THEMIS_Cache_flush(fd));
    if (!coll)
        return ADIOI_THEMIS_FAILURE(own, fd->filename);
    ADIOI_THEMIS_Coll_note(coll, own);
    AD_THEMIS_UNLOCKED(status, themis_collective_sync(coll->coll, own));
    return ADIOI_THEMIS_Coll_code(coll, __func__, status);
}

void ADIOI_THEMIS_Coll_close(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    int held = themis_glue_lock_release();

    coll_free(file->coll);
    themis_glue_lock_acquire(held);
    file->coll = NULL;
}

int ADIOI_THEMIS_Coll_open(ADIO_File fd)
{
    int size;

    MPI_Comm_size(fd->comm, &size);
    if (size == 1 || ADIOI_THEMIS_Coll_get(fd))
        return MPI_SUCCESS;
    return ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
}

/* --- results --- */

int ADIOI_THEMIS_Coll_code(ADIOI_THEMIS_Coll *coll, const char *function, themis_status_t status)
{
    char text[AD_THEMIS_TEXT];

    if (status == THEMIS_OK)
        return MPI_SUCCESS;
    if (coll->failed != THEMIS_OK)
        snprintf(text, sizeof text, "%s", coll->failure);
    else
        snprintf(text, sizeof text, "another rank: %s", themis_status_string(status));
    coll->failed = THEMIS_OK;
    return ADIOI_THEMIS_Error(function, __LINE__, status, coll->fd->filename, text);
}
