#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# two_hosts.sh CASE BUILD_DIR [COMPILER TYPE_DRIVER]: the examples between two hosts over tcp; run by networks.sh. Cases:
# rsmtest and scitest, the demos; rsmtest-tls, the same with links and data encrypted; published, the published
# example, whose text RSM_PUBLISHED_PROGRAM has.
set -u
case_name=$1 build=$2
if [ "$case_name" = published ] && [ -z "${RSM_PUBLISHED_PROGRAM:-}" ]; then
    echo "SKIPPED: RSM_PUBLISHED_PROGRAM does not name a document with the published program"
    exit 77
fi
if [ "$case_name" = rsmtest-tls ] && ! command -v openssl >/dev/null; then
    echo "not run: there is no openssl"
    exit 77
fi
source=$(realpath "$(dirname "${BASH_SOURCE[0]}")/../../..")
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-two-hosts.XXXXXX") || exit 1
daemons=()

clean_up() {
    local status=$?
    [ ${#daemons[@]} -eq 0 ] || kill "${daemons[@]}"
    wait
    [ "$status" -eq 0 ] || tail -n 20 "$work"/*.log
    rm -rf -- "$work"
    exit "$status"
}
trap clean_up EXIT

# host NODE: its rsmd, in its network.
host() {
    local certificate=$work/set/node-$1
    mkdir "$work/h$1"
    {
        echo "[cluster]"
        if [ "$case_name" = rsmtest-tls ]; then
            printf '%s\n' "auth = tls" "tls-ca = $work/set/ca.pem" "tls-certificate = $certificate.pem" \
                "tls-key = $certificate.key"
        else
            echo "auth = munge"
        fi
        printf '[node %s]\nhost = host%s\naddress = 10.99.0.%s\n' 1 1 1 2 2 2
        printf '[controller sci0]\ntransport = tcp\n'
        [ "$case_name" != rsmtest-tls ] || echo "options = encrypt=tls"
    } >"$work/h$1.conf"
    nsenter --net="$RSM_TEST_NETWORKS$(($1 - 1))" "$RSM_RSMD" --foreground --stderr --config "$work/h$1.conf" \
        --node "$1" --runtime-dir "$work/h$1" >"$work/h$1.log" 2>&1 &
    daemons+=("$!")
}

# program PATH: as $work/build/bin/NAME, which runs it on the host of its node.
program() {
    cat >"$work/build/bin/${1##*/}" <<SCRIPT
#!/bin/sh
RSM_RUNTIME_DIR=$work/h\$RSM_NODE exec nsenter --net=$RSM_TEST_NETWORKS\$((RSM_NODE - 1)) "$1" "\$@"
SCRIPT
    chmod 755 "$work/build/bin/${1##*/}"
}

await_link() {
    local tries=0
    until "$build/bin/rsmstat" --runtime-dir "$work/h$1" --node "$1" --links 2>/dev/null |
        awk -v peer="$2" '$1 == peer && $4 == "up" { up = 1 } END { exit !up }'; do
        tries=$((tries + 1))
        [ "$tries" -lt 400 ] || exit 1
        sleep 0.05
    done
}

published() { # COMPILER TYPE_DRIVER
    perl "$source/tests/published/unflatten.pl" "$RSM_PUBLISHED_PROGRAM" >"$work/published.c" || exit 1
    CPATH=$source/compat/include:$source/include "$1" "$work/published.c" -L"$build/lib" -lrsm \
        -Wl,-rpath,"$build/lib" -w -o "$work/published" || exit 1
    program "$work/published"
    umask 022
    "$2" "$work/build/bin/published" && "$2" --typed "$work/build/bin/published"
}

mkdir -p "$work/build/bin"
if [ "$case_name" = rsmtest-tls ]; then
    "$source/tools/rsm-cert" -d "$work/set" 1 2 >/dev/null || exit 1
fi
ln -s "$build/bin/rsmd" "$work/build/bin/rsmd"
host 2
host 1
await_link 1 2
await_link 2 1
case $case_name in
published) published "$3" "$4" ;;
*)
    example=${case_name%-tls}
    program "$build/bin/$example"
    "$source/examples/$example/demo.sh" "$work/build"
    ;;
esac
