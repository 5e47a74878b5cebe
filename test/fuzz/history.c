/* SPDX-License-Identifier: BSD-3-Clause */
/* libFuzzer: any bytes are refused or decoded as the record of a job, and what was decoded can be written and added up.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include "history/merge.h"

static void require(int good)
{
    if (!good)
        abort();
}

/* The record as that of two servers. */
static void merge(const themis_history_record_t *record, const themis_history_series_t *series)
{
    themis_history_entry_t entry[2] = {{.record = *record}, {.record = *record, .source = 1}};
    size_t count = 2;

    for (int i = 0; i < 2; i++)
        require(themis_history_series_copy(series, THEMIS_HISTORY_RECORD_SAMPLES, &entry[i].series) == THEMIS_OK);
    require(themis_history_merge(entry, &count, NULL) == THEMIS_OK && count == 1);
    require(entry[0].record.servers == 2 && entry[0].record.written_bytes >= record->written_bytes);
    themis_history_series_release(&entry[0].series);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);
int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size)
{
    themis_history_record_t record;
    themis_history_series_t series;
    char *text, error[64];

    if (themis_history_record_decode((const char *)bytes, size, &record, &series, error, sizeof error) != THEMIS_OK) {
        require(memchr(error, 0, sizeof error) != NULL);
        return 0;
    }
    require(themis_history_record_encode(&record, &series, &text, error, sizeof error) == THEMIS_OK);
    free(text);
    merge(&record, &series);
    themis_history_series_release(&series);
    return 0;
}
