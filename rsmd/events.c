/* SPDX-License-Identifier: BSD-3-Clause */
#include "events.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "call.h"
#include "core/eventcell.h"
#include "core/log.h"
#include "core/status.h"
#include "far/relay.h"
#include "memfd.h"
#include "registry.h"

void rsmd_events_init(struct rsmd_events *events)
{
    events->cell = -1;
    events->pipe = -1;
}

static void close_one(struct rsmd_account *account, int *fd)
{
    if (*fd < 0)
        return;
    close(*fd);
    rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    *fd = -1;
}

void rsmd_events_close(struct rsmd_account *account, struct rsmd_events *events)
{
    close_one(account, &events->cell);
    close_one(account, &events->pipe);
}

/* A handle of the asking client: exactly one of the two is set. */
struct event_handle {
    struct rsmd_export *export;
    struct rsmd_import *import;
};

static enum rsm_status find_handle(const struct rsmd_call *call, uint32_t end, uint32_t id,
                                   struct event_handle *handle)
{
    *handle = (struct event_handle){.export = NULL};
    bool foreign = call->client->node != call->node->id;
    if (end == RSM_EVENT_EXPORT && foreign)
        return RSM_ST_DENIED;
    if (end == RSM_EVENT_EXPORT)
        handle->export = rsmd_client_export(call->node, call->client, id);
    else if (end == RSM_EVENT_IMPORT)
        handle->import = rsmd_client_import(call->node, call->client, id);
    else
        return RSM_ST_INVALID;
    return handle->export != NULL || handle->import != NULL ? RSM_ST_OK : RSM_ST_NOT_FOUND;
}

/* Whom what belongs to a handle is charged to. */
static struct rsmd_account *account_of(const struct event_handle *handle)
{
    return handle->export != NULL ? handle->export->client->account : handle->import->account;
}

static struct rsmd_events *events_of(const struct event_handle *handle)
{
    return handle->export != NULL ? &handle->export->events : &handle->import->events;
}

enum rsm_status rsmd_event_cell_make(int *cell)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE);
    int fd = rsmd_memfd_make("rsm-event", page, S_IRUSR | S_IWUSR);
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    if (fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_SEAL) < 0) {
        int error = errno;
        close(fd);
        return rsmcore_status_from_errno(error);
    }
    *cell = fd;
    return RSM_ST_OK;
}

