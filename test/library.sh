#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libthemis as it is installed: what it exports, and a program that finds it with pkg-config.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

library=$THEMIS_PREFIX/lib/libthemis.so
PKG_CONFIG_PATH=$THEMIS_PREFIX/lib/pkgconfig
export PKG_CONFIG_PATH

if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "libthemis" "a plain program cannot link a sanitized library"
    finish
fi

# exported: names that the library defines for others.
exported() { nm -D --defined-only "$library" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | sed 's/@.*//' | sort; }
# declared: the functions of the installed headers.
declared() {
    cat "$THEMIS_PREFIX/include/themis/themis.h" "$THEMIS_PREFIX/include/themis/status.h" | tr '\n' ' ' |
        grep -oE '(THEMIS_API|visibility\("default"\)\)\))[^;]*;' | grep -oE 'themis_[a-z_]+\(' | tr -d '(' | sort -u
}

exported >"$T/exported"
declared >"$T/declared"
check "it exports what the headers declare, and nothing else" diff "$T/declared" "$T/exported"

for part in lib/libthemis.so lib/libthemis-mpiio.so sbin/themisd bin/themis; do
    check "$part reads configuration by inih and not by what UCX exports under the same names" \
        sh -c "! nm -D '$THEMIS_PREFIX/$part' | grep ' ini_'"
done

cat >"$T/program.c" <<'END'
#include <stdio.h>
#include <string.h>
#include <themis/themis.h>

int main(void)
{
    themis_t *session;
    themis_file_t *file;
    char text[16] = "";
    size_t done;

    if (themis_connect(NULL, &session) != THEMIS_OK ||
        themis_open(session, "/f", THEMIS_OPEN_READ | THEMIS_OPEN_WRITE | THEMIS_OPEN_CREATE, 0644, NULL, &file) != THEMIS_OK ||
        themis_write(file, "written", 7, 1 << 20, &done) != THEMIS_OK ||
        themis_read(file, text, sizeof text, 1 << 20, &done) != THEMIS_OK) {
        fprintf(stderr, "%s\n", themis_last_error());
        return 1;
    }
    puts(text);
    themis_close(file);
    themis_disconnect(session);
    return done == 7 && strcmp(text, "written") == 0 ? 0 : 1;
}
END
# shellcheck disable=SC2046 # words of a command
check "a program builds with pkg-config" gcc -std=c11 -Wall -Werror -o "$T/program" "$T/program.c" $(pkg-config --cflags --libs themis)
check "the header is C++ as well" sh -c "echo '#include <themis/themis.h>' | g++ -Wall -Werror -x c++ -fsyntax-only $(pkg-config --cflags themis) -"
start_servers 2
check "it runs, and says nothing else" sh -c "test \"\$(LD_LIBRARY_PATH=$THEMIS_PREFIX/lib timeout 30 $T/program)\" = written"
finish
