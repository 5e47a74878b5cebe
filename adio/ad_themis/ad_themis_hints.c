/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Hints as they are given and shown. Rank 0 checks what it was given (ad_themis_hint_check.c), warns of what it
 * ignores, and tells the others the rest, so all ranks go by the same hints and none waits for a hint that another was
 * not given. They count when the file is opened; MPI_File_get_info shows what is in force.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis.h"
#include "adio_cb_config_list.h"
#include "adio_extern.h"
#include "util/config.h"
#include "util/log.h"

static void warn(const char *name, const char *key, const char *value, const char *why)
{
    themis_warn("themis:%s: hint %s = \"%s\" is ignored: %s", name, key, value, why);
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
    ADIOI_THEMIS_Flat_free(&file->view);
    free(file->name);
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

/* --- what rank 0 was given --- */

/* Sound hints: key and value with their zeros, one behind the other. */
typedef struct hint_list {
    char *text;
    size_t bytes;
} hint_list_t;

static int append(hint_list_t *list, const char *key, const char *value)
{
    size_t key_bytes = strlen(key) + 1, value_bytes = strlen(value) + 1;
    char *grown = realloc(list->text, list->bytes + key_bytes + value_bytes);

    if (!grown)
        return -1;
    memcpy(grown + list->bytes, key, key_bytes);
    memcpy(grown + list->bytes + key_bytes, value, value_bytes);
    list->text = grown;
    list->bytes += key_bytes + value_bytes;
    return 0;
}

/* Without memory for a hint it is left out. */
static void collect(const char *name, MPI_Info info, hint_list_t *list)
{
    char key[MPI_MAX_INFO_KEY + 1], value[MPI_MAX_INFO_VAL + 1], text[MPI_MAX_INFO_VAL + 1];
    int keys = 0, found;
    const char *why;

    if (info != MPI_INFO_NULL)
        MPI_Info_get_nkeys(info, &keys);
    for (int i = 0; i < keys; i++) {
        MPI_Info_get_nthkey(info, i, key);
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
        if (!found)
            continue;
        if (ADIOI_THEMIS_Hint_check(key, value, text, &why) != AD_THEMIS_USE_NONE)
            why = append(list, key, text) == 0 ? NULL : "out of memory";
        if (why)
            warn(name, key, value, why);
    }
}

/* Collective: all ranks have rank 0's list afterwards. -1: no memory, on all ranks alike. */
static int share(ADIO_File fd, hint_list_t *list)
{
    unsigned long bytes = list->bytes;
    int rank, short_of_memory = 0, any = 0;

    MPI_Comm_rank(fd->comm, &rank);
    MPI_Bcast(&bytes, 1, MPI_UNSIGNED_LONG, 0, fd->comm);
    if (bytes == 0)
        return 0;
    if (rank != 0) {
        list->text = malloc(bytes);
        list->bytes = bytes;
        short_of_memory = !list->text;
    }
    MPI_Allreduce(&short_of_memory, &any, 1, MPI_INT, MPI_MAX, fd->comm);
    if (any)
        return -1;
    MPI_Bcast(list->text, (int)bytes, MPI_BYTE, 0, fd->comm);
    return 0;
}

/* Collective: whether ROMIO finds a rank on the hosts that cb_config_list names; it would refuse to open. */
static int names_a_host(ADIO_File fd, const char *list)
{
    ADIO_cb_name_array array = NULL;
    int rank, found = 1;

    MPI_Comm_rank(fd->comm, &rank);
    ADIOI_cb_gather_name_array(fd->comm, fd->comm, &array);
    if (rank == 0 && array) {
        char *copy = strdup(list);
        int *ranks = malloc((size_t)array->namect * sizeof *ranks);

        found = copy && ranks && ADIOI_cb_config_list_parse(copy, array, ranks, array->namect) > 0;
        free(copy);
        free(ranks);
        if (!found)
            warn(ADIOI_THEMIS_Name(fd), "cb_config_list", list, "no rank is on such a host");
    }
    MPI_Bcast(&found, 1, MPI_INT, 0, fd->comm);
    return found;
}

/* --- what all ranks make of it --- */

/* Ours, and standard ones that ROMIO leaves to the drivers. */
static void take(ADIO_File fd, const char *key, const char *value)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    for (int i = 0; i < AD_THEMIS_HINT_NUMBER; i++) {
        if (strcmp(key, ADIOI_THEMIS_Hint_key((ADIOI_THEMIS_Hint)i)) != 0)
            continue;
        free(file->hint[i]);
        file->hint[i] = strdup(value);
        ADIOI_THEMIS_Hint_show(fd, key, value);
        return;
    }
    if (strcmp(key, "cb_nodes") == 0)
        file->cb_nodes = atoi(value);
    else if (strcmp(key, "striping_factor") == 0) /* 0: left open, as in ROMIO */
        file->striping_factor = atoi(value);
    else if (strcmp(key, "start_iodevice") == 0)
        file->start_iodevice = atoi(value);
}

