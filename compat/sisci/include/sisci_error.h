/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Error codes of the SISCI API, as librsm implements it.
 *
 * A value is a code with the mask SISCI_ERR_MASK. Functions report through their last argument,
 * which is always written and may be NULL. SCIGetErrorString() names a value.
 */
#ifndef SISCI_ERROR_H
#define SISCI_ERROR_H

#define SISCI_ERR_MASK      0x40000000
#define SCI_ERR_MASK        SISCI_ERR_MASK
#define SCI_ERR_REMOTE_MASK 0x01
/** The error that a number stands for. */
#define SCI_ERR(number) ((sci_error_t)((number)&0x7fffffff))

typedef enum {
    SCI_ERR_OK = 0,

    SCI_ERR_BUSY = SISCI_ERR_MASK | 0x900, /**< something depends on it, or it is in use */
    SCI_ERR_FLAG_NOT_IMPLEMENTED = SISCI_ERR_MASK | 0x901, /**< known, and not to be had here */
    SCI_ERR_ILLEGAL_FLAG = SISCI_ERR_MASK | 0x902,         /**< the function has no such flag */
    SCI_ERR_NOSPC = SISCI_ERR_MASK | 0x904,                /**< no memory, or a queue is full */
    SCI_ERR_API_NOSPC = SISCI_ERR_MASK | 0x905,            /**< the library has no more handles */
    SCI_ERR_HW_NOSPC = SISCI_ERR_MASK | 0x906,             /**< the fabric has no more resources */
    SCI_ERR_NOT_IMPLEMENTED = SISCI_ERR_MASK | 0x907,      /**< librsm has no such function */
    SCI_ERR_ILLEGAL_ADAPTERNO = SISCI_ERR_MASK | 0x908,    /**< no adapter can have this number */
    SCI_ERR_NO_SUCH_ADAPTERNO = SISCI_ERR_MASK | 0x909,    /**< no adapter has this number */
    SCI_ERR_TIMEOUT = SISCI_ERR_MASK | 0x90a,
    SCI_ERR_OUT_OF_RANGE = SISCI_ERR_MASK | 0x90b,    /**< beyond the end of the resource */
    SCI_ERR_NO_SUCH_SEGMENT = SISCI_ERR_MASK | 0x90c, /**< nothing available has this id */
    SCI_ERR_NO_SUCH_INTNO = SISCI_ERR_MASK | 0x90c,   /**< the same value */
    SCI_ERR_ILLEGAL_NODEID = SISCI_ERR_MASK | 0x90d,  /**< no node can have this id */
    SCI_ERR_CONNECTION_REFUSED = SISCI_ERR_MASK | 0x90e,
    SCI_ERR_SEGMENT_NOT_CONNECTED = SISCI_ERR_MASK | 0x90f,
    SCI_ERR_SIZE_ALIGNMENT = SISCI_ERR_MASK | 0x910,
    SCI_ERR_OFFSET_ALIGNMENT = SISCI_ERR_MASK | 0x911,
    SCI_ERR_ILLEGAL_PARAMETER = SISCI_ERR_MASK | 0x912, /**< NULL, or no handle of this kind */
    SCI_ERR_MAX_ENTRIES = SISCI_ERR_MASK | 0x913,
    SCI_ERR_SEGMENT_NOT_PREPARED = SISCI_ERR_MASK | 0x914,
    SCI_ERR_ILLEGAL_ADDRESS = SISCI_ERR_MASK | 0x915,
    SCI_ERR_ILLEGAL_OPERATION = SISCI_ERR_MASK | 0x916, /**< not in this state */
    SCI_ERR_ILLEGAL_QUERY = SISCI_ERR_MASK | 0x917,
    SCI_ERR_SEGMENTID_USED = SISCI_ERR_MASK | 0x918, /**< of a segment or an interrupt */
    SCI_ERR_INTNO_USED = SCI_ERR_SEGMENTID_USED,
    SCI_ERR_SYSTEM = SISCI_ERR_MASK | 0x919,    /**< the system refused, or there is no daemon */
    SCI_ERR_CANCELLED = SISCI_ERR_MASK | 0x91a, /**< it was removed during the wait */
    SCI_ERR_NOT_CONNECTED = SISCI_ERR_MASK | 0x91b,
    SCI_ERR_NOT_AVAILABLE = SISCI_ERR_MASK | 0x91c,
    SCI_ERR_INCONSISTENT_VERSIONS = SISCI_ERR_MASK | 0x91d, /**< of library and daemon */
    SCI_ERR_COND_INT_RACE_PROBLEM = SISCI_ERR_MASK | 0x91e,
    SCI_ERR_OVERFLOW = SISCI_ERR_MASK | 0x91f,
    SCI_ERR_NOT_INITIALIZED = SISCI_ERR_MASK | 0x920,
    SCI_ERR_ACCESS = SISCI_ERR_MASK | 0x921,
    SCI_ERR_NOT_SUPPORTED = SISCI_ERR_MASK | 0x922,
    SCI_ERR_DEPRECATED = SISCI_ERR_MASK | 0x923,
    SCI_ERR_DMA_NOT_AVAILABLE = SISCI_ERR_MASK | 0x924,
    SCI_ERR_DMA_DISABLED = SISCI_ERR_MASK | 0x925,

    SCI_ERR_NO_SUCH_NODEID = SISCI_ERR_MASK | 0xa00,
    SCI_ERR_NODE_NOT_RESPONDING = SISCI_ERR_MASK | 0xa02,
    SCI_ERR_NO_REMOTE_LINK_ACCESS = SISCI_ERR_MASK | 0xa04,
    SCI_ERR_NO_LINK_ACCESS = SISCI_ERR_MASK | 0xa05,
    SCI_ERR_TRANSFER_FAILED = SISCI_ERR_MASK | 0xa06, /**< it may be repeated */

    SCI_ERR_EWOULD_BLOCK = SISCI_ERR_MASK | 0xb00,
    SCI_ERR_REMOTE_BUSY = SISCI_ERR_MASK | 0xb00, /**< the same value */
    SCI_ERR_SEMAPHORE_COUNT_EXCEEDED = SISCI_ERR_MASK | 0xb01,
    SCI_ERR_IRQL_ILLEGAL = SISCI_ERR_MASK | 0xb02,
    SCI_ERR_LOCAL_BUSY = SISCI_ERR_MASK | 0xb03,
    SCI_ERR_ALL_BUSY = SISCI_ERR_MASK | 0xb04,
    SCI_ERR_NO_SUCH_FDID = SISCI_ERR_MASK | 0xb05
} sci_error_t;

#endif
