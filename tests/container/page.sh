#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# page.sh CONFINE SOURCE PACKAGES: type what doc/containers.md prints, as somebody with a container engine would, and look
# at what comes of it. The engine here is a few lines of shell: an image is a folder that mmdebstrap and the RUN lines of a
# Containerfile have made, a container a process in there as run.sh and CONFINE have it, a network a bridge in a name space
# of its own. Needs root, the apt mirror and the packages of ./dev package; without them status 77, or 1 with
# RSM_LAB_REQUIRED=1.
set -eu
confine=$1
source=$2
packages=$(realpath "$3" 2>/dev/null || echo "$3")
. "$source/packaging/root.sh"

cannot() {
    echo "skipped: $*"
    [ "${RSM_LAB_REQUIRED-}" != 1 ] || exit 1
    exit 77
}

[ "$(id -u)" -eq 0 ] || cannot "only root can make a change root"
command -v mmdebstrap >/dev/null || cannot "mmdebstrap is not installed"
compgen -G "$packages/rsmd_*.deb" >/dev/null || cannot "no packages in $3: ./dev package makes them"

work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-containers.XXXXXX")
declare -A running=()
networks=()
end() {
    for name in "${!running[@]}"; do
        docker_kill "$name"
    done
    wait
    for network in "${networks[@]}"; do
        ip netns delete "$network"
    done
    rm -rf --one-file-system "$work"
}
trap end EXIT

# docker build -t NAME -f FILE CONTEXT
docker_build() {
    local name=$2 file=$4 context=$5 debian archive instruction words root=$work/images/$2
    debian=$(sed -n 's/^ARG DEBIAN=//p' "$file")
    archive=$packages/base-$debian.tar
    root_archive "$debian" "$archive" >"$work/mmdebstrap.log" 2>&1 ||
        cannot "Debian cannot be had: $(tail -n 1 "$work/mmdebstrap.log")"
    root_new "$archive" "$root"
    while read -r instruction words; do
        case $instruction in
        FROM) [ "$words" = "debian:\${DEBIAN}-slim" ] ;;
        COPY)
            mkdir -p "$root${words##* }"
            # shellcheck disable=SC2086 # patterns
            (cd "$context" && cp ${words% *} "$root${words##* }")
            ;;
        RUN) root_inside "$root" sh -euc "$words" >"$work/$name.log" 2>&1 || {
            tail -n 30 "$work/$name.log"
            echo "FAILED: $file: RUN $words"
            exit 1
        } ;;
        esac
    done <"$file"
    echo "built: $name ($(du -sm "$root" | cut -f 1) MiB)"
}

# docker network create NAME: containers are 10.77.0.2, 10.77.0.3 and so on there, and know each other by /etc/hosts,
# as those of an engine do by its name server.
docker_network_create() {
    networks+=("rsm-page-$$-$1")
    ip netns add "rsm-page-$$-$1"
    ip -netns "rsm-page-$$-$1" link add bridge type bridge
    ip -netns "rsm-page-$$-$1" link set bridge up
    echo "127.0.0.1 localhost" >"$work/hosts"
}

# plug NETWORK HOST: a network name space with an address there.
plug() {
    local bridge=rsm-page-$$-$1 own=rsm-page-$$-at-$2 address
    address=10.77.0.$(($(wc -l <"$work/hosts") + 1))
    networks+=("$own")
    ip netns add "$own"
    ip -netns "$bridge" link add "to-$2" type veth peer name eth0 netns "$own"
    ip -netns "$bridge" link set "to-$2" master bridge up
    ip -netns "$own" link set lo up
    ip -netns "$own" address add "$address/24" dev eth0
    ip -netns "$own" link set eth0 up
    echo "$address $2" >>"$work/hosts"
}

