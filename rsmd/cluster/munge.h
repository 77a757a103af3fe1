/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * MUNGE, by its library, which is loaded at run time: a node without other hosts needs none. Making
 * and checking credentials calls munged and may block: not from the event loop.
 */
#ifndef RSMD_CLUSTER_MUNGE_H
#define RSMD_CLUSTER_MUNGE_H

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct rsmd_munge;

/** The library's name, without directory: the loader looks where it always does. */
#define RSMD_MUNGE_LIBRARY "libmunge.so.2"

/** The content of a credential, and its maker. */
struct rsmd_munge_content {
    uint8_t payload[512];
    size_t length;
    uid_t uid;
};

/** Load the library. It stays loaded. @p socket: munged's, "" for its usual one; must stay valid.
 *  NULL: @p why has the reason. */
struct rsmd_munge *rsmd_munge_load(const char *library, const char *socket, char *why,
                                   size_t why_size);
void rsmd_munge_free(struct rsmd_munge *munge);

/** Make a credential of at most @p capacity bytes, NUL included. Returns its length without NUL, or
 *  0: @p why has the reason. */
size_t rsmd_munge_encode(const struct rsmd_munge *munge, const void *payload, size_t length,
                         char *credential, size_t capacity, char *why, size_t why_size);

enum rsmd_munge_verdict {
    RSMD_MUNGE_GOOD,
    RSMD_MUNGE_BAD,    /* the credential is invalid, @p why has the reason */
    RSMD_MUNGE_BROKEN, /* it could not be checked */
};

/** Check a NUL-terminated credential. */
enum rsmd_munge_verdict rsmd_munge_decode(const struct rsmd_munge *munge, const char *credential,
                                          struct rsmd_munge_content *content, char *why,
                                          size_t why_size);

#endif
