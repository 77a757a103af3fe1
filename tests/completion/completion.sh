#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh SOURCE_DIR BUILD_DIR: what bash offers for command lines.
set -u
source_dir=$1
export PATH=$2/bin:$PATH
failed=0
# shellcheck source=/dev/null
. "$source_dir/tools/completion/rsm.bash"
# shellcheck source=/dev/null
. "$source_dir/tools/completion/dev.bash"

# offers FUNCTION "EXPECTED" WORD...: the last word is completed.
offers() {
    local function=$1 expected=$2 got
    shift 2
    COMP_WORDS=("$@")
    COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
    "$function" "$1" "${COMP_WORDS[COMP_CWORD]}" "${COMP_WORDS[COMP_CWORD - 1]}"
    got="${COMPREPLY[*]}"
    if [ "$got" != "$expected" ]; then
        echo "FAILED: $*: offers '$got', not '$expected'"
        failed=1
    fi
}

offers _rsm "--json" rsmstat --js
offers _rsm "--topology" rsmstat --json --top
offers _rsm "" rsmstat x
offers _rsm "--registered --runtime-dir" rsmperf --r
offers _rsm "put,barrier" rsmperf -o put,bar
offers _rsm "pingpong" rsmperf --only pi
offers _rsm "sisci" rsmperf --api s
offers _rsm "warning" rsmd --log-level w
offers _rsm "--config" rsmd --conf
offers _rsm "--version" rsmtest --ver
cd "$source_dir" || exit 1
offers _rsm "README.md" rsmd -c READ
offers _rsm "tools" rsmstat -d tool
offers _rsm_dev "demo" ./dev dem
offers _rsm_dev "all" ./dev test al
offers _rsm_dev "perf" ./dev lab per
exit "$failed"
