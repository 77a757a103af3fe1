#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# tls.sh: two rsmds on loopback, with auth = tls and certificates by rsm-cert: the link comes up, rsmstat
# shows when certificates expire, a warning comes before that, SIGHUP takes new ones over, a replaced rsmd
# links again, and wrong files are named. Needs no privilege.
set -u
: "${RSM_RSMD:?}" "${RSM_BUILD_DIR:?}" "${RSM_SOURCE_DIR:?}"
work=$(mktemp -d /tmp/rsm-tls-XXXXXX) || exit 1
declare -A pids
cert=$RSM_SOURCE_DIR/tools/rsm-cert

finish() {
    local pid
    for pid in "${pids[@]}"; do
        kill "$pid" 2>/dev/null
        wait "$pid" 2>/dev/null
    done
    rm -rf "$work"
}
trap finish EXIT

fail() {
    echo "FAILED: $*"
    tail -n 30 "$work"/*.log
    exit 1
}

await() { # await WHAT COMMAND...
    local what=$1 until=$((SECONDS + 60))
    shift
    until "$@" >/dev/null 2>&1; do
        [ "$SECONDS" -lt "$until" ] || fail "in vain: $what"
        sleep 0.05
    done
}

command -v openssl >/dev/null || {
    echo "not run: there is no openssl"
    exit 77
}

# Addresses of loopback that others hardly use.
net=127.$((1 + RANDOM % 250)).$((1 + RANDOM % 250))
conf() { # conf NODE [CERTIFICATE-OF]
    {
        printf '[cluster]\nauth = tls\ntls-ca = %s\n' "$work/set/ca.pem"
        printf 'tls-certificate = %s\ntls-key = %s\n' "$work/set/node-${2-$1}.pem" "$work/set/node-${2-$1}.key"
        printf '[node 1]\nhost = localhost\naddress = %s.1\n[node 2]\nhost = localhost\naddress = %s.2\n' "$net" "$net"
    } >"$work/$1.conf"
}

node() { # node NODE
    [ -d "$work/run$1" ] || mkdir -m 700 "$work/run$1"
    "$RSM_RSMD" --foreground --stderr --config "$work/$1.conf" --node "$1" --runtime-dir "$work/run$1" \
        >>"$work/$1.log" 2>&1 &
    pids[$1]=$!
}

stat_of() { # stat_of NODE OPTIONS...
    local node=$1
    shift
    "$RSM_BUILD_DIR/bin/rsmstat" --runtime-dir "$work/run$node" --node "$node" --links "$@"
}

is_up() { # is_up NODE PEER
    [ "$(stat_of "$1" | awk -v peer="$2" '$1 == peer { print $4 }')" = up ]
}

expires() { # expires NODE OF: the day
    stat_of "$1" --wide | awk -v of="$2" '$1 == "LINK-TO" { for (i = 1; i <= NF; i++) if ($i == "EXPIRES") seen = 1 }
        $1 == of { for (i = 4; i <= NF; i++) if ($i ~ /^20[0-9][0-9]-[0-9][0-9]-[0-9][0-9]$/) day = $i }
        END { if (seen) print day }'
}

expires_is() { # expires_is NODE OF DAYS: that many from now
    [ "$(expires "$1" "$2")" = "$(date -u -d "+$3 days" +%Y-%m-%d)" ]
}

# ---- rsm-cert
conf 1
conf 2
"$cert" -d "$work/set" -y 20 -c "$work/1.conf" >"$work/made" || fail "rsm-cert"
for file in ca.pem ca.key node-1.pem node-1.key node-2.pem node-2.key; do
    [ "$(stat -c %a "$work/set/$file")" = 600 ] || fail "the mode of $file"
done
[ "$(find "$work/set" -type f | wc -l)" -eq 6 ] || fail "rsm-cert leaves something: $(ls -a "$work/set")"
before=$(cat "$work/set/node-1.pem")
"$cert" -d "$work/set" 1 | grep -q 'it is there, and stays' || fail "rsm-cert replaces what is there"
[ "$before" = "$(cat "$work/set/node-1.pem")" ] || fail "rsm-cert has replaced what is there"
for wrong in "" "0" "65536" "x" "-y 0 1" "-y x 1" "-c $work/absent" "-c $work/1.conf 1" "-q 1"; do
    # shellcheck disable=SC2086 # several words
    "$cert" -d "$work/wrong" $wrong >/dev/null 2>&1 && fail "rsm-cert takes '$wrong'"
done
[ ! -e "$work/wrong" ] || fail "rsm-cert makes something of wrong arguments"

# ---- the link
"$RSM_RSMD" --check --config "$work/1.conf" --node 1 >"$work/check" 2>&1 || fail "--check: $(cat "$work/check")"
"$RSM_RSMD" --check --config "$work/1.conf" --node 2 >"$work/check" 2>&1 && fail "--check takes a wrong certificate"
grep -q "tls-certificate is that of node 1, and this is node 2" "$work/check" || fail "--check: $(cat "$work/check")"
node 1
node 2
await "node 1 links" is_up 1 2
await "node 2 links" is_up 2 1
stat_of 1 --wide | grep -q ' tls ' || fail "rsmstat does not show tls"
stat_of 1 --json | grep -q '"certificate_expires": *[0-9]' || fail "rsmstat --json: $(stat_of 1 --json)"
expires_is 1 1 20 || fail "rsmstat shows $(expires 1 1) as the end of the own certificate"
expires_is 1 2 20 || fail "rsmstat shows $(expires 1 2) as the end of the other certificate"
await "a warning comes" grep -q 'the certificate of this node expires in \(19\|20\) days' "$work/1.log"
grep -q 'rsm-tlsd has ended' "$work"/*.log && fail "rsm-tlsd ended"

# ---- new certificates, without an end of the link
"$cert" -d "$work/set" -r -y 300 1 2 >/dev/null || fail "rsm-cert -r"
kill -HUP "${pids[1]}" "${pids[2]}"
await "node 1 reads the new one" expires_is 1 1 300
is_up 1 2 || fail "a reload has ended the link"
[ "$(grep -c 'is up' "$work/1.log")" -eq 1 ] || fail "a reload has ended the link"

# ---- a replaced rsmd links again, by the new certificates, and leaves no process
kill -USR2 "${pids[1]}"
await "the replaced rsmd links" eval "[ \$(grep -c 'is up' '$work/1.log') -eq 2 ]"
await "node 2 links with it" is_up 2 1
expires_is 2 1 300 || fail "rsmstat shows $(expires 2 1) after an update"
children=$(pgrep -c -P "${pids[1]}" rsm-tlsd)
[ "$children" -eq 1 ] || fail "the replaced rsmd has $children processes rsm-tlsd"

# ---- a key that others can read
chmod 640 "$work/set/node-1.key"
kill "${pids[1]}"
wait "${pids[1]}" || fail "rsmd ended with $?"
node 1
await "node 1 names its key" eval "stat_of 1 --wide | grep -q 'node-1.key: others than its owner can use it: chmod 600'"
"$RSM_RSMD" --check --config "$work/1.conf" --node 1 >"$work/check" 2>&1 && fail "--check takes a key of all"
chmod 600 "$work/set/node-1.key"
kill -HUP "${pids[1]}"
await "node 1 links again" is_up 1 2
for id in 1 2; do
    kill "${pids[$id]}"
    wait "${pids[$id]}" || fail "rsmd of node $id ended with $?"
    unset "pids[$id]"
done
echo "all as it should be"
