# SPDX-License-Identifier: BSD-3-Clause
# THEMIS_ROMIO: where ROMIO's source is. --with-romio-source=DIR names the source tree of the installed MPICH (or of its
# ROMIO alone); without it, adio/romio/fetch takes the distribution's source package when the library is built.
AC_DEFUN([THEMIS_ROMIO], [
  AC_ARG_WITH([romio-source],
    [AS_HELP_STRING([--with-romio-source=DIR], [source tree of the installed MPICH, or of its ROMIO; default: the
      distribution's source package, fetched at the first build into romio-src])],
    [], [with_romio_source=no])
  ROMIO_SOURCE=
  AS_CASE([$with_romio_source],
    [no|yes], [],
    [AS_IF([test -f "$with_romio_source/adio/include/adio.h"],
        [ROMIO_SOURCE=`cd "$with_romio_source" && pwd`],
      [test -f "$with_romio_source/src/mpi/romio/adio/include/adio.h"],
        [ROMIO_SOURCE=`cd "$with_romio_source/src/mpi/romio" && pwd`],
        [AC_MSG_ERROR([$with_romio_source holds neither MPICH's source nor ROMIO's: adio/include/adio.h is not there])])])
  AC_PATH_PROG([PERL], [perl], [no])
  AS_IF([test "x$PERL" = xno], [AC_MSG_ERROR([perl was not found; ROMIO's configure needs it. On Debian install the package perl-base.])])
  AC_SUBST([ROMIO_SOURCE])
])
