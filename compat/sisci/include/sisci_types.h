/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Types of the SISCI API, as librsm implements it. The flags are in sisci_api.h. */
#ifndef SISCI_TYPES_H
#define SISCI_TYPES_H

#include "sisci_error.h"

/* Marks of parameters, which say nothing to the compiler. */
#ifndef IN
#define IN
#endif
#ifndef OUT
#define OUT
#endif
#ifndef IN_OUT
#define IN_OUT
#endif

/* Handles. They are compared and copied, and never dereferenced: the library looks them up, so that
 * one that is not of the right kind, or of a resource that has gone, is an error and does no
 * harm. */
typedef struct sci_desc *sci_desc_t;                     /**< virtual device: a group of the rest */
typedef struct sci_local_segment *sci_local_segment_t;   /**< memory of this node */
typedef struct sci_remote_segment *sci_remote_segment_t; /**< a connection to such memory */
typedef struct sci_map *sci_map_t;                       /**< a range of either as memory */
typedef struct sci_sequence *sci_sequence_t;             /**< checks transfers through a map */
typedef struct sci_dma_queue *sci_dma_queue_t;
typedef struct sci_dma_channel *sci_dma_channel_t;
typedef unsigned int sci_dma_type_t; /**< SCI_DMA_TYPE_* */
typedef struct sci_block_transfer *sci_block_transfer_t;
typedef struct sci_local_interrupt *sci_local_interrupt_t;
typedef struct sci_remote_interrupt *sci_remote_interrupt_t;
typedef struct sci_local_data_interrupt *sci_local_data_interrupt_t;
typedef struct sci_remote_data_interrupt *sci_remote_data_interrupt_t;
typedef struct sci_device *sci_device_t;

/* C89 and C++98 do not know the type; g++ says so whatever __extension__ does. */
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wlong-long"
typedef unsigned long long sci_uint64_t;
#pragma GCC diagnostic pop
typedef sci_uint64_t sci_ioaddr_t;

/** An address in the fabric. */
typedef struct {
    unsigned short nodeId;
    unsigned short offsHi;
    unsigned int offsLo;
} sci_address_t;

/** Why a callback of a segment is called, or a wait for its events returns. */
typedef enum {
    SCI_CB_CONNECT = 1,
    SCI_CB_DISCONNECT = 2,
    SCI_CB_NOT_OPERATIONAL = 3,
    SCI_CB_OPERATIONAL = 4,
    SCI_CB_LOST = 5
} sci_segment_cb_reason_t;
#define MAX_CB_REASON SCI_CB_LOST

typedef enum {
    SCI_DMAQUEUE_IDLE = 0,
    SCI_DMAQUEUE_GATHER = 1,
    SCI_DMAQUEUE_POSTED = 2,
    SCI_DMAQUEUE_DONE = 3,
    SCI_DMAQUEUE_ABORTED = 4,
    SCI_DMAQUEUE_ERROR = 5
} sci_dma_queue_state_t;

typedef enum {
    SCI_SEQ_OK = 0,
    SCI_SEQ_RETRIABLE = 1,
    SCI_SEQ_NOT_RETRIABLE = 2,
    SCI_SEQ_PENDING = 3
} sci_sequence_status_t;

/** What a callback returns: whether it is to be called again. */
typedef enum { SCI_CALLBACK_CANCEL = 1, SCI_CALLBACK_CONTINUE = 2 } sci_callback_action_t;

/* Callbacks. They are called by a thread of the library in which all signals are blocked; those of
 * one resource one after the other. They may call all functions of this library. */
typedef sci_callback_action_t (*sci_cb_local_segment_t)(void *arg, sci_local_segment_t segment,
                                                        sci_segment_cb_reason_t reason,
                                                        unsigned int nodeId,
                                                        unsigned int localAdapterNo,
                                                        sci_error_t error);
typedef sci_callback_action_t (*sci_cb_remote_segment_t)(void *arg, sci_remote_segment_t segment,
                                                         sci_segment_cb_reason_t reason,
                                                         sci_error_t status);
typedef sci_callback_action_t (*sci_cb_dma_t)(void *arg, sci_dma_queue_t queue, sci_error_t status);
typedef int (*sci_cb_block_transfer_t)(void *arg, sci_block_transfer_t block, sci_error_t status);
typedef sci_callback_action_t (*sci_cb_interrupt_t)(void *arg, sci_local_interrupt_t interrupt,
                                                    sci_error_t status);
/** @p data is valid until the callback returns. */
typedef sci_callback_action_t (*sci_cb_data_interrupt_t)(void *arg,
                                                         sci_local_data_interrupt_t interrupt,
                                                         void *data, unsigned int length,
                                                         sci_error_t status);

/** One transfer of a vector. */
typedef struct {
    unsigned int size;
    unsigned int local_offset;
    unsigned int remote_offset;
    unsigned int flags; /**< 0; is not looked at */
} dis_dma_vec_t;

#endif
