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

/* ------------------------------------------------------------------ queries */

/* Commands of SCIQuery(), each with the structure that its data is. */
#define SCI_Q_API                  1u /**< sci_query_string_t: version of the API */
#define SCI_Q_VENDORID             2u /**< sci_query_string_t */
#define SCI_Q_SISCI_DRIVER_VERSION 3u /**< sci_query_string_t: version of librsm */
#define SCI_Q_ADAPTER              4u /**< sci_query_adapter_t */
#define SCI_Q_SYSTEM               5u /**< sci_query_system_t */
#define SCI_Q_LOCAL_SEGMENT        6u /**< sci_query_local_segment_t */
#define SCI_Q_REMOTE_SEGMENT       7u /**< sci_query_remote_segment_t */
#define SCI_Q_MAP                  8u /**< sci_query_map_t */
#define SCI_Q_DMA                  9u /**< sci_query_dma_t */
#define SCI_Q_DEVICE               10u
#define SCI_Q_DEVICE_INFO          11u

/* Subcommands of SCI_Q_ADAPTER. sisci(7) says which of them have an answer. */
#define SCI_Q_ADAPTER_NODEID                            0x401u
#define SCI_Q_ADAPTER_SERIAL_NUMBER                     0x402u
#define SCI_Q_ADAPTER_CARD_TYPE                         0x403u
#define SCI_Q_ADAPTER_NUMBER_OF_STREAMS                 0x404u
#define SCI_Q_ADAPTER_STREAM_BUFFER_SIZE                0x405u
#define SCI_Q_ADAPTER_CONNECTED_TO_SWITCH               0x406u
#define SCI_Q_ADAPTER_CONFIGURED                        0x407u
#define SCI_Q_ADAPTER_LINK_OPERATIONAL                  0x408u
#define SCI_Q_ADAPTER_HW_LINK_STATUS_IS_OK              0x409u
#define SCI_Q_ADAPTER_NUMBER                            0x40au
#define SCI_Q_ADAPTER_INSTANCE_NUMBER                   0x40bu
#define SCI_Q_ADAPTER_FIRMWARE_OK                       0x40cu
#define SCI_Q_ADAPTER_DMA_SIZE_ALIGNMENT                0x40du
#define SCI_Q_ADAPTER_DMA_OFFSET_ALIGNMENT              0x40eu
#define SCI_Q_ADAPTER_DMA_MTU                           0x40fu
#define SCI_Q_ADAPTER_SUGGESTED_MIN_DMA_SIZE            0x410u
#define SCI_Q_ADAPTER_SUGGESTED_MIN_BLOCK_SIZE          0x411u
#define SCI_Q_ADAPTER_BDF                               0x412u
#define SCI_Q_ADAPTER_MCAST_MAX_GROUPS                  0x413u
#define SCI_Q_ADAPTER_NUMBER_OF_LINKS                   0x414u
#define SCI_Q_ADAPTER_LINK_WIDTH                        0x415u
#define SCI_Q_ADAPTER_LINK_SPEED                        0x416u
#define SCI_Q_ADAPTER_LINK_UPTIME                       0x417u
#define SCI_Q_ADAPTER_LINK_DOWNTIME                     0x418u
#define SCI_Q_ADAPTER_LINK_CABLE_INSERTED               0x419u
#define SCI_Q_ADAPTER_LINK_ENABLED                      0x41au
#define SCI_Q_ADAPTER_LINK_PARTNER_PORT_NO              0x41bu
#define SCI_Q_ADAPTER_LOCAL_SWITCH_TYPE                 0x41cu
#define SCI_Q_ADAPTER_LOCAL_SWITCH_PORT_NUMBER          0x41du
#define SCI_Q_ADAPTER_CONNECTED_TO_EXPECTED_SWITCH_PORT 0x41eu
#define SCI_Q_ADAPTER_ATT_PAGE_SIZE                     0x41fu
#define SCI_Q_ADAPTER_ATT_NUMBER_OF_ENTRIES             0x420u
#define SCI_Q_ADAPTER_ATT_AVAILABLE_ENTRIES             0x421u
#define SCI_Q_ADAPTER_PHYS_MEM_NODEID                   0x422u
#define SCI_Q_ADAPTER_PHYS_MBX_NODEID                   0x423u
#define SCI_Q_ADAPTER_PHYS_LINK_PORT_NODEID             0x424u
#define SCI_Q_ADAPTER_SCI_LINK_FREQUENCY                0x425u
#define SCI_Q_ADAPTER_B_LINK_FREQUENCY                  0x426u
#define SCI_Q_ADAPTER_IO_BUS_FREQUENCY                  0x427u

