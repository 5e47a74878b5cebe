/* SPDX-License-Identifier: BSD-3-Clause */
#include "dfra/run.h"
#include <math.h>
#include <string.h>

int themis_dfra_run_sharing(const char *text, themis_dfra_sharing_t *sharing)
{
    if (strcmp(text, "unknown") == 0) {
        *sharing = THEMIS_DFRA_N_N;
        return 1;
    }
    for (themis_dfra_sharing_t i = 0; i < THEMIS_DFRA_SHARINGS; i++)
        if (strcmp(text, themis_dfra_sharing_name(i)) == 0) {
            *sharing = i;
            return 1;
        }
    return 0;
}

themis_status_t themis_dfra_run_take(const themis_history_record_t *record, themis_dfra_application_t *run, char *error,
                                     size_t size)
{
    double volume = (double)record->read_bytes + (double)record->written_bytes, operations = (double)record->requests;
    themis_dfra_application_t a = {.nodes = record->nodes,
                                   .io_nodes = record->io_nodes,
                                   .duration = record->end - record->start,
                                   .volume = volume,
                                   .operations = operations,
                                   .metadata_waiting = record->metadata_waiting,
                                   .peak_bandwidth = record->peak_bandwidth,
                                   /* requests are as large at the peak as on average */
                                   .peak_iops = volume > 0 ? operations * (record->peak_bandwidth / volume) : 0,
                                   .records = 1};

    themis_dfra_run_sharing(themis_history_sharing_name(record->sharing), &a.sharing);
    themis_status_t status = themis_dfra_application_check(&a, error, size);
    if (status == THEMIS_OK)
        *run = a;
    return status;
}

void themis_dfra_run_add(themis_dfra_application_t *run, const themis_dfra_application_t *more)
{
    run->volume += more->volume;
    run->operations += more->operations;
    run->peak_bandwidth += more->peak_bandwidth;
    run->peak_iops += more->peak_iops;
    run->duration = fmax(run->duration, more->duration);
    run->metadata_waiting = fmax(run->metadata_waiting, more->metadata_waiting);
    run->nodes = run->nodes > more->nodes ? run->nodes : more->nodes;
    run->io_nodes = run->io_nodes > more->io_nodes ? run->io_nodes : more->io_nodes;
    if (run->sharing != more->sharing)
        run->sharing = THEMIS_DFRA_N_M;
}
