/* SPDX-License-Identifier: BSD-3-Clause */
#include "cluster/internal.h"

#include <stdio.h>
#include <sys/random.h>

bool rsmd_hello_make(const struct rsmd_self *self, uint32_t to, struct rsm_cluster_hello *hello)
{
    *hello = (struct rsm_cluster_hello){
        .magic = RSM_CLUSTER_MAGIC,
        .version_min = RSM_CLUSTER_VERSION_MIN,
        .version_max = RSM_CLUSTER_VERSION_MAX,
        .from = self->node,
        .to = to,
        .incarnation = self->incarnation,
    };
    return getrandom(hello->nonce, sizeof hello->nonce, 0) == (ssize_t)sizeof hello->nonce;
}

static enum rsm_status judge_version(const struct rsmd_self *self,
                                     const struct rsm_cluster_hello *hello, uint32_t *version,
                                     char *why)
{
    uint32_t max = hello->version_max < RSM_CLUSTER_VERSION_MAX ? hello->version_max
                                                                : (uint32_t)RSM_CLUSTER_VERSION_MAX;
    *version = max;
    if (max >= hello->version_min && max >= RSM_CLUSTER_VERSION_MIN)
        return RSM_ST_OK;
    snprintf(why, RSM_CLUSTER_TEXT_MAX,
             "node %u speaks versions %u to %u of the protocol, node %u %u to %u",
             (unsigned)hello->from, (unsigned)hello->version_min, (unsigned)hello->version_max,
             (unsigned)self->node, (unsigned)RSM_CLUSTER_VERSION_MIN,
             (unsigned)RSM_CLUSTER_VERSION_MAX);
    return RSM_ST_VERSION;
}

static enum rsm_status judge_ids(const struct rsmd_self *self, uint32_t called,
                                 const struct rsm_cluster_hello *hello, char *why)
{
    unsigned from = hello->from, own = self->node;
    if (hello->incarnation == self->incarnation) {
        snprintf(why, RSM_CLUSTER_TEXT_MAX, "the address of node %u leads to node %u itself",
                 (unsigned)(called != 0 ? called : hello->to), own);
        return RSM_ST_INVALID;
    }
    if (from == own) {
        if (called != 0)
            snprintf(why, RSM_CLUSTER_TEXT_MAX,
                     "two daemons have the id %u, one of them at the address of node %u", own,
                     (unsigned)called);
        else
            snprintf(why, RSM_CLUSTER_TEXT_MAX, "two daemons have the id %u", own);
        return RSM_ST_INVALID;
    }
    if (called != 0 && from != called) {
        snprintf(why, RSM_CLUSTER_TEXT_MAX, "node %u is at the address of node %u", from,
                 (unsigned)called);
        return RSM_ST_INVALID;
    }
    if (hello->to != own) {
        snprintf(why, RSM_CLUSTER_TEXT_MAX, "node %u is at the address of node %u", own,
                 (unsigned)hello->to);
        return RSM_ST_INVALID;
    }
    return RSM_ST_OK;
}

enum rsm_status rsmd_hello_judge(const struct rsmd_self *self, uint32_t called,
                                 const struct rsm_cluster_hello *hello, uint32_t *version,
                                 char *why)
{
    enum rsm_status status = judge_version(self, hello, version, why);
    if (status == RSM_ST_OK)
        status = judge_ids(self, called, hello, why);
    if (status != RSM_ST_OK)
        return status;
    const struct rsmd_conf_node *node = rsmd_conf_node(self->conf, hello->from);
    if (node == NULL || node->address[0] == '\0') {
        snprintf(why, RSM_CLUSTER_TEXT_MAX,
                 "node %u has no address in the configuration of node %u", (unsigned)hello->from,
                 (unsigned)self->node);
        return RSM_ST_DENIED;
    }
    if (called == 0 && hello->from > self->node && !self->on_demand) {
        snprintf(why, RSM_CLUSTER_TEXT_MAX,
                 "node %u called node %u: it is the lower one that calls", (unsigned)hello->from,
                 (unsigned)self->node);
        return RSM_ST_DENIED;
    }
    return RSM_ST_OK;
}

void rsmd_text_clean(char *text)
{
    for (; *text != '\0'; text++)
        if (*text < ' ' || *text > '~')
            *text = '?';
}
