/* SPDX-License-Identifier: BSD-3-Clause */
#include "pair.h"

#include <arpa/inet.h>
#include <sys/prctl.h>

#include "cases.h"
#include "base/packet.h"
#include "transport/generic.h"
#include "transport/verbs/node/node.h"

#define NODE_WORD "--node"

enum { EXTENTS_MAX = 256, OFFERS_MAX = 4096, PIECES_MAX = RSM_OFFER_MAX_FDS };

enum order_kind {
    ORDER_MAKE,
    ORDER_FREE,
    ORDER_OFFER,
    ORDER_REVOKE,
    ORDER_REPORT,
    ORDER_SETTLE,
    ORDER_PAUSE,
    ORDER_SIGNAL,
    ORDER_LIE,
};

struct order {
    enum order_kind kind;
    uint32_t index;
    uint32_t rights;
    uint64_t length;
    uint32_t count;
    bool coalesced;
    struct {
        uint32_t extent;
        uint64_t offset;
        uint64_t length;
    } piece[PIECES_MAX];
};

struct answer {
    enum rsm_status status;
    uint32_t index;
    uint32_t blob_len;
    uint8_t blob[RSM_OFFER_MAX_BLOB];
    struct node_report report;
};

int64_t clock_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* ------------------------------------------------------------------ node process */

struct node {
    const struct rsm_node_ops *ops;
    struct rsm_node_port *port;
    struct rsm_extent *extents[EXTENTS_MAX];
    struct rsm_node_offer *offers[OFFERS_MAX];
    struct node_report report;
    bool pauses; /* once it has accepted a connection */
};

static void on_signalled(void *context, struct rsm_node_offer *made, uint32_t count, bool coalesced)
{
    struct node *node = context;
    *(coalesced ? &node->report.coalesced : &node->report.signals) += count;
}

static void on_lost(void *context, struct rsm_node_offer *made)
{
    struct node *node = context;
    node->report.lost++;
}

static void on_taken(void *context, struct rsm_node_offer *made)
{
    struct node *node = context;
    node->report.taken++;
}

/* Without threads: dispatch() does everything at once. */
static enum rsm_status on_submit(void *context, struct rsm_node_offer *made,
                                 struct rsm_node_job *job)
{
    (void)context, (void)made, (void)job;
    return RSM_ST_UNSUPPORTED;
}

static const struct rsm_node_upcalls upcalls = {.size = sizeof upcalls,
                                                .signalled = on_signalled,
                                                .lost = on_lost,
                                                .taken = on_taken,
                                                .submit = on_submit};

static uint32_t free_place(void *const *table, uint32_t most)
{
    uint32_t i = 0;
    while (i < most && table[i] != NULL)
        i++;
    return i;
}

static void obey_make(struct node *node, const struct order *order, struct answer *answer,
                      struct rsm_packet_fds *fds)
{
    uint32_t i = free_place((void *const *)node->extents, EXTENTS_MAX);
    if (i == EXTENTS_MAX)
        abort();
    answer->index = i;
    answer->status = node->ops->extent_make(node->port, order->length, &node->extents[i]);
    fds->count = answer->status == RSM_ST_OK;
    if (fds->count > 0)
        fds->fds[0] = node->extents[i]->fd;
}

static void obey_offer(struct node *node, const struct order *order, struct answer *answer)
{
    struct rsm_extent_piece pieces[PIECES_MAX];
    struct rsm_importer importer = {.node = 1};
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    uint32_t i = free_place((void *const *)node->offers, OFFERS_MAX);
    if (i == OFFERS_MAX || offer == NULL)
        abort();
    for (uint32_t at = 0; at < order->count; at++)
        pieces[at] = (struct rsm_extent_piece){.extent = node->extents[order->piece[at].extent],
                                               .offset = order->piece[at].offset,
                                               .length = order->piece[at].length};
    answer->index = i;
    answer->status = node->ops->offer(node->port, pieces, order->count, order->rights, &importer,
                                      offer, &node->offers[i]);
    answer->blob_len = offer->blob_len;
    memcpy(answer->blob, offer->blob, sizeof answer->blob);
    free(offer);
}

