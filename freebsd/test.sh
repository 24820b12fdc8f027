#!/bin/sh
# freebsd/test.sh: on FreeBSD, as root: builds and loads the module, then downloads 50 MB between two
# jails over 50 Mbit/s and 100 ms (dummynet), with CUBIC and with SEARCH, three times each.
#
# The authors have no FreeBSD machine and have not run this script.
set -eu
cd "$(dirname "$0")"
[ "$(uname -s)" = FreeBSD ] || { echo "test.sh: this is not FreeBSD" >&2; exit 2; }
[ "$(id -u)" = 0 ] || { echo "test.sh: run it as root" >&2; exit 2; }

end() {
  jail -r ss_server 2>/dev/null || true
  jail -r ss_client 2>/dev/null || true
  ipfw -q delete 100 101 2>/dev/null || true
  ipfw -q pipe delete 1 2 2>/dev/null || true
  ifconfig epair77a destroy 2>/dev/null || true
  kldunload cc_search 2>/dev/null || true
}
trap end EXIT INT TERM

make
kldload ./cc_search.ko
kldload -n if_epair ipfw dummynet
sysctl net.inet.ip.fw.default_to_accept=1 >/dev/null 2>&1 || true

ifconfig epair77 create
jail -c name=ss_server vnet persist path=/ vnet.interface=epair77a
jail -c name=ss_client vnet persist path=/ vnet.interface=epair77b
jexec ss_server ifconfig epair77a 10.77.0.1/24 up
jexec ss_client ifconfig epair77b 10.77.0.2/24 up

# Each direction waits 50 ms; the server's is the bottleneck, with a buffer of one BDP.
for pipe in "ss_server 50Mbit/s" "ss_client 1Gbit/s"; do
  set -- $pipe
  jexec "$1" ipfw -q pipe 1 config bw "$2" delay 50ms queue 413
  jexec "$1" ipfw -q add 100 pipe 1 ip from any to any out
  jexec "$1" ipfw -q add 65000 allow ip from any to any
done

for algorithm in cubic search; do
  jexec ss_server sysctl net.inet.tcp.cc.algorithm=$algorithm >/dev/null
  for run in 1 2 3; do
    jexec ss_server sh -c 'dd if=/dev/zero bs=1m count=50 2>/dev/null | nc -l -N 10.77.0.1 5001' &
    sleep 1
    echo "$algorithm, run $run:"
    jexec ss_client sh -c 'time nc -d 10.77.0.1 5001 >/dev/null'
    wait $! || true
    jexec ss_server netstat -s -p tcp | grep 'retransmitted$'
  done
done
