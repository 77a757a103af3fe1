/* SPDX-License-Identifier: BSD-3-Clause */
/* What importers of other hosts do to the node half of the verbs transport by the connection manager and the
 * adapter: requests with any private data, for offers that there are, have ended or never were; events in
 * any order; completions of any kind; while rsmd revokes offers and its threads prepare them. No id of the
 * connection manager is used after its end, none is left, and nothing of the device. */
#include "check.h"
#include "fuzz.h"
#include "input.h"
#include "fake_device.h"

enum {
    STEPS_MAX = 200,
    OFFERS = 6,
    IDS = 512,
    FLOOD = 100,
    JOBS = 64,
    PAGE = 4096,
    COMPLETIONS = 8
};

static struct {
    struct input *in;
    struct verbs_node_port *port;
    struct verbs_extent extent;
    struct rdma_cm_id *ids[IDS];
    unsigned id_count;
    struct verbs_node_offer *offers[OFFERS];
    uint8_t last_token[VERBS_TOKEN_BYTES]; /* of an offer that has ended, or 0 */
    struct rsm_node_job *jobs[JOBS];
    bool ran[JOBS];
    unsigned job_count;
    bool revokes; /* rsmd revokes what is lost at once */
} world;

/* ------------------------------------------------------------------ the device */

static bool on_call(enum fake_call call)
{
    return call != FAKE_REGISTER && world.in != NULL && input_below(world.in, 64) == 63;
}

static int post_send(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    CHECK(qp != NULL);
    *bad = wr;
    return 0;
}

static int poll_cq(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    unsigned count = world.in != NULL ? input_below(world.in, COMPLETIONS + 1) : 0;
    CHECK(cq != NULL && most >= COMPLETIONS);
    for (unsigned i = 0; i < count; i++) {
        wc[i] = (struct ibv_wc){.wr_id = input_below(world.in, 4)};
        wc[i].status = input_below(world.in, 16) == 15 ? IBV_WC_WR_FLUSH_ERR : IBV_WC_SUCCESS;
        wc[i].opcode = input_below(world.in, 4) == 3   ? (enum ibv_wc_opcode)input_u8(world.in)
                       : input_below(world.in, 2) == 1 ? IBV_WC_SEND
                                                       : IBV_WC_RECV_RDMA_WITH_IMM;
        wc[i].imm_data = htonl((uint32_t)input_number(world.in));
    }
    return (int)count;
}

/* ------------------------------------------------------------------ the connection manager */

static unsigned place_of(const struct rdma_cm_id *id)
{
    unsigned i = 0;
    while (i < world.id_count && world.ids[i] != id)
        i++;
    CHECK(i < world.id_count);
    return i;
}

static void on_use(const struct rdma_cm_id *id)
{
    (void)place_of(id);
}

static void on_id_end(struct rdma_cm_id *id)
{
    unsigned i = place_of(id);
    world.ids[i] = world.ids[--world.id_count];
    free(id);
}

static void on_event_end(struct rdma_cm_event *event)
{
    free((void *)(uintptr_t)event->param.conn.private_data);
    free(event);
}

/* ------------------------------------------------------------------ rsmd */

static void revoke_offer(unsigned i)
{
    memcpy(world.last_token, world.offers[i]->token, sizeof world.last_token);
    verbs_offer_revoke(world.port, world.offers[i]);
    world.offers[i] = NULL;
}

static enum rsm_status on_submit(void *context, struct rsm_node_offer *made,
                                 struct rsm_node_job *job)
{
    (void)context, (void)made;
    unsigned choice = input_below(world.in, 16);
    if (world.job_count == JOBS || choice == 15)
        return RSM_ST_NO_MEMORY;
    if (choice == 14)
        return RSM_ST_UNSUPPORTED;
    world.ran[world.job_count] = false;
    world.jobs[world.job_count++] = job;
    return RSM_ST_OK;
}

static unsigned offer_place(const struct rsm_node_offer *made)
{
    unsigned i = 0;
    while (i < OFFERS && (world.offers[i] == NULL || &world.offers[i]->base != made))
        i++;
    CHECK(i < OFFERS); /* rsmd has it */
    return i;
}

static void on_lost(void *context, struct rsm_node_offer *made)
{
    unsigned i = offer_place(made);
    if (world.revokes)
        revoke_offer(i);
}

static void on_signalled(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced)
{
    (void)context, (void)coalesced;
    unsigned i = offer_place(made);
    CHECK(count > 0);
    if (world.revokes && input_below(world.in, 8) == 7)
        revoke_offer(i);
}

static void on_taken(void *context, struct rsm_node_offer *made)
{
    (void)offer_place(made);
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls,
                                                .signalled = on_signalled,
                                                .lost = on_lost,
                                                .submit = on_submit,
                                                .taken = on_taken};

static void run_job(unsigned i)
{
    if (!world.ran[i])
        world.jobs[i]->run(world.jobs[i]);
    world.ran[i] = true;
}

static void end_job(unsigned i)
{
    struct rsm_node_job *job = world.jobs[i];
    run_job(i);
    world.job_count--;
    world.jobs[i] = world.jobs[world.job_count];
    world.ran[i] = world.ran[world.job_count];
    job->done(job, &upcalls, NULL);
}

/* ------------------------------------------------------------------ what importers do */

static void dispatch(void)
{
    int64_t begin = fuzz_step_begin();
    verbs_dispatch(&world.port->base, &upcalls, NULL);
    fuzz_step_end(begin, "an event of the adapter");
}

