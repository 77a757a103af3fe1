/* SPDX-License-Identifier: BSD-3-Clause */
/** @file --check: whether a daemon may use a configuration, and which node it is. */
#ifndef RSMD_CHECK_H
#define RSMD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/options.h"

/** The name of the configuration file, as given. */
const char *rsmd_conf_path(const struct rsmd_options *options);

/** Whether a daemon with these options may use a configuration; else @p why has the line and the
 *  reason. */
bool rsmd_options_trust(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                        size_t why_size);

/** The node of a daemon with these options on this host. 0: it cannot be determined; @p why has the
 *  reason. */
uint32_t rsmd_own_node(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                       size_t why_size);

/** Carry out --check: print that the configuration is usable, or all its errors. Returns the exit
 *  status. */
int rsmd_check(const struct rsmd_options *options);

#endif
