/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * Internal functions of MPICH that ROMIO needs and an installed MPICH does not export, over its public interface under
 * the same names. ROMIO includes this file in place of MPICH's own.
 */
#pragma once
#include <stdarg.h>
#include <mpi.h>

/* Called once, when ROMIO starts in this process (its first MPI_File_open or MPI_File_delete). */
int MPIR_Ext_init(void);

/* --- errors (glue/error.c) --- */

/*
 * A code with MPICH's error stack: class, message, and the earlier error (`lastcode`). `specific_msg` NULL or a text of
 * MPICH's message table with the arguments for its %s and %d. `fatal` has no effect: the file's handler decides.
 */
int MPIR_Err_create_code_valist(int lastcode, int fatal, const char function[], int line, int error_class,
                                const char generic_msg[], const char specific_msg[], va_list arguments);
/* 0: no code made here is fatal by itself. */
int MPIR_Err_is_fatal(int code);
typedef int (*MPIR_Err_get_class_string_func_t)(int error, char *text, int length);
void MPIR_Err_get_string(int code, char *text, int length, MPIR_Err_get_class_string_func_t unused);
/* Prints the message and ends the job with MPI_Abort. */
int MPIR_Abort(MPI_Comm comm, int code, int exit_code, const char *message);
int MPIR_Ext_assert_fail(const char *condition, const char *file, int line);
#define MPIR_Ext_assert(condition)                                                                                     \
    do {                                                                                                               \
        if (!(condition))                                                                                              \
            MPIR_Ext_assert_fail(#condition, __FILE__, __LINE__);                                                      \
    } while (0)

/* kind 1: MPI_ERRORS_RETURN; 2: call *function with file and code, which does what the file's handler says, be it
 * MPI_ERRORS_ARE_FATAL or a function in C, C++ or Fortran. */
void MPIR_Get_file_error_routine(MPI_Errhandler handler, void (**function)(MPI_File *, int *, ...), int *kind);
int MPIR_File_call_cxx_errhandler(MPI_File *file, int *code, void (*function)(MPI_File *, int *, ...));

/* --- threads (glue/lock.c) --- */

/* One lock for all of ROMIO's state, taken by every MPI_File_* call where MPI_THREAD_MULTIPLE was granted. It is
 * released while the call blocks, in MPI or at a server, so calls on several files proceed concurrently. */
void MPIR_Ext_cs_enter(void);
void MPIR_Ext_cs_exit(void);
void MPIR_Ext_cs_yield(void);

/* --- types and nodes (glue/datatype.c) --- */

/* MPI_SUCCESS, or a code of class MPI_ERR_TYPE. */
int MPIR_Ext_datatype_iscommitted(MPI_Datatype datatype);
/* 1 if the bytes of one element are one block without gaps, in order, and elements follow one another without gaps. */
void MPIR_Datatype_iscontig(MPI_Datatype datatype, int *flag);
/* Refused with MPI_ERR_UNSUPPORTED_OPERATION: only ROMIO's part of MPI_Comm_split_type asks for it, and that is not
 * served by this library. */
int MPIR_Get_node_id(MPI_Comm comm, int rank, int *id);
