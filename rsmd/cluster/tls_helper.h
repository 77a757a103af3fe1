/* SPDX-License-Identifier: BSD-3-Clause */
/** @file The process rsm-tlsd: its start, and the files that it gets. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "helper/process.h"

struct rsmd_conf;

/** False: @p why has the reason. */
bool rsmd_tls_helper_start(struct rsm_helper *helper, char *why, size_t why_size);

/** Have it read the files of a node. False: @p why has the reason, which names the file. */
bool rsmd_tls_helper_load(const struct rsm_helper *helper, const struct rsmd_conf *conf,
                          uint32_t node, char *why, size_t why_size);
