/* SPDX-License-Identifier: BSD-3-Clause */
/* The binary interface, asserted while compiling: sizes, offsets and values. They are Solaris's and
 * never change; H-04 to H-09 and H-18. */
#include <rsmapi.h>

#include <stddef.h>

#define IS(expression, value)       _Static_assert((expression) == (value), #expression " is not " #value)
#define SIZE(type, bytes)           IS(sizeof(type), bytes)
#define OFFSET(type, member, bytes) IS(offsetof(type, member), bytes)

/* base types */
SIZE(uchar_t, 1);
SIZE(ushort_t, 2);
SIZE(uint_t, 4);
SIZE(ulong_t, sizeof(void *));
SIZE(offset_t, 8);
SIZE(caddr_t, sizeof(void *));
_Static_assert((offset_t)-1 < 0, "offset_t is not signed");
_Static_assert((uchar_t)-1 > 0 && (ushort_t)-1 > 0 && (uint_t)-1 > 0 && (ulong_t)-1 > 0,
               "an unsigned type is not");
IS(MAXNAMELEN, 256);
IS(POLLRDNORM, 0x40);

/* identifiers and handles */
SIZE(rsm_addr_t, 8);
SIZE(rsm_node_id_t, 4);
SIZE(rsm_memseg_id_t, 4);
SIZE(rsm_permission_t, 4);
_Static_assert((rsm_node_id_t)-1 > 0 && (rsm_memseg_id_t)-1 > 0 && (rsm_permission_t)-1 > 0 &&
                   (rsm_addr_t)-1 > 0,
               "an identifier is signed");
SIZE(rsm_memseg_export_handle_t, sizeof(void *));
SIZE(rsm_memseg_import_handle_t, sizeof(void *));
SIZE(rsmapi_controller_handle_t, sizeof(void *));
SIZE(rsm_localmemory_handle_t, sizeof(void *));

/* enumerations */
SIZE(rsm_attribute_t, 4);
SIZE(rsm_map_attr_t, 4);
SIZE(rsm_access_size_t, 4);
SIZE(rsm_barrier_type_t, 4);
SIZE(rsm_barrier_mode_t, 4);
IS(RSM_MAP_NONE, 0);
IS(RSM_MAP_FIXED, 1);
IS(RSM_MAP_RESERVED, 2);
IS(RSM_DAS8, 1);
IS(RSM_DAS16, 2);
IS(RSM_DAS32, 4);
IS(RSM_DAS64, 8);
IS(RSM_BARRIER_SEGMENT, 0x01);
IS(RSM_BARRIER_NODE, 0x02);
IS(RSM_BARRIER_SEGMENT_THREAD, 0x11);
IS(RSM_BARRIER_NODE_THREAD, 0x12);
IS(RSM_BAR_DEFAULT, RSM_BARRIER_SEGMENT);
IS(RSM_BARRIER_MODE_EXPLICIT, 0);
IS(RSM_BARRIER_MODE_IMPLICIT, 1);

/* structures that hold no pointer or long */
SIZE(rsmapi_access_entry_t, 8);
OFFSET(rsmapi_access_entry_t, ae_node, 0);
OFFSET(rsmapi_access_entry_t, ae_permission, 4);
SIZE(rsm_topology_hdr_t, 8);
SIZE(struct rsm_topology_hdr, 8);
OFFSET(rsm_topology_hdr_t, local_nodeid, 0);
OFFSET(rsm_topology_hdr_t, local_cntlr_count, 4);
SIZE(rsm_barrier_component_t, 8);
SIZE(rsm_barrier_t, 32);
OFFSET(rsm_barrier_t, comp, 0);

#ifdef __LP64__
SIZE(rsmapi_controller_attr_t, 64);
OFFSET(rsmapi_controller_attr_t, attr_direct_access_sizes, 0);
OFFSET(rsmapi_controller_attr_t, attr_atomic_sizes, 4);
OFFSET(rsmapi_controller_attr_t, attr_page_size, 8);
OFFSET(rsmapi_controller_attr_t, attr_max_export_segment_size, 16);
OFFSET(rsmapi_controller_attr_t, attr_tot_export_segment_size, 24);
OFFSET(rsmapi_controller_attr_t, attr_max_export_segments, 32);
OFFSET(rsmapi_controller_attr_t, attr_max_import_map_size, 40);
OFFSET(rsmapi_controller_attr_t, attr_tot_import_map_size, 48);
OFFSET(rsmapi_controller_attr_t, attr_max_import_segments, 56);

SIZE(rsmapi_barrier_t, 24);
OFFSET(rsmapi_barrier_t, seg, 0);
OFFSET(rsmapi_barrier_t, gnum, 8);
OFFSET(rsmapi_barrier_t, privdata, 16);

