#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# What clients and other nodes can cause, the daemon logs by rsmd_log_of_user() and
# rsmd_log_of_node(), which bound it. This is the list of the calls that log directly, and why each
# file may: a new call is either bounded, or it is entered here. It covers all that the daemon is made
# of, but for the modules of transports: what those log comes in by rsmd/server/logging.c, which
# bounds it, if they have no other way to the log.
#
#   log_lines.sh SOURCE_DIR
set -u
cd "$1" || exit 1
work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

# File, calls, and what bounds them.
sed 's/ *#.*//' > "$work/allowed" << 'END'
librsm/control/control_find.c 3 # not in rsmd
librsm/protocol/environment.c 3  # start
librsm/protocol/runtime.c 11     # start
librsm/control/spawn.c 7        # not in rsmd
librsm/protocol/trust.c 1        # of clients; rsmd calls nobody's daemon
librsm/transport/best.c 2       # opening a controller
librsm/transport/best_import.c 1        # not in rsmd
librsm/transport/best_node.c 2  # opening a controller
librsm/transport/instance_import.c 3    # not in rsmd
librsm/transport/instance_node.c 1      # a module's table, when it is loaded
librsm/transport/registry.c 2   # once for each transport
librsm/transport/shm/node.c 1   # opening a controller
rsmd/cluster/cluster.c 3        # start and reload
rsmd/cluster/demand.c 1         # start, reload, and a new answer of the source of members
rsmd/cluster/link.c 3           # a bucket for each link
rsmd/cluster/listener.c 3       # start, and complaints
rsmd/cluster/tcp.c 2            # a bucket for strangers
rsmd/cluster/tls.c 3            # each trouble once an hour, and certificates that expire once a day
rsmd/common/worker.c 1          # a thread cannot be started
rsmd/daemon.c 7                 # start and end
rsmd/links.c 1                  # a warning of trust at the start
rsmd/handover/give.c 4          # an update
rsmd/handover/receive.c 3       # start
rsmd/handover/state.c 2         # start, a line for each client whose controller has gone
rsmd/members/kept.c 1           # with a line of refresh.c at most
rsmd/members/refresh.c 2        # once for each reason, at most every five seconds
rsmd/node/controllers.c 1       # start and reload
rsmd/node/counters.c 1          # a bucket
rsmd/node/extents.c 1           # a defect of a transport
rsmd/node/grants.c 1            # a defect of a transport
rsmd/node/node.c 1              # start
rsmd/node/refusals.c 2          # what this is about
rsmd/remote/exporting.c 1  # a bucket
rsmd/remote/remote.c 1     # start
rsmd/node/shares.c 4            # once a minute for each resource; defects of rsmd
rsmd/reload.c 13                # reload, and a new answer of the source of members
rsmd/server/ending.c 1          # the end
rsmd/server/logging.c 1         # with a line that is bounded
rsmd/server/server.c 1          # the end
END
# Modules have the log of the process that has loaded them: transport/entry.c.
modules=$(find librsm/transport -path '*/common' | sed 's,/common$,,')
[ -n "$modules" ] || exit 1
# shellcheck disable=SC2086 # several words
if grep -rnE '\<(v?syslog|perror|v?dprintf|v?f?printf|puts) *\(' --include='*.c' $modules; then
    echo "a transport's module writes what does not go by base/log.h"
    exit 1
fi
find rsmd librsm/base librsm/protocol librsm/control librsm/transport -name '*.c' |
    awk -v modules="$modules" '
        BEGIN { count = split(modules, module, "\n") }
        { for (i = 1; i <= count; i++) if (index($0, module[i] "/") == 1) next; print }' |
    xargs grep -c 'rsm_log_\(error\|warning\|info\)(' /dev/null |
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
