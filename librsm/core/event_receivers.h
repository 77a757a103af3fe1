/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How exports and imports set the receivers of their posts. */
#pragma once

#include "core/event.h"

/**
 * Tie the peers of an event to a slot of the generation table. Of an import: once the slot no
 * longer holds @p value the exporter is out of reach and posts are lost. Of an export (@p value is
 * ignored): whenever the slot moves the set of importers has changed.
 */
void rsmcore_event_follow(struct rsmcore_event *event, const _Atomic uint32_t *slot,
                          uint32_t value);

/** Of an import: its connection may bring events, too. As transport and connect() know it, for as
 *  long as the event is there. */
void rsmcore_event_set_source(struct rsmcore_event *event, struct rsm_conn *conn);
