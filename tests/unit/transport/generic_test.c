/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Checking and completing of tables, and the generic forms over the fake transport. */
#include "check.h"

#include <stdlib.h>

#include "fake.h"
#include "transport/instance.h"
#include "transport/registry_node.h"

enum { SEGMENT_SIZE = 4096 };

struct fixture {
    struct rsmcore_import_table table; /* completed */
    const struct rsm_import_ops *ops;  /* in it */
    struct fake_segment *segment;
    struct rsm_port *port;
    struct rsm_conn *conn;
};

static int setup(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    assert_non_null(f);
    const struct rsm_controller_info info = {.name = "fake0", .device = "", .options = ""};
    struct rsm_offer offer;
    assert_status(rsmcore_import_ops_complete(&fake_import_ops, &f->table), RSM_ST_OK);
    f->ops = &f->table.ops;
    f->segment = fake_segment_make(SEGMENT_SIZE);
    assert_non_null(f->segment);
    fake_segment_offer(f->segment, &offer);
    assert_status(rsmcore_port_open(f->ops, &info, &f->port), RSM_ST_OK);
    assert_status(rsmcore_conn_open(f->port, &offer, SEGMENT_SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE,
                                    &f->conn),
                  RSM_ST_OK);
    fake_segment_forget(f->segment);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    rsmcore_conn_close(f->conn);
    rsmcore_port_close(f->port);
    fake_segment_free(f->segment);
    free(f);
    return 0;
}

/* ------------------------------------------------------------------ tables */

static enum rsm_status completing(const struct rsm_import_ops *given)
{
    struct rsmcore_import_table full, before;
    memset(&full, 0x5a, sizeof full);
    memset(&before, 0x5a, sizeof before);
    enum rsm_status status = rsmcore_import_ops_complete(given, &full);
    if (status != RSM_ST_OK)
        assert_memory_equal(&full, &before, sizeof full);
    assert_int_equal(status != RSM_ST_OK, rsmcore_import_ops_flaw(given) != NULL);
    return status;
}

#define REFUSED(change)                                                                            \
    do {                                                                                           \
        struct rsm_import_ops ops = *f->ops;                                                       \
        struct rsm_signal_ops signals = *ops.signals;                                              \
        struct rsm_completion_ops completions = *ops.completions;                                  \
        ops.signals = &signals;                                                                    \
        ops.completions = &completions;                                                            \
        assert_status(completing(&ops), RSM_ST_OK);                                                \
        change;                                                                                    \
        assert_status(completing(&ops), RSM_ST_INVALID);                                           \
    } while (0)

static void mandatory_members_pairs_and_sizes_are_checked(void **state)
{
    struct fixture *f = *state;
    REFUSED(ops.open = NULL);
    REFUSED(ops.close = NULL);
    REFUSED(ops.connect = NULL);
    REFUSED(ops.disconnect = NULL);
    REFUSED(ops.put = NULL);
    REFUSED(ops.get = NULL);
    REFUSED(ops.order = NULL);
    REFUSED(ops.complete = NULL);
    REFUSED(ops.put_elems = NULL);
    REFUSED(ops.get_elems = NULL);
    REFUSED(ops.putv = NULL);
    REFUSED(ops.getv = NULL);
    REFUSED(ops.map = NULL);
    REFUSED(ops.unmap = NULL);
    REFUSED(ops.register_memory = NULL);
    REFUSED(ops.unregister_memory = NULL);
    REFUSED(signals.fd = NULL);
    REFUSED(signals.arm = NULL);
    REFUSED(signals.poll = NULL);
    REFUSED(signals.acknowledge = NULL);
    REFUSED(signals.size = 0);
    REFUSED(signals.size -= 1);
    REFUSED(completions.submit = NULL);
    REFUSED(completions.poll = NULL);
    REFUSED(completions.wait = NULL);
    REFUSED(completions.size = 0);
    REFUSED(ops.size = offsetof(struct rsm_import_ops, complete));
    REFUSED(ops.size = sizeof ops - 1);
    REFUSED(ops.port_size = 0);
    REFUSED(ops.conn_size = sizeof(struct rsm_conn) - sizeof(void *));
    REFUSED(ops.name = NULL);
    REFUSED(ops.name = "");
    REFUSED(ops.name = "../evil");
    REFUSED(ops.name = "Upper");
    REFUSED(ops.name = "abcdefghijklmnopqrstuvwxyz012345"); /* 32 */
}

