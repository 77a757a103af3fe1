/* SPDX-License-Identifier: BSD-3-Clause */
/** @file A second import over the connection of one that is there, which reports each write to its
 *  owner. It has no mapping of the transport: the mapping engine carries out what is stored. */
#pragma once

#include "base/exports.h"
#include "core/import.h"

RSMCORE_EXPORTS_BEGIN

/** Bytes were handed to the transport. Called by any thread, also from the handler of a fault, once
 *  the transport has taken them: it may take a lock that no one holds while touching a mapping, and
 *  waits for nothing else. */
typedef void (*rsmcore_import_wrote)(void *argument, uint64_t offset, uint64_t length);

/**
 * Make such a view. It has the rights of @p import, which must outlast it, and its failures; events
 * cannot be posted to it. A forked child has none: there it is aborted.
 * @return RSM_ST_OK, RSM_ST_NO_MEMORY.
 */
enum rsm_status rsmcore_import_view_make(struct rsmcore_import *import, rsmcore_import_wrote wrote,
                                         void *argument, struct rsmcore_import **view);

/** End it. All mappings have been unmapped by the caller; @p wrote is called no more. */
void rsmcore_import_view_end(struct rsmcore_import *view);

RSMCORE_EXPORTS_END
