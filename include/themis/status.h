/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Status codes of Themis. A function that can fail returns themis_status_t: 0 or one of the negative numbers below.
 * The numbers travel on the wire and never change; they are grouped by what the failure concerns.
 */
#ifndef THEMIS_STATUS_H
#define THEMIS_STATUS_H

#ifdef __cplusplus
extern "C" {
#endif

/* X(name, number, text) */
#define THEMIS_STATUS_MAP(X)                                                                                           \
    X(OK, 0, "success")                                                                                                \
    X(IN_PROGRESS, 1, "in progress")                                                                                   \
    /* the call: an error of the caller or of this process */                                                          \
    X(INVALID, -1, "invalid argument")                                                                                 \
    X(NO_MEMORY, -2, "out of memory")                                                                                  \
    X(UNSUPPORTED, -3, "not supported")                                                                                \
    X(CANCELED, -4, "canceled")                                                                                        \
    X(INTERNAL, -5, "internal error")                                                                                  \
    X(RANGE, -6, "value out of range")                                                                                 \
    X(BAD_ADDRESS, -7, "the caller's memory is not accessible")                                                        \
    X(NO_DESCRIPTOR, -8, "too many open files")                                                                        \
    /* the name or the file */                                                                                         \
    X(NO_ENTRY, -20, "no such file or directory")                                                                      \
    X(EXISTS, -21, "file exists")                                                                                      \
    X(NOT_DIRECTORY, -22, "not a directory")                                                                           \
    X(IS_DIRECTORY, -23, "is a directory")                                                                             \
    X(NOT_EMPTY, -24, "directory not empty")                                                                           \
    X(NAME_TOO_LONG, -25, "name too long")                                                                             \
    X(ACCESS, -26, "permission denied")                                                                                \
    X(READ_ONLY, -27, "read-only")                                                                                     \
    X(STALE, -28, "stale file handle")                                                                                 \
    X(LOCKED, -29, "range is locked by another")                                                                       \
    X(BAD_NAME, -30, "invalid name")                                                                                   \
    X(BUSY, -31, "busy")                                                                                               \
    X(EXPIRED, -32, "the rights of the file handle have expired")                                                      \
    X(LOOP, -33, "too many levels of symbolic links")                                                                  \
    X(NO_DATA, -34, "no such extended attribute")                                                                      \
    X(NOT_LISTED, -35, "object not listed")                                                                            \
    /* the store of one server */                                                                                      \
    X(NO_SPACE, -40, "no space left on server")                                                                        \
    X(IO, -41, "input/output error")                                                                                   \
    X(QUOTA, -42, "quota exceeded")                                                                                    \
    X(CORRUPT, -43, "stored data is corrupt")                                                                          \
    X(FILE_TOO_BIG, -44, "file too large")                                                                             \
    X(LOST, -45, "its data are gone")                                                                                  \
    /* the connection to one server */                                                                                 \
    X(UNREACHABLE, -60, "server unreachable")                                                                          \
    X(DISCONNECTED, -61, "connection to server lost")                                                                  \
    X(TIMED_OUT, -62, "timed out")                                                                                     \
    X(PROTOCOL, -63, "malformed message")                                                                              \
    X(VERSION, -64, "protocol version not supported")                                                                  \
    X(OPCODE, -65, "unknown operation")                                                                                \
    X(REFUSED, -66, "refused by server")                                                                               \
    X(SHUTTING_DOWN, -67, "server is shutting down")                                                                   \
    X(NO_SERVER, -68, "connection refused: no server is running there")                                                \
    /* the configuration */                                                                                            \
    X(CONFIG, -80, "invalid configuration")                                                                            \
    X(PARSE, -81, "syntax error")

typedef enum themis_status {
#define THEMIS_STATUS_ENUM(name, number, text) THEMIS_##name = number,
    THEMIS_STATUS_MAP(THEMIS_STATUS_ENUM)
#undef THEMIS_STATUS_ENUM
} themis_status_t;

/* A short English text for a status; never NULL, static storage. A number that is not a status gives "unknown status".
 */
__attribute__((visibility("default"))) const char *themis_status_string(themis_status_t status);

#ifdef __cplusplus
}
#endif
#endif