static void lie(const struct verbs_node_offer *offer, const struct order *order)
{
    struct ibv_send_wr *bad;
    struct ibv_sge piece = {.addr = (uintptr_t)offer->send_buffer->bytes,
                            .length = (uint32_t)order->length,
                            .lkey = offer->send_buffer->mr->lkey};
    struct ibv_send_wr wr = {.opcode = IBV_WR_SEND_WITH_IMM,
                             .send_flags = IBV_SEND_SOLICITED,
                             .imm_data = htonl(order->count),
                             .sg_list = &piece,
                             .num_sge = order->length > 0};
    if (ibv_post_send(offer->qp, &wr, &bad) != 0)
        abort();
}

static void obey(struct node *node, const struct order *order, struct answer *answer,
                 struct rsm_packet_fds *fds)
{
    switch (order->kind) {
    case ORDER_MAKE:
        obey_make(node, order, answer, fds);
        break;
    case ORDER_FREE:
        node->ops->extent_free(node->port, node->extents[order->index]);
        node->extents[order->index] = NULL;
        break;
    case ORDER_OFFER:
        obey_offer(node, order, answer);
        break;
    case ORDER_REVOKE:
        node->ops->revoke(node->port, node->offers[order->index]);
        node->offers[order->index] = NULL;
        node->pauses = node->report.paused = false;
        break;
    case ORDER_SETTLE:
        verbs_pool_settle(verbs_node_port_of(node->port)->pool);
        break;
    case ORDER_PAUSE:
        node->pauses = true;
        break;
    case ORDER_SIGNAL:
        answer->status = node->ops->signals->send(
            node->port, node->offers[order->index],
            &(struct rsm_signals){.count = order->count, .coalesced = order->coalesced});
        break;
    case ORDER_LIE:
        lie(verbs_node_offer_of(node->offers[order->index]), order);
        break;
    case ORDER_REPORT:
        break;
    }
    answer->report = node->report;
    verbs_pool_count(verbs_node_port_of(node->port)->pool, &answer->report.pool);
}

static void serve_order(struct node *node, int socket)
{
    struct order order;
    struct answer *answer = calloc(1, sizeof *answer);
    struct rsm_packet_fds fds = {.count = 0};
    ssize_t got = rsm_packet_receive(socket, &order, sizeof order, NULL, NULL);
    if (got == 0) {
        node->ops->close(node->port);
        exit(0); /* so that sanitizers look for leaks */
    }
    if (got != (ssize_t)sizeof order || answer == NULL)
        abort();
    obey(node, &order, answer, &fds);
    if (rsm_packet_send(socket, answer, sizeof *answer, &fds, 0) != 0)
        abort();
    free(answer);
}

static const char *device(const char *variable, const char *otherwise)
{
    const char *wanted = getenv(variable);
    return wanted != NULL ? wanted : otherwise;
}

static const char *node_device(void)
{
    return device("RSM_TEST_NODE_DEVICE", "rxe2");
}

static const char *import_device(void)
{
    return device("RSM_TEST_IMPORT_DEVICE", "rxe1");
}

static bool has_accepted(const struct node *node)
{
    for (uint32_t i = 0; i < OFFERS_MAX; i++)
        if (node->offers[i] != NULL &&
            verbs_node_offer_of(node->offers[i])->state == VERBS_CONNECTING)
            return true;
    return false;
}

_Noreturn static void run_node(int socket, const char *options)
{
    static struct node node;
    struct rsm_controller_info info = {.name = "sci0", .device = node_device(), .options = options};
    node.ops = &rsm_transport_node_ops_v1;
    bool up = node.ops->open(&info, &node.port) == RSM_ST_OK;
    if (rsm_packet_send(socket, &up, 1, NULL, 0) != 0 || !up)
        exit(1);
    struct pollfd fds[] = {{.fd = socket, .events = POLLIN},
                           {.fd = node.ops->event_fd(node.port), .events = POLLIN}};
    for (;;) {
        if (poll(fds, node.report.paused ? 1 : 2, -1) < 0)
            abort();
        if (!node.report.paused && fds[1].revents != 0)
            node.ops->dispatch(node.port, &upcalls, &node);
        node.report.paused = node.pauses && has_accepted(&node);
        if (fds[0].revents != 0)
            serve_order(&node, socket);
    }
}

