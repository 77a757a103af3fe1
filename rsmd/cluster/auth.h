/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * How the rsmds of two hosts authenticate each other. A credential proves that a process of root or
 * of rsmd's user, on a host of this MUNGE realm, is this end of this connection. Threads make and
 * check credentials, because munged may be slow or hang.
 */
#ifndef RSMD_CLUSTER_AUTH_H
#define RSMD_CLUSTER_AUTH_H

#include <stddef.h>

#include "conf/conf.h"
#include "conf/address.h"
#include "cluster/proto.h"

struct event_base;
struct rsmd_auth;
struct rsmd_auth_job;

/** What a credential is bound to. Both nonces make it valid for one handshake. The two addresses of
 *  the TCP connection make it useless to an attacker that relays the messages of two nodes. */
struct rsmd_auth_claim {
    const struct rsm_cluster_hello *prover;
    const struct rsm_cluster_hello *verifier;
    const struct rsmd_address *prover_end;
    const struct rsmd_address *verifier_end;
};

/** The outcome, in the event loop. @p why is NULL on success, else a sentence that both ends may
 *  log; @p ours: this host failed. @p proof: the proof that was made; NULL after a check. */
typedef void rsmd_auth_done(void *context, const char *why, bool ours,
                            const struct rsm_cluster_proof *proof);

/** @p library: of MUNGE, RSMD_MUNGE_LIBRARY except in tests; @p conf must stay valid. NULL: @p why
 *  has the reason. */
struct rsmd_auth *rsmd_auth_start(struct event_base *base, const struct rsmd_conf *conf,
                                  const char *library, char *why, size_t why_size);
void rsmd_auth_end(struct rsmd_auth *auth);

/** Allow for the jobs of one more node. */
void rsmd_auth_widen(struct rsmd_auth *auth);

/** Make this end's proof, or check the peer's. @p done is called once: later, or, with auth = none
 *  and on failures, before this returns NULL. */
struct rsmd_auth_job *rsmd_auth_prove(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      rsmd_auth_done *done, void *context);
struct rsmd_auth_job *rsmd_auth_check(struct rsmd_auth *auth, const struct rsmd_auth_claim *claim,
                                      const struct rsm_cluster_proof *proof, rsmd_auth_done *done,
                                      void *context);

/** Cancel it: done() will not be called. */
void rsmd_auth_cancel(struct rsmd_auth_job *job);

#endif
