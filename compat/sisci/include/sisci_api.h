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
 * where the node's daemon does not answer. After SCITerminate() the functions that remove, unmap,
 * disconnect, close and make unavailable report SCI_ERR_OK. A function that makes something stores
 * a handle on success and NULL on failure.
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
/* Of librsm, and of no other library: functions that connect wait until there is something to
 * connect to, or their timeout is over. */
#define RSM_SCI_FLAG_CONNECT_WAIT 0x40000000u
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
    sci_uint64_t data;
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

/* ------------------------------------------------------------------ local segments */

/*
 * A local segment has a state for each adapter: not prepared, prepared, available. Nodes can
 * connect while it is available on one of them. sisci(7) has the states and what leads where.
 */

/**
 * Make a segment, of zeroes. No other of this node, of any process, has its id from now on until it
 * is removed or this process ends.
 * @param segmentId    any; with SCI_FLAG_AUTO_ID where the search for a free one begins.
 * @param size         bytes, not 0 unless SCI_FLAG_EMPTY is given.
 * @param callback     called for events if SCI_FLAG_USE_CALLBACK is given; else it is not used.
 * @param flags        SCI_FLAG_USE_CALLBACK, SCI_FLAG_EMPTY (its memory comes from
 *                     SCIRegisterSegmentMemory()), SCI_FLAG_PRIVATE (it never becomes available),
 *                     SCI_FLAG_AUTO_ID, SCI_FLAG_SHARED (as SCIShareSegment() does),
 *                     SCI_FLAG_DMA_GLOBAL, which changes nothing; SCI_FLAG_BROADCAST: it is a
 *                     member of the group @p segmentId, whose ids are ids of their own; not with
 *                     SCI_FLAG_AUTO_ID. With it SCI_FLAG_ALLOW_UNICAST: a member can be connected
 *                     by itself, with or without this flag. SCI_FLAG_PHYSICAL:
 *                     SCI_ERR_FLAG_NOT_IMPLEMENTED.
 * @param error        also SCI_ERR_SEGMENTID_USED, SCI_ERR_SIZE_ALIGNMENT: a size of 0.
 */
void SCICreateSegment(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId,
                      size_t size, sci_cb_local_segment_t callback, void *callbackArg,
                      unsigned int flags, sci_error_t *error);

/**
 * End a segment, in whatever state. Connected importers go on to share its memory, and are asked to
 * leave; its id is free. Waits for its events return SCI_ERR_CANCELLED. A running callback is
 * waited for, unless it is the caller.
 *
 * A segment that another process is attached to goes on with that one, as long as the process lives
 * that made it.
 * @param flags  0, or SCI_FLAG_FORCE_REMOVE: although it is mapped. The maps show its memory until
 *               they are unmapped.
 * @param error  also SCI_ERR_BUSY: it is mapped, or a transfer of DMA uses it.
 */
void SCIRemoveSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t *error);

/** The size in bytes as it was asked for; 0 of what is no segment. */
size_t SCIGetLocalSegmentSize(sci_local_segment_t segment);
/** The id; 0 also of what is no segment. */
unsigned int SCIGetLocalSegmentId(sci_local_segment_t segment);

/**
 * Prepare a segment for an adapter.
 * @param flags  0, or SCI_FLAG_DMA_SOURCE_ONLY: it is for DMA alone, and does not become available.
 * @param error  also SCI_ERR_ILLEGAL_OPERATION: it has no memory.
 */
void SCIPrepareSegment(sci_local_segment_t segment, unsigned int localAdapterNo, unsigned int flags,
                       sci_error_t *error);

/** Let nodes connect from now on. @param flags  0. @param error  also
 *  SCI_ERR_SEGMENT_NOT_PREPARED; SCI_ERR_ILLEGAL_OPERATION: it is private, or for DMA alone. */
void SCISetSegmentAvailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                            unsigned int flags, sci_error_t *error);

/**
 * Forbid new connections. Existing ones stay.
 * @param flags  SCI_FLAG_NOTIFY: they are asked to leave. SCI_FLAG_FORCE_DISCONNECT: they are asked
 *               and cut off, on all adapters; what they store does not reach the segment.
 * @param error  also SCI_ERR_ILLEGAL_OPERATION: it is not available; or it is to be cut off, and
 *               another process is attached to it, or has made it.
 */
void SCISetSegmentUnavailable(sci_local_segment_t segment, unsigned int localAdapterNo,
                              unsigned int flags, sci_error_t *error);