static void another_abi_is_not_looked_into(void **state)
{
    (void)state;
    /* Exactly one word: reading on would be caught by the address sanitizer. */
    uint32_t *version = malloc(sizeof *version);
    assert_non_null(version);
    *version = RSM_TRANSPORT_ABI + 1;
    assert_status(completing((const struct rsm_import_ops *)(void *)version), RSM_ST_VERSION);
    struct rsmcore_node_table node;
    assert_status(rsmcore_node_ops_complete((const struct rsm_node_ops *)(void *)version, &node),
                  RSM_ST_VERSION);
    free(version);
}

static void a_shorter_table_gets_generic_forms(void **state)
{
    struct fixture *f = *state;
    size_t size = offsetof(struct rsm_import_ops, health);
    struct rsm_import_ops short_ops = fake_import_ops;
    struct rsmcore_import_table table;
    const struct rsm_import_ops *full = &table.ops;
    short_ops.size = size;
    void *old = malloc(size); /* no byte more: the address sanitizer watches */
    assert_non_null(old);
    memcpy(old, &short_ops, size);
    assert_status(rsmcore_import_ops_complete(old, &table), RSM_ST_OK);
    free(old);
    assert_int_equal(full->size, sizeof *full);
    assert_ptr_equal(full->put, fake_import_ops.put);
    assert_status(full->health(f->conn), RSM_ST_OK);
    assert_false(rsmcore_import_reports_health(full)); /* nobody needs to ask */
    assert_status(full->extent_check(f->port, 0, 0, 4096), RSM_ST_UNSUPPORTED);
    assert_status(full->signals->post(f->conn, true), RSM_ST_UNSUPPORTED);
    struct rsm_signals taken = {.count = 1, .coalesced = true};
    assert_status(full->signals->arm(f->conn), RSM_ST_UNSUPPORTED);
    full->signals->acknowledge(f->conn);
    assert_int_equal(full->signals->fd(f->conn), -1);
    assert_status(full->signals->poll(f->conn, &taken), RSM_ST_UNSUPPORTED);
    assert_int_equal(taken.count, 0);
    assert_false(taken.coalesced);
    assert_int_equal(rsmcore_import_abilities(full), RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE);
}

static enum rsm_status failed_health(struct rsm_conn *conn)
{
    (void)conn;
    return RSM_ST_ABORTED;
}

static void a_table_with_health_is_asked(void **state)
{
    struct rsm_import_ops with_health = fake_import_ops;
    struct rsmcore_import_table table;
    (void)state;
    with_health.health = failed_health;
    assert_status(rsmcore_import_ops_complete(&with_health, &table), RSM_ST_OK);
    assert_ptr_equal(table.ops.health, failed_health);
    assert_true(rsmcore_import_reports_health(&table.ops));
}

static void a_longer_table_is_cut(void **state)
{
    struct fixture *f = *state;
    struct {
        struct rsm_import_ops known;
        void (*newer)(void);
    } given = {.known = fake_import_ops};
    struct {
        struct rsm_signal_ops known;
        void (*newer)(void);
    } signals = {.known = *f->ops->signals};
    struct rsmcore_import_table full;
    given.known.size = sizeof given;
    given.known.signals = &signals.known;
    signals.known.size = sizeof signals;
    assert_status(rsmcore_import_ops_complete(&given.known, &full), RSM_ST_OK);
    assert_int_equal(full.ops.size, sizeof full.ops);
    assert_ptr_equal(full.ops.signals, &full.signals);
    assert_int_equal(full.signals.size, sizeof full.signals);
    assert_ptr_equal(full.ops.complete, f->ops->complete);
}

/* ------------------------------------------------------------------ ports and connections */

static uint32_t port_caps, conn_caps;
static unsigned closed, disconnected;

static enum rsm_status capable_open(const struct rsm_controller_info *info, struct rsm_port **port)
{
    static struct rsm_port made;
    assert_int_equal(info->size, sizeof *info);
    made.caps = port_caps;
    *port = &made;
    return RSM_ST_OK;
}

static void capable_close(struct rsm_port *port)
{
    (void)port;
    closed++;
}

