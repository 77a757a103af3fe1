/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Order among the stores through all maps of this process. */
#pragma once

#include "core/import.h"

/** A connection that may be mapped, until it is forgotten. False: no memory. */
bool sisci_order_add(struct rsmcore_import *import);
void sisci_order_forget(const struct rsmcore_import *import);

/** What was stored through all maps arrives before what will be. */
void sisci_order_all(void);
