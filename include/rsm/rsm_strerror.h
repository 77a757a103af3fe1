/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * RSMAPI errors in words. Solaris has nothing like it. No other header includes this one, so a
 * program may have functions of its own with these names.
 */
#ifndef _RSM_STRERROR_H
#define _RSM_STRERROR_H

#include <rsm/rsm_common.h>

#ifdef __cplusplus
extern "C" {
#endif

#define _RSM_ERRORS(X)                                                                             \
    X(RSM_SUCCESS, "no error")                                                                     \
    X(RSMERR_BAD_LIBRARY_VERSION, "the transport was built for another version of the library")    \
    X(RSMERR_BAD_TOPOLOGY_PTR, "no place was given for the topology")                              \
    X(RSMERR_BAD_CTLR_HNDL, "that is no controller")                                               \
    X(RSMERR_CTLR_NOT_PRESENT,                                                                     \
      "this node has no such controller, or its rsmd cannot be reached or started")                \
    X(RSMERR_BAD_SEG_HNDL, "that is no segment in a fitting state")                                \
    X(RSMERR_SEG_ALREADY_PUBLISHED, "the segment is published already")                            \
    X(RSMERR_SEG_NOT_PUBLISHED, "the node has published no segment of this id")                    \
    X(RSMERR_SEG_NOT_PUBLISHED_TO_NODE, "the segment is not published to this node")               \
    X(RSMERR_SEG_ALREADY_MAPPED, "the segment is mapped already")                                  \
    X(RSMERR_SEG_STILL_MAPPED, "the segment is still mapped")                                      \
    X(RSMERR_SEG_NOT_MAPPED, "the segment is not mapped")                                          \
    X(RSMERR_NOT_CREATOR, "only the process that created the segment may do this")                 \
    X(RSMERR_BAD_BARRIER_PTR, "no barrier was given")                                              \
    X(RSMERR_BAD_SGIO, "the scatter-gather request is not valid")                                  \
    X(RSMERR_BAD_LOCALMEM_HNDL, "that is no local memory handle")                                  \
    X(RSMERR_BAD_ADDR, "an address is not valid")                                                  \
    X(RSMERR_BAD_MEM_ALIGNMENT, "an address or offset is not aligned")                             \
    X(RSMERR_BAD_OFFSET, "the range is outside the segment")                                       \
    X(RSMERR_MISALIGNED_OFFSET, "the offset is not aligned")                                       \
    X(RSMERR_BAD_LENGTH, "the length does not fit the segment")                                    \
    X(RSMERR_BAD_ACL, "an access list names nodes 1 to 64")                                        \
    X(RSMERR_BAD_SEGID, "no place was given for the segment id")                                   \
    X(RSMERR_RESERVED_SEGID, "the segment id is reserved; use 0x400000 to 0x7fffffff")             \
    X(RSMERR_SEGID_IN_USE, "another exporter on this node uses the segment id")                    \
    X(RSMERR_BAD_MODE, "that is no barrier mode")                                                  \
    X(RSMERR_BAD_PERMS, "the mapping asks for more rights than the connection has")                \
    X(RSMERR_PERM_DENIED, "access is not allowed")                                                 \
    X(RSMERR_LOCKS_NOT_SUPPORTED, "locks are not supported")                                       \
    X(RSMERR_LOCKS_NOT_ENABLED, "locks are not enabled")                                           \
    X(RSMERR_REBIND_NOT_ALLOWED, "the segment was created without permission to rebind")           \
    X(RSMERR_INSUFFICIENT_RESOURCES,                                                               \
      "the node or this process has run out of segments or descriptors")                           \
    X(RSMERR_INSUFFICIENT_MEM, "memory or the limit of exported memory is used up")                \
    X(RSMERR_MAP_FAILED, "the segment cannot be mapped here")                                      \
    X(RSMERR_POLLFD_IN_USE, "the segment's poll descriptor is still in use")                       \
    X(RSMERR_BARRIER_UNINITIALIZED, "the barrier was not initialised")                             \
    X(RSMERR_BARRIER_OPEN_FAILED, "the barrier could not be opened; the link may be down")         \
    X(RSMERR_BARRIER_NOT_OPENED, "the barrier was not opened")                                     \
    X(RSMERR_BARRIER_FAILURE, "an access may have failed on its way; it must be repeated")         \
    X(RSMERR_REMOTE_NODE_UNREACHABLE, "the node cannot be reached")                                \
    X(RSMERR_CONN_ABORTED, "the connection is gone: the exporter or its node has ended")           \
    X(RSMERR_INTERRUPTED, "a signal came")                                                         \
    X(RSMERR_TIMEOUT, "the time was over")                                                         \
    X(RSMERR_BAD_APPID, "there is no reservation for this application")                            \
    X(RSMERR_BAD_CONF, "the file of reserved segment ids is missing or not valid")                 \
    X(RSMERR_SEG_NOT_CONNECTED, "the segment is not connected")                                    \
    X(RSMERR_INTERNAL_ERROR, "the controller has no path to that node")                            \
    X(RSMERR_BAD_DRIVER_VERSION, "the other node runs another version of rsmd")                    \
    X(RSMERR_BAD_ARGS_ERRORS, "the descriptors to wait for are not valid")                         \
    /* Those of drivers below the library, which no function of librsm returns. */                 \
    X(RSMERR_UNSUPPORTED_VERSION, "the driver is of a version that is not supported")              \
    X(RSMERR_DRIVER_NAME_IN_USE, "another driver has this name")                                   \
    X(RSMERR_DRIVER_NOT_REGISTERED, "the driver is not registered")                                \
    X(RSMERR_DRIVER_THREAD_RUNNING, "the driver's thread is running")                              \
    X(RSMERR_NEED_THREAD_INIT, "the driver needs a thread that is not there yet")                  \
    X(RSMERR_THREAD_NOT_INITED, "the driver's thread was not initialised")                         \
    X(RSMERR_CTLRS_REGISTERED, "controllers of the driver are registered")                         \
    X(RSMERR_CTLR_NOT_REGISTERED, "the controller is not registered")                              \
    X(RSMERR_CTLR_ALREADY_REGISTERED, "the controller is registered already")                      \
    X(RSMERR_CTLR_IN_USE, "the controller is in use")                                              \
    X(RSMERR_NAME_TOO_LONG, "the name is too long")                                                \
    X(RSMERR_SEG_PUBLISHED, "the segment is published")                                            \
    X(RSMERR_SEG_NOT_PUBLISHED_TO_RSM_ADDR, "the segment is not published to this address")        \
    X(RSMERR_SEG_IN_USE, "the segment is in use")                                                  \
    X(RSMERR_BAD_SENDQ_HNDL, "that is no send queue")                                              \
    X(RSMERR_BAD_MSTYPE, "that is no type of memory")                                              \
    X(RSMERR_NO_BACKING_MEM, "no memory is behind the segment")                                    \
    X(RSMERR_NOT_MEM, "that is no memory")                                                         \
    X(RSMERR_MEM_ALREADY_BOUND, "memory is behind the segment already")                            \
    X(RSMERR_MEM_NOT_BOUND, "the memory is not behind the segment")                                \
    X(RSMERR_HANDLER_NOT_REGISTERED, "the handler is not registered")                              \
    X(RSMERR_NO_HANDLER, "there is no handler")                                                    \
    X(RSMERR_UNBIND_REBIND_NOT_ALLOWED,                                                            \
      "the segment was created without permission to change its memory")                           \
    X(RSMERR_CALLBACKS_NOT_SUPPORTED, "callbacks are not supported")                               \
    X(RSMERR_UNSUPPORTED_OPERATION, "the operation is not supported")                              \
    X(RSMERR_RSM_ADDR_UNREACHABLE, "the address cannot be reached")                                \
    X(RSMERR_UNKNOWN_RSM_ADDR, "the address is unknown")                                           \
    X(RSMERR_BAD_BARRIER_HNDL, "that is no barrier")                                               \
    X(RSMERR_COMM_ERR_MAYBE_DELIVERED, "the link failed; the message may have arrived")            \
    X(RSMERR_COMM_ERR_NOT_DELIVERED, "the link failed; the message has not arrived")               \
    X(RSMERR_QUEUE_FENCE_UP, "the send queue is behind a fence")                                   \
    X(RSMERR_QUEUE_FULL, "the send queue is full")

/** The name of an RSMAPI error, such as "RSMERR_BAD_ADDR"; "unknown error" if it has none. Never
 *  NULL. */
static __inline__ const char *rsm_strerrorname(int error)
{
    switch (error) {
#define _RSM_NAME(name, text)                                                                      \
    case name:                                                                                     \
        return #name;
        _RSM_ERRORS(_RSM_NAME)
#undef _RSM_NAME
    default:
        return "unknown error";
    }
}

/** What an RSMAPI error means, in words, without a full stop. Never NULL. */
static __inline__ const char *rsm_strerror(int error)
{
    switch (error) {
#define _RSM_TEXT(name, text)                                                                      \
    case name:                                                                                     \
        return text;
        _RSM_ERRORS(_RSM_TEXT)
#undef _RSM_TEXT
    default:
        return "an error of a transport's own";
    }
}

#undef _RSM_ERRORS

#ifdef __cplusplus
}
#endif

#endif
