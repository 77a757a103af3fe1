/* SPDX-License-Identifier: BSD-3-Clause */
/* What rsmstat shows of the links to other hosts. */
#include "node/call.h"
#include "cluster/cluster.h"

static bool fill(const struct rsmd_node *node, const struct rsmd_conf_node *configured,
                 struct rsm_links_item *item)
{
    struct rsmd_link_about about;
    if (!rsmd_cluster_about(node->cluster, configured->id, &about))
        return false;
    *item = (struct rsm_links_item){.node = configured->id,
                                    .state = about.state,
                                    .version = about.version,
                                    .port = configured->port,
                                    .up_ms = about.up_ms,
                                    .failure_ms = about.failure_ms,
                                    .sent_bytes = about.sent_bytes,
                                    .received_bytes = about.received_bytes};
    memcpy(item->address, configured->address, sizeof item->address);
    strncpy(item->text, about.text, sizeof item->text - 1);
    return true;
}

enum rsm_status rsmd_answer_links(struct rsmd_call *call)
{
    struct rsm_links_reply *reply = &call->reply->u.links_reply;
    const struct rsmd_node *node = call->node;
    struct rsm_links_item item;
    reply->auth = node->conf.auth == RSMD_AUTH_MUNGE ? RSM_LINK_AUTH_MUNGE : RSM_LINK_AUTH_NONE;
    uint32_t first = rsmd_conf_node_from(&node->conf, call->request->u.links.first);
    for (uint32_t i = first; i < node->conf.node_count; i++) {
        if (!fill(node, node->conf.nodes[i], &item))
            continue;
        if (reply->count == RSM_PROTO_LINKS_MAX) {
            reply->more = 1;
            break;
        }
        reply->items[reply->count++] = item;
    }
    return RSM_ST_OK;
}
