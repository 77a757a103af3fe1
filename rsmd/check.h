/* SPDX-License-Identifier: BSD-3-Clause */
/** @file --check: which configuration a daemon may obey, and which node it is by it. */
#ifndef RSMD_CHECK_H
#define RSMD_CHECK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "conf/conf.h"
#include "conf/options.h"

/** The file to read, as it was given. */
const char *rsmd_conf_path(const struct rsmd_options *options);

/** Whether a daemon with these options may obey a configuration; else @p why, with the line. */
bool rsmd_options_trust(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                        size_t why_size);

/** The node of a daemon with these options on this host; 0 if that cannot be decided: @p why
 *  tells. */
uint32_t rsmd_own_node(const struct rsmd_conf *conf, const struct rsmd_options *options, char *why,
                       size_t why_size);

/** --check: say whether the configuration is usable, or all that is wrong in it. The exit
 *  status. */
int rsmd_check(const struct rsmd_options *options);

#endif
