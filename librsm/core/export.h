/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Exported segments: memory of this process that other nodes may import.
 *
 * Callers have checked arguments as their API documents it; here ranges are checked against the
 * memory map and everything that needs the daemon happens. State-changing calls are serialised
 * inside; a handle must not be used after rsmcore_export_destroy().
 */
#ifndef RSMCORE_EXPORT_H
#define RSMCORE_EXPORT_H

#include <stdbool.h>

#include "base/exports.h"
#include "core/controller.h"
#include "core/event.h"

RSMCORE_EXPORTS_BEGIN

struct rsmcore_export;

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
 * Make it connectable under @p *segment_id of a name space; @p acl_count 0 admits all nodes with
 * the creation mode.
 * @param flags  RSM_PUBLISH_ASSIGN_ID: the daemon chooses the id, as the space has it, and
 *               @p *segment_id receives it on success.
 * @return RSM_ST_OK, RSM_ST_INVALID (nobody may ask for this id, or an unknown flag),
 *         RSM_ST_ALREADY_PUBLISHED, RSM_ST_NOT_CREATOR, RSM_ST_BAD_RIGHTS,
 *         RSM_ST_ID_IN_USE, RSM_ST_NO_ROUTE (the list names a node without a path),
 *         RSM_ST_NO_RESOURCES, RSM_ST_NO_MEMORY, RSM_ST_STALE.
 */
enum rsm_status rsmcore_export_publish(struct rsmcore_export *segment, enum rsm_id_space space,
                                       uint32_t *segment_id, uint32_t flags,
                                       const struct rsm_acl_entry *acl, uint32_t acl_count);
/** Replace the access list; connections stay. RSM_ST_NOT_PUBLISHED, also when rsmd has died;
 *  RSM_ST_NOT_CREATOR, ... */
enum rsm_status rsmcore_export_republish(struct rsmcore_export *segment,
                                         const struct rsm_acl_entry *acl, uint32_t acl_count);
/**
 * End publication. Without RSM_UNPUBLISH_KEEP_CONNECTIONS every importer is cut off: from the
 * return on none of its stores reaches the memory. When rsmd has died the publication has ended
 * already: RSM_ST_NOT_PUBLISHED, and the importers are cut off all the same.
 */
enum rsm_status rsmcore_export_unpublish(struct rsmcore_export *segment, uint32_t flags);

/**
 * Put other memory of the same length behind the segment; its contents become the segment's, the
 * old memory returns to the application with its contents. Importers notice nothing.
 * @return RSM_ST_OK, RSM_ST_NOT_CREATOR, RSM_ST_FAULT, RSM_ST_DENIED, RSM_ST_NO_MEMORY,
 *         RSM_ST_BUSY: old or new memory is shared with another exported segment; RSM_ST_STALE:
 *         rsmd has died.
 */
enum rsm_status rsmcore_export_rebind(struct rsmcore_export *segment, void *address);

/** End the segment, cutting importers off. Always succeeds; in a forked child it only frees the
 *  child's copy of the handle. */
void rsmcore_export_destroy(struct rsmcore_export *segment);

/** Whether the calling process is the one that created the segment. */
bool rsmcore_export_is_creator(const struct rsmcore_export *segment);
/** Not when rsmd has died, even if rsmcore_export_unpublish() was not called. */
bool rsmcore_export_is_published(const struct rsmcore_export *segment);
void *rsmcore_export_address(const struct rsmcore_export *segment);
size_t rsmcore_export_length(const struct rsmcore_export *segment);
struct rsmcore_event *rsmcore_export_event(struct rsmcore_export *segment);

RSMCORE_EXPORTS_END

#endif
