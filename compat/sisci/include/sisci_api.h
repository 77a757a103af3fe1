/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The SISCI API, as librsm implements it: functions, flags and queries. sisci(7) is the reference.
 *
 * Every function may be called from any number of threads at once. Unless its description says
 * otherwise, a function reports through @p error, which may be NULL: SCI_ERR_OK;
 * SCI_ERR_NOT_INITIALIZED before SCIInitialize(); SCI_ERR_ILLEGAL_PARAMETER for a NULL pointer or a
 * handle that is not one of the right kind, or whose resource has gone; SCI_ERR_ILLEGAL_FLAG for a
 * flag that the function does not have; SCI_ERR_ILLEGAL_ADAPTERNO, SCI_ERR_NO_SUCH_ADAPTERNO and
 * SCI_ERR_ILLEGAL_NODEID for these arguments; SCI_ERR_NOSPC, SCI_ERR_API_NOSPC; SCI_ERR_SYSTEM
 * where the node's daemon does not answer. A function that makes something stores a handle on
 * success and NULL on failure.
 */
#ifndef SISCI_API_H
#define SISCI_API_H

#include <stddef.h>

#include "dis_types.h"
#include "sisci_error.h"
#include "sisci_types.h"
#include "sisci_version.h"

#ifndef SISCI_API_EXPORT
#define SISCI_API_EXPORT
#endif
#ifndef DLL
#define DLL
#endif

/* ------------------------------------------------------------------ constants */

#define SCI_INFINITE_TIMEOUT           0xffffffffu
#define SCI_LOCAL_HOST                 0u /**< as a node id: this node */
#define DIS_BROADCAST_NODEID_GROUP_ALL 252u
#define DIS_DMA_MAX_VECLEN             256u

/* Flags. Each function has its own, so that one bit has several meanings. */

/* Whatever has a callback */
#define SCI_FLAG_USE_CALLBACK 0x1u
/* SCIOpen() */
#define SCI_FLAG_THREAD_SAFE 0x1u
/* Local segments */
#define SCI_FLAG_EMPTY            0x2u
#define SCI_FLAG_PRIVATE          0x4u
#define SCI_FLAG_DMA_SOURCE_ONLY  0x8u
#define SCI_FLAG_FORCE_REMOVE     0x20u
#define SCI_FLAG_DMA_GLOBAL       0x40u
#define SCI_FLAG_SHARE_EXTERNAL   0x40u
#define SCI_FLAG_ALLOW_UNICAST    0x80u
#define SCI_FLAG_LOCK_USER_MEM    0x400u
#define SCI_FLAG_PHYSICAL         0x1000u
#define SCI_FLAG_CUDA_BUFFER      0x2000u
#define SCI_FLAG_SCIF_BUFFER      0x4000u
#define SCI_FLAG_BROADCAST        0x40000u
#define SCI_FLAG_SHARED           0x100000u
#define SCI_FLAG_AUTO_ID          0x20000000u
#define SCI_FLAG_FORCE_DISCONNECT 0x1u
#define SCI_FLAG_NOTIFY           0x2u
/* Remote segments */
#define SCI_FLAG_ASYNCHRONOUS_CONNECT 0x10u
/* Maps */
#define SCI_FLAG_FIXED_MAP_ADDR                   0x1u
#define SCI_FLAG_READONLY_MAP                     0x2u
#define SCI_FLAG_LOCK_OPERATION                   0x4u
#define SCI_FLAG_CONDITIONAL_INTERRUPT_MAP        0x8u
#define SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP 0x10u
#define SCI_FLAG_DISABLE_128_BYTES_PACKETS        0x20u
#define SCI_FLAG_IO_MAP_IOSPACE                   0x80u
#define SCI_FLAG_READ_PREFETCH_AGGR_HOLD_MAP      0x100u
#define SCI_FLAG_READ_PREFETCH_NO_HOLD_MAP        0x200u
#define SCI_FLAG_WRITES_DISABLE_GATHER_MAP        0x400u
#define SCI_FLAG_NO_MEMORY_LOOPBACK               0x800u
#define SCI_FLAG_NO_MEMORY_LOOPBACK_MAP           SCI_FLAG_NO_MEMORY_LOOPBACK
#define SCI_FLAG_DMOVE_MAP                        0x1000u
#define SCI_FLAG_SHARED_MAP                       0x2000u
#define SCI_FLAG_WRITE_BACK_CACHE_MAP             0x08000000u
/* Sequences and copies */
#define SCI_FLAG_FAST_BARRIER           0x1u
#define SCI_FLAG_NO_FLUSH               0x1u
#define SCI_FLAG_NO_STORE_BARRIER       0x2u
#define SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY 0x1u
#define SCI_FLAG_BLOCK_READ             0x1u
#define SCI_FLAG_ERROR_CHECK            0x2u
#define SCI_FLAG_CACHE_FLUSH            0x100000u
#define SCI_FLAG_CACHE_INVALIDATE       0x200000u
/* DMA */
#define SCI_FLAG_DMA_CHANNEL_SHARED 0x1u
#define SCI_FLAG_DMA_WAIT           0x4u
#define SCI_FLAG_DMA_READ           0x10u
#define SCI_FLAG_DMA_PHDMA          0x20u
#define SCI_FLAG_DMA_SYSDMA         0x100u
#define SCI_FLAG_DMA_USER_MEM       0x200u
#define SCI_FLAG_DMA_ADAPTER        0x800u
#define SCI_FLAG_DMA_POST           0x1000u
#define SCI_FLAG_DMA_RESET          0x2000u
/* Interrupts */
#define SCI_FLAG_FIXED_INTNO           0x2u
#define SCI_FLAG_SHARED_INT            0x4u
#define SCI_FLAG_CONDITIONAL_INTERRUPT 0x8u
#define SCI_FLAG_COUNTING_INT          0x20u
/* Devices */
#define SCI_FLAG_PCIE_REQUESTER_GLOBAL   0x1u
#define SCI_FLAG_EXCLUSIVE               0x01000000u
#define SCI_FLAG_DEVICE_SIDE_ONLY        0x02001000u
#define SCI_FLAG_LOCAL_ONLY              0x02002000u
#define SCI_FLAG_DEVICE_PREFER_BANDWIDTH 0x04000001u
#define SCI_FLAG_HOST_PREFER_BANDWIDTH   0x04000002u
#define SCI_FLAG_SPECIFY_PATH            0x10000000u
#define SCI_FLAG_SPECIFY_SLOT            0x20000000u

