/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Groups: reflective memory, an extension of librsm to RSMAPI. Programs write
 * `#include <rsm/group.h>` and link with `-lrsm`.
 *
 * A *group* is a segment id on many nodes. A *member* is a segment that its node has published
 * under this id, by rsm_memseg_export_create() and rsm_memseg_export_publish(): it has memory,
 * access list and events of its own, and its program needs nothing of this header. A *writer*
 * connects to the group, and what it puts lands at the same offset in every member's copy, that of
 * the local node included. What members store to their own copies stays theirs.
 *
 * A node joins a group by publishing the id and leaves it by unpublishing or destroying the
 * segment, or by its end, at any time. Writers find new members by themselves: within about 100 ms
 * if they call rsm_group_close_barrier() or rsm_group_event_wait() that often. A new member gets
 * what is put from then on, and nothing of what was put before.
 *
 * What one writer puts before an order or close barrier is in each copy before what it puts later.
 * Between writers there is no order, and between members no simultaneity.
 *
 * The conventions are those of <rsmapi.h>. Any number of threads may use a handle; their calls take
 * place one after the other. In a forked child a handle of its parent can be disconnected, and all
 * else is RSMERR_BAD_SEG_HNDL.
 */
#ifndef RSM_GROUP_H
#define RSM_GROUP_H

#include <rsm/rsm_common.h>
#include <rsm/rsmapi_common.h>

#ifdef __cplusplus
extern "C" {
#endif

/** A writer's connection to a group. */
typedef struct __rsm_group_handle *rsm_group_handle_t;

/** A node that has the segment. */
typedef struct {
    rsm_node_id_t node;
    int error;     /* RSM_SUCCESS: a member; else why it could not be connected, such as
                      RSMERR_PERM_DENIED: the segment does not let this writer write */
    uint64_t size; /* of a member: bytes of its copy */
} rsm_group_member_t;

/** A change of the membership. */
typedef struct {
    int change; /* RSM_GROUP_JOINED and so on */
    rsm_node_id_t node;
    int error; /* why the node has left, or why it could not be connected */
} rsm_group_event_t;

#define RSM_GROUP_JOINED   1 /* a member has been connected */
#define RSM_GROUP_LEFT     2 /* a member has withdrawn its segment, or was lost */
#define RSM_GROUP_REFUSED  3 /* a node has the segment and could not be connected */
#define RSM_GROUP_OVERFLOW 4 /* more than 64 changes were not taken, and the oldest are lost */

/**
 * Connect to a group as a writer: to the segment of that id on every node that the controller
 * reaches, and on the local node. There need be no member yet.
 *
 * @param[out] group  NULL on failure.
 * @retval RSMERR_BAD_CTLR_HNDL           @p controller is NULL.
 * @retval RSMERR_BAD_SEG_HNDL            @p group is NULL.
 * @retval RSMERR_REMOTE_NODE_UNREACHABLE this node's daemon does not answer.
 * @retval RSMERR_INSUFFICIENT_MEM        out of memory.
 * @retval RSMERR_INSUFFICIENT_RESOURCES  no descriptor left.
 */
int rsm_group_connect(rsmapi_controller_handle_t controller, rsm_memseg_id_t segment_id,
                      rsm_group_handle_t *group);

/**
 * Disconnect from all members.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p group is NULL.
 */
int rsm_group_disconnect(rsm_group_handle_t group);

/**
 * Put to all copies: begin, and do not wait for the members. @p data may be changed on return. A
 * member that cannot be written, or whose copy is too small, does not get the data; the others do,
 * and rsm_group_close_barrier() reports it. If there is no member, nothing happens.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p group is NULL.
 * @retval RSMERR_BAD_ADDR      @p data is NULL.
 * @retval RSMERR_BAD_OFFSET    @p offset is negative, or no member's copy has this range.
 */
int rsm_group_put(rsm_group_handle_t group, off_t offset, const void *data, size_t length);

/**
 * Order what is put: at each member, what was put before is there before what is put later.
 *
 * @retval RSMERR_BAD_SEG_HNDL  @p group is NULL.
 */
int rsm_group_order_barrier(rsm_group_handle_t group);

/**
 * Wait until what was put is in every member's copy, for all members at once. A member that does
 * not answer costs the peer time-out, and leaves the group.
 *
 * @param[out] lacking  may be NULL. Of the members that something was put to since the last close
 *                      barrier of this handle, how many may lack some of it: because they could not
 *                      be written, or have left in between.
 * @retval RSMERR_BAD_SEG_HNDL     @p group is NULL.
 * @retval RSMERR_BARRIER_FAILURE  @p lacking is not 0. All other members have everything.
 */
int rsm_group_close_barrier(rsm_group_handle_t group, uint_t *lacking);

/**
 * Post an event to every member, whose rsm_intr_signal_wait() on the segment takes it. A member
 * that gets it finds what was put before. A failure keeps the event from no other member.
 *
 * @param flags  0 or #RSM_SIGPOST_NO_ACCUMULATE, as in rsm_intr_signal_post().
 * @retval RSMERR_BAD_SEG_HNDL             @p group is NULL.
 * @retval RSMERR_CONN_ABORTED             a member was lost, or lacks earlier data.
 * @retval RSMERR_REMOTE_NODE_UNREACHABLE  a member's node does not answer.
 * @retval RSMERR_INSUFFICIENT_RESOURCES   no descriptor left.
 * @retval RSMERR_INSUFFICIENT_MEM         out of memory.
 */
int rsm_group_signal_post(rsm_group_handle_t group, uint_t flags);

/**
 * List the members, and the nodes that have the segment and could not be connected.
 *
 * @param[out] members   may be NULL if *count is 0.
 * @param[in,out] count  entries there is room for; then how many there are, which may be more.
 * @retval RSMERR_BAD_SEG_HNDL  @p group is NULL.
 * @retval RSMERR_BAD_ADDR      @p count is NULL, or @p members is.
 * @retval RSMERR_INSUFFICIENT_MEM  out of memory.
 */
int rsm_group_get_members(rsm_group_handle_t group, rsm_group_member_t *members, uint_t *count);

/**
 * Take the oldest change of the membership, waiting for one. Those that are there already when a
 * group is connected are changes, too.
 *
 * @param timeout  milliseconds; 0: do not wait, -1: without limit.
 * @retval RSMERR_BAD_SEG_HNDL  @p group is NULL.
 * @retval RSMERR_BAD_ADDR      @p event is NULL.
 * @retval RSMERR_TIMEOUT       there was none.
 * @retval RSMERR_INTERRUPTED   a signal handler has run.
 */
int rsm_group_event_wait(rsm_group_handle_t group, int timeout, rsm_group_event_t *event);

#ifdef __cplusplus
}
#endif

#endif /* RSM_GROUP_H */
