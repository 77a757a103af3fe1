/* SPDX-License-Identifier: BSD-3-Clause */
/** @file How exports and imports begin the records of their handles. */
#pragma once

#include "core/records.h"

/** Records of handle @p id on @p control; see rsmcore_records_of_export(). @p import: of a
 *  connection, which outlives them; else NULL. */
enum rsm_status rsmcore_records_make(struct rsmcore_control *control, enum rsm_event_end end,
                                     uint32_t id, struct rsmcore_import *import,
                                     struct rsmcore_records **records);
