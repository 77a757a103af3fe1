/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Exported segments: memory of this process that other nodes may import.
 *
 *  Callers have checked arguments as their API documents it; here ranges are checked against the
 *  memory map and everything that needs the daemon happens. State-changing calls are serialised
 *  inside; a handle must not be used after rsmcore_export_destroy(). */
#pragma once

#include <stdbool.h>

#include "base/exports.h"
#include "core/controller.h"
#include "core/event.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_export;

/** An id that a segment has from its creation to its end, whether or not importers can connect. */
struct rsmcore_claim {
    enum rsm_id_space space;
    uint32_t id; /**< wanted; receives the one that it has */
    bool assign; /**< the daemon chooses it, as the space has it, and `id` is where it begins */
};

/**
 * Register [address, address + length), page-aligned both, as a segment; the pages move onto
 * shareable extents with their contents kept.
 * @param mode  0777 & ~umask: rights where no access list is given, owner/group/other digits.
 * @return RSM_ST_OK; RSM_ST_FAULT: not mapped or not exportable; RSM_ST_DENIED: not readable and
 *         writable; RSM_ST_NO_MEMORY; RSM_ST_NO_RESOURCES; RSM_ST_NO_CONTROLLER.
 */
enum rsm_status rsmcore_export_create(struct rsmcore_controller *controller, void *address,
                                      size_t length, unsigned mode, struct rsmcore_export **out);

/**
 * Register a segment of new memory, zeroes, which the library maps at an address of the kernel's
 * choice and unmaps when the segment is destroyed: no page is exchanged. rsmcore_export_address()
 * returns the address. Importers that are cut off keep pages that no longer belong to any segment,
 * as with an application's memory. It cannot be rebound.
 * @param size   bytes, not 0, as importers see it; the memory is whole pages.
 * @param claim  the id that it claims; NULL: none. See rsmcore_export_publish().
 * @return RSM_ST_OK, RSM_ST_INVALID, RSM_ST_NO_MEMORY, RSM_ST_NO_RESOURCES, RSM_ST_NO_CONTROLLER,
 *         RSM_ST_ID_IN_USE.
 */
enum rsm_status rsmcore_export_allocate(struct rsmcore_controller *controller, size_t size,
                                        unsigned mode, struct rsmcore_claim *claim,
                                        struct rsmcore_export **out);

/** Register a segment that has no memory yet: rsmcore_export_attach() gives it some. Until then its
 *  address is NULL and it cannot be published (RSM_ST_FAULT) nor rebound. @return as
 *  rsmcore_export_allocate(). */
enum rsm_status rsmcore_export_create_empty(struct rsmcore_controller *controller, size_t size,
                                            unsigned mode, struct rsmcore_claim *claim,
                                            struct rsmcore_export **out);

/** Put memory of the application behind a segment that has none, page-aligned and as long as the
 *  segment, its last page in whole. @return as rsmcore_export_create(); RSM_ST_BUSY: it has memory;
 *  RSM_ST_NOT_CREATOR; RSM_ST_STALE: rsmd has died. */
enum rsm_status rsmcore_export_attach(struct rsmcore_export *segment, void *address);

/**
 * Make it connectable under @p *segment_id of a name space; @p acl_count 0 admits all nodes with
 * the creation mode. A segment that has claimed its id is published under that one, and whether it
 * is connectable is what rsmcore_export_move() says; until then it can be published and unpublished
 * at will.
 * @param flags  RSM_PUBLISH_ASSIGN_ID: the daemon chooses an id of the space, and @p *segment_id
 *               receives it on success.
 * @return RSM_ST_OK, RSM_ST_INVALID (no segment may have this id, or an unknown flag),
 *         RSM_ST_ALREADY_PUBLISHED, RSM_ST_NOT_CREATOR, RSM_ST_BAD_RIGHTS, RSM_ST_ID_IN_USE,
 *         RSM_ST_NO_ROUTE (the list names a node without a path), RSM_ST_NO_RESOURCES,
 *         RSM_ST_NO_MEMORY, RSM_ST_STALE.
 */
enum rsm_status rsmcore_export_publish(struct rsmcore_export *segment, enum rsm_id_space space,
                                       uint32_t *segment_id, uint32_t flags,
                                       const struct rsm_acl_entry *acl, uint32_t acl_count);
/** Replace the access list; connections stay. RSM_ST_NOT_PUBLISHED, also when rsmd has died;
 *  RSM_ST_NOT_CREATOR, ... */
enum rsm_status rsmcore_export_republish(struct rsmcore_export *segment,
                                         const struct rsm_acl_entry *acl, uint32_t acl_count);
