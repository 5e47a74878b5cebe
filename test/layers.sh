#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The arrows between the layers, read from the includes: a lower layer never includes a higher one, client and server
# never each other.
# timeout: 60
. "$(dirname "$0")/lib/testlib.sh"

# may LAYER: the layers whose headers it may include beside its own and util; include/themis is open to all.
may() {
    case $1 in
    util | lap | proto | store) ;;
    sched | net) echo proto ;;
    aggregation) echo lap ;;
    collective) echo aggregation ;;
    client) echo proto net ;;
    server) echo proto net sched store ;;
    adio) echo client collective aggregation ;;
    tools) echo client aggregation ;;
    esac
}

layers="util lap proto sched store aggregation collective net client server adio tools"

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

for layer in $layers; do
    [ ! -d "$THEMIS_SRC/$layer" ] || none "$layer includes only what lies below it" "$(foreign "$layer")"
done
none "only net knows UCX" "$(strays '# *include *[<"]uc[pst]/' util lap proto sched store aggregation collective client server adio tools)"
none "only util/config reads the environment" "$(strays '[^a-z_]getenv *\(' $layers |
    grep -v '^util/config')"
none "no library ends the process" "$(strays '[^a-z_.>](exit|abort) *\(' $layers |
    grep -v 'main\.c:')"
finish
