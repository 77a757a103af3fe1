/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Maps whose stores raise interrupts at the exporter. Each has an import of its own over the
 *  segment's connection, which says what is stored, and a thread. That thread waits until the data
 *  has arrived, and everything that the connection was given before; then it triggers the segment's
 *  interrupt of kind RSM_INTERRUPT_STORES, which the exporter has once it has registered a flag
 *  (interrupt_flag.h). */
#pragma once

#include "segment_remote.h"

struct sisci_notifier;

/**
 * Begin, over a connection that is there and outlasts it.
 * @param unconditional  of a map with SCI_FLAG_UNCONDITIONAL_DATA_INTERRUPT_MAP.
 * @return SCI_ERR_OK, SCI_ERR_NOSPC, SCI_ERR_SYSTEM.
 */
sci_error_t sisci_notifier_start(const struct sisci_connection *connection, bool unconditional,
                                 struct sisci_notifier **notifier);

/** What the map maps, and what is stored through. */
struct rsmcore_import *sisci_notifier_import(const struct sisci_notifier *notifier);

/** End it, once there is no mapping. The exporter learns of all that was stored before, unless it
 *  is out of reach. Waits for that. */
void sisci_notifier_end(struct sisci_notifier *notifier);
