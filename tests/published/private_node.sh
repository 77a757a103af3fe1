# SPDX-License-Identifier: BSD-3-Clause
# To be sourced by test scripts: a directory of their own for embedded nodes, of which nothing is left
# afterwards, however the script ends.
#
#   private_node_begin       sets $work, a directory for the script, and RSM_RUNTIME_DIR within it
#   private_node_finished    fails unless the daemons end by themselves, now that nobody uses them

# Process ids of this directory's daemons: they have it on their command line. The pattern comes from
# a file so that grep does not find itself.
private_node_daemons() {
    grep -lzxF -f "$work/daemon-argument" /proc/[0-9]*/cmdline 2>/dev/null |
        sed 's|/proc/\([0-9]*\)/cmdline|\1|'
}

private_node_end() {
    for daemon in $(private_node_daemons); do
        kill -KILL "$daemon" 2>/dev/null
    done
    rm -rf "$work"
}

private_node_begin() {
    work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-test.XXXXXX") || exit 1
    trap private_node_end EXIT
    trap 'exit 1' HUP INT TERM
    RSM_RUNTIME_DIR=$work/node
    export RSM_RUNTIME_DIR
    mkdir -m 0700 "$RSM_RUNTIME_DIR" || exit 1
    echo "--runtime-dir=$RSM_RUNTIME_DIR" > "$work/daemon-argument"
}

private_node_finished() {
    remaining=${RSM_TEST_DAEMON_LINGER:-30}
    while [ -n "$(private_node_daemons)" ]; do
        if [ "$remaining" -le 0 ]; then
            echo "FAILED: a daemon did not end with its last client: $(private_node_daemons)"
            return 1
        fi
        remaining=$((remaining - 1))
        sleep 1
    done
}
