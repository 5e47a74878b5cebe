/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Checks of MPI_File_set_view. ROMIO checks less, and returns on the rank whose view is invalid while the others wait
 * for it.
 */
#include <string.h>
#include "adio/glue/file.h"
#include "adio/glue/interception.h"

/* What is wrong with an etype or file type: a short text of MPICH's table, or NULL. */
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

/* Either all ranks set their views, or none does. */
int PMPI_File_set_view(MPI_File fh, MPI_Offset disp, MPI_Datatype etype, MPI_Datatype filetype, const char *datarep,
                       MPI_Info info)
{
    const char *fault;
    int bad, any, code;

    if (!themis_glue_file_is_ours(fh))
        return themis_romio_File_set_view(fh, disp, etype, filetype, datarep, info);
    fault = view_fault(fh, disp, etype, filetype, datarep);
    bad = fault != NULL;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, fh->comm);
    if (!any)
        return themis_romio_File_set_view(fh, disp, etype, filetype, datarep, info);
    if (bad)
        return themis_glue_file_fail(fh, "MPI_File_set_view", fault_class(fault), fault);
    code = MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, "MPI_File_set_view", __LINE__, MPI_ERR_OTHER,
                                "**other", "%s", "the view of another rank is invalid");
    return MPIO_Err_return_file(fh, code);
}
#pragma weak MPI_File_set_view = PMPI_File_set_view
