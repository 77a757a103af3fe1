/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What a process gets from the one that started it, and what of that the daemon keeps. An embedded
 * daemon is started by whichever program of its user came first, and serves the others, too: what
 * was set for that program alone must not hold them up or end their connections.
 */
#ifndef RSMD_INHERITANCE_H
#define RSMD_INHERITANCE_H

/** Make sure that descriptors 0 to 2 are open, so that none of ours is ever taken for them. */
void rsmd_inherit_stdio(void);

/** Close all descriptors above 2 but @p ready_fd (-1: none). */
void rsmd_inherit_no_descriptors(int ready_fd);

/** No signal is blocked, and all have their default action but those that would end the daemon for
 *  what somebody else did: SIGPIPE and SIGHUP, and SIGXFSZ and SIGXCPU of resource limits. */
void rsmd_inherit_no_signals(void);

/**
 * Raise the soft resource limits to the hard ones: descriptors, size of files (memfds have it),
 * processor time, memory, locked memory, threads. What cannot be raised stays. The limits of the
 * stack and of core dumps stay, too.
 */
void rsmd_raise_limits(void);

/** Run on all processors, by the ordinary scheduling policy, and not below the ordinary priority as
 *  far as the system lets us. */
void rsmd_inherit_no_schedule(void);

#endif
