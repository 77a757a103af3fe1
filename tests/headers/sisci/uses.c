/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 5 to 8: values, case labels, and a macro around calls. */
#include <sisci_api.h>

/* Fails to compile unless it holds; a plain C99 assertion. */
#define HOLDS(name, condition) typedef char holds_##name[(condition) ? 1 : -1]

HOLDS(ok, SCI_ERR_OK == 0 && (int)SCI_SEQ_OK == 0 && (int)SCI_DMAQUEUE_IDLE == 0);
HOLDS(timeout, SCI_ERR_TIMEOUT == 0x4000090a);
HOLDS(segment, SCI_ERR_NO_SUCH_SEGMENT == SCI_ERR_NO_SUCH_INTNO);
HOLDS(segment_value, SCI_ERR_NO_SUCH_SEGMENT == 0x4000090c);
HOLDS(busy, SCI_ERR_EWOULD_BLOCK == SCI_ERR_REMOTE_BUSY);
HOLDS(mask, SCI_ERR_MASK == SISCI_ERR_MASK && SCI_ERR_BUSY == (SISCI_ERR_MASK | 0x900));
HOLDS(transfer, SCI_ERR_TRANSFER_FAILED == 0x40000a06 && SCI_ERR_ACCESS == 0x40000921);
HOLDS(reasons, SCI_CB_CONNECT == 1 && SCI_CB_LOST == 5 && MAX_CB_REASON == SCI_CB_LOST);
HOLDS(states, SCI_DMAQUEUE_GATHER == 1 && SCI_DMAQUEUE_POSTED == 2 && SCI_DMAQUEUE_DONE == 3 &&
                  SCI_DMAQUEUE_ABORTED == 4 && SCI_DMAQUEUE_ERROR == 5);
HOLDS(sequence, SCI_SEQ_RETRIABLE == 1 && SCI_SEQ_NOT_RETRIABLE == 2 && SCI_SEQ_PENDING == 3);
HOLDS(actions, SCI_CALLBACK_CANCEL == 1 && SCI_CALLBACK_CONTINUE == 2);
HOLDS(flags, SCI_FLAG_USE_CALLBACK == 0x1 && SCI_FLAG_EMPTY == 0x2 && SCI_FLAG_PRIVATE == 0x4 &&
                 SCI_FLAG_FIXED_INTNO == 0x2 && SCI_FLAG_DMA_READ == 0x10 &&
                 SCI_FLAG_AUTO_ID == 0x20000000 && SCI_FLAG_BROADCAST == 0x40000);
HOLDS(constants, SCI_INFINITE_TIMEOUT == 0xffffffff && DIS_BROADCAST_NODEID_GROUP_ALL == 252 &&
                     DIS_DMA_MAX_VECLEN == 256);
HOLDS(address, sizeof(sci_ioaddr_t) == 8 && sizeof(sci_address_t) == 8);
HOLDS(list, sizeof(dis_nodeId_list_t) >= 16 * sizeof(unsigned));

