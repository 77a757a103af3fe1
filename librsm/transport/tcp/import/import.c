/* SPDX-License-Identifier: BSD-3-Clause */
/* tcp, import half: the port of one controller in one process, connect and disconnect. */
#include "transport/tcp/import/import.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/cancel.h"
#include "base/log.h"
#include "transport/entry.h"

/* ------------------------------------------------------------------ port */

static enum rsm_status import_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    struct tcp_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    if (!tcp_options_read(info, &made->options)) {
        free(made);
        return RSM_ST_INVALID;
    }
    pthread_mutex_init(&made->lock, NULL);
    made->base.caps = RSM_CAP_REMOTE_SIGNAL | RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE;
    tcp_sender_init(&made->sender);
    *port = &made->base;
    return RSM_ST_OK;
}

static void import_close(struct rsm_port *base)
{
    struct tcp_port *port = tcp_port_of(base);
    tcp_sender_destroy(&port->sender);
    tcp_tls_free(port->tls);
    pthread_mutex_destroy(&port->lock);
    free(port);
}

/* Most programs have no exporter who asks for it. */
static struct tcp_tls *tls_of(struct tcp_port *port)
{
    pthread_mutex_lock(&port->lock);
    if (port->tls == NULL)
        port->tls = tcp_tls_make(false);
    struct tcp_tls *tls = port->tls;
    pthread_mutex_unlock(&port->lock);
    return tls;
}

/* ------------------------------------------------------------------ connection */

static void free_conn(struct tcp_conn *conn)
{
    struct tcp_channel signals = {conn->signal_socket, conn->signal_records};
    if (signals.socket >= 0)
        tcp_stream_close(&signals);
    if (conn->signals >= 0)
        close(conn->signals);
    if (conn->channel.socket >= 0)
        tcp_stream_close(&conn->channel);
    tcp_stage_destroy(&conn->stage);
    tcp_works_end(conn);
    pthread_mutex_destroy(&conn->lock);
    explicit_bzero(conn->signal_token, sizeof conn->signal_token);
    free(conn);
}

/* The exporter's node says whether connections are encrypted. This node can demand it: without, the
 * exporter's gets none. */
static enum rsm_status choose_encryption(struct tcp_port *port, const struct tcp_offer *blob,
                                         struct tcp_conn *conn)
{
    if (!blob->tls && !port->options.tls)
        return RSM_ST_OK;
    if (!blob->tls) {
        rsm_log_error("tcp: the exporter's node offers no encryption, and encrypt=tls is set here");
        return RSM_ST_UNREACHABLE;
    }
    conn->tls = tls_of(port);
    return conn->tls != NULL ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

/* The host is the one that this node's rsm.conf names. The exporter's node says only the port, so
 * that it cannot make processes of this host call whom it likes. */
static enum rsm_status connect_by(struct tcp_port *port, const struct rsm_offer *offer,
                                  struct tcp_conn *conn)
{
    struct tcp_offer blob;
    if (offer->fd_count != 0 || offer->blob_len > sizeof offer->blob)
        return RSM_ST_PROTOCOL;
    enum rsm_status status = tcp_offer_decode(offer->blob, offer->blob_len, &blob);
    if (status == RSM_ST_OK)
        status = choose_encryption(port, &blob, conn);
    if (status == RSM_ST_OK && !tcp_address_find(offer->address != NULL ? offer->address : "",
                                                 (uint16_t)blob.port, &conn->address))
        status = RSM_ST_UNREACHABLE;
    if (status == RSM_ST_OK) {
        conn->grant = blob.grant;
        memcpy(conn->signal_token, blob.token[TCP_STREAM_SIGNALS], sizeof conn->signal_token);
        status = tcp_stream_open(conn, TCP_STREAM_DATA, blob.token[TCP_STREAM_DATA], &conn->channel,
                                 &conn->can);
    }
    explicit_bzero(&blob, sizeof blob);
    return status;
}

static enum rsm_status import_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                      uint64_t size, uint32_t rights, struct rsm_conn **made)
{
    (void)size, (void)rights; /* rsm-tcpd knows what has been granted */
    struct tcp_conn *conn = calloc(1, sizeof *conn);
    if (conn == NULL)
        return RSM_ST_NO_MEMORY;
    conn->base.caps = port->caps;
    conn->options = &tcp_port_of(port)->options;
    conn->channel.socket = conn->signals = -1;
    atomic_init(&conn->signal_socket, -1);
    conn->sender = &tcp_port_of(port)->sender;
    pthread_mutex_init(&conn->lock, NULL);
    tcp_stage_init(&conn->stage);
    int cancellable = rsm_cancel_disable();
    enum rsm_status status = connect_by(tcp_port_of(port), offer, conn);
    rsm_cancel_enable(cancellable);
    if (status != RSM_ST_OK) {
        free_conn(conn);
        return status;
    }
    tcp_sender_start(conn->sender);
    *made = &conn->base;
    return RSM_ST_OK;
}

/* A signal that was posted before has reached the exporter's node when the daemons learn of the
 * disconnect. */
static void import_disconnect(struct rsm_conn *base)
{
    struct tcp_conn *conn = tcp_conn_of(base);
    tcp_sender_leave(conn);
    tcp_drain(conn);
    if (conn->posted || tcp_answers_hold_flush(conn))
        (void)tcp_complete(base);
    free_conn(conn);
}

MODULE_SYMBOL const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD,
    .name = "tcp",
    .open = import_open,
    .close = import_close,
    .connect = import_connect,
    .disconnect = import_disconnect,
    .put = tcp_put,
    .get = tcp_get,
    .order = tcp_order,
    .complete = tcp_complete,
    .put_elems = tcp_put_elems,
    .get_elems = tcp_get_elems,
    .putv = tcp_putv,
    .getv = tcp_getv,
    .put_complete = tcp_put_complete,
    .health = tcp_health,
    .signals = &tcp_signal_ops,
    .completions = &tcp_completion_ops,
    .complete_begin = tcp_complete_begin,
    .get_snapshot = tcp_get_snapshot,
};
