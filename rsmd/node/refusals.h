/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is logged, and shown, about clients that are refused. */
#ifndef RSMD_REFUSALS_H
#define RSMD_REFUSALS_H

#include "node/node.h"

/**
 * Log what a user of this host has caused, such as why he was refused: ten lines a minute for each
 * user, and how many were left out. Whatever a client can cause is logged by this function; what
 * modules of transports log has a bound of its own (server/logging.h). tests/docs has the list of
 * the calls that log directly. @p format: of a sentence without newline.
 */
__attribute__((format(printf, 3, 4))) void rsmd_log_of_user(struct rsmd_node *node, uint32_t uid,
                                                            const char *format, ...);
/** The same of what another node has caused. */
__attribute__((format(printf, 3, 4))) void rsmd_log_of_node(struct rsmd_node *node, uint32_t id,
                                                            const char *format, ...);

/** Note the status of a reply to @p client, if it refuses something for a segment: rsminfo shows
 *  the latest. */
void rsmd_refusal_note(struct rsmd_node *node, const struct rsmd_client *client,
                       const struct rsm_msg *reply);

/** What a process of user @p uid may know of the latest refusal; @p all: it may know all. */
struct rsm_refusal rsmd_refusal_seen(const struct rsmd_node *node, uid_t uid, bool all);

/** Milliseconds since a time of rsm_clock_ms(), at least 1. */
uint64_t rsmd_ago_ms(int64_t at_ms);

#endif
