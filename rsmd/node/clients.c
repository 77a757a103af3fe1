/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/clients.h"

#include "node/extents.h"
#include "node/exports.h"
#include "node/imports.h"
#include "node/interrupts.h"
#include "node/slice.h"
#include "node/unfinished.h"

bool rsmd_client_admit(const struct rsmd_client *client)
{
    if (!rsmd_share_take(client->account, RSMD_CONNECTIONS, 1))
        return false;
    if (rsmd_share_take(client->account, RSMD_DESCRIPTORS, client->own_descriptors))
        return true;
    rsmd_share_give(client->account, RSMD_CONNECTIONS, 1);
    return false;
}

void rsmd_client_resume(const struct rsmd_client *client)
{
    rsmd_share_charge(client->account, RSMD_CONNECTIONS, 1);
    rsmd_share_charge(client->account, RSMD_DESCRIPTORS, client->own_descriptors);
}

void rsmd_client_dismiss(const struct rsmd_client *client)
{
    rsmd_share_give(client->account, RSMD_DESCRIPTORS, client->own_descriptors);
    rsmd_share_give(client->account, RSMD_CONNECTIONS, 1);
}

/* Free one object of a client's. The order matters: exports use extents, and are freed after their
 * importers.
 */
static void clear_one(struct rsmd_node *node, struct rsmd_client *client, int64_t until)
{
    if (rsmd_unfinished_is(client))
        rsmd_unfinished_go_on(node, client, until);
    else if (client->interrupts != NULL)
        rsmd_interrupt_free_first(node, client);
    else if (client->imports != NULL)
        rsmd_import_free(node, client->imports);
    else if (client->exports != NULL && client->exports->grants != NULL)
        rsmd_export_abort(node, client->exports->grants);
    else if (client->exports != NULL && client->exports->attached != NULL)
        rsmd_export_abort(node, client->exports->attached);
    else if (client->exports != NULL)
        rsmd_export_free(node, client->exports);
    else
        rsmd_extent_free(node, client->extents, NULL);
}

bool rsmd_client_is_clear(const struct rsmd_client *client)
{
    return client->imports == NULL && client->exports == NULL && client->extents == NULL &&
           client->interrupts == NULL && !rsmd_unfinished_is(client);
}

bool rsmd_client_clear_until(struct rsmd_node *node, struct rsmd_client *client, int64_t until)
{
    while (!rsmd_client_is_clear(client)) {
        clear_one(node, client, until);
        if (rsmd_slice_is_over(until))
            break;
    }
    return rsmd_client_is_clear(client);
}

void rsmd_client_job_over(struct rsmd_client *client)
{
    client->jobs--;
    if (client->jobs == 0 && client->ending)
        client->settled(client);
}
