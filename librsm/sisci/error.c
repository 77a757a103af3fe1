/* SPDX-License-Identifier: BSD-3-Clause */
/* Translation of the core's status, SCIGetErrorString() */
#include "error.h"

#include <stddef.h>

#include "export.h"

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

/* A node that does not answer gets the error of one whose programs have not started yet, because
 * programs that poll until a segment is available give up on any other error. */
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

/* Of two names of one value the one of the wider meaning. */
/* clang-format off */
#define EACH_ERROR(X) \
    X(OK) X(BUSY) X(FLAG_NOT_IMPLEMENTED) X(ILLEGAL_FLAG) X(NOSPC) X(API_NOSPC) X(HW_NOSPC) \
    X(NOT_IMPLEMENTED) X(ILLEGAL_ADAPTERNO) X(NO_SUCH_ADAPTERNO) X(TIMEOUT) X(OUT_OF_RANGE) \
    X(NO_SUCH_SEGMENT) X(ILLEGAL_NODEID) X(CONNECTION_REFUSED) X(SEGMENT_NOT_CONNECTED) \
    X(SIZE_ALIGNMENT) X(OFFSET_ALIGNMENT) X(ILLEGAL_PARAMETER) X(MAX_ENTRIES) \
    X(SEGMENT_NOT_PREPARED) X(ILLEGAL_ADDRESS) X(ILLEGAL_OPERATION) X(ILLEGAL_QUERY) \
    X(SEGMENTID_USED) X(SYSTEM) X(CANCELLED) X(NOT_CONNECTED) X(NOT_AVAILABLE) \
    X(INCONSISTENT_VERSIONS) X(COND_INT_RACE_PROBLEM) X(OVERFLOW) X(NOT_INITIALIZED) X(ACCESS) \
    X(NOT_SUPPORTED) X(DEPRECATED) X(DMA_NOT_AVAILABLE) X(DMA_DISABLED) X(NO_SUCH_NODEID) \
    X(NODE_NOT_RESPONDING) X(NO_REMOTE_LINK_ACCESS) X(NO_LINK_ACCESS) X(TRANSFER_FAILED) \
    X(EWOULD_BLOCK) X(SEMAPHORE_COUNT_EXCEEDED) X(IRQL_ILLEGAL) X(LOCAL_BUSY) X(ALL_BUSY) \
    X(NO_SUCH_FDID)
/* clang-format on */

SISCI_API(const char *, SCIGetErrorString)(sci_error_t error)
{
#define CASE(name)                                                                                 \
    case SCI_ERR_##name:                                                                           \
        return "SCI_ERR_" #name;
    switch (error) {
        EACH_ERROR(CASE)
    default:
        break;
    }
#undef CASE
    return "unknown SISCI error";
}