/* The hints for ROMIO, owned by the caller. Collective. */
static MPI_Info unpack(ADIO_File fd, const hint_list_t *list)
{
    MPI_Info info;

    MPI_Info_create(&info);
    for (size_t at = 0; at < list->bytes;) {
        const char *key = list->text + at, *value = key + strlen(key) + 1;

        at += strlen(key) + strlen(value) + 2;
        if (strcmp(key, "cb_config_list") != 0 || names_a_host(fd, value))
            MPI_Info_set(info, key, value);
    }
    return info;
}

static void take_all(ADIO_File fd, const hint_list_t *list)
{
    for (size_t at = 0; at < list->bytes;) {
        const char *key = list->text + at, *value = key + strlen(key) + 1;

        at += strlen(key) + strlen(value) + 2;
        take(fd, key, value);
    }
}

static int has(const hint_list_t *list, const char *wanted)
{
    for (size_t at = 0; at < list->bytes;) {
        const char *key = list->text + at, *value = key + strlen(key) + 1;

        if (strcmp(key, wanted) == 0)
            return 1;
        at += strlen(key) + strlen(value) + 2;
    }
    return 0;
}

/* ROMIO shows all hints that it knows. Those that nothing goes by are left to be seen by who gave them. */
static void hide_without_effect(ADIO_File fd, const hint_list_t *list)
{
    const char *key;

    for (size_t i = 0; (key = ADIOI_THEMIS_Hint_without_effect(i)) != NULL; i++) {
        char value[MPI_MAX_INFO_VAL + 1];
        int found;

        ADIOI_Info_get(fd->info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found && !has(list, key))
            ADIOI_Info_delete(fd->info, key);
    }
}

/* With which servers, and by which policy, is settled when the file is opened; what was asked for then, and what is
 * shown, may be given again. */
static void warn_if_late(ADIO_File fd, MPI_Info info, ADIOI_THEMIS_Hint hint)
{
    char value[MPI_MAX_INFO_VAL + 1], shown[MPI_MAX_INFO_VAL + 1] = "";
    const char *key = ADIOI_THEMIS_Hint_key(hint), *asked = ADIOI_THEMIS_Hint_text(fd, hint);
    int found = 0, shown_found;

    if (info != MPI_INFO_NULL)
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    ADIOI_Info_get(fd->info, key, MPI_MAX_INFO_VAL, shown, &shown_found);
    if (found && strcmp(shown, value) != 0 && (!asked || strcmp(asked, value) != 0))
        warn(ADIOI_THEMIS_Name(fd), key, value, "the file is open");
}

/* ROMIO calls it once before the open, and again for each view. */
void ADIOI_THEMIS_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    hint_list_t list = {NULL, 0};
    MPI_Info info;
    int rank, failed;

    *error_code = MPI_SUCCESS;
    MPI_Comm_rank(fd->comm, &rank);
    if (fd->fs_ptr && ADIOI_THEMIS_file(fd)->handle) {
        if (rank == 0) {
            warn_if_late(fd, users_info, AD_THEMIS_HINT_servers);
            warn_if_late(fd, users_info, AD_THEMIS_HINT_policy);
        }
        return;
    }
    if (rank == 0)
        collect(fd->filename, users_info, &list);
    failed = share(fd, &list);
    if (failed)
        list.bytes = 0;
    info = unpack(fd, &list);
    ADIOI_GEN_SetInfo(fd, info, error_code);
    MPI_Info_free(&info);
    if (ADIOI_THEMIS_File_make(fd))
        take_all(fd, &list);
    else
        failed = -1;
    hide_without_effect(fd, &list);
    free(list.text);
    if (failed)
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
}

int ADIOI_THEMIS_Hint_given(MPI_Info info, ADIOI_THEMIS_Hint hint, const char *name, char *text)
{
    char value[MPI_MAX_INFO_VAL + 1];
    const char *key = ADIOI_THEMIS_Hint_key(hint), *why;
    int found = 0;

    if (info != MPI_INFO_NULL)
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (!found || ADIOI_THEMIS_Hint_check(key, value, text, &why) == AD_THEMIS_USE_OURS)
        return found;
    warn(name, key, value, why);
    return 0;
}
