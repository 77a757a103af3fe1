# SPDX-License-Identifier: BSD-3-Clause
# Completion of the command lines of librsm's programs for bash. The options are those that --help
# lists, so that they are never out of date.

# _rsm_options PROGRAM: options, one on each line.
_rsm_options() {
    "$1" --help 2>/dev/null | sed -nE 's/^ +(-[^ ,=[]+)(, (--[^ ,=[]+))?(, (--[^ ,=[]+))?.*/\1\n\3\n\5/p' | grep . | LC_ALL=C sort -u
}

# _rsm_metavar PROGRAM OPTION: what --help calls the value of an option.
_rsm_metavar() {
    "$1" --help 2>/dev/null | sed -nE "s/^ +(-[^ ,]+, )*$2(, --[^ ]+)? ([A-Za-z]+)( .*|\$)/\3/p"
}

# _rsm_operations PROGRAM: what rsmperf can measure.
_rsm_operations() {
    "$1" --help 2>/dev/null | sed '1,/^Operations:/d'
}

# _rsm_list WORDS: the word is a list with commas; its last part is one of WORDS.
_rsm_list() {
    local word=${COMP_WORDS[COMP_CWORD]} before=
    case $word in
    *,*) before=${word%,*}, ;;
    esac
    mapfile -t COMPREPLY < <(compgen -P "$before" -W "$1" -- "${word##*,}")
}

# _rsm_value PROGRAM OPTION WORD: the value of an option; false: it has none that is known here.
_rsm_value() {
    case $2 in
    -o | --only)
        [ "${1##*/}" = rsmperf ] || return 1
        _rsm_list "$(_rsm_operations "$1")"
        ;;
    --api)
        mapfile -t COMPREPLY < <(compgen -W "rsm sisci" -- "$3")
        ;;
    --beside)
        [ "${1##*/}" = rsmperf ] || return 1
        _rsm_list "ucx mpi"
        ;;
    --limit)
        [ "${1##*/}" = rsmperf ] || return 1
        _rsm_list "tcp"
        ;;
    --color)
        mapfile -t COMPREPLY < <(compgen -W "always auto never" -- "$3")
        ;;
    --log-level)
        mapfile -t COMPREPLY < <(compgen -W "error warning info debug" -- "$3")
        ;;
    -*)
        case $(_rsm_metavar "$1" "$2") in
        FILE | file) mapfile -t COMPREPLY < <(compgen -f -- "$3") ;;
        DIR | PATH) mapfile -t COMPREPLY < <(compgen -d -- "$3") ;;
        *) return 1 ;;
        esac
        compopt -o filenames 2>/dev/null
        ;;
    *)
        return 1
        ;;
    esac
    return 0
}

# Called with the program, the word and the one before it.
_rsm() {
    COMPREPLY=()
    _rsm_value "$1" "$3" "$2" && return 0
    case $2 in
    -*) mapfile -t COMPREPLY < <(compgen -W "$(_rsm_options "$1")" -- "$2") ;;
    esac
}

complete -o default -F _rsm rsm-cc # of sources and libraries
complete -F _rsm rsmd rsm-cert rsmstat rsmperf rsmtest scitest rsminfo rsm-transport-check
