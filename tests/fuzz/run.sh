#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# run.sh PROGRAM CORPUS SECONDS: fuzz for a while, starting from the corpus, which stays as it is.
set -u
program=$1 corpus=$2 seconds=$3
if [ ! -x "$program" ]; then
    echo "not run: no clang with libFuzzer was found when this build was configured"
    exit 77
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
mkdir "$work/found"
cd "$work" || exit 1
"$program" -max_total_time="$seconds" -timeout=5 -rss_limit_mb=2048 -print_final_stats=1 \
    "$work/found" "$corpus" > "$work/log" 2>&1 && status=0 || status=$?
tail -n 20 "$work/log"
for input in crash-* timeout-* oom-* leak-*; do
    [ -f "$input" ] || continue
    echo "input that fails ($input), in base64:"
    base64 "$input"
done
# A fuzzer that did nothing has shown nothing.
grep -q 'stat::number_of_executed_units: [1-9][0-9]\{3,\}' "$work/log" || status=1
exit "$status"
