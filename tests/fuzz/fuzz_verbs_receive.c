/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node of the verbs transport sends to an importer: completions of receives in any number, with
 * any status, length, bytes and immediate data, while the importer asks for signals and takes them. A
 * grant and credits are taken as far as they are sound, signals one at a time and only if they were
 * asked for; on anything else the connection fails, once, and takes nothing more by it. */
#include <arpa/inet.h>

#include "check.h"
#include "fuzz.h"
#include "input.h"
#include "transport/verbs/import/import.h"

enum { STEPS_MAX = 300, QUEUE = 16, BOUNCE = 4096 };

static struct {
    struct verbs_port port;
    struct verbs_conn conn;
    struct verbs_bounce bounce;
    uint8_t memory[BOUNCE + VERBS_RECV_DEPTH * VERBS_MESSAGE_MAX];
    struct ibv_context context;
    struct ibv_cq cq;
    struct ibv_qp qp;
    struct ibv_comp_channel channel;
    struct ibv_wc arrived[QUEUE];
    unsigned count, posted; /* completions to come; receives that are posted */
    bool knocks, cannot;    /* an event of the channel; the adapter fails */
    unsigned failures;
    uint64_t acknowledged, taken;
} world;

/* ------------------------------------------------------------------ an adapter */

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    int count = 0;
    CHECK(cq == &world.cq);
    if (world.cannot)
        return -1;
    while (count < most && world.count > 0) {
        wc[count++] = world.arrived[0];
        memmove(world.arrived, world.arrived + 1, --world.count * sizeof world.arrived[0]);
    }
    return count;
}

static int post_recv(struct ibv_qp *qp, struct ibv_recv_wr *wr, struct ibv_recv_wr **bad)
{
    CHECK(qp == &world.qp && wr->num_sge == 1 && wr->sg_list->length == VERBS_MESSAGE_MAX);
    const uint8_t *at = (const uint8_t *)(uintptr_t)wr->sg_list->addr;
    CHECK(at >= world.memory + BOUNCE &&
          at + VERBS_MESSAGE_MAX <= world.memory + sizeof world.memory);
    *bad = wr;
    world.posted++;
    return 0;
}

static int notify_cq(struct ibv_cq *cq, int solicited_only)
{
    CHECK(cq == &world.cq && solicited_only != 0);
    return world.cannot;
}

int ibv_get_cq_event(struct ibv_comp_channel *channel, struct ibv_cq **cq, void **context)
{
    bool knocked = world.knocks;
    CHECK(channel == &world.channel);
    *cq = &world.cq;
    *context = NULL;
    world.knocks = false;
    return knocked ? 0 : -1;
}

void ibv_ack_cq_events(struct ibv_cq *cq, unsigned count)
{
    CHECK(cq == &world.cq && count == 1);
}

const char *ibv_wc_status_str(enum ibv_wc_status status)
{
    return "status";
}

/* ------------------------------------------------------------------ the rest of the importer */

void verbs_fail(struct verbs_conn *conn, const char *why)
{
    CHECK(why != NULL && why[0] != '\0');
    world.failures += !conn->sendq.dead;
    conn->sendq.dead = true;
}

void verbs_post_immediate(struct verbs_conn *conn, uint32_t immediate)
{
    CHECK(immediate == VERBS_SIGNALS_ARM || immediate == VERBS_SIGNALS_ACK);
    world.acknowledged += immediate == VERBS_SIGNALS_ACK;
}

int verbs_cancel_hold(void)
{
    return 0;
}

void verbs_cancel_let_go(int before)
{
}

/* ------------------------------------------------------------------ what the node does */

