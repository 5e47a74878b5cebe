/* SPDX-License-Identifier: BSD-3-Clause */
/* What a file's collective path is made of: its configuration from the hints, the servers as its sink, its life. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_coll.h"
#include "collective/model.h"
#include "util/config.h"
#include "util/log.h"

/* --- the servers as a sink --- */

themis_status_t ADIOI_THEMIS_Coll_note(ADIOI_THEMIS_Coll *coll, themis_status_t status)
{
    if (status < THEMIS_OK) {
        coll->failed = status;
        snprintf(coll->failure, sizeof coll->failure, "%s", themis_last_error());
    }
    return status;
}

static themis_status_t sink_start(void *arg, themis_direction_t direction, const themis_list_t *list, void **request)
{
    ADIOI_THEMIS_Coll *coll = arg;
    themis_request_t *made;
    themis_status_t status = direction == THEMIS_WRITE ? themis_iwrite_list(coll->handle, list, &made)
                                                       : themis_iread_list(coll->handle, list, &made);

    if (status == THEMIS_OK)
        *request = made;
    return ADIOI_THEMIS_Coll_note(coll, status);
}

static themis_status_t sink_test(void *arg, void *request, size_t *done)
{
    return ADIOI_THEMIS_Coll_note(arg, themis_request_test(request, done));
}

static themis_status_t sink_wait(void *arg, void *request, size_t *done)
{
    return ADIOI_THEMIS_Coll_note(arg, themis_request_wait(request, done));
}

static themis_status_t sink_quick(void *arg, themis_direction_t direction, const themis_list_t *list, size_t *done)
{
    /* buffers that are copied to and from while they are in a processor's cache */
    static const themis_cache_options_t options = {
        .write_bytes = 2 << 20, .read_bytes = 2 << 20, .small = THEMIS_COLLECTIVE_SMALL};
    ADIOI_THEMIS_Coll *coll = arg;
    themis_status_t status = THEMIS_OK;

    if (!coll->cache)
        status = themis_cache_create(coll->handle, &options, &coll->cache);
    if (status == THEMIS_OK)
        status = direction == THEMIS_WRITE ? themis_cache_write(coll->cache, list, done)
                                           : themis_cache_read(coll->cache, list, done);
    return ADIOI_THEMIS_Coll_note(coll, status);
}

static themis_status_t sink_settle(void *arg)
{
    ADIOI_THEMIS_Coll *coll = arg;

    if (!coll->cache)
        return THEMIS_OK;
    themis_cache_invalidate(coll->cache);
    return ADIOI_THEMIS_Coll_note(coll, themis_cache_flush(coll->cache));
}

/* --- hints --- */

static int64_t wanted_aggregators(ADIO_File fd)
{
    const char *text = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_aggregators);
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

/* The words of these hints have been checked when they were given. */
static void read_hints(ADIO_File fd, themis_collective_config_t *config)
{
    const char *mode = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_collective);
    const char *method = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_fd_method);
    const char *placement = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_placement);
    const char *topology = ADIOI_THEMIS_Hint_text(fd, AD_THEMIS_HINT_topology);

    config->method = THEMIS_AGGREGATION_METHOD_AUTO;
    config->placement = THEMIS_AGGREGATION_AUTO;
    if (mode)
        themis_collective_mode_parse(mode, &config->mode);
    if (method)
        themis_aggregation_method_parse(method, &config->method);
    if (placement)
        themis_aggregation_placement_parse(placement, &config->placement);
    config->cache = ADIOI_THEMIS_Cache_asked(fd);
    config->topology = topology ? topology : themis_util_config_env("THEMIS_TOPOLOGY");
    config->aggregators = wanted_aggregators(fd);
    config->wanted[THEMIS_READ] = mode_of(fd->hints->cb_read);
    config->wanted[THEMIS_WRITE] = mode_of(fd->hints->cb_write);
}

