/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls in which one rank's arguments are wrong. ROMIO returns the error on that rank at once, and the
 * others wait for it forever. For files of the driver, the rank that fails takes part without data instead: the others
 * get their results, and it gets its error.
 */
#include "adio/glue/file.h"
#include "adio/glue/interception.h"

static int check_buffer(MPI_File file, const char *function, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    if (!ADIOI_THEMIS_Hook_buffer_bad(buf, count, datatype))
        return MPI_SUCCESS;
    return themis_glue_file_fail(file, function, MPI_ERR_BUFFER, "**bufnull");
}

/* Before the call without data: its errors are not reported, since the rank's error was. Returns the file's handler. */
static MPI_Errhandler errors_silence(MPI_File file)
{
    MPI_Errhandler handler = file->err_handler;

    file->err_handler = MPI_ERRORS_RETURN;
    return handler;
}

/* In ordered mode each rank waits for a message of the one before: a rank that failed to get its place in the file
 * sends it to the next one all the same. */
static void order_pass_on(MPI_File file)
{
    int rank, size;

    if (!ADIOI_THEMIS_Hook_shared_failed(file))
        return;
    MPI_Comm_rank(file->comm, &rank);
    MPI_Comm_size(file->comm, &size);
    MPI_Send(NULL, 0, MPI_BYTE, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 0, file->comm);
}

/* What the position and the completion of a call add to its parameters, to its arguments, and to the arguments of the
 * call without data; FINISH is done after the latter. */
#define PARAMETER_HERE
#define ARGUMENT_HERE
#define NO_DATA_HERE
#define PARAMETER_AT MPI_Offset at,
#define ARGUMENT_AT at,
#define NO_DATA_AT 0,
#define PARAMETER_BLOCKING , MPI_Status *s
#define ARGUMENT_BLOCKING , s
#define NO_DATA_BLOCKING , &status
#define FINISH_BLOCKING (void)0
#define PARAMETER_BEGIN
#define ARGUMENT_BEGIN
#define NO_DATA_BEGIN
#define FINISH_BEGIN fh->split_coll_count = 0 /* the program will not end a call that failed to begin */
#define PARAMETER_REQUEST , MPI_Request *r
#define ARGUMENT_REQUEST , r
#define NO_DATA_REQUEST , &request
#define FINISH_REQUEST PMPI_Wait(&request, MPI_STATUS_IGNORE)

#define TRANSFER(call, position, completion, buffer_t)                                                                 \
    TRANSFER_OF(call, position, completion, buffer_t, int)                                                             \
    TRANSFER_OF(call##_c, position, completion, buffer_t, MPI_Count)
#define TRANSFER_OF(call, position, completion, buffer_t, count_t)                                                     \
    FUNCTION(                                                                                                          \
        call,                                                                                                          \
        (MPI_File fh, PARAMETER_##position buffer_t buf, count_t count, MPI_Datatype type PARAMETER_##completion),     \
        (fh, ARGUMENT_##position buf, count, type ARGUMENT_##completion),                                              \
        (fh, NO_DATA_##position NULL, 0, MPI_BYTE NO_DATA_##completion), FINISH_##completion)
#define FUNCTION(call, parameters, arguments, no_data, finish)                                                         \
    int themis_romio_File_##call parameters;                                                                           \
    int PMPI_File_##call parameters                                                                                    \
    {                                                                                                                  \
        MPI_Request request = MPI_REQUEST_NULL;                                                                        \
        MPI_Errhandler handler;                                                                                        \
        MPI_Status status;                                                                                             \
        unsigned begun;                                                                                                \
        int code;                                                                                                      \
                                                                                                                       \
        (void)request, (void)status;                                                                                   \
        if (!themis_glue_file_is_ours(fh))                                                                             \
            return themis_romio_File_##call arguments;                                                                 \
        begun = ADIOI_THEMIS_Hook_collective_begin(fh);                                                                \
        code = check_buffer(fh, "MPI_File_" #call, buf, count, type);                                                  \
        if (code == MPI_SUCCESS)                                                                                       \
            code = themis_romio_File_##call arguments;                                                                 \
        if (code == MPI_SUCCESS || ADIOI_THEMIS_Hook_collective_reached(fh, begun))                                    \
            return code;                                                                                               \
        handler = errors_silence(fh);                                                                                  \
        order_pass_on(fh);                                                                                             \
        if (themis_romio_File_##call no_data == MPI_SUCCESS)                                                           \
            finish;                                                                                                    \
        fh->err_handler = handler;                                                                                     \
        return code;                                                                                                   \
    }                                                                                                                  \
    int MPI_File_##call parameters __attribute__((weak, alias("PMPI_File_" #call)));
#include "adio/glue/interception.def"
