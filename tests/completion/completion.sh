#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# completion.sh SOURCE_DIR BUILD_DIR: what bash offers for command lines.
set -u
source_dir=$1
export PATH=$2/bin:$2/tests/bin:$2/compat/solaris:$PATH
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
offers _rsm "ucx,mpi" rsmperf --beside ucx,m
offers _rsm "tcp" rsmperf --limit t
offers _rsm "warning" rsmd --log-level w
offers _rsm "always" rsmstat --color al
offers _rsm "--config" rsmd --conf
offers _rsm "--version" rsmtest --ver
offers _rsm "-a" rsmstat -a
offers _rsm "-xO3 -xarch -xdryrun" rsm-cc -x
offers _rsm "-mt" rsm-cc -m
# Every program with a manual page has a completion, which offers each option of its --help.
programs=0
for page in "$source_dir"/man/*.[18]; do
    program=$(basename "${page%.*}")
    complete -p "$program" >/dev/null 2>&1 || {
        echo "FAILED: $program has no completion"
        failed=1
    }
    command -v "$program" >/dev/null || continue # not built, or not there
    COMP_WORDS=("$program" -) COMP_CWORD=1
    _rsm "$program" - "$program"
    for option in $("$program" --help | sed -n 's/^ *\(-[a-zA-Z]\), \(--[a-z0-9-]*\).*/\1 \2/p; t
        s/^ *\(--*[A-Za-z0-9-]*\).*/\1/p'); do
        case " ${COMPREPLY[*]} " in
        *" $option "*) ;;
        *)
            echo "FAILED: $program $option is not offered"
            failed=1
            ;;
        esac
    done
    programs=$((programs + 1))
done
[ "$programs" -ge 6 ] || {
    echo "FAILED: only $programs programs"
    failed=1
}
cd "$source_dir" || exit 1
offers _rsm "README.md" rsmd -c READ
offers _rsm "tools" rsmstat -d tool
offers _rsm_dev "demo" ./dev dem
offers _rsm_dev "all" ./dev test al
offers _rsm_dev "perf" ./dev lab per
exit "$failed"
