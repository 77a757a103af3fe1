/* SPDX-License-Identifier: BSD-3-Clause */
/* The transport `best`, import half: ports of the parts. Connections are the parts' own, so most of
 * the table is never called. */
#include "transport/best.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "base/log.h"
#include "transport/instance.h"
#include "transport/registry.h"

enum { FAILURES = 16, AVOID_MS = 30000 };

struct part {
    const struct rsm_import_ops *ops;
    struct rsm_port *port;
};

struct best_port {
    struct rsm_port base;
    unsigned count;
    struct part parts[RSMCORE_BEST_PARTS]; /* those that opened, in their order */
    pthread_mutex_t lock;                  /* of what follows; held for a few instructions */
    struct failure {
        uint32_t node;
        unsigned part;
        int64_t until_ms;
    } failures[FAILURES];
    unsigned latest;
};

static struct best_port *port_of(struct rsm_port *port)
{
    return RSM_CONTAINER_OF(port, struct best_port, base);
}

static void close_port(struct rsm_port *base)
{
    struct best_port *port = port_of(base);
    while (port->count > 0)
        rsmcore_port_close(port->parts[--port->count].port);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

/* A part that cannot be opened here is no part: another one serves. */
static void open_parts(struct best_port *port, const struct rsm_controller_info *info,
                       const struct rsmcore_best_options *options)
{
    for (unsigned i = 0; i < options->count; i++) {
        const struct rsm_controller_info own = rsmcore_best_info(info, &options->parts[i]);
        struct part *part = &port->parts[port->count];
        part->ops = rsmcore_transport_import(options->parts[i].transport);
        if (part->ops == NULL || rsmcore_port_open(part->ops, &own, &part->port) != RSM_ST_OK)
            continue;
        port->base.caps |= part->port->caps;
        port->count++;
    }
}

static enum rsm_status open_port(const struct rsm_controller_info *info, struct rsm_port **port)
{
    struct rsmcore_best_options options;
    if (!rsmcore_best_read(info, &options))
        return RSM_ST_INVALID;
    struct best_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    pthread_mutex_init(&made->lock, NULL);
    open_parts(made, info, &options);
    /* A port is like its parts in what it must not do without. */
    made->base.caps &= ~(RSM_CAP_MAP | RSM_CAP_FORK);
    *port = &made->base;
    return RSM_ST_OK;
}

/* ------------------------------------------------------------------ asking */

static bool is_avoided(struct best_port *port, unsigned part, uint32_t node)
{
    bool avoided = false;
    int64_t now = rsm_clock_ms();
    pthread_mutex_lock(&port->lock);
    for (unsigned i = 0; i < FAILURES && !avoided; i++)
        avoided = port->failures[i].node == node && port->failures[i].part == part &&
                  now < port->failures[i].until_ms;
    pthread_mutex_unlock(&port->lock);
    return avoided;
}

static enum rsm_status ask_for(const struct part *part, const struct rsm_connect_request *request,
                               struct rsm_codec *codec)
{
    struct rsm_connect_request own = {.node = request->node, .address = request->address};
    struct rsmcore_best_asked asked = {.length = 0};
    enum rsm_status status = rsmcore_port_request(part->port, &own);
    if (status != RSM_ST_OK)
        return status;
    strcpy(asked.transport, part->ops->name);
    asked.length = own.length;
    memcpy(asked.data, own.data, own.length);
    struct rsm_codec before = *codec;
    rsmcore_best_asked_codec(codec, &asked);
    if (codec->bad) /* no room: what was written stays */
        *codec = before;
    return RSM_ST_OK;
}

static enum rsm_status connect_request(struct rsm_port *base, struct rsm_connect_request *request)
{
    struct best_port *port = port_of(base);
    struct rsm_codec codec = rsm_encoder(request->data, sizeof request->data);
    enum rsm_status status = RSM_ST_OK;
    bool all = true;
    for (unsigned i = 0; i < port->count; i++)
        all &= is_avoided(port, i, request->node);
    for (unsigned i = 0; i < port->count && status == RSM_ST_OK; i++)
        if (all || !is_avoided(port, i, request->node))
            status = ask_for(&port->parts[i], request, &codec);
    request->length = (uint32_t)(sizeof request->data - codec.left);
    return status;
}

/* ------------------------------------------------------------------ connecting */

struct rsm_port *rsmcore_best_choose(struct rsm_port *base, struct rsm_offer *offer,
                                     struct rsmcore_best_asked *asked)
{
    char transport[RSM_TRANSPORT_NAME_MAX];
    if (strcmp(base->ops->name, RSMCORE_BEST_NAME) != 0)
        return base;
    if (!rsmcore_best_unwrap(offer, transport))
        return NULL;
    struct best_port *port = port_of(base);
    for (unsigned i = 0; i < port->count; i++) {
        if (strcmp(port->parts[i].ops->name, transport) != 0)
            continue;
        bool found = offer->request_len > 0 &&
                     rsmcore_best_asked_find(offer->request, offer->request_len, transport, asked);
        offer->request_len = found ? asked->length : 0;
        offer->request = offer->request_len > 0 ? asked->data : NULL;
        return port->parts[i].port;
    }
    return NULL;
}

void rsmcore_best_failed(struct rsm_port *base, const struct rsm_port *part, uint32_t node)
{
    struct best_port *port = port_of(base);
    for (unsigned i = 0; i < port->count; i++) {
        if (port->parts[i].port != part)
            continue;
        rsm_log_warning("transport %s cannot connect to node %u", port->parts[i].ops->name,
                        (unsigned)node);
        pthread_mutex_lock(&port->lock);
        port->failures[port->latest++ % FAILURES] =
            (struct failure){.node = node, .part = i, .until_ms = rsm_clock_ms() + AVOID_MS};
        pthread_mutex_unlock(&port->lock);
    }
}

/* ------------------------------------------------------------------ the program's memory */

/* One cookie of each part, NULL where that part takes none. */
struct registered {
    void *cookies[RSMCORE_BEST_PARTS];
};

static void unregister_memory(struct rsm_port *base, void *cookie)
{
    const struct best_port *port = port_of(base);
    struct registered *registered = cookie;
    for (unsigned i = 0; i < port->count; i++)
        if (registered->cookies[i] != NULL)
            port->parts[i].ops->unregister_memory(port->parts[i].port, registered->cookies[i]);
    free(registered);
}

static enum rsm_status register_memory(struct rsm_port *base, void *address, size_t length,
                                       void **cookie)
{
    const struct best_port *port = port_of(base);
    struct registered *made = calloc(1, sizeof *made);
    enum rsm_status status = made != NULL ? RSM_ST_OK : RSM_ST_NO_MEMORY;
    for (unsigned i = 0; i < port->count && status == RSM_ST_OK; i++)
        status = port->parts[i].ops->register_memory(port->parts[i].port, address, length,
                                                     &made->cookies[i]);
    bool any = false;
    for (unsigned i = 0; made != NULL && i < port->count; i++)
        any |= made->cookies[i] != NULL;
    *cookie = NULL;
    if (status == RSM_ST_OK && any)
        *cookie = made;
    else if (made != NULL)
        unregister_memory(base, made);
    return status;
}

/* ------------------------------------------------------------------ what a table has to have */

static enum rsm_status connect_none(struct rsm_port *port, const struct rsm_offer *offer,
                                    uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    (void)port, (void)offer, (void)size, (void)rights, (void)conn;
    return RSM_ST_PROTOCOL;
}

static void disconnect_none(struct rsm_conn *conn)
{
    (void)conn;
}

static enum rsm_status put_none(struct rsm_conn *conn, uint64_t offset, const void *src,
                                size_t length)
{
    (void)conn, (void)offset, (void)src, (void)length;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status get_none(struct rsm_conn *conn, uint64_t offset, void *dst, size_t length)
{
    (void)conn, (void)offset, (void)dst, (void)length;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status wait_none(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_UNSUPPORTED;
}

static enum rsm_status post_none(struct rsm_conn *conn, bool coalesce)
{
    (void)conn, (void)coalesce;
    return RSM_ST_UNSUPPORTED;
}

static const struct rsm_signal_ops no_signals = {.size = sizeof no_signals, .post = post_none};

const struct rsm_import_ops rsmcore_best_import_ops = {
    RSM_IMPORT_OPS_HEAD,
    .name = RSMCORE_BEST_NAME,
    .open = open_port,
    .close = close_port,
    .connect = connect_none,
    .disconnect = disconnect_none,
    .put = put_none,
    .get = get_none,
    .order = wait_none,
    .complete = wait_none,
    .health = wait_none,
    .register_memory = register_memory,
    .unregister_memory = unregister_memory,
    .signals = &no_signals,
    .connect_request = connect_request,
};