/* Subcommands of the others */
#define SCI_Q_SYSTEM_HOSTBRIDGE                 0x501u
#define SCI_Q_SYSTEM_WRITE_POSTING_ENABLED      0x502u
#define SCI_Q_SYSTEM_WRITE_COMBINING_ENABLED    0x503u
#define SCI_Q_SYSTEM_CPU_CACHE_LINE_SIZE        0x504u
#define SCI_Q_LOCAL_SEGMENT_IOADDR              0x601u
#define SCI_Q_LOCAL_SEGMENT_PHYS_ADDR           0x602u
#define SCI_Q_LOCAL_SEGMENT_VIRTUAL_KERNEL_ADDR 0x603u
#define SCI_Q_REMOTE_SEGMENT_IOADDR             0x701u
#define SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET        0x801u
#define SCI_Q_REMOTE_MAPPED_TO_LOCAL_TARGET     SCI_Q_MAP_MAPPED_TO_LOCAL_TARGET
#define SCI_Q_MAP_IOADDR                        0x802u
#define SCI_Q_MAP_PHYS_ADDR                     0x803u
#define SCI_Q_DMA_AVAILABLE                     0x901u
#define SCI_Q_DMA_CAPABILITIES                  0x902u

/** The answer is a string, cut to @p length bytes with the NUL that ends it. */
typedef struct {
    char *str;
    unsigned int length;
} sci_query_string_t;

/** The answer of this and the next is an unsigned int at @p data. @p portNo is not used. */
typedef struct {
    unsigned int localAdapterNo;
    unsigned int portNo;
    unsigned int subcommand;
    void *data;
} sci_query_adapter_t;

typedef struct {
    unsigned int subcommand;
    void *data;
} sci_query_system_t;

typedef struct {
    unsigned int num_channels;
    unsigned int max_transfer_size;
    unsigned int max_vector_length;
    unsigned int support_mem2io;
    unsigned int support_io2mem;
    unsigned int support_io2io;
    unsigned int min_align_bytes;
    unsigned int suggested_align_bytes;
} sci_dma_capabilities_t;

/** The answer is an unsigned int, or a sci_dma_capabilities_t, at @p data. */
typedef struct {
    unsigned int localAdapterNo;
    unsigned int subcommand;
    void *data;
} sci_query_dma_t;

typedef struct {
    sci_local_segment_t segment;
    unsigned int subcommand;
    union {
        sci_ioaddr_t ioaddr;
    } data;
} sci_query_local_segment_t;

typedef struct {
    sci_remote_segment_t segment;
    unsigned int subcommand;
    union {
        sci_ioaddr_t ioaddr;
    } data;
} sci_query_remote_segment_t;

typedef struct {
    sci_map_t map;
    unsigned int subcommand;
    unsigned long long data;
} sci_query_map_t;

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

/**
 * The nodes of a name, which rsm.conf(5) gives to hosts and adapters.
 * @param list   receives node ids, up to a 0; a 0 alone on failure.
 * @param type   receives a number for SCIGetAdapterTypeString(). May be NULL.
 * @param flags  0.
 * @param error  also SCI_ERR_NO_SUCH_NODEID: no node has this name.
 */
void SCIGetNodeIdByAdapterName(char *name, dis_nodeId_list_t *list, dis_virt_adapter_t *type,
                               unsigned int flags, sci_error_t *error);

/** The same, and the numbers of the nodes' adapters in the same order: @p adapters has
 *  DIS_MAX_NSCIS. */
void SCIGetNodeInfoByAdapterName(char *name, unsigned int *adapters, dis_nodeId_list_t *list,
                                 dis_virt_adapter_t *type, unsigned int flags, sci_error_t *error);

/**
 * Whether a node answers.
 * @param flags  0.
 * @param error  if it does not: SCI_ERR_NO_SUCH_NODEID: it is not known; SCI_ERR_ILLEGAL_NODEID;
 *               SCI_ERR_NO_REMOTE_LINK_ACCESS: it is known; or why it could not be asked.
 * @return 1 or 0.
 */
int SCIProbeNode(sci_desc_t sd, unsigned int localAdapterNo, unsigned int nodeId,
                 unsigned int flags, sci_error_t *error);

/**
 * Ask about the library, an adapter, the system or a resource.
 * @param command  SCI_Q_*.
 * @param data     the structure that belongs to it.
 * @param flags    0; of SCI_Q_DMA the engine: SCI_FLAG_DMA_ADAPTER, SCI_FLAG_DMA_GLOBAL,
 *                 SCI_FLAG_DMA_SYSDMA.
 * @param error    also SCI_ERR_ILLEGAL_QUERY: there is no such command or subcommand, librsm does
 *                 not know the answer, or the handle in @p data is of another kind.
 */
