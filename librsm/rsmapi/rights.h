/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Rights in the core's notation from RSMAPI's permissions of connect and map. */
#pragma once

#include "rsm/rsmapi.h"
#include "rsm/transport.h"

/** Bits other than RSM_PERM_READ and RSM_PERM_WRITE do not matter. */
static inline uint32_t rsmapi_rights(rsm_permission_t permission)
{
    return ((permission & RSM_PERM_READ) != 0 ? RSM_RIGHT_READ : 0) |
           ((permission & RSM_PERM_WRITE) != 0 ? RSM_RIGHT_WRITE : 0);
}