/**
 * Put memory of the program behind a segment of SCI_FLAG_EMPTY. What it contains stays.
 * @param address  of a page. The memory is needed until the segment is removed.
 * @param size     the segment's, whole pages.
 * @param flags    0 or SCI_FLAG_LOCK_USER_MEM, which changes nothing.
 * @param error    also SCI_ERR_ILLEGAL_OPERATION: it is no such segment, or has memory;
 *                 SCI_ERR_ILLEGAL_ADDRESS, SCI_ERR_SIZE_ALIGNMENT, SCI_ERR_OUT_OF_RANGE: not the
 *                 segment's size.
 */
void SCIRegisterSegmentMemory(void *address, size_t size, sci_local_segment_t segment,
                              unsigned int flags, sci_error_t *error);

/** Memory of devices is not supported. @param error  SCI_ERR_NOT_SUPPORTED. */
void SCIAttachPhysicalMemory(sci_ioaddr_t ioaddress, void *address, unsigned int busNo, size_t size,
                             sci_local_segment_t segment, unsigned int flags, sci_error_t *error);

/** Let other processes of this node attach to it. @param flags  0 or SCI_FLAG_SHARE_EXTERNAL, which
 *  changes nothing. */
void SCIShareSegment(sci_local_segment_t segment, unsigned int flags, sci_error_t *error);

/**
 * Get a handle of a segment that another process of this node shares. The states are common to all
 * handles.
 * @param size   receives the size in bytes; may be NULL.
 * @param flags  SCI_FLAG_USE_CALLBACK; SCI_FLAG_BROADCAST: to a member of a group.
 * @param error  also SCI_ERR_NO_SUCH_SEGMENT; SCI_ERR_ACCESS: it is not shared;
 *               SCI_ERR_ILLEGAL_OPERATION: it has no memory yet.
 */
void SCIAttachLocalSegment(sci_desc_t sd, sci_local_segment_t *segment, unsigned int segmentId,
                           size_t *size, sci_cb_local_segment_t callback, void *callbackArg,
                           unsigned int flags, sci_error_t *error);

/**
 * Wait for the next event of a segment's connections: SCI_CB_CONNECT for each, and when it ends one
 * of SCI_CB_DISCONNECT and SCI_CB_LOST. Between them SCI_CB_NOT_OPERATIONAL: the importer's host
 * does not answer, for now; and SCI_CB_OPERATIONAL: it does again. Events are kept from when it
 * becomes available. A cancellation point; signals do not end it.
 * @param sourceNodeId    receives the importer's node; may be NULL.
 * @param localAdapterNo  receives 0; may be NULL.
 * @param timeout         milliseconds; 0: only look; SCI_INFINITE_TIMEOUT.
 * @param flags           0.
 * @param error           also SCI_ERR_TIMEOUT; SCI_ERR_CANCELLED: the segment has been removed;
 *                        SCI_ERR_OVERFLOW: events were lost, because 256 waited here;
 *                        SCI_ERR_ILLEGAL_OPERATION: it was made with SCI_FLAG_USE_CALLBACK.
 * @return the reason; 0 on error.
 */
sci_segment_cb_reason_t SCIWaitForLocalSegmentEvent(sci_local_segment_t segment,
                                                    unsigned int *sourceNodeId,
                                                    unsigned int *localAdapterNo,
                                                    unsigned int timeout, unsigned int flags,
                                                    sci_error_t *error);

/* ------------------------------------------------------------------ remote segments */

/**
 * Connect to a segment of a node, this one and this process included. Each success is a connection
 * of its own.
 * @param timeout   milliseconds, or SCI_INFINITE_TIMEOUT; used with RSM_SCI_FLAG_CONNECT_WAIT
 *                  alone. Without it the segment is available, or it is not.
 * @param callback  called for events if SCI_FLAG_USE_CALLBACK is given; first with
 *                  SCI_CB_OPERATIONAL.
 * @param flags     SCI_FLAG_USE_CALLBACK; with it SCI_FLAG_ASYNCHRONOUS_CONNECT: return at once,
 *                  and report the outcome by the callback, SCI_CB_OPERATIONAL or SCI_CB_LOST with
 *                  the error; SCI_FLAG_DMA_GLOBAL, which changes nothing.
 *                  RSM_SCI_FLAG_CONNECT_WAIT, not with the second: wait until the segment is
 *                  available; a cancellation point. SCI_FLAG_BROADCAST, with
 *                  DIS_BROADCAST_NODEID_GROUP_ALL as @p nodeId, else SCI_ERR_ILLEGAL_NODEID: to
 *                  the members of the group @p segmentId, those of now and of later. The size is
 *                  that of the first one. What is written lands in each member's copy; reads see
 *                  what this connection has written. A member that is lost ends nothing: a
 *                  sequence reports it once.
 * @param error     also SCI_ERR_NO_SUCH_SEGMENT: not available, or the node does not answer;
 *                  SCI_ERR_NO_SUCH_NODEID, SCI_ERR_CONNECTION_REFUSED; SCI_ERR_TIMEOUT instead of
 *                  the first with RSM_SCI_FLAG_CONNECT_WAIT.
 */
