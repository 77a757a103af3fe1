#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# tests.sh LIST PATTERN [EXCEPTION]: run in the machine those tests of a build for another processor whose names
# match PATTERN (a regular expression) and not EXCEPTION. The build writes LIST: cmake/Tests.cmake. A test
# that skips says why, and is named at the end.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

ip link set lo up
list=$1
pattern=$2
exception=${3-}
failed=() skipped=() passed=0

run_test() {
    local name=$1 seconds=$3 variables=() status=0 began=$SECONDS
    shift 3
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    # Emulation is slow: tests have in this machine four times what they have on the host.
    env "${variables[@]}" timeout -k 5 $((4 * seconds)) "$@" >/tmp/output 2>&1 </dev/null || status=$?
    case $status in
    0) passed=$((passed + 1)) ;;
    77)
        skipped+=("$name")
        grep -v '^\[' /tmp/output | tail -n 3
        ;;
    *)
        failed+=("$name")
        cat /tmp/output
        ;;
    esac
    echo "lab: $name: status $status after $((SECONDS - began)) s"
}

while IFS= read -r line <&8; do
    eval "set -- $line"
    if [[ $1 =~ $pattern ]] && ! [[ -n $exception && $1 =~ $exception ]]; then
        run_test "$@"
    fi
done 8<"$list"

echo "result: $passed passed, ${#skipped[@]} skipped${skipped:+: ${skipped[*]}}"
[ ${#failed[@]} -eq 0 ] || lab_fail "tests that failed: ${failed[*]}"
[ "$passed" -gt 0 ] || lab_fail "no test matches $pattern"
