/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Information on adapters for programs. */
#pragma once

enum { SISCI_CARD_TYPE = 0x52534d }; /**< whatever fabric is behind them: none of the vendor's */