void SCIConnectSegment(sci_desc_t sd, sci_remote_segment_t *segment, unsigned int nodeId,
                       unsigned int segmentId, unsigned int localAdapterNo,
                       sci_cb_remote_segment_t callback, void *callbackArg, unsigned int timeout,
                       unsigned int flags, sci_error_t *error);

/** End a connection. Who waits for its events gets SCI_ERR_CANCELLED. @param flags  0.
 *  @param error  also SCI_ERR_BUSY: it is mapped, or a transfer of DMA uses it. */
void SCIDisconnectSegment(sci_remote_segment_t segment, unsigned int flags, sci_error_t *error);

/** The size in bytes that the segment was made with; 0 of what is not connected. This function and
 *  the next two answer after SCIDisconnectSegment(), too, until the handle is used again. */
size_t SCIGetRemoteSegmentSize(sci_remote_segment_t segment);
unsigned int SCIGetRemoteSegmentId(sci_remote_segment_t segment);
unsigned int SCIGetRemoteSegmentNodeId(sci_remote_segment_t segment);

/**
 * Wait for the next event of a connection: SCI_CB_DISCONNECT, the owner asks to leave; SCI_CB_LOST,
 * the segment or its owner has gone; SCI_CB_NOT_OPERATIONAL: the owner's host does not answer, for
 * now; SCI_CB_OPERATIONAL: it does again. A cancellation point; signals do not end it.
 * @param status   receives SCI_ERR_OK; may be NULL.
 * @param timeout  as of SCIWaitForLocalSegmentEvent(), and so are flags and errors.
 */
sci_segment_cb_reason_t SCIWaitForRemoteSegmentEvent(sci_remote_segment_t segment,
                                                     sci_error_t *status, unsigned int timeout,
                                                     unsigned int flags, sci_error_t *error);

/* ------------------------------------------------------------------ maps */

/**
 * Map bytes of a segment. Maps may overlap, and all maps of a segment show the same bytes.
 * @param offset  bytes, any.
 * @param size    bytes, not 0.
 * @param addr    used with SCI_FLAG_FIXED_MAP_ADDR alone.
 * @param flags   SCI_FLAG_READONLY_MAP: a store raises SIGSEGV. SCI_FLAG_FIXED_MAP_ADDR: the first
 *                byte is to be at @p addr, which has the place in its page that the byte has in its
 *                own, and nothing is mapped there. Of remote segments those that choose how
 *                hardware stores and reads change nothing; SCI_FLAG_BROADCAST: of a group, else
 *                SCI_ERR_ILLEGAL_FLAG; SCI_FLAG_CONDITIONAL_INTERRUPT_MAP or
 *                SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP: stores raise the interrupts of
 *                SCIRegisterInterruptFlag(), both: SCI_ERR_ILLEGAL_FLAG, of a group:
 *                SCI_ERR_FLAG_NOT_IMPLEMENTED, as SCI_FLAG_LOCK_OPERATION.
 * @param error   also SCI_ERR_OUT_OF_RANGE; SCI_ERR_ILLEGAL_ADDRESS: @p addr cannot be;
 *                SCI_ERR_NOT_CONNECTED; SCI_ERR_ILLEGAL_OPERATION: there is no memory.
 * @return where byte @p offset of the segment is; NULL on error.
 */
void *SCIMapLocalSegment(sci_local_segment_t segment, sci_map_t *map, size_t offset, size_t size,
                         void *addr, unsigned int flags, sci_error_t *error);
volatile void *SCIMapRemoteSegment(sci_remote_segment_t segment, sci_map_t *map, size_t offset,
                                   size_t size, void *addr, unsigned int flags, sci_error_t *error);

