/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints. ROMIO's own are left to ROMIO, but for values with which it could not work; ours are checked here. A hint that
 * is unknown or makes no sense is ignored with one warning, by rank 0, and MPI_File_get_info shows what is in force.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis.h"
#include "util/config.h"
#include "util/log.h"

typedef enum hint_kind { TEXT, DURATION, CHOICE, COUNT, SHOWN } hint_kind_t;

static const struct {
    const char *key;
    hint_kind_t kind;
    const char *choices;
} known[] = {
#define AD_THEMIS_HINT_ROW(name, kind, choices) {"themis_" #name, kind, choices},
    AD_THEMIS_HINTS(AD_THEMIS_HINT_ROW)
#undef AD_THEMIS_HINT_ROW
};

static int is_choice(const char *choices, const char *value)
{
    size_t length = strlen(value);

    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL)
        if (strncmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return length > 0;
    return 0;
}

static int is_sound(int hint, const char *value)
{
    uint64_t ns;
    int64_t count;

    switch (known[hint].kind) {
    case DURATION:
        return themis_config_duration(value, &ns) == THEMIS_OK && ns > 0;
    case CHOICE:
        return is_choice(known[hint].choices, value);
    case COUNT:
        return themis_config_integer(value, 1, INT32_MAX, &count) == THEMIS_OK;
    default:
        return *value != '\0';
    }
}

static void warn(ADIO_File fd, const char *key, const char *value, const char *why)
{
    int rank;

    MPI_Comm_rank(fd->comm, &rank);
    if (rank == 0)
        themis_warn("%s: hint %s = \"%s\" is ignored: %s", fd->filename, key, value, why);
}

ADIOI_THEMIS_File *ADIOI_THEMIS_File_make(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = fd->fs_ptr;

    if (!file) {
        file = calloc(1, sizeof *file);
        if (file)
            file->start_iodevice = -1;
        fd->fs_ptr = file;
    }
    return file;
}

void ADIOI_THEMIS_File_free(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = fd->fs_ptr;

    if (!file)
        return;
    for (int i = 0; i < AD_THEMIS_HINT_NUMBER; i++)
        free(file->hint[i]);
    free(file);
    fd->fs_ptr = NULL;
}

const char *ADIOI_THEMIS_Hint_text(ADIO_File fd, ADIOI_THEMIS_Hint hint)
{
    return fd->fs_ptr ? ADIOI_THEMIS_file(fd)->hint[hint] : NULL;
}

void ADIOI_THEMIS_Hint_show(ADIO_File fd, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL];

    snprintf(text, sizeof text, "%s", value);
    ADIOI_Info_set(fd->info, key, text);
}

void ADIOI_THEMIS_Hint_show_number(ADIO_File fd, const char *key, long long value)
{
    char text[32];

    snprintf(text, sizeof text, "%lld", value);
    ADIOI_Info_set(fd->info, key, text);
}

/* With which servers, and by which policy, is settled when the file is opened; what was asked for then, and what is
 * shown, may be given again. */
static int is_settled(ADIO_File fd, int hint, const char *value)
{
    const char *asked = ADIOI_THEMIS_Hint_text(fd, hint);
    char shown[MPI_MAX_INFO_VAL + 1] = "";
    int found;

    if (!ADIOI_THEMIS_file(fd)->handle || (hint != AD_THEMIS_HINT_servers && hint != AD_THEMIS_HINT_policy))
        return 0;
    ADIOI_Info_get(fd->info, known[hint].key, MPI_MAX_INFO_VAL, shown, &found);
    if (strcmp(shown, value) != 0 && (!asked || strcmp(asked, value) != 0))
        warn(fd, known[hint].key, value, "the file is open");
    return 1;
}

/* One of ours, by its key. */
static void take_ours(ADIO_File fd, const char *key, const char *value)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    for (int i = 0; i < AD_THEMIS_HINT_NUMBER; i++) {
        if (strcmp(key, known[i].key) != 0)
            continue;
        if (known[i].kind == SHOWN || is_settled(fd, i, value))
            return;
        if (!is_sound(i, value)) {
            warn(fd, key, value, known[i].choices ? known[i].choices : "the value makes no sense");
            return;
        }
        free(file->hint[i]);
        file->hint[i] = strdup(value);
        ADIOI_THEMIS_Hint_show(fd, key, value);
        return;
    }
    warn(fd, key, value, "no such hint");
}

/* Standard hints that ROMIO leaves to the drivers. */
static void take_layout(ADIO_File fd, const char *key, const char *value)
{
    int factor = strcmp(key, "striping_factor") == 0;
    int64_t number;

    /* A striping factor of 0 is ROMIO's way to leave it open. */
    if (themis_config_integer(value, 0, INT32_MAX, &number) != THEMIS_OK) {
        warn(fd, key, value, "not a number in range");
        return;
    }
    if (factor)
        ADIOI_THEMIS_file(fd)->striping_factor = (int)number;
    else
        ADIOI_THEMIS_file(fd)->start_iodevice = (int)number;
}

static void take_all(ADIO_File fd, MPI_Info info)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1];
    int keys = 0, found;

    MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(info, i, key);
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (!found)
            continue;
        if (strncmp(key, "themis_", 7) == 0)
            take_ours(fd, key, value);
        else if (strcmp(key, "cb_nodes") == 0)
            ADIOI_THEMIS_file(fd)->cb_nodes = fd->hints->cb_nodes > 0 ? fd->hints->cb_nodes : 0;
        else if (strcmp(key, "striping_factor") == 0 || strcmp(key, "start_iodevice") == 0)
            take_layout(fd, key, value);
    }
}

/* ROMIO takes any number, and a word as 0. */
static void mend(ADIO_File fd, const char *key, int *value, int lowest, int step, int instead)
{
    char text[32];

    if (*value >= lowest && *value % step == 0)
        return;
    snprintf(text, sizeof text, "%d", *value);
    warn(fd, key, text, "not a number in range");
    *value = instead;
    if (instead > 0)
        ADIOI_THEMIS_Hint_show_number(fd, key, instead);
    else
        ADIOI_Info_delete(fd->info, key);
}

void ADIOI_THEMIS_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_File_make(fd);

    if (!file) {
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
        return;
    }
    ADIOI_GEN_SetInfo(fd, users_info, error_code);
    if (users_info == MPI_INFO_NULL)
        return;
    take_all(fd, users_info);
    mend(fd, "cb_buffer_size", &fd->hints->cb_buffer_size, 1, 1, 16 << 20);
    mend(fd, "ind_rd_buffer_size", &fd->hints->ind_rd_buffer_size, 1, 1, 4 << 20);
    mend(fd, "ind_wr_buffer_size", &fd->hints->ind_wr_buffer_size, 1, 1, 512 << 10);
    mend(fd, "romio_min_fdomain_size", &fd->hints->min_fdomain_size, 0, 1, 0);
    /* The layout of an open file is fixed; before, this is a wish, in multiples of 4 KiB. */
    if (file->handle) {
        fd->hints->striping_unit = (int)file->layout.stripe_size;
        ADIOI_THEMIS_Hint_show_number(fd, "striping_unit", fd->hints->striping_unit);
    } else {
        mend(fd, "striping_unit", &fd->hints->striping_unit, 0, 4096, 0);
    }
}
