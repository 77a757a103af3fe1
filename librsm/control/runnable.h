/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether a daemon that does not answer waits for a processor. */
#pragma once

#include <stdbool.h>

/**
 * Whether the process at the other end of a socket, as it was when it connected or listened, is
 * ready to run: it has something to do, and does it or waits for a processor. One that sleeps, has
 * been stopped or has ended is not, nor is one that cannot be seen: of another pid name space, of
 * another host, or where /proc is hidden. Takes some system calls, and allocates nothing.
 */
bool rsmcore_peer_is_runnable(int socket);