SIZE(rsm_iovec_t, 40);
OFFSET(rsm_iovec_t, io_type, 0);
OFFSET(rsm_iovec_t, local, 8);
OFFSET(rsm_iovec_t, local.handle, 8);
OFFSET(rsm_iovec_t, local.vaddr, 8);
OFFSET(rsm_iovec_t, local_offset, 16);
OFFSET(rsm_iovec_t, remote_offset, 24);
OFFSET(rsm_iovec_t, transfer_length, 32);

SIZE(rsm_scat_gath_t, 48);
OFFSET(rsm_scat_gath_t, local_nodeid, 0);
OFFSET(rsm_scat_gath_t, io_request_count, 8);
OFFSET(rsm_scat_gath_t, io_residual_count, 16);
OFFSET(rsm_scat_gath_t, flags, 24);
OFFSET(rsm_scat_gath_t, remote_handle, 32);
OFFSET(rsm_scat_gath_t, iovec, 40);

SIZE(rsm_connections_hdr_t, 272);
SIZE(struct rsm_connections_hdr, 272);
OFFSET(rsm_connections_hdr_t, cntlr_name, 0);
OFFSET(rsm_connections_hdr_t, local_hwaddr, 256);
OFFSET(rsm_connections_hdr_t, remote_cntlr_count, 264);

SIZE(rsm_remote_cntlr_t, 280);
SIZE(struct rsm_remote_cntlr, 280);
OFFSET(rsm_remote_cntlr_t, remote_nodeid, 0);
OFFSET(rsm_remote_cntlr_t, remote_cntlrname, 4);
OFFSET(rsm_remote_cntlr_t, remote_hwaddr, 264);
OFFSET(rsm_remote_cntlr_t, connection_state, 272);

SIZE(rsm_connections_t, 552);
SIZE(struct rsm_connection, 552);
OFFSET(rsm_connections_t, hdr, 0);
OFFSET(rsm_connections_t, remote_cntlr, 272);

SIZE(rsm_topology_t, 16);
SIZE(struct rsm_topology, 16);
OFFSET(rsm_topology_t, topology_hdr, 0);
OFFSET(rsm_topology_t, connections, 8);
#endif

/* constants */
IS(RSM_VERSION, 5);
IS(RSM_PERM_NONE, 0);
IS(RSM_PERM_READ, 0400);
IS(RSM_PERM_WRITE, 0200);
IS(RSM_PERM_RDWR, 0600);
IS(RSM_MAX_SGIOREQS, 16);
IS(RSM_HANDLE_TYPE, 0x01);
IS(RSM_VA_TYPE, 0x02);
IS(RSM_ALLOW_REBIND, 0x01);
IS(RSM_CREATE_SEG_DONTWAIT, 0x02);
IS(RSM_LOCK_OPS &(RSM_ALLOW_REBIND | RSM_CREATE_SEG_DONTWAIT), 0);
IS(RSM_IMPLICIT_SIGPOST, 0x01);
IS(RSM_SIGPOST_NO_ACCUMULATE, 0x02);
IS(RSM_SIG_POST_NO_ACCUMULATE, RSM_SIGPOST_NO_ACCUMULATE);
IS(RSM_CONNECTION_ACTIVE, 3);
IS(RSM_DRIVER_PRIVATE_ID_BASE, 0);
IS(RSM_DRIVER_PRIVATE_ID_END, 0x0FFFFF);
IS(RSM_CLUSTER_TRANSPORT_ID_BASE, 0x100000);
IS(RSM_CLUSTER_TRANSPORT_ID_END, 0x1FFFFF);
IS(RSM_RSMLIB_ID_BASE, 0x200000);
IS(RSM_RSMLIB_ID_END, 0x2FFFFF);
IS(RSM_DLPI_ID_BASE, 0x300000);
IS(RSM_DLPI_ID_END, 0x3FFFFF);
IS(RSM_HPC_ID_BASE, 0x400000);
IS(RSM_HPC_ID_END, 0x4FFFFF);
IS(RSM_OPS_ID_BASE, 0x500000);
IS(RSM_OPS_ID_END, 0x5FFFFF);
IS(RSM_USER_APP_ID_BASE, 0x80000000);
IS(RSM_USER_APP_ID_END, 0xFFFFFFFF);

