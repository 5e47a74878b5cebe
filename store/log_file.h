/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The files of a durable arena's log, and its checkpoints: a superblock, then frames.
 *
 * A frame is what is written or lost as one: 4 bytes of length, 4 of checksum, and entries (entry.h). Its position
 * counts the bytes of all frames before it, through all files, and is part of the checksum. What follows the last frame
 * is zeros, or the beginning of one that was being written when the server ended.
 */
#pragma once
#include <stdint.h>
#include "store/identity.h"
#include "themis/status.h"

enum {
    THEMIS_STORE_LOG_HEAD = 4096, /* bytes in front of the first frame */
    THEMIS_STORE_LOG_FRAME = 8,   /* bytes of a frame in front of its entries */
    THEMIS_STORE_LOG_NAME = 48
};

/* In the byte order of the machine. */
typedef struct themis_store_superblock {
    char magic[16];
    uint32_t version, segment_units; /* units of a segment of the arena */
    uint64_t size;                   /* bytes of the arena */
    uint64_t number;                 /* of the file; those of a log follow each other */
    uint64_t base;                   /* position of its first frame */
    uint64_t durable;                /* all before this position was durable when the file was made */
    themis_store_identity_t identity, boot;
    uint64_t checksum;
} themis_store_superblock_t;

/* Completes the superblock by magic, version and checksum, and writes it to the beginning of the file. */
themis_status_t themis_store_superblock_write(int fd, themis_store_superblock_t *super);
/* THEMIS_CONFIG: `name` has none of this version that is intact; logged. */
themis_status_t themis_store_superblock_read(int fd, const char *name, themis_store_superblock_t *super);

/* A file that is read. */
typedef struct themis_store_log_file {
    themis_store_superblock_t super;
    const uint8_t *bytes;
    uint64_t size;
} themis_store_log_file_t;

/* Maps a file of the directory for reading. */
themis_status_t themis_store_log_file_open(int directory, const char *name, themis_store_log_file_t *file);
void themis_store_log_file_close(themis_store_log_file_t *file);

/* The entries of the frame at a position of the file, and their length; NULL: no frame is there. */
const uint8_t *themis_store_log_file_frame(const themis_store_log_file_t *file, uint64_t position, uint32_t *length);
/*
 * The end of the frames from the beginning on. THEMIS_CONFIG: others come later, so one in between was damaged: any if
 * `complete`, or else, where parts of the end may not have reached the device, one that commits what is damaged.
 */
themis_status_t themis_store_log_file_end(const themis_store_log_file_t *file, int complete, uint64_t *end);

/* Writes a frame at `at`, which has room for it; its length last, so that a part of it is none. */
void themis_store_log_frame_write(uint8_t *at, const themis_store_identity_t *identity, uint64_t position,
                                  const uint8_t *entries, uint32_t length);