#define SCI_DMA_TYPE_DONTCARE       1u
#define SCI_DMA_TYPE_ADAPTER        2u
#define SCI_DMA_TYPE_GLOBAL         3u
#define SCI_DMA_TYPE_SYSTEM         4u
#define SCI_DMA_TYPE_TRANSPARENT    5u
#define SCI_DMA_CHANNEL_ID_DONTCARE 0xffffffffu

#define SCI_MEMTYPE_BAR     1u
#define SCI_MEMTYPE_PRIVATE 2u
#define SCI_MEMTYPE_SHARED  4u

#define SCI_MEMACCESS_DEVICE_READ     0x1u
#define SCI_MEMACCESS_DEVICE_WRITE    0x2u
#define SCI_MEMACCESS_HOST_READ       0x4u
#define SCI_MEMACCESS_HOST_WRITE      0x8u
#define SCI_MEMACCESS_MULTIHOST_READ  0x14u
#define SCI_MEMACCESS_MULTIHOST_WRITE 0x18u
#define SCI_MEMACCESS_P2P_READ        0x21u
#define SCI_MEMACCESS_P2P_WRITE       0x22u

#ifdef __cplusplus
extern "C" {
#endif

/* ------------------------------------------------------------------ library and descriptors */

/** Begin to use the library. Calls are counted, and as many of SCITerminate() end it.
 *  @param flags  0. */
void SCIInitialize(unsigned int flags, sci_error_t *error);

/** The last of them releases everything that there is. Harmless without SCIInitialize(). */
void SCITerminate(void);

/**
 * Open a virtual device, which groups resources: any number of all kinds.
 * @param flags  0 or SCI_FLAG_THREAD_SAFE, which changes nothing.
 * @param error  also SCI_ERR_INCONSISTENT_VERSIONS: the daemon is of another version.
 */
void SCIOpen(sci_desc_t *sd, unsigned int flags, sci_error_t *error);

/** Close a virtual device and release what was made with it. @param flags  0. */
void SCIClose(sci_desc_t sd, unsigned int flags, sci_error_t *error);

/* ------------------------------------------------------------------ nodes and adapters */

/** The id of this node, the same on each of its adapters. @param flags  0. */
void SCIGetLocalNodeId(unsigned int adapterNo, unsigned int *nodeId, unsigned int flags,
                       sci_error_t *error);

/* ------------------------------------------------------------------ interrupts */

/*
 * A trigger that arrives while nobody waits is kept: each wait, or each call of the callback, takes
 * one. What the sender has stored and flushed, copied or completed by DMA before it triggers is
 * visible to whoever takes the trigger.
 */

/**
 * Create an interrupt of this node. Its number is free again when it is removed or the process ends.
 * @param interruptNo  SCI_FLAG_FIXED_INTNO: its number, any; else it receives one that was free.
 * @param flags        SCI_FLAG_USE_CALLBACK, SCI_FLAG_FIXED_INTNO; SCI_FLAG_SHARED_INT: processes of
 *                     the same user may have the number together, and each gets all triggers;
 *                     SCI_FLAG_COUNTING_INT: as all are.
 * @param error        also SCI_ERR_SEGMENTID_USED: the number is taken.
 */
void SCICreateInterrupt(sci_desc_t sd, sci_local_interrupt_t *interrupt,
                        unsigned int localAdapterNo, unsigned int *interruptNo,
                        sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
                        sci_error_t *error);

/** Remove it. Those who wait get SCI_ERR_CANCELLED. A callback that runs is waited for, but in the
 *  callback itself. @param flags  0. */
void SCIRemoveInterrupt(sci_local_interrupt_t interrupt, unsigned int flags, sci_error_t *error);

/**
 * Take one trigger, waiting for it. No signal ends the wait; pthread_cancel(3) does.
 * @param timeout  milliseconds, or SCI_INFINITE_TIMEOUT.
 * @param flags    0.
 * @param error    also SCI_ERR_TIMEOUT, SCI_ERR_CANCELLED; SCI_ERR_ILLEGAL_OPERATION: it has a
 *                 callback.
 */
void SCIWaitForInterrupt(sci_local_interrupt_t interrupt, unsigned int timeout, unsigned int flags,
                         sci_error_t *error);

/**
 * Find an interrupt of a node.
 * @param timeout  is not used: the interrupt is there, or it is not.
 * @param flags    0 or SCI_FLAG_COUNTING_INT, which changes nothing.
 * @param error    also SCI_ERR_NO_SUCH_INTNO: not there, or the node does not answer;
 *                 SCI_ERR_NO_SUCH_NODEID, SCI_ERR_CONNECTION_REFUSED.
 */
void SCIConnectInterrupt(sci_desc_t sd, sci_remote_interrupt_t *interrupt, unsigned int nodeId,
                         unsigned int localAdapterNo, unsigned int interruptNo,
                         unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags,
                            sci_error_t *error);

/** Trigger it. @param flags  0. @param error  also SCI_ERR_NOT_CONNECTED: it has been removed;
 *  SCI_ERR_NODE_NOT_RESPONDING. */
void SCITriggerInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags, sci_error_t *error);

