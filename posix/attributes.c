/* SPDX-License-Identifier: BSD-3-Clause */
#include "posix/attributes.h"
#include "util/clock.h"

/* What programs read and write at a time: a message each, so not too little, and buffers of this size, so not too much.
 */
enum { BLOCK_BYTES = 128 << 10, STAT_BLOCK_BYTES = 512 };

mode_t themis_posix_type_mode(themis_type_t type)
{
    switch (type) {
    case THEMIS_TYPE_DIRECTORY:
        return S_IFDIR;
    case THEMIS_TYPE_SYMLINK:
        return S_IFLNK;
    default:
        return S_IFREG;
    }
}

void themis_posix_attributes(const themis_posix_node_t *node, const themis_stat_t *from, struct stat *stat)
{
    const struct timespec time = {.tv_sec = (time_t)(from->modified / THEMIS_NS_PER_S),
                                  .tv_nsec = (long)(from->modified % THEMIS_NS_PER_S)};

    *stat = (struct stat){.st_ino = node->number,
                          .st_mode = themis_posix_type_mode(from->type) | (from->mode & 07777),
                          .st_nlink = 1,
                          .st_uid = from->uid,
                          .st_gid = from->gid,
                          .st_size = (off_t)from->size,
                          .st_blocks = (blkcnt_t)((from->allocated + STAT_BLOCK_BYTES - 1) / STAT_BLOCK_BYTES),
                          .st_blksize = BLOCK_BYTES,
                          .st_atim = time,
                          .st_mtim = time,
                          .st_ctim = time};
}
