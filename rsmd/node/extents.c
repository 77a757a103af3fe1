/* SPDX-License-Identifier: BSD-3-Clause */
#include "node/extents.h"

#include <inttypes.h>
#include <stdlib.h>

#include "base/log.h"
#include "base/memory_limit.h"
#include "node/controllers.h"
#include "node/clients.h"
#include "node/exports.h"
#include "transport/instance.h"

struct rsmd_extent *rsmd_client_extent(const struct rsmd_node *node,
                                       const struct rsmd_client *client, uint32_t id)
{
    struct rsmd_extent *extent;
    HASH_FIND_INT(node->extents, &id, extent);
    bool named = extent != NULL && extent->client == client && !extent->given_back;
    return named ? extent : NULL;
}

struct rsm_extent_about rsmd_extent_about(const struct rsmd_extent *extent)
{
    return (struct rsm_extent_about){.kind = extent->memory->kind,
                                     .offset = extent->memory->offset,
                                     .length = extent->memory->length};
}

/* ------------------------------------------------------------------ what it costs */

/* Bytes that an extent of this controller's transport may pin. */
static uint64_t may_pin(const struct rsmd_controller *controller, uint64_t length)
{
    return (controller->port->caps & RSM_NODE_EXTENTS_PINNED) != 0 ? length : 0;
}

/* @p pinned: bytes that may be pinned; set to 0 if the user may not pin them and the transport can
 * do without. */
