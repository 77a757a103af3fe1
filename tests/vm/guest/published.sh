#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# For scripts that run the published example program between two machines, its exporter on machine 1 and its importer on
# machine 2, as two people at two terminals would use it. type_driver runs on machine 2; for the exporter's terminal it
# has one of machine 1, by telnet. Each machine's daemon runs already (host.sh).

# published DRIVER PROGRAM
published() {
    local options terminals driver=$1
    export LAB_PUBLISHED=$2
    if [ "$LAB_MACHINE" -eq 1 ]; then
        {
            echo '#!/bin/bash'
            echo "export RSM_NODE=1 RSM_RUNTIME_DIR=/run/rsm RSM_MODULE_DIR=$RSM_MODULE_DIR"
            echo "stty raw -echo"
            echo "exec '$LAB_PUBLISHED' -e -n 2"
        } >/run/exporter
        chmod 755 /run/exporter
        telnetd -F -b 10.9.0.1 -p 2323 -l /run/exporter &
        terminals=$!
        lab_note terminals
        lab_await over 240
        kill "$terminals"
        return
    fi
    cat >/run/rsmtest <<'END'
#!/bin/bash
[ "$1" = -e ] || exec "$LAB_PUBLISHED" "$@"
exec telnet 10.9.0.1 2323
END
    chmod 755 /run/rsmtest
    lab_await terminals 120
    for options in "" "--typed"; do
        echo "run: ${options:-piped}"
        # shellcheck disable=SC2086 # one word or none
        "$driver" --patience 4 $options /run/rsmtest || lab_fail 'the published program'
        echo "result: the published program, ${options:-piped}: ten messages to the other machine, in order"
    done
    lab_note over
}
