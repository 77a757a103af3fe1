/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * What all parts of RSMAPI share: identifiers, segment handles, permissions, barrier types,
 * segment-id ranges and error codes. Programs include it through `<rsmapi.h>`, or under its Solaris
 * name `<sys/rsm/rsm_common.h>`.
 *
 * All values are those of Solaris: they are part of the interface and never change.
 */
#ifndef _SYS_RSM_RSM_COMMON_H
#define _SYS_RSM_RSM_COMMON_H

#include <rsm/base_types.h>

#ifdef __cplusplus
extern "C" {
#endif

/** Version of the interface between a node's driver (here: rsmd) and the drivers of other nodes. */
#define RSM_VERSION 5

/* --- identifiers -------------------------------------------------------------------------- */

/** Hardware address of a controller; the transport defines its meaning. */
typedef uint64_t rsm_addr_t;

/** A node of the cluster, 1 to 65535; topologies and access lists name those up to 64. 0 never
 *  names a node; in the topology it means "no cluster". */
typedef uint32_t rsm_node_id_t;

/** A published segment; unique only on the exporting node. */
typedef uint32_t rsm_memseg_id_t;

/**
 * Rights, in two notations. Connect and map take #RSM_PERM_READ and #RSM_PERM_WRITE. An access list
 * entry takes a triple of owner, group and other as in a file mode, 0 to 0666; the exporter's uid
 * and gid determine which digit applies to an importer.
 */
typedef uint32_t rsm_permission_t;

/** A segment that this process exports. */
typedef struct __rsm_memseg_export_handle *rsm_memseg_export_handle_t;

/** This process's connection to a segment. */
typedef struct __rsm_memseg_import_handle *rsm_memseg_import_handle_t;

/* --- permissions -------------------------------------------------------------------------- */

/* Programs define some of these again: the replacement lists must not contain blanks. */
/* clang-format off */
#define RSM_PERM_NONE 0
#define RSM_PERM_READ 0400
#define RSM_PERM_WRITE 0200
#define RSM_PERM_RDWR (RSM_PERM_READ|RSM_PERM_WRITE)
/* clang-format on */

/* --- segment ids -------------------------------------------------------------------------- */

/*
 * Publishing accepts 0 (choose one), and the ids from RSM_HPC_ID_BASE up to the one before
 * RSM_USER_APP_ID_BASE; the system assigns the latter and all ids above it. Which of the accepted
 * ids belong to a program is by convention only: see rsm_get_segmentid_range().
 */
#define RSM_DRIVER_PRIVATE_ID_BASE    0
#define RSM_DRIVER_PRIVATE_ID_END     0x0FFFFF
#define RSM_CLUSTER_TRANSPORT_ID_BASE 0x100000
#define RSM_CLUSTER_TRANSPORT_ID_END  0x1FFFFF
#define RSM_RSMLIB_ID_BASE            0x200000
#define RSM_RSMLIB_ID_END             0x2FFFFF
#define RSM_DLPI_ID_BASE              0x300000
#define RSM_DLPI_ID_END               0x3FFFFF
#define RSM_HPC_ID_BASE               0x400000
#define RSM_HPC_ID_END                0x4FFFFF
#define RSM_OPS_ID_BASE               0x500000
#define RSM_OPS_ID_END                0x5FFFFF
#define RSM_USER_APP_ID_BASE          0x80000000
#define RSM_USER_APP_ID_END           0xFFFFFFFF

/* --- access sizes and barriers ------------------------------------------------------------ */

/** Access widths, as bits of a controller attribute; the value is the width in bytes. */
typedef enum {
    RSM_DAS8 = 0x1,
    RSM_DAS16 = 0x2,
    RSM_DAS32 = 0x4,
    RSM_DAS64 = 0x8
} rsm_access_size_t;

/**
 * What a barrier covers. As in Sun's library, all four types act alike: a barrier covers all
 * accesses that this process makes through the import handle it was initialised with.
 */
typedef enum {
    RSM_BARRIER_SEGMENT = 0x01,
    RSM_BARRIER_NODE = 0x02,
    RSM_BARRIER_SEGMENT_THREAD = 0x11,
    RSM_BARRIER_NODE_THREAD = 0x12
} rsm_barrier_type_t;

/** The manual's name for the ordinary type, which Solaris's headers never defined. */
#define RSM_BAR_DEFAULT RSM_BARRIER_SEGMENT

/** Who brackets put and get with barrier open and close: the program, or the library. */
typedef enum { RSM_BARRIER_MODE_EXPLICIT = 0, RSM_BARRIER_MODE_IMPLICIT = 1 } rsm_barrier_mode_t;

/** One word of an rsm_barrier_t. */
typedef union {
    uint64_t u64;
    int64_t i64;
    uint32_t u32[2];
    int32_t i32[2];
    uint16_t u16[4];
    int16_t i16[4];
    uint8_t u8[8];
    int8_t i8[8];
    uchar_t uc[8];
    char c[8];
    void *vp;
} rsm_barrier_component_t;

/** A transport's barrier. No function of RSMAPI takes it; programs use rsmapi_barrier_t. */
typedef struct {
    rsm_barrier_component_t comp[4];
} rsm_barrier_t;

/* --- error codes -------------------------------------------------------------------------- */

/** Every function that returns int returns this on success and an RSMERR_ code otherwise. errno is
 *  not part of the interface. */
#define RSM_SUCCESS 0

/* controllers and topology */
#define RSMERR_BAD_LIBRARY_VERSION 1 /* versions of transport and library do not match */
#define RSMERR_BAD_TOPOLOGY_PTR    2 /* the topology pointer is NULL */
#define RSMERR_BAD_CTLR_HNDL       3 /* not a controller handle */
#define RSMERR_CTLR_NOT_PRESENT    4 /* no such controller, or it is gone */

/* states and handles of segments */
#define RSMERR_BAD_SEG_HNDL              5
#define RSMERR_SEG_ALREADY_PUBLISHED     6
#define RSMERR_SEG_NOT_PUBLISHED         7
#define RSMERR_SEG_NOT_PUBLISHED_TO_NODE 8 /* the access list does not name the importing node */
#define RSMERR_SEG_ALREADY_MAPPED        9
#define RSMERR_SEG_STILL_MAPPED          10
#define RSMERR_SEG_NOT_MAPPED            11
#define RSMERR_NOT_CREATOR               12 /* another process created the segment */

/* arguments */
#define RSMERR_BAD_BARRIER_PTR     13
#define RSMERR_BAD_SGIO            14
#define RSMERR_BAD_LOCALMEM_HNDL   15
#define RSMERR_BAD_ADDR            16
#define RSMERR_BAD_MEM_ALIGNMENT   17
#define RSMERR_BAD_OFFSET          18 /* the range lies outside the segment or its mapping */
#define RSMERR_MISALIGNED_OFFSET   19 /* never returned; a misaligned offset is BAD_MEM_ALIGNMENT */
#define RSMERR_BAD_LENGTH          20
#define RSMERR_BAD_ACL             21
#define RSMERR_BAD_SEGID           22
#define RSMERR_RESERVED_SEGID      23
#define RSMERR_SEGID_IN_USE        24
#define RSMERR_BAD_MODE            25
#define RSMERR_BAD_PERMS           26 /* a mapping wants more than the connection was granted */
#define RSMERR_PERM_DENIED         27 /* access refused */
#define RSMERR_LOCKS_NOT_SUPPORTED 28 /* never returned */
#define RSMERR_LOCKS_NOT_ENABLED   29 /* never returned */
#define RSMERR_REBIND_NOT_ALLOWED  30

/* resources */
#define RSMERR_INSUFFICIENT_RESOURCES 31
#define RSMERR_INSUFFICIENT_MEM       32
#define RSMERR_MAP_FAILED             33
#define RSMERR_POLLFD_IN_USE          34 /* one from rsm_memseg_get_pollfd() is held */

/* barriers and connections */
#define RSMERR_BARRIER_UNINITIALIZED   35
#define RSMERR_BARRIER_OPEN_FAILED     36
#define RSMERR_BARRIER_NOT_OPENED      37
#define RSMERR_BARRIER_FAILURE         38 /* accesses since it was opened may have failed */
#define RSMERR_REMOTE_NODE_UNREACHABLE 39
#define RSMERR_CONN_ABORTED            40 /* the exporter withdrew the segment, or was lost */
#define RSMERR_INTERRUPTED             41 /* a signal arrived while waiting */
#define RSMERR_TIMEOUT                 42

/* segment-id file */
#define RSMERR_BAD_APPID 43
#define RSMERR_BAD_CONF  44

#define RSMERR_SEG_NOT_CONNECTED 45 /* never returned */

/* between nodes */
#define RSMERR_INTERNAL_ERROR     100
#define RSMERR_BAD_DRIVER_VERSION 101 /* the other node speaks another RSM_VERSION */

#define RSMERR_BAD_ARGS_ERRORS 117 /* bad arguments to rsm_intr_signal_wait_pollfd() */

/* Codes of Solaris's driver interface. librsm returns none of them; they are here because programs
 * translate codes to text. */
#define RSMERR_UNSUPPORTED_VERSION           102
#define RSMERR_DRIVER_NAME_IN_USE            103
#define RSMERR_DRIVER_NOT_REGISTERED         104
#define RSMERR_DRIVER_THREAD_RUNNING         105
#define RSMERR_NEED_THREAD_INIT              106
#define RSMERR_THREAD_NOT_INITED             107
#define RSMERR_CTLRS_REGISTERED              108
#define RSMERR_CTLR_NOT_REGISTERED           109
#define RSMERR_CTLR_ALREADY_REGISTERED       110
#define RSMERR_CTLR_IN_USE                   111
#define RSMERR_NAME_TOO_LONG                 112
#define RSMERR_SEG_PUBLISHED                 113
#define RSMERR_SEG_NOT_PUBLISHED_TO_RSM_ADDR 114
#define RSMERR_SEG_IN_USE                    115
#define RSMERR_BAD_SENDQ_HNDL                116
#define RSMERR_BAD_MSTYPE                    118
#define RSMERR_NO_BACKING_MEM                119
#define RSMERR_NOT_MEM                       120
#define RSMERR_MEM_ALREADY_BOUND             121
#define RSMERR_MEM_NOT_BOUND                 122
#define RSMERR_HANDLER_NOT_REGISTERED        123
#define RSMERR_NO_HANDLER                    124
#define RSMERR_UNBIND_REBIND_NOT_ALLOWED     125
#define RSMERR_CALLBACKS_NOT_SUPPORTED       126
#define RSMERR_UNSUPPORTED_OPERATION         127
#define RSMERR_RSM_ADDR_UNREACHABLE          128
#define RSMERR_UNKNOWN_RSM_ADDR              129
#define RSMERR_BAD_BARRIER_HNDL              130
#define RSMERR_COMM_ERR_MAYBE_DELIVERED      131
#define RSMERR_COMM_ERR_NOT_DELIVERED        132
#define RSMERR_QUEUE_FENCE_UP                133
#define RSMERR_QUEUE_FULL                    134

/** The local-memory manual page's spelling of #RSMERR_BAD_ADDR. */
#define RSMERR_BAD_ADDRESS RSMERR_BAD_ADDR

#ifdef __cplusplus
}
#endif

#endif
