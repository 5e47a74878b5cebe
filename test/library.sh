#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# libthemis and libthemis-plan as installed: what they export, and programs that are built with pkg-config.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

library=$THEMIS_PREFIX/lib/libthemis.so
PKG_CONFIG_PATH=$THEMIS_PREFIX/lib/pkgconfig
export PKG_CONFIG_PATH

if [ -n "${THEMIS_VARIANT-}" ]; then
    skip "libthemis" "a plain program cannot link a sanitized library"
    finish
fi

# exported: names that the library exports.
exported() { nm -D --defined-only "$library" | awk '$2 ~ /[TDBRVW]/ { print $3 }' | sed 's/@.*//' | sort; }
# declared: the functions of the installed headers.
declared() {
    cat "$THEMIS_PREFIX/include/themis/themis.h" "$THEMIS_PREFIX/include/themis/cache.h" "$THEMIS_PREFIX/include/themis/status.h" | tr '\n' ' ' |
        grep -oE '(THEMIS_API|visibility\("default"\)\)\))[^;]*;' | grep -oE 'themis_[a-z_]+\(' | tr -d '(' | sort -u
}

exported >"$T/exported"
declared >"$T/declared"
check "libthemis exports what its headers declare, and nothing else" diff "$T/declared" "$T/exported"

# versioned LIBRARY: its name has a version, and each of its symbols.
versioned() {
    readelf -d "$THEMIS_PREFIX/lib/$1.so" | grep -q "SONAME.*\[$1.so.0\]" &&
        [ -z "$(nm -D --defined-only "$THEMIS_PREFIX/lib/$1.so" | awk '$2 ~ /[TDBRVW]/ && $3 !~ /@@THEMIS_0$/')" ]
}
check "libthemis and its symbols have versions" versioned libthemis
check "so have libthemis-plan and its" versioned libthemis-plan

for part in lib/libthemis.so lib/libthemis-mpiio.so lib/libthemis-mpiio-mpich.so sbin/themisd bin/themis; do
    check "$part reads configuration with inih, not with what UCX exports under the same names" \
        sh -c "! nm -D '$THEMIS_PREFIX/$part' | grep ' ini_'"
done

# functions LIBRARY: what it exports.
functions() { nm -D --defined-only "$THEMIS_PREFIX/lib/$1.so" | awk '{ print $3 }' | sort; }
functions libthemis-mpiio >"$T/served"
functions libthemis-mpiio-mpich >"$T/core"
check "libthemis-mpiio stands in front of all that its core serves, and of nothing else" diff "$T/served" "$T/core"
# Of Open MPI's core: what there is for error handlers is Open MPI's own.
if [ -e "$THEMIS_PREFIX/lib/libthemis-mpiio-ompi.so" ]; then
    functions libthemis-mpiio-ompi | grep -v '^themis_glue_handle_' >"$T/core"
    check "so in front of the core for Open MPI" sh -c "grep -v '^MPI_File_set_errhandler$' '$T/served' | diff - '$T/core'"
else
    skip "the core for Open MPI" "Themis was built without Open MPI"
fi
check "libthemis-mpiio needs the C library alone" sh -c \
    "! readelf -d '$THEMIS_PREFIX/lib/libthemis-mpiio.so' | grep NEEDED | grep -vE '\[(lib(c|dl|pthread)\.so|ld-linux)'"

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
check "a program builds with pkg-config and libthemis" gcc -std=c11 -Wall -Werror -o "$T/program" "$T/program.c" $(pkg-config --cflags --libs themis)
check "the header is C++ as well" sh -c "echo '#include <themis/themis.h>' | g++ -Wall -Werror -x c++ -fsyntax-only $(pkg-config --cflags themis) -"

# libthemis-plan, likewise.
plan_declared() {
    cat "$THEMIS_PREFIX/include/themis/lap.h" "$THEMIS_PREFIX/include/themis/aggregation.h" \
        "$THEMIS_PREFIX/include/themis/topology.h" "$THEMIS_PREFIX/include/themis/status.h" | tr '\n' ' ' |
        grep -oE '(THEMIS_[A-Z]*_?(API|EXPORT)|visibility\("default"\)\)\))[^;]*;' |
        grep -oE 'themis_[a-z0-9_]+\(' | tr -d '(' | sort -u
}
plan_exported() {
    nm -D --defined-only "$THEMIS_PREFIX/lib/libthemis-plan.so" | awk '$2 == "T" { print $3 }' | sed 's/@.*//' | sort -u
}
plan_declared >"$T/declared"
plan_exported >"$T/exported"
check "libthemis-plan exports what its headers declare, and nothing else" diff "$T/declared" "$T/exported"
cat >"$T/planner.c" <<'END'
#include <stdio.h>
#include <themis/aggregation.h>
#include <themis/lap.h>
#include <themis/topology.h>

/* Two nodes, each with the bytes of the other's domain: the plan exchanges the aggregators, and nothing moves. */
int main(void)
{
    themis_aggregation_layout_t layout = {1024, 2, 0};
    const themis_aggregation_cell_t cell[] = {{0, 1, 1024}, {1, 0, 1024}};
    const uint32_t node_of_rank[] = {0, 1};
    themis_aggregation_domains_t domains;
    themis_aggregation_matrix_t *matrix;
    themis_aggregation_candidates_t *slots;
    themis_aggregation_plan_t *plan;
    int good;

    if (themis_aggregation_domains_init(THEMIS_AGGREGATION_ALIGNED, &layout, 0, 2047, 2, &domains) != THEMIS_OK ||
        themis_aggregation_matrix_create(2, 2, cell, 2, &matrix) != THEMIS_OK ||
        themis_aggregation_candidates_create(node_of_rank, 2, 2, NULL, NULL, &slots) != THEMIS_OK)
        return 1;
    themis_aggregation_problem_t request = {
        .placement = THEMIS_AGGREGATION_TOPOLOGY, .domains = &domains, .matrix = matrix, .candidates = slots};
    if (themis_aggregation_plan_create(&request, &plan) != THEMIS_OK)
        return 1;
    good = plan->certified && plan->aggregator[0] == 1 && plan->aggregator[1] == 0 && plan->chosen.moved_bytes == 0;
    themis_aggregation_plan_destroy(plan);
    themis_aggregation_candidates_destroy(slots);
    themis_aggregation_matrix_destroy(matrix);
    puts(good ? "planned" : "wrong");
    return !good;
}
END
# shellcheck disable=SC2046 # words of a command
check "a program builds with pkg-config and libthemis-plan" \
    gcc -std=c11 -Wall -Werror -o "$T/planner" "$T/planner.c" $(pkg-config --cflags --libs themis-plan)
check "a planning program runs" sh -c "test \"\$(LD_LIBRARY_PATH=$THEMIS_PREFIX/lib timeout 30 $T/planner)\" = planned"
for header in lap aggregation topology; do
    # shellcheck disable=SC2046
    check "themis/$header.h can be included alone, and is C++ as well" sh -c \
        "echo '#include <themis/$header.h>' | g++ -Wall -Werror -x c++ -fsyntax-only $(pkg-config --cflags themis-plan) -"
done

start_servers 2
check "a program runs, and prints nothing else" sh -c "test \"\$(LD_LIBRARY_PATH=$THEMIS_PREFIX/lib timeout 30 $T/program)\" = written"
finish
