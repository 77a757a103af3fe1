/* SPDX-License-Identifier: BSD-3-Clause */
/* Offers whose end a transport reports later: what waits for it, what goes on, and how long. */
#include "pair.h"

#include "base/clock.h"
#include "node/clients.h"
#include "node/revokes.h"
#include "node/unfinished.h"

static struct rsm_import_connect_reply connected(void)
{
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE), RSM_ST_OK);
    return importer.reply.u.import_connect_reply;
}

static void disconnect(uint32_t import)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT, .u.import_disconnect.import = import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    deliver_all();
}

static void begin_unpublish(uint32_t flags)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish = {.export_id = export_id, .flags = flags}};
    begin(&exporter, &msg);
}

static void begin_destroy(uint32_t flags)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_DESTROY,
                          .u.export_destroy = {.export_id = export_id, .flags = flags}};
    begin(&exporter, &msg);
}

static unsigned answers;

/* The request that begins next has to wait. */
static void expect_to_wait(void)
{
    answers = exporter.answers;
}

static void still_waits(void)
{
    deliver_all();
    assert_int_equal(exporter.answers, answers);
}

static void is_answered(uint32_t type, enum rsm_status status)
{
    assert_int_equal(exporter.answers, answers + 1);
    assert_int_equal(exporter.reply.type, type | RSM_MSG_REPLY);
    assert_int_equal(exporter.reply.status, status);
}

static enum rsm_status free_extent(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_FREE,
                          .u.extent_free.extent = exporter.client.extents->id};
    return ask(&exporter, &msg);
}

static uint64_t used(enum rsmd_resource what)
{
    return hosts.node[1].shares.used[what];
}

/* ------------------------------------------------------------------ requests of the exporter */

static void unpublish_is_answered_when_all_offers_have_ended(void **state)
{
    (void)state;
    hosts.keeps_descriptors = 2;
    transport_ends_later();
    struct rsm_import_connect_reply first = connected(), second = connected();
    uint64_t descriptors = used(RSMD_DESCRIPTORS), segments = used(RSMD_SEGMENTS);
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    assert_true(has_moved(&importer, &first) && has_moved(&importer, &second));
    assert_int_equal(hosts.ending, 2);
    assert_int_equal(hosts.revokes, 0);
    assert_int_equal(used(RSMD_DESCRIPTORS), descriptors);
    assert_int_equal(used(RSMD_SEGMENTS), segments);
    offers_end(1, 1);
    still_waits();
    assert_int_equal(used(RSMD_DESCRIPTORS), descriptors - 2);
    assert_int_equal(free_extent(), RSM_ST_BUSY); /* which is answered at once */
    expect_to_wait();
    offers_end(1, 1);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    assert_int_equal(used(RSMD_DESCRIPTORS), descriptors - 4);
    assert_int_equal(used(RSMD_SEGMENTS), segments - 2);
    assert_int_equal(free_extent(), RSM_ST_OK);
    assert_int_equal(hosts.revokes, 0);
    assert_int_equal(exporter.client.forward_count, 0);
    assert_int_equal(exporter.client.jobs, 0);
}

static void destroy_is_answered_when_all_offers_have_ended(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    expect_to_wait();
    begin_destroy(0);
    still_waits();
    assert_null(exporter.client.exports);
    assert_true(rsmd_id_in_use(&hosts.node[1], export_id)); /* or another segment would wait */
    offers_end(1, 1);
    is_answered(RSM_MSG_EXPORT_DESTROY, RSM_ST_OK);
    assert_false(rsmd_id_in_use(&hosts.node[1], export_id));
    assert_int_equal(free_extent(), RSM_ST_OK);
}

/* The importer has disconnected, and need not wait itself. */
static void connections_that_ended_before_count(void **state)
{
    (void)state;
    transport_ends_later();
    disconnect(connected().import);
    assert_int_equal(hosts.ending, 1);
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    begin_unpublish(0); /* again, by a client that has not waited long enough */
    still_waits();
    offers_end(1, 1);
    assert_int_equal(exporter.answers, answers + 2);
    assert_int_equal(exporter.reply.status, RSM_ST_OK);
    expect_to_wait();
    begin_unpublish(0);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_NOT_PUBLISHED);
}