static enum rsm_status capable_connect(struct rsm_port *port, const struct rsm_offer *offer,
                                       uint64_t size, uint32_t rights, struct rsm_conn **conn)
{
    static struct rsm_conn made;
    (void)port, (void)offer, (void)size, (void)rights;
    made = (struct rsm_conn){.caps = conn_caps};
    *conn = &made;
    return RSM_ST_OK;
}

static void capable_disconnect(struct rsm_conn *conn)
{
    (void)conn;
    disconnected++;
}

/* A port has what its transport brings, and a connection what its port has; neither more. */
static void capabilities_are_those_of_port_and_connection(void **state)
{
    const struct rsm_controller_info info = {.name = "fake0", .device = "", .options = ""};
    struct rsm_import_ops given = fake_import_ops;
    struct rsmcore_import_table table;
    struct rsm_port *port;
    struct rsm_conn *conn;
    const struct rsm_offer offer = {.fd_count = 0};
    (void)state;
    given.open = capable_open;
    given.close = capable_close;
    given.connect = capable_connect;
    given.disconnect = capable_disconnect;
    assert_status(rsmcore_import_ops_complete(&given, &table), RSM_ST_OK);
    static const uint32_t foreign[] = {RSM_CAP_MAP, RSM_CAP_REMOTE_SIGNAL, RSM_CAP_LOCAL_MEMORY,
                                       0x80000000u};
    for (unsigned i = 0; i < sizeof foreign / sizeof *foreign; i++) {
        port_caps = RSM_CAP_ASYNC | foreign[i];
        closed = 0;
        assert_status(rsmcore_port_open(&table.ops, &info, &port), RSM_ST_INVALID);
        assert_int_equal(closed, 1);
    }
    port_caps = RSM_CAP_ASYNC;
    assert_status(rsmcore_port_open(&table.ops, &info, &port), RSM_ST_OK);
    assert_ptr_equal(port->ops, &table.ops);
    disconnected = 0;
    conn_caps = RSM_CAP_FAULT_SAFE; /* which the transport could, but this port has not */
    assert_status(rsmcore_conn_open(port, &offer, 4096, 0, &conn), RSM_ST_INVALID);
    assert_int_equal(disconnected, 1);
    conn_caps = 0;
    assert_status(rsmcore_conn_open(port, &offer, 4096, 0, &conn), RSM_ST_OK);
    assert_ptr_equal(conn->port, port);
    assert_ptr_equal(conn->ops, &table.ops);
    rsmcore_conn_close(conn);
    assert_int_equal(disconnected, 2);
    rsmcore_port_close(port);
}

/* ------------------------------------------------------------------ node tables */

static enum rsm_status never_opened(const struct rsm_controller_info *info,
                                    struct rsm_node_port **port)
{
    (void)info, (void)port;
    return RSM_ST_UNSUPPORTED;
}

static void an_incomplete_node_table_is_refused(void **state)
{
    (void)state;
    struct rsmcore_node_table full;
    struct rsm_node_ops given = {RSM_NODE_OPS_HEAD, .name = "half", .open = never_opened};
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.size = offsetof(struct rsm_node_ops, revoke);
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

/* The first version of the node table ended here. */
#define FIRST_NODE_SIZE offsetof(struct rsm_node_ops, event_fd)

static void an_older_node_table_gets_generic_forms(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    struct rsmcore_node_table table;
    const struct rsm_node_ops *full = &table.ops;
    struct rsm_extent *extent = NULL;
    given.size = FIRST_NODE_SIZE;
    void *old = malloc(FIRST_NODE_SIZE); /* no byte more: the address sanitizer watches */
    assert_non_null(old);
    memcpy(old, &given, FIRST_NODE_SIZE);
    assert_status(rsmcore_node_ops_complete(old, &table), RSM_ST_OK);
    free(old);
    assert_int_equal(full->size, sizeof *full);
    assert_ptr_equal(full->revoke, given.revoke);
    assert_int_equal(full->event_fd(NULL), -1);
    full->dispatch(NULL, NULL, NULL);
    assert_status(full->extent_adopt(NULL, -1, 4096, &extent), RSM_ST_UNSUPPORTED);
    assert_null(extent);
    assert_ptr_equal(full->extent_make_now, given.extent_make);
    assert_status(full->signals->send(NULL, NULL, &(struct rsm_signals){.count = 1}),
                  RSM_ST_UNSUPPORTED);
    assert_false(full->signals->arrived(NULL, NULL));
}

static int an_event_fd(struct rsm_node_port *port)
{
    (void)port;
    return 1000;
}

static void a_dispatch(struct rsm_node_port *port, const struct rsm_node_upcalls *up, void *context)
{
    (void)port, (void)up, (void)context;
}

static enum rsm_status a_send(struct rsm_node_port *port, struct rsm_node_offer *made,
                              const struct rsm_signals *signals)
{
    (void)port, (void)made, (void)signals;
    return RSM_ST_OK;
}

static bool an_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return true;
}

