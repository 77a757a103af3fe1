/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A helper of rsmd, as rsmd sees it: a process without privileges that does what rsmd's own
 *  loop must not do, and a socket to it (base/packet.h). What the helper does first is in
 *  helper/program.h. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct rsm_helper {
    pid_t pid;   /**< 0: it does not run */
    int control; /**< the socket to it, of type SOCK_SEQPACKET; -1 */
    int process; /**< pidfd, readable once it has ended; -1 */
};

#define RSM_HELPER_NONE ((struct rsm_helper){.control = -1, .process = -1})

/**
 * Start a program as a helper: with the socket as descriptor 3, no other descriptor but the
 * standard ones, no signal blocked or ignored, and no environment.
 * @param argument  its only one; NULL: none.
 * @return 0, or an errno value: it does not run.
 */
int rsm_helper_start(struct rsm_helper *helper, const char *path, const char *argument);

/**
 * End it: close the socket, upon which it ends by itself, and wait for that. If it does not, or
 * with @p at_once, kill it. Takes 1 s at most: rsmd may lack the privilege to kill a process of
 * another user.
 * @return whether it has ended. If not, it is not watched any more.
 */
bool rsm_helper_end(struct rsm_helper *helper, bool at_once);
