/* SPDX-License-Identifier: BSD-3-Clause */
/* Extents over a port that is the test's: how much work their end is, and what becomes of them when
 * the port's events are lost. */
#include "fake_port.h"

#define POOL (UINT64_C(64) << 20)

enum { EXTENTS = 1000 };

static struct ntb_window *window;

static int begin(void **state)
{
    fake_port_begin((struct ntb_port_info){
        .pool_size = POOL, .window_size = POOL, .extents_max = FAKE_EXTENTS_MAX});
    window = ntb_window_begin(&port.base, 1, &(struct ntb_options){.pool = 0});
    assert_non_null(window);
    return 0;
}

static int end(void **state)
{
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

#define TEST(name) TEST_BETWEEN(name, begin, end)

/* Each extent that ends is looked at a few times, however many others there are: in use, given up
 * and held by importers, or ending with it. */
TEST(the_work_is_linear)
{
    enum { LOOKS_EACH = 8 };
    static struct rsm_extent *held[EXTENTS], *ending[EXTENTS];
    static struct rsm_node_offer *offers[EXTENTS];
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

TEST(a_refused_release_is_tried_again)
{
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
TEST(lost_events)
{
    struct rsm_extent *in_use = make(), *freed = make(), *quarantined = make(), *held = make();
    struct rsm_node_offer *grant = offer(held);
    port.loses = true;
    ntb_extent_free(&window->base, freed);
    port.extents[2].quarantined = false; /* a new session has freed it */
    ntb_extent_free(&window->base, quarantined);
    ntb_extent_free(&window->base, held);
    assert_int_equal(window->allocator.used, 4 * PAGE);
    port.loses = false;
    fake_port_tell(NTB_PORT_LOST, 0);
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, 2 * PAGE);
    assert_true(port.extents[1].live);
    assert_true(port.extents[4].quarantined); /* its importers may still store there */
    ntb_offer_released(&window->base, grant);
    assert_int_equal(window->allocator.used, PAGE);
    ntb_extent_free(&window->base, in_use);
    assert_int_equal(window->allocator.used, 0);
}

/* Not to know what the port has is no reason to take it for free. */
TEST(a_table_that_cannot_be_read)
{
    struct rsm_extent *extent = make();
    port.loses = port.has_no_table = true;
    ntb_extent_free(&window->base, extent);
    port.loses = false;
    fake_port_tell(NTB_PORT_LOST, 0);
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, PAGE);
    port.has_no_table = false;
    ntb_window_pump(window);
    assert_int_equal(window->allocator.used, 0);
}