/* ------------------------------------------------------------------ this process */

static bool has_device(const char *name)
{
    int count = 0;
    bool found = false;
    struct ibv_device **list = ibv_get_device_list(&count);
    for (int i = 0; i < count; i++)
        found = found || strcmp(ibv_get_device_name(list[i]), name) == 0;
    if (list != NULL)
        ibv_free_device_list(list);
    return found;
}

static void await_packet(int socket)
{
    struct pollfd fd = {.fd = socket, .events = POLLIN};
    assert_int_equal(poll(&fd, 1, 60000), 1);
}

/* A program of its own, so that nothing of the RDMA libraries' state is inherited. */
_Noreturn static void become_node(int socket, const char *options)
{
    char number[16];
    int own = fcntl(socket, F_DUPFD, STDERR_FILENO + 1); /* not close-on-exec */
    snprintf(number, sizeof number, "%d", own);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    execl("/proc/self/exe", "node", NODE_WORD, number, options, (char *)NULL);
    abort();
}

void pair_main(int argc, char **argv)
{
    if (argc == 4 && strcmp(argv[1], NODE_WORD) == 0)
        run_node(atoi(argv[2]), argv[3]);
    if (has_device(node_device()) && has_device(import_device()))
        return;
    fprintf(stderr, "skipped: no RDMA devices %s and %s\n", node_device(), import_device());
    exit(77);
}

struct pair *pair_open(const char *node_options, const char *import_options)
{
    struct pair *pair = calloc(1, sizeof *pair);
    int sockets[2];
    bool up = false;
    assert_non_null(pair);
    assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets), 0);
    pair->node = fork();
    assert_true(pair->node >= 0);
    if (pair->node == 0)
        become_node(sockets[1], node_options);
    close(sockets[1]);
    pair->socket = sockets[0];
    await_packet(pair->socket);
    assert_int_equal(rsm_packet_receive(pair->socket, &up, 1, NULL, NULL), 1);
    assert_true(up);
    struct rsm_controller_info info = {
        .name = "sci0", .device = import_device(), .options = import_options};
    assert_int_equal(rsmcore_import_ops_complete(&rsm_transport_import_ops_v1, &pair->table),
                     RSM_ST_OK);
    pair->ops = &pair->table.ops;
    assert_int_equal(pair->ops->open(&info, &pair->port), RSM_ST_OK);
    return pair;
}

void pair_close(struct pair *pair)
{
    int status = 0;
    pair->ops->close(pair->port);
    close(pair->socket);
    assert_int_equal(waitpid(pair->node, &status, 0), pair->node);
    assert_true((WIFEXITED(status) && WEXITSTATUS(status) == 0) ||
                (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL));
    free(pair);
}

static void command(struct pair *pair, const struct order *order, struct answer *answer,
                    struct rsm_packet_fds *fds)
{
    assert_int_equal(rsm_packet_send(pair->socket, order, sizeof *order, NULL, 0), 0);
    await_packet(pair->socket);
    assert_int_equal(rsm_packet_receive(pair->socket, answer, sizeof *answer, fds, NULL),
                     sizeof *answer);
}

