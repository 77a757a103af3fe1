/* SPDX-License-Identifier: BSD-3-Clause */
/* Translation of the core's status, SCIGetErrorString() */
#include "error.h"

#include <stddef.h>

#include "export.h"

struct translation {
    enum rsm_status status;
    sci_error_t error;
};

/* What a status means where its family does not say otherwise. */
static const struct translation common[] = {
    {RSM_ST_RANGE, SCI_ERR_OUT_OF_RANGE},
    {RSM_ST_ALIGNMENT, SCI_ERR_SIZE_ALIGNMENT},
    {RSM_ST_FAULT, SCI_ERR_ILLEGAL_ADDRESS},
    {RSM_ST_DENIED, SCI_ERR_ACCESS},
    {RSM_ST_NO_MEMORY, SCI_ERR_NOSPC},
    {RSM_ST_NO_RESOURCES, SCI_ERR_NOSPC},
    {RSM_ST_UNSUPPORTED, SCI_ERR_NOT_SUPPORTED},
    {RSM_ST_TIMEOUT, SCI_ERR_TIMEOUT},
    {RSM_ST_BUSY, SCI_ERR_BUSY},
    {RSM_ST_NOT_FOUND, SCI_ERR_NO_SUCH_SEGMENT}, /* of interrupts too: SCI_ERR_NO_SUCH_INTNO */
    {RSM_ST_ID_IN_USE, SCI_ERR_SEGMENTID_USED},
    {RSM_ST_NO_CONTROLLER, SCI_ERR_NO_SUCH_ADAPTERNO},
    {RSM_ST_VERSION, SCI_ERR_INCONSISTENT_VERSIONS},
    {RSM_ST_TRANSFER, SCI_ERR_TRANSFER_FAILED},
};

/* A node that does not answer gets the error of one whose programs have not started yet, because
 * programs that poll until a segment is available give up on any other error. */
static const struct translation of_connect[] = {
    {RSM_ST_UNREACHABLE, SCI_ERR_NO_SUCH_SEGMENT}, {RSM_ST_TIMEOUT, SCI_ERR_NO_SUCH_SEGMENT},
    {RSM_ST_ABORTED, SCI_ERR_NO_SUCH_SEGMENT},     {RSM_ST_NO_ROUTE, SCI_ERR_NO_SUCH_NODEID},
    {RSM_ST_DENIED, SCI_ERR_CONNECTION_REFUSED},   {RSM_ST_NOT_TO_NODE, SCI_ERR_CONNECTION_REFUSED},
};

static const struct translation of_transfer[] = {
    {RSM_ST_NOT_FOUND, SCI_ERR_NOT_CONNECTED},
    {RSM_ST_ABORTED, SCI_ERR_NOT_CONNECTED},
    {RSM_ST_STALE, SCI_ERR_NOT_CONNECTED},
    {RSM_ST_UNREACHABLE, SCI_ERR_NODE_NOT_RESPONDING},
    {RSM_ST_NO_ROUTE, SCI_ERR_NODE_NOT_RESPONDING},
    {RSM_ST_TIMEOUT, SCI_ERR_NODE_NOT_RESPONDING},
};

static const struct translation of_wait[] = {
    {RSM_ST_STALE, SCI_ERR_CANCELLED},
    {RSM_ST_ABORTED, SCI_ERR_CANCELLED},
};

#define TABLE(table)                                                                               \
    {                                                                                              \
        (table), sizeof(table) / sizeof(table)[0]                                                  \
    }

static const struct table {
    const struct translation *entries;
    size_t count;
} families[] =
    {
        [SISCI_CONNECT] = TABLE(of_connect),
        [SISCI_TRANSFER] = TABLE(of_transfer),
        [SISCI_WAIT] = TABLE(of_wait),
        [SISCI_LOCAL] = {NULL, 0},
},
  common_table = TABLE(common);

static const struct translation *find(const struct table *table, enum rsm_status status)
{
    for (size_t i = 0; i < table->count; i++)
        if (table->entries[i].status == status)
            return &table->entries[i];
    return NULL;
}

sci_error_t sisci_error(enum sisci_family family, enum rsm_status status)
{
    if (status == RSM_ST_OK)
        return SCI_ERR_OK;
    const struct translation *found = find(&families[family], status);
    if (found == NULL)
        found = find(&common_table, status);
    return found != NULL ? found->error : SCI_ERR_SYSTEM;
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
