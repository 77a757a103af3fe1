#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# page.sh CONFINE SOURCE PACKAGES: type what doc/containers.md prints, as somebody with a container engine would, and look
# at what comes of it. The engine here is a few lines of shell: an image is a folder that mmdebstrap and the RUN lines of a
# Containerfile have made, a container a process in there as run.sh and CONFINE have it. Needs root, the apt mirror and
# the packages of ./dev package; without them status 77, or 1 with RSM_LAB_REQUIRED=1.
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
end() {
    for name in "${!running[@]}"; do
        kill "${running[$name]}" 2>/dev/null || true
    done
    wait
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

# docker run OPTION... IMAGE COMMAND...: in mount, pid, network and IPC name spaces of its own. Volumes are mounted.
docker_run() {
    local name='' volumes=() variables=() directory=/ detached='' image root volume
    while :; do
        case $1 in
        --rm | -it) ;;
        -d) detached=yes ;;
        --name) name=$2 && shift ;;
        --network) shift ;;
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
        from=${volume%%:*}
        [[ $from = /* ]] || from=$work/volumes/$from
        mkdir -p "$from" "$root/$(cut -d: -f2 <<<"$volume")"
        printf '%s %s\n' "$from" "$root/$(cut -d: -f2 <<<"$volume")"
    done >"$work/mounts"
    # shellcheck disable=SC2016
    set -- "$root" env "${variables[@]}" /confine sh -c 'cd "$0" && exec "$@"' "$directory" "$@"
    if [ -n "$detached" ]; then
        contain "$work/mounts" "$@" >"$work/$name.out" 2>&1 <"$work/silence" &
        running[$name]=$!
        sleep 2
        kill -0 "${running[$name]}" || {
            cat "$work/$name.out"
            return 1
        }
    else
        contain "$work/mounts" "$@"
    fi
}

# contain MOUNTS ROOT COMMAND...
contain() {
    # shellcheck disable=SC2016
    exec_in_namespaces='
        mount --make-rprivate /
        ip link set lo up
        while read -r from to; do mount --bind "$from" "$to"; done <"$0"
        . "$1/packaging/root.sh"
        shift
        root_inside "$@"'
    unshare --mount --net --ipc bash -euc "$exec_in_namespaces" "$1" "$source" "${@:2}"
}

docker() {
    case $1 in
    build) docker_build "${@:2}" ;;
    run) docker_run "${@:2}" ;;
    volume) mkdir -p "$work/volumes/$3" ;;
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
type_line "docker volume create"
type_line "docker run -d --name one"
echo "a line from container two" | type_line "docker run -it --name two" >"$work/two.out" 2>&1 &
importer=$!
for ((i = 0; i < 300; i++)); do
    ! grep -q "a line from container two" "$work/one.out" || break
    sleep 0.1
done
kill "$importer" 2>/dev/null || true
grep "a line from container two" "$work/one.out" || {
    echo "FAILED: nothing reached the other container"
    tail -n 20 "$work/one.out" "$work/two.out"
    exit 1
}
echo "what doc/containers.md prints works"
