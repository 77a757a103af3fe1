/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The descriptor guard. The RDMA libraries open descriptors that cannot be moved afterwards.
 *  In a program that has closed a standard stream they would get its number, and the program would
 *  read from or write to the device. */
#pragma once

/** Keep descriptors 0, 1 and 2 from being given to what is opened until the matching
 *  verbs_fd_guard_end(): those that are closed are opened on /dev/null. Sections may nest and
 *  overlap in several threads. If /dev/null cannot be opened, the descriptors stay as they are. A
 *  child of fork() starts outside of all sections, with the descriptors of the guard closed. */
void verbs_fd_guard_begin(void);
/** End a section; the end of the last one closes what the guard has opened. */
void verbs_fd_guard_end(void);
