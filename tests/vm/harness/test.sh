#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# test.sh [short]: the lab's own test: every way to fail is told from success, with a text that says which it
# was. In short some of them, with machines of their own.
set -u
extent=${1-all}
here=$(dirname "$(realpath "$0")")
run=$here/../run.sh
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir "$work/tmp"
export TMPDIR=$work/tmp

# Skipped, or failed, like any test of the lab where there is none.
output=$("$run" --name harness "$here/guest.sh" success 2>&1)
status=$?
if [ $status -ne 0 ]; then
    echo "$output"
    exit $status
fi
export RSM_LAB_REQUIRED=0

# expect STATUS TEXT COMMAND...: what it exits with and prints.
expect() {
    local wanted=$1 text=$2 status=0 output
    shift 2
    output=$("$@" 2>&1) || status=$?
    if [ $status -ne "$wanted" ] || ! grep -qE -- "$text" <<<"$output"; then
        printf 'FAILED: %s: status %s instead of %s, or no "%s" in:\n%s\n' \
            "$*" $status "$wanted" "$text" "$output"
        touch "$work/failed"
    else
        echo "ok: ${*##*/}: status $status, \"$text\""
    fi
}

# guest STATUS TEXT [OPTIONS] WAY: one of several at a time, for most of them wait for something. One
# processor starts faster than two.
runs=0
guest() {
    local way=${*: -1}
    while [ "$(jobs -rp | wc -l)" -ge 3 ]; do
        wait -n
    done
    runs=$((runs + 1)) # the folder of its logs is its own
    expect "$1" "$2" "$run" --name "harness.$runs" --smp 1 "${@:3:$#-3}" "$here/guest.sh" "$way" &
}

guest 1 'machine 1: the script ended with status 1' one
guest 1 'machine 1: its kernel panicked' panic
guest 1 'machine 1: contradicts itself' words-only
if [ "$extent" = all ]; then
    guest 77 'not run: the script does not want to' skip
    guest 1 'machine 1: was not done after 24 s' --timeout 24 hang
    guest 1 'machine 1: ended without a report' off
    guest 1 'machine 1: contradicts itself' exit-device-only
    guest 1 'machine 2: was ended because' --machines 2 second-waits
    guest 1 'machine 1: was killed' --machines 2 both-killed
    guest 0 'machine 2: was killed, as the test wanted' --machines 2 as-wanted
    # QEMU itself fails to start with status 1.
    guest 1 'machine 1: ended without a report' --memory 1 --timeout 60 success
    guest 1 'machine 1: ended without a report' --accel nonsense success
fi

# What is missing is a reason, and a failure where the lab is required.
guest 77 'not run: there is no kernel 1.2' --kernel 1.2 success
RSM_LAB_KERNEL12_REQUIRED=1 guest 1 'not run: there is no kernel 1.2' --kernel 1.2 success
mkdir "$work/bin"
for command in bash dirname sh; do
    ln -s "$(command -v $command)" "$work/bin"
done
ln -s "$(python3 -c 'import sys; print(sys.executable)')" "$work/bin/python3"
# without REQUIRED STATUS TEXT: with no more commands than those of $work/bin.
without() {
    expect "$2" "$3" env PATH="$work/bin" RSM_LAB_REQUIRED="$1" "$run" --name harness \
        "$here/guest.sh" success
}
without 0 77 'not run: qemu-system-x86_64 is not installed'
without 1 1 'not run: qemu-system-x86_64 is not installed'
rm "$work/bin/python3"
without 0 77 'not run: python3 is not installed'
without 1 1 'not run: python3 is not installed'

# The verdict alone, for combinations that machines cannot be brought into at will.
python3 -B "$here/verdicts.py" || touch "$work/failed"

wait
if pgrep -f "^qemu.*$TMPDIR" || [ -n "$(ls "$TMPDIR")" ]; then
    echo 'FAILED: something is left'
    touch "$work/failed"
fi
[ ! -e "$work/failed" ]
