#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# run.sh PROGRAM CORPUS SECONDS [KEEP]: fuzz for a while, starting from the corpus, which stays as it
# is. With KEEP, a directory, go on from what earlier runs found there, and add to it; inputs that fail
# are left there, too, in KEEP/failed. RSM_FUZZ_SECONDS takes the place of SECONDS. RSM_FUZZ_JOBS processes
# fuzz at once, one unless given, and take up what the others find.
#
# RSM_FUZZ_MISSING says why there is no program, if there is none: the test is skipped then, or with
# RSM_LAB_REQUIRED=1 fails.
set -u
program=$1 corpus=$2 seconds=${RSM_FUZZ_SECONDS:-$3} keep=${4-}
if [ -n "${RSM_FUZZ_MISSING-}" ]; then
    echo "not run: $RSM_FUZZ_MISSING"
    [ "${RSM_LAB_REQUIRED-}" != 1 ] || exit 1
    exit 77
fi
if [ ! -x "$program" ]; then
    echo "$program was not built (target fuzzers)"
    exit 1
fi
# The build's own choices (cmake/Tests.cmake) are for programs that handle SIGSEGV and SIGBUS themselves.
# What was freed is kept for 8 MiB, not 256: an input frees less, and memory that is used again need not be
# faulted in. Of what is allocated the first 256 bytes are filled, not 4096. Of the callers of an allocation the
# last four are noted; who needs more runs the input that fails alone, with ASAN_OPTIONS of his own.
ASAN_OPTIONS=detect_leaks=1:handle_sigbus=1:quarantine_size_mb=8:max_malloc_fill_size=256:malloc_context_size=4
UBSAN_OPTIONS=print_stacktrace=1
export ASAN_OPTIONS UBSAN_OPTIONS
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-fuzz.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
found=$work/found failed=$work/failed
if [ -n "$keep" ]; then
    found=$keep/found failed=$keep/failed
fi
mkdir -p "$found" "$failed" || exit 1
cd "$work" || exit 1
touch -d '1 second ago' begun
# libFuzzer's choice of inputs by rare features (entropic) takes a fifth of the time where an input is a whole
# session of a client, and reaches no more.
jobs=()
[ "${RSM_FUZZ_JOBS:-1}" -eq 1 ] || jobs=("-jobs=$RSM_FUZZ_JOBS" "-workers=$RSM_FUZZ_JOBS" -reload=1)
"$program" "${jobs[@]}" -entropic=0 -max_total_time="$seconds" -timeout=20 -rss_limit_mb=2048 -print_final_stats=1 \
    -print_funcs=0 \
    -artifact_prefix="$failed/" "$found" "$corpus" >"$work/log" 2>&1 && status=0 || status=$?
[ "$status" -eq 0 ] || tail -n 80 "$work/log"
grep '^stat::' "$work/log"
for input in "$failed"/*; do
    [ "$input" -nt "$work/begun" ] || continue
    echo "input that fails (${input##*/}), in base64:"
    base64 "$input"
done
# A fuzzer that did nothing but run the seeds has shown nothing.
units=$(awk '/^stat::number_of_executed_units: / { sum += $2 } END { print sum + 0 }' "$work/log")
echo "$units inputs in $seconds s, by ${RSM_FUZZ_JOBS:-1} at once"
[ "$units" -gt "$(find "$corpus" -type f | wc -l)" ] || status=1
exit "$status"
