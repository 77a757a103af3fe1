/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The module's visible symbols. */
#pragma once

#include "rsm/transport.h"

#define NTB_TABLE __attribute__((visibility("default")))

extern const struct rsm_node_ops rsm_transport_node_ops_v1;
extern const struct rsm_import_ops rsm_transport_import_ops_v1;

void rsm_transport_log_v1(rsm_transport_log log);
