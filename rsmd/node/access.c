/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/access.h"

#define PERMISSION_MAX 0666u

enum rsm_status rsmd_access_check_list(const struct rsm_acl_entry *acl, uint32_t count,
                                       bool loopback, uint32_t own_node)
{
    if (count > (loopback ? 1u : (uint32_t)RSM_PROTO_ACL_MAX))
        return RSM_ST_BAD_RIGHTS;
    for (uint32_t i = 0; i < count; i++) {
        if (acl[i].node > RSM_NODE_ID_MAX || (loopback && acl[i].node != own_node))
            return RSM_ST_BAD_RIGHTS;
        /* Compares numbers, not bits: 0577 is accepted, and its stray bits mean nothing.
         */
        if (acl[i].permission > PERMISSION_MAX)
            return RSM_ST_BAD_RIGHTS;
    }
    return RSM_ST_OK;
}

enum rsmd_service rsmd_access_service(uid_t owner, uid_t uid)
{
    if (uid == owner)
        return RSMD_SERVICE_ALL;
    return uid == 0 ? RSMD_SERVICE_LOOK : RSMD_SERVICE_NONE;
}

static const struct rsm_acl_entry *entry_for(const struct rsmd_access *access, uint32_t node)
{
    for (uint32_t i = 0; i < access->acl_count; i++)
        if (access->acl[i].node == node)
            return &access->acl[i];
    return NULL;
}

static bool in_group(const struct rsmd_identity *who, gid_t group)
{
    if (who->gid == group)
        return true;
    for (size_t i = 0; i < who->group_count; i++)
        if (who->groups[i] == group)
            return true;
    return false;
}

/* Exactly one digit applies: an owner that the owner digit refuses is refused, whatever the others
 * grant. */
static uint32_t digit_for(const struct rsmd_access *access, uint32_t permission,
                          const struct rsmd_identity *who)
{
    unsigned shift = 0;
    if (who->uid == access->uid)
        shift = 6;
    else if (in_group(who, access->gid))
        shift = 3;
    return (permission >> shift) & (RSM_RIGHT_READ | RSM_RIGHT_WRITE);
}

enum rsm_status rsmd_access_decide(const struct rsmd_access *access, uint32_t node,
                                   const struct rsmd_identity *who, uint32_t rights)
{
    uint32_t permission = access->mode;
    if (access->acl_count > 0) {
        const struct rsm_acl_entry *entry = entry_for(access, node);
        if (entry == NULL)
            return RSM_ST_NOT_TO_NODE;
        permission = entry->permission;
    }
    if ((rights & ~(RSM_RIGHT_READ | RSM_RIGHT_WRITE)) != 0)
        return RSM_ST_DENIED;
    if (who->uid == 0)
        return RSM_ST_OK;
    uint32_t granted = digit_for(access, permission, who);
    return (rights & ~granted) == 0 ? RSM_ST_OK : RSM_ST_DENIED;
}
