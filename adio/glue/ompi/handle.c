/* SPDX-License-Identifier: BSD-3-Clause */
#define _GNU_SOURCE
#include "adio/glue/ompi/handle.h"
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include "adio/glue/abi.h"

#define EXPORTED __attribute__((visibility("default")))

enum { BUCKETS = 256 };

typedef struct handle {
    MPI_File program; /* Open MPI's */
    ADIO_File file;
    struct handle *next;
} handle_t;

/* MPI_File_* calls carry no other state. */
static struct {
    pthread_rwlock_t lock;
    handle_t *bucket[BUCKETS]; /* by `program` */
} table = {.lock = PTHREAD_RWLOCK_INITIALIZER};

/* Of the MPI_File_open that this thread is in. */
static _Thread_local handle_t *reserved;

static MPI_File null_handle(void)
{
    return (MPI_File)(void *)&ompi_mpi_file_null;
}

/* Open MPI's functions; the names mean ROMIO's in here. */
static int null_device_open(MPI_File *made)
{
    int (*open)(MPI_Comm, const char *, int, MPI_Info, MPI_File *) = NULL;

    *(void **)&open = dlsym(RTLD_NEXT, "PMPI_File_open");
    return open ? open(MPI_COMM_SELF, "/dev/null", MPI_MODE_RDONLY, MPI_INFO_NULL, made) : MPI_ERR_INTERN;
}

static void null_device_close(MPI_File made)
{
    int (*close)(MPI_File *) = NULL;

    *(void **)&close = dlsym(RTLD_NEXT, "PMPI_File_close");
    if (close)
        close(&made);
}

static void handle_free(handle_t *handle)
{
    null_device_close(handle->program);
    free(handle);
}

const char *themis_glue_abi_open_fault(void)
{
    if (reserved)
        return NULL;
    reserved = calloc(1, sizeof *reserved);
    if (reserved && null_device_open(&reserved->program) == MPI_SUCCESS)
        return NULL;
    free(reserved);
    reserved = NULL;
    return "**nomem";
}

MPI_File themis_glue_handle_borrow(ADIO_File file, MPI_File *borrowed)
{
    MPI_File found = NULL;

    *borrowed = NULL;
    pthread_rwlock_rdlock(&table.lock);
    for (int i = 0; file && i < BUCKETS; i++)
        for (const handle_t *handle = table.bucket[i]; handle; handle = handle->next)
            if (handle->file == file)
                found = handle->program;
    pthread_rwlock_unlock(&table.lock);
    if (!found && null_device_open(borrowed) == MPI_SUCCESS)
        found = *borrowed;
    else
        *borrowed = NULL;
    return found;
}

void themis_glue_handle_return(MPI_File borrowed)
{
    if (borrowed)
        null_device_close(borrowed);
}

/* Where the handle is linked, or would be. With the lock. */
static handle_t **handle_link(const void *program)
{
    uint64_t mixed = (uintptr_t)program * UINT64_C(0x9e3779b97f4a7c15);
    handle_t **at = &table.bucket[(mixed >> 32) % BUCKETS];

    while (*at && (const void *)(*at)->program != program)
        at = &(*at)->next;
    return at;
}

static handle_t *handle_find(const void *program)
{
    handle_t *handle;

    pthread_rwlock_rdlock(&table.lock);
    handle = *handle_link(program);
    pthread_rwlock_unlock(&table.lock);
    return handle;
}

EXPORTED ADIO_File themis_glue_handle_file(const void *program)
{
    handle_t *handle = handle_find(program);

    return handle ? handle->file : NULL;
}

EXPORTED int themis_glue_handle_open(MPI_Comm comm, const char *filename, int amode, MPI_Info info, MPI_File *program)
{
    ADIO_File file = NULL;
    int code = PMPI_File_open(comm, filename, amode, info, &file);
    handle_t *handle = reserved;

    *program = null_handle();
    reserved = NULL;
    if (code != MPI_SUCCESS || !handle) {
        if (handle)
            handle_free(handle);
        return code;
    }
    handle->file = file;
    pthread_rwlock_wrlock(&table.lock);
    *handle_link(handle->program) = handle;
    pthread_rwlock_unlock(&table.lock);
    *program = handle->program;
    return code;
}

/* The handle is valid in an error handler that a failure calls. */
EXPORTED int themis_glue_handle_close(MPI_File *program)
{
    handle_t *handle = handle_find(*program);
    ADIO_File file = handle ? handle->file : NULL;
    int code = PMPI_File_close(&file);

    if (!handle || file)
        return code;
    pthread_rwlock_wrlock(&table.lock);
    *handle_link(handle->program) = handle->next;
    pthread_rwlock_unlock(&table.lock);
    handle_free(handle);
    *program = null_handle();
    return code;
}

/* ROMIO calls it when it closes a file, whose handler Open MPI releases with the handle. */
int PMPI_File_set_errhandler(MPI_File file, MPI_Errhandler handler)
{
    return MPI_SUCCESS;
}
