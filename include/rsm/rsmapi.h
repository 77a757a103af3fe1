/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * RSMAPI, the Remote Shared Memory API of Solaris clusters. Programs write `#include <rsmapi.h>`
 * and link with `-lrsm`.
 *
 * One process *exports* a part of its memory as a segment and *publishes* it under an id. Others,
 * on any node of the cluster, *import* it: they connect, and then map it or move data by put and
 * get. *Barriers* report whether accesses have taken place; *signals* wake up the other side.
 *
 * Conventions, unless a function says otherwise:
 *  - Functions return RSM_SUCCESS (0) on success and a positive RSMERR_ code on failure; errno has
 *    no meaning. Arguments are checked in a fixed order, and the first bad one determines the code.
 *    A failed call changes nothing. RSMERR_INTERNAL_ERROR, where it is not listed, means that
 *    components of librsm misunderstood each other.
 *  - Any thread may call any function at any time, but not from a signal handler.
 *  - Handles are opaque. Only NULL is recognised as invalid; the behaviour is undefined if a handle
 *    is used after it was released, destroyed or disconnected.
 *  - The page size is the system's, sysconf(_SC_PAGESIZE); sizes, lengths and offsets are in bytes.
 *  - Where Solaris's manual and Sun's library disagree, the comment says which one librsm follows.
 */
#ifndef _RSMAPI_H
#define _RSMAPI_H

#include <poll.h>

/* Solaris programs expect <sys/param.h> from here. Programs that include <rsm/rsmpai.h> do not get
 * it: with glibc it declares all of <unistd.h>, which conflicts with their own declarations. */
#ifndef _RSM_RSMPAI_H
#include <sys/param.h>
#endif

#include <rsm/rsm_common.h>
#include <rsm/rsmapi_common.h>

/* glibc hides it from strictly conforming C99 programs. */
#ifndef POLLRDNORM
#define POLLRDNORM 0x0040
#endif

