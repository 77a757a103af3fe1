/* SPDX-License-Identifier: BSD-3-Clause */
/* verbs, import half: the port of one controller in one process, and what is neither connecting nor
 * moving data. */
#include "transport/verbs/import/import.h"

#include <arpa/inet.h>
#include <errno.h>
#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/cancel.h"
#include "transport/verbs/common/fd_guard.h"
#include "transport/entry.h"

enum { SPIN_US = 50 /* several times what a fast fabric needs for an answer */ };

bool verbs_may_allocate(void)
{
    sigset_t blocked;
    return pthread_sigmask(SIG_BLOCK, NULL, &blocked) == 0 && !sigismember(&blocked, SIGSEGV);
}

int verbs_cancel_hold(void)
{
    return rsm_cancel_disable();
}

void verbs_cancel_let_go(int before)
{
    rsm_cancel_enable(before);
}

static void choose_spin(struct verbs_port *port)
{
    port->spin_adapts = false;
    if (port->options.spin_us != VERBS_SPIN_AUTO) {
        port->spin_us = (uint32_t)port->options.spin_us;
        return;
    }
    /* With one processor polling only keeps others from working. */
    port->spin_adapts = sysconf(_SC_NPROCESSORS_ONLN) > 1;
    port->spin_us = port->spin_adapts ? SPIN_US : 0;
}

/* What is behind an open device. */
static bool furnish(struct verbs_port *port)
{
    port->pd = ibv_alloc_pd(port->device.context);
    if (port->pd == NULL) {
        verbs_explain(&port->device, "cannot make a protection domain", errno);
        return false;
    }
    if (verbs_local_open(port))
        return true;
    verbs_local_close(port);
    ibv_dealloc_pd(port->pd);
    return false;
}

static enum rsm_status import_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    struct verbs_port *made = calloc(1, sizeof *made);
    if (made == NULL)
        return RSM_ST_NO_MEMORY;
    made->base.caps = RSM_CAP_REMOTE_SIGNAL | RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE;
    enum rsm_status status = verbs_device_open_for(info, &made->options, &made->device);
    if (status != RSM_ST_OK) {
        free(made);
        return status;
    }
    made->register_from =
        verbs_register_threshold(&made->options, ibv_is_fork_initialized() == IBV_FORK_UNNEEDED);
    choose_spin(made);
    made->path = verbs_path_of(&made->options, &made->device, 0); /* no peer accesses memory here */
    if (!furnish(made)) {
        verbs_device_close(&made->device);
        free(made);
        return RSM_ST_NO_RESOURCES;
    }
    *port = &made->base;
    return RSM_ST_OK;
}

static enum rsm_status import_open_guarded(const struct rsm_controller_info *info,
                                           struct rsm_port **port)
{
    verbs_fd_guard_begin();
    enum rsm_status status = import_open(info, port);
    verbs_fd_guard_end();
    return status;
}

static enum rsm_status import_connect_guarded(struct rsm_port *port, const struct rsm_offer *offer,
                                              uint64_t size, uint32_t rights,
                                              struct rsm_conn **conn)
{
    verbs_fd_guard_begin();
    enum rsm_status status = verbs_connect(verbs_port_of(port), offer, size, rights, conn);
    verbs_fd_guard_end();
    return status;
}

static void import_close(struct rsm_port *base)
{
    struct verbs_port *port = verbs_port_of(base);
    verbs_local_close(port);
    ibv_dealloc_pd(port->pd);
    verbs_device_close(&port->device);
    free(port);
}

/* A reliable connection places writes in the order in which they were posted, and a get waits for
 * its own reads: nothing is left to do. */
static enum rsm_status import_order(struct rsm_conn *conn)
{
    return atomic_load(&verbs_of(conn)->failed) ? RSM_ST_TRANSFER : RSM_ST_OK;
}

static enum rsm_status import_complete(struct rsm_conn *conn)
{
    struct verbs_conn *verbs = verbs_of(conn);
    int cancel = verbs_cancel_hold();
    pthread_mutex_lock(&verbs->lock);
    verbs_wait_for(verbs, verbs->sendq.posted);
    pthread_mutex_unlock(&verbs->lock);
    verbs_cancel_let_go(cancel);
    return RSM_ST_OK;
}

static bool has_credit(const struct verbs_conn *conn, uint64_t unused)
{
    (void)unused;
    return conn->credit > 0;
}

/* A write of nothing whose immediate data is the signal: it arrives behind the data. The node gives
 * credit for signals it has taken, so that a flood of them waits here and fails nowhere. */
static enum rsm_status import_signal(struct rsm_conn *conn, bool coalesce)
{
    struct verbs_conn *verbs = verbs_of(conn);
    struct verbs_wr_list chain;
    chain.count = 1;
    chain.wr[0] = (struct ibv_send_wr){.opcode = IBV_WR_RDMA_WRITE_WITH_IMM,
                                       .imm_data = htonl(verbs_signal_encode(coalesce))};
    int cancel = verbs_cancel_hold();
    pthread_mutex_lock(&verbs->lock);
    enum rsm_status status = RSM_ST_OK;
    if (!has_credit(verbs, 0) &&
        !verbs_wait(verbs, (struct verbs_wait){.over = has_credit, .receive = true})) {
        status = verbs->sendq.dead ? RSM_ST_TRANSFER : RSM_ST_TIMEOUT;
    } else {
        verbs->credit--;
        status = verbs_post(verbs, &chain) != 0 ? RSM_ST_OK : RSM_ST_TRANSFER;
    }
    verbs_poll(verbs);
    pthread_mutex_unlock(&verbs->lock);
    verbs_cancel_let_go(cancel);
    return status;
}

static enum rsm_status import_health(struct rsm_conn *conn)
{
    const struct verbs_conn *verbs = verbs_of(conn);
    return atomic_load_explicit(&verbs->failed, memory_order_relaxed) ? RSM_ST_UNREACHABLE
                                                                      : RSM_ST_OK;
}

static const struct rsm_signal_ops signal_ops = {
    .size = sizeof(struct rsm_signal_ops),
    .post = import_signal,
    .fd = verbs_signal_fd,
    .arm = verbs_arm_signals,
    .poll = verbs_poll_signals,
    .acknowledge = verbs_acknowledge_signals,
};

MODULE_SYMBOL const struct rsm_import_ops rsm_transport_import_ops_v1 = {
    RSM_IMPORT_OPS_HEAD,
    .name = "verbs",
    .open = import_open_guarded,
    .close = import_close,
    .connect = import_connect_guarded,
    .disconnect = verbs_disconnect,
    .put = verbs_put,
    .get = verbs_get,
    .put_elems = verbs_put_elems,
    .get_elems = verbs_get_elems,
    .putv = verbs_putv,
    .getv = verbs_getv,
    .order = import_order,
    .complete = import_complete,
    .health = import_health,
    .register_memory = verbs_register_memory,
    .unregister_memory = verbs_unregister_memory,
    .signals = &signal_ops,
    .completions = &verbs_completion_ops,
};