/** End a map, and with it its sequences. @param flags  0. */
void SCIUnmapSegment(sci_map_t map, unsigned int flags, sci_error_t *error);

/** Where a map is; NULL of what is none. */
volatile void *SCIGetMapPointer(sci_map_t map);

/** Make a range of a map agree with the caches. They always do here.
 *  @param flags  SCI_FLAG_CACHE_FLUSH, SCI_FLAG_CACHE_INVALIDATE.
 *  @param error  also SCI_ERR_OUT_OF_RANGE. */
void SCICacheSync(sci_map_t map, void *addr, size_t length, unsigned int flags, sci_error_t *error);

/* ------------------------------------------------------------------ sequences and copies */

/** Make a sequence, which reports whether stores through a map have arrived. It begins a span.
 *  @param flags 0 or SCI_FLAG_FAST_BARRIER, which changes nothing. */
void SCICreateMapSequence(sci_map_t map, sci_sequence_t *sequence, unsigned int flags,
                          sci_error_t *error);
void SCIRemoveSequence(sci_sequence_t sequence, unsigned int flags, sci_error_t *error);

/** Begin a span. @param flags  0. @param error  also SCI_ERR_NOT_CONNECTED: the connection is lost,
 *  and then it returns SCI_SEQ_NOT_RETRIABLE. */
sci_sequence_status_t SCIStartSequence(sci_sequence_t sequence, unsigned int flags,
                                       sci_error_t *error);

/**
 * Wait until all that was stored in the span has arrived, and begin another.
 * @param flags  SCI_FLAG_NO_FLUSH, SCI_FLAG_NO_STORE_BARRIER: they change nothing.
 * @param error  about the arguments alone.
 * @return SCI_SEQ_OK; SCI_SEQ_RETRIABLE: something has not arrived; SCI_SEQ_NOT_RETRIABLE: the
 *         connection is lost.
 */
sci_sequence_status_t SCICheckSequence(sci_sequence_t sequence, unsigned int flags,
                                       sci_error_t *error);

/** What was stored before, through any map, arrives before what is stored afterwards. @p sequence
 *  may be NULL, and @p flags are not looked at; with SCI_FLAG_FLUSH_CPU_BUFFERS_ONLY SCIFlush()
 *  orders what the processor itself stores and no more. */
void SCIStoreBarrier(sci_sequence_t sequence, unsigned int flags);
/* A call with a third argument, a sci_error_t *, as API versions before 1.10 have it, stores
 * SCI_ERR_OK there: see the end of this file. */
void SCIFlush(sci_sequence_t sequence, unsigned int flags);

/** Loads see what the segment has from now on. */
void SCIFlushReadBuffers(sci_sequence_t sequence);

/**
 * Copy memory to a map, or with SCI_FLAG_BLOCK_READ a map to memory. What is stored afterwards
 * arrives later.
 * @param sequence      may be NULL.
 * @param remoteMap     of a remote or a local segment.
 * @param remoteOffset  in bytes from the start of the map.
 * @param flags         SCI_FLAG_BLOCK_READ; SCI_FLAG_ERROR_CHECK: with a sequence, make sure that
 *                      it has arrived, if need be by copying again.
 * @param error         also SCI_ERR_OUT_OF_RANGE; SCI_ERR_TRANSFER_FAILED;
 *                      SCI_ERR_ILLEGAL_OPERATION: the map is read-only.
 */
void SCIMemCpy(sci_sequence_t sequence, void *memAddr, sci_map_t remoteMap, size_t remoteOffset,
               size_t size, unsigned int flags, sci_error_t *error);
/** The same without a sequence. */
void SCIMemCopy(void *memAddr, sci_map_t remoteMap, unsigned int remoteOffset, unsigned int size,
                unsigned int flags, sci_error_t *error);

/** Copy memory to an address inside a map, which is not checked. @param flags  0. */
void SCIMemWrite(void *memAddr, volatile void *remoteAddr, size_t size, unsigned int flags,
                 sci_error_t *error);

/** Copy from one map to another, of segments of any kind. @param flags 0 or SCI_FLAG_ERROR_CHECK:
 *  wait until it has arrived. @param error as of SCIMemCpy(). */
void SCITransferBlock(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap,
                      unsigned int destinationOffset, unsigned int size, unsigned int flags,
                      sci_error_t *error);

