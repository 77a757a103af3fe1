/* SPDX-License-Identifier: BSD-3-Clause */
#include "rsmapi/status.h"

#include <stddef.h>

#include "rsm/rsmapi.h"

struct translation {
    enum rsm_status status;
    int error;
};

/* What a status means where its family does not say otherwise. What is missing here cannot be
 * blamed on the caller nor on a peer: it is RSMERR_INTERNAL_ERROR. */
static const struct translation common_errors[] = {
    {RSM_ST_RANGE, RSMERR_BAD_OFFSET},
    {RSM_ST_ALIGNMENT, RSMERR_BAD_MEM_ALIGNMENT},
    {RSM_ST_FAULT, RSMERR_BAD_ADDR},
    {RSM_ST_DENIED, RSMERR_PERM_DENIED},
    {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM},
    {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
    {RSM_ST_TIMEOUT, RSMERR_TIMEOUT},
    {RSM_ST_INTERRUPTED, RSMERR_INTERRUPTED},
    {RSM_ST_BUSY, RSMERR_INSUFFICIENT_RESOURCES},
    {RSM_ST_NOT_FOUND, RSMERR_SEG_NOT_PUBLISHED},
    {RSM_ST_NOT_TO_NODE, RSMERR_SEG_NOT_PUBLISHED_TO_NODE},
    {RSM_ST_ID_IN_USE, RSMERR_SEGID_IN_USE},
    {RSM_ST_NOT_CREATOR, RSMERR_NOT_CREATOR},
    {RSM_ST_BAD_RIGHTS, RSMERR_BAD_ACL},
    {RSM_ST_NOT_PUBLISHED, RSMERR_SEG_NOT_PUBLISHED},
    {RSM_ST_ALREADY_PUBLISHED, RSMERR_SEG_ALREADY_PUBLISHED},
    {RSM_ST_MAP_FAILED, RSMERR_MAP_FAILED},
    {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
    {RSM_ST_STALE, RSMERR_BAD_SEG_HNDL},
    {RSM_ST_NO_CONTROLLER, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_VERSION, RSMERR_BAD_DRIVER_VERSION},
    {RSM_ST_TRANSFER, RSMERR_BARRIER_FAILURE},
};

/* No answer from the node's daemon is no controller. */
static const struct translation controller_errors[] = {
    {RSM_ST_STALE, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_UNREACHABLE, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_TIMEOUT, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_VERSION, RSMERR_BAD_LIBRARY_VERSION},
};

static const struct translation topology_errors[] = {
    {RSM_ST_NO_MEMORY, RSMERR_INSUFFICIENT_MEM},
    {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
};

static const struct translation create_errors[] = {
    {RSM_ST_RANGE, RSMERR_BAD_LENGTH},
    {RSM_ST_STALE, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_UNREACHABLE, RSMERR_CTLR_NOT_PRESENT},
    {RSM_ST_TIMEOUT, RSMERR_CTLR_NOT_PRESENT},
};

/* The access list names a node without a path. */
static const struct translation publish_errors[] = {
    {RSM_ST_NO_ROUTE, RSMERR_INTERNAL_ERROR},
    {RSM_ST_RANGE, RSMERR_BAD_LENGTH},
};

static const struct translation connect_errors[] = {
    {RSM_ST_NO_ROUTE, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_STALE, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_TIMEOUT, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_TRANSFER, RSMERR_CONN_ABORTED},
};

static const struct translation map_errors[] = {
    {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
    {RSM_ST_DENIED, RSMERR_BAD_PERMS},
    {RSM_ST_RANGE, RSMERR_BAD_LENGTH},
    {RSM_ST_NO_MEMORY, RSMERR_BAD_LENGTH},
    {RSM_ST_ALIGNMENT, RSMERR_BAD_MEM_ALIGNMENT},
    {RSM_ST_NO_RESOURCES, RSMERR_INSUFFICIENT_RESOURCES},
    {RSM_ST_INTERRUPTED, RSMERR_CONN_ABORTED},
};

static const struct translation access_errors[] = {
    {RSM_ST_TIMEOUT, RSMERR_BARRIER_FAILURE},
    {RSM_ST_UNREACHABLE, RSMERR_CONN_ABORTED},
    {RSM_ST_STALE, RSMERR_CONN_ABORTED},
};

static const struct translation close_errors[] = {
    {RSM_ST_ABORTED, RSMERR_CONN_ABORTED},
};

/* A segment that has gone has no receiver: the event is lost, and that is no error. */
static const struct translation post_errors[] = {
    {RSM_ST_NOT_FOUND, RSM_SUCCESS},
    {RSM_ST_NOT_PUBLISHED, RSM_SUCCESS},
    {RSM_ST_STALE, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_TIMEOUT, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_NO_ROUTE, RSMERR_REMOTE_NODE_UNREACHABLE},
    {RSM_ST_TRANSFER, RSMERR_CONN_ABORTED},
};

static const struct translation wait_errors[] = {
    {RSM_ST_INVALID, RSMERR_BAD_ARGS_ERRORS},
};

#define TABLE(table) .entries = (table), .count = sizeof(table) / sizeof(table)[0]

static const struct {
    const struct translation *entries;
    size_t count;
    int otherwise; /* for what is not in entries; 0: ask the common table */
} families[] = {
    [RSMAPI_CONTROLLER] = {TABLE(controller_errors)},
    [RSMAPI_TOPOLOGY] = {TABLE(topology_errors), .otherwise = RSMERR_INTERNAL_ERROR},
    [RSMAPI_CREATE] = {TABLE(create_errors)},
    [RSMAPI_PUBLISH] = {TABLE(publish_errors)},
    [RSMAPI_CONNECT] = {TABLE(connect_errors)},
    [RSMAPI_MAP] = {TABLE(map_errors), .otherwise = RSMERR_MAP_FAILED},
    [RSMAPI_ACCESS] = {TABLE(access_errors)},
    [RSMAPI_CLOSE] = {TABLE(close_errors), .otherwise = RSMERR_BARRIER_FAILURE},
    [RSMAPI_ORDER] = {NULL, 0, .otherwise = RSMERR_BARRIER_FAILURE},
    [RSMAPI_POST] = {TABLE(post_errors)},
    [RSMAPI_WAIT] = {TABLE(wait_errors)},
    [RSMAPI_GROUP] = {NULL, 0},
};

static const struct translation *find(const struct translation *entries, size_t count,
                                      enum rsm_status status)
{
    for (size_t i = 0; i < count; i++)
        if (entries[i].status == status)
            return &entries[i];
    return NULL;
}

int rsmapi_error(enum rsmapi_family family, enum rsm_status status)
{
    if (status == RSM_ST_OK)
        return RSM_SUCCESS;
    const struct translation *own = find(families[family].entries, families[family].count, status);
    if (own != NULL)
        return own->error;
    if (families[family].otherwise != 0)
        return families[family].otherwise;
    own = find(common_errors, sizeof common_errors / sizeof common_errors[0], status);
    return own != NULL ? own->error : RSMERR_INTERNAL_ERROR;
}
