/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/instance.h"

#include "base/log.h"
#include "transport/best.h"
#include "transport/generic.h"

enum rsm_status rsmcore_port_open(const struct rsm_import_ops *ops,
                                  const struct rsm_controller_info *info, struct rsm_port **port)
{
    struct rsm_controller_info sized = *info;
    struct rsm_port *made;
    sized.size = sizeof sized;
    enum rsm_status status = ops->open(&sized, &made);
    if (status != RSM_ST_OK)
        return status;
    if ((made->caps & ~rsmcore_import_abilities(ops)) != 0) {
        rsm_log_error("transport %s: a port has capabilities %#x, and operations for %#x",
                      ops->name, (unsigned)made->caps, (unsigned)rsmcore_import_abilities(ops));
        ops->close(made);
        return RSM_ST_INVALID;
    }
    made->ops = ops;
    *port = made;
    return RSM_ST_OK;
}

void rsmcore_port_close(struct rsm_port *port)
{
    port->ops->close(port);
}

enum rsm_status rsmcore_port_request(struct rsm_port *port, struct rsm_connect_request *request)
{
    const struct rsm_import_ops *ops = port->ops;
    request->size = sizeof *request;
    request->length = 0;
    if (ops->connect_request == NULL)
        return RSM_ST_OK;
    enum rsm_status status = ops->connect_request(port, request);
    if (status != RSM_ST_OK || request->length <= RSM_REQUEST_MAX)
        return status;
    rsm_log_error("transport %s: a request of %u bytes, and %u fit", ops->name,
                  (unsigned)request->length, RSM_REQUEST_MAX);
    return RSM_ST_INVALID;
}

static enum rsm_status connect_by(struct rsm_port *port, const struct rsm_offer *offer,
                                  uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    struct rsm_conn *made;
    enum rsm_status status = port->ops->connect(port, offer, size, rights, &made);
    if (status != RSM_ST_OK)
        return status;
    if ((made->caps & ~port->caps) != 0) {
        rsm_log_error("transport %s: a connection has capabilities %#x, its port %#x",
                      port->ops->name, (unsigned)made->caps, (unsigned)port->caps);
        port->ops->disconnect(made);
        return RSM_ST_INVALID;
    }
    const struct rsmcore_import_table *table =
        RSM_CONTAINER_OF(port->ops, const struct rsmcore_import_table, ops);
    made->ops = (made->caps & RSM_CAP_FORK) != 0 ? &table->ops : &table->guarded;
    made->port = port;
    made->failures = 0;
    made->core = rsmcore_completions_make(made, rsmcore_guard_process());
    if (made->core == NULL) {
        port->ops->disconnect(made);
        return RSM_ST_NO_MEMORY;
    }
    *conn = made;
    return RSM_ST_OK;
}

static bool is_of_the_fabric(enum rsm_status status)
{
    return status == RSM_ST_UNREACHABLE || status == RSM_ST_TRANSFER || status == RSM_ST_TIMEOUT ||
           status == RSM_ST_NO_ROUTE;
}

enum rsm_status rsmcore_conn_open(struct rsm_port *port, const struct rsm_offer *offer,
                                  uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    struct rsmcore_best_asked asked;
    struct rsm_offer own = *offer;
    struct rsm_port *by = rsmcore_best_choose(port, &own, &asked);
    if (by == NULL)
        return RSM_ST_PROTOCOL;
    enum rsm_status status = connect_by(by, &own, size, rights, conn);
    if (by != port && is_of_the_fabric(status))
        rsmcore_best_failed(port, by, offer->node);
    return status;
}

const struct rsm_completion_ops *rsmcore_conn_completions(const struct rsm_conn *conn)
{
    return conn->ops->completions != NULL ? conn->ops->completions : &rsmcore_completion_ops;
}

void rsmcore_conn_succeed(struct rsm_conn *conn, struct rsm_conn *former)
{
    conn->core = former->core;
    rsmcore_completions_follow(conn->core, former);
}

struct rsm_conn *rsmcore_conn_former(const struct rsm_conn *conn)
{
    return rsmcore_completions_former(conn->core);
}

void rsmcore_conn_close(struct rsm_conn *conn)
{
    struct rsmcore_completions *completions = conn->core;
    conn->ops->disconnect(conn);
    rsmcore_completions_free(completions);
}
