/* SPDX-License-Identifier: BSD-3-Clause */
/* The exporter's side: extents, and segments from creation to their end. */
#include <unistd.h>

#include "node/call.h"
#include "node/controllers.h"
#include "node/extents.h"
#include "node/offer.h"
#include "node/records.h"
#include "node/registry.h"
#include "node/topology.h"

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
    call->reply->u.extent_alloc_reply.extent = extent->id;
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

/* ------------------------------------------------------------------ create */

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
    struct rsmd_export *export;
    struct rsmd_extent *extent = NULL;
    enum rsm_status status = rsmd_export_make(call->node, call->client, controller, &export);
    if (status != RSM_ST_OK)
        return status;
    if (asked->want_extent)
        status = rsmd_extent_make(call->node, call->client, controller, asked->length, &extent);
    if (status == RSM_ST_BUSY)
        status = rsmd_extent_make_later(call, controller, asked->length, export);
    if (status != RSM_ST_OK) {
        rsmd_export_free(call->node, export);
        return status;
    }
    export->length = asked->length;
    export->creator = call->who.pid;
    export->access.uid = call->who.uid;
    export->access.gid = call->who.gid;
    export->access.mode = asked->mode;
    call->reply->u.export_create_reply =
        (struct rsm_export_create_reply){.export = export->id, .epoch_slot = export->epoch_slot};
    if (extent != NULL) {
        call->reply->u.export_create_reply.extent = extent->id;
        call->attached.fds[call->attached.count++] = extent->memory->fd;
    }
    return RSM_ST_OK;
}

/* Find an own segment for its creator to operate on. A process that inherited the connection, or
 * was given it, is another process. */
static enum rsm_status find_created(const struct rsmd_call *call, uint32_t id,
                                    struct rsmd_export **export)
{
    *export = rsmd_client_export(call->node, call->client, id);
    if (*export == NULL)
        return RSM_ST_NOT_FOUND;
    bool told = call->who.pid != 0 && (*export)->creator != 0;
    return told && call->who.pid != (*export)->creator ? RSM_ST_NOT_CREATOR : RSM_ST_OK;
}

/* ------------------------------------------------------------------ publish */

static enum rsm_status check_list(const struct rsmd_call *call, const struct rsmd_export *export,
                                  const struct rsm_acl_entry *acl, uint32_t count)
{
    return rsmd_access_check_list(acl, count, export->controller->loopback, call->node->id);
}

/* A list may name nodes that are down, but none that nobody knows how to reach. Node 0 is a machine
 * outside any cluster: it is never reached, and naming it does no harm. */
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

/* One piece: a range of an own extent that the segment's transport can offer. */
static enum rsm_status check_piece(const struct rsmd_node *node, const struct rsmd_extent *extent,
                                   const struct rsmd_export *export,
                                   const struct rsm_segment_piece *piece)
{
    if (extent == NULL)
        return RSM_ST_NOT_FOUND;
    if (!rsmd_offer_suits(node, extent, export->controller) || piece->length == 0)
        return RSM_ST_INVALID;
    if (!whole_pages(piece->offset) || !whole_pages(piece->length))
        return RSM_ST_ALIGNMENT;
    if (piece->offset > extent->length || piece->length > extent->length - piece->offset)
        return RSM_ST_RANGE;
    return RSM_ST_OK;
}

static enum rsm_status gather_pieces(const struct rsmd_call *call, const struct rsmd_export *export,
                                     struct rsmd_pieces **made)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    uint64_t left = export->length;
    struct rsmd_pieces *pieces = rsmd_pieces_make();
    enum rsm_status status = pieces != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
    for (uint32_t i = 0; status == RSM_ST_OK && i < asked->piece_count; i++) {
        const struct rsm_segment_piece *piece = &asked->pieces[i];
        struct rsmd_extent *extent = rsmd_client_extent(call->node, call->client, piece->extent);
        status = check_piece(call->node, extent, export, piece);
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

/* One whose exporter has gone is in nobody's way. */
static bool id_in_use(struct rsmd_node *node, uint32_t id)
{
    struct rsmd_export *holder;
    HASH_FIND(hh_segment, node->published, &id, sizeof id, holder);
    if (holder == NULL || !holder->client->ending)
        return holder != NULL;
    rsmd_export_free(node, holder);
    return false;
}

/* An id that was never assigned before. */
static enum rsm_status assign_id(struct rsmd_node *node, uint32_t *id)
{
    while (node->next_segment_id <= UINT32_MAX) {
        *id = (uint32_t)node->next_segment_id++;
        if (!id_in_use(node, *id))
            return RSM_ST_OK;
    }
    return RSM_ST_NO_RESOURCES;
}

/* All that can fail. An id is assigned last, so that none is wasted. */
static enum rsm_status prepare_publish(struct rsmd_call *call, struct rsmd_export *export,
                                       uint32_t *id, struct rsmd_pieces **pieces)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    enum rsm_status status = check_list(call, export, asked->acl, asked->acl_count);
    if (status != RSM_ST_OK)
        return status;
    /* Else somebody could have an id again that was assigned to another one. */
    if (asked->segment_id >= UINT32_C(1) << RSMD_FIRST_ASSIGNED_ID_SHIFT)
        return RSM_ST_INVALID;
    if (asked->segment_id != 0 && id_in_use(call->node, asked->segment_id))
        return RSM_ST_ID_IN_USE;
    status = check_routes(call, asked->acl, asked->acl_count);
    if (status == RSM_ST_OK)
        status = gather_pieces(call, export, pieces);
    if (status != RSM_ST_OK)
        return status;
    *id = asked->segment_id;
    if (*id == 0)
        status = assign_id(call->node, id);
    if (status != RSM_ST_OK)
        rsmd_pieces_drop(*pieces);
    return status;
}

