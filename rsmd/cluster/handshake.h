/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Decide by the two HELLOs whether two rsmds belong together. No state, no I/O. */
#ifndef RSMD_CLUSTER_HANDSHAKE_H
#define RSMD_CLUSTER_HANDSHAKE_H

#include "conf/conf.h"
#include "cluster/proto.h"

/** The attributes of this end. */
struct rsmd_self {
    uint32_t node;
    uint64_t incarnation;
    const struct rsmd_conf *conf;
};

/** Fill this end's HELLO to node @p to, with a new nonce. False: no random numbers. */
bool rsmd_hello_make(const struct rsmd_self *self, uint32_t to, struct rsm_cluster_hello *hello);

/**
 * Judge the HELLO of the other end.
 * @param called   the node that this end has called; 0: this end was called.
 * @param version  receives the version to use, on success.
 * @param why      receives a sentence that both ends may log, of RSM_CLUSTER_TEXT_MAX bytes.
 * @return RSM_ST_OK, RSM_ST_VERSION, RSM_ST_DENIED (not to be a peer of this node), RSM_ST_INVALID
 *         (an error in the configuration of one end).
 */
enum rsm_status rsmd_hello_judge(const struct rsmd_self *self, uint32_t called,
                                 const struct rsm_cluster_hello *hello, uint32_t *version,
                                 char *why);

/** Make what came from a peer printable, in place. */
void rsmd_text_clean(char *text);

#endif
