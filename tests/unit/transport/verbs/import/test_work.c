/* SPDX-License-Identifier: BSD-3-Clause */
/* Works of the import half: transfers whose end is reported. The device is this file's: it carries
 * out and completes as many work requests as a test lets it, in their order. */
#include "cases.h"
#include "transport/verbs/import/import.h"

enum { SIZE = 4 << 20, UNIT = 64 * 1024, LONG = 16 * 1024, LONG_MS = 20000 };

/* ------------------------------------------------------------------ the device */

static struct {
    struct {
        enum ibv_wr_opcode opcode;
        uint8_t *local, *remote;
        uint32_t length;
        uint64_t id;
    } request[VERBS_SEND_DEPTH + VERBS_ACK_DEPTH];
    unsigned first, count, deepest;
    unsigned allowed; /* requests that may complete */
    int registrations, refusals;
    bool fails; /* what is under way */
} fabric;

#undef ibv_reg_mr

struct ibv_mr *ibv_reg_mr(struct ibv_pd *pd, void *address, size_t length, int access)
{
    if (fabric.refusals > 0 && fabric.refusals--) {
        errno = ENOMEM;
        return NULL;
    }
    struct ibv_mr *mr = calloc(1, sizeof *mr);
    assert_non_null(mr);
    *mr = (struct ibv_mr){.pd = pd, .addr = address, .length = length};
    fabric.registrations++;
    return mr;
}

struct ibv_mr *ibv_reg_mr_iova2(struct ibv_pd *pd, void *address, size_t length, uint64_t iova,
                                unsigned int access)
{
    return ibv_reg_mr(pd, address, length, (int)access);
}

int ibv_dereg_mr(struct ibv_mr *mr)
{
    fabric.registrations--;
    free(mr);
    return 0;
}

int ibv_modify_qp(struct ibv_qp *qp, struct ibv_qp_attr *attr, int mask)
{
    (void)qp, (void)attr, (void)mask;
    return 0;
}

static int post(struct ibv_qp *qp, struct ibv_send_wr *wr, struct ibv_send_wr **bad)
{
    (void)qp, (void)bad;
    for (; wr != NULL; wr = wr->next) {
        unsigned at = (fabric.first + fabric.count) % (VERBS_SEND_DEPTH + VERBS_ACK_DEPTH);
        assert_true(fabric.count < VERBS_SEND_DEPTH);
        fabric.request[at].opcode = wr->opcode;
        fabric.request[at].local = (uint8_t *)(uintptr_t)wr->sg_list->addr;
        fabric.request[at].remote = (uint8_t *)(uintptr_t)wr->wr.rdma.remote_addr;
        fabric.request[at].length = wr->sg_list->length;
        fabric.request[at].id = wr->wr_id;
        /* What is inline is read now. */
        if ((wr->send_flags & IBV_SEND_INLINE) != 0) {
            memcpy(fabric.request[at].remote, fabric.request[at].local, wr->sg_list->length);
            fabric.request[at].length = 0;
        }
        if (++fabric.count > fabric.deepest)
            fabric.deepest = fabric.count;
    }
    return 0;
}

static int poll_queue(struct ibv_cq *cq, int most, struct ibv_wc *wc)
{
    int taken = 0;
    for (; taken < most && fabric.count > 0 && (fabric.allowed > 0 || fabric.fails); taken++) {
        unsigned at = fabric.first;
        wc[taken] = (struct ibv_wc){.wr_id = fabric.request[at].id,
                                    .status = fabric.fails ? IBV_WC_RETRY_EXC_ERR : IBV_WC_SUCCESS};
        if (!fabric.fails && fabric.request[at].opcode == IBV_WR_RDMA_READ)
            memcpy(fabric.request[at].local, fabric.request[at].remote, fabric.request[at].length);
        else if (!fabric.fails)
            memcpy(fabric.request[at].remote, fabric.request[at].local, fabric.request[at].length);
        fabric.first = (at + 1) % (VERBS_SEND_DEPTH + VERBS_ACK_DEPTH);
        fabric.count--;
        fabric.allowed -= !fabric.fails;
    }
    return taken;
}

