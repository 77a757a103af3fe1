/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Tables of import operations: what is checked and completed; capabilities of ports and connections. */
#include "check.h"

#include <stdlib.h>

#include "fixture.h"
#include "transport/registry.h"

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
    size_t size = offsetof(struct rsm_import_ops, put_elems);
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
    assert_int_equal(rsmcore_import_abilities(full),
                     RSM_CAP_ASYNC | RSM_CAP_FAULT_SAFE | RSM_CAP_FORK);
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

static uint32_t asked_bytes;

static enum rsm_status ask(struct rsm_port *port, struct rsm_connect_request *request)
{
    (void)port;
    assert_int_equal(request->size, sizeof *request);
    assert_int_equal(request->length, 0);
    assert_int_equal(request->node, 7);
    assert_string_equal(request->address, "host7");
    request->length = asked_bytes;
    return asked_bytes > 0 ? RSM_ST_OK : RSM_ST_NO_RESOURCES;
}

static void a_request_is_bounded(void **state)
{
    struct rsm_import_ops given = fake_import_ops;
    struct rsmcore_import_table table;
    struct rsm_port port = {.ops = &table.ops};
    struct rsm_connect_request request = {.node = 7, .address = "host7", .length = 5};
    (void)state;
    assert_status(rsmcore_import_ops_complete(&given, &table), RSM_ST_OK);
    assert_status(rsmcore_port_request(&port, &request), RSM_ST_OK);
    assert_int_equal(request.length, 0); /* this transport asks nothing */
    given.connect_request = ask;
    assert_status(rsmcore_import_ops_complete(&given, &table), RSM_ST_OK);
    asked_bytes = RSM_REQUEST_MAX;
    assert_status(rsmcore_port_request(&port, &request), RSM_ST_OK);
    assert_int_equal(request.length, RSM_REQUEST_MAX);
    asked_bytes = RSM_REQUEST_MAX + 1;
    assert_status(rsmcore_port_request(&port, &request), RSM_ST_INVALID);
    asked_bytes = 0;
    assert_status(rsmcore_port_request(&port, &request), RSM_ST_NO_RESOURCES);
}

static enum rsm_status a_register(struct rsm_port *port, void *address, size_t length,
                                  void **cookie)
{
    (void)port, (void)address, (void)length;
    *cookie = NULL;
    return RSM_ST_OK;
}

static void an_unregister(struct rsm_port *port, void *cookie)
{
    (void)port, (void)cookie;
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
    /* What the table says already has no bit. */
    given.register_memory = a_register;
    given.unregister_memory = an_unregister;
    assert_status(rsmcore_import_ops_complete(&given, &table), RSM_ST_OK);
    static const uint32_t foreign[] = {RSM_CAP_MAP, RSM_CAP_REMOTE_SIGNAL, 0x04u, 0x80000000u};
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
    assert_ptr_equal(conn->ops, &table.guarded);
    rsmcore_conn_close(conn);
    port->caps |= RSM_CAP_FORK;
    conn_caps = RSM_CAP_FORK;
    disconnected = 1;
    assert_status(rsmcore_conn_open(port, &offer, 4096, 0, &conn), RSM_ST_OK);
    assert_ptr_equal(conn->ops, &table.ops);
    rsmcore_conn_close(conn);
    assert_int_equal(disconnected, 2);
    rsmcore_port_close(port);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        FIXTURE_TEST(mandatory_members_pairs_and_sizes_are_checked),
        cmocka_unit_test(another_abi_is_not_looked_into),
        FIXTURE_TEST(a_shorter_table_gets_generic_forms),
        FIXTURE_TEST(a_table_with_health_is_asked),
        FIXTURE_TEST(a_longer_table_is_cut),
        cmocka_unit_test(a_request_is_bounded),
        cmocka_unit_test(capabilities_are_those_of_port_and_connection),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
