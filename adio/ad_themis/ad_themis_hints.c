/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Rank 0 checks the hints that it was given (ad_themis_hint_check.c), warns of those that it ignores, and broadcasts
 * the rest, so that all ranks use the same hints. They take effect when the file is opened; MPI_File_get_info shows
 * what is in force.
 */
#include "ad_themis_hints.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "ad_themis_error.h"
#include "ad_themis_file.h"
#include "ad_themis_view.h"
#include "adio_cb_config_list.h"
#include "adio_extern.h"
#include "util/log.h"

static void hint_warn(const char *name, const char *key, const char *value, const char *why)
{
    themis_warn("themis:%s: hint %s = \"%s\" is ignored: %s", name, key, value, why);
}

const char *ADIOI_THEMIS_Hints_text(ADIO_File fd, ADIOI_THEMIS_Hint hint)
{
    return fd->fs_ptr ? ADIOI_THEMIS_file(fd)->hint[hint] : NULL;
}

void ADIOI_THEMIS_Hints_show(ADIO_File fd, const char *key, const char *value)
{
    char text[MPI_MAX_INFO_VAL];

    snprintf(text, sizeof text, "%s", value);
    ADIOI_Info_set(fd->info, key, text);
}

void ADIOI_THEMIS_Hints_show_number(ADIO_File fd, const char *key, double value)
{
    char text[32];

    snprintf(text, sizeof text, "%.0f", value);
    ADIOI_Info_set(fd->info, key, text);
}

/* --- the hints of rank 0 --- */

/* Valid hints: key and value with their final zeros, one after another. */
typedef struct hint_list {
    char *text;
    size_t bytes;
} hint_list_t;

/* The key that starts at byte *at of the list, which moves to the next one, and its value; NULL at the end. */
static const char *list_next(const hint_list_t *list, size_t *at, const char **value)
{
    const char *key;

    if (*at >= list->bytes)
        return NULL;
    key = list->text + *at;
    *value = key + strlen(key) + 1;
    *at += strlen(key) + strlen(*value) + 2;
    return key;
}

static int list_append(hint_list_t *list, const char *key, const char *value)
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

static void list_collect(const char *name, MPI_Info info, hint_list_t *list)
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
            why = list_append(list, key, text) == 0 ? NULL : "out of memory";
        if (why)
            hint_warn(name, key, value, why);
    }
}

/* Collective: all ranks have rank 0's list afterwards. -1: no memory, on all ranks alike. */
static int list_share(ADIO_File fd, hint_list_t *list)
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

/* Collective: whether a rank runs on the hosts that cb_config_list names; if none does, ROMIO fails to open. */
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
            hint_warn(ADIOI_THEMIS_File_name(fd), "cb_config_list", list, "no rank runs on such a host");
    }
    MPI_Bcast(&found, 1, MPI_INT, 0, fd->comm);
    return found;
}

/* --- what all ranks use --- */

/* Our hints, and standard ones that ROMIO leaves to the drivers. 0, or -1: out of memory. */
static int hint_set(ADIO_File fd, const char *key, const char *value)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);

    for (int i = 0; i < AD_THEMIS_HINT_NUMBER; i++) {
        if (strcmp(key, ADIOI_THEMIS_Hint_check_key((ADIOI_THEMIS_Hint)i)) != 0)
            continue;
        free(file->hint[i]);
        file->hint[i] = strdup(value);
        ADIOI_THEMIS_Hints_show(fd, key, value);
        return file->hint[i] ? 0 : -1;
    }
    if (strcmp(key, "cb_nodes") == 0)
        file->cb_nodes = atoi(value);
    else if (strcmp(key, "striping_factor") == 0) /* 0: the default, as in ROMIO */
        file->striping_factor = atoi(value);
    else if (strcmp(key, "start_iodevice") == 0)
        file->start_iodevice = atoi(value);
    return 0;
}

/* The hints for ROMIO, owned by the caller. Collective. */
static MPI_Info list_unpack(ADIO_File fd, const hint_list_t *list)
{
    const char *key, *value;
    size_t at = 0;
    MPI_Info info;

    MPI_Info_create(&info);
    while ((key = list_next(list, &at, &value)) != NULL)
        if (strcmp(key, "cb_config_list") != 0 || names_a_host(fd, value))
            MPI_Info_set(info, key, value);
    return info;
}