void SCIQuery(unsigned int command, void *data, unsigned int flags, sci_error_t *error);

/** The name of an error, as in "SCI_ERR_BUSY"; a text that says so for what is none. Never NULL. */
const char *SCIGetErrorString(sci_error_t error);

/** What the answer to SCI_Q_ADAPTER_CARD_TYPE means, and its family. Never NULL. */
char *SCIGetAdapterTypeString(unsigned int type);
char *SCIGetAdapterFamilyString(unsigned int type);

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

/* ------------------------------------------------------------------ what librsm has not */

/*
 * Functions for registers of adapters, conditional interrupts and devices. They are there so that
 * programs link, and report SCI_ERR_NOT_IMPLEMENTED; SCIConnectSCISpace() reports SCI_ERR_ACCESS. A
 * handle that they would have made is NULL, a number that they return is 0.
 */

unsigned int SCIGetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId,
                               unsigned int CSROffset, unsigned int flags, sci_error_t *error);
void SCISetCSRRegister(sci_desc_t sd, unsigned int localAdapterNo, unsigned int SCINodeId,
                       unsigned int CSROffset, unsigned int CSRValue, unsigned int flags,
                       sci_error_t *error);
unsigned int SCIGetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset,
                            unsigned int flags, sci_error_t *error);
void SCISetLocalCSR(sci_desc_t sd, unsigned int localAdapterNo, unsigned int CSROffset,
                    unsigned int CSRValue, unsigned int flags, sci_error_t *error);
void SCIRegisterInterruptFlag(unsigned int localAdapterNo, sci_local_interrupt_t *interrupt,
                              sci_local_segment_t segment, unsigned int offset,
                              sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
                              sci_error_t *error);
void SCIEnableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                   sci_error_t *error);
void SCIDisableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                    sci_error_t *error);
void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t interrupt,
                                           unsigned int *interruptTrigCounter, unsigned int flags,
                                           sci_error_t *error);
void SCIConnectSCISpace(sci_desc_t sd, unsigned int localAdapterNo, sci_remote_segment_t *segment,
                        sci_address_t address, unsigned int size, unsigned int flags,
                        sci_error_t *error);
void SCIBorrowDevice(sci_desc_t sd, sci_device_t *device, unsigned long long fdid,
                     unsigned int flags, sci_error_t *error);
void SCIReturnDevice(sci_device_t device, unsigned int flags, sci_error_t *error);
unsigned long long SCIGetFabricDeviceId(sci_device_t device);
size_t SCIGetDeviceList(sci_desc_t sd, unsigned int *fdids, size_t length, const void *filter,
                        unsigned int flags, sci_error_t *error);
void SCIRegisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus,
                              unsigned int devfn, unsigned int flags, sci_error_t *error);
void SCIUnregisterPCIeRequester(sci_desc_t sd, unsigned int localAdapterNo, unsigned int bus,
                                unsigned int devfn, unsigned int flags, sci_error_t *error);
void SCIMapLocalSegmentForDevice(sci_local_segment_t segment, unsigned int localAdapterNo,
                                 sci_device_t device, sci_ioaddr_t *ioaddress, size_t offset,
                                 size_t size, unsigned int flags, sci_error_t *error);
void SCIUnmapLocalSegmentForDevice(sci_local_segment_t segment, unsigned int localAdapterNo,
                                   sci_device_t device, unsigned int flags, sci_error_t *error);
void SCIMapRemoteSegmentForDevice(sci_remote_segment_t segment, sci_device_t device,
                                  sci_ioaddr_t *ioaddress, size_t offset, size_t size,
                                  unsigned int flags, sci_error_t *error);
void SCIUnmapRemoteSegmentForDevice(sci_remote_segment_t segment, sci_device_t device,
                                    unsigned int flags, sci_error_t *error);
void SCICreateDeviceSegment(sci_device_t device, unsigned int segmentId, size_t size,
                            unsigned int memoryType, unsigned int access, unsigned int flags,
                            sci_error_t *error);
void SCIConnectDeviceSegment(sci_device_t device, sci_remote_segment_t *segment,
                             unsigned int segmentId, unsigned int memoryType,
                             sci_cb_remote_segment_t callback, void *callbackArg,
                             unsigned int flags, sci_error_t *error);

#ifdef __cplusplus
}
#endif

#endif
