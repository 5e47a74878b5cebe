/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Collective calls in which one rank's arguments are wrong. ROMIO returns the error on that rank at once and the others
 * wait for it for ever. For files of ours the rank that fails takes part with no bytes instead, so that the others get
 * their results and it gets its error.
 *
 * These functions stand in front of ROMIO's own, which the build has renamed to themis_romio_* (ROMIO_COLLECTIVES in
 * local.mk has the same list).
 */
#include "adio/glue/collective.h"

static int check_buffer(MPI_File file, const char *function, const void *buf, MPI_Count count, MPI_Datatype datatype)
{
    if (!ADIOI_THEMIS_Hook_buffer_bad(buf, count, datatype))
        return MPI_SUCCESS;
    return themis_glue_fail(file, function, MPI_ERR_BUFFER, "**bufnull");
}

/* The error was reported once: what is done on behalf of the others is silent. */
static MPI_Errhandler hush(MPI_File file)
{
    MPI_Errhandler handler = file->err_handler;

    file->err_handler = MPI_ERRORS_RETURN;
    return handler;
}

/* In ordered mode the ranks wait for each other in a row: a rank that got no place in the file still lets the next one
 * go on. */
static void pass_on(MPI_File file)
{
    int rank, size;

    if (!ADIOI_THEMIS_Hook_shared_failed(file))
        return;
    MPI_Comm_rank(file->comm, &rank);
    MPI_Comm_size(file->comm, &size);
    MPI_Send(NULL, 0, MPI_BYTE, rank + 1 < size ? rank + 1 : MPI_PROC_NULL, 0, file->comm);
}

/*
 * COLLECTIVE(name, parameters, arguments, arguments of the call without bytes, what to do after that call). The
 * parameters are called fh, buf, count and type; the call without bytes may use `status` and `request`.
 */
