/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Who may access a segment: access lists as programs hand them to publish and republish, and
 *  the umask. */
#pragma once

#include <stdbool.h>

#include "core/export.h"
#include "rsm/rsmapi.h"

/**
 * Copy @p count entries of a program's list to @p acl, which has RSM_PROTO_ACL_MAX, checking them.
 * @param loopback  the segment is on loopback: at most one entry, for the local node.
 * @return RSM_SUCCESS; RSMERR_BAD_ACL; RSMERR_BAD_ADDR: the list cannot be read.
 */
int rsmapi_acl_read(const rsmapi_access_entry_t *list, uint32_t count, bool loopback,
                    struct rsm_acl_entry *acl);

/** The process's umask, 0 to 0777, read without changing it: umask(2) can only swap it, which files
 *  that other threads create would feel. */
unsigned rsmapi_umask(void);
