/* SPDX-License-Identifier: BSD-3-Clause */
/* How a connection becomes a link: both daemons greet, prove who they are, and confirm. */
#include "cluster/internal.h"

#include <stdio.h>

/* ------------------------------------------------------------------ credentials */

static struct rsmd_auth_claim own_claim(const struct rsmd_tcp *conn)
{
    return (struct rsmd_auth_claim){&conn->mine, &conn->theirs, &conn->here, &conn->there};
}

static struct rsmd_auth_claim their_claim(const struct rsmd_tcp *conn)
{
    return (struct rsmd_auth_claim){&conn->theirs, &conn->mine, &conn->there, &conn->here};
}

static void on_proof_made(void *context, const char *why, bool ours,
                          const struct rsm_cluster_proof *proof)
{
    (void)ours;
    struct rsmd_tcp *conn = context;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_PROOF};
    conn->job = NULL;
    if (why != NULL) {
        rsmd_tcp_refuse(conn, RSM_ST_NO_RESOURCES, why);
        return;
    }
    msg.u.proof = *proof;
    if (!rsmd_tcp_send(conn, &msg))
        return;
    rsmd_tcp_enter(conn, conn->caller ? RSMD_PHASE_PROOF : RSMD_PHASE_CONFIRM);
    rsmd_stream_resume(conn->stream);
}

static void make_proof(struct rsmd_tcp *conn)
{
    struct rsmd_auth_claim claim = own_claim(conn);
    rsmd_tcp_enter(conn, RSMD_PHASE_MAKING);
    conn->job = rsmd_auth_prove(conn->cluster->auth, &claim, on_proof_made, conn);
    if (conn->job != NULL)
        rsmd_stream_pause(conn->stream);
}

/* ------------------------------------------------------------------ the caller's address */

static void on_looked_up(void *context, const struct rsmd_addresses *found, const char *why)
{
    struct rsmd_tcp *conn = context;
    const struct rsmd_self *self = &conn->cluster->self;
    const char *name = rsmd_conf_node(self->conf, conn->theirs.from)->address;
    unsigned own = self->node, theirs = conn->theirs.from;
    char text[RSM_CLUSTER_TEXT_MAX], known[80];
    conn->resolution = NULL;
    if (why != NULL) {
        snprintf(text, sizeof text, "node %u cannot look up %.80s, the address of node %u: %.80s",
                 own, name, theirs, why);
        rsmd_tcp_refuse(conn, RSM_ST_NO_RESOURCES, text);
    } else if (!rsmd_addresses_have(found, &conn->there)) {
        rsmd_addresses_text(found, known, sizeof known);
        snprintf(text, sizeof text,
                 "node %u calls from %.46s, but node %u has %.46s (%s) as its address", theirs,
                 conn->there_text, own, name, known);
        rsmd_tcp_refuse(conn, RSM_ST_DENIED, text);
    } else {
        make_proof(conn);
    }
}

/* Check the caller's address. A credential proves the realm and the user, and the address the host:
 * by credentials alone, root of any host could be every node. A certificate proves the node itself.
 * Nodes without authentication are all on this machine, where every user has all addresses. */
static void check_address(struct rsmd_tcp *conn)
{
    const struct rsmd_conf *conf = conn->cluster->self.conf;
    if (conf->auth != RSMD_AUTH_MUNGE) {
        make_proof(conn);
        return;
    }
    rsmd_tcp_enter(conn, RSMD_PHASE_LOOKING_UP);
    conn->resolution =
        rsmd_resolve(conn->cluster, rsmd_conf_node(conf, conn->theirs.from), on_looked_up, conn);
}

static void on_proof_checked(void *context, const char *why, bool ours,
                             const struct rsm_cluster_proof *proof)
{
    (void)proof;
    struct rsmd_tcp *conn = context;
    conn->job = NULL;
    if (why != NULL) {
        rsmd_tcp_refuse(conn, ours ? RSM_ST_NO_RESOURCES : RSM_ST_DENIED, why);
    } else if (!conn->caller) {
        conn->proved = true;
        check_address(conn);
    } else if (rsmd_tcp_ping(conn)) {
        rsmd_tcp_enter(conn, RSMD_PHASE_CONFIRM);
        rsmd_stream_resume(conn->stream);
    }
}

void rsmd_tcp_take_proof(struct rsmd_tcp *conn, const struct rsm_cluster_proof *proof)
{
    struct rsmd_auth_claim claim = their_claim(conn);
    rsmd_tcp_enter(conn, RSMD_PHASE_CHECKING);
    conn->job = rsmd_auth_check(conn->cluster->auth, &claim, proof, on_proof_checked, conn);
    if (conn->job != NULL)
        rsmd_stream_pause(conn->stream);
}

/* ------------------------------------------------------------------ greeting */

bool rsmd_tcp_send_hello(struct rsmd_tcp *conn, uint32_t to)
{
    struct rsm_cluster_msg msg;
    rsm_cluster_msg_begin(&msg, RSM_CLUSTER_HELLO);
    if (!rsmd_hello_make(&conn->cluster->self, to, &conn->mine)) {
        rsmd_tcp_end(conn, "there are no random numbers");
        return false;
    }
    msg.u.hello = conn->mine;
    return rsmd_tcp_send(conn, &msg);
}

void rsmd_tcp_take_hello(struct rsmd_tcp *conn, const struct rsm_cluster_hello *hello)
{
    char why[RSM_CLUSTER_TEXT_MAX];
    uint32_t called = conn->caller ? conn->link->node->id : 0;
    enum rsm_status status =
        rsmd_hello_judge(&conn->cluster->self, called, hello, &conn->version, why);
    if (conn->tls_node != 0 && hello->from != conn->tls_node && status == RSM_ST_OK) {
        snprintf(why, sizeof why, "node %u shows the certificate of node %u", (unsigned)hello->from,
                 (unsigned)conn->tls_node);
        status = RSM_ST_DENIED;
    }
    conn->theirs = *hello;
    if (conn->tls_node != 0)
        conn->theirs.from = conn->tls_node; /* whichever node it claims to be */
    /* Sent before a refusal, too: it identifies this end to the peer. */
    if (!conn->caller && !rsmd_tcp_send_hello(conn, hello->from))
        return;
    if (status != RSM_ST_OK)
        rsmd_tcp_refuse(conn, status, why);
    else if (conn->caller)
        make_proof(conn);
    else
        rsmd_tcp_enter(conn, RSMD_PHASE_PROOF);
}

/* The last step: see internal.h. */
void rsmd_tcp_take_confirmation(struct rsmd_tcp *conn, const struct rsm_cluster_msg *msg)
{
    uint32_t awaited = conn->caller ? RSM_CLUSTER_PONG : RSM_CLUSTER_PING;
    if (msg->type != awaited || (conn->caller && msg->u.pong.number != conn->ping)) {
        rsmd_tcp_out_of_turn(conn);
        return;
    }
    if (!conn->caller) {
        conn->last_ping = msg->u.ping.number;
        conn->link = rsmd_link_to(conn->cluster, conn->theirs.from);
        rsmd_listener_release(conn);
    } else {
        conn->answered = conn->ping;
    }
    rsmd_link_adopt(conn->link, conn);
}
