/* SPDX-License-Identifier: BSD-3-Clause */
/* Datatypes as lists of runs, from ROMIO's flattened types. */
#pragma once
#include "ad_themis.h"
#include "util/flat_type.h"

/* A flattened datatype, kept until another one replaces it. All zero is none. */
typedef struct ADIOI_THEMIS_Flat {
    uint64_t hash; /* of ROMIO's flattened type that it was made from; 0: none */
    themis_util_flat_type_t type;
} ADIOI_THEMIS_Flat;

/* The flattened datatype; NULL: out of memory. Borrowed until another datatype replaces it or it is freed. */
const themis_util_flat_type_t *ADIOI_THEMIS_Flat_type(ADIOI_THEMIS_Flat *flat, MPI_Datatype datatype);
void ADIOI_THEMIS_Flat_free(ADIOI_THEMIS_Flat *flat);
