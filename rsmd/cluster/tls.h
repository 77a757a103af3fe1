/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Encrypted links (auth = tls). rsmd passes each TCP connection to rsm-tlsd, a process that has the
 * handshake and the encryption, and keeps one end of a socket pair for the plain bytes. rsm-tlsd
 * says which node the other end's certificate names. See "Encrypted links" in doc/architecture.md.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rsmd_cluster;
struct rsmd_conf;
struct rsmd_tcp;
struct rsmd_tls;

/** Start rsm-tlsd, which reads the node's certificate. NULL: out of memory. Other failures are
 *  logged, and connections fail until a later attempt, or a reload, mends them. */
struct rsmd_tls *rsmd_tls_start(struct rsmd_cluster *cluster);

/** End it, when it has sent what its connections have taken. Waits a moment for its end at most. */
void rsmd_tls_end(struct rsmd_tls *tls);

/** Read the files again, for connections that come from now on. */
void rsmd_tls_reload(struct rsmd_tls *tls);

/** Pass on a connection. rsmd_tcp_encrypted() or rsmd_tcp_not_encrypted() follows, from the loop.
 *  @return the descriptor of the plain bytes; -1: @p why has the reason. @p socket stays the
 *          caller's. */
int rsmd_tls_encrypt(struct rsmd_tls *tls, struct rsmd_tcp *conn, int socket, char *why,
                     size_t why_size);

/** The connection is freed: nothing more is said of it. */
void rsmd_tls_forget(struct rsmd_tls *tls, struct rsmd_tcp *conn);

/** Take what rsm-tlsd has said, before the end of a connection is believed to have no reason. */
void rsmd_tls_take(struct rsmd_tls *tls);

/** Warn of certificates that expire soon: this node's, and those of nodes whose links are up. Once
 *  a day each. */
void rsmd_tls_remind(struct rsmd_tls *tls, int64_t now_ms);

/** When this node's certificate expires, in seconds since 1970; 0: there is none. */
uint64_t rsmd_tls_expires(const struct rsmd_tls *tls);

/** Why this node has no certificate to show, "" if it has one. */
const char *rsmd_tls_trouble(const struct rsmd_tls *tls);

/** Check the files of a node as rsmd would use them, and wait for the result. False: @p why. */
bool rsmd_tls_check(const struct rsmd_conf *conf, uint32_t node, char *why, size_t why_size);
