cd /tmp/h-mount/test; . ./lib/testlib.sh
start_servers 2
mkdir -p $T/m
themis mount --log $T/mount.log $T/m; echo "mount: $?"
grep themis /proc/mounts
ls -la $T/m; echo hello > $T/m/a; cat $T/m/a; mkdir $T/m/d; cp /bin/ls $T/m/d/ls; cmp /bin/ls $T/m/d/ls && echo same; $T/m/d/ls -la $T/m
stat $T/m/a; df $T/m; mv $T/m/d $T/m/e; ls -R $T/m
for i in 1 2 3 4; do (for j in $(seq 100); do echo "line $i $j xxxxxxxxxxxxxxxxxxxxxxxxx" >> $T/m/log; done) & done; wait %1 %2 %3 %4; sort -u $T/m/log | wc -l; wc $T/m/log
ln -s a $T/m/link; ln $T/m/a $T/m/hard
exec 5<$T/m/a; rm $T/m/a; ls -la $T/m; cat <&5; themis ls themis:/; exec 5<&-; sleep 0.2; themis ls themis:/
touch -d 2001-01-01 $T/m/log; stat -c %y $T/m/log
time (dd if=/dev/zero of=$T/m/big bs=1M count=200 conv=fsync 2>&1; dd if=$T/m/big of=/dev/null bs=1M 2>&1)
time (for i in $(seq 300); do : >$T/m/f$i; done)
time rm -rf $T/m/f*
themis umount $T/m; echo "umount $?"; sleep 0.5; cat $T/mount.log; ps ax | grep 'themis moun[t]'
finish
