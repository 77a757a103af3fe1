/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Tables of node operations: what is checked and completed; capabilities of ports; extents. */
#include "check.h"

#include <stdlib.h>

#include "transport/instance.h"
#include "transport/registry.h"

static unsigned closed;

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

/* What is mandatory ends here. */
#define FIRST_NODE_SIZE offsetof(struct rsm_node_ops, check)

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
    full->limit_users(NULL, NULL);
    assert_status(full->signals->send(NULL, NULL, &(struct rsm_signals){.count = 1}),
                  RSM_ST_UNSUPPORTED);
    assert_false(full->signals->arrived(NULL, NULL));
    struct rsm_signals posted = {.count = 1, .coalesced = true};
    full->signals->collect(NULL, NULL, &posted);
    assert_true(posted.count == 0 && !posted.coalesced);
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

static enum rsm_status an_accept(struct rsm_node_port *port, uint32_t exporter, uint64_t size,
                                 uint32_t rights, const struct rsm_importer *importer,
                                 const struct rsm_offer *offer, struct rsm_offer *local,
                                 struct rsm_node_import **made)
{
    (void)port, (void)exporter, (void)size, (void)rights, (void)importer, (void)offer;
    (void)local, (void)made;
    return RSM_ST_UNREACHABLE;
}

static bool a_revoke(struct rsm_node_port *port, struct rsm_node_import *made)
{
    (void)port, (void)made;
    return true;
}

static void a_close(struct rsm_node_port *port, struct rsm_node_import *made)
{
    (void)port, (void)made;
}

static void a_released(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
}

static bool an_all_released(struct rsm_node_port *port, uint32_t node)
{
    (void)port, (void)node;
    return true;
}

static void imports_come_whole_or_not_at_all(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    const struct rsm_node_import_ops whole = {.size = sizeof whole,
                                              .accept = an_accept,
                                              .revoke = a_revoke,
                                              .close = a_close,
                                              .released = a_released,
                                              .all_released = an_all_released};
    struct rsm_node_import_ops imports = whole;
    struct rsmcore_node_table full;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_null(full.ops.imports);
    given.imports = &imports;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_not_equal(full.ops.imports, &imports);
    assert_ptr_equal(full.ops.imports->accept, an_accept);
    assert_ptr_equal(full.ops.imports->all_released, an_all_released);
    static const size_t operations[] = {
        offsetof(struct rsm_node_import_ops, accept), offsetof(struct rsm_node_import_ops, revoke),
        offsetof(struct rsm_node_import_ops, close), offsetof(struct rsm_node_import_ops, released),
        offsetof(struct rsm_node_import_ops, all_released)};
    for (unsigned i = 0; i < sizeof operations / sizeof operations[0]; i++) {
        imports = whole;
        memset((char *)&imports + operations[i], 0, sizeof(void *));
        assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    }
    imports = whole;
    imports.size = offsetof(struct rsm_node_import_ops, all_released);
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

static void a_limit_users(struct rsm_node_port *port, const struct rsm_user_share *share)
{
    (void)port, (void)share;
}

static enum rsm_status an_extent_make_for(struct rsm_node_port *port,
                                          const struct rsm_extent_request *request,
                                          struct rsm_extent **extent)
{
    (void)port, (void)request, (void)extent;
    return RSM_ST_NO_MEMORY;
}

static bool a_revoke_begin(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return true;
}

static void a_revoke_that_ends_later_needs_dispatch_and_no_imports(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm");
    const struct rsm_node_import_ops imports = {.size = sizeof imports,
                                                .accept = an_accept,
                                                .revoke = a_revoke,
                                                .close = a_close,
                                                .released = a_released,
                                                .all_released = an_all_released};
    struct rsmcore_node_table full;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_null(full.ops.revoke_begin); /* rsmd revokes such offers as ever */
    given.revoke_begin = a_revoke_begin;
    given.event_fd = NULL; /* the table that is given has the generic forms */
    given.dispatch = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.event_fd = an_event_fd;
    given.dispatch = a_dispatch;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.ops.revoke_begin, a_revoke_begin);
    given.imports = &imports;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.imports = NULL;
    given.size = offsetof(struct rsm_node_ops, revoke_begin); /* compiled before there was one */
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_null(full.ops.revoke_begin);
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
    given.extent_make_for = NULL;
    given.limit_users = a_limit_users;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.extent_make_for = an_extent_make_for;
    given.limit_users = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.limit_users = a_limit_users;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.ops.limit_users, a_limit_users);
    assert_ptr_equal(full.ops.extent_make_for, an_extent_make_for);
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_incomplete_node_table_is_refused),
        cmocka_unit_test(an_older_node_table_gets_generic_forms),
        cmocka_unit_test(a_revoke_that_ends_later_needs_dispatch_and_no_imports),
        cmocka_unit_test(optional_node_members_are_checked_and_kept),
        cmocka_unit_test(capabilities_of_node_ports_need_their_operations),
        cmocka_unit_test(extents_are_described_soundly),
        cmocka_unit_test(signalling_needs_all_of_its_parts),
        cmocka_unit_test(imports_come_whole_or_not_at_all),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
