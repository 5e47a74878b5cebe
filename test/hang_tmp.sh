. "$(dirname "$0")/lib/testlib.sh"
program=$THEMIS_BUILD/test/adio/finalize; gcc -O2 -fPIC -shared -o "$T/yield_shim.so" "$THEMIS_SRC/test/lib/yield_shim.c" -ldl; EXTRA_PRELOAD=$T/yield_shim.so
start_servers 1
pid=$(echo $testlib_servers)
end=$(($(date +%s)+${1:-900})); n=0 worst=0
for l in 1 2; do
 (while [ $(date +%s) -lt $end ] && [ ! -e $T/stop ]; do
  limit 40 ranks 2 "$program" never themis:/never$l >/dev/null 2>&1
  limit 40 ranks 1 "$program" opened themis:/a$l themis:/b$l themis:/c$l >/dev/null 2>&1
 done) &
done
while [ $(date +%s) -lt $end ]; do
  b=$(date +%s%3N)
  THEMIS_TIMEOUT=5s timeout 30 themis mkdir themis:/d 2>$T/err; rc=$?
  t=$(($(date +%s%3N)-b)); [ $t -gt $worst ] && worst=$t && echo "$(date +%T) worst $worst n=$n"
  if [ $t -gt 4000 ]; then
    cat $T/err
    gdb -p $pid -batch -ex 'thread apply all bt 14' > /tmp/hang/server.bt 2>&1
    cat /proc/$pid/task/*/stat | awk '{print $2,$3,$14,$15}'; ss -tanp | grep "pid=$pid,"; ss -xanp | grep "pid=$pid,"
    cat $T/srv0/log
    sleep 2; gdb -p $pid -batch -ex 'thread apply all bt 14' > /tmp/hang/server.bt2 2>&1
    touch $T/stop; break
  fi
  timeout 20 themis rmdir themis:/d; n=$((n+1))
done
echo n=$n worst=$worst
