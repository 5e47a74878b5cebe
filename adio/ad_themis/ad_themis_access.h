/* SPDX-License-Identifier: BSD-3-Clause */
/* One read or write as the driver sees it, filled where ROMIO calls (ad_themis.c). */
#pragma once
#include "ad_themis.h"
#include "util/direction.h"

typedef enum ADIOI_THEMIS_Position {
    AD_THEMIS_AT_BYTE,   /* offset: bytes in the file; file and buffer are contiguous */
    AD_THEMIS_AT_ETYPE,  /* offset: etypes in the view */
    AD_THEMIS_AT_POINTER /* at the individual file pointer, which moves; offset has no meaning */
} ADIOI_THEMIS_Position;

/* All fields are borrowed for the call. */
typedef struct ADIOI_THEMIS_Access {
    ADIO_File fd;
    themis_direction_t direction;
    void *buf; /* a write does not change it */
    AD_THEMIS_COUNT count;
    MPI_Datatype datatype;
    ADIOI_THEMIS_Position position;
    ADIO_Offset offset;
} ADIOI_THEMIS_Access;

uint64_t ADIOI_THEMIS_Access_bytes(const ADIOI_THEMIS_Access *access);
/* What MPI_Get_count finds; `status` may be NULL. */
void ADIOI_THEMIS_Access_set_status(const ADIOI_THEMIS_Access *access, uint64_t bytes, ADIO_Status *status);
