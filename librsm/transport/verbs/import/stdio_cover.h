/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The RDMA libraries open descriptors that cannot be moved afterwards. In a program that has closed
 * a standard stream they would take its place, and be written to as if they were it.
 */
#ifndef RSM_TRANSPORT_VERBS_STDIO_COVER_H
#define RSM_TRANSPORT_VERBS_STDIO_COVER_H

/** Until the matching verbs_stdio_uncover() descriptors 0, 1 and 2 are all open, the missing ones
 * on /dev/null, so that nothing new gets their numbers. Nests; thread-safe. Where /dev/null cannot
 * be opened they stay as they are. */
void verbs_stdio_cover(void);
void verbs_stdio_uncover(void);

#endif
