/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>
#include <string.h>

#include "cluster/internal.h"

struct resolution {
    struct rsmd_job job;
    char host[RSM_PROTO_NAME_MAX];
    uint16_t port;
    bool loopback_only;
    struct rsmd_addresses found;
    const char *why;
    resolved *done;
    void *context;
};

/* Without authentication keep only addresses of this machine. */
static const char *keep_loopback(struct rsmd_addresses *found)
{
    unsigned kept = 0;
    for (unsigned i = 0; i < found->count; i++)
        if (rsmd_address_is_loopback(&found->list[i]))
            found->list[kept++] = found->list[i];
    found->count = kept;
    return kept > 0 ? NULL : "its name leads to no loopback address, and auth is none";
}

static void run(struct rsmd_job *job)
{
    struct resolution *resolution = (struct resolution *)job;
    resolution->why = rsmd_address_resolve(resolution->host, resolution->port, &resolution->found);
    if (resolution->why == NULL && resolution->loopback_only)
        resolution->why = keep_loopback(&resolution->found);
}

static void on_done(struct rsmd_job *job)
{
    struct resolution *resolution = (struct resolution *)job;
    resolution->done(resolution->context, &resolution->found, resolution->why);
}

struct resolution *rsmd_resolve(struct rsmd_cluster *cluster, const struct rsmd_conf_node *node,
                                resolved *done, void *context)
{
    struct rsmd_addresses found;
    if (rsmd_address_literal(node->address, node->port, &found)) {
        done(context, &found, NULL);
        return NULL;
    }
    struct resolution *made = calloc(1, sizeof *made);
    if (made != NULL) {
        made->job.run = run;
        made->job.done = on_done;
        memcpy(made->host, node->address, sizeof made->host);
        made->port = node->port;
        made->loopback_only = cluster->self.conf->auth == RSMD_AUTH_NONE;
        made->done = done;
        made->context = context;
        if (rsmd_worker_submit(cluster->resolver, &made->job))
            return made;
        free(made);
    }
    done(context, NULL, "its name cannot be looked up now");
    return NULL;
}

void rsmd_resolve_cancel(struct resolution *resolution)
{
    if (resolution != NULL)
        rsmd_job_cancel(&resolution->job);
}
