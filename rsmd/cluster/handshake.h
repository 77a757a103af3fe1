/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Whether two rsmds belong together, by what they say in their HELLOs. Pure decisions. */
#ifndef RSMD_CLUSTER_HANDSHAKE_H
#define RSMD_CLUSTER_HANDSHAKE_H

#include "conf/conf.h"
#include "cluster/proto.h"

/** This end. */
struct rsmd_self {
    uint32_t node;
    uint64_t incarnation;
    const struct rsmd_conf *conf;
};

/** Fill this end's HELLO to node @p to, with a new nonce. False: no random numbers. */
bool rsmd_hello_make(const struct rsmd_self *self, uint32_t to, struct rsm_cluster_hello *hello);

/**
 * Judge the HELLO of the other end.
 * @param called   the node that this end has called; 0: it was called.
 * @param version  to be spoken, if all is well.
 * @param why      else a sentence that both ends may log, of RSM_CLUSTER_TEXT_MAX bytes.
 * @return RSM_ST_OK, RSM_ST_VERSION, RSM_ST_DENIED (not to be a peer of this node), RSM_ST_INVALID
 *         (a mistake in somebody's configuration).
 */
enum rsm_status rsmd_hello_judge(const struct rsmd_self *self, uint32_t called,
                                 const struct rsm_cluster_hello *hello, uint32_t *version,
                                 char *why);

/** Make what came from a peer printable, in place. */
void rsmd_text_clean(char *text);

#endif
