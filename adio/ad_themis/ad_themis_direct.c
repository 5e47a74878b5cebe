/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_direct.h"
#include <string.h>
#include "ad_themis_file.h"
#include "ad_themis_hints.h"

static int mode_of_hint(ADIO_File fd)
{
    const char *text = ADIOI_THEMIS_Hints_text(fd, AD_THEMIS_HINT_direct);

    return !text || strcmp(text, "auto") == 0 ? 0 : strcmp(text, "on") == 0 ? 1 : -1;
}

void ADIOI_THEMIS_Direct_opened(ADIO_File fd)
{
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_session_info_t info;
    int mode = mode_of_hint(fd);

    themis_file_set_direct(file->handle, mode);
    if (mode == 0 && themis_session_info(file->session, &info) == THEMIS_OK)
        mode = info.direct;
    ADIOI_THEMIS_Hints_show(fd, "themis_direct", mode < 0 ? "off" : mode > 0 ? "on" : "auto");
    ADIOI_THEMIS_Hints_show(fd, "themis_direct_used", "none");
    file->direct_used = AD_THEMIS_DIRECT_NONE;
}

void ADIOI_THEMIS_Direct_show(ADIO_File fd)
{
    static const char *const names[] = {"none", "some", "all"};
    ADIOI_THEMIS_File *file = ADIOI_THEMIS_file(fd);
    themis_moved_t moved;

    themis_file_moved(file->handle, &moved);
    ADIOI_THEMIS_Direct_used used = moved.direct == 0     ? AD_THEMIS_DIRECT_NONE
                                    : moved.messages == 0 ? AD_THEMIS_DIRECT_ALL
                                                          : AD_THEMIS_DIRECT_SOME;
    if (used != file->direct_used)
        ADIOI_THEMIS_Hints_show(fd, "themis_direct_used", names[used]);
    file->direct_used = used;
}