enum rsm_status rsmd_answer_export_publish(struct rsmd_call *call)
{
    const struct rsm_export_publish_request *asked = &call->request->u.export_publish;
    struct rsmd_export *export;
    struct rsmd_pieces *pieces;
    uint32_t id;
    enum rsm_status status = find_created(call, asked->export, &export);
    if (export != NULL && export->published)
        return RSM_ST_ALREADY_PUBLISHED;
    if (status == RSM_ST_OK)
        status = prepare_publish(call, export, &id, &pieces);
    if (status != RSM_ST_OK)
        return status;
    export->segment_id = id;
    HASH_ADD(hh_segment, call->node->published, segment_id, sizeof export->segment_id, export);
    if (export->hh_segment.tbl == NULL) {
        rsmd_pieces_drop(pieces);
        return RSM_ST_NO_MEMORY;
    }
    set_list(&export->access, asked->acl, asked->acl_count);
    export->pieces = pieces;
    export->offered = false;
    export->published = true;
    call->reply->u.export_publish_reply.segment_id = id;
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_export_republish(struct rsmd_call *call)
{
    const struct rsm_export_republish_request *asked = &call->request->u.export_republish;
    struct rsmd_export *export;
    enum rsm_status status = find_created(call, asked->export, &export);
    if (export != NULL && !export->published)
        return RSM_ST_NOT_PUBLISHED;
    if (status == RSM_ST_OK)
        status = check_list(call, export, asked->acl, asked->acl_count);
    if (status == RSM_ST_OK)
        status = check_routes(call, asked->acl, asked->acl_count);
    if (status != RSM_ST_OK)
        return status;
    set_list(&export->access, asked->acl, asked->acl_count);
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ end */

/* Whether another process may still have memory of this segment, whichever publication gave it. */
static bool was_offered(const struct rsmd_export *export)
{
    const struct rsmd_import *import;
    if (export->pieces != NULL && rsmd_pieces_offered(export->pieces))
        return true;
    DL_FOREACH2(export->imports, import, export_next)
    if (rsmd_pieces_offered(import->pieces))
        return true;
    return export->offered;
}

enum rsm_status rsmd_answer_export_unpublish(struct rsmd_call *call)
{
    const struct rsm_export_unpublish_request *asked = &call->request->u.export_unpublish;
    struct rsmd_export *export;
    enum rsm_status status = find_created(call, asked->export, &export);
    bool keep = (asked->flags & RSM_UNPUBLISH_KEEP_CONNECTIONS) != 0;
    /* Connections that an earlier call kept can still be ended by one that does not keep them. */
    if (export != NULL && !export->published && (keep || export->imports == NULL))
        return RSM_ST_NOT_PUBLISHED;
    if (status != RSM_ST_OK)
        return status;
    if ((asked->flags & ~(RSM_UNPUBLISH_KEEP_CONNECTIONS | RSM_UNPUBLISH_NOTIFY)) != 0)
        return RSM_ST_INVALID;
    export->offered = was_offered(export);
    rsmd_export_withdraw(call->node, export);
    if ((asked->flags & RSM_UNPUBLISH_NOTIFY) != 0)
        rsmd_record_unavailable(call->node, export);
    if (!keep)
        rsmd_export_abort(call->node, export);
    call->reply->u.export_end_reply = (struct rsm_export_end_reply){
        .offered = export->offered, .connections = export->import_count};
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_export_destroy(struct rsmd_call *call)
{
    const struct rsm_export_destroy_request *asked = &call->request->u.export_destroy;
    struct rsm_export_end_reply *reply = &call->reply->u.export_end_reply;
    struct rsmd_export *export;
    enum rsm_status status = find_created(call, asked->export, &export);
    if (status != RSM_ST_OK)
        return status;
    if (asked->flags > RSM_DESTROY_DEFER)
        return RSM_ST_INVALID;
    if (asked->flags == RSM_DESTROY_UNUSED && export->import_count > 0)
        return RSM_ST_BUSY;
    reply->offered = was_offered(export);
    if (asked->flags == RSM_DESTROY_DEFER) {
        reply->connections = export->import_count;
        rsmd_export_defer(call->node, export);
    } else {
        rsmd_export_free(call->node, export);
    }
    return RSM_ST_OK;
}
