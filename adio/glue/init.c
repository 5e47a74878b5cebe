/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the glue in a process. ROMIO starts it with the first file; MPI_Finalize ends it, since it deletes
 * the attributes of MPI_COMM_SELF first.
 */
#include <stddef.h>
#include "adio/glue/glue.h"
#include "mpir_ext.h"

static MPI_Comm self = MPI_COMM_NULL;

MPI_Comm themis_glue_self(void)
{
    return self;
}

static int finalize(MPI_Comm comm, int keyval, void *value, void *extra)
{
    if (self != MPI_COMM_NULL)
        PMPI_Comm_free(&self);
    return MPI_SUCCESS;
}

int MPIR_Ext_init(void)
{
    int keyval = MPI_KEYVAL_INVALID;

    themis_glue_lock_init();
    themis_glue_error_init();
    if (PMPI_Comm_dup(MPI_COMM_SELF, &self) != MPI_SUCCESS)
        return MPI_ERR_OTHER;
    PMPI_Comm_set_errhandler(self, MPI_ERRORS_RETURN);
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, NULL);
    PMPI_Comm_set_attr(MPI_COMM_SELF, keyval, NULL);
    PMPI_Comm_free_keyval(&keyval);
    return MPI_SUCCESS;
}
