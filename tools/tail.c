/* SPDX-License-Identifier: BSD-3-Clause */
/* themis tail: the end of files, also while they grow. */
#include <ctype.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include "tools/command.h"
#include "tools/format.h"
#include "tools/options.h"
#include "tools/sessions.h"

enum { BLOCK = 1 << 20, POLL_SECONDS = 1, STANDARD_LINES = 10 };

typedef struct followed {
    const char *text;    /* the operand; borrowed */
    themis_file_t *file; /* owned; NULL: given up */
    uint64_t at;         /* what is before has been printed */
} followed_t;

/* What of a file is printed. */
typedef struct part {
    uint64_t count;
    int bytes;      /* else lines */
    int from_start; /* "+N": from the N-th on */
} part_t;

static themis_status_t size_get(const followed_t *followed, uint64_t *size)
{
    themis_stat_t stat;
    themis_status_t status = themis_file_stat(followed->file, &stat);

    if (status == THEMIS_OK)
        *size = stat.size;
    return status;
}

/* --- where to begin ----------------------------------------------------------------------------------------------- */

/* Where the last `lines` lines begin; a newline at the end of the file ends the last one. */
static themis_status_t last_lines(themis_file_t *file, uint64_t size, uint64_t lines, char *block, uint64_t *start)
{
    uint64_t end = size, found = 0;
    size_t done;

    for (*start = lines > 0 ? 0 : size; lines > 0 && end > 0;) {
        uint64_t begin = end > BLOCK ? end - BLOCK : 0;
        themis_status_t status = themis_read(file, block, end - begin, begin, &done);
        if (status != THEMIS_OK)
            return status;
        for (size_t i = done; i-- > 0;)
            if (block[i] == '\n' && begin + i + 1 < size && ++found == lines) {
                *start = begin + i + 1;
                return THEMIS_OK;
            }
        end = begin;
    }
    return THEMIS_OK;
}

/* Where the line after the first `lines` begins. */
static themis_status_t first_lines(themis_file_t *file, uint64_t size, uint64_t lines, char *block, uint64_t *start)
{
    uint64_t at = 0;
    size_t done;

    for (*start = lines > 0 ? size : 0; lines > 0 && at < size; at += done) {
        themis_status_t status = themis_read(file, block, BLOCK, at, &done);
        if (status != THEMIS_OK || done == 0)
            return status;
        for (size_t i = 0; i < done; i++)
            if (block[i] == '\n' && --lines == 0) {
                *start = at + i + 1;
                return THEMIS_OK;
            }
    }
    return THEMIS_OK;
}

static themis_status_t start_find(const followed_t *followed, const part_t *part, char *block, uint64_t *start)
{
    uint64_t size, count = part->count;
    themis_status_t status = size_get(followed, &size);

    if (status != THEMIS_OK)
        return status;
    if (part->from_start)
        count -= count > 0;
    if (!part->bytes)
        return part->from_start ? first_lines(followed->file, size, count, block, start)
                                : last_lines(followed->file, size, count, block, start);
    *start = count > size ? size : count;
    if (!part->from_start)
        *start = size - *start;
    return THEMIS_OK;
}

/* --- output ------------------------------------------------------------------------------------------------------- */

/* Up to the end that the file has by then. */
static themis_status_t rest_print(followed_t *followed, char *block)
{
    size_t done;

    for (;;) {
        themis_status_t status = themis_read(followed->file, block, BLOCK, followed->at, &done);
        if (status != THEMIS_OK || done == 0)
            return status;
        if (fwrite(block, 1, done, stdout) != done)
            return THEMIS_IO;
        followed->at += done;
    }
}

static void title_print(const followed_t *followed, const followed_t **titled)
{
    if (*titled != followed) {
        fputs(*titled ? "\n==> " : "==> ", stdout);
        themis_tools_format_name(followed->text, stdout);
        puts(" <==");
    }
    *titled = followed;
}

static int output_error(const followed_t *followed)
{
    return ferror(stdout) ? themis_tools_error("standard output: %s", strerror(errno))
                          : themis_tools_error("%s: %s", followed->text, themis_last_error());
}

