/* SPDX-License-Identifier: BSD-3-Clause */
/* Nodes by the names of their hosts and of their adapters. */
#include <stdbool.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "node/call.h"

static void add(struct rsm_named_reply *reply, uint32_t node, uint32_t adapter)
{
    if (reply->count < RSM_PROTO_NAMED_MAX)
        reply->nodes[reply->count++] = (struct rsm_named_node){.node = node, .adapter = adapter};
}

/* Whether a name is in a list of names separated by blanks, and at which place. */
static bool is_listed(const char *list, const char *name, uint32_t *place)
{
    size_t length = strlen(name);
    *place = 0;
    for (list += strspn(list, " \t"); *list != '\0'; list += strspn(list, " \t")) {
        size_t word = strcspn(list, " \t");
        if (word == length && strncasecmp(list, name, length) == 0)
            return true;
        list += word;
        ++*place;
    }
    return false;
}

/* Without a list of nodes the only host is this one. */
static bool is_own_host(const char *name)
{
    char host[RSM_PROTO_NAME_MAX] = "";
    if (gethostname(host, sizeof host - 1) != 0)
        host[0] = '\0';
    return strcasecmp(name, "localhost") == 0 || (host[0] != '\0' && strcasecmp(name, host) == 0);
}

enum rsm_status rsmd_answer_named(struct rsmd_call *call)
{
    const struct rsmd_conf *conf = &call->node->conf;
    const char *name = call->request->u.named.name;
    struct rsm_named_reply *reply = &call->reply->u.named_reply;
    for (uint32_t i = 0; i < conf->node_count; i++) {
        const struct rsmd_conf_node *node = conf->nodes[i];
        uint32_t adapter;
        if (is_listed(node->names, name, &adapter))
            add(reply, node->id, adapter);
        else if (strcasecmp(node->host, name) == 0)
            add(reply, node->id, 0);
    }
    if (conf->node_count == 0 && is_own_host(name))
        add(reply, call->node->id, 0);
    return reply->count > 0 ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}