/* A destroy that the segment's use would prevent waits, too. */
static void an_unused_segment_is_destroyed_later(void **state)
{
    (void)state;
    transport_ends_later();
    disconnect(connected().import);
    expect_to_wait();
    begin_destroy(RSM_DESTROY_UNUSED);
    still_waits();
    offers_end(1, 1);
    is_answered(RSM_MSG_EXPORT_DESTROY, RSM_ST_OK);
}

/* While connections go on the exporter expects accesses anyway. */
static void who_keeps_connections_does_not_wait(void **state)
{
    (void)state;
    transport_ends_later();
    struct rsm_import_connect_reply kept = connected();
    disconnect(connected().import);
    expect_to_wait();
    begin_unpublish(RSM_UNPUBLISH_KEEP_CONNECTIONS);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    assert_true(has_moved(&importer, &kept));
    offers_end(1, 1);
    still_waits();
    offers_end(1, 1);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
}

/* The work takes several slices, and the reply waits for the rest, and then for the offers. */
static void many_connections_end_in_slices(void **state)
{
    enum { COUNT = 6 };
    struct rsmd_node *node = &hosts.node[1];
    (void)state;
    transport_ends_later();
    for (unsigned i = 0; i < COUNT; i++)
        connected();
    node->has_turns = true;
    hosts.begin_us = 600;
    expect_to_wait();
    begin_unpublish(0);
    assert_true(rsmd_unfinished_is(&exporter.client));
    offers_end(1, hosts.ending); /* some come before all have begun */
    while (!rsmd_unfinished_go_on(node, &exporter.client, 0))
        still_waits();
    still_waits();
    assert_int_equal(hosts.begun, COUNT);
    assert_true(hosts.ending > 0);
    offers_end(1, hosts.ending);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
}

/* ------------------------------------------------------------------ meanwhile */

static void the_id_can_be_published_anew(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    uint32_t old = export_id;
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    (void)offer_page(&exporter, 0600); /* of other memory */
    struct rsm_import_connect_reply anew = connected();
    expect_to_wait();
    begin_unpublish(0); /* of the old one, a second time */
    still_waits();
    offers_end(1, 1);
    assert_int_equal(exporter.answers, answers + 2);
    assert_false(has_moved(&importer, &anew));
    assert_int_equal(hosts.ending, 0);
    assert_int_equal(old, export_id);
}

static bool settled;

static void on_settled(struct rsmd_client *client)
{
    settled = client == &exporter.client;
}

static void an_exporter_that_dies_leaves_its_memory_until_the_end(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    disconnect(connected().import);
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    settled = false;
    exporter.client.ending = true;
    exporter.client.settled = on_settled;
    assert_true(rsmd_client_clear_until(exporter.node, &exporter.client, INT64_MAX));
    assert_true(used(RSMD_BYTES) > 0);
    offers_end(1, 1);
    assert_false(settled);
    offers_end(1, 1);
    assert_true(settled);
    assert_int_equal(used(RSMD_BYTES), 0);
    still_waits(); /* it is not answered any more */
}

/* As the one before, but nothing was asked. */
static void an_exporter_that_dies_amid_connections_does_not_wait(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    settled = false;
    exporter.client.ending = true;
    exporter.client.settled = on_settled;
    assert_true(rsmd_client_clear_until(exporter.node, &exporter.client, INT64_MAX));
    assert_int_equal(hosts.ending, 1);
    assert_true(used(RSMD_BYTES) > 0);
    offers_end(1, 1);
    assert_true(settled);
    assert_int_equal(used(RSMD_BYTES), 0);
}

/* The next link does not wait, for the offers of the former end on their own. */
static void the_importers_node_goes_and_comes_back(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    link_down(1, 2);
    assert_int_equal(hosts.ending, 1);
    link_up(1, 2);
    struct rsm_import_connect_reply anew = connected();
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    assert_true(has_moved(&importer, &anew));
    assert_int_equal(hosts.ending, 2);
    offers_end(1, 2);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
}