static void configure(ADIO_File fd, themis_collective_config_t *config)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info = {0};

    memset(config, 0, sizeof *config);
    read_hints(fd, config);
    if (themis_session_info(file->session, &info) == THEMIS_OK) {
        config->servers_local = info.all_local;
        config->server_list = info.server_list;
    }
    config->most = (uint32_t)file->cb_nodes;
    config->config_list = fd->hints->cb_config_list;
    config->buffer_size = (uint64_t)fd->hints->cb_buffer_size;
    config->layout.stripe_size = file->layout.stripe_size;
    config->layout.servers = file->layout.count;
    config->first_server = file->layout.first;
    config->fake_nodes = fake_nodes();
}

/* --- life --- */

static void discard(ADIOI_THEMIS_Coll *coll)
{
    if (!coll)
        return;
    themis_cache_destroy(coll->cache);
    themis_collective_destroy(coll->coll);
    ADIOI_THEMIS_Flat_free(&coll->buffer);
    themis_util_runs_free(&coll->file);
    themis_util_runs_free(&coll->memory);
    free(coll);
}

static void show_topology(ADIO_File fd, const themis_collective_t *coll)
{
    themis_collective_info_t info;

    themis_collective_info(coll, &info);
    if (info.topology)
        ADIOI_THEMIS_Hint_show(fd, "themis_topology_used", info.topology);
}

/* More aggregators than there can be are told of at once, whether or not a call will need them. */
static void tell_of_limit(ADIO_File fd, ADIOI_THEMIS_Coll *coll)
{
    int64_t wanted = coll->config.aggregators;
    themis_collective_info_t info;
    int rank, size;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Comm_size(fd->comm, &size);
    themis_collective_info(coll->coll, &info);
    if (wanted <= (info.possible ? info.possible : (int64_t)size))
        return;
    coll->told_count = 1;
    if (rank == 0 && info.possible)
        themis_warn("themis:%s: hint themis_aggregators = \"%lld\": cb_nodes and cb_config_list allow %u",
                    ADIOI_THEMIS_Name(fd), (long long)wanted, info.possible);
    else if (rank == 0)
        themis_warn("themis:%s: hint themis_aggregators = \"%lld\": there are %d ranks", ADIOI_THEMIS_Name(fd),
                    (long long)wanted, size);
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
        configure(fd, &coll->config);
        coll->handle = file->handle;
        coll->sink = (themis_collective_sink_t){.arg = coll,
                                                .start = sink_start,
                                                .test = sink_test,
                                                .wait = sink_wait,
                                                .quick = sink_quick,
                                                .settle = sink_settle};
    }
    AD_THEMIS_UNLOCKED(
        status, themis_collective_create(fd->comm, coll ? &coll->config : NULL, coll ? &coll->sink : NULL, &made));
    if (status != THEMIS_OK) {
        discard(coll);
        return NULL;
    }
    coll->coll = made;
    file->coll = coll;
    ADIOI_THEMIS_Hint_show(fd, "themis_collective", themis_collective_mode_name(coll->config.mode));
    ADIOI_THEMIS_Hint_show(fd, "themis_fd_method", themis_aggregation_method_name(coll->config.method));
    ADIOI_THEMIS_Hint_show(fd, "themis_placement", themis_aggregation_placement_name(coll->config.placement));
    ADIOI_THEMIS_Hint_show(fd, "themis_topology", coll->config.topology ? coll->config.topology : "auto");
    show_topology(fd, made);
    tell_of_limit(fd, coll);
    return coll;
}

themis_status_t ADIOI_THEMIS_Coll_settle(ADIO_File fd)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(fd)->coll;

    return coll ? themis_collective_settle(coll->coll) : THEMIS_OK;
}

int ADIOI_THEMIS_Coll_sync(ADIO_File fd)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(fd)->coll;
    themis_status_t own, status;

    AD_THEMIS_UNLOCKED(own, ADIOI_THEMIS_Cache_settle(fd));
    if (!coll)
        return ADIOI_THEMIS_FAILURE(own, fd->filename);
    ADIOI_THEMIS_Coll_note(coll, own);
    AD_THEMIS_UNLOCKED(status, themis_collective_sync(coll->coll, own));
    return ADIOI_THEMIS_Coll_code(fd, coll, __func__, status);
}

