/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents over a port that is the test's: how much work their end is, and what becomes of them when
 * the port's events are lost. */
#include <stdlib.h>
#include <string.h>

#include "cmocka_all.h"
#include "transport/ntb/node/window.h"

#define PAGE UINT64_C(4096)
#define POOL (UINT64_C(64) << 20)

enum { EXTENTS_MAX = 4096, EXTENTS = 1000, EVENTS = 4 * EXTENTS_MAX, PEER = 2 };

enum state { UNKNOWN, LIVE, QUARANTINED };

/* The port: an extent's id is its index. */
static struct {
    struct ntb_port base;
    enum state state[EXTENTS_MAX];
    uint64_t last_id;
    struct ntb_port_event events[EVENTS];
    unsigned first, count;
    bool loses; /* events */
    bool has_no_table;
    bool refuses; /* to release */
    bool closed;
} port;

static struct ntb_window *window;

static void tell(enum ntb_port_event_type type, uint64_t id)
{
    if (port.loses)
        return;
    assert_in_range(port.count, 0, EVENTS - 1);
    port.events[port.count++] = (struct ntb_port_event){.type = type, .id = id};
}

static void port_close(struct ntb_port *base)
{
    (void)base;
    port.closed = true;
}

static void port_info(struct ntb_port *base, struct ntb_port_info *info)
{
    (void)base;
    *info = (struct ntb_port_info){.pool_size = POOL,
                                   .granule = PAGE,
                                   .window_size = POOL,
                                   .extents_max = EXTENTS_MAX,
                                   .epoch = 1,
                                   .generation = 3,
                                   .sequence = 1,
                                   .peer_generation = 4,
                                   .peer_sequence = 1,
                                   .peer_node = PEER};
}

static bool port_next(struct ntb_port *base, struct ntb_port_event *event)
{
    (void)base;
    if (port.first == port.count) {
        port.first = port.count = 0;
        return false;
    }
    *event = port.events[port.first++];
    return true;
}

static int port_extents(struct ntb_port *base, struct ntb_port_extent *extents, unsigned capacity)
{
    unsigned count = 0;
    (void)base;
    if (port.has_no_table)
        return -1;
    for (uint64_t id = port.last_id; id > 0 && count < capacity; id--)
        if (port.state[id] != UNKNOWN)
            extents[count++] = (struct ntb_port_extent){
                .id = id, .length = PAGE, .quarantined = port.state[id] == QUARANTINED};
    return (int)count;
}

static enum rsm_status port_extent_make(struct ntb_port *base, uint64_t offset, uint64_t length,
                                        struct ntb_port_memory *memory)
{
    (void)base, (void)offset, (void)length;
    *memory = (struct ntb_port_memory){.id = ++port.last_id, .fd = -1};
    assert_in_range(port.last_id, 1, EXTENTS_MAX - 1);
    port.state[memory->id] = LIVE;
    return RSM_ST_OK;
}

static void port_extent_close(struct ntb_port *base, const struct ntb_port_memory *memory)
{
    (void)base;
    assert_int_equal(port.state[memory->id], LIVE);
    port.state[memory->id] = QUARANTINED;
    tell(NTB_PORT_QUARANTINED, memory->id);
}

static bool port_extent_release(struct ntb_port *base, uint64_t id)
{
    (void)base;
    assert_int_equal(port.state[id], QUARANTINED);
    if (port.refuses)
        return false;
    port.state[id] = UNKNOWN;
    tell(NTB_PORT_FREE, id);
    return true;
}

static const struct ntb_port_ops ops = {.close = port_close,
                                        .info = port_info,
                                        .next = port_next,
                                        .extents = port_extents,
                                        .extent_make = port_extent_make,
                                        .extent_close = port_extent_close,
                                        .extent_release = port_extent_release};

static int begin(void **state)
{
    (void)state;
    memset(&port, 0, sizeof port);
    port.base.ops = &ops;
    window = ntb_window_begin(&port.base, 1, &(struct ntb_options){.pool = 0});
    assert_non_null(window);
    return 0;
}

