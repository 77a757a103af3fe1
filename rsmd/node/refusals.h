/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What is logged, and shown, about clients that are refused. */
#pragma once

#include "node/node.h"

/**
 * Log what a user of this host has caused, such as the reason of a refusal: up to ten lines a
 * minute for each user, and how many were left out. All that a client can cause is logged by this
 * function; lines of transport modules have another bound (server/logging.h). tests/docs has the
 * list of the calls that log directly. @p format: of a sentence without newline.
 */
__attribute__((format(printf, 3, 4))) void rsmd_log_of_user(struct rsmd_node *node, uint32_t uid,
                                                            const char *format, ...);
/** The same for what another node has caused. */
__attribute__((format(printf, 3, 4))) void rsmd_log_of_node(struct rsmd_node *node, uint32_t id,
                                                            const char *format, ...);

/** Note the status of a reply to @p client, if it refuses a request for a segment. rsminfo shows
 *  the latest. */
void rsmd_refusal_note(struct rsmd_node *node, const struct rsmd_client *client,
                       const struct rsm_msg *reply);

/** The latest refusal, as a process of user @p uid may see it; @p all: without restriction. */
struct rsm_refusal rsmd_refusal_seen(const struct rsmd_node *node, uid_t uid, bool all);

/** Milliseconds since @p at_ms, a time of rsm_clock_ms(); at least 1. */
uint64_t rsmd_ago_ms(int64_t at_ms);
