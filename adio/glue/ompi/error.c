/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Error codes are codes that are added to Open MPI, with a text of this library's. MPI has no way to remove one, so
 * each class has a limited number, used again in turn: a code's text is right until so many other errors of its class
 * follow.
 */
#define _GNU_SOURCE
#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include "adio.h"
#include "adio_extern.h"
#include "adio/glue/abi.h"
#include "adio/glue/ompi/handle.h"
#include "adio/glue/ompi/message.h"
#include "mpir_ext.h"
#include "util/log.h"

enum { CODES = 64 };

typedef struct error_class {
    int count, next;
    int code[CODES];
    char text[CODES][MPI_MAX_ERROR_STRING];
} error_class_t;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static error_class_t *classes[MPI_ERR_LASTCODE];

static int code_find(const error_class_t *class, const char *text, int *code)
{
    for (int i = 0; i < class->count; i++)
        if (strcmp(class->text[i], text) == 0) {
            *code = class->code[i];
            return 1;
        }
    return 0;
}

/* With the lock. A code of the class, or the class itself, which is a code too. */
static int code_get(int number, const char *text)
{
    error_class_t *class = classes[number];
    int code;

    if (!class)
        class = classes[number] = calloc(1, sizeof *class);
    if (!class)
        return number;
    if (code_find(class, text, &code))
        return code;
    int at = class->next;
    if (at == class->count) {
        if (PMPI_Add_error_code(number, &class->code[at]) != MPI_SUCCESS)
            return number;
        class->count++;
    }
    class->next = (at + 1) % CODES;
    snprintf(class->text[at], sizeof class->text[at], "%s", text);
    PMPI_Add_error_string(class->code[at], class->text[at]);
    return class->code[at];
}

int MPIR_Err_create_code_valist(int lastcode, int fatal, const char function[], int line, int error_class,
                                const char generic_msg[], const char specific_msg[], va_list arguments)
{
    char text[MPI_MAX_ERROR_STRING];
    int code;

    if (error_class <= MPI_SUCCESS || error_class >= MPI_ERR_LASTCODE)
        return error_class == MPI_SUCCESS ? MPI_SUCCESS : MPI_ERR_OTHER;
    themis_glue_message_format(function, generic_msg, specific_msg, arguments, text, sizeof text);
    pthread_mutex_lock(&lock);
    code = code_get(error_class, text);
    pthread_mutex_unlock(&lock);
    return code;
}

/* Not MPI_ERRORS_RETURN, for which ROMIO would not ask what the handler is. */
void themis_glue_abi_init(void)
{
    ADIOI_DFLT_ERR_HANDLER = MPI_ERRORS_ARE_FATAL;
}

/* The first call may fail before ROMIO starts. */
__attribute__((constructor)) static void handlers_ask(void)
{
    themis_glue_abi_init();
}

void themis_glue_abi_errhandler_call(MPI_File file, int code)
{
    int (*call)(MPI_File, int) = NULL;
    MPI_File borrowed, handle = themis_glue_handle_borrow(file, &borrowed);

    *(void **)&call = dlsym(RTLD_NEXT, "PMPI_File_call_errhandler");
    if (call && handle)
        call(handle, code);
    themis_glue_handle_return(borrowed);
}