static void signalling_needs_all_of_its_parts(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    struct rsm_node_signal_ops signals = {.size = sizeof signals, .send = a_send};
    struct rsmcore_node_table full;
    given.signals = &signals;
    given.event_fd = an_event_fd;
    given.dispatch = a_dispatch;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    signals.arrived = an_arrived;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.ops.signals->send, a_send);
    assert_ptr_equal(full.ops.signals->arrived, an_arrived);
    signals.size = offsetof(struct rsm_node_signal_ops, arrived);
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    signals.size = sizeof signals;
    given.event_fd = NULL; /* nobody would hear of what was taken */
    given.dispatch = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

static void optional_node_members_are_checked_and_kept(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    struct rsmcore_node_table full;
    given.event_fd = an_event_fd;
    given.dispatch = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.event_fd = NULL;
    given.dispatch = a_dispatch;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.event_fd = an_event_fd;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.ops.event_fd, an_event_fd);
    assert_ptr_equal(full.ops.dispatch, a_dispatch);
    given.extent_size = 0;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.extent_size = sizeof(struct rsm_extent);
    given.offer_size = 0;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

static enum rsm_status an_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                          struct rsm_extent **extent)
{
    (void)port, (void)length, (void)extent;
    return RSM_ST_BUSY;
}

static uint32_t node_caps;

static enum rsm_status capable_node_open(const struct rsm_controller_info *info,
                                         struct rsm_node_port **port)
{
    static struct rsm_node_port made;
    assert_int_equal(info->size, sizeof *info);
    made.caps = node_caps;
    *port = &made;
    return RSM_ST_OK;
}

static void capable_node_close(struct rsm_node_port *port)
{
    (void)port;
    closed++;
}

static enum rsm_status opening(const struct rsm_node_ops *given, struct rsmcore_node_table *table,
                               uint32_t caps, struct rsm_node_port **port)
{
    const struct rsm_controller_info info = {.name = "fake0", .device = "", .options = ""};
    assert_status(rsmcore_node_ops_complete(given, table), RSM_ST_OK);
    node_caps = caps;
    closed = 0;
    enum rsm_status status = rsmcore_node_port_open(&table->ops, &info, port);
    assert_int_equal(closed, status != RSM_ST_OK);
    return status;
}

static void capabilities_of_node_ports_need_their_operations(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    struct rsmcore_node_table table;
    struct rsm_node_port *port;
    given.open = capable_node_open;
    given.close = capable_node_close;
    given.extent_make_now = NULL;
    /* What this version does not know is dropped. */
    assert_status(opening(&given, &table, UINT32_MAX & ~RSM_NODE_REPORTS_NODES, &port), RSM_ST_OK);
    assert_ptr_equal(port->ops, &table.ops);
    assert_int_equal(port->caps, RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS |
                                     RSM_NODE_EXTENTS_PINNED | RSM_NODE_ANY_THREAD);
    /* Without dispatch() nothing is ever reported, and every node would be out of reach. */
    assert_status(opening(&given, &table, RSM_NODE_REPORTS_NODES, &port), RSM_ST_INVALID);
    given.event_fd = an_event_fd;
    given.dispatch = a_dispatch;
    assert_status(opening(&given, &table, RSM_NODE_REPORTS_NODES, &port), RSM_ST_OK);
    /* What extent_make_now() puts off, another thread does: one has to be allowed to. */
    given.extent_make_now = an_extent_make_now;
    assert_status(opening(&given, &table, RSM_NODE_ANY_THREAD, &port), RSM_ST_OK);
    assert_status(opening(&given, &table, 0, &port), RSM_ST_INVALID);
}

