/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Decisions about who may connect to a published segment. No state, no I/O. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "protocol/proto.h"

/** A process as the kernel describes it. */
struct rsmd_identity {
    pid_t pid; /**< 0: not known */
    uid_t uid;
    gid_t gid;
    const gid_t *groups; /**< supplementary groups */
    size_t group_count;
};

/** To what extent a daemon serves the clients of a user. */
enum rsmd_service {
    RSMD_SERVICE_NONE, /**< not at all */
    RSMD_SERVICE_LOOK, /**< they may inspect the node, and own nothing */
    RSMD_SERVICE_ALL,
};

/**
 * To what extent a daemon that serves only user @p owner serves clients of user @p uid. Root may
 * inspect the node, as rsmstat(1) does, and no more: a process of root that wants memory of a
 * user's node has connected by mistake.
 */
enum rsmd_service rsmd_access_service(uid_t owner, uid_t uid);

/** What a publication grants, and whose segment it is. */
struct rsmd_access {
    uid_t uid; /**< recorded when the segment was created */
    gid_t gid;
    uint32_t mode;      /**< owner, group, other digits; decides when there is no list */
    uint32_t acl_count; /**< 0: all nodes, with `mode` */
    struct rsm_acl_entry acl[RSM_PROTO_ACL_MAX];
};

/**
 * Check an access list given at publish or republish.
 * @param loopback  the segment was exported on a loopback controller: the list may name at most the
 *                  local node.
 * @return RSM_ST_OK or RSM_ST_BAD_RIGHTS.
 */
enum rsm_status rsmd_access_check_list(const struct rsm_acl_entry *acl, uint32_t count,
                                       bool loopback, uint32_t own_node);

/**
 * Decide whether @p who of @p node may connect with @p rights (RSM_RIGHT_*, may be 0).
 * @return RSM_ST_OK; RSM_ST_NOT_TO_NODE: a list without that node; RSM_ST_DENIED: the one digit
 *         that applies to this user does not grant all that is wanted.
 */
enum rsm_status rsmd_access_decide(const struct rsmd_access *access, uint32_t node,
                                   const struct rsmd_identity *who, uint32_t rights);
