/* SPDX-License-Identifier: BSD-3-Clause */
/** @file Checking and completing of tables, and the generic forms over the fake transport. */
#include "check.h"

#include <stdlib.h>

#include "fake.h"
#include "transport/generic.h"
#include "transport/registry_node.h"

enum { SEGMENT_SIZE = 4096 };

struct fixture {
    struct rsm_import_ops ops; /* completed */
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
    assert_status(rsmcore_import_ops_complete(&fake_import_ops, &f->ops), RSM_ST_OK);
    f->segment = fake_segment_make(SEGMENT_SIZE);
    assert_non_null(f->segment);
    fake_segment_offer(f->segment, &offer);
    assert_status(f->ops.open(&info, &f->port), RSM_ST_OK);
    assert_status(
        f->ops.connect(f->port, &offer, SEGMENT_SIZE, RSM_RIGHT_READ | RSM_RIGHT_WRITE, &f->conn),
        RSM_ST_OK);
    f->conn->ops = &f->ops;
    fake_segment_forget(f->segment);
    *state = f;
    return 0;
}

static int teardown(void **state)
{
    struct fixture *f = *state;
    f->ops.disconnect(f->conn);
    f->ops.close(f->port);
    fake_segment_free(f->segment);
    free(f);
    return 0;
}

/* ------------------------------------------------------------------ tables */

static enum rsm_status completing(const struct rsm_import_ops *given)
{
    struct rsm_import_ops full, before;
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
        struct rsm_import_ops ops = f->ops;                                                        \
        ops.caps = RSM_CAP_MAP | RSM_CAP_REMOTE_SIGNAL | RSM_CAP_LOCAL_MEMORY;                     \
        assert_status(completing(&ops), RSM_ST_OK);                                                \
        change;                                                                                    \
        assert_status(completing(&ops), RSM_ST_INVALID);                                           \
    } while (0)

static void mandatory_members_pairs_and_caps_are_checked(void **state)
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
    REFUSED(ops.caps &= ~RSM_CAP_MAP);
    REFUSED(ops.caps &= ~RSM_CAP_REMOTE_SIGNAL);
    REFUSED(ops.caps &= ~RSM_CAP_LOCAL_MEMORY);
    REFUSED((ops.map = NULL, ops.unmap = NULL));
    REFUSED(ops.signal = NULL);
    REFUSED(ops.hear_signals = NULL);
    REFUSED(ops.answer_signals = NULL);
    REFUSED(ops.signal_fd = NULL);
    REFUSED(ops.take_signals = NULL);
    REFUSED((ops.register_memory = NULL, ops.unregister_memory = NULL));
    REFUSED(ops.size = offsetof(struct rsm_import_ops, complete));
    REFUSED(ops.size = sizeof ops - 1);
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
    struct rsm_node_ops node;
    assert_status(rsmcore_node_ops_complete((const struct rsm_node_ops *)(void *)version, &node),
                  RSM_ST_VERSION);
    free(version);
}

static void a_shorter_table_gets_generic_forms(void **state)
{
    struct fixture *f = *state;
    size_t size = offsetof(struct rsm_import_ops, signal);
    struct rsm_import_ops short_ops = fake_import_ops, full;
    short_ops.size = size;
    void *old = malloc(size); /* no byte more: the address sanitizer watches */
    assert_non_null(old);
    memcpy(old, &short_ops, size);
    assert_status(rsmcore_import_ops_complete(old, &full), RSM_ST_OK);
    free(old);
    assert_int_equal(full.size, sizeof full);
    assert_ptr_equal(full.put, fake_import_ops.put);
    assert_status(full.health(f->conn), RSM_ST_OK);
    assert_status(full.signal(f->conn, true), RSM_ST_UNSUPPORTED);
    struct rsm_signals taken = {.count = 1, .coalesced = true};
    assert_status(full.hear_signals(f->conn), RSM_ST_UNSUPPORTED);
    full.answer_signals(f->conn);
    assert_int_equal(full.signal_fd(f->conn), -1);
    assert_status(full.take_signals(f->conn, &taken), RSM_ST_UNSUPPORTED);
    assert_int_equal(taken.count, 0);
    assert_false(taken.coalesced);
}