static int followed_open(followed_t *followed, const part_t *part, char *block, const followed_t **titled, int titles)
{
    themis_t *session;
    const char *path;
    int result = themis_tools_session_resolve(followed->text, &session, &path);

    if (result != THEMIS_TOOLS_OK)
        return result;
    if (themis_open(session, path, THEMIS_OPEN_READ, 0, NULL, &followed->file) != THEMIS_OK)
        return themis_tools_error_last();
    if (titles)
        title_print(followed, titled);
    themis_status_t status = start_find(followed, part, block, &followed->at);
    if (status == THEMIS_OK)
        status = rest_print(followed, block);
    return status == THEMIS_OK ? THEMIS_TOOLS_OK : output_error(followed);
}

/* What was added since. A file that cannot be read any more is given up. */
static int growth_print(followed_t *followed, char *block, const followed_t **titled, int titles)
{
    uint64_t size = 0;
    themis_status_t status = size_get(followed, &size);

    if (status == THEMIS_OK && size < followed->at) {
        themis_tools_note("%s: was truncated; from its beginning", followed->text);
        followed->at = 0;
    }
    if (status == THEMIS_OK && size > followed->at) {
        if (titles)
            title_print(followed, titled);
        status = rest_print(followed, block);
    }
    if (fflush(stdout) != 0 && status == THEMIS_OK)
        status = THEMIS_IO;
    if (status == THEMIS_OK)
        return THEMIS_TOOLS_OK;
    int result = output_error(followed);
    themis_close(followed->file);
    followed->file = NULL;
    return result;
}

static int all_follow(followed_t *files, int count, char *block, const followed_t **titled)
{
    int result = THEMIS_TOOLS_OK, open;

    do {
        open = 0;
        fflush(stdout);
        sleep(POLL_SECONDS);
        for (int i = 0; i < count && !ferror(stdout); i++) {
            if (files[i].file)
                result |= growth_print(&files[i], block, titled, count > 1);
            open += files[i].file != NULL;
        }
    } while (open > 0);
    return result;
}

/* --- command line ------------------------------------------------------------------------------------------------- */

static int part_parse(const char *option, const char *text, part_t *part)
{
    char *end;
    const char *digits = text + (*text == '+' || *text == '-');

    errno = 0;
    part->from_start = *text == '+';
    part->count = strtoull(digits, &end, 10);
    if (!isdigit((unsigned char)*digits) || *end || errno)
        return themis_tools_misuse("%s %s: expected a number", option, text);
    return THEMIS_TOOLS_OK;
}

static int files_show(char **operands, int count, const part_t *part, int follow)
{
    followed_t *files = calloc((size_t)count, sizeof *files);
    char *block = malloc(BLOCK);
    const followed_t *titled = NULL;
    int result = files && block ? THEMIS_TOOLS_OK : themis_tools_error("out of memory");

    for (int i = 0; files && block && i < count; i++) {
        files[i].text = operands[i];
        result |= followed_open(&files[i], part, block, &titled, count > 1);
    }
    if (files && block && follow)
        result |= all_follow(files, count, block, &titled);
    for (int i = 0; files && i < count; i++)
        if (files[i].file)
            themis_close(files[i].file);
    free(files);
    free(block);
    return result;
}

static int run_tail(int argc, char **argv)
{
    const char *lines = NULL, *bytes = NULL;
    int follow = 0, result = THEMIS_TOOLS_OK;
    part_t part = {.count = STANDARD_LINES};
    const themis_tools_option_t options[] = {
        {'n', "lines", NULL, &lines}, {'c', "bytes", NULL, &bytes}, {'f', "follow", &follow, NULL}, {0}};

    if (argc > 1 && argv[1][0] == '-' && isdigit((unsigned char)argv[1][1])) { /* -20 as -n 20 */
        lines = argv[1] + 1;
        argc--;
        argv++;
    }
    int at = themis_tools_options(argc, argv, options);
    if (at < 0)
        return THEMIS_TOOLS_USAGE;
    if (at == argc)
        return themis_tools_usage();
    part.bytes = bytes != NULL;
    if (bytes || lines)
        result = part_parse(bytes ? "-c" : "-n", bytes ? bytes : lines, &part);
    return result == THEMIS_TOOLS_OK ? files_show(argv + at, argc - at, &part, follow) : result;
}

const themis_tools_command_t themis_tools_tail = {"tail",
                                                  "[-f] [-n LINES] [-c BYTES] PATH...",
                                                  "Writes the end of files to standard output.",
                                                  "  -n N   the last N lines, 10 without it; +N: from line N on\n"
                                                  "  -c N   the last N bytes; +N: from byte N on\n"
                                                  "  -f     goes on with what is added, looked for every second\n",
                                                  run_tail,
                                                  THEMIS_TOOLS_PATTERNS_ALL};
