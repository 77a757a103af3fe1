/* SPDX-License-Identifier: BSD-3-Clause */
/* The exporter's side: extents, and segments from creation to their end. */
#include <unistd.h>

#include "node/call.h"
#include "node/controllers.h"
#include "node/exports.h"
#include "node/extents.h"
#include "node/grants.h"
#include "node/offer.h"
#include "node/revokes.h"
#include "node/segment_ids.h"
#include "node/topology.h"
#include "node/unfinished.h"

static bool whole_pages(uint64_t bytes)
{
    return bytes % (uint64_t)sysconf(_SC_PAGESIZE) == 0;
}

/* ------------------------------------------------------------------ extents */

enum rsm_status rsmd_answer_extent_alloc(struct rsmd_call *call)
{
    const struct rsm_extent_alloc_request *asked = &call->request->u.extent_alloc;
    struct rsmd_controller *controller = rsmd_controller_named(call->node, asked->controller);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    if (asked->length == 0)
        return RSM_ST_INVALID;
    if (!whole_pages(asked->length))
        return RSM_ST_ALIGNMENT;
    struct rsmd_extent *extent;
    enum rsm_status status =
        rsmd_extent_make(call->node, call->client, controller, asked->length, &extent);
    if (status == RSM_ST_BUSY)
        return rsmd_extent_make_later(call, controller, asked->length, NULL);
    if (status != RSM_ST_OK)
        return status;
    call->reply->u.extent_alloc_reply =
        (struct rsm_extent_alloc_reply){.extent = extent->id, .about = rsmd_extent_about(extent)};
    call->attached.fds[call->attached.count++] = extent->memory->fd;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_extent_free(struct rsmd_call *call)
{
    struct rsmd_extent *extent =
        rsmd_client_extent(call->node, call->client, call->request->u.extent_free.extent);
    uint32_t flags = call->request->u.extent_free.flags;
    if (extent == NULL)
        return RSM_ST_NOT_FOUND;
    if ((flags & ~RSM_EXTENT_FREE_WHEN_UNUSED) != 0)
        return RSM_ST_INVALID;
    if (extent->uses > 0) {
        extent->given_back = (flags & RSM_EXTENT_FREE_WHEN_UNUSED) != 0;
        return extent->given_back ? RSM_ST_OK : RSM_ST_BUSY;
    }
    rsmd_extent_free(call->node, extent, call);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_extent_open(struct rsmd_call *call)
{
    const struct rsmd_extent *extent =
        rsmd_client_extent(call->node, call->client, call->request->u.extent_open.extent);
    if (extent == NULL)
        return RSM_ST_NOT_FOUND;
    call->attached.fds[call->attached.count++] = extent->memory->fd;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ create */

/* 0 stands for the length. */
static bool is_size_of(uint64_t size, uint64_t length)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    return size == 0 || (size <= length && length - size < page);
}

enum rsm_status rsmd_answer_export_create(struct rsmd_call *call)
{
    const struct rsm_export_create_request *asked = &call->request->u.export_create;
    struct rsmd_controller *controller = rsmd_controller_named(call->node, asked->controller);
    if (controller == NULL)
        return RSM_ST_NO_CONTROLLER;
    if (asked->length == 0 || asked->mode > 0777 || asked->want_extent > 1)
        return RSM_ST_INVALID;
    if (!whole_pages(asked->length))
        return RSM_ST_ALIGNMENT;
    if (!is_size_of(asked->size, asked->length))
        return RSM_ST_INVALID;
    struct rsmd_export *exported;
    struct rsmd_extent *extent = NULL;
    enum rsm_status status = rsmd_export_make(call->node, call->client, controller, &exported);
    if (status != RSM_ST_OK)
        return status;
    status = rsmd_claim(call->node, exported, asked);
    if (status == RSM_ST_OK && asked->want_extent)
        status = rsmd_extent_make(call->node, call->client, controller, asked->length, &extent);
    if (status == RSM_ST_BUSY)
        status = rsmd_extent_make_later(call, controller, asked->length, exported);
    if (status != RSM_ST_OK) {
        rsmd_export_free(call->node, exported);
        return status;
    }
    exported->length = asked->length;
    exported->size = asked->size != 0 ? asked->size : asked->length;
    exported->creator = call->who.pid;
    exported->access.uid = call->who.uid;
    exported->access.gid = call->who.gid;
    exported->access.mode = asked->mode;
    call->reply->u.export_create_reply =
        (struct rsm_export_create_reply){.export_id = exported->id,
                                         .epoch_slot = exported->epoch_slot,
                                         .segment_id = exported->name.id};
    if (extent != NULL) {
        call->reply->u.export_create_reply.extent = extent->id;
        call->reply->u.export_create_reply.about = rsmd_extent_about(extent);
        call->attached.fds[call->attached.count++] = extent->memory->fd;
    }
    return RSM_ST_OK;
}

/* Find a client's segment on which only its creator may operate. A process that inherited the
 * connection, or received it, is not the creator. */
static enum rsm_status find_created(const struct rsmd_call *call, uint32_t id,
                                    struct rsmd_export **exported)
{
    *exported = rsmd_client_export(call->node, call->client, id);
    if (*exported == NULL)
        return RSM_ST_NOT_FOUND;
    bool known = call->who.pid != 0 && (*exported)->creator != 0;
    if (known && call->who.pid != (*exported)->creator)
        return RSM_ST_NOT_CREATOR;
    return (*exported)->cutting ? RSM_ST_BUSY : RSM_ST_OK;
}

/* ------------------------------------------------------------------ publish */

static enum rsm_status check_list(const struct rsmd_call *call, const struct rsmd_export *exported,
                                  const struct rsm_acl_entry *acl, uint32_t count)
{
    return rsmd_access_check_list(acl, count, exported->controller->loopback, call->node->id);
}

/* A list may name nodes that are down, but none without a known path. Node 0 stands for a machine
 * outside any cluster; it is harmless. */
static enum rsm_status check_routes(const struct rsmd_call *call, const struct rsm_acl_entry *acl,
                                    uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (acl[i].node != 0 && !rsmd_node_known(call->node, acl[i].node))
            return RSM_ST_NO_ROUTE;
    return RSM_ST_OK;
}

static void set_list(struct rsmd_access *access, const struct rsm_acl_entry *acl, uint32_t count)
{
    access->acl_count = count;
    memcpy(access->acl, acl, count * sizeof *acl);
}

/* Check one piece: a range of the client's extent that the segment's transport can offer. */
static enum rsm_status check_piece(const struct rsmd_node *node, const struct rsmd_extent *extent,
                                   const struct rsmd_export *exported,
                                   const struct rsm_segment_piece *piece)
{
    if (extent == NULL)
        return RSM_ST_NOT_FOUND;
    if (!rsmd_offer_suits(node, extent, exported->controller) || piece->length == 0)
        return RSM_ST_INVALID;
    if (!whole_pages(piece->offset) || !whole_pages(piece->length))
        return RSM_ST_ALIGNMENT;
    if (piece->offset > extent->length || piece->length > extent->length - piece->offset)
        return RSM_ST_RANGE;
    return RSM_ST_OK;
}

static enum rsm_status gather_pieces(const struct rsmd_call *call,
                                     const struct rsmd_export *exported, struct rsmd_pieces **made)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    uint64_t left = exported->length;
    struct rsmd_pieces *pieces = rsmd_pieces_make(asked->piece_count);
    enum rsm_status status = pieces != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
    for (uint32_t i = 0; status == RSM_ST_OK && i < asked->piece_count; i++) {
        const struct rsm_segment_piece *piece = &asked->pieces[i];
        struct rsmd_extent *extent = rsmd_client_extent(call->node, call->client, piece->extent);
        status = check_piece(call->node, extent, exported, piece);
        if (status == RSM_ST_OK && piece->length > left)
            status = RSM_ST_RANGE;
        if (status != RSM_ST_OK)
            break;
        rsmd_pieces_add(pieces, extent, piece->offset, piece->length);
        left -= piece->length;
    }
    if (status == RSM_ST_OK && left != 0)
        status = RSM_ST_RANGE;
    if (status == RSM_ST_OK)
        *made = pieces;
    else if (pieces != NULL)
        rsmd_pieces_drop(pieces);
    return status;
}

/* Do all that can fail. The id is assigned last, so that none is wasted. */
static enum rsm_status prepare_publish(struct rsmd_call *call, struct rsmd_export *exported,
                                       struct rsmd_segment_name *name, struct rsmd_pieces **pieces)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    bool assign = (asked->flags & RSM_PUBLISH_ASSIGN_ID) != 0;
    *name = (struct rsmd_segment_name){.space = asked->space, .id = asked->segment_id};
    enum rsm_status status = check_list(call, exported, asked->acl, asked->acl_count);
    if (status != RSM_ST_OK)
        return status;
    if ((asked->flags & ~RSM_PUBLISH_ASSIGN_ID) != 0)
        return RSM_ST_INVALID;
    if (exported->claimed)
        status = assign || !rsmd_claim_is(exported, name) ? RSM_ST_INVALID : RSM_ST_OK;
    else
        status = rsmd_segment_id_check(call->node, name, assign);
    if (status == RSM_ST_OK)
        status = check_routes(call, asked->acl, asked->acl_count);
    if (status == RSM_ST_OK)
        status = gather_pieces(call, exported, pieces);
    if (status != RSM_ST_OK)
        return status;
    if (assign)
        status = rsmd_segment_id_assign(call->node, name);
    if (status != RSM_ST_OK)
        rsmd_pieces_drop(*pieces);
    return status;
}

