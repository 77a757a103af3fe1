/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The process rsm-tlsd: its start, its end, and the files that it gets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rsmd_conf;

struct rsmd_tls_child {
    pid_t pid;   /* 0: it does not run */
    int control; /* the socket to it */
    int process; /* pidfd */
};

/** False: @p why has the reason. */
bool rsmd_tls_child_start(struct rsmd_tls_child *child, char *why, size_t why_size);

/** Close the socket, upon which it ends, and wait for that, for a moment; then kill it. */
void rsmd_tls_child_end(struct rsmd_tls_child *child);

/** Have it read the files of a node. False: @p why has the reason, which names the file. */
bool rsmd_tls_child_load(const struct rsmd_tls_child *child, const struct rsmd_conf *conf,
                         uint32_t node, char *why, size_t why_size);