void ADIOI_THEMIS_Coll_close(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    int held = ADIOI_THEMIS_Lock_release();

    discard(file->coll);
    ADIOI_THEMIS_Lock_acquire(held);
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

void ADIOI_THEMIS_Coll_allow_cache(ADIO_File fd, int allowed)
{
    ADIOI_THEMIS_Coll *coll = ADIOI_THEMIS_file(fd)->coll;

    if (coll)
        themis_collective_allow_cache(coll->coll, allowed);
}

/* --- results --- */

int ADIOI_THEMIS_Coll_code(ADIO_File fd, ADIOI_THEMIS_Coll *coll, const char *function, themis_status_t status)
{
    char text[AD_THEMIS_TEXT];

    if (status == THEMIS_OK)
        return MPI_SUCCESS;
    if (coll->failed != THEMIS_OK)
        snprintf(text, sizeof text, "%s", coll->failure);
    else
        snprintf(text, sizeof text, "another rank: %s", themis_status_string(status));
    coll->failed = THEMIS_OK;
    return ADIOI_THEMIS_Error(function, __LINE__, status, fd->filename, text);
}

static void show_aggregators(ADIO_File fd, const themis_collective_info_t *info)
{
    char list[MPI_MAX_INFO_VAL];
    size_t used = 0;

    list[0] = '\0';
    for (uint32_t i = 0; i < info->aggregators && used + 12 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, i ? " %u" : "%u", info->aggregator[i]);
    ADIOI_THEMIS_Hint_show(fd, "romio_aggregator_list", list);
}

static void show_bytes(ADIO_File fd, const char *key, double bytes)
{
    char number[32];

    snprintf(number, sizeof number, "%.0f", bytes);
    ADIOI_THEMIS_Hint_show(fd, key, number);
}

static void show_costs(ADIO_File fd, const themis_collective_info_t *info)
{
    show_bytes(fd, "themis_hop_bytes", info->cost.hop_bytes);
    show_bytes(fd, "themis_hop_bytes_default", info->default_cost.hop_bytes);
    show_bytes(fd, "themis_server_hop_bytes", info->cost.server_hop_bytes);
    show_bytes(fd, "themis_server_hop_bytes_default", info->default_cost.server_hop_bytes);
    show_bytes(fd, "themis_max_link_bytes", (double)info->cost.link_bytes);
    show_bytes(fd, "themis_max_link_bytes_default", (double)info->default_cost.link_bytes);
    show_bytes(fd, "themis_moved_bytes", (double)info->moved_bytes);
}

/* Another number of aggregators than the hint asked for is told once. */
static void tell_of_count(ADIO_File fd, ADIOI_THEMIS_Coll *coll, const themis_collective_info_t *info)
{
    int64_t wanted = coll->config.aggregators;
    int rank;

    if (wanted < 1 || coll->told_count || wanted == info->aggregators)
        return;
    coll->told_count = 1;
    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        themis_warn(
            "themis:%s: hint themis_aggregators = \"%lld\": %u are used, which is what %s can use with %u servers",
            ADIOI_THEMIS_Name(fd), (long long)wanted, info->aggregators, themis_aggregation_method_name(info->method),
            coll->config.layout.servers);
}

/* Costs nothing while nothing changes. */
void ADIOI_THEMIS_Coll_show(ADIO_File fd, ADIOI_THEMIS_Coll *coll)
{
    themis_collective_info_t info;

    themis_collective_info(coll->coll, &info);
    if (info.mode != coll->shown_mode)
        ADIOI_THEMIS_Hint_show(fd, "themis_collective_used", themis_collective_mode_name(info.mode));
    coll->shown_mode = info.mode;
    if (info.plans_made + info.plans_reused == coll->shown_plans || !info.aggregator)
        return;
    coll->shown_plans = info.plans_made + info.plans_reused;
    ADIOI_THEMIS_Hint_show(fd, "themis_fd_method", themis_aggregation_method_name(info.method));
    ADIOI_THEMIS_Hint_show(fd, "themis_placement", themis_aggregation_placement_name(info.placement));
    ADIOI_THEMIS_Hint_show_number(fd, "themis_plans_made", (long long)info.plans_made);
    ADIOI_THEMIS_Hint_show_number(fd, "themis_aggregators_used", info.aggregators);
    show_costs(fd, &info);
    show_aggregators(fd, &info);
    tell_of_count(fd, coll, &info);
}
