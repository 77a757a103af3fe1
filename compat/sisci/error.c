/* SPDX-License-Identifier: BSD-3-Clause */
/* Translation of the core's status, SCIGetErrorString() */
#include "error.h"

#include <stddef.h>

static sci_error_t common_error(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_OK:
        return SCI_ERR_OK;
    case RSM_ST_RANGE:
        return SCI_ERR_OUT_OF_RANGE;
    case RSM_ST_ALIGNMENT:
        return SCI_ERR_SIZE_ALIGNMENT;
    case RSM_ST_FAULT:
        return SCI_ERR_ILLEGAL_ADDRESS;
    case RSM_ST_DENIED:
        return SCI_ERR_ACCESS;
    case RSM_ST_NO_MEMORY:
    case RSM_ST_NO_RESOURCES:
        return SCI_ERR_NOSPC;
    case RSM_ST_UNSUPPORTED:
        return SCI_ERR_NOT_SUPPORTED;
    case RSM_ST_TIMEOUT:
        return SCI_ERR_TIMEOUT;
    case RSM_ST_BUSY:
        return SCI_ERR_BUSY;
    case RSM_ST_NOT_FOUND:
        return SCI_ERR_NO_SUCH_SEGMENT; /* of interrupts too: SCI_ERR_NO_SUCH_INTNO */
    case RSM_ST_ID_IN_USE:
        return SCI_ERR_SEGMENTID_USED;
    case RSM_ST_NO_CONTROLLER:
        return SCI_ERR_NO_SUCH_ADAPTERNO;
    case RSM_ST_VERSION:
        return SCI_ERR_INCONSISTENT_VERSIONS;
    case RSM_ST_TRANSFER:
        return SCI_ERR_TRANSFER_FAILED;
    default:
        return SCI_ERR_SYSTEM;
    }
}

/* A node that does not answer looks like one whose programs have not started yet: those who poll
 * until something is available give up on anything else. */
static sci_error_t connect_error(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_UNREACHABLE:
    case RSM_ST_TIMEOUT:
    case RSM_ST_ABORTED:
        return SCI_ERR_NO_SUCH_SEGMENT;
    case RSM_ST_NO_ROUTE:
        return SCI_ERR_NO_SUCH_NODEID;
    case RSM_ST_DENIED:
    case RSM_ST_NOT_TO_NODE:
        return SCI_ERR_CONNECTION_REFUSED;
    default:
        return common_error(status);
    }
}

static sci_error_t transfer_error(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_NOT_FOUND:
    case RSM_ST_ABORTED:
    case RSM_ST_STALE:
        return SCI_ERR_NOT_CONNECTED;
    case RSM_ST_UNREACHABLE:
    case RSM_ST_NO_ROUTE:
    case RSM_ST_TIMEOUT:
        return SCI_ERR_NODE_NOT_RESPONDING;
    default:
        return common_error(status);
    }
}

static sci_error_t wait_error(enum rsm_status status)
{
    switch (status) {
    case RSM_ST_STALE:
    case RSM_ST_ABORTED:
        return SCI_ERR_CANCELLED;
    default:
        return common_error(status);
    }
}

sci_error_t sisci_error(enum sisci_family family, enum rsm_status status)
{
    switch (family) {
    case SISCI_CONNECT:
        return connect_error(status);
    case SISCI_TRANSFER:
        return transfer_error(status);
    case SISCI_WAIT:
        return wait_error(status);
    case SISCI_LOCAL:
        break;
    }
    return common_error(status);
}
