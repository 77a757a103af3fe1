#!/bin/bash
# SPDX-License-Identifier: BSD-3-Clause
#
# lintian.sh FOLDER: lintian on the packages of FOLDER. Its remarks count, too, and so does an override that nothing needs
# any more. What a later lintian than Debian 12's says of things that only the earlier one knows is left out: an override
# of a remark that it does not make, and the version of the policy; and that libsisci1 has no fortified functions, because
# the compiler there has checked all its calls when it compiled them.
set -eu
options=()
if dpkg --compare-versions "$(dpkg-query -W -f='${Version}' lintian)" gt 2.117; then
    options=(--suppress-tags "alien-tag,out-of-date-standards-version,hardening-no-fortify-functions")
fi
echo "lintian ${options[*]}"
exec lintian --allow-root --pedantic --display-info --fail-on error,warning,info,pedantic "${options[@]}" "$1"/*.changes
