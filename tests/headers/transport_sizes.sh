#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# transport_sizes.sh HEADER LIST: LIST (transport_sizes.c) names every structure of HEADER once, and those
# that never grow are those that say so.
set -eu
header=$1 list=$2
work=$(mktemp -d "${TMPDIR:-/tmp}/rsm-sizes.XXXXXX")
trap 'rm -rf "$work"' EXIT

sed -n 's/^struct \(rsm_[a-z_]*\) {$/\1/p' "$header" | sort >"$work/there"
sed -n 's/^[A-Z_]*(\(rsm_[a-z_]*\)[,)].*/\1/p' "$list" | sort >"$work/listed"
[ "$(wc -l <"$work/there")" -gt 20 ] || {
    echo "few structures found in $header"
    exit 1
}
diff "$work/there" "$work/listed" || {
    echo "< only in the header, > only in the list"
    exit 1
}

# The comment that ends right before a structure, or at its first line.
awk '/^\/\*\*/ { says = 0 } /Never grows/ { says = 1 }
     /^struct rsm_[a-z_]* \{$/ { if (says) print $2; says = 0 }' "$header" | sort >"$work/said"
sed -n 's/^NEVER_GROWS(\(rsm_[a-z_]*\),.*/\1/p' "$list" | sort >"$work/never"
diff "$work/said" "$work/never" || {
    echo "< says that it never grows, > is listed so"
    exit 1
}