struct remote remote_make(struct pair *pair, uint64_t length)
{
    struct order order = {.kind = ORDER_MAKE, .length = length};
    struct answer answer;
    struct rsm_packet_fds fds;
    command(pair, &order, &answer, &fds);
    assert_int_equal(answer.status, RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    struct remote remote = {.index = answer.index, .length = length};
    remote.bytes = mmap(NULL, length, PROT_READ | PROT_WRITE, MAP_SHARED, fds.fds[0], 0);
    assert_true(remote.bytes != MAP_FAILED);
    rsm_packet_fds_close(&fds);
    return remote;
}

void remote_free(struct pair *pair, struct remote *remote)
{
    struct order order = {.kind = ORDER_FREE, .index = remote->index};
    struct answer answer;
    command(pair, &order, &answer, NULL);
    munmap(remote->bytes, remote->length);
}

enum rsm_status node_offer(struct pair *pair, const struct remote_piece *pieces, unsigned count,
                           uint32_t rights, struct rsm_offer *offer, uint32_t *made)
{
    struct order order = {.kind = ORDER_OFFER, .rights = rights, .count = count};
    struct answer answer;
    for (unsigned i = 0; i < count; i++) {
        order.piece[i].extent = pieces[i].remote->index;
        order.piece[i].offset = pieces[i].offset;
        order.piece[i].length = pieces[i].length;
    }
    command(pair, &order, &answer, NULL);
    memset(offer, 0, sizeof *offer);
    offer->blob_len = answer.blob_len;
    memcpy(offer->blob, answer.blob, sizeof offer->blob);
    *made = answer.index;
    return answer.status;
}

void node_revoke(struct pair *pair, uint32_t made)
{
    struct order order = {.kind = ORDER_REVOKE, .index = made};
    struct answer answer;
    command(pair, &order, &answer, NULL);
}

struct node_report node_report(struct pair *pair)
{
    struct order order = {.kind = ORDER_REPORT};
    struct answer answer;
    command(pair, &order, &answer, NULL);
    return answer.report;
}

enum rsm_status node_signal(struct pair *pair, uint32_t made, uint32_t count, bool coalesced)
{
    struct order order = {
        .kind = ORDER_SIGNAL, .index = made, .count = count, .coalesced = coalesced};
    struct answer answer;
    command(pair, &order, &answer, NULL);
    return answer.status;
}

void node_lie(struct pair *pair, uint32_t made, uint32_t immediate, uint32_t bytes)
{
    struct order order = {.kind = ORDER_LIE, .index = made, .count = immediate, .length = bytes};
    struct answer answer;
    command(pair, &order, &answer, NULL);
}

void node_pause(struct pair *pair)
{
    struct order order = {.kind = ORDER_PAUSE};
    struct answer answer;
    command(pair, &order, &answer, NULL);
}

void node_settle(struct pair *pair)
{
    struct order order = {.kind = ORDER_SETTLE};
    struct answer answer;
    command(pair, &order, &answer, NULL);
}

struct rsm_conn *pair_connect(struct pair *pair, const struct remote *remote, uint32_t rights,
                              uint32_t *made)
{
    struct remote_piece piece = {.remote = remote, .length = remote->length};
    struct rsm_offer *offer = calloc(1, sizeof *offer);
    struct rsm_conn *conn = NULL;
    assert_non_null(offer);
    assert_int_equal(node_offer(pair, &piece, 1, rights, offer, made), RSM_ST_OK);
    assert_int_equal(pair->ops->connect(pair->port, offer, remote->length, rights, &conn),
                     RSM_ST_OK);
    conn->ops = pair->ops;
    free(offer);
    return conn;
}

const struct rsm_import_ops *pair_guard(struct pair *pair, struct rsm_conn *conn)
{
    pair->port->ops = pair->ops;
    conn->port = pair->port;
    conn->core = rsmcore_completions_make(conn, rsmcore_guard_process());
    assert_non_null(conn->core);
    return &pair->table.guarded;
}

void pair_unguard(struct rsm_conn *conn)
{
    rsmcore_completions_free(conn->core);
    conn->core = NULL;
}

void pattern_fill(void *bytes, size_t length, uint32_t seed)
{
    uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++)
        at[i] = (uint8_t)(seed + i * 7 + (i >> 8) * 13);
}

int pattern_is(const void *bytes, size_t length, uint32_t seed)
{
    const uint8_t *at = bytes;
    for (size_t i = 0; i < length; i++)
        if (at[i] != (uint8_t)(seed + i * 7 + (i >> 8) * 13))
            return 0;
    return 1;
}