static void extents_are_described_soundly(void **state)
{
    (void)state;
    uint64_t page = 1u << 16; /* of any machine */
    const struct rsm_node_port plain = {.caps = 0}, sharing = {.caps = RSM_NODE_EXTENTS_SHAREABLE};
    const struct rsm_extent memfd = {.kind = RSM_EXTENT_MEMFD, .fd = 3, .length = page};
    const struct rsm_extent device = {
        .kind = RSM_EXTENT_DEVICE, .fd = 3, .offset = 7 * page, .length = 2 * page};
    struct rsm_extent bad;
    assert_null(rsmcore_extent_flaw(&sharing, &memfd, page));
    assert_null(rsmcore_extent_flaw(&plain, &device, page));
    assert_non_null(rsmcore_extent_flaw(&sharing, &device, page));
    assert_non_null(rsmcore_extent_flaw(&plain, &memfd, 2 * page));
#define FLAWED(from, change)                                                                       \
    do {                                                                                           \
        bad = (from);                                                                              \
        bad.change;                                                                                \
        assert_non_null(rsmcore_extent_flaw(&plain, &bad, page));                                  \
    } while (0)
    FLAWED(memfd, fd = -1);
    FLAWED(memfd, kind = 0);
    FLAWED(memfd, kind = 3);
    FLAWED(memfd, offset = page);
    FLAWED(device, offset = 1);
    FLAWED(device, offset = (uint64_t)INT64_MAX / page * page);
    FLAWED(device, length = UINT64_MAX);
}

/* ------------------------------------------------------------------ generic forms */

static void elements_are_one_put_each_ascending(void **state)
{
    struct fixture *f = *state;
    uint32_t out[5] = {1, 2, 3, 4, 5}, in[5] = {0};
    unsigned count;
    assert_status(f->ops->put_elems(f->conn, 64, out, 4, 5), RSM_ST_OK);
    assert_status(f->ops->get_elems(f->conn, 64, in, 4, 5), RSM_ST_OK);
    assert_memory_equal(in, out, sizeof out);
    assert_memory_equal(fake_segment_memory(f->segment) + 64, out, sizeof out);
    const struct fake_call *calls = fake_segment_calls(f->segment, &count);
    assert_int_equal(count, 10);
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(calls[i].op, i < 5 ? FAKE_PUT : FAKE_GET);
        assert_int_equal(calls[i].offset, 64 + 4 * (i % 5));
        assert_int_equal(calls[i].length, 4);
    }
}

static void elements_stop_at_the_first_error(void **state)
{
    struct fixture *f = *state;
    uint64_t values[4] = {1, 2, 3, 4};
    unsigned count;
    fake_segment_fail(f->segment, FAKE_PUT, 2, RSM_ST_TRANSFER);
    assert_status(f->ops->put_elems(f->conn, 0, values, 8, 4), RSM_ST_TRANSFER);
    fake_segment_fail(f->segment, FAKE_GET, 1, RSM_ST_ABORTED);
    assert_status(f->ops->get_elems(f->conn, 0, values, 8, 4), RSM_ST_ABORTED);
    fake_segment_calls(f->segment, &count);
    assert_int_equal(count, 3 + 2);
}

