# SPDX-License-Identifier: BSD-3-Clause
# THEMIS_PKG(NAME, MODULES, DEBIAN-PACKAGE): a dependency that pkg-config knows.
AC_DEFUN([THEMIS_PKG], [
  PKG_CHECK_MODULES([$1], [$2], [],
    [AC_MSG_ERROR([$2 was not found. On Debian install the package $3.])])
])

# THEMIS_LIB(NAME, HEADER, LIBRARY, FUNCTION, DEBIAN-PACKAGE, [OTHER-LIBS]): a dependency without a pkg-config file.
AC_DEFUN([THEMIS_LIB], [
  AC_CHECK_HEADER([$2], [],
    [AC_MSG_ERROR([the header $2 was not found. On Debian install the package $5.])])
  themis_saved_LIBS=$LIBS
  AC_CHECK_LIB([$3], [$4], [$1_LIBS="-l$3 $6"],
    [AC_MSG_ERROR([the library $3 was not found. On Debian install the package $5.])], [$6])
  LIBS=$themis_saved_LIBS
  AC_SUBST([$1_LIBS])
])

# THEMIS_HEADER(NAME, HEADER, DEBIAN-PACKAGE): a dependency that is a header alone.
AC_DEFUN([THEMIS_HEADER], [
  AC_CHECK_HEADER([$2], [],
    [AC_MSG_ERROR([the header $2 was not found. On Debian install the package $3.])])
])