static void put_message(struct input *in, struct ibv_wc *wc)
{
    uint8_t *bytes = world.memory + BOUNCE +
                     (world.conn.received + world.count) % VERBS_RECV_DEPTH * VERBS_MESSAGE_MAX;
    struct verbs_message message = {.type = input_below(in, 2) ? VERBS_CREDIT : VERBS_GRANT};
    if (input_below(in, 8) == 7) {
        wc->byte_len = (uint32_t)input_bytes(in, bytes, input_u8(in));
        return;
    }
    message.count = message.type == VERBS_GRANT ? input_below(in, 4) : 0;
    message.credit = (uint32_t)input_number(in) % (VERBS_SIGNALS_AHEAD + 2);
    for (uint32_t i = 0; i < message.count; i++) {
        message.piece[i].address = input_number(in);
        message.piece[i].key = (uint32_t)input_number(in);
    }
    wc->byte_len = (uint32_t)verbs_message_encode(&message, bytes, VERBS_MESSAGE_MAX);
}

static void arrive(struct input *in)
{
    if (world.count == QUEUE || world.posted == 0) /* an adapter has nowhere to put it */
        return;
    struct ibv_wc *wc = &world.arrived[world.count];
    *wc = (struct ibv_wc){.opcode = IBV_WC_RECV};
    switch (input_below(in, 8)) {
    case 0:
        wc->wc_flags = IBV_WC_WITH_IMM;
        wc->imm_data = htonl((uint32_t)input_number(in));
        wc->byte_len = input_below(in, 8) == 7 ? (uint32_t)input_number(in) : 0;
        break;
    case 1:
        wc->wc_flags = IBV_WC_WITH_IMM;
        wc->imm_data = htonl(verbs_signals_encode(
            &(struct rsm_signals){.count = (uint32_t)input_number(in) & RSM_SIGNALS_MAX,
                                  .coalesced = input_below(in, 2)}));
        break;
    case 2:
        wc->status = (enum ibv_wc_status)input_number(in);
        break;
    case 3:
        wc->opcode = (enum ibv_wc_opcode)input_number(in);
        break;
    case 4:
        wc->byte_len = (uint32_t)input_number(in);
        break;
    default:
        put_message(in, wc);
    }
    world.count++;
    world.posted--;
    world.knocks = world.knocks || input_below(in, 2);
}

static void step(struct input *in)
{
    struct rsm_signals taken;
    struct verbs_conn *conn = &world.conn;
    enum rsm_status status;
    switch (input_below(in, 8)) {
    case 0:
        (void)verbs_poll_receives(conn);
        break;
    case 1:
        status = verbs_poll_signals(&conn->conn, &taken);
        CHECK(status == RSM_ST_OK || (taken.count == 0 && !taken.coalesced));
        CHECK(taken.count <= RSM_SIGNALS_MAX);
        world.taken += taken.count > 0 || taken.coalesced;
        break;
    case 2:
        (void)verbs_arm_signals(&conn->conn);
        break;
    case 3:
        verbs_acknowledge_signals(&conn->conn);
        break;
    case 4:
        world.cannot = input_below(in, 16) == 15;
        break;
    default:
        arrive(in);
    }
    CHECK(conn->credit <= VERBS_SIGNALS_AHEAD);
    CHECK(!(conn->signalled && !conn->signals_armed) && world.failures <= 1);
    CHECK(!(conn->signalled && conn->unacknowledged));
    CHECK(world.posted <= VERBS_RECV_DEPTH && world.acknowledged <= world.taken + 1);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    struct verbs_conn *conn = &world.conn;
    memset(&world, 0, sizeof world);
    world.context.ops.poll_cq = poll_cq;
    world.context.ops.post_recv = post_recv;
    world.context.ops.req_notify_cq = notify_cq;
    world.cq.context = world.qp.context = &world.context;
    world.bounce.bytes = world.memory;
    world.port.options.bounce = BOUNCE;
    conn->port = &world.port;
    conn->recv_channel = &world.channel;
    conn->recv_cq = &world.cq;
    conn->qp = &world.qp;
    conn->bounce = &world.bounce;
    conn->can_signal = input_below(&in, 4) != 3;
    conn->count = 1 + input_below(&in, 3);
    pthread_mutex_init(&conn->lock, NULL);
    for (unsigned i = 0; i < VERBS_RECV_DEPTH; i++)
        CHECK(verbs_receive_post(conn, i));
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    pthread_mutex_destroy(&conn->lock);
}
