#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# published.sh RSMD CONF1 CONF2 TYPE_DRIVER PROGRAM: the published example program between two nodes
# on the two devices, as two people at two terminals would use it.
# shellcheck source=../guest/lab.sh
. /lab/guest/lab.sh

lab_two_hosts "$1" "$2" "$3"
driver=$4
export LAB_PUBLISHED=$5

# Each of the two programs talks to the daemon of its node.
cat >/run/rsmtest <<'END'
#!/bin/bash
RSM_RUNTIME_DIR=/run/h$RSM_NODE exec "$LAB_PUBLISHED" "$@"
END
chmod 755 /run/rsmtest
umask 022
for options in "" "--typed"; do
    echo "run: ${options:-piped}"
    # shellcheck disable=SC2086 # one word or none
    "$driver" --patience 8 $options /run/rsmtest || exit 1
done
