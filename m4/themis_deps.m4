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

# THEMIS_ARCHIVE(NAME, LIBRARY, FUNCTION): the archive of a library, where there is one that shared libraries can hold,
# as NAME_ARCHIVE beside NAME_LIBS, and NAME_LDFLAGS for what is linked with it. For inih: UCX has one of its own in libucs
# and exports it. The archive is to stand before libucs; the flags take FUNCTION from it at once, and hide its symbols.
AC_DEFUN([THEMIS_ARCHIVE], [
  AC_MSG_CHECKING([for an archive of $2])
  themis_saved_LIBS=$LIBS themis_saved_CFLAGS=$CFLAGS themis_saved_LDFLAGS=$LDFLAGS
  LIBS="-l:lib$2.a" CFLAGS="$CFLAGS -fPIC" LDFLAGS="$LDFLAGS -shared"
  AC_LINK_IFELSE([AC_LANG_SOURCE([[int $3(void); int themis_probe(void); int themis_probe(void) { return $3(); }]])],
    [$1_ARCHIVE="-l:lib$2.a" $1_LDFLAGS="-Wl,-u,$3 -Wl,--exclude-libs,lib$2.a"
     AC_MSG_RESULT([yes])],
    [AC_MSG_RESULT([no])])
  LIBS=$themis_saved_LIBS CFLAGS=$themis_saved_CFLAGS LDFLAGS=$themis_saved_LDFLAGS
  AC_SUBST([$1_ARCHIVE])
  AC_SUBST([$1_LDFLAGS])
])

# THEMIS_HEADER(NAME, HEADER, DEBIAN-PACKAGE): a dependency that is a header alone.
AC_DEFUN([THEMIS_HEADER], [
  AC_CHECK_HEADER([$2], [],
    [AC_MSG_ERROR([the header $2 was not found. On Debian install the package $3.])])
])
