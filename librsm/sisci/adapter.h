/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Adapters: numbers for the controllers of this node; and what programs see of nodes. */
#pragma once

#include "core/controller.h"
#include "error.h"
#include "sisci_types.h"

enum { SISCI_ADAPTERS_MAX = 64 };    /**< numbers are 0 to one less */
enum { SISCI_CARD_TYPE = 0x52534d }; /**< whatever fabric is behind them: none of the vendor's */

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

/** What SCIQuery() returns for a segment instead of a bus address: a value that is unique for each,
 *  and the same on all nodes. No bus has memory at this address, so a device that gets it reaches
 *  nothing. */
static inline sci_ioaddr_t sisci_ioaddr(unsigned node, unsigned id)
{
    return (1ULL << 63) | ((sci_ioaddr_t)node << 32) | id;
}