static int end(void **state)
{
    (void)state;
    ntb_window_end(window);
    assert_true(port.closed);
    return 0;
}

static struct rsm_extent *make(void)
{
    struct rsm_extent *extent;
    assert_int_equal(ntb_extent_make(&window->base, PAGE, &extent), RSM_ST_OK);
    return extent;
}

static struct rsm_node_offer *offer(struct rsm_extent *extent)
{
    const struct rsm_importer importer = {.node = PEER};
    const struct rsm_extent_piece piece = {.extent = extent, .length = PAGE};
    struct rsm_offer grant;
    struct rsm_node_offer *made;
    assert_int_equal(
        ntb_offer_make(&window->base, &piece, 1, RSM_RIGHT_READ, &importer, &grant, &made),
        RSM_ST_OK);
    return made;
}

/* Each extent that ends is looked at a few times, however many others there are: in use, given up
 * and held by importers, or ending with it. */
static void the_work_is_linear(void **state)
{
    enum { LOOKS_EACH = 8 };
    static struct rsm_extent *held[EXTENTS], *ending[EXTENTS];
    static struct rsm_node_offer *offers[EXTENTS];
    (void)state;
    for (unsigned i = 0; i < EXTENTS; i++) {
        (void)make();
        held[i] = make();
        ending[i] = make();
        offers[i] = offer(held[i]);
    }
    for (unsigned i = 0; i < EXTENTS; i++)
        ntb_extent_free(&window->base, held[i]);
    for (unsigned i = 0; i < EXTENTS; i++)
        ntb_extent_free(&window->base, ending[i]);
    assert_int_equal(window->allocator.used, 2 * EXTENTS * PAGE);
    for (unsigned i = 0; i < EXTENTS; i++) {
        ntb_offer_revoke(&window->base, offers[i]);
        ntb_offer_released(&window->base, offers[i]);
    }
    assert_int_equal(window->allocator.used, EXTENTS * PAGE);
    print_message("%llu looks for the end of %u extents\n", (unsigned long long)window->looks,
                  2 * EXTENTS);
    assert_in_range(window->looks, 2 * EXTENTS, LOOKS_EACH * 2 * EXTENTS);
}

static void a_refused_release_is_tried_again(void **state)
{
    (void)state;
    struct rsm_extent *extent = make();
    port.refuses = true;
    ntb_extent_free(&window->base, extent);
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, PAGE);
    port.refuses = false;
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, 0);
}

/* The port lost the events of the end of three extents, in three states. */
static void lost_events(void **state)
{
    (void)state;
    struct rsm_extent *in_use = make(), *freed = make(), *quarantined = make(), *held = make();
    struct rsm_node_offer *grant = offer(held);
    port.loses = true;
    ntb_extent_free(&window->base, freed);
    port.state[2] = UNKNOWN; /* a new session has freed it */
    ntb_extent_free(&window->base, quarantined);
    ntb_extent_free(&window->base, held);
    assert_int_equal(window->allocator.used, 4 * PAGE);
    port.loses = false;
    tell(NTB_PORT_LOST, 0);
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, 2 * PAGE);
    assert_int_equal(port.state[1], LIVE);
    assert_int_equal(port.state[4], QUARANTINED); /* its importers may still store there */
    ntb_offer_released(&window->base, grant);
    assert_int_equal(window->allocator.used, PAGE);
    ntb_extent_free(&window->base, in_use);
    assert_int_equal(window->allocator.used, 0);
}

/* Not to know what the port has is no reason to take it for free. */
static void a_table_that_cannot_be_read(void **state)
{
    (void)state;
    struct rsm_extent *extent = make();
    port.loses = port.has_no_table = true;
    ntb_extent_free(&window->base, extent);
    port.loses = false;
    tell(NTB_PORT_LOST, 0);
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, PAGE);
    port.has_no_table = false;
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, 0);
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)
    const struct CMUnitTest tests[] = {
        TEST(the_work_is_linear),
        TEST(a_refused_release_is_tried_again),
        TEST(lost_events),
        TEST(a_table_that_cannot_be_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
