/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the glue and of ROMIO in a process. Both start with the first file. They end with the attributes of
 * MPI_COMM_WORLD, which MPICH deletes behind those of MPI_COMM_SELF in MPI_Finalize, while MPI still works: libraries
 * close their files in delete callbacks of MPI_COMM_SELF, and those set before the first file was opened are called
 * last.
 */
#include "adio.h"
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
    PMPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    PMPI_Comm_free_keyval(&keyval);
    return MPI_SUCCESS;
}

extern int ADIO_Init_keyval; /* ROMIO's, in no header: ends ROMIO when it is deleted */
int __real_PMPI_Attr_put(MPI_Comm comm, int keyval, void *value);
int __wrap_PMPI_Attr_put(MPI_Comm comm, int keyval, void *value);

/* ROMIO wants to end with the attributes of MPI_COMM_SELF; its calls come here by --wrap in local.mk. */
int __wrap_PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return __real_PMPI_Attr_put(keyval == ADIO_Init_keyval ? MPI_COMM_WORLD : comm, keyval, value);
}
