# SPDX-License-Identifier: BSD-3-Clause
# THEMIS_MPI: the installed MPICH, found by its compiler wrapper (MPICC=..., mpicc.mpich or mpicc).
AC_DEFUN([THEMIS_MPI], [
  AC_ARG_VAR([MPICC], [the C compiler wrapper of MPICH])
  AC_PATH_PROGS([MPICC], [mpicc.mpich mpicc], [no])
  AS_IF([test "x$MPICC" = xno], [AC_MSG_ERROR([no mpicc was found. On Debian install the packages mpich and libmpich-dev.])])
  MPI_CFLAGS=`"$MPICC" -compile-info 2>/dev/null | tr ' ' '\n' | grep -E '^-[[ID]]' | tr '\n' ' '`
  MPI_LIBS=`"$MPICC" -link-info 2>/dev/null | tr ' ' '\n' | grep -E '^-[[Ll]]' | tr '\n' ' '`
  AS_IF([test -z "$MPI_LIBS"], [AC_MSG_ERROR([$MPICC is not the wrapper of an MPICH. On Debian install libmpich-dev and use mpicc.mpich.])])
  AC_PATH_PROGS([MPIEXEC], [mpirun.mpich mpiexec.mpich mpiexec mpirun], [no])
  AC_SUBST([MPI_CFLAGS])
  AC_SUBST([MPI_LIBS])
])
