#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The arrows between the layers, read from the includes: a lower layer never includes a higher one, client and server
# never each other. Exported names carry the name of their layer.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"

# may LAYER: the layers whose headers it may include beside its own and util; include/themis is open to all.
may() {
    case $1 in
    util | lap | persched | history | proto | store) ;;
    dfra) echo history ;;
    tools) echo persched dfra history mount ;;
    sched | net) echo proto ;;
    aggregation) echo lap ;;
    collective) echo aggregation ;;
    client) echo proto net ;;
    posix) echo client proto net ;;
    mount) echo posix client proto net ;;
    preload) echo posix client proto net ;;
    server) echo proto net sched store history dfra ;;
    adio) echo client collective aggregation ;;
    esac
}

layers="util lap persched history dfra proto sched store aggregation collective net client posix mount preload server adio tools"

# foreign LAYER: "file: included header" for every include that the layer may not have.
foreign() {
    allowed=$(echo "$1" util "$(may "$1")")
    grep -rHoE '^ *# *include *"[a-z_]+/[^"]*"' --include='*.[ch]' "$THEMIS_SRC/$1" 2>/dev/null |
        awk -v allowed="$allowed" -v layers="$layers" -v src="$THEMIS_SRC/" '
        BEGIN {
            n = split(allowed, a, " "); for (i = 1; i <= n; i++) good[a[i]] = 1
            n = split(layers, l, " "); for (i = 1; i <= n; i++) known[l[i]] = 1
        }
        {
            split($0, part, "\""); split(part[2], dir, "/"); file = $0; sub(/:.*/, "", file); sub(src, "", file)
            if (dir[1] in known && !(dir[1] in good)) print file " includes " part[2]
        }'
}

# strays PATTERN DIRECTORY...: code outside comments that matches.
strays() {
    pattern=$1
    shift
    (cd "$THEMIS_SRC" && for dir in "$@"; do
        [ ! -d "$dir" ] || grep -rnE --include='*.[ch]' "$pattern" "$dir"
    done) | grep -vE '^[^:]*:[0-9]+: *(/\*|\*|//)'
}

# objects LAYER: object files of its sources; those of sources that have gone may be left in a build tree.
objects() {
    find "$THEMIS_BUILD/$1" -name '*.o' 2>/dev/null | while read -r object; do
        directory=$(dirname "${object#"$THEMIS_BUILD/"}" | sed 's|/\.libs$||')
        [ ! -e "$THEMIS_SRC/$directory/$(basename "${object##*_la-}" .o | sed 's/^themisd*-//').c" ] || echo "$object"
    done
}

# unprefixed LAYER: exported names without their layer's prefix that no installed header declares. backtrace_symbols takes
# the place of the C library's.
unprefixed() {
    # shellcheck disable=SC2046 # a list of files
    nm -g --defined-only $(objects "$1") 2>/dev/null | awk 'NF == 3 { print $3 }' | sort -u |
        grep -vE "^themis_$1_|^_|^(main|backtrace_symbols)\$" | grep -vxF -f "$T/public"
}
cat "$THEMIS_SRC"/include/themis/*.h | grep -oE '\bthemis_[a-z0-9_]+' | sort -u >"$T/public"

for layer in $layers; do
    [ ! -d "$THEMIS_SRC/$layer" ] || none "$layer includes only what lies below it" "$(foreign "$layer")"
done
for layer in util lap persched dfra history proto sched store aggregation collective net client posix mount server tools; do
    [ -z "$(objects $layer)" ] || none "what $layer exports begins with themis_${layer}_" "$(unprefixed $layer)"
done
none "only net/ucx knows UCX" "$(strays '# *include *[<"]uc[pst]/' $layers | grep -v '^net/ucx/')"
none "only net/net.c knows both transports" "$(strays '# *include "net/(ucx|local)/' net |
    grep -vE '^net/net\.c|^net/(ucx|local)/[^:]*:[0-9]*: *#include "net/\1')"
none "only adio knows ROMIO" "$(strays '# *include *[<"]adio' $layers | grep -v '^adio/')"
none "the driver includes nothing of the glue, the glue only the hooks of the driver" "$(strays 'include "(adio/glue|glue)/' adio/ad_themis
strays 'include "(adio/ad_themis/)?ad_themis' adio/glue | grep -v 'ad_themis_hooks\.h"')"
none "only util/config reads the environment" "$(strays '[^a-z_]getenv *\(' $layers |
    grep -v '^util/config')"
none "no library ends the process" "$(strays '[^a-z_.>](exit|abort) *\(' $layers |
    grep -v 'main\.c:')"
finish
