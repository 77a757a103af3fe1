/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The visible symbols of librsm's own transport modules. */
#pragma once

#include "rsm/transport.h"

#define MODULE_SYMBOL __attribute__((visibility("default")))

extern const struct rsm_node_ops rsm_transport_node_ops_v1;
extern const struct rsm_import_ops rsm_transport_import_ops_v1;

void rsm_transport_log_v1(rsm_transport_log log);
