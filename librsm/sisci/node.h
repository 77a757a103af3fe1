/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Information on adapters for programs. */
#ifndef SISCI_NODE_H
#define SISCI_NODE_H

enum { SISCI_CARD_TYPE = 0x52534d }; /**< whatever fabric is behind them: none of the vendor's */

#endif
