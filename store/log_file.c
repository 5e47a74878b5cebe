/* SPDX-License-Identifier: BSD-3-Clause */
#include "store/log_file.h"
#include <errno.h>
#include <fcntl.h>
#include <stdatomic.h>
#include <stddef.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <xxhash.h>
#include "store/entry.h"
#include "util/log.h"
#include "util/status.h"

enum { VERSION = 1, HEAD = THEMIS_STORE_LOG_HEAD, FRAME = THEMIS_STORE_LOG_FRAME };
static const char magic[16] = "themis-durable";

/* --- superblocks -------------------------------------------------------------------------------------------------- */

static uint64_t checksum_of(const themis_store_superblock_t *super)
{
    return XXH3_64bits(super, offsetof(themis_store_superblock_t, checksum));
}

themis_status_t themis_store_superblock_write(int fd, themis_store_superblock_t *super)
{
    memcpy(super->magic, magic, sizeof magic);
    super->version = VERSION;
    super->checksum = checksum_of(super);
    ssize_t written = pwrite(fd, super, sizeof *super, 0);
    if (written == (ssize_t)sizeof *super)
        return THEMIS_OK;
    return written < 0 ? themis_util_status_from_errno(errno) : THEMIS_NO_SPACE;
}

themis_status_t themis_store_superblock_read(int fd, const char *name, themis_store_superblock_t *super)
{
    const char *fault = NULL;

    if (pread(fd, super, sizeof *super, 0) != sizeof *super || memcmp(super->magic, magic, sizeof magic) != 0)
        fault = "is not of an arena";
    else if (super->version != VERSION)
        fault = "is of another version";
    else if (super->checksum != checksum_of(super))
        fault = "is damaged";
    if (!fault)
        return THEMIS_OK;
    themis_error("the arena's file %s %s; nothing was changed", name, fault);
    return THEMIS_CONFIG;
}

/* --- frames ------------------------------------------------------------------------------------------------------- */

static uint32_t frame_checksum(const themis_store_identity_t *identity, uint64_t position, const uint8_t *entries,
                               uint32_t length)
{
    uint64_t seed;

    memcpy(&seed, identity->bytes, sizeof seed);
    uint64_t sum = XXH3_64bits_withSeed(entries, length, seed ^ position * UINT64_C(0x9e3779b97f4a7c15));
    return (uint32_t)(sum ^ sum >> 32);
}

void themis_store_log_frame_write(uint8_t *at, const themis_store_identity_t *identity, uint64_t position,
                                  const uint8_t *entries, uint32_t length)
{
    uint32_t sum = frame_checksum(identity, position, entries, length);

    memcpy(at + FRAME, entries, length);
    memcpy(at + sizeof length, &sum, sizeof sum);
    atomic_signal_fence(memory_order_release);
    memcpy(at, &length, sizeof length);
}

const uint8_t *themis_store_log_file_frame(const themis_store_log_file_t *file, uint64_t position, uint32_t *length)
{
    uint64_t at = HEAD + (position - file->super.base);
    uint32_t words[2];

    if (position < file->super.base || at > file->size || file->size - at < FRAME)
        return NULL;
    memcpy(words, file->bytes + at, sizeof words);
    const uint8_t *entries = file->bytes + at + FRAME;
    if (words[0] == 0 || words[0] % 8 || words[0] > file->size - at - FRAME ||
        frame_checksum(&file->super.identity, position, entries, words[0]) != words[1])
        return NULL;
    *length = words[0];
    return entries;
}

/* 1: the frame says that what comes before `position`, and more, is durable. */
static int frame_commits(const uint8_t *entries, uint32_t length, uint64_t position)
{
    const themis_store_entry_t *entry = themis_store_entry_next(&entries, entries + length);

    return entry && entry->type == THEMIS_STORE_ENTRY_COMMIT && entry->subject > position;
}

/* 1: the 8 bytes at a position are zeros, as nearly all are behind the last frame. */
static int is_zero(const themis_store_log_file_t *file, uint64_t position)
{
    uint64_t word;

    memcpy(&word, file->bytes + HEAD + (position - file->super.base), sizeof word);
    return word == 0;
}

themis_status_t themis_store_log_file_end(const themis_store_log_file_t *file, int complete, uint64_t *end)
{
    const uint8_t *entries;
    uint64_t at = file->super.base, last = file->super.base + (file->size - HEAD);
    uint32_t length;

    while (themis_store_log_file_frame(file, at, &length))
        at += FRAME + length;
    for (uint64_t later = at + 8; later < last; later += 8)
        if (!is_zero(file, later) && (entries = themis_store_log_file_frame(file, later, &length)) &&
            (complete || frame_commits(entries, length, at))) {
            themis_error("the arena's log is damaged at byte %llu of file %llu; nothing was changed",
                         (unsigned long long)(at - file->super.base + HEAD), (unsigned long long)file->super.number);
            return THEMIS_CONFIG;
        }
    *end = at;
    return THEMIS_OK;
}

/* --- files that are read ------------------------------------------------------------------------------------------ */

static themis_status_t file_map(int fd, const char *name, themis_store_log_file_t *file)
{
    struct stat stat;
    themis_status_t status = themis_store_superblock_read(fd, name, &file->super);

    if (status != THEMIS_OK)
        return status;
    if (fstat(fd, &stat) != 0)
        return themis_util_status_from_errno(errno);
    if (stat.st_size < HEAD) {
        themis_error("the arena's file %s is damaged; nothing was changed", name);
        return THEMIS_CONFIG;
    }
    file->size = (uint64_t)stat.st_size;
    void *at = mmap(NULL, file->size, PROT_READ, MAP_SHARED, fd, 0);
    if (at == MAP_FAILED)
        return themis_util_status_from_errno(errno);
    madvise(at, file->size, MADV_SEQUENTIAL);
    file->bytes = at;
    return THEMIS_OK;
}

themis_status_t themis_store_log_file_open(int directory, const char *name, themis_store_log_file_t *file)
{
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

    *file = (themis_store_log_file_t){.bytes = NULL};
    if (fd < 0) {
        themis_error("cannot open the arena's file %s: %s", name, strerror(errno));
        return themis_util_status_from_errno(errno);
    }
    themis_status_t status = file_map(fd, name, file);
    close(fd);
    return status;
}

void themis_store_log_file_close(themis_store_log_file_t *file)
{
    if (file->bytes)
        munmap((void *)file->bytes, file->size);
    file->bytes = NULL;
}