static enum rsm_status charge(struct rsmd_account *account,
                              const struct rsmd_controller *controller, uint64_t length,
                              uint64_t *pinned)
{
    if (!rsmd_share_take(account, RSMD_BYTES, length))
        return RSM_ST_NO_MEMORY;
    *pinned = may_pin(controller, length);
    if (!rsmd_share_take(account, RSMD_PINNED, *pinned)) {
        *pinned = 0;
        if (controller->ops->extent_make_not_pinned == NULL) {
            rsmd_share_give(account, RSMD_BYTES, length);
            return RSM_ST_NO_MEMORY;
        }
    }
    if (rsmd_share_take(account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_OK;
    rsmd_share_give(account, RSMD_PINNED, *pinned);
    rsmd_share_give(account, RSMD_BYTES, length);
    return RSM_ST_NO_RESOURCES;
}

static void refund(const struct rsmd_extent *extent)
{
    struct rsmd_account *account = extent->client->account;
    rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    rsmd_share_give(account, RSMD_PINNED, extent->pinned);
    rsmd_share_give(account, RSMD_BYTES, extent->length);
}

uint64_t rsmd_extent_pinned(const struct rsmd_extent *extent)
{
    bool is = (extent->memory->flags & RSM_EXTENT_NOT_PINNED) == 0;
    return is ? may_pin(extent->controller, extent->length) : 0;
}

/* Refund what was charged beyond the bytes that its memory pins. */
static void refund_unpinned(struct rsmd_extent *extent)
{
    uint64_t pinned = rsmd_extent_pinned(extent);
    rsmd_share_give(extent->client->account, RSMD_PINNED, extent->pinned - pinned);
    extent->pinned = pinned;
}

/* ------------------------------------------------------------------ making */

/* Make one that is charged for and has no memory yet. */
static enum rsm_status new_extent(struct rsmd_node *node, struct rsmd_client *client,
                                  struct rsmd_controller *controller, uint64_t length,
                                  struct rsmd_extent **made)
{
    uint64_t pinned;
    enum rsm_status status = charge(client->account, controller, length, &pinned);
    if (status != RSM_ST_OK)
        return status;
    struct rsmd_extent *extent = calloc(1, sizeof *extent);
    const struct rsmd_extent price = {.node = node,
                                      .client = client,
                                      .controller = controller,
                                      .length = length,
                                      .pinned = pinned};
    if (extent == NULL) {
        refund(&price);
        return RSM_ST_NO_MEMORY;
    }
    *extent = price;
    *made = extent;
    return RSM_ST_OK;
}

static void discard(struct rsmd_extent *extent)
{
    refund(extent);
    free(extent);
}

/* Enter an extent that has got its memory into the tables. False: no memory for that. */
static bool enter(struct rsmd_extent *extent)
{
    struct rsmd_node *node = extent->node;
    refund_unpinned(extent);
    extent->id = rsmd_new_id(node);
    HASH_ADD_INT(node->extents, id, extent);
    if (extent->hh.tbl == NULL)
        return false;
    DL_APPEND(extent->client->extents, extent);
    return true;
}

/* Check the transport's description of the memory. Memory with a wrong one is freed. Any thread. */
static enum rsm_status examine(struct rsmd_extent *extent)
{
    const struct rsmd_controller *controller = extent->controller;
    const char *flaw = rsmcore_extent_flaw(controller->port, extent->memory, extent->length);
    if (flaw == NULL)
        return RSM_ST_OK;
    rsm_log_error("transport %s made an extent of %" PRIu64 " bytes that is unusable: %s",
                  controller->ops->name, extent->length, flaw);
    controller->ops->extent_free(controller->port, extent->memory);
    extent->memory = NULL;
    return RSM_ST_NO_RESOURCES;
}

/* Whether the transport's functions may be called by a thread. */
static bool has_threads(const struct rsmd_node *node, const struct rsmd_controller *controller)
{
    return node->worker != NULL && (controller->port->caps & RSM_NODE_ANY_THREAD) != 0;
}

/* Whether its user may not pin so much, and its transport can do without. */
static bool must_not_pin(const struct rsmd_extent *extent)
{
    return extent->pinned < may_pin(extent->controller, extent->length);
}

static enum rsm_status make_with(struct rsmd_extent *extent, uint32_t flags)
{
    const struct rsmd_controller *controller = extent->controller;
    const struct rsm_extent_request request = {.size = sizeof request,
                                               .length = extent->length,
                                               .uid = extent->client->peer.uid,
                                               .flags = flags};
    return controller->ops->extent_make_for(controller->port, &request, &extent->memory);
}

/* Make its memory, however long that takes. Any thread. */
static enum rsm_status make_memory(struct rsmd_extent *extent)
{
    /* What the transport pins is charged to the daemon's control group. */
    if (!must_not_pin(extent) && !rsm_memory_fits(extent->pinned))
        return RSM_ST_NO_MEMORY;
    return make_with(extent, must_not_pin(extent) ? RSM_EXTENT_REQUEST_NOT_PINNED : 0);
}

enum rsm_status rsmd_extent_make(struct rsmd_node *node, struct rsmd_client *client,
                                 struct rsmd_controller *controller, uint64_t length,
                                 struct rsmd_extent **made)
{
    struct rsmd_extent *extent;
    const struct rsm_node_ops *ops = controller->ops;
    enum rsm_status status = new_extent(node, client, controller, length, &extent);
    if (status != RSM_ST_OK)
        return status;
    if (!has_threads(node, controller) || (must_not_pin(extent) && length <= RSM_EXTENT_SMALL))
        status = make_memory(extent);
    else
        status = must_not_pin(extent) ? RSM_ST_BUSY : make_with(extent, RSM_EXTENT_REQUEST_NOW);
    if (status == RSM_ST_OK)
        status = examine(extent);
    if (status == RSM_ST_OK && !enter(extent)) {
        ops->extent_free(controller->port, extent->memory);
        status = RSM_ST_NO_MEMORY;
    }
    if (status != RSM_ST_OK) {
        discard(extent);
        return status;
    }
    *made = extent;
    return RSM_ST_OK;
}

/* A request that waits for memory. */
struct making {
    struct rsmd_job job;
    struct rsmd_extent *extent; /* in no table yet; NULL: handed over */
    uint32_t type;              /* of the request */
    uint32_t sequence;
    uint32_t exported; /* id; 0: none */
    enum rsm_status status;
};

static void run_making(struct rsmd_job *job)
{
    struct making *making = (struct making *)job;
    struct rsmd_extent *extent = making->extent;
    making->status = make_memory(extent);
    if (making->status == RSM_ST_OK)
        making->status = examine(extent);
}

/* Give up an extent that has memory and is in no table. */
static void give_up(struct rsmd_extent *extent);

/* Fill in the reply, if the request's segment has not been destroyed meanwhile. */
static enum rsm_status fill_reply(const struct making *making, const struct rsmd_extent *extent,
                                  struct rsm_msg *reply)
{
    if (making->type == RSM_MSG_EXTENT_ALLOC) {
        reply->u.extent_alloc_reply = (struct rsm_extent_alloc_reply){
            .extent = extent->id, .about = rsmd_extent_about(extent)};
        return RSM_ST_OK;
    }
    const struct rsmd_export *exported =
        rsmd_client_export(extent->node, extent->client, making->exported);
    if (exported == NULL)
        return RSM_ST_NOT_FOUND;
    reply->u.export_create_reply =
        (struct rsm_export_create_reply){.export_id = exported->id,
                                         .epoch_slot = exported->epoch_slot,
                                         .extent = extent->id,
                                         .about = rsmd_extent_about(extent),
                                         .segment_id = exported->name.id};
    return RSM_ST_OK;
}

/* Free the segment of an EXPORT_CREATE that has failed. */
static void free_export(const struct making *making, struct rsmd_node *node,
                        const struct rsmd_client *client)
{
    struct rsmd_export *exported = rsmd_client_export(node, client, making->exported);
    if (exported != NULL)
        rsmd_export_free(node, exported);
}

/* Answer the request, and return its status. An extent that was not made has no memory. */
static enum rsm_status answer(const struct making *making, const struct rsmd_extent *extent,
                              enum rsm_status status)
{
    struct rsmd_node *node = extent->node;
    struct rsmd_client *client = extent->client;
    struct rsm_packet_fds fds = {.count = 0};
    struct rsm_msg reply = {.type = making->type | RSM_MSG_REPLY, .sequence = making->sequence};
    if (status == RSM_ST_OK)
        status = fill_reply(making, extent, &reply);
    reply.status = status;
    if (status == RSM_ST_OK)
        fds = (struct rsm_packet_fds){.count = 1, .fds = {extent->memory->fd}};
    else
        free_export(making, node, client);
    client->answer(client, &reply, &fds);
    return status;
}

static void on_made(struct rsmd_job *job)
{
    struct making *making = (struct making *)job;
    struct rsmd_extent *extent = making->extent;
    struct rsmd_client *client = extent->client;
    bool has_memory = making->status == RSM_ST_OK;
    enum rsm_status status = making->status;
    making->extent = NULL;
    client->forward_count--;
    bool entered = has_memory && !client->ending && enter(extent);
    if (has_memory && !entered)
        status = RSM_ST_NO_MEMORY;
    if (!client->ending)
        status = answer(making, extent, status);
    if (entered && status != RSM_ST_OK)
        rsmd_extent_free(extent->node, extent, NULL);
    else if (has_memory && !entered)
        give_up(extent);
    else if (!has_memory)
        discard(extent);
    rsmd_client_job_over(client);
}

static void free_making(struct rsmd_job *job)
{
    free(((struct making *)job)->extent);
    free(job);
}

enum rsm_status rsmd_extent_make_later(struct rsmd_call *call, struct rsmd_controller *controller,
                                       uint64_t length, const struct rsmd_export *exported)
{
    struct rsmd_client *client = call->client;
    struct rsmd_extent *extent;
    enum rsm_status status = new_extent(call->node, client, controller, length, &extent);
    if (status != RSM_ST_OK)
        return status;
    struct making *making = calloc(1, sizeof *making);
    if (making != NULL)
        *making = (struct making){.job = {.run = run_making,
                                          .done = on_made,
                                          .free = free_making,
                                          .owner = client->peer.uid},
                                  .extent = extent,
                                  .type = call->request->type,
                                  .sequence = call->request->sequence,
                                  .exported = exported != NULL ? exported->id : 0};
    if (making == NULL || !rsmd_worker_submit(call->node->worker, &making->job)) {
        free(making);
        discard(extent);
        return RSM_ST_NO_MEMORY;
    }
    client->jobs++;
    client->forward_count++;
    call->later = true;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ freeing */

static void free_memory(const struct rsmd_extent *extent)
{
    const struct rsmd_controller *controller = extent->controller;
    const struct rsmd_controller *loopback = rsmd_controller_loopback(extent->node);
    if (extent->adopted != NULL)
        loopback->ops->extent_free(loopback->port, extent->adopted);
    controller->ops->extent_free(controller->port, extent->memory);
}

static struct rsmd_extent *extent_of(struct rsmd_job *job)
{
    return (struct rsmd_extent *)job; /* its first member */
}

static void run_freeing(struct rsmd_job *job)
{
    free_memory(extent_of(job));
}

static void on_freed(struct rsmd_job *job)
{
    const struct rsmd_extent *extent = extent_of(job);
    struct rsmd_client *client = extent->client;
    refund(extent);
    if (extent->asked) {
        struct rsm_msg reply = {.type = RSM_MSG_EXTENT_FREE | RSM_MSG_REPLY,
                                .sequence = extent->sequence};
        client->forward_count--;
        if (!client->ending)
            client->answer(client, &reply, NULL);
    }
    rsmd_client_job_over(client);
}

static void free_job(struct rsmd_job *job)
{
    free(extent_of(job));
}

/* Let a thread free it. False: the caller has to. */
static bool free_by_thread(struct rsmd_extent *extent)
{
    struct rsmd_client *client = extent->client;
    if (extent->length <= RSM_EXTENT_SMALL || !has_threads(extent->node, extent->controller))
        return false;
    extent->job = (struct rsmd_job){
        .run = run_freeing, .done = on_freed, .free = free_job, .owner = client->peer.uid};
    if (!rsmd_worker_submit(extent->node->worker, &extent->job))
        return false;
    client->jobs++;
    client->forward_count += extent->asked;
    return true;
}

static void give_up(struct rsmd_extent *extent)
{
    if (free_by_thread(extent))
        return;
    free_memory(extent);
    discard(extent);
}

void rsmd_extent_free(struct rsmd_node *node, struct rsmd_extent *extent, struct rsmd_call *call)
{
    HASH_DEL(node->extents, extent);
    DL_DELETE(extent->client->extents, extent);
    if (extent->uses > 0) {
        extent->abandoned = true;
        extent->client->jobs++;
        return;
    }
    extent->asked = call != NULL;
    extent->sequence = call != NULL ? call->request->sequence : 0;
    bool later = free_by_thread(extent);
    if (later && call != NULL)
        call->later = true;
    if (later)
        return;
    free_memory(extent);
    discard(extent);
}

/* ------------------------------------------------------------------ pieces */

struct rsmd_pieces *rsmd_pieces_make(uint32_t max)
{
    struct rsmd_pieces *pieces = calloc(1, sizeof *pieces + max * sizeof pieces->piece[0]);
    if (pieces != NULL)
        pieces->references = 1;
    return pieces;
}

void rsmd_pieces_add(struct rsmd_pieces *pieces, struct rsmd_extent *extent, uint64_t offset,
                     uint64_t length)
{
    extent->uses++;
    pieces->piece[pieces->count].extent = extent;
    pieces->piece[pieces->count].offset = offset;
    pieces->piece[pieces->count].length = length;
    pieces->count++;
}

struct rsmd_pieces *rsmd_pieces_hold(struct rsmd_pieces *pieces)
{
    pieces->references++;
    return pieces;
}

/* Free an extent that was given back, after the last piece list that names it has gone. */
static void free_unused(struct rsmd_extent *extent)
{
    struct rsmd_client *client = extent->client;
    if (extent->abandoned) {
        give_up(extent);
        rsmd_client_job_over(client);
    } else if (extent->given_back) {
        rsmd_extent_free(extent->node, extent, NULL);
    }
}

void rsmd_pieces_drop(struct rsmd_pieces *pieces)
{
    if (--pieces->references > 0)
        return;
    for (uint32_t i = 0; i < pieces->count; i++) {
        struct rsmd_extent *extent = pieces->piece[i].extent;
        if (--extent->uses == 0)
            free_unused(extent);
    }
    free(pieces);
}

bool rsmd_pieces_offered(const struct rsmd_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        if (pieces->piece[i].extent->offered)
            return true;
    return false;
}

void rsmd_pieces_mark_offered(struct rsmd_pieces *pieces)
{
    for (uint32_t i = 0; i < pieces->count; i++)
        pieces->piece[i].extent->offered = true;
}
