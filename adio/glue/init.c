/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Start and end of the glue and of ROMIO in a process. Both start with the first file. They end with the attributes of
 * MPI_COMM_WORLD, which MPICH deletes behind those of MPI_COMM_SELF in MPI_Finalize, while MPI still works: libraries
 * close their files in delete callbacks of MPI_COMM_SELF, and those set before the first file was opened are called
 * last.
 */
#include <pthread.h>
#include "adio.h"
#include "adio/glue/glue.h"
#include "mpir_ext.h"

static MPI_Comm self = MPI_COMM_NULL;

static void self_make(void)
{
    MPI_Comm made;

    if (PMPI_Comm_split(MPI_COMM_SELF, 0, 0, &made) != MPI_SUCCESS)
        return;
    PMPI_Comm_set_errhandler(made, MPI_ERRORS_RETURN);
    __atomic_store_n(&self, made, __ATOMIC_RELEASE);
}

/* Not made in MPIR_Ext_init: whoever waits for MPI gives ROMIO's lock away, and other threads would find ROMIO half
 * ready. */
MPI_Comm themis_glue_self(void)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    MPI_Comm made = __atomic_load_n(&self, __ATOMIC_ACQUIRE);
    int held;

    if (made != MPI_COMM_NULL)
        return made;
    held = themis_glue_lock_release();
    pthread_once(&once, self_make);
    themis_glue_lock_acquire(held);
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
