#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# Writes what ucx_perftest, mpirun and mpicc write, by the name under which it is started. RSM_FAKE_FAULT: which of them
# fails, or "server", that of ucx_perftest. RSM_FAKE_SOURCE: the file that mpicc must get to compile. RSM_FAKE_CALLS: a file
# for the arguments of each call.
name=${0##*/}
[ -z "${RSM_FAKE_CALLS-}" ] || echo "$name $*" >>"$RSM_FAKE_CALLS"
if [ "${RSM_FAKE_FAULT-}" = "$name" ]; then
    echo "some words before"
    echo "no such luck"
    exit 1
fi
case $name in
mpicc)
    while [ "$1" != -o ]; do shift; done
    cmp -s "$3" "$RSM_FAKE_SOURCE" || {
        echo "another source"
        exit 1
    }
    cp "$0" "$2"
    ;;
mpirun) # -np 2 PROGRAM OPERATION BYTES TIME_MS WINDOW
    [ -x "$3" ] || exit 1
    echo "[host:1] some warning that an implementation has"
    echo "rsmperf-mpi $5 1000 $((2000 * $7)).0"
    ;;
ucx_perftest)
    [ "$1" = 127.0.0.1 ] || { # a server waits for its client
        [ "${RSM_FAKE_FAULT-}" != server ] || {
            echo "no such device"
            exit 1
        }
        exec sleep 60
    }
    [ "${RSM_FAKE_FAULT-}" != server ] || exit 1
    echo "iterations,50.0_percentile_lat,avg_lat,overall_lat,avg_bw,overall_bw,avg_mr,overall_mr"
    echo "1000,4.000,5.000,6.000,2000.00,1000.00,1,2"
    ;;
esac
