/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsmapi/acl.h"

#include <errno.h>
#include <string.h>
#include <sys/uio.h>
#include <unistd.h>

#include "core/controller.h"
#include "rsmapi/node.h"

enum {
    PERMISSION_MAX = 0666, /* compared as a number */
    PERMISSION_BITS = 0666,
};

/* Copy from an address that a program gave, which may lead nowhere. */
static bool read_guarded(void *to, const void *from, size_t length)
{
    struct iovec local = {.iov_base = to, .iov_len = length};
    struct iovec remote = {.iov_len = length};
    memcpy(&remote.iov_base, &from, sizeof from); /* read only, whatever the type says */
    ssize_t copied = process_vm_readv(getpid(), &local, 1, &remote, 1, 0);
    if (copied < 0 && errno != EFAULT && errno != ENOMEM) {
        /* This kernel or sandbox does not offer the call: trust the address. */
        memcpy(to, from, length);
        return true;
    }
    return copied == (ssize_t)length;
}

static int check_entry(const rsmapi_access_entry_t *entry)
{
    return entry->ae_node <= RSMAPI_NODE_ID_MAX && entry->ae_permission <= PERMISSION_MAX
               ? RSM_SUCCESS
               : RSMERR_BAD_ACL;
}

static bool names_own_node(const rsmapi_access_entry_t *entry)
{
    uint32_t own;
    return rsmcore_local_node(&own) == RSM_ST_OK && entry->ae_node == own;
}

int rsmapi_acl_read(const rsmapi_access_entry_t *list, uint32_t count, bool loopback,
                    struct rsm_acl_entry *acl)
{
    rsmapi_access_entry_t copy[RSM_PROTO_ACL_MAX];
    if (count == 0)
        return RSM_SUCCESS;
    if (count > (loopback ? 1 : RSM_PROTO_ACL_MAX))
        return RSMERR_BAD_ACL;
    if (!read_guarded(copy, list, count * sizeof copy[0]))
        return RSMERR_BAD_ADDR;
    for (uint32_t i = 0; i < count; i++) {
        if (check_entry(&copy[i]) != RSM_SUCCESS)
            return RSMERR_BAD_ACL;
        acl[i].node = copy[i].ae_node;
        acl[i].permission = copy[i].ae_permission & PERMISSION_BITS;
    }
    return loopback && !names_own_node(&copy[0]) ? RSMERR_BAD_ACL : RSM_SUCCESS;
}
