/* SPDX-License-Identifier: BSD-3-Clause */
#include "tools/lines.h"
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int themis_tools_lines_init(themis_tools_lines_t *lines, int fd)
{
    *lines = (themis_tools_lines_t){.fd = fd, .text = malloc(THEMIS_TOOLS_LINE_BYTES)};
    fcntl(fd, F_SETFL, fcntl(fd, F_GETFL) | O_NONBLOCK);
    return lines->text ? 0 : -1;
}

/* Reads what is there behind what is left. */
static void lines_fill(themis_tools_lines_t *lines)
{
    memmove(lines->text, lines->text + lines->taken, lines->length - lines->taken);
    lines->length -= lines->taken;
    lines->taken = 0;
    if (lines->length == THEMIS_TOOLS_LINE_BYTES) {
        lines->ended = 1;
        return;
    }
    ssize_t got = read(lines->fd, lines->text + lines->length, THEMIS_TOOLS_LINE_BYTES - lines->length);
    if (got > 0)
        lines->length += (size_t)got;
    else if (got == 0 || (errno != EAGAIN && errno != EINTR))
        lines->ended = 1;
}

char *themis_tools_lines_next(themis_tools_lines_t *lines)
{
    for (int filled = 0;; filled = 1) {
        char *line = lines->text + lines->taken, *end = memchr(line, '\n', lines->length - lines->taken);
        if (end) {
            *end = '\0';
            lines->taken = (size_t)(end + 1 - lines->text);
            return line;
        }
        if (filled || lines->ended)
            return NULL;
        lines_fill(lines);
    }
}

void themis_tools_lines_free(themis_tools_lines_t *lines)
{
    if (lines->text)
        explicit_bzero(lines->text, THEMIS_TOOLS_LINE_BYTES); /* keys were among them */
    free(lines->text);
    lines->text = NULL;
}

void themis_tools_hex_write(const unsigned char *bytes, size_t size, char *text)
{
    for (size_t i = 0; i < size; i++)
        sprintf(text + 2 * i, "%02x", bytes[i]);
}

int themis_tools_hex_read(const char *text, unsigned char *bytes, size_t size)
{
    unsigned value;

    if (strlen(text) != 2 * size || strspn(text, "0123456789abcdef") != 2 * size)
        return -1;
    for (size_t i = 0; i < size; i++) {
        sscanf(text + 2 * i, "%2x", &value);
        bytes[i] = (unsigned char)value;
    }
    return 0;
}