static void vectors_say_how_far_they_came(void **state)
{
    struct fixture *f = *state;
    char a[] = "one", b[] = "three", c[] = "seven";
    struct rsm_transfer vec[] = {{a, 0, 3}, {b, 100, 5}, {c, 50, 0}, {c, 200, 5}};
    unsigned done = 99;
    assert_status(f->ops->putv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_memory_equal(fake_segment_memory(f->segment) + 100, "three", 5);
    memset(a, 0, sizeof a), memset(b, 0, sizeof b), memset(c, 0, sizeof c);
    assert_status(f->ops->getv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_string_equal(a, "one");
    assert_string_equal(c, "seven");
    fake_segment_fail(f->segment, FAKE_PUT, 1, RSM_ST_TRANSFER);
    assert_status(f->ops->putv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 1);
    fake_segment_fail(f->segment, FAKE_GET, 3, RSM_ST_TRANSFER);
    assert_status(f->ops->getv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 3);
    assert_status(f->ops->putv(f->conn, vec, 0, &done), RSM_ST_OK);
    assert_int_equal(done, 0);
}

static void what_cannot_be_emulated_is_refused(void **state)
{
    struct fixture *f = *state;
    void *address = f, *cookie = f;
    assert_status(f->ops->map(f->conn, 0, 4096, RSM_RIGHT_READ, false, &address),
                  RSM_ST_UNSUPPORTED);
    assert_ptr_equal(address, f);
    assert_status(f->ops->unmap(f->conn, f, 4096), RSM_ST_UNSUPPORTED);
    assert_status(f->ops->signals->post(f->conn, false), RSM_ST_UNSUPPORTED);
    assert_status(f->ops->health(f->conn), RSM_ST_OK);
    assert_status(f->ops->register_memory(f->port, f, sizeof *f, &cookie), RSM_ST_OK);
    assert_null(cookie);
    f->ops->unregister_memory(f->port, cookie);
}

static enum rsm_status submit(struct fixture *f, uint64_t cookie, bool read, uint64_t offset,
                              void *local, size_t length)
{
    const struct rsm_work work = {
        .cookie = cookie, .read = read, .transfer = {local, offset, length}};
    return rsmcore_conn_completions(f->conn)->submit(f->conn, &work);
}

static void works_are_done_when_submitted(void **state)
{
    struct fixture *f = *state;
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(f->conn);
    struct rsm_completion done[4];
    char out[] = "work", in[5] = "";
    assert_int_equal(ops->poll(f->conn, done, 4), 0);
    assert_status(ops->wait(f->conn, -1), RSM_ST_NOT_FOUND);
    fake_segment_delay(f->segment, 1); /* what a put does not wait for, a completion does */
    assert_status(submit(f, 11, false, 100, out, 4), RSM_ST_OK);
    assert_memory_equal(fake_segment_memory(f->segment) + 100, "work", 4);
    assert_status(submit(f, 12, true, 100, in, 4), RSM_ST_OK);
    assert_string_equal(in, "work");
    fake_segment_fail(f->segment, FAKE_DELIVERY, 0, RSM_ST_TRANSFER);
    assert_status(submit(f, 13, false, 0, out, 4), RSM_ST_OK);
    assert_status(ops->wait(f->conn, -1), RSM_ST_OK);
    assert_int_equal(ops->poll(f->conn, done, 2), 2);
    assert_int_equal(ops->poll(f->conn, done + 2, 2), 1);
    for (unsigned i = 0; i < 3; i++) {
        assert_int_equal(done[i].cookie, 11 + i);
        assert_status(done[i].status, i == 2 ? RSM_ST_TRANSFER : RSM_ST_OK);
    }
    /* The failure was the work's, and is not told a second time. */
    assert_status(f->ops->complete(f->conn), RSM_ST_OK);
    assert_status(ops->wait(f->conn, 0), RSM_ST_NOT_FOUND);
}

static void works_that_nobody_polls_are_bounded(void **state)
{
    struct fixture *f = *state;
    struct rsm_completion done[2];
    uint64_t taken = 0;
    char byte = 'x';
    for (unsigned round = 0; round < 3; round++) {
        uint64_t cookie = taken;
        while (submit(f, cookie, false, 0, &byte, 1) == RSM_ST_OK)
            cookie++;
        assert_int_equal(cookie - taken, RSM_WORK_MAX);
        assert_status(submit(f, cookie, false, 0, &byte, 1), RSM_ST_BUSY);
        for (unsigned count; (count = rsmcore_completion_ops.poll(f->conn, done, 2)) > 0;)
            for (unsigned i = 0; i < count; i++)
                assert_int_equal(done[i].cookie, taken++);
        assert_int_equal(taken, cookie);
    }
}

static unsigned own_poll(struct rsm_conn *conn, struct rsm_completion *completions, unsigned most)
{
    (void)conn;
    if (most > 0)
        completions[0] = (struct rsm_completion){.cookie = 77};
    return most > 0;
}

static enum rsm_status own_submit(struct rsm_conn *conn, const struct rsm_work *work)
{
    (void)conn, (void)work;
    return RSM_ST_OK;
}

static enum rsm_status own_wait(struct rsm_conn *conn, int timeout_ms)
{
    (void)conn, (void)timeout_ms;
    return RSM_ST_TIMEOUT;
}

/* The mapping engine puts a connection in front of another one, which may have works under way. */
static void a_successor_finds_the_completions_of_both(void **state)
{
    struct fixture *f = *state;
    static const struct rsm_completion_ops own = {
        .size = sizeof own, .submit = own_submit, .poll = own_poll, .wait = own_wait};
    struct rsm_import_ops native = *f->ops, generic = *f->ops;
    struct rsm_completion done[3];
    char byte = 'x';
    native.completions = &own;
    generic.completions = NULL;
    struct rsm_conn *former = f->conn, successor = *former;
    former->ops = &native;
    successor.ops = &generic;
    successor.core = NULL;
    rsmcore_conn_succeed(&successor, former);
    const struct rsm_completion_ops *ops = rsmcore_conn_completions(&successor);
    assert_status(ops->wait(&successor, 0), RSM_ST_TIMEOUT);
    former->ops = f->ops; /* by which the fake is reached */
    assert_status(submit(f, 5, false, 0, &byte, 1), RSM_ST_OK);
    former->ops = &native;
    assert_status(ops->wait(&successor, 0), RSM_ST_OK);
    assert_int_equal(ops->poll(&successor, done, 3), 2);
    assert_int_equal(done[0].cookie, 5);
    assert_int_equal(done[1].cookie, 77);
    former->ops = f->ops;
}

/* ------------------------------------------------------------------ the fake itself */

static void delayed_puts_arrive_at_order_and_not_before(void **state)
{
    struct fixture *f = *state;
    uint8_t value = 7, seen = 99;
    fake_segment_delay(f->segment, 1);
    assert_status(f->ops->put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops->get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 0);
    assert_status(f->ops->order(f->conn), RSM_ST_OK);
    assert_status(f->ops->get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 7);
}

static void delayed_puts_are_reordered(void **state)
{
    struct fixture *f = *state;
    unsigned last[2] = {0};
    for (uint32_t seed = 0; seed < 64; seed++) {
        uint8_t one = 1, two = 2;
        fake_segment_delay(f->segment, seed);
        assert_status(f->ops->put(f->conn, 0, &one, 1), RSM_ST_OK);
        assert_status(f->ops->put(f->conn, 0, &two, 1), RSM_ST_OK);
        assert_status(f->ops->complete(f->conn), RSM_ST_OK);
        last[fake_segment_memory(f->segment)[0] - 1]++;
    }
    assert_true(last[0] > 0 && last[1] > 0);
}

static void a_late_error_is_told_by_complete_once(void **state)
{
    struct fixture *f = *state;
    uint8_t value = 7;
    fake_segment_delay(f->segment, 3);
    fake_segment_fail(f->segment, FAKE_DELIVERY, 0, RSM_ST_TRANSFER);
    assert_status(f->ops->put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops->order(f->conn), RSM_ST_OK);
    assert_status(f->ops->complete(f->conn), RSM_ST_TRANSFER);
    assert_status(f->ops->complete(f->conn), RSM_ST_OK);
    assert_int_equal(fake_segment_memory(f->segment)[10], 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(mandatory_members_pairs_and_sizes_are_checked),
        CASE(another_abi_is_not_looked_into),
        CASE(a_shorter_table_gets_generic_forms),
        CASE(a_table_with_health_is_asked),
        CASE(a_longer_table_is_cut),
        CASE(capabilities_are_those_of_port_and_connection),
        CASE(an_incomplete_node_table_is_refused),
        CASE(an_older_node_table_gets_generic_forms),
        CASE(optional_node_members_are_checked_and_kept),
        CASE(capabilities_of_node_ports_need_their_operations),
        CASE(extents_are_described_soundly),
        CASE(signalling_needs_all_of_its_parts),
        CASE(elements_are_one_put_each_ascending),
        CASE(elements_stop_at_the_first_error),
        CASE(vectors_say_how_far_they_came),
        CASE(what_cannot_be_emulated_is_refused),
        CASE(works_are_done_when_submitted),
        CASE(works_that_nobody_polls_are_bounded),
        CASE(a_successor_finds_the_completions_of_both),
        CASE(delayed_puts_arrive_at_order_and_not_before),
        CASE(delayed_puts_are_reordered),
        CASE(a_late_error_is_told_by_complete_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
