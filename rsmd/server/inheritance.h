/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The attributes that the daemon inherits, and which it resets. The first program of a user starts
 * the embedded daemon, which serves the others, too: settings of that program must not delay them
 * or end their connections.
 */
#pragma once

/** Make sure that descriptors 0 to 2 are open, so that no other file gets these numbers. */
void rsmd_inherit_stdio(void);

/** Close all descriptors above 2 but @p ready_fd (-1: none). */
void rsmd_inherit_no_descriptors(int ready_fd);

/** Unblock all signals and reset their actions. Ignore those by which other processes or resource
 *  limits would end the daemon: SIGPIPE and SIGHUP, SIGXFSZ and SIGXCPU. */
void rsmd_inherit_no_signals(void);

/**
 * Raise the soft resource limits to the hard ones: descriptors, size of files (memfds have it),
 * processor time, memory, locked memory, threads. What cannot be raised stays. The limits of the
 * stack and of core dumps stay, too.
 */
void rsmd_raise_limits(void);

/** Run on all processors, with the default scheduling policy, and with at least the default
 *  priority if the system permits it. */
void rsmd_inherit_no_schedule(void);