static void a_longer_table_is_cut(void **state)
{
    struct fixture *f = *state;
    struct {
        struct rsm_import_ops known;
        void (*newer)(void);
    } given = {.known = fake_import_ops};
    struct rsm_import_ops full;
    given.known.size = sizeof given;
    given.known.caps |= 0x80000000u; /* and what this version cannot know is dropped */
    assert_status(rsmcore_import_ops_complete(&given.known, &full), RSM_ST_OK);
    assert_int_equal(full.size, sizeof full);
    assert_int_equal(full.caps, RSM_CAP_ASYNC);
    assert_ptr_equal(full.complete, f->ops.complete);
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
    struct rsm_node_ops full;
    struct rsm_node_ops given = {.abi_version = RSM_TRANSPORT_ABI,
                                 .size = sizeof given,
                                 .name = "half",
                                 .open = never_opened};
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.size = offsetof(struct rsm_node_ops, revoke);
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

/* The first version of the node table ended here. */
#define FIRST_NODE_SIZE offsetof(struct rsm_node_ops, event_fd)

static void an_older_node_table_gets_generic_forms(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm"), full;
    struct rsm_extent *extent = NULL;
    given.size = FIRST_NODE_SIZE;
    void *old = malloc(FIRST_NODE_SIZE); /* no byte more: the address sanitizer watches */
    assert_non_null(old);
    memcpy(old, &given, FIRST_NODE_SIZE);
    assert_status(rsmcore_node_ops_complete(old, &full), RSM_ST_OK);
    free(old);
    assert_int_equal(full.size, sizeof full);
    assert_ptr_equal(full.revoke, given.revoke);
    assert_int_equal(full.node_caps, 0);
    assert_int_equal(full.event_fd(NULL), -1);
    full.dispatch(NULL, NULL, NULL);
    assert_status(full.extent_adopt(NULL, -1, 4096, &extent), RSM_ST_UNSUPPORTED);
    assert_null(extent);
    assert_status(full.signal_importer(NULL, NULL, &(struct rsm_signals){.count = 1}),
                  RSM_ST_UNSUPPORTED);
    assert_false(full.signals_arrived(NULL, NULL));
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

static enum rsm_status a_signal_importer(struct rsm_node_port *port, struct rsm_node_offer *made,
                                         const struct rsm_signals *signals)
{
    (void)port, (void)made, (void)signals;
    return RSM_ST_OK;
}

static bool a_signals_arrived(struct rsm_node_port *port, struct rsm_node_offer *made)
{
    (void)port, (void)made;
    return true;
}

static void signalling_needs_all_of_its_parts(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm"), full;
    given.signal_importer = a_signal_importer;
    given.signals_arrived = NULL;
    given.event_fd = an_event_fd;
    given.dispatch = a_dispatch;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.signals_arrived = a_signals_arrived;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.signal_importer, a_signal_importer);
    assert_ptr_equal(full.signals_arrived, a_signals_arrived);
    given.event_fd = NULL; /* nobody would hear of what was taken */
    given.dispatch = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
}

static void optional_node_members_are_checked_and_kept(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm"), full;
    given.event_fd = an_event_fd;
    given.dispatch = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.event_fd = NULL;
    given.dispatch = a_dispatch;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.event_fd = an_event_fd;
    given.node_caps = UINT32_MAX;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.event_fd, an_event_fd);
    assert_ptr_equal(full.dispatch, a_dispatch);
    assert_int_equal(full.node_caps, RSM_NODE_EXTENTS_SHAREABLE | RSM_NODE_REACHES_HOSTS |
                                         RSM_NODE_ANY_THREAD | RSM_NODE_EXTENTS_PINNED);
}

static enum rsm_status an_extent_make_now(struct rsm_node_port *port, uint64_t length,
                                          struct rsm_extent **extent, int *fd)
{
    (void)port, (void)length, (void)extent, (void)fd;
    return RSM_ST_BUSY;
}

/* What extent_make_now() puts off, another thread does: one has to be allowed to. */
static void putting_off_needs_threads(void **state)
{
    (void)state;
    struct rsm_node_ops given = *rsmcore_transport_node("shm"), full;
    given.extent_make_now = an_extent_make_now;
    given.node_caps = RSM_NODE_ANY_THREAD;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.extent_make_now, an_extent_make_now);
    given.node_caps = 0;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_INVALID);
    given.extent_make_now = NULL;
    assert_status(rsmcore_node_ops_complete(&given, &full), RSM_ST_OK);
    assert_ptr_equal(full.extent_make_now, given.extent_make);
}

/* ------------------------------------------------------------------ generic forms */

static void elements_are_one_put_each_ascending(void **state)
{
    struct fixture *f = *state;
    uint32_t out[5] = {1, 2, 3, 4, 5}, in[5] = {0};
    unsigned count;
    assert_status(f->ops.put_elems(f->conn, 64, out, 4, 5), RSM_ST_OK);
    assert_status(f->ops.get_elems(f->conn, 64, in, 4, 5), RSM_ST_OK);
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
    assert_status(f->ops.put_elems(f->conn, 0, values, 8, 4), RSM_ST_TRANSFER);
    fake_segment_fail(f->segment, FAKE_GET, 1, RSM_ST_ABORTED);
    assert_status(f->ops.get_elems(f->conn, 0, values, 8, 4), RSM_ST_ABORTED);
    fake_segment_calls(f->segment, &count);
    assert_int_equal(count, 3 + 2);
}

