#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# The command `themis periodic`: plans of application files, and what it says of wrong ones.
# timeout: 120
. "$(dirname "$0")/lib/testlib.sh"
. "$THEMIS_SRC/test/lib/answers.sh"

cat >"$T/good.ini" <<'END'
[platform]
nodes = 640
bandwidth = 3GB
node_bandwidth = 0.01GB

[application turbulence]
compute = 76.8s
volume = 235.8GB
nodes = 64
number = 8

[application astro]
compute = 4h
volume = 423.4GB
nodes = 128
confidence = 0.9
END

run() { timeout -k 5 60 themis periodic plan "$@"; }

# wrong WORDS EDIT: the file changed by sed is refused with these words.
wrong() {
    sed "$2" "$T/good.ini" >"$T/bad.ini"
    refuses 2 "$1" run "$T/bad.ini"
}

check "a plan" shows "PerSched .* period" run "$T/good.ini"
check "its bounds" shows "bound: nobody waits  *0\\.3[0-9]* " run "$T/good.ini"
check "options after the file" shows "online: min-dilation" run "$T/good.ini" --simulate --kprime 2
check "all applications and instances as JSON" json \
    '(.applications | length) == 9 and all(.applications[].instances[]; .compute_end_s > .compute_begin_s and (.io | length) > 0)' run --json "$T/good.ini"
check "what is moved is what was asked for, and a tenth more in doubt" json \
    'all(.applications[]; (if .application == "astro" then 1.1 else 1 end * .volume_bytes) as $v |
     all(.instances[]; ([.io[] | (.end_s - .begin_s) * .bytes_per_s] | add) / $v | . > 0.999999 and . < 1.000001))' run --json "$T/good.ini"
check "an improved plan dominates" json \
    '.schedules | (.[1].efficiency >= .[0].efficiency) and (.[1].dilation <= .[0].dilation)' run --json --improve --kprime 1.5 "$T/good.ini"
check "a platform on the command line" json '.platform.nodes == 1000' run --json --platform 1000,6GB,20MB "$T/good.ini"
check "a picture" shows "" run "$T/good.ini" --plot "$T/plan.svg"
check "it is SVG with all applications" sh -c '[ "$(grep -c "turbulence [1-8]<" "$1")" = 8 ] && tail -n 1 "$1" | grep -q "^</svg>"' sh "$T/plan.svg"

sed 's/application turbulence/application a<b> \& 123456789012äö/' "$T/good.ini" >"$T/odd.ini"
check "a picture of a name with signs of XML" shows "" run "$T/odd.ini" --plot "$T/odd.svg"
check "has them escaped, and twenty characters" grep -q '>a&lt;b&gt; &amp; 123456789012ä [1-8]<' "$T/odd.svg"
check "a name that is not UTF-8" wrong "bad.ini:7: " "$(printf 's/application turb/application t\\xffrb/')"
check "is refused as such" grep -q "name is not UTF-8" "$T/err"

check "a negative volume" wrong "bad.ini:8: .*volume = -3GB" 's/volume = 235.*/volume = -3GB/'
check "an unknown key" wrong "bad.ini:8: .*volum = .*number and confidence" 's/volume = 235/volum = 235/'
check "an unknown section" wrong "bad.ini:7: .*sections are" 's/application turb/app turb/'
check "more nodes than the platform" wrong "bad.ini:13: .*840 nodes are needed.*640" 's/nodes = 128/nodes = 328/'
check "a missing key" wrong "bad.ini:7: \\[application turbulence\\] has no volume" '/volume = 235/d'
check "no platform" wrong "\\[platform\\] has no bandwidth" '/bandwidth = 3GB/d'
check "a confidence above 1" wrong "confidence = 1.9" 's/confidence = 0/confidence = 1/'
check "a line that is no entry" wrong "bad.ini:5: expected" 's/^$/nonsense/'
: >"$T/empty.ini"
check "an empty file" refuses 2 "empty.ini:1: no \\[application NAME\\]" run "$T/empty.ini"
check "no file" refuses 2 "no-such.ini: No such file" run "$T/no-such.ini"
check "a wrong platform" refuses 2 "node_bandwidth of" run --platform 640,3GB "$T/good.ini"
check "a wrong factor" refuses 2 "from 1 to 1000" run --kprime 0 "$T/good.ini"
check "a picture of another kind" refuses 2 "must end in .svg" run --plot a.png "$T/good.ini"
check "no plan" refuses 2 "usage" run --no-such "$T/good.ini"
finish
