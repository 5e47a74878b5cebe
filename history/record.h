/* SPDX-License-Identifier: BSD-3-Clause */
/* The record of a job: what it was and what I/O it did, and the same as one JSON object, with the series of what it
 * moved where that is known. */
#pragma once
#include <stddef.h>
#include <stdint.h>
#include "history/phases.h"
#include "themis/status.h"

enum {
    THEMIS_HISTORY_VERSION = 1, /* of records; a reader refuses others */
    THEMIS_HISTORY_NAME_BYTES = 256,
    THEMIS_HISTORY_SIZES = 48,
    THEMIS_HISTORY_RECORD_MOST = 32768, /* bytes of a record as JSON */
    THEMIS_HISTORY_RECORD_SAMPLES = 512 /* of the series in it */
};

/* The end of the year 9999: no time or duration in a record is above. */
#define THEMIS_HISTORY_MAX_SECONDS 253402300799.0

/* How the processes of a job share its files. */
typedef enum themis_history_sharing {
    THEMIS_HISTORY_SHARING_UNKNOWN,
    THEMIS_HISTORY_SHARING_1_1, /* one process, one file */
    THEMIS_HISTORY_SHARING_N_N, /* each process its own files */
    THEMIS_HISTORY_SHARING_N_1, /* all processes one file */
    THEMIS_HISTORY_SHARING_N_M, /* groups of processes, a file each */
    THEMIS_HISTORY_SHARINGS
} themis_history_sharing_t;

/* Names are UTF-8 without control characters, and end with a 0. */
typedef struct themis_history_record {
    char application[THEMIS_HISTORY_NAME_BYTES];
    char job[THEMIS_HISTORY_NAME_BYTES], project[THEMIS_HISTORY_NAME_BYTES]; /* "": unknown */
    uint32_t user;                                                           /* uid */
    uint32_t nodes, io_nodes; /* of the job; of these, those that did I/O */
    uint32_t servers;         /* whose records this one is made of; 0: unknown */
    uint32_t clients;         /* connections to a server at a time, at most */
    uint32_t files;           /* read or written on one server; may be more */
    double start, end;        /* s since 1970 */
    int interim;              /* 1: the job has not ended; it may have gone on after `end` */
    uint64_t read_bytes, written_bytes;
    uint64_t requests;                            /* ended, those of metadata included */
    uint64_t request_sizes[THEMIS_HISTORY_SIZES]; /* [k]: requests of [2^k, 2^(k+1)) bytes */
    uint64_t metadata_operations;
    double metadata_waiting; /* metadata operations that waited in a server, mean over time */
    double queue_length;     /* the same of all requests */
    themis_history_sharing_t sharing;
    int collective;                 /* 1 or 0; -1: unknown */
    double peak_bandwidth;          /* bytes/s, of the sample in which most was moved */
    themis_history_phases_t phases; /* count 0: none were found */
} themis_history_record_t;

/* "N-N" and so on, or "unknown"; static storage. */
const char *themis_history_sharing_name(themis_history_sharing_t sharing);

/* RANGE: a value that is not allowed; error[size] names the field. Not allowed are an empty name of the application,
 * numbers that are negative or not finite, an end before the start, more nodes with I/O than nodes, and a confidence
 * above 1. */
themis_status_t themis_history_record_check(const themis_history_record_t *record, char *error, size_t size);

/*
 * One line without a newline, of at most THEMIS_HISTORY_RECORD_MOST bytes; owned by the caller (free). RANGE as above;
 * integers end at 2^63 - 1. Of `series` (NULL: none), bytes are kept, in at most THEMIS_HISTORY_RECORD_SAMPLES samples.
 */
themis_status_t themis_history_record_encode(const themis_history_record_t *record,
                                             const themis_history_series_t *series, char **text, char *error,
                                             size_t size);

/*
 * From text that need not be trusted, `length` bytes. Needed are application, user, nodes, io_nodes, start, end,
 * read_bytes, written_bytes, requests, metadata_operations, metadata_waiting, sharing and peak_bandwidth; the others
 * are unknown where they are missing. *series, which may be NULL, is empty without one; it is owned by the caller.
 * PARSE: not one JSON object of at most THEMIS_HISTORY_RECORD_MOST bytes, a field that is missing, unknown or twice
 * there, or of a wrong type. VERSION: a record of another version, which the error names. RANGE as above. error[size]
 * names the field; *record and *series are written on success only.
 */
themis_status_t themis_history_record_decode(const char *text, size_t length, themis_history_record_t *record,
                                             themis_history_series_t *series, char *error, size_t size);

/* Cuts the series off a record's line, where it comes last, as servers write it: most of a record is series, and few
 * are needed. Returns the length of what is left, an object without it. */
size_t themis_history_record_cut(char *line, size_t length);
