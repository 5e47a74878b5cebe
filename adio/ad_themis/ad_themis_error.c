/* SPDX-License-Identifier: BSD-3-Clause */
#include "ad_themis_error.h"
#include <stdio.h>
#include <string.h>

/* MPICH keeps 256 bytes of a message. */
enum { LONGEST_NAME = 100, LONGEST_CAUSE = 150 };

/* The class of a status, and the short text of MPICH's table that goes with it. */
typedef struct error_class {
    themis_status_t status;
    int class;
    const char *generic;
} error_class_t;

static const error_class_t classes[] = {
    {THEMIS_INVALID, MPI_ERR_ARG, "**arg"},
    {THEMIS_RANGE, MPI_ERR_ARG, "**arg"},
    {THEMIS_BAD_ADDRESS, MPI_ERR_BUFFER, "**buffer"},
    {THEMIS_NO_MEMORY, MPI_ERR_NO_MEM, "**nomem"},
    {THEMIS_UNSUPPORTED, MPI_ERR_UNSUPPORTED_OPERATION, "**io"},
    {THEMIS_NO_ENTRY, MPI_ERR_NO_SUCH_FILE, "**filenoexist"},
    {THEMIS_EXISTS, MPI_ERR_FILE_EXISTS, "**fileexist"},
    {THEMIS_NOT_DIRECTORY, MPI_ERR_BAD_FILE, "**filenamedir"},
    {THEMIS_IS_DIRECTORY, MPI_ERR_BAD_FILE, "**filename"},
    {THEMIS_NAME_TOO_LONG, MPI_ERR_BAD_FILE, "**filenamelong"},
    {THEMIS_BAD_NAME, MPI_ERR_BAD_FILE, "**filename"},
    {THEMIS_ACCESS, MPI_ERR_ACCESS, "**fileaccess"},
    {THEMIS_EXPIRED, MPI_ERR_ACCESS, "**fileaccess"},
    {THEMIS_LOOP, MPI_ERR_BAD_FILE, "**filename"},
    {THEMIS_READ_ONLY, MPI_ERR_READ_ONLY, "**ioneedwr"},
    {THEMIS_BUSY, MPI_ERR_FILE_IN_USE, "**fileinuse"},
    {THEMIS_LOCKED, MPI_ERR_FILE_IN_USE, "**fileinuse"},
    {THEMIS_NO_SPACE, MPI_ERR_NO_SPACE, "**filenospace"},
    {THEMIS_QUOTA, MPI_ERR_QUOTA, "**filequota"},
};

static const error_class_t *class_of(themis_status_t status)
{
    static const error_class_t other = {THEMIS_IO, MPI_ERR_IO, "**io"};

    for (size_t i = 0; i < sizeof classes / sizeof *classes; i++)
        if (classes[i].status == status)
            return &classes[i];
    return &other;
}

/* A text that is too long, since it has a long path, is cut to what is said of the server. */
static const char *cause_of(themis_status_t status, const char *text)
{
    const char *part = text, *next;

    if (!text || !*text)
        return themis_status_string(status);
    if (strlen(text) < LONGEST_CAUSE)
        return text;
    while ((next = strstr(part + 1, ": server ")))
        part = next;
    return part != text && strlen(part + 2) < LONGEST_CAUSE ? part + 2 : themis_status_string(status);
}

int ADIOI_THEMIS_Error(const char *function, int line, themis_status_t status, const char *name, const char *text)
{
    const error_class_t *class;
    const char *cause;
    size_t length;
    char whole[AD_THEMIS_TEXT];

    if (status == THEMIS_OK)
        return MPI_SUCCESS;
    class = class_of(status);
    cause = cause_of(status, text);
    length = strlen(name);
    if (length <= LONGEST_NAME)
        snprintf(whole, sizeof whole, "themis:%s: %s", name, cause);
    else
        snprintf(whole, sizeof whole, "themis:%.*s...%s: %s", LONGEST_NAME / 2, name, name + length - LONGEST_NAME / 2,
                 cause);
    /* "%s" is not in MPICH's table of messages, so it is used as the message itself. */
    return MPIO_Err_create_code(MPI_SUCCESS, MPIR_ERR_RECOVERABLE, function, line, class->class, class->generic, "%s",
                                whole);
}

int ADIOI_THEMIS_Error_broadcast(ADIO_File fd, int root, const char *function, themis_status_t status)
{
    struct {
        int status;
        char text[AD_THEMIS_TEXT];
    } outcome = {.status = status};

    if (status != THEMIS_OK)
        snprintf(outcome.text, sizeof outcome.text, "%s", cause_of(status, themis_last_error()));
    MPI_Bcast(&outcome, sizeof outcome, MPI_BYTE, root, fd->comm);
    return ADIOI_THEMIS_Error(function, __LINE__, outcome.status, fd->filename, outcome.text);
}

int ADIOI_THEMIS_Error_agree(ADIO_File fd, const char *function, themis_status_t status)
{
    struct {
        int status, rank;
    } mine = {.status = status}, worst;
    char text[AD_THEMIS_TEXT], host[MPI_MAX_PROCESSOR_NAME] = "";
    int length;

    MPI_Comm_rank(fd->comm, &mine.rank);
    MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MINLOC, fd->comm);
    if (worst.status == THEMIS_OK)
        return MPI_SUCCESS;
    if (mine.rank == worst.rank) {
        MPI_Get_processor_name(host, &length);
        snprintf(text, sizeof text, "rank %d on %.*s: %s", mine.rank, (int)strcspn(host, "."), host,
                 cause_of(status, themis_last_error()));
    }
    MPI_Bcast(text, sizeof text, MPI_CHAR, worst.rank, fd->comm);
    return ADIOI_THEMIS_Error(function, __LINE__, worst.status, fd->filename, text);
}