enum rsm_status rsmd_answer_export_publish(struct rsmd_call *call)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    struct rsmd_export *exported;
    struct rsmd_pieces *pieces;
    struct rsmd_segment_name name;
    enum rsm_status status = find_created(call, asked->export_id, &exported);
    if (exported != NULL && exported->published)
        return RSM_ST_ALREADY_PUBLISHED;
    if (status == RSM_ST_OK)
        status = prepare_publish(call, exported, &name, &pieces);
    if (status != RSM_ST_OK)
        return status;
    if (!exported->claimed && !rsmd_export_name(call->node, exported, &name)) {
        rsmd_pieces_drop(pieces);
        return RSM_ST_NO_MEMORY;
    }
    set_list(&exported->access, asked->acl, asked->acl_count);
    exported->pieces = pieces;
    exported->offered = false;
    exported->published = true;
    call->reply->u.export_publish_reply.segment_id = name.id;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_export_republish(struct rsmd_call *call)
{
    const struct rsm_export_republish_request *asked = &call->request->u.export_republish;
    struct rsmd_export *exported;
    enum rsm_status status = find_created(call, asked->export_id, &exported);
    if (exported != NULL && !exported->published)
        return RSM_ST_NOT_PUBLISHED;
    if (status == RSM_ST_OK)
        status = check_list(call, exported, asked->acl, asked->acl_count);
    if (status == RSM_ST_OK)
        status = check_routes(call, asked->acl, asked->acl_count);
    if (status != RSM_ST_OK)
        return status;
    set_list(&exported->access, asked->acl, asked->acl_count);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ end */

/* Whether another process may still have memory of this segment, of this publication or an earlier
 * one. */
static bool was_offered(const struct rsmd_export *exported)
{
    const struct rsmd_grant *grant;
    if (exported->pieces != NULL && rsmd_pieces_offered(exported->pieces))
        return true;
    DL_FOREACH(exported->grants, grant)
    if (rsmd_pieces_offered(grant->pieces))
        return true;
    DL_FOREACH(exported->attached, grant)
    if (rsmd_pieces_offered(grant->pieces))
        return true;
    return exported->offered;
}

enum rsm_status rsmd_answer_export_unpublish(struct rsmd_call *call)
{
    const struct rsm_export_unpublish_request *asked = &call->request->u.export_unpublish;
    struct rsmd_export *exported;
    enum rsm_status status = find_created(call, asked->export_id, &exported);
    bool keep = (asked->flags & RSM_UNPUBLISH_KEEP_CONNECTIONS) != 0;
    /* A call without the flag also ends connections that an earlier call kept. */
    if (exported != NULL && !exported->published &&
        (keep || (!rsmd_export_is_used(exported) && !rsmd_revokes_are(call->node, exported->id))))
        return RSM_ST_NOT_PUBLISHED;
    if (status != RSM_ST_OK)
        return status;
    if ((asked->flags & ~(RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY)) != 0)
        return RSM_ST_INVALID;
    if (!keep && exported->attached_count > 0)
        return RSM_ST_BUSY;
    exported->offered = was_offered(exported);
    rsmd_export_withdraw(call->node, exported);
    rsmd_claim_close(exported);
    call->reply->u.export_unpublish_reply = (struct rsm_export_end_reply){
        .offered = exported->offered, .connections = keep ? exported->grant_count : 0};
    if (keep && (asked->flags & RSM_UNPUBLISH_NOTIFY) != 0)
        rsmd_unfinished_report(call->node, call->client, exported);
    exported->notices += !keep && (asked->flags & RSM_UNPUBLISH_NOTIFY) != 0;
    if (!keep)
        rsmd_unfinished_cut(call->node, call->client, exported);
    rsmd_unfinished_await(call, asked->export_id);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_export_destroy(struct rsmd_call *call)
{
    const struct rsm_export_destroy_request *asked = &call->request->u.export_destroy;
    struct rsm_export_end_reply *reply = &call->reply->u.export_destroy_reply;
    struct rsmd_export *exported;
    enum rsm_status status = find_created(call, asked->export_id, &exported);
    if (status != RSM_ST_OK)
        return status;
    if (asked->flags > RSM_DESTROY_DEFER)
        return RSM_ST_INVALID;
    if (asked->flags == RSM_DESTROY_UNUSED && rsmd_export_is_used(exported))
        return RSM_ST_BUSY;
    reply->offered = was_offered(exported);
    if (asked->flags == RSM_DESTROY_DEFER) {
        reply->connections = exported->grant_count;
        rsmd_export_defer(call->node, exported);
    } else {
        rsmd_export_destroy(call->node, exported);
        rsmd_unfinished_cut(call->node, call->client, exported);
    }
    rsmd_unfinished_await(call, asked->export_id);
    return RSM_ST_OK;
}