static int notify(struct ibv_cq *cq, int solicited)
{
    (void)cq, (void)solicited;
    return 0;
}

/* ------------------------------------------------------------------ a connection */

static struct ibv_context context = {
    .ops = {.poll_cq = poll_queue, .post_send = post, .req_notify_cq = notify}};
static struct ibv_pd pd = {.context = &context};
static struct ibv_cq cq = {.context = &context};
static struct ibv_qp qp = {.context = &context};
static struct ibv_comp_channel send_channel = {.fd = -1};
static struct rdma_event_channel events = {.fd = -1};
static struct verbs_port port;
static struct verbs_conn conn;
static uint8_t *segment, *memory;

static int set_up(void **state)
{
    memset(&fabric, 0, sizeof fabric);
    segment = calloc(1, SIZE);
    memory = malloc(SIZE);
    if (segment == NULL || memory == NULL)
        return -1;
    for (size_t i = 0; i < SIZE; i++)
        memory[i] = (uint8_t)(i * 7 + i / 256);
    port = (struct verbs_port){.pd = &pd, .register_from = LONG};
    port.options.timeout_ms = LONG_MS;
    conn = (struct verbs_conn){.port = &port,
                               .cq = &cq,
                               .qp = &qp,
                               .send_channel = &send_channel,
                               .events = &events,
                               .inline_bytes = 64,
                               .max_message = UNIT,
                               .count = 2,
                               .lock = PTHREAD_MUTEX_INITIALIZER};
    /* Two pieces, which meet amid a unit. */
    conn.piece[0].end = SIZE / 2 + 100;
    conn.piece[0].address = (uintptr_t)segment;
    conn.piece[1].end = SIZE;
    conn.piece[1].address = (uintptr_t)segment + SIZE / 2 + 100;
    pthread_condattr_t attr;
    pthread_condattr_init(&attr);
    pthread_condattr_setclock(&attr, CLOCK_MONOTONIC);
    pthread_cond_init(&conn.progress, &attr);
    pthread_condattr_destroy(&attr);
    return 0;
}

static int tear_down(void **state)
{
    verbs_works_end(&conn);
    assert_int_equal(fabric.registrations, 0);
    pthread_cond_destroy(&conn.progress);
    free(segment);
    free(memory);
    return 0;
}

static enum rsm_status submit(uint64_t cookie, bool read, size_t offset, size_t length)
{
    const struct rsm_work work = {
        .cookie = cookie, .read = read, .transfer = {memory + offset, offset, length}};
    return verbs_completion_ops.submit(&conn.conn, &work);
}

static unsigned take(struct rsm_completion *taken, unsigned most)
{
    return verbs_completion_ops.poll(&conn.conn, taken, most);
}

static enum rsm_status wait_ms(int timeout_ms)
{
    return verbs_completion_ops.wait(&conn.conn, timeout_ms);
}

/* ------------------------------------------------------------------ tests */

#define TEST(test) TEST_BETWEEN(test, set_up, tear_down)

TEST(a_work_ends_when_its_last_request_has)
{
    struct rsm_completion done[2];
    assert_int_equal(wait_ms(-1), RSM_ST_NOT_FOUND);
    assert_int_equal(submit(5, false, 0, 3 * UNIT + 1), RSM_ST_OK);
    assert_int_equal(fabric.count, 4);
    fabric.allowed = 3;
    assert_int_equal(take(done, 2), 0);
    assert_int_equal(wait_ms(1), RSM_ST_TIMEOUT);
    assert_int_equal(fabric.registrations, 1);
    fabric.allowed = 1;
    assert_int_equal(wait_ms(-1), RSM_ST_OK);
    assert_int_equal(take(done, 2), 1);
    assert_int_equal(done[0].cookie, 5);
    assert_int_equal(done[0].status, RSM_ST_OK);
    assert_int_equal(fabric.registrations, 0);
    assert_memory_equal(segment, memory, 3 * UNIT + 1);
    assert_int_equal(segment[3 * UNIT + 1], 0);
    assert_int_equal(take(done, 2), 0);
}

