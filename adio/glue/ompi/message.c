/* SPDX-License-Identifier: BSD-3-Clause */
#include "adio/glue/ompi/message.h"
#include <stdio.h>
#include <string.h>

typedef struct message {
    const char *name, *text;
} message_t;

static const message_t messages[] = {
    {"arg", "an argument is invalid"},
    {"buffer", "the buffer is invalid"},
    {"bufnull", "the buffer is a null pointer"},
    {"commnotintra", "the communicator is not an intracommunicator"},
    {"commnull", "the communicator is null"},
    {"dtypecommit", "the datatype is not committed"},
    {"dtypenull", "the datatype is null"},
    {"fileaccess", "the access is not permitted"},
    {"fileamodediff", "the access mode is not the same on all ranks"},
    {"fileamodeone", "exactly one of MPI_MODE_RDONLY, MPI_MODE_WRONLY and MPI_MODE_RDWR is needed"},
    {"fileamoderead", "MPI_MODE_CREATE and MPI_MODE_EXCL exclude MPI_MODE_RDONLY"},
    {"fileamodeseq", "MPI_MODE_SEQUENTIAL excludes MPI_MODE_RDWR"},
    {"fileexist", "the file exists"},
    {"fileinuse", "the file is in use"},
    {"filename", "the name of the file is invalid"},
    {"filenamedir", "a part of the path is not a directory"},
    {"filenamelong", "the name of the file is too long"},
    {"filenoexist", "the file does not exist"},
    {"filenospace", "no space is left"},
    {"fileopunsupported", "the file does not support the call"},
    {"filequota", "the quota is exceeded"},
    {"flag", "the flag is not the same on all ranks"},
    {"info", "the info object is invalid"},
    {"initialized", "MPI is not initialized"},
    {"io", "input or output failed"},
    {"ioamodeseq", "the call is not allowed in a file with MPI_MODE_SEQUENTIAL"},
    {"iobadcount", "the count is negative or too large"},
    {"iobaddisp", "the displacement is negative"},
    {"iobadfh", "the file handle is invalid"},
    {"iobadoffset", "the offset is negative"},
    {"iobadoverlap", "the type has overlapping or descending parts"},
    {"iobadsize", "the size is negative"},
    {"iobadwhence", "`whence` is none of MPI_SEEK_SET, MPI_SEEK_CUR and MPI_SEEK_END"},
    {"iodispifseq", "MPI_DISPLACEMENT_CURRENT belongs to files with MPI_MODE_SEQUENTIAL, and only to those"},
    {"ioetype", "the access is not a multiple of the etype"},
    {"iofiletype", "the file type is not made from the etype"},
    {"ioneedrd", "the file is not open for reading"},
    {"ioneedwr", "the file is not open for writing"},
    {"ionegoffset", "the offset is before the beginning of the file"},
    {"iordonly", "the file is open for reading only"},
    {"iosequnsupported", "MPI_MODE_SEQUENTIAL is not supported"},
    {"iosharedfailed", "the shared file pointer could not be accessed"},
    {"iosplitcoll", "a split collective call is under way"},
    {"iosplitcollnone", "no split collective call is under way"},
    {"iowronly", "the file is open for writing only"},
    {"nomem", "memory is exhausted"},
    {"nomem2", "memory is exhausted"},
    {"notsame", "the arguments are not the same on all ranks"},
    {"other", "another error"},
    {"unsupporteddatarep", "the data representation is not supported"},
};

/* Of a name without "**". One that is not in the table tells more than nothing. */
static const char *message_text(const char *name)
{
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (strcmp(messages[i].name, name) == 0)
            return messages[i].text;
    return name;
}

/* The format of the arguments: `specific` has the message's name in front, or is the format itself. NULL: none. */
static const char *details_format(const char *specific)
{
    const char *conversion = specific ? strchr(specific, '%') : NULL;

    if (!conversion || strncmp(specific, "**", 2) != 0)
        return conversion ? specific : NULL;
    return conversion;
}

__attribute__((format(printf, 3, 0))) static void append(char *text, size_t size, const char *format, va_list arguments)
{
    size_t length = strlen(text);

    vsnprintf(text + length, size - length, format, arguments);
}

void themis_glue_message_format(const char *function, const char *generic, const char *specific, va_list arguments,
                                char *text, size_t size)
{
    const char *name = generic && strncmp(generic, "**", 2) == 0 ? generic + 2 : "other";
    const char *format = details_format(specific);

    snprintf(text, size, "%s: %s%s", function, message_text(name), format ? ": " : "");
    if (format)
        append(text, size, format, arguments);
}
