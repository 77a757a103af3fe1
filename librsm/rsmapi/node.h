/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Nodes as RSMAPI has them. */
#pragma once

/** Ids that access lists may name and that a topology shows. The core has ids up to
 *  RSM_NODE_ID_MAX; programs size their tables by this. */
enum { RSMAPI_NODE_ID_MAX = 64 };