/**
 * The same, and return before it is done.
 * @param block     receives a handle, which ends with the map that is copied to, at the latest.
 * @param callback  called once, by a thread of the library, if SCI_FLAG_USE_CALLBACK is given: with
 *                  SCI_ERR_OK when all bytes have arrived, SCI_ERR_CANCELLED after an abort, else
 *                  SCI_ERR_TRANSFER_FAILED. The handle ends when it has returned; what it returns
 *                  does not matter.
 * @param flags     SCI_FLAG_USE_CALLBACK; SCI_FLAG_ERROR_CHECK, which changes nothing.
 * @param error     errors that are detected at once.
 */
void SCITransferBlockAsync(sci_map_t sourceMap, unsigned int sourceOffset, sci_map_t destinationMap,
                           unsigned int destinationOffset, unsigned int size,
                           sci_block_transfer_t *block, sci_cb_block_transfer_t callback,
                           void *callbackArg, unsigned int flags, sci_error_t *error);

/** Wait until all bytes have arrived, and end the handle. A cancellation point; signals do not end
 *  it. @param timeout  milliseconds, or SCI_INFINITE_TIMEOUT. @param flags  0. @param error  also
 *  SCI_ERR_TIMEOUT, and then the handle stays; SCI_ERR_CANCELLED after an abort;
 *  SCI_ERR_TRANSFER_FAILED; SCI_ERR_ILLEGAL_OPERATION: it has a callback. */
void SCIWaitForBlockTransfer(sci_block_transfer_t block, unsigned int timeout, unsigned int flags,
                             sci_error_t *error);

/** Stop it, and return when nothing moves any more. What has ended already stays as it is.
 *  @param flags  0. */
void SCIAbortBlockTransfer(sci_block_transfer_t block, unsigned int flags, sci_error_t *error);

/* ------------------------------------------------------------------ DMA */

/*
 * A queue carries out one transfer at a time, and several queues theirs at once. It is
 *
 *     SCI_DMAQUEUE_IDLE     when it is new, and after SCIResetDMAQueue(),
 *     SCI_DMAQUEUE_GATHER   while it has entries of SCIEnqueueDMATransfer(),
 *     SCI_DMAQUEUE_POSTED   from the call that starts a transfer until the transfer has ended,
 *     SCI_DMAQUEUE_DONE     when all bytes have arrived,
 *     SCI_DMAQUEUE_ABORTED  when it was aborted, and some of them may have,
 *     SCI_DMAQUEUE_ERROR    when the fabric has failed, and some of them may have.
 *
 * A transfer is checked as a whole before anything is moved. While it runs, its segments are busy:
 * SCIRemoveSegment() and SCIDisconnectSegment() give SCI_ERR_BUSY.
 */

/**
 * Make a queue.
 * @param maxEntries  how many entries SCIEnqueueDMATransfer() may gather; nothing else has to do
 *                    with it.
 * @param flags       0.
 */
void SCICreateDMAQueue(sci_desc_t sd, sci_dma_queue_t *dq, unsigned int localAdapterNo,
                       unsigned int maxEntries, unsigned int flags, sci_error_t *error);

/**
 * Remove it. Callbacks that are due are waited for, unless a callback calls this.
 * @param flags  0.
 * @param error  also SCI_ERR_ILLEGAL_OPERATION: it is POSTED.
 */
void SCIRemoveDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error);

/** The state; SCI_DMAQUEUE_ERROR also of what is no queue. */
sci_dma_queue_state_t SCIDMAQueueState(sci_dma_queue_t dq);

/**
 * Wait for the end of the transfer that is posted, if there is one. No signal ends the wait;
 * pthread_cancel(3) does, and the transfer goes on.
 * @param timeout  milliseconds, or SCI_INFINITE_TIMEOUT.
 * @param flags    0; those that choose an engine change nothing.
 * @param error    also SCI_ERR_TIMEOUT: it is still POSTED; SCI_ERR_ILLEGAL_OPERATION: the latest
 *                 transfer has a callback; in ABORTED SCI_ERR_CANCELLED; in ERROR what has
 *                 happened, as of SCIStartDmaTransfer() with SCI_FLAG_DMA_WAIT.
 * @return the state.
 */
sci_dma_queue_state_t SCIWaitForDMAQueue(sci_dma_queue_t dq, unsigned int timeout,
                                         unsigned int flags, sci_error_t *error);