#ifdef __cplusplus
extern "C" {
#endif
const char *name_of(sci_error_t error);
/* All of them in one switch: they differ. */
const char *name_of(sci_error_t error)
{
    switch (error) {
    case SCI_ERR_OK:
    case SCI_ERR_BUSY:
    case SCI_ERR_FLAG_NOT_IMPLEMENTED:
    case SCI_ERR_ILLEGAL_FLAG:
    case SCI_ERR_NOSPC:
    case SCI_ERR_API_NOSPC:
    case SCI_ERR_HW_NOSPC:
    case SCI_ERR_NOT_IMPLEMENTED:
    case SCI_ERR_ILLEGAL_ADAPTERNO:
    case SCI_ERR_NO_SUCH_ADAPTERNO:
    case SCI_ERR_TIMEOUT:
    case SCI_ERR_OUT_OF_RANGE:
    case SCI_ERR_NO_SUCH_SEGMENT:
    case SCI_ERR_ILLEGAL_NODEID:
    case SCI_ERR_CONNECTION_REFUSED:
    case SCI_ERR_SEGMENT_NOT_CONNECTED:
    case SCI_ERR_SIZE_ALIGNMENT:
    case SCI_ERR_OFFSET_ALIGNMENT:
    case SCI_ERR_ILLEGAL_PARAMETER:
    case SCI_ERR_MAX_ENTRIES:
    case SCI_ERR_SEGMENT_NOT_PREPARED:
    case SCI_ERR_ILLEGAL_ADDRESS:
    case SCI_ERR_ILLEGAL_OPERATION:
    case SCI_ERR_ILLEGAL_QUERY:
    case SCI_ERR_SEGMENTID_USED:
    case SCI_ERR_SYSTEM:
    case SCI_ERR_CANCELLED:
    case SCI_ERR_NOT_CONNECTED:
    case SCI_ERR_NOT_AVAILABLE:
    case SCI_ERR_INCONSISTENT_VERSIONS:
    case SCI_ERR_COND_INT_RACE_PROBLEM:
    case SCI_ERR_OVERFLOW:
    case SCI_ERR_NOT_INITIALIZED:
    case SCI_ERR_ACCESS:
    case SCI_ERR_NOT_SUPPORTED:
    case SCI_ERR_DEPRECATED:
    case SCI_ERR_DMA_NOT_AVAILABLE:
    case SCI_ERR_DMA_DISABLED:
    case SCI_ERR_NO_SUCH_NODEID:
    case SCI_ERR_NODE_NOT_RESPONDING:
    case SCI_ERR_NO_REMOTE_LINK_ACCESS:
    case SCI_ERR_NO_LINK_ACCESS:
    case SCI_ERR_TRANSFER_FAILED:
    case SCI_ERR_EWOULD_BLOCK:
    case SCI_ERR_SEMAPHORE_COUNT_EXCEEDED:
    case SCI_ERR_IRQL_ILLEGAL:
    case SCI_ERR_LOCAL_BUSY:
    case SCI_ERR_ALL_BUSY:
    case SCI_ERR_NO_SUCH_FDID:
        break;
    }
    return SCIGetErrorString(error);
}

#define TRY(function, ...) function(__VA_ARGS__, &error)
int calls(unsigned char *bytes);
int calls(unsigned char *bytes)
{
    sci_error_t error;
    sci_desc_t desc;
    sci_local_interrupt_t interrupt;
    sci_remote_data_interrupt_t remote;
    unsigned int number = 1;
    sci_query_adapter_t query = {0, 0, SCI_Q_ADAPTER_NODEID, 0};
    sci_sequence_t sequence = NULL;
    void (*barrier)(sci_sequence_t, unsigned int) = SCIStoreBarrier;
    query.data = &number;
    TRY(SCIInitialize, 0);
    TRY(SCIOpen, &desc, 0);
    TRY(SCIQuery, SCI_Q_ADAPTER, &query, 0);
    TRY(SCICreateInterrupt, desc, &interrupt, 0, &number, 0, 0, SCI_FLAG_FIXED_INTNO);
    TRY(SCIWaitForInterrupt, interrupt, SCI_INFINITE_TIMEOUT, 0);
    TRY(SCIConnectDataInterrupt, desc, &remote, 4, 0, number, 0, 0);
    TRY(SCITriggerDataInterrupt, remote, bytes, 1, 0);
    SCIStoreBarrier(sequence, 0);
    barrier(sequence, 0);
    TRY(SCIStoreBarrier, sequence, 0); /* as before API version 1.10 */
    TRY(SCIClose, desc, 0);
    SCITerminate();
    return TRY(SCIProbeNode, desc, 0, 4, 0) && error == SCI_ERR(0x4000090a);
}
#ifdef __cplusplus
}
#endif
