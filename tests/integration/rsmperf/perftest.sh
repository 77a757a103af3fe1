#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes what a program of perftest writes. RSM_FAKE_FAULT: what goes wrong with it. RSM_FAKE_RATES: a file with the
# bandwidth of each run in a line, Gb/s, of which a run takes away the first.
size='' gbits='' last='' rates='10.00              8.00'
while [ $# -gt 0 ]; do
    case $1 in
    -s) size=$2 ;;
    --report_gbits) gbits=yes ;;
    -t) rates="$((2 * $2)).00              $2.00" ;; # as many as the queue is deep, and twice that
    esac
    last=$1
    shift
done

if [ "$last" != 127.0.0.1 ]; then
    [ "${RSM_FAKE_FAULT-}" != server ] || {
        echo "no such device"
        exit 1
    }
    exec sleep 60 # a server waits for its client
elif [ "${RSM_FAKE_FAULT-}" = server ]; then
    echo "Couldn't connect to $last"
    exit 1
fi
if [ -n "${RSM_FAKE_RATES-}" ]; then
    rates="$(head -n 1 "$RSM_FAKE_RATES") $(head -n 1 "$RSM_FAKE_RATES")"
    sed -i 1d "$RSM_FAKE_RATES"
fi
cat <<END
---------------------------------------------------------------------------------------
 local address: LID 0000 QPN 0x0011 PSN 0x8ad8b0 RKey 0x0004e7 VAddr 0x00556e6fe2a000
 GID: 00:00:00:00:00:00:00:00:00:00:255:255:10:00:00:01
---------------------------------------------------------------------------------------
END
[ "${RSM_FAKE_FAULT-}" != client ] || exit 0
if [ -n "$gbits" ]; then
    cat <<END
 #bytes     #iterations    BW peak[Gb/sec]    BW average[Gb/sec]   MsgRate[Mpps]
 $size      1000             $rates		     0.015259
END
else
    cat <<END
 #bytes #iterations    t_min[usec]    t_max[usec]  t_typical[usec]    t_avg[usec]    t_stdev[usec]   99% percentile[usec]   99.9% percentile[usec] 
Conflicting CPU frequency values detected: 1500.000000 != 2593.905000.
 $size       1000          1.25           17.10        1.50     	       1.54        	0.20   		2.75    		17.10  
END
fi
echo ---------------------------------------------------------------------------------------
