/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The types and flags of RSMAPI's functions: controllers and their attributes, access lists,
 * barriers, scatter-gather lists. Programs include it through `<rsmapi.h>`, or under its Solaris
 * name `<sys/rsm/rsmapi_common.h>`.
 *
 * The order and types of the structures' members are part of the binary interface.
 */
#ifndef _SYS_RSM_RSMAPI_COMMON_H
#define _SYS_RSM_RSMAPI_COMMON_H

#include <rsm/rsm_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** An open controller. All opens of one controller in a process share one handle. */
typedef struct __rsmapi_controller_handle *rsmapi_controller_handle_t;

/** Local memory prepared for scatter-gather transfers. */
typedef struct __rsm_localmemory_handle *rsm_localmemory_handle_t;

/** What a controller can do. Sizes are in bytes; a limit of 0 means no limit. */
typedef struct {
    uint_t attr_direct_access_sizes;     /* rsm_access_size_t bits that map and put/get offer */
    uint_t attr_atomic_sizes;            /* the subset whose accesses are never torn */
    size_t attr_page_size;               /* alignment of exported memory */
    size_t attr_max_export_segment_size; /* of one segment */
    size_t attr_tot_export_segment_size; /* of all segments together */
    ulong_t attr_max_export_segments;
    size_t attr_max_import_map_size; /* of one mapping */
    size_t attr_tot_import_map_size; /* of all mappings together */
    ulong_t attr_max_import_segments;
} rsmapi_controller_attr_t;

/** One entry of an access list: what the users of one node may do. */
typedef struct {
    rsm_node_id_t ae_node;          /* importing node, 0 to 64 */
    rsm_permission_t ae_permission; /* owner-group-other triple, 0 to 0666 */
} rsmapi_access_entry_t;

/**
 * A barrier. The program provides the object and must not change its contents; an object of all
 * zeros is reliably "not initialised". Two threads must not operate on it at the same time.
 */
typedef struct {
    void *seg;
    uint16_t gnum;
    void *privdata;
} rsmapi_barrier_t;

/** One piece of a scatter-gather transfer: `transfer_length` bytes between local memory (start plus
 *  `local_offset`) and the segment (`remote_offset` from its first byte). */
typedef struct {
    int io_type; /* RSM_HANDLE_TYPE or RSM_VA_TYPE: selects the member of `local` */
    union {
        rsm_localmemory_handle_t handle;
        caddr_t vaddr;
    } local;
    size_t local_offset;
    size_t remote_offset;
    size_t transfer_length;
} rsm_iovec_t;

/** A scatter-gather transfer. */
typedef struct {
    rsm_node_id_t local_nodeid; /* informational, never read */
    ulong_t io_request_count;   /* entries in `iovec`, 1 to RSM_MAX_SGIOREQS */
    ulong_t io_residual_count;  /* result: entries not completed */
    uint_t flags;               /* RSM_IMPLICIT_SIGPOST, RSM_SIGPOST_NO_ACCUMULATE */
    rsm_memseg_import_handle_t remote_handle;
    rsm_iovec_t *iovec;
} rsm_scat_gath_t;

/** Maximum number of entries of one scatter-gather transfer. */
#define RSM_MAX_SGIOREQS 16

/* rsm_iovec_t.io_type */
#define RSM_HANDLE_TYPE 0x01
#define RSM_VA_TYPE     0x02

/* Flags of rsm_memseg_export_create(). RSM_LOCK_OPS is in the manual only; librsm ignores it, like
 * every unknown flag. */
#define RSM_ALLOW_REBIND        0x01
#define RSM_CREATE_SEG_DONTWAIT 0x02
#define RSM_LOCK_OPS            0x04

/* Flags of a scatter-gather transfer; the second one also of rsm_intr_signal_post(). */
#define RSM_IMPLICIT_SIGPOST      0x01
#define RSM_SIGPOST_NO_ACCUMULATE 0x02
/** The scatter-gather manual page's spelling. */
#define RSM_SIG_POST_NO_ACCUMULATE RSM_SIGPOST_NO_ACCUMULATE

#ifdef __cplusplus
}
#endif

#endif