/** Stop the transfer that is posted, and wait until nothing of it moves. It is ABORTED then, or has
 *  ended before. In other states nothing happens. @param flags  0. */
void SCIAbortDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error);

/**
 * Start a transfer from a local to a remote segment, or with SCI_FLAG_DMA_READ from a remote to a
 * local one. From GATHER and POSTED that is not possible, from the other states it is.
 * @param localSegment   prepared, available or not.
 * @param remoteSegment  connected, mapped or not.
 * @param localOffset    bytes from the start of the segment, as @p remoteOffset.
 * @param size           bytes, not 0.
 * @param callback       called once, by a thread of the library, if SCI_FLAG_USE_CALLBACK is given:
 *                       with SCI_ERR_OK if the queue is DONE, SCI_ERR_CANCELLED if it is ABORTED,
 *                       and else what has happened. It may start the next transfer. What it returns
 *                       does not matter.
 * @param flags          SCI_FLAG_USE_CALLBACK, SCI_FLAG_DMA_READ; SCI_FLAG_DMA_WAIT: return when it
 *                       has ended, and not with SCI_FLAG_USE_CALLBACK; SCI_FLAG_DMA_GLOBAL,
 *                       SCI_FLAG_DMA_SYSDMA, SCI_FLAG_DMA_ADAPTER, which change nothing;
 *                       SCI_FLAG_BROADCAST: into a group, else SCI_ERR_ILLEGAL_FLAG.
 * @param error          also SCI_ERR_ILLEGAL_OPERATION: the queue is POSTED, or in GATHER;
 *                       SCI_ERR_OUT_OF_RANGE; SCI_ERR_SIZE_ALIGNMENT: a size of 0;
 *                       SCI_ERR_SEGMENT_NOT_PREPARED, SCI_ERR_SEGMENT_NOT_CONNECTED. With
 *                       SCI_FLAG_DMA_WAIT also SCI_ERR_CANCELLED, SCI_ERR_NOT_CONNECTED: the
 *                       connection is lost, SCI_ERR_TRANSFER_FAILED, SCI_ERR_NODE_NOT_RESPONDING.
 */
void SCIStartDmaTransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                         sci_remote_segment_t remoteSegment, size_t localOffset, size_t size,
                         size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg,
                         unsigned int flags, sci_error_t *error);

/** The same for up to DIS_DMA_MAX_VECLEN ranges, one after the other. @p vec is the caller's when
 *  this returns. @param error  also SCI_ERR_MAX_ENTRIES: there are more. */
void SCIStartDmaTransferVec(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                            sci_remote_segment_t remoteSegment, size_t veclen, dis_dma_vec_t *vec,
                            sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
                            sci_error_t *error);

/** The same with memory of the program in place of a local segment, which must stay until the
 *  transfer has ended. @param flags  also SCI_FLAG_DMA_USER_MEM, which changes nothing.
 *  @param error  also SCI_ERR_ILLEGAL_ADDRESS. */
void SCIStartDmaTransferMem(sci_dma_queue_t dq, void *localAddress,
                            sci_remote_segment_t remoteSegment, size_t size, size_t remoteOffset,
                            sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
                            sci_error_t *error);

/* Former names. */
void DISStartDmaTransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                         sci_remote_segment_t remoteSegment, size_t localOffset, size_t size,
                         size_t remoteOffset, sci_cb_dma_t callback, void *callbackArg,
                         unsigned int flags, sci_error_t *error);
void DISStartDmaTransferVec(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                            sci_remote_segment_t remoteSegment, size_t veclen, dis_dma_vec_t *vec,
                            sci_cb_dma_t callback, void *callbackArg, unsigned int flags,
                            sci_error_t *error);

/* The first generation of the API gathers transfers, between any segments, and then posts them. */

/**
 * Add a transfer to those that a queue gathers.
 * @param flags  SCI_FLAG_DMA_READ; SCI_FLAG_DMA_POST: post them at once; with it SCI_FLAG_DMA_WAIT:
 *               return when all have ended; with that SCI_FLAG_DMA_RESET: and let the queue be
 *               IDLE; those that choose an engine, which change nothing.
 * @param error  as of SCIStartDmaTransfer(), and SCI_ERR_MAX_ENTRIES. SCI_ERR_ILLEGAL_OPERATION:
 *               the queue is neither IDLE nor in GATHER.
 * @return the state.
 */