TEST(a_work_may_cross_pieces_and_go_either_way)
{
    struct rsm_completion done[2];
    fabric.allowed = ~0u;
    assert_int_equal(submit(1, false, 0, SIZE), RSM_ST_OK);
    assert_int_equal(wait_ms(-1), RSM_ST_OK);
    assert_int_equal(take(done, 2), 1);
    assert_memory_equal(segment, memory, SIZE);
    memset(memory, 0, SIZE);
    assert_int_equal(submit(2, true, 0, SIZE), RSM_ST_OK);
    assert_int_equal(wait_ms(-1), RSM_ST_OK);
    assert_int_equal(take(done, 2), 1);
    assert_int_equal(done[0].cookie, 2);
    assert_memory_equal(segment, memory, SIZE);
}

TEST(no_more_is_posted_than_there_is_room_for)
{
    struct rsm_completion done[RSM_WORK_MAX];
    unsigned ended = 0;
    for (uint64_t i = 0; i < RSM_WORK_MAX; i++)
        assert_int_equal(submit(i, i % 2 != 0, 0, 16 * UNIT), RSM_ST_OK);
    assert_int_equal(submit(999, false, 0, LONG), RSM_ST_BUSY);
    assert_int_equal(submit(999, false, 0, 8), RSM_ST_BUSY);
    assert_true(fabric.count > 0 && fabric.count < VERBS_SEND_DEPTH);
    fabric.allowed = ~0u;
    while (ended < RSM_WORK_MAX) {
        assert_int_equal(wait_ms(-1), RSM_ST_OK);
        unsigned count = take(done + ended, RSM_WORK_MAX - ended);
        assert_true(count > 0);
        ended += count;
    }
    for (unsigned i = 0; i < RSM_WORK_MAX; i++) {
        assert_int_equal(done[i].cookie, i);
        assert_int_equal(done[i].status, RSM_ST_OK);
    }
    assert_true(fabric.deepest <= VERBS_SEND_DEPTH);
    assert_int_equal(wait_ms(0), RSM_ST_NOT_FOUND);
}

TEST(a_lost_connection_ends_all_works)
{
    struct rsm_completion done[4];
    assert_int_equal(submit(1, false, 0, UNIT), RSM_ST_OK);
    assert_int_equal(submit(2, false, 0, 300 * UNIT > SIZE ? SIZE : 300 * UNIT), RSM_ST_OK);
    fabric.allowed = 1;
    assert_int_equal(take(done, 4), 1);
    assert_int_equal(done[0].status, RSM_ST_OK);
    fabric.fails = true;
    assert_int_equal(wait_ms(-1), RSM_ST_OK);
    assert_int_equal(take(done, 4), 1);
    assert_int_equal(done[0].cookie, 2);
    assert_int_equal(done[0].status, RSM_ST_TRANSFER);
    assert_int_equal(submit(3, false, 0, UNIT), RSM_ST_OK);
    assert_int_equal(submit(4, false, 0, 8), RSM_ST_OK);
    assert_int_equal(take(done, 4), 2);
    assert_int_equal(done[0].status, RSM_ST_TRANSFER);
    assert_int_equal(done[1].status, RSM_ST_TRANSFER);
    assert_int_equal(rsm_conn_failures(&conn.conn), 1); /* the end of the connection, once */
}

TEST(short_ones_are_put)
{
    struct rsm_completion done[2];
    assert_int_equal(submit(7, false, 10, 8), RSM_ST_OK);
    assert_int_equal(fabric.registrations, 0);
    assert_int_equal(take(done, 2), 0); /* nobody has acknowledged it */
    fabric.allowed = 1;
    assert_int_equal(wait_ms(-1), RSM_ST_OK);
    assert_int_equal(take(done, 2), 1);
    assert_int_equal(done[0].status, RSM_ST_OK);
    assert_memory_equal(segment + 10, memory + 10, 8);
}
