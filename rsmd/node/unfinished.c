/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/unfinished.h"

#include "node/exports.h"
#include "node/grants.h"
#include "node/revokes.h"
#include "node/slice.h"

static struct rsmd_export *find(const struct rsmd_node *node, uint32_t id)
{
    struct rsmd_export *exported;
    HASH_FIND_INT(node->exports, &id, exported);
    return exported;
}

static void report_one(struct rsmd_node *node, const struct rsmd_export *exported,
                       struct rsmd_grant *grant)
{
    if (grant->notices == exported->notices)
        return;
    grant->notices = exported->notices;
    grant->importer->ops->unavailable(node, grant->importer);
}

/* Notify some importers. True: all have been notified. */
static bool report_some(struct rsmd_node *node, struct rsmd_export *exported, int64_t until)
{
    while (exported->report_next != NULL) {
        struct rsmd_grant *grant = exported->report_next;
        exported->report_next = grant->next;
        report_one(node, exported, grant);
        if (rsmd_slice_is_over(until))
            break;
    }
    return exported->report_next == NULL;
}

/* Cut some connections. True: none is left. */
static bool cut_some(struct rsmd_node *node, struct rsmd_export *exported, int64_t until)
{
    while (rsmd_export_is_used(exported)) {
        if (exported->grants != NULL)
            report_one(node, exported, exported->grants);
        rsmd_export_cut_first(node, exported);
        if (rsmd_slice_is_over(until))
            break;
    }
    return !rsmd_export_is_used(exported);
}

/* Continue the work on a segment. True: it is done, and the segment may be gone. */
static bool work(struct rsmd_node *node, struct rsmd_export *exported, int64_t until)
{
    if (!exported->cutting)
        return report_some(node, exported, until);
    if (!cut_some(node, exported, until))
        return false;
    exported->cutting = false;
    if (exported->ended)
        rsmd_export_free(node, exported);
    return true;
}

void rsmd_unfinished_report(struct rsmd_node *node, struct rsmd_client *client,
                            struct rsmd_export *exported)
{
    struct rsmd_unfinished *left = &client->unfinished;
    bool free = left->export_id == 0 || left->export_id == exported->id;
    exported->notices++;
    exported->report_next = exported->grants;
    if (!report_some(node, exported, free ? rsmd_slice_end(node) : INT64_MAX))
        left->export_id = exported->id;
}

void rsmd_unfinished_cut(struct rsmd_node *node, struct rsmd_client *client,
                         struct rsmd_export *exported)
{
    uint32_t id = exported->id;
    exported->cutting = true;
    exported->report_next = NULL; /* each is notified before it is cut */
    if (!work(node, exported, rsmd_slice_end(node)))
        client->unfinished.export_id = id;
}

/* False: nothing is to be waited for. */
static bool await_offers(struct rsmd_node *node, struct rsmd_client *client,
                         const struct rsmd_unfinished *request)
{
    return request->reply.connections == 0 && rsmd_revokes_await(node, client, request);
}

void rsmd_unfinished_await(struct rsmd_call *call, uint32_t export_id)
{
    struct rsmd_unfinished *left = &call->client->unfinished;
    const struct rsmd_unfinished request = {
        .export_id = export_id,
        .asked = true,
        .type = call->request->type,
        .sequence = call->request->sequence,
        .reply = call->reply->u.export_destroy_reply, /* UNPUBLISH has the same */
    };
    call->later = rsmd_unfinished_is(call->client);
    if (call->later)
        *left = request;
    else
        call->later = await_offers(call->node, call->client, &request);
}

void rsmd_unfinished_answer(struct rsmd_client *client, const struct rsmd_unfinished *request)
{
    struct rsm_msg reply = {.type = request->type | RSM_MSG_REPLY,
                            .sequence = request->sequence,
                            .status = RSM_ST_OK,
                            .u.export_destroy_reply = request->reply};
    client->answer(client, &reply, NULL);
}

bool rsmd_unfinished_is(const struct rsmd_client *client)
{
    return client->unfinished.export_id != 0;
}

bool rsmd_unfinished_go_on(struct rsmd_node *node, struct rsmd_client *client, int64_t until)
{
    const struct rsmd_unfinished left = client->unfinished;
    struct rsmd_export *exported = find(node, left.export_id);
    if (exported != NULL && !work(node, exported, until))
        return false;
    client->unfinished = (struct rsmd_unfinished){.export_id = 0};
    if (left.asked && !client->ending && !await_offers(node, client, &left))
        rsmd_unfinished_answer(client, &left);
    return true;
}
