#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What clients and other nodes can cause, the daemon logs by rsmd_log_of_user() and
# rsmd_log_of_node(), which bound it. This is the list of the calls that log directly, and why each
# file may: a new call is either bounded, or it is entered here.
#
#   log_lines.sh SOURCE_DIR
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# File, calls, and what bounds them.
sed 's/ *#.*//' > "$work/allowed" << 'END'
rsmd/cluster/cluster.c 2        # start
rsmd/cluster/link.c 3           # a bucket for each link
rsmd/cluster/listener.c 3       # start, and complaints
rsmd/cluster/tcp.c 2            # a bucket for strangers
rsmd/common/worker.c 1          # a thread cannot be started
rsmd/node/controllers.c 1       # start and reload
rsmd/node/events.c 2            # a bucket
rsmd/node/extents.c 1           # a defect of a transport
rsmd/node/node.c 1              # start
rsmd/node/offer.c 1             # a defect of a transport
rsmd/node/refusals.c 2          # what this is about
rsmd/node/remote/remote.c 1     # start
rsmd/node/shares.c 4            # once a minute for each resource; defects of rsmd
rsmd/server/ending.c 1          # the end
rsmd/server/server.c 1          # the end
END
find rsmd/cluster rsmd/common rsmd/node rsmd/server -name '*.c' -exec \
    grep -c 'rsm_log_\(error\|warning\|info\)(' /dev/null {} + |
    sed -n '/:0$/d; s/:/ /p' | sort > "$work/found"
awk '
    NR == FNR { allowed[$1] = $2; next }
    !($1 in allowed) || allowed[$1] != $2 {
        printf "%s logs directly %d times, the list of %s says %d\n", $1, $2,
            "tests/docs/log_lines.sh", allowed[$1]
        bad = 1
    }
    { seen[$1] = 1 }
    END {
        for (file in allowed)
            if (!(file in seen)) {
                printf "%s is in the list of tests/docs/log_lines.sh and logs nothing\n", file
                bad = 1
            }
        exit bad
    }' "$work/allowed" "$work/found"
