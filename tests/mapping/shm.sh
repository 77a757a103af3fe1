#!/bin/sh
# SPDX-License-Identifier: BSD-3-Clause
# shm.sh PROGRAM [ARGUMENT...]: run a program of RSMAPI over shm without direct mapping, on nodes of
# its own.
. "$(dirname "$0")/../published/private_node.sh"

RSM_SHM_DIRECT=0
export RSM_SHM_DIRECT
private_node_begin
"$@" || exit
private_node_finished