sci_dma_queue_state_t SCIEnqueueDMATransfer(sci_dma_queue_t dq, sci_local_segment_t localSegment,
                                            sci_remote_segment_t remoteSegment,
                                            unsigned int localOffset, unsigned int remoteOffset,
                                            unsigned int size, unsigned int flags,
                                            sci_error_t *error);

/** Start what has been gathered, in order, as SCIStartDmaTransfer(). @param flags  0 or
 *  SCI_FLAG_USE_CALLBACK. @param error  also SCI_ERR_ILLEGAL_OPERATION: the queue is not in GATHER;
 *  SCI_ERR_ILLEGAL_PARAMETER: a segment has gone meanwhile. */
void SCIPostDMAQueue(sci_dma_queue_t dq, sci_cb_dma_t callback, void *callbackArg,
                     unsigned int flags, sci_error_t *error);

/** Drop what has been gathered or has ended: the queue is IDLE. @param flags  0. @param error  also
 *  SCI_ERR_ILLEGAL_OPERATION: it is POSTED. */
void SCIResetDMAQueue(sci_dma_queue_t dq, unsigned int flags, sci_error_t *error);

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
 * A trigger without a waiting thread is kept: each wait, or each call of the callback, takes one.
 * What the sender has stored and flushed, copied or completed by DMA before it triggers is visible
 * to the thread that takes the trigger.
 */

/**
 * Create an interrupt of this node. Its number is free again when it is removed or the process
 * ends.
 * @param interruptNo  SCI_FLAG_FIXED_INTNO: its number, any; else it receives one that was free.
 * @param flags        SCI_FLAG_USE_CALLBACK, SCI_FLAG_FIXED_INTNO; SCI_FLAG_SHARED_INT: processes
 *                     of the same user may have the number together, and each gets all triggers;
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
 * @param timeout  as for SCIConnectSegment(), with RSM_SCI_FLAG_CONNECT_WAIT alone.
 * @param flags    SCI_FLAG_COUNTING_INT, which changes nothing; RSM_SCI_FLAG_CONNECT_WAIT.
 * @param error    also SCI_ERR_NO_SUCH_INTNO: not there, or the node does not answer;
 *                 SCI_ERR_NO_SUCH_NODEID, SCI_ERR_CONNECTION_REFUSED; SCI_ERR_TIMEOUT.
 */
void SCIConnectInterrupt(sci_desc_t sd, sci_remote_interrupt_t *interrupt, unsigned int nodeId,
                         unsigned int localAdapterNo, unsigned int interruptNo,
                         unsigned int timeout, unsigned int flags, sci_error_t *error);
void SCIDisconnectInterrupt(sci_remote_interrupt_t interrupt, unsigned int flags,
                            sci_error_t *error);

/** Trigger it. One that has been removed, or whose process has ended, is no error: the trigger is
 *  sent, and no process takes it. @param flags  0. @param error  also
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

/**
 * As SCIConnectInterrupt(), without SCI_FLAG_COUNTING_INT. With SCI_FLAG_BROADCAST and @p nodeId
 * DIS_BROADCAST_NODEID_GROUP_ALL: to all interrupts with the number on the local node and on those
 * that the adapter reaches, now or later. SCI_ERR_NO_SUCH_INTNO: there are none;
 * SCI_ERR_ILLEGAL_NODEID: the flag with another node.
 */
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
 * @param error  as of SCITriggerInterrupt(), and SCI_ERR_NOT_CONNECTED: it has been removed, or its
 *               process has ended; SCI_ERR_NOSPC: the receiver has 256 messages that it
 *               has not taken, and this one has not been sent; of a group: one of the receivers,
 *               and the others have it; SCI_ERR_OUT_OF_RANGE: too long.
 */
void SCITriggerDataInterrupt(sci_remote_data_interrupt_t interrupt, void *data, unsigned int length,
                             unsigned int flags, sci_error_t *error);

/* ------------------------------------------------------------------ interrupts by stores */

/**
 * Make an interrupt that stores to four bytes of a local segment raise, if they are made through a
 * map with SCI_FLAG_CONDITIONAL_INTERRUPT_MAP or SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP. It is
 * waited for and removed as those of SCICreateInterrupt(), and ends with its segment. Stores that
 * follow each other closely may raise it once.
 * @param offset  in the segment, a multiple of 4.
 * @param flags   SCI_FLAG_USE_CALLBACK; SCI_FLAG_COUNTING_INT changes nothing;
 *                SCI_FLAG_CONDITIONAL_INTERRUPT: a store through a conditional map raises it only
 *                while it is enabled, and disables it. It is enabled at first.
 * @param error   also SCI_ERR_OFFSET_ALIGNMENT, SCI_ERR_OUT_OF_RANGE; SCI_ERR_ILLEGAL_OPERATION:
 *                the segment is private or a member of a group; SCI_ERR_CONNECTION_REFUSED: it is
 *                attached and another user's; SCI_ERR_NOT_SUPPORTED: by an older daemon.
 */