/* An offer that no importer gets has been made nevertheless. */
static void a_refused_connect_leaves_an_offer(void **state)
{
    (void)state;
    transport_ends_later();
    hosts.keeps_threads = 1000;
    rsmd_shares_limit(&hosts.node[1].shares, RSMD_THREADS, 40);
    uint64_t segments = used(RSMD_SEGMENTS);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_NO_RESOURCES);
    assert_int_equal(hosts.ending, 1);
    assert_int_equal(used(RSMD_THREADS), 0);
    assert_int_equal(used(RSMD_SEGMENTS), segments + 1); /* or they could pile up */
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    offers_end(1, 1);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    assert_int_equal(used(RSMD_SEGMENTS), segments);
}

static uint32_t latest_record(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_MAILBOX_TAKE,
                          .u.mailbox_take = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    const struct rsm_mailbox_take_reply *page = &exporter.reply.u.mailbox_take_reply;
    assert_true(page->count > 0);
    return page->entries[page->count - 1].record.event;
}

/* An exporter that has read that an importer has gone expects no more of its bytes. */
static void the_record_comes_at_the_end(void **state)
{
    (void)state;
    transport_ends_later();
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    rsm_packet_fds_close(&exporter.fds);
    disconnect(connected().import);
    assert_int_equal(latest_record(), RSM_RECORD_CONNECTED);
    offers_end(1, 1);
    assert_int_equal(latest_record(), RSM_RECORD_DISCONNECTED);
}

/* ------------------------------------------------------------------ bounds */

static void what_does_not_end_is_ended_in_time(void **state)
{
    (void)state;
    transport_ends_later();
    hosts.node[1].conf.peer_timeout_ms = 100;
    connected();
    connected();
    int64_t began = rsm_clock_ms();
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    while (exporter.answers == answers)
        event_base_loop(hosts.base, EVLOOP_ONCE);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    assert_in_range(rsm_clock_ms() - began, 50, 5000);
    assert_int_equal(hosts.revokes, 2);
    assert_int_equal(hosts.ending, 0);
}

static void all_ends_with_the_daemon(void **state)
{
    (void)state;
    transport_ends_later();
    connected();
    expect_to_wait();
    begin_unpublish(0);
    still_waits();
    rsmd_revokes_finish(&hosts.node[1]);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(free_extent(), RSM_ST_OK);
}

/* The transport need not take longer. */
static void what_ends_at_once_delays_nobody(void **state)
{
    (void)state;
    transport_ends_later();
    hosts.ends_at_once = true;
    connected();
    expect_to_wait();
    begin_unpublish(0);
    is_answered(RSM_MSG_EXPORT_UNPUBLISH, RSM_ST_OK);
    assert_int_equal(hosts.begun, 1);
    assert_int_equal(hosts.revokes, 0);
    assert_int_equal(free_extent(), RSM_ST_OK);
}

static void reports_of_other_offers_do_no_harm(void **state)
{
    (void)state;
    struct rsm_node_offer nobody;
    transport_ends_later();
    struct rsm_import_connect_reply import = connected();
    rsmd_revoked(&hosts.node[1], &nobody);
    rsmd_revoked(&hosts.node[1], exporter.client.exports->grants->made); /* it has not begun */
    assert_false(has_moved(&importer, &import));
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, pair_begin, pair_end)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(unpublish_is_answered_when_all_offers_have_ended),
        TEST(destroy_is_answered_when_all_offers_have_ended),
        TEST(connections_that_ended_before_count),
        TEST(an_unused_segment_is_destroyed_later),
        TEST(who_keeps_connections_does_not_wait),
        TEST(many_connections_end_in_slices),
        TEST(the_id_can_be_published_anew),
        TEST(an_exporter_that_dies_leaves_its_memory_until_the_end),
        TEST(an_exporter_that_dies_amid_connections_does_not_wait),
        TEST(the_importers_node_goes_and_comes_back),
        TEST(a_refused_connect_leaves_an_offer),
        TEST(the_record_comes_at_the_end),
        TEST(what_does_not_end_is_ended_in_time),
        TEST(all_ends_with_the_daemon),
        TEST(what_ends_at_once_delays_nobody),
        TEST(reports_of_other_offers_do_no_harm),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
