/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Read rsm.conf, check it, and find this machine's node in it. */
#pragma once

#include "conf/conf.h"
#include "conf/options.h"

struct rsmd_members;

/** Find the members that belong to a configuration. @return NULL: there are none; if @p why, of
 *  RSMD_MEMBERS_WHY_BYTES, is not empty, that is an error. What is returned is valid until the
 *  configuration has been read. */
typedef const struct rsmd_members *
rsmd_conf_find_members(void *context, const struct rsmd_conf_members *rules, char *why);

/** Who finds them; called only for a file that names a source. */
struct rsmd_conf_finder {
    rsmd_conf_find_members *find;
    void *context;
};

/**
 * Read and check a configuration file: syntax, and that its transports are installed.
 * @param optional  a missing file means the defaults.
 * @param why       receives "FILE:LINE: what was expected", or why it cannot be read.
 */
bool rsmd_conf_read(struct rsmd_conf *conf, const char *path, bool optional,
                    const struct rsmd_conf_finder *finder, char *why, size_t why_size);

/**
 * The same, but find all errors.
 * @param conf   receives what was valid; the caller frees it by rsmd_conf_free().
 * @param there  receives whether the file exists.
 * @return false: it cannot be read; @p why has the reason, and nothing is to be freed.
 */
bool rsmd_conf_examine(struct rsmd_conf *conf, const char *path, bool optional,
                       const struct rsmd_conf_finder *finder, struct rsmd_conf_errors *errors,
                       bool *there, char *why, size_t why_size);

/**
 * Whether a daemon that serves several users may use this: links to other nodes need
 * authentication, or the key that permits to do without.
 * @param path  of the file, for @p why, which receives the line and what was expected.
 */
bool rsmd_conf_check_trust(const struct rsmd_conf *conf, const char *path, char *why,
                           size_t why_size);

/** Whether a node's `host` means the machine called @p hostname (with or without domain). */
bool rsmd_host_is_local(const char *host, const char *hostname);

/**
 * Determine the node of this daemon.
 * @param wanted  as given on the command line, or 0: the only one of this host, or 1 if the
 *                configuration names no nodes.
 * @return 0: it cannot be determined; @p why has the reason.
 */
uint32_t rsmd_conf_own_node(const struct rsmd_conf *conf, uint32_t wanted, const char *hostname,
                            char *why, size_t why_size);

/** The name of the configuration file, as given. */
const char *rsmd_conf_path(const struct rsmd_options *options);

/** The runtime directory, as given. */
const char *rsmd_runtime_directory(const struct rsmd_options *options);

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