void SCIRegisterInterruptFlag(unsigned int localAdapterNo, sci_local_interrupt_t *interrupt,
                              sci_local_segment_t segment, unsigned int offset,
                              sci_cb_interrupt_t callback, void *callbackArg, unsigned int flags,
                              sci_error_t *error);

/** Enable a conditional interrupt again. @param flags  0. @param error  also
 *  SCI_ERR_COND_INT_RACE_PROBLEM: a store came while it was disabled; it still is, and the next
 *  call may succeed. SCI_ERR_ILLEGAL_OPERATION: it is not conditional. */
void SCIEnableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                   sci_error_t *error);

/** Disable it, and forget stores that came before. @param flags  0. @param error  also
 *  SCI_ERR_ILLEGAL_OPERATION. */
void SCIDisableConditionalInterrupt(sci_local_interrupt_t interrupt, unsigned int flags,
                                    sci_error_t *error);

/** How many stores there were since it was enabled, disabled or registered. @param flags  0.
 *  @param error  also SCI_ERR_OVERFLOW: more than the counter holds; SCI_ERR_ILLEGAL_OPERATION: it
 *  is none of SCIRegisterInterruptFlag(). */
void SCIGetConditionalInterruptTrigCounter(sci_local_interrupt_t interrupt,
                                           unsigned int *interruptTrigCounter, unsigned int flags,
                                           sci_error_t *error);

/* ------------------------------------------------------------------ what librsm has not */

/*
 * Functions for registers of adapters, conditional interrupts, channels of DMA engines and devices.
 * They are there so that programs link, and report SCI_ERR_NOT_IMPLEMENTED; SCIConnectSCISpace()
 * reports SCI_ERR_ACCESS. A handle that they would have made is NULL, a number that they return is
 * 0.
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
void SCIRequestDMAChannel(sci_desc_t sd, sci_dma_channel_t *channel, unsigned int localAdapterNo,
                          sci_dma_type_t type, unsigned int channelId, unsigned int flags,
                          sci_error_t *error);
void SCIReturnDMAChannel(sci_dma_channel_t channel, sci_error_t *error);
void SCIAssignDMAChannel(sci_dma_channel_t channel, sci_dma_queue_t dq, unsigned int flags,
                         sci_error_t *error);
void SCIConnectSCISpace(sci_desc_t sd, unsigned int localAdapterNo, sci_remote_segment_t *segment,
                        sci_address_t address, unsigned int size, unsigned int flags,
                        sci_error_t *error);
void SCIBorrowDevice(sci_desc_t sd, sci_device_t *device, sci_uint64_t fdid, unsigned int flags,
                     sci_error_t *error);
void SCIReturnDevice(sci_device_t device, unsigned int flags, sci_error_t *error);
sci_uint64_t SCIGetFabricDeviceId(sci_device_t device);
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

/* SCIStoreBarrier() with two arguments and with three. In C89 there is no such macro: a strict
 * compiler has the function of two arguments alone. */
#ifdef __cplusplus
inline void SCIStoreBarrier(sci_sequence_t sequence, unsigned int flags, sci_error_t *error)
{
    SCIStoreBarrier(sequence, flags);
    if (error != NULL)
        *error = SCI_ERR_OK;
}
#elif defined(__STDC_VERSION__) && __STDC_VERSION__ >= 199901L
#define SISCI_THIRD_(a, b, error, chosen, ...) chosen
#define SISCI_STORE_BARRIER_(sequence, flags, error)                                               \
    (SCIStoreBarrier(sequence, flags), sisci_store_ok_(error))
#define SCIStoreBarrier(...)                                                                       \
    SISCI_THIRD_(__VA_ARGS__, SISCI_STORE_BARRIER_, SCIStoreBarrier, 0)(__VA_ARGS__)
static inline void sisci_store_ok_(sci_error_t *error)
{
    if (error != NULL)
        *error = SCI_ERR_OK;
}
#endif

#endif
