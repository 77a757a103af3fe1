/* SPDX-License-Identifier: BSD-3-Clause */
#include <stdlib.h>

#include "remote/internal.h"

struct rsmd_release {
    uint32_t import; /* id */
    struct rsmd_controller *by;
    struct rsm_node_offer *made;
    uint64_t incarnation; /* of the importer's daemon */
    bool unconfirmed;     /* the link has come up since, and the node has not confirmed it */
    UT_hash_handle hh;    /* by import */
};

struct rsmd_release *rsmd_release_make(void)
{
    return calloc(1, sizeof(struct rsmd_release));
}

void rsmd_release_init(struct rsmd_release *release, const struct rsmd_grant *grant)
{
    *release =
        (struct rsmd_release){.import = grant->importer->id, .by = grant->by, .made = grant->made};
}

void rsmd_release_await(struct rsmd_remote *remote, struct rsmd_release *release)
{
    if (release == NULL)
        return;
    release->incarnation = remote->incarnation;
    HASH_ADD_INT(remote->releases, import, release);
    /* Without memory to wait, the offer keeps what it has until the transport's session ends. */
    if (release->hh.tbl == NULL)
        free(release);
}

static void end(struct rsmd_remote *remote, struct rsmd_release *release, bool report)
{
    HASH_DEL(remote->releases, release);
    if (report)
        release->by->ops->imports->released(release->by->port, release->made);
    free(release);
}

void rsmd_release(struct rsmd_remote *remote, uint32_t import)
{
    struct rsmd_release *release;
    HASH_FIND_INT(remote->releases, &import, release);
    if (release != NULL)
        end(remote, release, true);
}

void rsmd_releases_anew(const struct rsmd_node *node, struct rsmd_remote *remote)
{
    const struct rsmd_controller *controller;
    struct rsmd_release *left;
    LL_FOREACH(node->controllers, controller)
    {
        struct rsmd_release *release, *next;
        if (controller->ops->imports == NULL ||
            !controller->ops->imports->all_released(controller->port, remote->node))
            continue;
        HASH_ITER(hh, remote->releases, release, next)
        {
            if (release->by == controller)
                end(remote, release, false);
        }
    }
    for (left = remote->releases; left != NULL; left = left->hh.next)
        left->unconfirmed = true;
}

void rsmd_release_keep(const struct rsmd_remote *remote, uint32_t import)
{
    struct rsmd_release *release;
    HASH_FIND_INT(remote->releases, &import, release);
    if (release != NULL)
        release->unconfirmed = false;
}

void rsmd_releases_others(struct rsmd_remote *remote, uint64_t incarnation)
{
    struct rsmd_release *release, *next;
    HASH_ITER(hh, remote->releases, release, next)
    {
        if (release->unconfirmed && release->incarnation == incarnation)
            end(remote, release, true);
    }
}

void rsmd_releases_end(struct rsmd_remote *remote)
{
    while (remote->releases != NULL)
        end(remote, remote->releases, true);
}