/* The counter's memory, made when first wanted: nobody can have posted before. */
static enum rsm_status need_cell(struct rsmd_account *account, struct rsmd_events *events)
{
    if (events->cell >= 0)
        return RSM_ST_OK;
    if (!rsmd_share_take(account, RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    enum rsm_status status = rsmd_event_cell_make(&events->cell);
    if (status != RSM_ST_OK)
        rsmd_share_give(account, RSMD_DESCRIPTORS, 1);
    return status;
}

enum rsm_status rsmd_answer_event_open(struct rsmd_call *call)
{
    const struct rsm_event_open_request *asked = &call->request->u.event_open;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    struct rsmd_events *events = events_of(&handle);
    status = need_cell(account_of(&handle), events);
    if (status != RSM_ST_OK)
        return status;
    call->attached.fds[call->attached.count++] = events->cell;
    return RSM_ST_OK;
}

static void add_peer(struct rsmd_call *call, const struct rsmd_events *events, uint32_t name)
{
    struct rsm_event_peers_reply *reply = &call->reply->u.event_peers_reply;
    call->attached.fds[call->attached.count++] = events->cell;
    reply->peers[reply->count++] = name;
}

/* The counter through which the exporter's end of a connection is posted to; NULL: it was aborted.
 */
static enum rsm_status need_exporters(struct rsmd_node *node, struct rsmd_import *import,
                                      const struct rsmd_events **events)
{
    struct rsmd_export *export = import->export;
    enum rsm_status status = RSM_ST_OK;
    *events = NULL;
    if (export != NULL) {
        status = need_cell(export->client->account, &export->events);
        *events = &export->events;
    } else if (import->far != NULL) {
        status = rsmd_relay_need(node, import);
        if (status == RSM_ST_OK)
            *events = rsmd_relay_events(import);
    }
    return status;
}

/* ... the importer's end. */
static enum rsm_status need_importers(struct rsmd_node *node, struct rsmd_import *import,
                                      const struct rsmd_events **events)
{
    if (import->far == NULL) {
        *events = &import->events;
        return need_cell(import->account, &import->events);
    }
    enum rsm_status status = rsmd_relay_need(node, import);
    if (status == RSM_ST_OK)
        *events = rsmd_relay_events(import);
    return status;
}

static enum rsm_status peers_of_import(struct rsmd_call *call, struct rsmd_import *import)
{
    struct rsm_event_peers_reply *reply = &call->reply->u.event_peers_reply;
    const struct rsmd_events *events;
    enum rsm_status status = need_exporters(call->node, import, &events);
    if (status != RSM_ST_OK)
        return status;
    if (events != NULL) {
        reply->total = 1;
        if (call->request->u.event_peers.first == 0)
            add_peer(call, events, 0);
    }
    reply->epoch = rsmd_gentable_value(call->node->gentable, import->slot);
    return RSM_ST_OK;
}

static enum rsm_status peers_of_export(struct rsmd_call *call, struct rsmd_export *export)
{
    struct rsm_event_peers_reply *reply = &call->reply->u.event_peers_reply;
    uint32_t first = call->request->u.event_peers.first, index = 0;
    struct rsmd_import *import;
    DL_FOREACH2(export->imports, import, export_next)
    {
        if (reply->count == RSM_PROTO_CELLS_MAX)
            break;
        if (index++ < first)
            continue;
        const struct rsmd_events *events;
        enum rsm_status status = need_importers(call->node, import, &events);
        if (status == RSM_ST_OK)
            add_peer(call, events, import->id);
        else
            return status;
    }
    reply->total = export->import_count;
    reply->epoch = rsmd_gentable_value(call->node->gentable, export->epoch_slot);
    return RSM_ST_OK;
}

enum rsm_status rsmd_answer_event_peers(struct rsmd_call *call)
{
    const struct rsm_event_peers_request *asked = &call->request->u.event_peers;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status == RSM_ST_OK)
        status = handle.export != NULL ? peers_of_export(call, handle.export)
                                       : peers_of_import(call, handle.import);
    if (status != RSM_ST_OK)
        call->attached.count = 0;
    return status;
}

static bool is_write_end(int fd)
{
    struct stat what;
    int flags = fcntl(fd, F_GETFL);
    return fstat(fd, &what) == 0 && S_ISFIFO(what.st_mode) && flags >= 0 &&
           (flags & O_ACCMODE) == O_WRONLY && (flags & O_PATH) == 0;
}

enum rsm_status rsmd_answer_event_arm(struct rsmd_call *call)
{
    const struct rsm_event_arm_request *asked = &call->request->u.event_arm;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    if (!is_write_end(call->received->fds[0]))
        return RSM_ST_INVALID;
    struct rsmd_events *events = events_of(&handle);
    if (events->pipe < 0 && !rsmd_share_take(account_of(&handle), RSMD_DESCRIPTORS, 1))
        return RSM_ST_NO_RESOURCES;
    if (events->pipe >= 0)
        close(events->pipe); /* what was paid for it pays for the new one */
    events->pipe = call->received->fds[0];
    call->received->count = 0;
    return RSM_ST_OK;
}

/* The events of the peer that a handle's owner may kick, or NULL. */
static const struct rsmd_events *peer_events(const struct rsmd_node *node,
                                             const struct event_handle *handle, uint32_t peer)
{
    struct rsmd_import *import = handle->import;
    if (import != NULL && peer != 0)
        return NULL;
    if (import != NULL && import->export != NULL)
        return &import->export->events;
    if (import == NULL)
        HASH_FIND_INT(node->imports, &peer, import);
    if (import == NULL || import->export != handle->export)
        return NULL;
    if (import->far == NULL)
        return handle->export != NULL ? &import->events : NULL;
    return import->relay != NULL ? rsmd_relay_events(import) : NULL;
}

static bool has_reader(int pipe)
{
    struct pollfd end = {.fd = pipe};
    return poll(&end, 1, 0) == 0 || (end.revents & POLLERR) == 0;
}

enum rsm_status rsmd_answer_event_kick(struct rsmd_call *call)
{
    const struct rsm_event_kick_request *asked = &call->request->u.event_kick;
    struct event_handle handle;
    enum rsm_status status = find_handle(call, asked->end, asked->id, &handle);
    if (status != RSM_ST_OK)
        return status;
    const struct rsmd_events *events = peer_events(call->node, &handle, asked->peer);
    if (events == NULL || events->pipe < 0 || !has_reader(events->pipe))
        return RSM_ST_NOT_FOUND;
    /* A description of the asker's own: what it does to its flags is its own affair. */
    int fd = rsmd_fd_reopen(events->pipe, O_WRONLY);
    if (fd < 0)
        return rsmcore_status_from_errno(errno);
    call->attached.fds[call->attached.count++] = fd;
    call->close_attached = true;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ news of fabric and far nodes
 */

static void kick(int pipe)
{
    int fd = rsmd_fd_reopen(pipe, O_WRONLY); /* the owner's own description may block */
    if (fd < 0)
        return;
    /* A full pipe is readable, which is all that is wanted. */
    ssize_t ignored = write(fd, "", 1);
    (void)ignored;
    close(fd);
}

/* Post to a counter of a client's handle. */
static void post(struct rsmd_account *account, struct rsmd_events *events, uint32_t count,
                 bool coalesced)
{
    struct rsm_event_cell *cell = NULL;
    if (need_cell(account, events) == RSM_ST_OK)
        cell = rsm_event_cell_map(events->cell);
    if (cell == NULL) {
        rsm_log_error("an event for a process of user %u is lost: its counter cannot be made",
                      (unsigned)account->key.uid);
        return;
    }
    if (rsm_event_cell_post(cell, count, coalesced) && events->pipe >= 0)
        kick(events->pipe);
    rsm_event_cell_unmap(cell);
}

/* The coalesced one came first. */
static void post_batch(struct rsmd_account *account, struct rsmd_events *events, uint32_t count,
                       bool coalesced)
{
    if (coalesced)
        post(account, events, 1, true);
    if (count > 0)
        post(account, events, count, false);
}

void rsmd_export_posted(struct rsmd_node *node, struct rsmd_export *export, uint32_t count,
                        bool coalesced)
{
    (void)node;
    post_batch(export->client->account, &export->events, count, coalesced);
}

void rsmd_import_posted(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                        bool coalesced)
{
    (void)node;
    post_batch(import->account, &import->events, count, coalesced);
}

void rsmd_import_signalled(struct rsmd_node *node, struct rsmd_import *import, uint32_t count,
                           bool coalesced)
{
    struct rsmd_export *export = import->export;
    (void)node;
    post(export->client->account, &export->events, count, coalesced);
}

void rsmd_import_lost(struct rsmd_node *node, struct rsmd_import *import)
{
    rsmd_import_abort(node, import);
}
