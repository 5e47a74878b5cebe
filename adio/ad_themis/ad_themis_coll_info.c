/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_coll_info.h"
#include <stdio.h>
#include "ad_themis_direct.h"
#include "ad_themis_file.h"
#include "ad_themis_hints.h"
#include "util/log.h"

/* A request for more aggregators than there can be is reported when the file is opened, whether or not a call needs
 * them. */
static void warn_of_limit(ADIOI_THEMIS_Coll *coll, uint32_t possible)
{
    long long wanted = coll->config.aggregators;
    const char *name = ADIOI_THEMIS_File_name(coll->fd);
    int rank, size;

    MPI_Comm_rank(coll->fd->comm, &rank);
    MPI_Comm_size(coll->fd->comm, &size);
    if (wanted <= (possible ? possible : (long long)size))
        return;
    coll->warned_of_count = 1;
    if (rank == 0 && possible)
        themis_warn("themis:%s: hint themis_aggregators = \"%lld\": cb_nodes and cb_config_list allow %u", name, wanted,
                    possible);
    else if (rank == 0)
        themis_warn("themis:%s: hint themis_aggregators = \"%lld\": there are %d ranks", name, wanted, size);
}

void ADIOI_THEMIS_Coll_info_opened(ADIOI_THEMIS_Coll *coll)
{
    const themis_collective_options_t *config = &coll->config;
    themis_collective_info_t info;

    ADIOI_THEMIS_Hints_show(coll->fd, "themis_collective", themis_collective_mode_name(config->mode));
    ADIOI_THEMIS_Hints_show(coll->fd, "themis_fd_method", themis_aggregation_method_name(config->method));
    ADIOI_THEMIS_Hints_show(coll->fd, "themis_placement", themis_aggregation_placement_name(config->placement));
    ADIOI_THEMIS_Hints_show(coll->fd, "themis_topology", config->topology ? config->topology : "auto");
    themis_collective_info(coll->coll, &info);
    if (info.topology)
        ADIOI_THEMIS_Hints_show(coll->fd, "themis_topology_used", info.topology);
    warn_of_limit(coll, info.possible);
}

static void show_aggregators(ADIO_File fd, const themis_collective_info_t *info)
{
    char list[MPI_MAX_INFO_VAL];
    size_t used = 0;

    list[0] = '\0';
    for (uint32_t i = 0; i < info->aggregators && used + 12 < sizeof list; i++)
        used += (size_t)snprintf(list + used, sizeof list - used, i ? " %u" : "%u", info->aggregator[i]);
    ADIOI_THEMIS_Hints_show(fd, "romio_aggregator_list", list);
}

static void show_costs(ADIO_File fd, const themis_collective_info_t *info)
{
    const themis_collective_cost_t *cost = &info->cost, *standard = &info->default_cost;

    ADIOI_THEMIS_Hints_show_number(fd, "themis_hop_bytes", cost->hop_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_hop_bytes_default", standard->hop_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_server_hop_bytes", cost->server_hop_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_server_hop_bytes_default", standard->server_hop_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_max_link_bytes", (double)cost->link_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_max_link_bytes_default", (double)standard->link_bytes);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_moved_bytes", (double)info->moved_bytes);
}

/* Another number of aggregators than the hint asked for is reported once. */
static void warn_of_count(ADIOI_THEMIS_Coll *coll, const themis_collective_info_t *info)
{
    int64_t wanted = coll->config.aggregators;
    int rank;

    if (wanted < 1 || coll->warned_of_count || wanted == info->aggregators)
        return;
    coll->warned_of_count = 1;
    MPI_Comm_rank(coll->fd->comm, &rank);
    if (rank == 0)
        themis_warn(
            "themis:%s: hint themis_aggregators = \"%lld\": %u are used, which is what %s can use with %u servers",
            ADIOI_THEMIS_File_name(coll->fd), (long long)wanted, info->aggregators,
            themis_aggregation_method_name(info->method), coll->config.layout.servers);
}

/* Costs nothing while nothing changes. */
void ADIOI_THEMIS_Coll_info_show(ADIOI_THEMIS_Coll *coll)
{
    ADIO_File fd = coll->fd;
    themis_collective_info_t info;

    ADIOI_THEMIS_Direct_show(fd);
    themis_collective_info(coll->coll, &info);
    if (info.mode != coll->shown_mode)
        ADIOI_THEMIS_Hints_show(fd, "themis_collective_used", themis_collective_mode_name(info.mode));
    coll->shown_mode = info.mode;
    if (info.plans_made + info.plans_reused == coll->shown_plans || !info.aggregator)
        return;
    coll->shown_plans = info.plans_made + info.plans_reused;
    ADIOI_THEMIS_Hints_show(fd, "themis_fd_method", themis_aggregation_method_name(info.method));
    ADIOI_THEMIS_Hints_show(fd, "themis_placement", themis_aggregation_placement_name(info.placement));
    ADIOI_THEMIS_Hints_show_number(fd, "themis_plans_made", (double)info.plans_made);
    ADIOI_THEMIS_Hints_show_number(fd, "themis_aggregators_used", info.aggregators);
    show_costs(fd, &info);
    show_aggregators(fd, &info);
    warn_of_count(coll, &info);
}