static int hints_set(ADIO_File fd, const hint_list_t *list)
{
    const char *key, *value;
    size_t at = 0;
    int failed = 0;

    while ((key = list_next(list, &at, &value)) != NULL)
        failed |= hint_set(fd, key, value);
    return failed;
}

static int list_has(const hint_list_t *list, const char *wanted)
{
    const char *key, *value;
    size_t at = 0;

    while ((key = list_next(list, &at, &value)) != NULL)
        if (strcmp(key, wanted) == 0)
            return 1;
    return 0;
}

/* ROMIO shows all hints that it knows. Those without effect are shown only if the program gave them. */
static void hide_without_effect(ADIO_File fd, const hint_list_t *list)
{
    const char *key;

    for (size_t i = 0; (key = ADIOI_THEMIS_Hint_check_without_effect(i)) != NULL; i++) {
        char value[MPI_MAX_INFO_VAL + 1];
        int found;

        ADIOI_Info_get(fd->info, key, MPI_MAX_INFO_VAL, value, &found);
        if (found && !list_has(list, key))
            ADIOI_Info_delete(fd->info, key);
    }
}

/* Servers and policy are fixed when the file is opened; the value given then, and the one that is shown, may be given
 * again. */
static void warn_if_changed(ADIO_File fd, MPI_Info info, ADIOI_THEMIS_Hint hint)
{
    char value[MPI_MAX_INFO_VAL + 1], shown[MPI_MAX_INFO_VAL + 1] = "";
    const char *key = ADIOI_THEMIS_Hint_check_key(hint), *asked = ADIOI_THEMIS_Hints_text(fd, hint);
    int found = 0, shown_found;

    if (info != MPI_INFO_NULL)
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    ADIOI_Info_get(fd->info, key, MPI_MAX_INFO_VAL, shown, &shown_found);
    if (found && strcmp(shown, value) != 0 && (!asked || strcmp(asked, value) != 0))
        hint_warn(ADIOI_THEMIS_File_name(fd), key, value, "it cannot change while the file is open");
}

/* ROMIO calls this once before the open, and again for each view. */
void ADIOI_THEMIS_SetInfo(ADIO_File fd, MPI_Info users_info, int *error_code)
{
    hint_list_t list = {NULL, 0};
    MPI_Info info;
    int rank, failed;

    *error_code = MPI_SUCCESS;
    MPI_Comm_rank(fd->comm, &rank);
    if (fd->fs_ptr) /* ROMIO sets the hints whenever it sets a view */
        ADIOI_THEMIS_View_forget(fd);
    if (fd->fs_ptr && ADIOI_THEMIS_file(fd)->handle) {
        if (rank == 0) {
            warn_if_changed(fd, users_info, AD_THEMIS_HINT_servers);
            warn_if_changed(fd, users_info, AD_THEMIS_HINT_policy);
        }
        return;
    }
    if (rank == 0)
        list_collect(fd->filename, users_info, &list);
    failed = list_share(fd, &list);
    if (failed)
        list.bytes = 0;
    info = list_unpack(fd, &list);
    ADIOI_GEN_SetInfo(fd, info, error_code);
    MPI_Info_free(&info);
    if (!ADIOI_THEMIS_File_make(fd) || hints_set(fd, &list) != 0)
        failed = -1;
    hide_without_effect(fd, &list);
    free(list.text);
    if (failed)
        *error_code = ADIOI_THEMIS_Error(__func__, __LINE__, THEMIS_NO_MEMORY, fd->filename, "");
}

int ADIOI_THEMIS_Hints_given(MPI_Info info, ADIOI_THEMIS_Hint hint, const char *name, char *text)
{
    char value[MPI_MAX_INFO_VAL + 1];
    const char *key = ADIOI_THEMIS_Hint_check_key(hint), *why;
    int found = 0;

    if (info != MPI_INFO_NULL)
        ADIOI_Info_get(info, key, MPI_MAX_INFO_VAL, value, &found);
    if (!found || ADIOI_THEMIS_Hint_check(key, value, text, &why) == AD_THEMIS_USE_OURS)
        return found;
    hint_warn(name, key, value, why);
    return 0;
}