#define COLLECTIVE(name, parameters, arguments, empty, after)                                                          \
    int themis_romio_File_##name parameters;                                                                           \
    int PMPI_File_##name parameters                                                                                    \
    {                                                                                                                  \
        unsigned begun;                                                                                                \
        int code;                                                                                                      \
                                                                                                                       \
        if (!themis_glue_is_ours(fh))                                                                                  \
            return themis_romio_File_##name arguments;                                                                 \
        begun = ADIOI_THEMIS_Hook_collective_begin(fh);                                                                \
        code = check_buffer(fh, "MPI_File_" #name, buf, count, type);                                                  \
        if (code == MPI_SUCCESS)                                                                                       \
            code = themis_romio_File_##name arguments;                                                                 \
        if (code != MPI_SUCCESS && !ADIOI_THEMIS_Hook_collective_reached(fh, begun)) {                                 \
            MPI_Errhandler handler = hush(fh);                                                                         \
            MPI_Request request = MPI_REQUEST_NULL;                                                                    \
            MPI_Status status;                                                                                         \
                                                                                                                       \
            (void)request, (void)status;                                                                               \
            pass_on(fh);                                                                                               \
            if (themis_romio_File_##name empty == MPI_SUCCESS)                                                         \
                after;                                                                                                 \
            fh->err_handler = handler;                                                                                 \
        }                                                                                                              \
        return code;                                                                                                   \
    }                                                                                                                  \
    int MPI_File_##name parameters __attribute__((weak, alias("PMPI_File_" #name)));

/* Each in two sizes of counts. */
#define PLAIN(name, BUF)                                                                                               \
    PLAIN_N(name, BUF, int)                                                                                            \
    PLAIN_N(name##_c, BUF, MPI_Count)
#define PLAIN_N(name, BUF, N)                                                                                          \
    COLLECTIVE(name, (MPI_File fh, BUF buf, N count, MPI_Datatype type, MPI_Status * s), (fh, buf, count, type, s),    \
               (fh, NULL, 0, MPI_BYTE, &status), (void)0)
#define AT(name, BUF)                                                                                                  \
    AT_N(name, BUF, int)                                                                                               \
    AT_N(name##_c, BUF, MPI_Count)
#define AT_N(name, BUF, N)                                                                                             \
    COLLECTIVE(name, (MPI_File fh, MPI_Offset at, BUF buf, N count, MPI_Datatype type, MPI_Status * s),                \
               (fh, at, buf, count, type, s), (fh, 0, NULL, 0, MPI_BYTE, &status), (void)0)
/* The split call was not begun here, and will not be ended. */
#define BEGIN(name, BUF)                                                                                               \
    BEGIN_N(name, BUF, int)                                                                                            \
    BEGIN_N(name##_c, BUF, MPI_Count)
#define BEGIN_N(name, BUF, N)                                                                                          \
    COLLECTIVE(name, (MPI_File fh, BUF buf, N count, MPI_Datatype type), (fh, buf, count, type),                       \
               (fh, NULL, 0, MPI_BYTE), fh->split_coll_count = 0)
#define BEGIN_AT(name, BUF)                                                                                            \
    BEGIN_AT_N(name, BUF, int)                                                                                         \
    BEGIN_AT_N(name##_c, BUF, MPI_Count)
#define BEGIN_AT_N(name, BUF, N)                                                                                       \
    COLLECTIVE(name, (MPI_File fh, MPI_Offset at, BUF buf, N count, MPI_Datatype type), (fh, at, buf, count, type),    \
               (fh, 0, NULL, 0, MPI_BYTE), fh->split_coll_count = 0)
#define REQUEST(name, BUF)                                                                                             \
    REQUEST_N(name, BUF, int)                                                                                          \
    REQUEST_N(name##_c, BUF, MPI_Count)
#define REQUEST_N(name, BUF, N)                                                                                        \
    COLLECTIVE(name, (MPI_File fh, BUF buf, N count, MPI_Datatype type, MPI_Request * r), (fh, buf, count, type, r),   \
               (fh, NULL, 0, MPI_BYTE, &request), PMPI_Wait(&request, MPI_STATUS_IGNORE))
#define REQUEST_AT(name, BUF)                                                                                          \
    REQUEST_AT_N(name, BUF, int)                                                                                       \
    REQUEST_AT_N(name##_c, BUF, MPI_Count)
#define REQUEST_AT_N(name, BUF, N)                                                                                     \
    COLLECTIVE(name, (MPI_File fh, MPI_Offset at, BUF buf, N count, MPI_Datatype type, MPI_Request * r),               \
               (fh, at, buf, count, type, r), (fh, 0, NULL, 0, MPI_BYTE, &request),                                    \
               PMPI_Wait(&request, MPI_STATUS_IGNORE))

PLAIN(read_all, void *)
PLAIN(write_all, const void *)
PLAIN(read_ordered, void *)
PLAIN(write_ordered, const void *)
AT(read_at_all, void *)
AT(write_at_all, const void *)
BEGIN(read_all_begin, void *)
BEGIN(write_all_begin, const void *)
BEGIN(read_ordered_begin, void *)
BEGIN(write_ordered_begin, const void *)
BEGIN_AT(read_at_all_begin, void *)
BEGIN_AT(write_at_all_begin, const void *)
REQUEST(iread_all, void *)
REQUEST(iwrite_all, const void *)
REQUEST_AT(iread_at_all, void *)
REQUEST_AT(iwrite_at_all, const void *)

/* --- views ------------------------------------------------------------------------------------------------------- */

/* What is wrong with a type as etype or file type: a short text of MPICH's table, or NULL. */
static const char *type_fault(MPI_File file, MPI_Datatype type, const char *null_text)
{
    const ADIOI_Flatlist_node *flat;
    int writes = (file->access_mode & ADIO_RDONLY) == 0;

    if (type == MPI_DATATYPE_NULL)
        return null_text;
    if (MPIR_Ext_datatype_iscommitted(type) != MPI_SUCCESS)
        return "**dtypecommit";
    flat = ADIOI_Flatten_and_find(type);
    if (flat &&
        ((flat->flag & (ADIOI_TYPE_NEGATIVE | ADIOI_TYPE_DECREASE)) || (writes && (flat->flag & ADIOI_TYPE_OVERLAP))))
        return "**iobadoverlap";
    return NULL;
}

static int is_known_datarep(const char *name)
{
    static const char *const known[] = {"native", "NATIVE", "external32", "EXTERNAL32", "internal", "INTERNAL"};

    for (size_t i = 0; name && i < sizeof known / sizeof *known; i++)
        if (strcmp(name, known[i]) == 0)
            return 1;
    return 0;
}

static const char *view_fault(MPI_File file, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                              const char *datarep)
{
    MPI_Count etype_size, filetype_size;
    const char *fault = type_fault(file, etype, "**ioetype");

    if (!fault)
        fault = type_fault(file, filetype, "**iofiletype");
    if (fault)
        return fault;
    if ((disp == MPI_DISPLACEMENT_CURRENT) != ((file->access_mode & ADIO_SEQUENTIAL) != 0))
        return "**iodispifseq";
    if (disp < 0 && disp != MPI_DISPLACEMENT_CURRENT)
        return "**iobaddisp";
    MPI_Type_size_x(etype, &etype_size);
    MPI_Type_size_x(filetype, &filetype_size);
    if (etype_size != 0 && filetype_size % etype_size != 0)
        return "**iofiletype";
    return is_known_datarep(datarep) ? NULL : "**unsupporteddatarep";
}

static int fault_class(const char *fault)
{
    if (strcmp(fault, "**dtypecommit") == 0)
        return MPI_ERR_TYPE;
    if (strcmp(fault, "**iobadoverlap") == 0)
        return MPI_ERR_IO;
    return strcmp(fault, "**unsupporteddatarep") == 0 ? MPI_ERR_UNSUPPORTED_DATAREP : MPI_ERR_ARG;
}

int themis_romio_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype,
                               const char *datarep, MPI_Info info);

/* All ranks set their views, or none. */
int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                       MPI_Info info)
{
    const char *fault;
    int bad, any, code;

    if (!themis_glue_is_ours(fh))
        return themis_romio_File_set_view(fh, disp, etype, filetype, datarep, info);
    fault = view_fault(fh, disp, etype, filetype, datarep);
    bad = fault != NULL;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, fh->comm);
    if (!any)
        return themis_romio_File_set_view(fh, disp, etype, filetype, datarep, info);
    if (bad)
        return themis_glue_fail(fh, "MPI_File_set_view", fault_class(fault), fault);
    code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_File_set_view", __LINE__, MPI_ERR_OTHER,
                                "**other", "%s", "the view of another rank is invalid");
    return MPIO_Err_return_file(fh, code);
}

int MPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                      MPI_Info info) __attribute__((weak, alias("PMPI_File_set_view")));
