#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# emulated.sh EMULATOR LIST PATTERN: run by the emulator of another processor those tests of its build whose
# names match.
set -u
emulator=$1 list=$2 pattern=$3 failed=() passed=0
if [ -z "$emulator" ]; then
    echo "skipped: there is no emulator for this processor (package qemu-user-static)"
    exit 77
fi
directory=$(mktemp -d)
trap 'rm -rf "$directory"' EXIT

run_test() {
    local name=$1 seconds=$3 variables=()
    shift 3
    while [ "$1" != -- ]; do
        variables+=("$1")
        shift
    done
    shift
    if env "${variables[@]}" RSM_RUNTIME_DIR="$directory" timeout -k 5 "$seconds" "$emulator" "$@" \
        >"$directory/output" 2>&1 </dev/null; then
        passed=$((passed + 1))
    else
        failed+=("$name")
        cat "$directory/output"
    fi
}

while IFS= read -r line <&8; do
    eval "set -- $line"
    [[ ! $1 =~ $pattern ]] || run_test "$@"
done 8<"$list"
echo "$passed passed; failed: ${failed[*]:-none}"
[ ${#failed[@]} -eq 0 ] && [ "$passed" -gt 0 ]
