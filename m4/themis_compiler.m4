# SPDX-License-Identifier: BSD-3-Clause
# THEMIS_COMPILER_FLAGS: C11, hidden symbols, warnings (errors with --enable-werror).
AC_DEFUN([THEMIS_COMPILER_FLAGS], [
  AC_ARG_ENABLE([werror], [AS_HELP_STRING([--enable-werror], [treat compiler warnings as errors])],
    [], [enable_werror=no])
  THEMIS_CFLAGS="-std=gnu11 -fvisibility=hidden -Wall -Wextra -Wshadow -Wstrict-prototypes -Wmissing-prototypes"
  THEMIS_CFLAGS="$THEMIS_CFLAGS -Wpointer-arith -Wwrite-strings -Wvla -Wno-unused-parameter -Wno-missing-field-initializers"
  AS_IF([test "x$enable_werror" = xyes], [THEMIS_CFLAGS="$THEMIS_CFLAGS -Werror"])
  AC_SUBST([THEMIS_CFLAGS])
])

# THEMIS_SANITIZERS: --enable-asan (address and undefined behaviour) and --enable-tsan (threads).
AC_DEFUN([THEMIS_SANITIZERS], [
  AC_ARG_ENABLE([asan], [AS_HELP_STRING([--enable-asan], [build with address and undefined-behaviour sanitizers])],
    [], [enable_asan=no])
  AC_ARG_ENABLE([tsan], [AS_HELP_STRING([--enable-tsan], [build with the thread sanitizer])], [], [enable_tsan=no])
  SANITIZER_CFLAGS=
  AS_IF([test "x$enable_asan" = xyes],
    [SANITIZER_CFLAGS="-fsanitize=address,undefined -fno-sanitize-recover=undefined -fno-omit-frame-pointer"])
  AS_IF([test "x$enable_tsan" = xyes], [SANITIZER_CFLAGS="-fsanitize=thread -fno-omit-frame-pointer"])
  AC_SUBST([SANITIZER_CFLAGS])
  AM_CONDITIONAL([SANITIZED], [test -n "$SANITIZER_CFLAGS"])
])