static void vectors_say_how_far_they_came(void **state)
{
    struct fixture *f = *state;
    char a[] = "one", b[] = "three", c[] = "seven";
    struct rsm_transfer vec[] = {{a, 0, 3}, {b, 100, 5}, {c, 50, 0}, {c, 200, 5}};
    unsigned done = 99;
    assert_status(f->ops.putv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_memory_equal(fake_segment_memory(f->segment) + 100, "three", 5);
    memset(a, 0, sizeof a), memset(b, 0, sizeof b), memset(c, 0, sizeof c);
    assert_status(f->ops.getv(f->conn, vec, 4, &done), RSM_ST_OK);
    assert_int_equal(done, 4);
    assert_string_equal(a, "one");
    assert_string_equal(c, "seven");
    fake_segment_fail(f->segment, FAKE_PUT, 1, RSM_ST_TRANSFER);
    assert_status(f->ops.putv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 1);
    fake_segment_fail(f->segment, FAKE_GET, 3, RSM_ST_TRANSFER);
    assert_status(f->ops.getv(f->conn, vec, 4, &done), RSM_ST_TRANSFER);
    assert_int_equal(done, 3);
    assert_status(f->ops.putv(f->conn, vec, 0, &done), RSM_ST_OK);
    assert_int_equal(done, 0);
}

static void what_cannot_be_emulated_is_refused(void **state)
{
    struct fixture *f = *state;
    void *address = f, *cookie = f;
    assert_status(f->ops.map(f->conn, 0, 4096, RSM_RIGHT_READ, false, &address),
                  RSM_ST_UNSUPPORTED);
    assert_ptr_equal(address, f);
    assert_status(f->ops.unmap(f->conn, f, 4096), RSM_ST_UNSUPPORTED);
    assert_status(f->ops.signal(f->conn, false), RSM_ST_UNSUPPORTED);
    assert_status(f->ops.health(f->conn), RSM_ST_OK);
    assert_status(f->ops.register_memory(f->port, f, sizeof *f, &cookie), RSM_ST_OK);
    assert_null(cookie);
    f->ops.unregister_memory(f->port, cookie);
}

/* ------------------------------------------------------------------ the fake itself */

static void delayed_puts_arrive_at_order_and_not_before(void **state)
{
    struct fixture *f = *state;
    uint8_t value = 7, seen = 99;
    fake_segment_delay(f->segment, 1);
    assert_status(f->ops.put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops.get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 0);
    assert_status(f->ops.order(f->conn), RSM_ST_OK);
    assert_status(f->ops.get(f->conn, 10, &seen, 1), RSM_ST_OK);
    assert_int_equal(seen, 7);
}

static void delayed_puts_are_reordered(void **state)
{
    struct fixture *f = *state;
    unsigned last[2] = {0};
    for (uint32_t seed = 0; seed < 64; seed++) {
        uint8_t one = 1, two = 2;
        fake_segment_delay(f->segment, seed);
        assert_status(f->ops.put(f->conn, 0, &one, 1), RSM_ST_OK);
        assert_status(f->ops.put(f->conn, 0, &two, 1), RSM_ST_OK);
        assert_status(f->ops.complete(f->conn), RSM_ST_OK);
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
    assert_status(f->ops.put(f->conn, 10, &value, 1), RSM_ST_OK);
    assert_status(f->ops.order(f->conn), RSM_ST_OK);
    assert_status(f->ops.complete(f->conn), RSM_ST_TRANSFER);
    assert_status(f->ops.complete(f->conn), RSM_ST_OK);
    assert_int_equal(fake_segment_memory(f->segment)[10], 0);
}

int main(void)
{
#define CASE(test) cmocka_unit_test_setup_teardown(test, setup, teardown)
    const struct CMUnitTest tests[] = {
        CASE(mandatory_members_pairs_and_caps_are_checked),
        CASE(another_abi_is_not_looked_into),
        CASE(a_shorter_table_gets_generic_forms),
        CASE(a_longer_table_is_cut),
        CASE(an_incomplete_node_table_is_refused),
        CASE(an_older_node_table_gets_generic_forms),
        CASE(optional_node_members_are_checked_and_kept),
        CASE(putting_off_needs_threads),
        CASE(signalling_needs_all_of_its_parts),
        CASE(elements_are_one_put_each_ascending),
        CASE(elements_stop_at_the_first_error),
        CASE(vectors_say_how_far_they_came),
        CASE(what_cannot_be_emulated_is_refused),
        CASE(delayed_puts_arrive_at_order_and_not_before),
        CASE(delayed_puts_are_reordered),
        CASE(a_late_error_is_told_by_complete_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
