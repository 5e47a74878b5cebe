#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# themis check finds what is wrong with names and objects, mends it, and leaves alone what is right.
# timeout: 400
. "$(dirname "$0")/lib/testlib.sh"

cuts=$THEMIS_BUILD/test/client/cuts

# kinds [OPTION...]: what is found, as "KIND PATH" lines in order.
kinds() {
    themis check --json "$@" >"$T/json"
    # which one of two names stays depends on when their servers were started
    jq -r '.findings[] | "\(.kind) \(.path) \(.mended)"' "$T/json" | sort -u | sed 's/^doubled .one /doubled /; s/^doubled .two /doubled /'
}

same() {
    printf '%s\n' "$1" >"$T/want"
    printf '%s\n' "$2" | diff "$T/want" -
}

fails() { ! "$@"; }

for count in 1 3; do
    for store in posix arena; do
        rm -rf "$T"/srv?
        for index in 0 1 2; do mkdir -p "$T/srv$index/objects"; done
        # both paths are in the directory of each server
        start_servers $count store=$store state=names directory=objects size=256m
        check "$store, $count servers: nothing is wrong where nothing is" limit 20 themis check
        if [ "$count" = 1 ]; then
            limit 30 "$cuts" orphan
            sleep 4 # until the change of its name is complete
            check "$store: what a server without names has made is left" fails limit 30 themis check --repair --age 0
            check "$store: it is removed by force" limit 30 themis check --repair --force --age 0
            check "$store: it is gone" limit 20 themis check --age 0
        fi
        limit 20 themis cp "$THEMIS_SRC/README.md" themis:/readme
        check "$store, $count servers: nor with a file" limit 20 themis check --age 0
        limit 30 "$cuts" break
        sleep 13 # what servers mend themselves, and until an entry is one without a name
        found=$(kinds --age 0)
        check "$store, $count servers: all that is wrong is found" same 'doubled false
entry /no%20name false
orphan  false
unlisted /unlisted false' "$found"
        check "$store, $count servers: objects without a name count when they are old" same 'doubled false
entry /no%20name false
unlisted /unlisted false' "$(kinds)"
        check "$store, $count servers: it fails" fails limit 20 themis check
        check "$store, $count servers: it is mended" limit 30 themis check --repair --force --age 0
        sleep 13
        check "$store, $count servers: nothing is left" limit 20 themis check --age 0
        check "$store, $count servers: nor gone" same '/readme
/two or one
/unlisted
/whole' "$(themis find themis:/ -type f | sed 's/^themis://; s/^.one$/\/two or one/; s/^.two$/\/two or one/' | sort)"
        check "$store, $count servers: the bytes are there" limit 20 sh -c '{ themis cat themis:/two || themis cat themis:/one; } | grep -q AAAA'
        stop_servers
    done
done
finish