/* The same with data: each trigger brings one message, and messages of one sender arrive in order.
 * Their numbers have nothing to do with those of the interrupts above. */

/** As SCICreateInterrupt(), without SCI_FLAG_COUNTING_INT. */
void SCICreateDataInterrupt(sci_desc_t sd, sci_local_data_interrupt_t *interrupt,
                            unsigned int localAdapterNo, unsigned int *interruptNo,
                            sci_cb_data_interrupt_t callback, void *callbackArg, unsigned int flags,
                            sci_error_t *error);
void SCIRemoveDataInterrupt(sci_local_data_interrupt_t interrupt, unsigned int flags,
                            sci_error_t *error);

/** As SCIWaitForInterrupt(). @param data  receives the first bytes of the message.
 *  @param length  how many of them at most; receives how many these were. */
void SCIWaitForDataInterrupt(sci_local_data_interrupt_t interrupt, void *data, unsigned int *length,
                             unsigned int timeout, unsigned int flags, sci_error_t *error);

/** As SCIConnectInterrupt(), without its flag. SCI_FLAG_BROADCAST: SCI_ERR_FLAG_NOT_IMPLEMENTED. */
void SCIConnectDataInterrupt(sci_desc_t sd, sci_remote_data_interrupt_t *interrupt,
                             unsigned int nodeId, unsigned int localAdapterNo,
                             unsigned int interruptNo, unsigned int timeout, unsigned int flags,
                             sci_error_t *error);
void SCIDisconnectDataInterrupt(sci_remote_data_interrupt_t interrupt, unsigned int flags,
                                sci_error_t *error);

/**
 * Send a message, at most 1024 bytes. It never waits for the receiver.
 * @param data   may be NULL if @p length is 0.
 * @param flags  0.
 * @param error  as of SCITriggerInterrupt(); SCI_ERR_NOSPC: the receiver has 256 messages that it has
 *               not taken, and this one has not been sent; SCI_ERR_OUT_OF_RANGE: too long.
 */
void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, void *data, unsigned int length,
                             unsigned int flags, sci_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