# docker run OPTION... IMAGE COMMAND...: in mount, pid, network, IPC and UTS name spaces of its own. Volumes are mounted.
docker_run() {
    local name='' volumes=() variables=() directory=/ detached='' host=once network=none image root volume from to mode
    while :; do
        case $1 in
        --rm | -it) ;;
        -d) detached=yes ;;
        --name) name=$2 && shift ;;
        --hostname) host=$2 && shift ;;
        --network) network=$2 && shift ;;
        -e) variables+=("$2") && shift ;;
        -w) directory=$2 && shift ;;
        -v) volumes+=("$2") && shift ;;
        *) break ;;
        esac
        shift
    done
    image=$1
    root=$work/containers/${name:-once}
    shift
    mkdir -p "$work/containers"
    rm -rf --one-file-system "$root"
    cp -a --reflink=auto "$work/images/$image" "$root"
    cp "$confine" "$root/confine"
    for volume in "${volumes[@]}"; do
        IFS=: read -r from to mode <<<"$volume"
        [[ $from = /* ]] || from=$work/volumes/$from
        mkdir -p "$from" "$root/$to"
        echo "$from $root/$to ${mode:-rw}"
    done >"$work/mounts"
    if [ "$network" != none ]; then
        plug "$network" "$host"
        touch "$root/etc/hosts"
        echo "$work/hosts $root/etc/hosts rw" >>"$work/mounts"
        network=/run/netns/rsm-page-$$-at-$host
    fi
    # shellcheck disable=SC2016
    set -- "$root" env "${variables[@]}" /confine sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
    if [ -n "$detached" ]; then
        contain "$network" "$host" "$@" >"$work/$name.out" 2>&1 <"$work/silence" &
        running[$name]=$!
        sleep 2
        kill -0 "${running[$name]}" || {
            cat "$work/$name.out"
            return 1
        }
    else
        contain "$network" "$host" "$@"
    fi
}

# contain NETWORK HOST ROOT COMMAND...: NETWORK is a file, or none.
contain() {
    local net=(unshare --net) in_namespaces
    [ "$1" = none ] || net=(nsenter "--net=$1")
    # shellcheck disable=SC2016
    in_namespaces='
        hostname "$1"
        mount --make-rprivate /
        ip link set lo up
        while read -r from to mode; do
            mount --bind "$from" "$to"
            mount -o "remount,bind,$mode" "$to"
        done <"$0"
        . "$2/packaging/root.sh"
        shift 2
        root_inside "$@"'
    cp "$work/mounts" "$work/mounts.$2"
    "${net[@]}" unshare --mount --ipc --uts bash -euc "$in_namespaces" "$work/mounts.$2" "$2" "$source" "${@:3}"
}

# first_of NAME: the first process of the container.
first_of() {
    local pid=${running[$1]}
    until grep -q "^NSpid:.*[[:space:]]1$" "/proc/$pid/status" 2>/dev/null; do
        pid=$(pgrep -o -P "$pid") || return
    done
    echo "$pid"
}

# docker kill NAME: the others end with the first one.
docker_kill() {
    local pid
    pid=$(first_of "$1") && kill -KILL "$pid"
    wait "${running[$1]}" 2>/dev/null || true
    unset "running[$1]"
}

# docker exec [-it] NAME COMMAND...: beside that process.
docker_exec() {
    [ "$1" != -it ] || shift
    local pid
    pid=$(first_of "$1")
    shift
    nsenter "--target=$pid" --mount --net --ipc --uts --pid --root --wd env -i \
        PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8 /confine "$@"
}

docker() {
    case $1 in
    build) docker_build "${@:2}" ;;
    run) docker_run "${@:2}" ;;
    exec) docker_exec "${@:2}" ;;
    volume) mkdir -p "$work/volumes/$3" ;;
    network) docker_network_create "$3" ;;
    *) return 1 ;;
    esac
}

# type_line PATTERN: the page's line that has it, from this folder, with the package's folder under the name that it has in
# the page.
type_line() {
    local line
    line=$(grep -m 1 -e "^    .*$1" "$source/doc/containers.md") || {
        echo "FAILED: the page has no line with: $1"
        exit 1
    }
    line=${line//"build/package"/$packages}
    echo "typed:$line" >&2
    eval "$line"
}

# type_block PATTERN: the page's lines from that one to the line END.
type_block() {
    echo "typed: the lines from $1 to END" >&2
    eval "$(sed -n "/^    $1/,/^    END$/s/^    //p" "$source/doc/containers.md")"
}

# crosses FROM TO: what FROM's output has is awaited in the output of TO.
crosses() {
    local i
    for ((i = 0; i < 300; i++)); do
        ! grep -q "a line from container two" "$2" || break
        sleep 0.1
    done
    grep "a line from container two" "$2" || {
        echo "FAILED: nothing reached the other container"
        tail -n 20 "$2" "$1"
        exit 1
    }
}

mkfifo "$work/silence"
exec 9<>"$work/silence" # nobody types into a container that is detached
cp "$source/tests/install/hello.c" "$work/prog.c"
cd "$source"
type_line "docker build -t rsm -f"
type_line "docker build -t rsm-dev"
cd "$work"
type_line "rsmtest --version"
type_line "cc prog.c -lrsm -o prog"
[ -x prog ]
[ "$(docker run --rm -v "$work:/src" rsm /src/prog)" = hello ]

# One runtime directory.
type_line "docker volume create"
type_line "docker run -d --name one -v rsm:"
echo "a line from container two" | type_line "docker run -it --name two" >"$work/two.out" 2>&1 &
importer=$!
crosses two.out one.out
kill "$importer" 2>/dev/null || true
docker_kill one

# A network.
mkdir cluster
cd cluster
type_block "cat >rsm.conf"
type_line "rsm-cert -d tls"
type_line "docker network create"
type_line "docker run -d --name one --hostname"
type_line "docker run -d --name two --hostname"
for ((i = 0; i < 30; i++)); do
    type_line "docker exec one rsmstat" >links.out
    ! grep -q "^2 .*up" links.out || break
    sleep 1
done
cat links.out
type_line "docker exec -it one" >from-one.out 2>&1 <"$work/silence" &
echo "a line from container two" | type_line "docker exec -it two" >from-two.out 2>&1 &
crosses from-two.out from-one.out
kill %% %- 2>/dev/null || true
echo "what doc/containers.md prints works"