/** End publication: no importer can connect any more, and the id is free. Without
 *  RSM_UNPUBLISH_KEEP_CONNECTIONS every importer is cut off: after the return none of its stores
 *  reaches the memory. With the flag connected importers go on to share the memory; the segment can
 *  be published again, and a later call without the flag cuts them off. RSM_ST_NOT_PUBLISHED: also
 *  if rsmd has died, which ended the publication; importers are cut off all the same. RSM_ST_BUSY:
 *  a process is attached, and would have to be cut off. */
enum rsm_status rsmcore_export_unpublish(struct rsmcore_export *segment, uint32_t flags);

/** From which state to which, on one adapter. */
struct rsmcore_move {
    uint32_t unit; /**< the adapter's number, below RSM_PROTO_UNITS_MAX */
    enum rsm_segment_state from, to;
    uint32_t flags; /**< RSM_STATE_* */
};

/**
 * Compare and set the state of a segment that has claimed its id: @p move->to replaces
 * @p move->from. Equal states query it. The exporter and attached processes
 * (rsmcore_import_attach()) share the state.
 * @param was  receives the state before; nothing has changed unless that is move->from.
 * @return RSM_ST_OK; RSM_ST_NOT_PUBLISHED: to RSM_SEGMENT_OPEN, and it is not published;
 *         RSM_ST_INVALID, RSM_ST_STALE, else what rsmcore_control_call() says.
 */
enum rsm_status rsmcore_export_move(struct rsmcore_export *segment, const struct rsmcore_move *move,
                                    enum rsm_segment_state *was);

/**
 * Put other memory of the same length behind the segment; its contents become the segment's, the
 * old memory returns to the application with its contents. Importers notice nothing.
 * @return RSM_ST_OK, RSM_ST_NOT_CREATOR, RSM_ST_FAULT, RSM_ST_DENIED, RSM_ST_NO_MEMORY,
 *         RSM_ST_BUSY: old or new memory is shared with another exported segment; RSM_ST_STALE:
 *         rsmd has died; RSM_ST_UNSUPPORTED: the segment's memory is not the application's.
 */
enum rsm_status rsmcore_export_rebind(struct rsmcore_export *segment, void *address);

/** What becomes of those that are connected when a segment ends. */
enum rsmcore_destroy {
    RSMCORE_DESTROY_CUT = 0, /**< they are cut off: none of their stores reaches the memory */
    /** There must be none. RSM_ST_BUSY: there are, and the segment is as it was. */
    RSMCORE_DESTROY_UNUSED,
    /** They go on to share the segment's memory among themselves until the last of them or this
     *  process has gone. This process gets its memory back with its contents, as by CUT. */
    RSMCORE_DESTROY_DEFER,
    /** The same, but memory of rsmcore_export_allocate() stays mapped, and is shared with them.
     *  rsmcore_export_free_memory() unmaps it. */
    RSMCORE_DESTROY_LEAVE,
};

/**
 * End the segment: no importer can connect any more, its id is free and the handle invalid. In a
 * forked child it only frees the child's copy of the handle.
 * @return RSM_ST_OK; with RSMCORE_DESTROY_UNUSED alone the handle may stay valid: RSM_ST_BUSY, or
 *         what rsmcore_control_call() says when rsmd did not answer. The others always succeed.
 */
enum rsm_status rsmcore_export_destroy(struct rsmcore_export *segment, enum rsmcore_destroy how);

/** Unmap what a segment has left that was ended by RSMCORE_DESTROY_LEAVE: where it was, and
 *  rsmcore_export_length() bytes. */
void rsmcore_export_free_memory(void *address, size_t length);

/** Whether the calling process is the one that created the segment. */
bool rsmcore_export_is_creator(const struct rsmcore_export *segment);
/**
 * Map a part of its memory once more: [offset, offset + length), whole pages, at @p at, over what
 * is mapped there.
 * @return RSM_ST_OK, RSM_ST_RANGE, RSM_ST_FAULT: it has no memory; RSM_ST_MAP_FAILED: a part of
 *         what was at @p at may have gone.
 */
enum rsm_status rsmcore_export_show(const struct rsmcore_export *segment, size_t offset,
                                    size_t length, bool read_only, void *at);
/** Not when rsmd has died, even if rsmcore_export_unpublish() was not called. */
bool rsmcore_export_is_published(const struct rsmcore_export *segment);
void *rsmcore_export_address(const struct rsmcore_export *segment);
size_t rsmcore_export_length(const struct rsmcore_export *segment);
/** Whether rsmcore_export_allocate() has mapped its memory. */
bool rsmcore_export_is_own_memory(const struct rsmcore_export *segment);
struct rsmcore_event *rsmcore_export_event(struct rsmcore_export *segment);

RSMCORE_EXPORTS_END

/** As rsmcore_export_move(), of handle @p id at @p end on @p control: for exports, and for imports
 *  that are attached to one. */
enum rsm_status rsmcore_segment_move(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, const struct rsmcore_move *move,
                                     enum rsm_segment_state *was);
