/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * The glue and ROMIO start with the first file. They end with the attributes of MPI_COMM_WORLD, which MPI_Finalize
 * deletes after those of MPI_COMM_SELF, while MPI still works (in Open MPI, too): libraries close their files in delete
 * callbacks of MPI_COMM_SELF, and callbacks set before the first file was opened are called last.
 */
#include "adio/glue/init.h"
#include <pthread.h>
#include "adio/glue/abi.h"
#include "adio/glue/interception.h"
#include "adio/glue/lock.h"
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

/* Not made in MPIR_Ext_init: a call that waits releases ROMIO's lock, and other threads would find ROMIO half
 * initialized. */
MPI_Comm themis_glue_init_self(void)
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
    themis_glue_abi_init();
    PMPI_Comm_create_keyval(MPI_COMM_NULL_COPY_FN, finalize, &keyval, NULL);
    PMPI_Comm_set_attr(MPI_COMM_WORLD, keyval, NULL);
    PMPI_Comm_free_keyval(&keyval);
    return MPI_SUCCESS;
}

/* --- attributes of MPI_COMM_SELF ------------------------------------------------------------------------------------
 * While MPICH deletes them, their list still has elements that are freed already. A file that is opened then must not
 * touch the list: what ROMIO attaches to MPI_COMM_SELF is attached to `self`, and a file's copy of MPI_COMM_SELF is
 * made without its attributes.
 */

extern int ADIO_Init_keyval; /* ROMIO's, in no header: ROMIO ends when the attribute is deleted */

static MPI_Comm keeper(MPI_Comm comm)
{
    MPI_Comm own = comm == MPI_COMM_SELF ? themis_glue_init_self() : comm;

    return own != MPI_COMM_NULL ? own : comm;
}

int __wrap_PMPI_Attr_put(MPI_Comm comm, int keyval, void *value)
{
    return __real_PMPI_Attr_put(keyval == ADIO_Init_keyval ? MPI_COMM_WORLD : keeper(comm), keyval, value);
}

int __wrap_PMPI_Attr_get(MPI_Comm comm, int keyval, void *value, int *found)
{
    return __real_PMPI_Attr_get(keeper(comm), keyval, value, found);
}

int __wrap_PMPI_Comm_dup(MPI_Comm comm, MPI_Comm *made)
{
    int held, rc;

    if (comm == MPI_COMM_SELF)
        return PMPI_Comm_split(comm, 0, 0, made);
    held = themis_glue_lock_release();
    rc = __real_PMPI_Comm_dup(comm, made);
    themis_glue_lock_acquire(held);
    return rc;
}
