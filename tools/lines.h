/* SPDX-License-Identifier: BSD-3-Clause */
/* Lines from a pipe, as they come. */
#pragma once
#include <stddef.h>

enum { THEMIS_TOOLS_LINE_BYTES = 65536 };

typedef struct themis_tools_lines {
    int fd;     /* borrowed; does not block */
    int ended;  /* 1: no more will come: the other end was closed, or a line was too long */
    char *text; /* owned */
    size_t length, taken;
} themis_tools_lines_t;

/* The descriptor is made not to block. -1: out of memory. */
int themis_tools_lines_init(themis_tools_lines_t *lines, int fd);
/* The next line without its end, valid until the next call; NULL: none is there now, or `ended`. */
char *themis_tools_lines_next(themis_tools_lines_t *lines);
void themis_tools_lines_free(themis_tools_lines_t *lines);

/* Bytes as hexadecimal digits, and back; `text` has room for 2 * size + 1. -1: these are not exactly `size` bytes. */
void themis_tools_hex_write(const unsigned char *bytes, size_t size, char *text);
int themis_tools_hex_read(const char *text, unsigned char *bytes, size_t size);
