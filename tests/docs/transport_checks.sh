#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
# transport_checks.sh PROGRAM SOURCE_DIR: the table of direct checks in doc/transports.md is that of the program, and
# the sentence that each holds is in the contract: that page or transport.h.
set -u
page=$2/doc/transports.md
listed=$("$1" --list --area D | sed -n 's/^\(D-[0-9]*\)  \(.*\)/| \1 | \2 |/p')
table=$(grep '^| D-[0-9]' "$page")
if [ -z "$listed" ] || [ "$listed" != "$table" ]; then
    echo "checks of the program (left) and of the page (right) differ:"
    diff <(echo "$listed") <(echo "$table")
    exit 1
fi
contract=$(sed 's/^ *\(\/\*\*\|\*\)\( \|$\)//' "$2/include/rsm/transport.h" "$page" | tr '\n' ' ' | tr -s ' ')
bad=0
while IFS= read -r sentence; do
    case $contract in
    *"$sentence"*) ;;
    *)
        echo "not in the contract: $sentence"
        bad=1
        ;;
    esac
done < <("$1" --list --area D | sed -n 's/^      //p')
[ "$("$1" --list --area D | grep -c '^      ')" -eq "$(wc -l <<<"$listed")" ] || {
    echo "a check without a sentence"
    bad=1
}
exit $bad