#ifdef __cplusplus
extern "C" {
#endif

/** Where rsm_memseg_import_map() places the mapping. */
typedef enum { RSM_MAP_NONE = 0, RSM_MAP_FIXED = 1, RSM_MAP_RESERVED = 2 } rsm_attribute_t;

/** The programming guide's name for rsm_attribute_t. */
typedef rsm_attribute_t rsm_map_attr_t;

/* --- topology ----------------------------------------------------------------------------- */

/** rsm_remote_cntlr_t.connection_state of a connection that can be used. */
#define RSM_CONNECTION_ACTIVE 3

/** This node. */
typedef struct rsm_topology_hdr {
    rsm_node_id_t local_nodeid;
    uint_t local_cntlr_count;
} rsm_topology_hdr_t;

/** One controller of this node. */
typedef struct rsm_connections_hdr {
    char cntlr_name[MAXNAMELEN]; /* as rsm_get_controller() takes it */
    rsm_addr_t local_hwaddr;
    int remote_cntlr_count;
} rsm_connections_hdr_t;

/** The remote end of one connection of a controller. */
typedef struct rsm_remote_cntlr {
    rsm_node_id_t remote_nodeid;
    char remote_cntlrname[MAXNAMELEN];
    rsm_addr_t remote_hwaddr;
    uint_t connection_state; /* 1 down, 2 up, RSM_CONNECTION_ACTIVE, 4 going down */
} rsm_remote_cntlr_t;

/** A controller of this node and its connections: `hdr.remote_cntlr_count` elements, possibly 0. */
typedef struct rsm_connection {
    rsm_connections_hdr_t hdr;
    rsm_remote_cntlr_t remote_cntlr[1];
} rsm_connections_t;

/** All controllers of this node: `topology_hdr.local_cntlr_count` elements, possibly 0. */
typedef struct rsm_topology {
    rsm_topology_hdr_t topology_hdr;
    rsm_connections_t *connections[1];
} rsm_topology_t;

/**
 * Take a snapshot of this node's controllers and of the nodes that they reach. It contains neither
 * the loopback controller nor, as a remote node, the local node.
 *
 * @param[out] topology_data  one block, freed by rsm_free_interconnect_topology(); NULL on
 *                            failure.
 * @retval RSMERR_BAD_TOPOLOGY_PTR        @p topology_data is NULL.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  no descriptor left.
 * @retval RSMERR_INTERNAL_ERROR          no daemon answers.
 */
int rsm_get_interconnect_topology(rsm_topology_t **topology_data);

/** Free a snapshot. NULL is accepted. */
void rsm_free_interconnect_topology(rsm_topology_t *topology_data);

/* --- controllers -------------------------------------------------------------------------- */

/**
 * Open a controller. Opening it again gives the same handle; each open is undone by one
 * rsm_release_controller().
 *
 * @param name             type and unit, for example "sci0"; case and leading zeros of the unit are
 *                         ignored. NULL means "loopback", which always exists and reaches this node
 *                         only.
 * @param[out] controller  written on success only.
 * @retval RSMERR_BAD_CTLR_HNDL        @p controller is NULL.
 * @retval RSMERR_CTLR_NOT_PRESENT     no such controller on this node, or no daemon answers.
 * @retval RSMERR_BAD_LIBRARY_VERSION  the version of its transport module or of the node's daemon
 *                                     does not match this library.
 * @retval RSMERR_INSUFFICIENT_MEM     out of memory.
 */
int rsm_get_controller(char *name, rsmapi_controller_handle_t *controller);

#ifdef __cplusplus
/* In C++ a string constant is no char *. A template, for which NULL is no candidate; programs may
 * still declare the function themselves, as RSMAPI does. */
extern "C++" {
template <typename character>
inline int rsm_get_controller(const character *name, rsmapi_controller_handle_t *controller)
{
    const char *text = name; /* an error if it is another type */
    return rsm_get_controller(const_cast<char *>(text), controller);
}
}
#endif

/**
 * Get what a controller can do. The loopback controller reports real values; Sun's reported zeros.
 *
 * @retval RSMERR_BAD_CTLR_HNDL     @p chdl is NULL.
 * @retval RSMERR_BAD_ADDR          @p attr is NULL.
 */
int rsm_get_controller_attr(rsmapi_controller_handle_t chdl, rsmapi_controller_attr_t *attr);

/**
 * Undo one rsm_get_controller(). The last one invalidates the handle; segments that still use it
 * must not be used after that.
 *
 * @retval RSMERR_BAD_CTLR_HNDL  @p chdl is NULL (Sun's library crashed).
 */
int rsm_release_controller(rsmapi_controller_handle_t chdl);

/* --- segment ids -------------------------------------------------------------------------- */

/**
 * Look up the segment ids reserved for an application in the file rsm.segmentid. The file is
 * advisory: publishing does not enforce it.
 *
 * @param appid        the application's name in the file; case is ignored.
 * @param[out] baseid  first id. Written on success only, as is @p length.
 * @param[out] length  number of ids.
 * @retval RSMERR_BAD_ADDR   an argument is NULL.
 * @retval RSMERR_BAD_CONF   no such file, or a mistake in it before the application's line.
 * @retval RSMERR_BAD_APPID  no ids are reserved for this application.
 */
int rsm_get_segmentid_range(const char *appid, rsm_memseg_id_t *baseid, uint32_t *length);

/* --- export side -------------------------------------------------------------------------- */

/**
 * Create a segment from memory that the process already has: from malloc, valloc, mmap or System V
 * shared memory. Address and contents do not change, and the owner can use the memory at any time.
 * Ranges may overlap. The call records the creator's pid, effective uid and gid and its umask; they
 * decide later who may operate on the segment and who may import it.
 *
 * Alignment follows the system's page size, as in Sun's library; the manual page names the
 * controller's. In a forked child only rsm_memseg_export_destroy(), the signal functions and the
 * pollfd functions act on the segment.
 *
 * @param[out] memseg  NULL on failure.
 * @param vaddr        page-aligned start.
 * @param size         whole pages, not 0.
 * @param flags        #RSM_ALLOW_REBIND permits rsm_memseg_export_rebind();
 *                     #RSM_CREATE_SEG_DONTWAIT: publishing fails rather than waits for resources
 *                     of the controller. Unknown bits are ignored.
 * @retval RSMERR_BAD_CTLR_HNDL           @p controller is NULL.
 * @retval RSMERR_BAD_SEG_HNDL            @p memseg is NULL.
 * @retval RSMERR_BAD_ADDR                @p vaddr is NULL, or the range is not mapped, or contains
 *                                        a shared file mapping.
 * @retval RSMERR_BAD_LENGTH              @p size is 0 or exceeds the controller's limit.
 * @retval RSMERR_BAD_MEM_ALIGNMENT       @p vaddr or @p size is not page-aligned.
 * @retval RSMERR_PERM_DENIED             the process lacks read or write access to the memory.
 * @retval RSMERR_CTLR_NOT_PRESENT        the controller is gone.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory, or the limit of exported memory is reached.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  no descriptor left, or too many segments on this node.
 * @retval RSMERR_BAD_DRIVER_VERSION  the daemon speaks another version.
 */
int rsm_memseg_export_create(rsmapi_controller_handle_t controller,
                             rsm_memseg_export_handle_t *memseg, void *vaddr, size_t size,
                             uint_t flags);

/**
 * Destroy a segment. A published segment is unpublished first. The application keeps the memory and
 * its contents, as ordinary memory. In a forked child only the child's reference is freed.
 *
 * @retval RSMERR_BAD_SEG_HNDL   @p memseg is NULL.
 * @retval RSMERR_POLLFD_IN_USE  a descriptor from rsm_memseg_get_pollfd() is not released.
 */
int rsm_memseg_export_destroy(rsm_memseg_export_handle_t memseg);

/**
 * Allow others to connect to a segment, under an id that is unique on this node.
 *
 * @param[in,out] segment_id  the wanted id, 0x400000 to 0x7FFFFFFF; or 0, which is replaced by
 *                            an id that the system chooses. Unchanged on failure.
 * @param access_list         the nodes that may connect, and with which rights; the first entry
 *                            for a node applies. The local node is not implied. Not used after the
 *                            call.
 * @param access_list_length  number of entries, at most 64; on the loopback controller at most
 *                            one, which names this node. 0: every node may connect, with the
 *                            rights that the umask at creation leaves of 0666; @p access_list is
 *                            then ignored.
 * @retval RSMERR_BAD_SEGID               @p segment_id is NULL; checked before the handle.
 * @retval RSMERR_BAD_SEG_HNDL            @p memseg is NULL, or its memory is no longer there.
 * @retval RSMERR_BAD_ACL                 the list is NULL, too long, or has a bad entry.
 * @retval RSMERR_SEG_ALREADY_PUBLISHED   the segment is published.
 * @retval RSMERR_RESERVED_SEGID          the id is outside the range given above.
 * @retval RSMERR_NOT_CREATOR             another process created the segment.
 * @retval RSMERR_SEGID_IN_USE            another segment of this node has that id.
 * @retval RSMERR_INTERNAL_ERROR          the list names a node that the controller does not
 *                                        reach.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the controller cannot serve more segments, or no id is
 *                                        left.
 * @retval RSMERR_BAD_ADDR  the access list cannot be read, or the memory is no longer mapped.
 * @retval RSMERR_PERM_DENIED  the memory is no longer readable and writable.
 * @retval RSMERR_TIMEOUT  the daemon of this node did not answer in time.
 */
int rsm_memseg_export_publish(rsm_memseg_export_handle_t memseg, rsm_memseg_id_t *segment_id,
                              rsmapi_access_entry_t access_list[], uint_t access_list_length);

/**
 * Replace the access list of a published segment. Existing connections keep their rights.
 *
 * @retval RSMERR_BAD_SEG_HNDL       @p memseg is NULL.
 * @retval RSMERR_SEG_NOT_PUBLISHED  the segment is not published; checked before the list.
 * @retval RSMERR_BAD_ACL            see rsm_memseg_export_publish().
 * @retval RSMERR_NOT_CREATOR        another process created the segment.
 * @retval RSMERR_INTERNAL_ERROR     the list names a node that the controller does not reach.
 * @retval RSMERR_INSUFFICIENT_MEM   out of memory.
 * @retval RSMERR_BAD_ADDR  the access list cannot be read.
 * @retval RSMERR_TIMEOUT  the daemon of this node did not answer in time.
 */
int rsm_memseg_export_republish(rsm_memseg_export_handle_t memseg,
                                rsmapi_access_entry_t access_list[], uint_t access_list_length);

/**
 * End all connections to a segment and accept no more. When the call returns, no access of an
 * importer reaches the memory any longer; importers learn of this from their barriers. The id
 * becomes free, and the segment may be published again. Outstanding pollfd references prevent
 * unpublishing, as the programming guide says; Sun's library did not check them.
 *
 * @retval RSMERR_BAD_SEG_HNDL       @p memseg is NULL.
 * @retval RSMERR_SEG_NOT_PUBLISHED  the segment is not published.
 * @retval RSMERR_NOT_CREATOR        another process created the segment.
 * @retval RSMERR_POLLFD_IN_USE      a descriptor from rsm_memseg_get_pollfd() is not released.
 * @retval RSMERR_TIMEOUT  the daemon of this node did not answer in time.
 * @retval RSMERR_INSUFFICIENT_MEM  out of memory to cut importers off; the segment is unpublished.
 */
int rsm_memseg_export_unpublish(rsm_memseg_export_handle_t memseg);

/**
 * Rebind a segment to other memory. Importers notice only the new contents: nothing is copied. The
 * application gets the old memory back with its contents.
 *
 * @param vaddr  page-aligned start of the new memory.
 * @param off    ignored, as in Sun's library.
 * @param size   must be the segment's size.
 * @retval RSMERR_BAD_SEG_HNDL        @p memseg is NULL.
 * @retval RSMERR_BAD_ADDR            @p vaddr is NULL, not page-aligned or not mapped, or the range
 *                                    contains a shared file mapping.
 * @retval RSMERR_REBIND_NOT_ALLOWED  the segment was created without #RSM_ALLOW_REBIND.
 * @retval RSMERR_NOT_CREATOR         another process created the segment.
 * @retval RSMERR_BAD_LENGTH          @p size is not the segment's size.
 * @retval RSMERR_PERM_DENIED         the process lacks read or write access to the memory.
 * @retval RSMERR_INSUFFICIENT_MEM    out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  another segment shares the old or the new memory.
 * @retval RSMERR_TIMEOUT  the daemon of this node did not answer in time.
 */
int rsm_memseg_export_rebind(rsm_memseg_export_handle_t memseg, void *vaddr, offset_t off,
                             size_t size);

/* --- import side: connection and mapping -------------------------------------------------- */

/**
 * Connect to a published segment. Each connection is independent; a process may have many
 * connections to one segment, and connections to its own segments. The call never waits for a
 * segment to be published. Any controller reaches the local node.
 *
 * @param perm            #RSM_PERM_READ, #RSM_PERM_WRITE or both; 0 connects without any right.
 * @param[out] im_memseg  NULL on failure.
 * @retval RSMERR_BAD_CTLR_HNDL              @p controller is NULL.
 * @retval RSMERR_BAD_SEG_HNDL               @p im_memseg is NULL (Sun's library crashed).
 * @retval RSMERR_PERM_DENIED                @p perm has other bits, or the segment does not grant
 *                                           these rights to this user.
 * @retval RSMERR_CTLR_NOT_PRESENT           the controller is gone, or is loopback and @p node_id
 *                                           is another node.
 * @retval RSMERR_REMOTE_NODE_UNREACHABLE    the node is unknown or does not answer. (Sun's library
 *                                           returned RSMERR_INTERNAL_ERROR for an unknown node.)
 * @retval RSMERR_CONN_ABORTED               the node was lost during the call.
 * @retval RSMERR_BAD_DRIVER_VERSION         the node speaks another version.
 * @retval RSMERR_SEG_NOT_PUBLISHED          no segment is published there under @p segment_id.
 * @retval RSMERR_SEG_NOT_PUBLISHED_TO_NODE  the access list does not name this node.
 * @retval RSMERR_INSUFFICIENT_MEM           out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES     no descriptor left, or too many segments on this node.
 * @retval RSMERR_INTERNAL_ERROR  the answer of this node's daemon was not valid.
 */
int rsm_memseg_import_connect(rsmapi_controller_handle_t controller, rsm_node_id_t node_id,
                              rsm_memseg_id_t segment_id, rsm_permission_t perm,
                              rsm_memseg_import_handle_t *im_memseg);

/**
 * End a connection. This is necessary after RSMERR_CONN_ABORTED, too. Barriers of this connection
 * become invalid.
 *
 * @retval RSMERR_BAD_SEG_HNDL      @p im_memseg is NULL.
 * @retval RSMERR_SEG_STILL_MAPPED  call rsm_memseg_import_unmap() first.
 * @retval RSMERR_POLLFD_IN_USE     a descriptor from rsm_memseg_get_pollfd() is not released.
 */
int rsm_memseg_import_disconnect(rsm_memseg_import_handle_t im_memseg);

/**
 * Map a segment, or part of it, into this process. A connection has one mapping; put and get do not
 * use it up (in Sun's library they did). When the exporter withdraws the segment, the mapping
 * stays, over memory that no longer belongs to any segment: accesses never trap, and barriers
 * report it.
 *
 * @param[in,out] address  where to map: a hint, which may be NULL; with #RSM_MAP_FIXED the required
 *                         address, and the mapping replaces what was there. Result: the address of
 *                         segment byte @p offset.
 * @param attr             #RSM_MAP_NONE, #RSM_MAP_FIXED; #RSM_MAP_RESERVED acts like the former.
 * @param perm             #RSM_PERM_READ, #RSM_PERM_WRITE or both; 0 maps without access.
 * @param offset           multiple of the page size.
 * @param length           not 0; whole pages become accessible, but put and get keep to the exact
 *                         length.
 * @retval RSMERR_BAD_SEG_HNDL            @p im_memseg is NULL.
 * @retval RSMERR_BAD_ADDR                @p address is NULL.
 * @retval RSMERR_SEG_ALREADY_MAPPED      the connection already has a mapping.
 * @retval RSMERR_BAD_PERMS               @p perm exceeds 0600, or what was granted at connect.
 * @retval RSMERR_BAD_LENGTH              @p length is 0, or the range is not within the segment.
 * @retval RSMERR_BAD_MEM_ALIGNMENT       @p offset, or the required address, is not page-aligned.
 * @retval RSMERR_CONN_ABORTED            the connection was aborted.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the controller cannot map more.
 * @retval RSMERR_MAP_FAILED              the mapping failed for another reason.
 */
int rsm_memseg_import_map(rsm_memseg_import_handle_t im_memseg, void **address,
                          rsm_attribute_t attr, rsm_permission_t perm, off_t offset, size_t length);

/**
 * Remove the mapping.
 *
 * @retval RSMERR_BAD_SEG_HNDL    @p im_memseg is NULL.
 * @retval RSMERR_SEG_NOT_MAPPED  there is no mapping (not in the manual).
 * @retval RSMERR_POLLFD_IN_USE   a descriptor from rsm_memseg_get_pollfd() is not released: the
 *                                guide says so, Sun's library did not check.
 * @retval RSMERR_MAP_FAILED  the mapping could not be removed.
 */
int rsm_memseg_import_unmap(rsm_memseg_import_handle_t im_memseg);

/* --- import side: put and get ------------------------------------------------------------- */

/**
 * Read @p rep_cnt elements from a segment, in ascending order, each by one access of its size.
 * Bytes are never swapped, as in Sun's library; the manual page promises that they are.
 *
 * No mapping is needed. In implicit barrier mode the transfer has completed on return and the call
 * reports its own errors; a barrier must have been initialised. In explicit mode errors are
 * reported when the barrier is closed.
 *
 * These remarks and codes apply to all put and get functions; for put, RSMERR_PERM_DENIED is about
 * the right to write.
 *
 * @param offset   from the segment's first byte, even if only a part is mapped; a multiple of the
 *                 element size.
 * @param datap    aligned to the element size.
 * @param rep_cnt  number of elements; 0 does nothing and succeeds, after all checks.
 * @retval RSMERR_BAD_SEG_HNDL            @p im_memseg is NULL.
 * @retval RSMERR_BAD_ADDR                @p datap is NULL.
 * @retval RSMERR_BAD_MEM_ALIGNMENT       @p datap or @p offset is misaligned.
 * @retval RSMERR_CONN_ABORTED            the connection was aborted, and this is implicit mode or
 *                                        the segment is not mapped.
 * @retval RSMERR_PERM_DENIED             not connected for reading, or mapped without any access;
 *                                        for put: not connected, or not mapped, for writing.
 * @retval RSMERR_BAD_OFFSET              the range is not within the segment, or not within the
 *                                        mapped part of it.
 * @retval RSMERR_BARRIER_UNINITIALIZED   implicit mode, and no barrier is initialised.
 * @retval RSMERR_BARRIER_FAILURE         implicit mode: the transfer failed.
 * @retval RSMERR_INSUFFICIENT_MEM  out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the transport ran out of resources.
 */
int rsm_memseg_import_get8(rsm_memseg_import_handle_t im_memseg, off_t offset, uint8_t *datap,
                           ulong_t rep_cnt);
/** Read 16-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_get16(rsm_memseg_import_handle_t im_memseg, off_t offset, uint16_t *datap,
                            ulong_t rep_cnt);
/** Read 32-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_get32(rsm_memseg_import_handle_t im_memseg, off_t offset, uint32_t *datap,
                            ulong_t rep_cnt);
/** Read 64-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_get64(rsm_memseg_import_handle_t im_memseg, off_t offset, uint64_t *datap,
                            ulong_t rep_cnt);
/** Write 8-bit elements: see rsm_memseg_import_get8(). The data is not modified. */
int rsm_memseg_import_put8(rsm_memseg_import_handle_t im_memseg, off_t offset, uint8_t *datap,
                           ulong_t rep_cnt);
/** Write 16-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_put16(rsm_memseg_import_handle_t im_memseg, off_t offset, uint16_t *datap,
                            ulong_t rep_cnt);
/** Write 32-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_put32(rsm_memseg_import_handle_t im_memseg, off_t offset, uint32_t *datap,
                            ulong_t rep_cnt);
/** Write 64-bit elements: see rsm_memseg_import_get8(). */
int rsm_memseg_import_put64(rsm_memseg_import_handle_t im_memseg, off_t offset, uint64_t *datap,
                            ulong_t rep_cnt);
/** Read @p length bytes, in no particular order: see rsm_memseg_import_get8(). */
int rsm_memseg_import_get(rsm_memseg_import_handle_t im_memseg, off_t offset, void *dst_addr,
                          size_t length);
/** Write @p length bytes, in no particular order: see rsm_memseg_import_get8(). */
int rsm_memseg_import_put(rsm_memseg_import_handle_t im_memseg, off_t offset, void *src_addr,
                          size_t length);

/* --- import side: scatter-gather ---------------------------------------------------------- */

/**
 * Write several pieces of local memory to a segment, one after the other; the first failure ends
 * the call. In implicit mode each piece has completed on return. No barrier needs to be
 * initialised, as in Sun's library within one node.
 *
 * @param[in,out] sg_io  `io_residual_count` becomes 0 or, after a failed transfer, the number of
 *                       entries not completed. With #RSM_IMPLICIT_SIGPOST, success is followed by
 *                       an rsm_intr_signal_post(), whose result the call then returns.
 * @retval RSMERR_BAD_SGIO       @p sg_io or its iovec is NULL, the count is not 1 to
 *                               #RSM_MAX_SGIOREQS, or an entry has an unknown type.
 * @retval RSMERR_BAD_SEG_HNDL   the remote handle is NULL or not an import handle.
 * @retval RSMERR_BAD_ADDR       an entry's local address is NULL.
 * @retval RSMERR_PERM_DENIED    not connected, or not mapped, for writing.
 * @retval RSMERR_BAD_OFFSET     an entry's range is not within the segment.
 * @retval RSMERR_CONN_ABORTED   the connection was aborted.
 * @retval RSMERR_BARRIER_FAILURE  implicit mode: a transfer failed.
 * @retval RSMERR_INSUFFICIENT_MEM  out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the transport ran out of resources.
 * @retval RSMERR_REMOTE_NODE_UNREACHABLE  the implicit post did not reach the exporter's node.
 */
int rsm_memseg_import_putv(rsm_scat_gath_t *sg_io);

/** Read pieces of a segment into local memory: see rsm_memseg_import_putv(). */
int rsm_memseg_import_getv(rsm_scat_gath_t *sg_io);

/**
 * Prepare local memory for scatter-gather transfers, so that they need no copy. The process can go
 * on using the memory.
 *
 * @param[out] localmemory  written on success only.
 * @param local_vaddr       page-aligned start.
 * @param length            not 0; rounded up to whole pages.
 * @retval RSMERR_BAD_ADDR                @p local_vaddr is not page-aligned (checked first) or
 *                                        NULL; or not mapped, where the transport registers memory.
 * @retval RSMERR_BAD_CTLR_HNDL           @p controller is NULL.
 * @retval RSMERR_BAD_LOCALMEM_HNDL       @p localmemory is NULL.
 * @retval RSMERR_BAD_LENGTH              @p length is 0.
 * @retval RSMERR_PERM_DENIED             the transport registers memory, and the process lacks read
 *                                        or write access to it.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the controller cannot register more.
 */
int rsm_create_localmemory_handle(rsmapi_controller_handle_t controller,
                                  rsm_localmemory_handle_t *localmemory, caddr_t local_vaddr,
                                  size_t length);

/**
 * Undo rsm_create_localmemory_handle().
 *
 * @retval RSMERR_BAD_CTLR_HNDL      @p controller is NULL.
 * @retval RSMERR_BAD_LOCALMEM_HNDL  @p localmemory is NULL.
 */
int rsm_free_localmemory_handle(rsmapi_controller_handle_t controller,
                                rsm_localmemory_handle_t localmemory);

/* --- import side: barriers ---------------------------------------------------------------- */

/**
 * Initialise a barrier for a connection. In implicit mode put and get require an initialised
 * barrier; the library keeps what it needs itself, so the object need not outlive the calls that
 * use it.
 *
 * @param type  an rsm_barrier_type_t; neither checked nor distinguished.
 * @retval RSMERR_BAD_SEG_HNDL      @p im_memseg is NULL.
 * @retval RSMERR_BAD_BARRIER_PTR   @p barrier is NULL.
 */
int rsm_memseg_import_init_barrier(rsm_memseg_import_handle_t im_memseg, rsm_barrier_type_t type,
                                   rsmapi_barrier_t *barrier);

/**
 * Begin a span of accesses, whose success rsm_memseg_import_close_barrier() reports. May be
 * repeated.
 *
 * @retval RSMERR_BAD_BARRIER_PTR        @p barrier is NULL.
 * @retval RSMERR_BARRIER_UNINITIALIZED  the barrier is not initialised.
 */
int rsm_memseg_import_open_barrier(rsmapi_barrier_t *barrier);

/**
 * Order writes: all earlier ones of this connection are visible before any later one.
 *
 * @retval RSMERR_BAD_BARRIER_PTR        @p barrier is NULL.
 * @retval RSMERR_BARRIER_UNINITIALIZED  the barrier is not initialised.
 * @retval RSMERR_BARRIER_FAILURE        the transport failed.
 */
int rsm_memseg_import_order_barrier(rsmapi_barrier_t *barrier);

/**
 * End the span. Success means that all accesses since the barrier was opened have taken place.
 * Otherwise repeat them; after RSMERR_CONN_ABORTED, over a new connection.
 *
 * @retval RSMERR_BAD_BARRIER_PTR        @p barrier is NULL.
 * @retval RSMERR_BARRIER_UNINITIALIZED  the barrier is not initialised.
 * @retval RSMERR_BARRIER_NOT_OPENED     the barrier was never opened (Sun's library let most of
 *                                       these pass).
 * @retval RSMERR_CONN_ABORTED           the connection was aborted, even before the barrier was
 *                                       opened.
 * @retval RSMERR_BARRIER_FAILURE        some access may have failed.
 */
int rsm_memseg_import_close_barrier(rsmapi_barrier_t *barrier);

/**
 * Destroy a barrier. In implicit mode put and get then fail with RSMERR_BARRIER_UNINITIALIZED until
 * a barrier is initialised again, whichever barrier of the connection was destroyed.
 *
 * @retval RSMERR_BAD_BARRIER_PTR        @p barrier is NULL.
 * @retval RSMERR_BARRIER_UNINITIALIZED  the barrier is not, or no longer, initialised.
 */
int rsm_memseg_import_destroy_barrier(rsmapi_barrier_t *barrier);

/**
 * Get the barrier mode of a connection: who brackets put and get with barriers.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p im_memseg is NULL.
 * @retval RSMERR_BAD_ADDR      @p mode is NULL (Sun's library crashed).
 */
int rsm_memseg_import_get_mode(rsm_memseg_import_handle_t im_memseg, rsm_barrier_mode_t *mode);

/**
 * Set the barrier mode of a connection: the library brackets put and get with barriers
 * (#RSM_BARRIER_MODE_IMPLICIT, the default), or the program does. The program itself is always
 * responsible for loads and stores to a mapping.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p im_memseg is NULL.
 * @retval RSMERR_BAD_MODE      not one of the two modes (not in the manual).
 */
int rsm_memseg_import_set_mode(rsm_memseg_import_handle_t im_memseg, rsm_barrier_mode_t mode);

/* --- signals: both sides ------------------------------------------------------------------ */

/**
 * Post an event. From an import handle it goes to the exported segment; from an export handle to
 * every connection that exists at that moment. Events are counted: each post satisfies one wait.
 * The waiter is certain to see data stored before only if a barrier was closed or ordered in
 * between.
 *
 * @param memseg  export or import handle.
 * @param flags   #RSM_SIGPOST_NO_ACCUMULATE drops the event if one is already pending, as the
 *                manual page says (Sun's library ignored it). Unknown bits are ignored.
 * @retval RSMERR_BAD_SEG_HNDL             @p memseg is NULL.
 * @retval RSMERR_REMOTE_NODE_UNREACHABLE  import handle: the exporter's node does not answer.
 * @retval RSMERR_INSUFFICIENT_MEM  out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  no descriptor left to reach a receiver.
 */
int rsm_intr_signal_post(void *memseg, uint_t flags);

/**
 * Wait for an event and take it, whether or not the segment is published or the connection is
 * alive.
 *
 * @param memseg   export or import handle.
 * @param timeout  milliseconds; 0 does not wait, a negative value waits forever.
 * @retval RSMERR_BAD_SEG_HNDL            @p memseg is NULL.
 * @retval RSMERR_TIMEOUT                 no event within that time.
 * @retval RSMERR_INTERRUPTED             a signal arrived.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the system could not wait.
 */
int rsm_intr_signal_wait(void *memseg, int timeout);

/**
 * poll(2) over segments and any other descriptors. An event is taken from each segment that reports
 * POLLRDNORM.
 *
 * @param fds           entries for segments come from rsm_memseg_get_pollfd().
 * @param timeout       milliseconds, as rsm_intr_signal_wait().
 * @param[out] numfdsp  number of entries with `revents`; may be NULL.
 * @retval RSMERR_TIMEOUT                 nothing became ready within that time.
 * @retval RSMERR_INTERRUPTED             a signal arrived.
 * @retval RSMERR_BAD_ADDR                @p fds is not readable.
 * @retval RSMERR_BAD_ARGS_ERRORS         poll(2) refuses the arguments.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  the system could not wait.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 */
int rsm_intr_signal_wait_pollfd(struct pollfd fds[], nfds_t nfds, int timeout, int *numfdsp);

/**
 * Get a descriptor that reports POLLRDNORM while an event is pending: for
 * rsm_intr_signal_wait_pollfd(), or for poll(2), which does not take the event. Every call returns
 * the same descriptor; do not close, read or write it. Each call must be undone by one
 * rsm_memseg_release_pollfd(). As the programming guide says, an export segment must be published;
 * Sun's library did not check.
 *
 * @param memseg       export or import handle.
 * @param[out] pollfd  `fd` and `events` are filled in, `revents` is not changed.
 * @retval RSMERR_BAD_SEG_HNDL            @p memseg is NULL, or an export segment that is not
 *                                        published.
 * @retval RSMERR_BAD_ADDR                @p pollfd is NULL (Sun's library crashed).
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  no descriptor left.
 */
int rsm_memseg_get_pollfd(void *memseg, struct pollfd *pollfd);

/**
 * Undo one rsm_memseg_get_pollfd(). Succeeds if there is nothing to undo.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p memseg is NULL.
 */
int rsm_memseg_release_pollfd(void *memseg);

#ifdef __cplusplus
}
#endif

#endif
