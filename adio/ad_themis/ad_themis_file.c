/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include "ad_themis_file.h"

const char *ADIOI_THEMIS_File_name(ADIO_File fd)
{
    return ADIOI_THEMIS_file(fd) && ADIOI_THEMIS_file(fd)->name ? ADIOI_THEMIS_file(fd)->name : fd->filename;
}

ADIOI_THEMIS_File *ADIOI_THEMIS_File_make(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = fd->fs_ptr;

    if (!file) {
        file = calloc(1, sizeof *file);
        if (file)
            file->start_iodevice = -1;
        fd->fs_ptr = file;
    }
    return file;
}

void ADIOI_THEMIS_File_free(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = fd->fs_ptr;

    if (!file)
        return;
    for (int i = 0; i < AD_THEMIS_HINT_NUMBER; i++)
        free(file->hint[i]);
    ADIOI_THEMIS_Flat_free(&file->view);
    free(file->name);
    free(file);
    fd->fs_ptr = NULL;
}
