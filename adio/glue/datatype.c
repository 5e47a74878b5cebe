/* SPDX-License-Identifier: BSD-3-Clause */
/* What ROMIO asks about datatypes (mpir_ext.h), answered through MPI's public interface. */
#include <stdlib.h>
#include "adio.h"
#include "adio/glue/init.h"
#include "mpir_ext.h"

/* Types that programs use most: they are committed and contiguous. To ask MPI takes a fifth of the instructions of a
 * small access. */
static int is_basic(MPI_Datatype datatype)
{
    return datatype == MPI_BYTE || datatype == MPI_DOUBLE || datatype == MPI_INT || datatype == MPI_CHAR ||
           datatype == MPI_FLOAT || datatype == MPI_LONG || datatype == MPI_INT64_T || datatype == MPI_UINT64_T ||
           datatype == MPI_DOUBLE_PRECISION || datatype == MPI_INTEGER || datatype == MPI_REAL;
}

/* Sends to MPI_PROC_NULL: MPI checks its arguments and does nothing. */
int MPIR_Ext_datatype_iscommitted(MPI_Datatype datatype)
{
    static const char nothing;
    MPI_Comm self = themis_glue_init_self();
    const char *why = "**dtypecommit";

    if (is_basic(datatype))
        return MPI_SUCCESS;
    if (datatype == MPI_DATATYPE_NULL)
        why = "**dtypenull";
    else if (self == MPI_COMM_NULL || PMPI_Send(&nothing, 1, datatype, MPI_PROC_NULL, 0, self) == MPI_SUCCESS)
        return MPI_SUCCESS;
    return MPIO_Err_create_code(MPI_SUCCESS, 0, __func__, __LINE__, MPI_ERR_TYPE, why, NULL);
}

int MPIR_Get_node_id(MPI_Comm comm, int rank, int *id)
{
    return MPI_ERR_UNSUPPORTED_OPERATION;
}

/* The parts of a derived type, as MPI_Type_get_contents gives them. */
typedef struct contents {
    int combiner;
    int integer_count, address_count, type_count;
    int *integers;
    MPI_Aint *addresses;
    MPI_Datatype *types;
} contents_t;

static void contents_free(contents_t *contents)
{
    for (int i = 0; i < contents->type_count; i++) {
        int n, a, t, combiner;

        PMPI_Type_get_envelope(contents->types[i], &n, &a, &t, &combiner);
        if (combiner != MPI_COMBINER_NAMED && combiner != MPI_COMBINER_F90_REAL &&
            combiner != MPI_COMBINER_F90_COMPLEX && combiner != MPI_COMBINER_F90_INTEGER)
            PMPI_Type_free(&contents->types[i]);
    }
    free(contents->integers);
    free(contents->addresses);
    free(contents->types);
}

/* 0 on success, then freed by contents_free. The envelope is in `contents` already. */
static int contents_get(MPI_Datatype datatype, contents_t *contents)
{
    contents->integers = calloc((size_t)contents->integer_count + 1, sizeof *contents->integers);
    contents->addresses = calloc((size_t)contents->address_count + 1, sizeof *contents->addresses);
    contents->types = calloc((size_t)contents->type_count + 1, sizeof *contents->types);
    if (contents->integers && contents->addresses && contents->types &&
        PMPI_Type_get_contents(datatype, contents->integer_count, contents->address_count, contents->type_count,
                               contents->integers, contents->addresses, contents->types) == MPI_SUCCESS)
        return 0;
    contents->type_count = 0;
    contents_free(contents);
    return -1;
}

/* Where block i of an indexed or struct type starts, and how many elements it has. */
static MPI_Aint block_start(const contents_t *contents, int i)
{
    int count = contents->integers[0];

    switch (contents->combiner) {
    case MPI_COMBINER_INDEXED:
        return contents->integers[1 + count + i];
    case MPI_COMBINER_INDEXED_BLOCK:
        return contents->integers[2 + i];
    default:
        return contents->addresses[i];
    }
}

static int block_length(const contents_t *contents, int i)
{
    int same = contents->combiner == MPI_COMBINER_INDEXED_BLOCK || contents->combiner == MPI_COMBINER_HINDEXED_BLOCK;

    return contents->integers[same ? 1 : 1 + i];
}

/* Blocks that hold bytes must come in ascending order; that they leave no gaps is known from size and extent. */
static int blocks_in_order(const contents_t *contents)
{
    MPI_Aint last = 0;
    int any = 0;

    for (int i = 0; i < contents->integers[0]; i++) {
        MPI_Aint start = block_start(contents, i);

        if (block_length(contents, i) == 0)
            continue;
        if (any && start < last)
            return 0;
        last = start;
        any = 1;
    }
    return 1;
}

/* Strides may run backwards. */
static int stride_ascends(const contents_t *contents)
{
    int count = contents->integers[0];

    if (contents->combiner == MPI_COMBINER_VECTOR)
        return count < 2 || contents->integers[2] >= 0;
    return count < 2 || contents->addresses[0] >= 0;
}

static int in_order(const contents_t *contents)
{
    switch (contents->combiner) {
    case MPI_COMBINER_VECTOR:
    case MPI_COMBINER_HVECTOR:
        return stride_ascends(contents);
    case MPI_COMBINER_INDEXED:
    case MPI_COMBINER_HINDEXED:
    case MPI_COMBINER_INDEXED_BLOCK:
    case MPI_COMBINER_HINDEXED_BLOCK:
    case MPI_COMBINER_STRUCT:
        return blocks_in_order(contents);
    default:
        return 1;
    }
}

/* Size equal to extent means that there are no gaps (or an overlap for each); the order shows in the parts. */
static int is_dense(MPI_Datatype datatype, MPI_Count *bytes)
{
    MPI_Count size, lb, extent, true_lb, true_extent;

    *bytes = 0;
    if (PMPI_Type_size_x(datatype, &size) != MPI_SUCCESS ||
        PMPI_Type_get_extent_x(datatype, &lb, &extent) != MPI_SUCCESS ||
        PMPI_Type_get_true_extent_x(datatype, &true_lb, &true_extent) != MPI_SUCCESS)
        return 0;
    *bytes = size;
    return size == extent && size == true_extent;
}

void MPIR_Datatype_iscontig(MPI_Datatype datatype, int *flag)
{
    contents_t contents;
    MPI_Count bytes;

    if (is_basic(datatype)) {
        *flag = 1;
        return;
    }
    /* An empty type is contiguous whatever it was made from: ROMIO cannot flatten a vector of no blocks. */
    *flag = is_dense(datatype, &bytes);
    if (!*flag || bytes == 0)
        return;
    if (PMPI_Type_get_envelope(datatype, &contents.integer_count, &contents.address_count, &contents.type_count,
                               &contents.combiner) != MPI_SUCCESS ||
        contents.combiner == MPI_COMBINER_NAMED || contents.type_count == 0)
        return;
    if (contents_get(datatype, &contents)) {
        *flag = 0;
        return;
    }
    *flag = in_order(&contents);
    for (int i = 0; *flag && i < contents.type_count; i++) {
        MPI_Count size;

        /* An empty part of a struct does not matter. */
        if (PMPI_Type_size_x(contents.types[i], &size) == MPI_SUCCESS && size > 0)
            MPIR_Datatype_iscontig(contents.types[i], flag);
    }
    contents_free(&contents);
}
