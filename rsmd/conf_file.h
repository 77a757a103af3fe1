/* SPDX-License-Identifier: BSD-3-Clause */
/** @file rsm.conf as a file, and what it says about the machine that it is on. */
#ifndef RSMD_CONF_FILE_H
#define RSMD_CONF_FILE_H

#include "conf/conf.h"

/**
 * Read and check a configuration file: syntax, and that its transports are installed.
 * @param optional  a file that is not there means the defaults.
 * @param why       "FILE:LINE: what was expected", or why it cannot be read.
 */
bool rsmd_conf_read(struct rsmd_conf *conf, const char *path, bool optional, char *why,
                    size_t why_size);

/**
 * The same, but find all mistakes.
 * @param conf    what was good, to be freed by rsmd_conf_free().
 * @param there   whether there is such a file.
 * @return false: it cannot be read; @p why tells, and nothing is to be freed.
 */
bool rsmd_conf_examine(struct rsmd_conf *conf, const char *path, bool optional,
                       struct rsmd_conf_errors *errors, bool *there, char *why, size_t why_size);

/**
 * Whether a daemon that serves several users may obey this: with links to other nodes it needs
 * authentication, or the word that it is to do without.
 * @param path  of the file, for @p why, which tells the line and what was expected there.
 */
bool rsmd_conf_check_trust(const struct rsmd_conf *conf, const char *path, char *why,
                           size_t why_size);

/** Whether a node's `host` means the machine called @p hostname (with or without domain). */
bool rsmd_host_is_local(const char *host, const char *hostname);

/**
 * Which node this daemon is.
 * @param wanted  as given on the command line, or 0: the only one of this host, or 1 if the
 *                configuration names no nodes.
 * @return 0 if that cannot be decided; @p why tells.
 */
uint32_t rsmd_conf_own_node(const struct rsmd_conf *conf, uint32_t wanted, const char *hostname,
                            char *why, size_t why_size);

#endif
