# SPDX-License-Identifier: BSD-3-Clause
# THEMIS_OPENMPI: Open MPI, if it is installed (OMPI_MPICC=..., mpicc.openmpi): OMPI_CFLAGS, OMPI_LIBS and the conditional
# OPENMPI. Programs of it keep their own MPI-IO without it.
#
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

AC_DEFUN([THEMIS_OPENMPI], [
  AC_ARG_WITH([openmpi],
    [AS_HELP_STRING([--without-openmpi], [leave out the library for programs of Open MPI])], [], [with_openmpi=check])
  AC_ARG_VAR([OMPI_MPICC], [the C compiler wrapper of Open MPI])
  have_openmpi=no
  AS_IF([test "x$with_openmpi" != xno], [
    AC_PATH_PROGS([OMPI_MPICC], [mpicc.openmpi], [no])
    OMPI_CFLAGS=`"$OMPI_MPICC" --showme:compile 2>/dev/null`
    OMPI_LIBS=`"$OMPI_MPICC" --showme:link 2>/dev/null`
    saved_CPPFLAGS=$CPPFLAGS
    CPPFLAGS="$CPPFLAGS $OMPI_CFLAGS"
    AS_IF([test -n "$OMPI_LIBS"], [AC_PREPROC_IFELSE([AC_LANG_SOURCE([
#include <mpi.h>
#if !defined OMPI_MAJOR_VERSION || OMPI_MAJOR_VERSION < 4
#error not Open MPI 4 or later
#endif
])], [have_openmpi=yes])])
    CPPFLAGS=$saved_CPPFLAGS
    AS_IF([test $have_openmpi = no], [
      AS_IF([test "x$with_openmpi" = xyes],
        [AC_MSG_ERROR([Open MPI 4 or later was not found. On Debian install the package libopenmpi-dev.])])
      AC_MSG_NOTICE([programs of Open MPI are not served: on Debian install the package libopenmpi-dev.])])])
  AC_SUBST([OMPI_CFLAGS])
  AC_SUBST([OMPI_LIBS])
  AM_CONDITIONAL([OPENMPI], [test $have_openmpi = yes])
])
