# SPDX-License-Identifier: BSD-3-Clause
# Completion of ./dev for bash: `source tools/completion/dev.bash` in a checkout.

# _rsm_dev_words DEV VERB...: what may follow these words, by what ./dev help lists.
_rsm_dev_words() {
    local dev=$1 before
    shift
    before="$*"
    "$dev" help 2>/dev/null |
        sed -n "s/^  ${before:+$before }\([a-z][a-z-]*\).*/\1/p" | sort -u
}

_rsm_dev() {
    COMPREPLY=()
    mapfile -t COMPREPLY < <(compgen -W \
        "$(_rsm_dev_words "$1" "${COMP_WORDS[@]:1:COMP_CWORD-1}")" -- "$2")
}

complete -o default -F _rsm_dev ./dev dev