/* result codes */
IS(RSM_SUCCESS, 0);
IS(RSMERR_BAD_LIBRARY_VERSION, 1);
IS(RSMERR_BAD_TOPOLOGY_PTR, 2);
IS(RSMERR_BAD_CTLR_HNDL, 3);
IS(RSMERR_CTLR_NOT_PRESENT, 4);
IS(RSMERR_BAD_SEG_HNDL, 5);
IS(RSMERR_SEG_ALREADY_PUBLISHED, 6);
IS(RSMERR_SEG_NOT_PUBLISHED, 7);
IS(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, 8);
IS(RSMERR_SEG_ALREADY_MAPPED, 9);
IS(RSMERR_SEG_STILL_MAPPED, 10);
IS(RSMERR_SEG_NOT_MAPPED, 11);
IS(RSMERR_NOT_CREATOR, 12);
IS(RSMERR_BAD_BARRIER_PTR, 13);
IS(RSMERR_BAD_SGIO, 14);
IS(RSMERR_BAD_LOCALMEM_HNDL, 15);
IS(RSMERR_BAD_ADDR, 16);
IS(RSMERR_BAD_MEM_ALIGNMENT, 17);
IS(RSMERR_BAD_OFFSET, 18);
IS(RSMERR_MISALIGNED_OFFSET, 19);
IS(RSMERR_BAD_LENGTH, 20);
IS(RSMERR_BAD_ACL, 21);
IS(RSMERR_BAD_SEGID, 22);
IS(RSMERR_RESERVED_SEGID, 23);
IS(RSMERR_SEGID_IN_USE, 24);
IS(RSMERR_BAD_MODE, 25);
IS(RSMERR_BAD_PERMS, 26);
IS(RSMERR_PERM_DENIED, 27);
IS(RSMERR_LOCKS_NOT_SUPPORTED, 28);
IS(RSMERR_LOCKS_NOT_ENABLED, 29);
IS(RSMERR_REBIND_NOT_ALLOWED, 30);
IS(RSMERR_INSUFFICIENT_RESOURCES, 31);
IS(RSMERR_INSUFFICIENT_MEM, 32);
IS(RSMERR_MAP_FAILED, 33);
IS(RSMERR_POLLFD_IN_USE, 34);
IS(RSMERR_BARRIER_UNINITIALIZED, 35);
IS(RSMERR_BARRIER_OPEN_FAILED, 36);
IS(RSMERR_BARRIER_NOT_OPENED, 37);
IS(RSMERR_BARRIER_FAILURE, 38);
IS(RSMERR_REMOTE_NODE_UNREACHABLE, 39);
IS(RSMERR_CONN_ABORTED, 40);
IS(RSMERR_INTERRUPTED, 41);
IS(RSMERR_TIMEOUT, 42);
IS(RSMERR_BAD_APPID, 43);
IS(RSMERR_BAD_CONF, 44);
IS(RSMERR_SEG_NOT_CONNECTED, 45);
IS(RSMERR_INTERNAL_ERROR, 100);
IS(RSMERR_BAD_DRIVER_VERSION, 101);
IS(RSMERR_UNSUPPORTED_VERSION, 102);
IS(RSMERR_DRIVER_NAME_IN_USE, 103);
IS(RSMERR_DRIVER_NOT_REGISTERED, 104);
IS(RSMERR_DRIVER_THREAD_RUNNING, 105);
IS(RSMERR_NEED_THREAD_INIT, 106);
IS(RSMERR_THREAD_NOT_INITED, 107);
IS(RSMERR_CTLRS_REGISTERED, 108);
IS(RSMERR_CTLR_NOT_REGISTERED, 109);
IS(RSMERR_CTLR_ALREADY_REGISTERED, 110);
IS(RSMERR_CTLR_IN_USE, 111);
IS(RSMERR_NAME_TOO_LONG, 112);
IS(RSMERR_SEG_PUBLISHED, 113);
IS(RSMERR_SEG_NOT_PUBLISHED_TO_RSM_ADDR, 114);
IS(RSMERR_SEG_IN_USE, 115);
IS(RSMERR_BAD_SENDQ_HNDL, 116);
IS(RSMERR_BAD_ARGS_ERRORS, 117);
IS(RSMERR_BAD_MSTYPE, 118);
IS(RSMERR_NO_BACKING_MEM, 119);
IS(RSMERR_NOT_MEM, 120);
IS(RSMERR_MEM_ALREADY_BOUND, 121);
IS(RSMERR_MEM_NOT_BOUND, 122);
IS(RSMERR_HANDLER_NOT_REGISTERED, 123);
IS(RSMERR_NO_HANDLER, 124);
IS(RSMERR_UNBIND_REBIND_NOT_ALLOWED, 125);
IS(RSMERR_CALLBACKS_NOT_SUPPORTED, 126);
IS(RSMERR_UNSUPPORTED_OPERATION, 127);
IS(RSMERR_RSM_ADDR_UNREACHABLE, 128);
IS(RSMERR_UNKNOWN_RSM_ADDR, 129);
IS(RSMERR_BAD_BARRIER_HNDL, 130);
IS(RSMERR_COMM_ERR_MAYBE_DELIVERED, 131);
IS(RSMERR_COMM_ERR_NOT_DELIVERED, 132);
IS(RSMERR_QUEUE_FENCE_UP, 133);
IS(RSMERR_QUEUE_FULL, 134);
IS(RSMERR_BAD_ADDRESS, RSMERR_BAD_ADDR);
