/* SPDX-License-Identifier: BSD-3-Clause */
/* The table of hints, ours and ROMIO's; doc/hints.md has the same list. */
#include "ad_themis_hint_check.h"
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>
#include "themis/aggregation.h"
#include "util/config.h"

typedef enum hint_kind {
    TEXT,     /* not empty */
    DURATION, /* "10s", "500ms" */
    CHOICE,   /* one of the words of `choices`, separated by '|' */
    NUMBER,   /* min to INT_MAX */
    STRIPE,   /* the same, in multiples of 4096 */
    SERVERS,  /* "host:port,..." */
    AGGREGATORS,
    TOPOLOGY,
    HOSTS, /* ROMIO's cb_config_list */
    SHOWN  /* by MPI_File_get_info only; accepted, since programs pass on what they were shown */
} hint_kind_t;

typedef struct known_hint {
    const char *key;
    hint_kind_t kind;
    int min;
    const char *choices;
    ADIOI_THEMIS_Hint_use use;
} known_hint_t;

#define SWITCH "enable|disable|automatic|requested"

static const known_hint_t known[] = {
#define AD_THEMIS_HINT_ROW(name, kind, choices)                                                                        \
    {"themis_" #name, kind, 0, choices, kind == SHOWN ? AD_THEMIS_USE_NONE : AD_THEMIS_USE_OURS},
    AD_THEMIS_HINTS(AD_THEMIS_HINT_ROW)
#undef AD_THEMIS_HINT_ROW
    /* ROMIO's that affect its code or ours */
    {"cb_buffer_size", NUMBER, 1, NULL, AD_THEMIS_USE_ROMIO},
    {"cb_config_list", HOSTS, 0, NULL, AD_THEMIS_USE_ROMIO},
    {"cb_nodes", NUMBER, 1, NULL, AD_THEMIS_USE_ROMIO},
    {"romio_cb_read", CHOICE, 0, SWITCH, AD_THEMIS_USE_ROMIO},
    {"romio_cb_write", CHOICE, 0, SWITCH, AD_THEMIS_USE_ROMIO},
    {"romio_no_indep_rw", CHOICE, 0, "true|false", AD_THEMIS_USE_ROMIO},
    {"striping_unit", STRIPE, 0, NULL, AD_THEMIS_USE_ROMIO},
    {"striping_factor", NUMBER, 0, NULL, AD_THEMIS_USE_ROMIO},
    {"start_iodevice", NUMBER, -1, NULL, AD_THEMIS_USE_ROMIO},
    /* without effect here, since the code that they control is not used */
    {"ind_rd_buffer_size", NUMBER, 1, NULL, AD_THEMIS_USE_GIVEN},
    {"ind_wr_buffer_size", NUMBER, 1, NULL, AD_THEMIS_USE_GIVEN},
    {"romio_cb_alltoall", CHOICE, 0, SWITCH, AD_THEMIS_USE_GIVEN},
    {"romio_cb_ds_threshold", NUMBER, 0, NULL, AD_THEMIS_USE_GIVEN},
    {"romio_cb_fr_alignment", NUMBER, 1, NULL, AD_THEMIS_USE_GIVEN},
    {"romio_cb_fr_type", NUMBER, -2, NULL, AD_THEMIS_USE_GIVEN},
    {"romio_cb_pfr", CHOICE, 0, SWITCH, AD_THEMIS_USE_GIVEN},
    {"romio_ds_read", CHOICE, 0, SWITCH, AD_THEMIS_USE_GIVEN},
    {"romio_ds_write", CHOICE, 0, SWITCH, AD_THEMIS_USE_GIVEN},
    {"romio_min_fdomain_size", NUMBER, 0, NULL, AD_THEMIS_USE_GIVEN},
    {"romio_synchronized_flush", CHOICE, 0, SWITCH "|enabled|disabled", AD_THEMIS_USE_GIVEN},
    /* shown only */
    {"romio_cb_fr_types", SHOWN, 0, NULL, AD_THEMIS_USE_NONE},
};

static const known_hint_t *hint_find(const char *key)
{
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (strcmp(key, known[i].key) == 0)
            return &known[i];
    return NULL;
}

/* The word of `choices` that equals `value`, ignoring case; its length, or 0: none does. */
static size_t choice_find(const char *choices, const char *value, const char **word)
{
    size_t length = strlen(value);

    for (const char *at = choices; at; at = strchr(at, '|') ? strchr(at, '|') + 1 : NULL) {
        *word = at;
        if (strncasecmp(at, value, length) == 0 && (at[length] == '|' || at[length] == '\0'))
            return length;
    }
    return 0;
}

static int is_server_list(const char *value)
{
    char *list = strdup(value), *rest = NULL;
    int64_t port;
    int servers = 0, sound = list != NULL;

    for (char *word = list ? strtok_r(list, ", \t", &rest) : NULL; word && sound;
         word = strtok_r(NULL, ", \t", &rest)) {
        const char *colon = strrchr(word, ':');

        sound = colon && colon != word && themis_util_config_integer(colon + 1, 1, UINT16_MAX, &port) == THEMIS_OK;
        servers++;
    }
    free(list);
    return sound && servers > 0;
}

/* NULL, or what is wrong with a number; its plain spelling goes to `text`. */
static const char *check_number(const known_hint_t *hint, const char *value, char *text)
{
    int64_t number;

    if (themis_util_config_integer(value, hint->min, INT_MAX, &number) != THEMIS_OK)
        return "not a number in range";
    if (hint->kind == STRIPE && number % 4096)
        return "not a multiple of 4096";
    snprintf(text, MPI_MAX_INFO_VAL, "%lld", (long long)number);
    return NULL;
}

static const char *check_value(const known_hint_t *hint, const char *value, char *text)
{
    const char *word;
    uint64_t ns;
    int64_t count;
    size_t length;

    switch (hint->kind) {
    case NUMBER:
    case STRIPE:
        return check_number(hint, value, text);
    case CHOICE:
        length = choice_find(hint->choices, value, &word);
        snprintf(text, MPI_MAX_INFO_VAL, "%.*s", (int)length, length ? word : "");
        return length ? NULL : hint->choices;
    case DURATION:
        return themis_util_config_duration(value, &ns) == THEMIS_OK && ns > 0 ? NULL : "not a time such as 10s";
    case SERVERS:
        return is_server_list(value) ? NULL : "not a list host:port,host:port";
    case AGGREGATORS:
        if (strcmp(value, "auto") == 0 || strcmp(value, "per-server") == 0)
            return NULL;
        return themis_util_config_integer(value, 1, INT32_MAX, &count) == THEMIS_OK ? NULL : "a number|per-server|auto";
    case TOPOLOGY:
        if (choice_find("auto|discover|flat", value, &word))
            return NULL;
        return access(value, R_OK) == 0 ? NULL : "not a readable file";
    case HOSTS:
        return themis_aggregation_config_list(value, NULL, 0, NULL) == THEMIS_OK ? NULL : "not a list host:number,...";
    default:
        return *value ? NULL : "empty";
    }
}

ADIOI_THEMIS_Hint_use ADIOI_THEMIS_Hint_check(const char *key, const char *value, char *text, const char **why)
{
    const known_hint_t *hint = hint_find(key);

    *why = NULL;
    if (!hint) {
        if (strncmp(key, "themis_", 7) == 0)
            *why = "unknown hint";
        return AD_THEMIS_USE_NONE;
    }
    snprintf(text, MPI_MAX_INFO_VAL, "%s", value);
    if (hint->kind != SHOWN)
        *why = check_value(hint, value, text);
    return *why ? AD_THEMIS_USE_NONE : hint->use;
}

const char *ADIOI_THEMIS_Hint_check_without_effect(size_t index)
{
    for (size_t i = AD_THEMIS_HINT_NUMBER; i < sizeof known / sizeof *known; i++)
        if (known[i].use <= AD_THEMIS_USE_GIVEN && index-- == 0)
            return known[i].key;
    return NULL;
}

const char *ADIOI_THEMIS_Hint_check_key(ADIOI_THEMIS_Hint hint)
{
    return known[hint].key;
}
