/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Adapters: numbers for the controllers of this node. */
#pragma once

#include "core/controller.h"
#include "error.h"

enum { SISCI_ADAPTERS_MAX = 64 }; /**< numbers are 0 to one less */

/**
 * The controller behind an adapter number. The caller closes it with rsmcore_controller_close().
 * @return SCI_ERR_OK, SCI_ERR_ILLEGAL_ADAPTERNO, SCI_ERR_NO_SUCH_ADAPTERNO, SCI_ERR_NOSPC,
 *         SCI_ERR_SYSTEM: no daemon answers; SCI_ERR_INCONSISTENT_VERSIONS.
 */
sci_error_t sisci_adapter_open(unsigned number, struct rsmcore_controller **controller);

/** Whether there is such an adapter. Returns what sisci_adapter_open() does. */
sci_error_t sisci_adapter_check(unsigned number);

/** The node of an id as programs give it. SCI_ERR_OK, SCI_ERR_ILLEGAL_NODEID; SCI_ERR_SYSTEM: it is
 *  this one, and no daemon answers. */
sci_error_t sisci_node(unsigned id, uint32_t *node);

/** Forget the controllers that have been looked up. */
void sisci_adapters_forget(void);
