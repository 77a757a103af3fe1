/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Connections that a forked child must not use. */
#pragma once

#include "transport/generic.h"

/** The generation of this process: another one in each forked child. No lock, any thread. */
unsigned rsmcore_guard_process(void);

/** Make of a completed table the one of connections without RSM_CAP_FORK. */
void rsmcore_guard_make(const struct rsm_import_ops *full, struct rsm_import_ops *guarded);
