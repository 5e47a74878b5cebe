/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/listing.h"
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>
#include "tools/attributes.h"
#include "tools/format.h"
#include "tools/mode.h"
#include "tools/owner.h"
#include "util/config.h"

enum { STANDARD_WIDTH = 80, GAP = 2 };

void themis_tools_listing_detect(themis_tools_listing_format_t *format)
{
    const char *kind = themis_util_config_env("TERM");
    struct winsize size;

    *format = (themis_tools_listing_format_t){0};
    if (!isatty(STDOUT_FILENO))
        return;
    format->width = ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : STANDARD_WIDTH;
    format->colour = kind && strcmp(kind, "dumb") != 0 && !themis_util_config_env("NO_COLOR");
}

static int is_directory(const themis_tools_listed_t *row)
{
    return row->stat.type == THEMIS_TYPE_DIRECTORY;
}

static void name_print(const themis_tools_listed_t *row, const char *suffix,
                       const themis_tools_listing_format_t *format)
{
    int coloured = format->colour && is_directory(row);

    fputs(coloured ? "\033[1;34m" : "", stdout);
    themis_tools_format_name(row->name, stdout);
    fputs(coloured ? "\033[0m" : "", stdout);
    fputs(is_directory(row) ? suffix : "", stdout);
}

/* --- columns ------------------------------------------------------------------------------------------------------ */

/* Characters, if the name is UTF-8. */
static int name_width(const themis_tools_listed_t *row)
{
    int width = is_directory(row);

    for (const char *at = row->name; *at; at++)
        width += (*at & 0xc0) != 0x80;
    return width;
}

static void columns_print(const themis_tools_listed_t *rows, size_t count, const themis_tools_listing_format_t *format)
{
    int widest = 1;

    for (size_t i = 0; i < count; i++)
        widest = name_width(&rows[i]) > widest ? name_width(&rows[i]) : widest;
    size_t columns = (size_t)((format->width + GAP) / (widest + GAP));
    if (columns == 0)
        columns = 1;
    size_t lines = (count + columns - 1) / columns;
    for (size_t line = 0; line < lines; line++) {
        for (size_t i = line; i < count; i += lines) {
            name_print(&rows[i], "/", format);
            if (i + lines < count)
                printf("%*s", widest + GAP - name_width(&rows[i]), "");
        }
        putchar('\n');
    }
}

/* --- with attributes ---------------------------------------------------------------------------------------------- */

typedef struct texts {
    char user[THEMIS_TOOLS_OWNER_TEXT], group[THEMIS_TOOLS_OWNER_TEXT], size[32];
} texts_t;

static void texts_make(const themis_tools_listed_t *row, const themis_tools_listing_format_t *format, texts_t *texts)
{
    if (!row->known) {
        *texts = (texts_t){"?", "?", "?"};
        return;
    }
    themis_tools_owner_user(row->stat.uid, format->numeric, texts->user);
    themis_tools_owner_group(row->stat.gid, format->numeric, texts->group);
    if (format->human)
        themis_tools_format_bytes((double)row->stat.size, texts->size);
    else
        snprintf(texts->size, sizeof texts->size, "%" PRIu64, row->stat.size);
}

static int longer(int width, const char *text)
{
    return (int)strlen(text) > width ? (int)strlen(text) : width;
}

static void details_print(const themis_tools_listed_t *rows, size_t count, const themis_tools_listing_format_t *format)
{
    int user = 1, group = 1, size = 1;
    char mode[THEMIS_TOOLS_MODE_TEXT], modified[32] = "?";
    texts_t texts;

    for (size_t i = 0; i < count; i++) {
        texts_make(&rows[i], format, &texts);
        user = longer(user, texts.user);
        group = longer(group, texts.group);
        size = longer(size, texts.size);
    }
    for (size_t i = 0; i < count; i++) {
        const themis_stat_t *stat = &rows[i].stat;
        texts_make(&rows[i], format, &texts);
        themis_tools_mode_text(stat->mode, is_directory(&rows[i]), mode);
        if (stat->type == THEMIS_TYPE_SYMLINK)
            mode[0] = 'l';
        if (!rows[i].known)
            memset(mode + 1, '?', THEMIS_TOOLS_MODE_TEXT - 2);
        printf("%s %-*s %-*s %*s %-19s ", mode, user, texts.user, group, texts.group, size, texts.size,
               rows[i].known ? themis_tools_attributes_time(stat->modified, modified) : "?");
        name_print(&rows[i], "", format);
        if (rows[i].target) {
            fputs(" -> ", stdout);
            themis_tools_format_name(rows[i].target, stdout);
        }
        if (rows[i].known && stat->lost)
            fputs("  (bytes are lost)", stdout);
        putchar('\n');
    }
}

void themis_tools_listing_print(const themis_tools_listed_t *rows, size_t count,
                                const themis_tools_listing_format_t *format)
{
    if (format->detailed) {
        details_print(rows, count, format);
    } else if (format->width > 0 && count > 0) {
        columns_print(rows, count, format);
    } else {
        for (size_t i = 0; i < count; i++) {
            name_print(&rows[i], "/", format);
            putchar('\n');
        }
    }
}
