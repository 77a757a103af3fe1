#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# possible.sh LITMUS COMMAND...: a command for which RSM_MAP_MODE and RSM_MAP_TRAP have to be possible here, as a litmus
# program finds out; else that says why not, and the status is 77.
"$1" --possible || exit
shift
exec "$@"