static void tell(struct rdma_cm_id *id, enum rdma_cm_event_type type, const void *bytes,
                 size_t length)
{
    struct rdma_cm_event *event = calloc(1, sizeof *event);
    void *copy = malloc(length + (length == 0)); /* of that size, for the sanitizer */
    CHECK(event != NULL && copy != NULL);
    memcpy(copy, bytes, length);
    *event = (struct rdma_cm_event){
        .id = id,
        .event = type,
        .param.conn = {.private_data = copy, .private_data_len = (uint8_t)length}};
    fake_device.event = event;
    dispatch();
    CHECK(fake_device.event == NULL);
}

static void request(struct input *in)
{
    uint8_t bytes[256] = {0};
    struct verbs_hello hello = {.mtu = (uint16_t)input_number(in)};
    size_t length = VERBS_HELLO_BYTES;
    const struct verbs_node_offer *offer = world.offers[input_below(in, OFFERS)];
    struct rdma_cm_id *id = calloc(1, sizeof *id);
    CHECK(id != NULL);
    if (world.id_count == IDS) {
        free(id);
        return;
    }
    id->verbs = &fake_device.context;
    world.ids[world.id_count++] = id;
    memcpy(hello.token, offer != NULL ? offer->token : world.last_token, sizeof hello.token);
    verbs_hello_encode(&hello, bytes);
    switch (input_below(in, 8)) {
    case 6:
        length = input_u8(in);
        break;
    case 7:
        length = input_bytes(in, bytes, input_u8(in));
        break;
    default:
        break;
    }
    tell(id, RDMA_CM_EVENT_CONNECT_REQUEST, bytes, length);
}

static void any_event(struct input *in)
{
    unsigned type = input_below(in, RDMA_CM_EVENT_TIMEWAIT_EXIT + 2);
    uint8_t bytes[8] = {0};
    if (world.id_count == 0 || type == RDMA_CM_EVENT_CONNECT_REQUEST)
        return;
    if (input_below(in, 2) == 1)
        type = RDMA_CM_EVENT_ESTABLISHED;
    tell(world.ids[input_u8(in) % world.id_count], (enum rdma_cm_event_type)type, bytes,
         input_below(in, sizeof bytes));
}

static void complete(struct input *in)
{
    const struct verbs_node_offer *offer = world.offers[input_below(in, OFFERS)];
    if (offer == NULL || offer->preparing || offer->cq == NULL)
        return;
    fake_device.knocked = offer->cq;
    dispatch();
}

static void device_event(struct input *in)
{
    const struct verbs_node_offer *offer = world.offers[input_below(in, OFFERS)];
    struct ibv_async_event event = {.event_type = (enum ibv_event_type)input_below(in, 20)};
    event.element.qp = offer != NULL && !offer->preparing ? offer->qp : NULL;
    if (event.element.qp == NULL ||
        event.event_type == IBV_EVENT_PORT_ACTIVE) /* which asks the kernel */
        return;
    fake_device.device_event = &event;
    dispatch();
}

static void make_offer(struct input *in)
{
    struct rsm_extent_piece piece = {.extent = &world.extent.base, .length = PAGE};
    struct rsm_importer importer = {.node = 2};
    struct rsm_offer bytes;
    struct rsm_node_offer *made;
    unsigned i = input_below(in, OFFERS);
    if (world.offers[i] == NULL &&
        verbs_offer_make(&world.port->base, &piece, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE, &importer,
                         &bytes, &made) == RSM_ST_OK)
        world.offers[i] = verbs_node_offer_of(made);
}

static void step(struct input *in)
{
    unsigned i = input_below(in, OFFERS);
    switch (input_below(in, 16)) {
    case 0:
    case 1:
        make_offer(in);
        break;
    case 2:
    case 3:
    case 4:
        request(in);
        break;
    case 5:
        if (world.offers[i] != NULL)
            revoke_offer(i);
        break;
    case 6:
        if (world.job_count > 0)
            run_job(i % world.job_count);
        break;
    case 7:
    case 8:
        if (world.job_count > 0)
            end_job(i % world.job_count);
        break;
    case 9:
    case 10:
        complete(in);
        break;
    case 11:
        device_event(in);
        break;
    case 12:
        for (unsigned n = 0; n < FLOOD && !input_ends(in); n++)
            request(in);
        break;
    default:
        any_event(in);
    }
}

static void begin(void)
{
    struct verbs_node_port *port = calloc(1, sizeof *port);
    CHECK(port != NULL);
    memset(&world, 0, sizeof world);
    fake_device = (struct fake_device){
        .fails = on_call, .is_used = on_use, .id_ends = on_id_end, .event_ends = on_event_end};
    fake_device.context.ops.post_send = post_send;
    fake_device.context.ops.poll_cq = poll_cq;
    world.port = port;
    fake_port_begin(port, &world.extent, PAGE);
}

/* Nothing is left, whatever happened. */
static void end(void)
{
    world.in = NULL;
    for (unsigned i = 0; i < OFFERS; i++)
        if (world.offers[i] != NULL)
            revoke_offer(i);
    while (world.job_count > 0)
        end_job(0);
    verbs_deferred_disconnects_end(world.port);
    verbs_send_buffers_end(world.port);
    CHECK(world.id_count == 0 && fake_device.made == 0);
    CHECK(world.port->offers == NULL && world.port->unreported == 0);
    free(world.extent.bytes);
    free(world.port);
}

void fuzz_input(const uint8_t *data, size_t size)
{
    struct input in = {.at = data, .left = size};
    begin();
    world.in = &in;
    world.revokes = input_below(&in, 2);
    for (unsigned steps = 0; !input_ends(&in) && steps < STEPS_MAX; steps++)
        step(&in);
    end();
}
