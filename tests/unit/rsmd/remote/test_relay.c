/* SPDX-License-Identifier: BSD-3-Clause */
/* Events between nodes of different hosts: counts, coalescing, order, a link that does not keep up.
 */
#include "pair.h"

static uint32_t import_id;

static int set_up(void **state)
{
    pair_begin(state);
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_OK);
    import_id = importer.reply.u.import_connect_reply.import;
    return 0;
}

static void to_exporter(uint32_t count, bool coalesce)
{
    post(&importer, RSM_EVENT_IMPORT, import_id, count, coalesce);
}

static void to_importers(uint32_t count, bool coalesce)
{
    post(&exporter, RSM_EVENT_EXPORT, export_id, count, coalesce);
}

static uint32_t pending_at_exporter(void)
{
    deliver_all();
    return atomic_load(&own_counter(&exporter, RSM_EVENT_EXPORT, export_id)->pending);
}

static uint32_t pending_at_importer(void)
{
    deliver_all();
    return atomic_load(&own_counter(&importer, RSM_EVENT_IMPORT, import_id)->pending);
}

#define TEST(name) TEST_BETWEEN(name, set_up, pair_end)

TEST(counts_cross_both_ways)
{
    to_exporter(1, false);
    to_exporter(2, false);
    assert_int_equal(pending_at_exporter(), 3);
    to_importers(5, false);
    deliver_all();
    to_importers(1, false);
    assert_int_equal(pending_at_importer(), 6);
    assert_int_equal(pending_at_exporter(), 3);
}

/* What a counter at hand would have shown, for every sequence of six posts cut anywhere by the
 * passing on of what there is. */
TEST(coalescing_means_the_same_as_at_hand)
{
    for (unsigned sequence = 0; sequence < 64; sequence++) {
        for (unsigned cuts = 0; cuts < 32; cuts += 5) {
            struct rsm_event_counter near = {.pending = 0};
            struct rsm_event_counter relay = {.relay = 1}, remote = {.pending = 0};
            for (unsigned i = 0; i < 6; i++) {
                bool coalesce = (sequence >> i & 1) != 0;
                rsm_event_counter_post(&near, 1, coalesce);
                rsm_event_counter_post(&relay, 1, coalesce);
                if ((cuts >> i & 1) == 0 && i < 5)
                    continue;
                struct rsm_signals batch = rsm_event_counter_take(&relay);
                if (batch.coalesced)
                    rsm_event_counter_post(&remote, 1, true);
                if (batch.count > 0)
                    rsm_event_counter_post(&remote, batch.count, false);
            }
            assert_int_equal(atomic_load(&near.pending), atomic_load(&remote.pending));
        }
    }
}

TEST(coalesced_posts_cross)
{
    to_exporter(1, true);
    to_exporter(1, true);
    assert_int_equal(pending_at_exporter(), 1);
    to_exporter(1, true);
    assert_int_equal(pending_at_exporter(), 1);
    to_exporter(1, false);
    to_exporter(1, true);
    assert_int_equal(pending_at_exporter(), 2);
    atomic_store(&own_counter(&exporter, RSM_EVENT_EXPORT, export_id)->pending, 0);
    to_exporter(1, true);
    assert_int_equal(pending_at_exporter(), 1);
    to_importers(1, true);
    to_importers(1, true);
    to_importers(1, false);
    assert_int_equal(pending_at_importer(), 2);
}

/* A post before the end of a connection arrives before the news of that end. */
TEST(what_was_posted_arrives_first)
{
    struct rsm_import_connect_reply import = importer.reply.u.import_connect_reply;
    to_importers(3, false);
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish = {.export_id = export_id, .flags = 0}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    assert_true(deliver());
    assert_false(has_moved(&importer, &import));
    assert_int_equal(pending_at_importer(), 3);
    assert_true(has_moved(&importer, &import));
}

TEST(a_client_that_goes_has_posted)
{
    to_exporter(2, false);
    person_end(&importer);
    assert_int_equal(pending_at_exporter(), 2);
}

TEST(counters_stop_at_their_end)
{
    struct rsm_event_counter *cell = own_counter(&exporter, RSM_EVENT_EXPORT, export_id);
    uint32_t there = hosts.node[1].importers->id;
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_EVENT,
                                  .u.event = {there, RSM_EVENT_EXPORT, UINT32_MAX, 0}};
    forge(2, 1, msg);
    forge(2, 1, msg);
    assert_int_equal(atomic_load(&cell->pending), UINT32_MAX);
    msg.u.event.coalesced = 77;
    forge(2, 1, msg);
    assert_int_equal(atomic_load(&cell->pending), UINT32_MAX);
    /* A relay has one bit less. */
    struct rsm_event_counter relay = {.relay = 1};
    rsm_event_counter_post(&relay, 1, true);
    rsm_event_counter_post(&relay, UINT32_MAX, false);
    rsm_event_counter_post(&relay, 1, false);
    struct rsm_signals batch = rsm_event_counter_take(&relay);
    assert_int_equal(batch.count, RSM_EVENT_COALESCED_FIRST - 1);
    assert_true(batch.coalesced);
}

TEST(events_for_what_is_not_theirs)
{
    struct rsm_event_counter *at_export = own_counter(&exporter, RSM_EVENT_EXPORT, export_id);
    struct rsm_event_counter *at_import = own_counter(&importer, RSM_EVENT_IMPORT, import_id);
    uint32_t there = hosts.node[1].importers->id;
    const struct {
        uint32_t from, to;
        struct rsm_cluster_event event;
    } wrong[] = {
        {3, 1, {there, RSM_EVENT_EXPORT, 1, 0}},     /* another node's connection */
        {2, 1, {there, RSM_EVENT_IMPORT, 1, 0}},     /* the wrong end */
        {2, 1, {export_id, RSM_EVENT_EXPORT, 1, 0}}, /* no connection */
        {2, 1, {there + 99, RSM_EVENT_EXPORT, 1, 0}},
        {2, 1, {there, 0, 1, 0}},
        {2, 1, {there, 7, 1, 1}},
        {3, 2, {there, RSM_EVENT_IMPORT, 1, 0}},
        {1, 2, {there, RSM_EVENT_EXPORT, 1, 0}},
        {1, 2, {there + 99, RSM_EVENT_IMPORT, 1, 1}},
        {1, 2, {0, RSM_EVENT_IMPORT, 1, 1}},
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        forge(wrong[i].from, wrong[i].to,
              (struct rsm_cluster_msg){.type = RSM_CLUSTER_EVENT, .u.event = wrong[i].event});
    assert_int_equal(atomic_load(&at_export->pending), 0);
    assert_int_equal(atomic_load(&at_import->pending), 0);
    forge(1, 2,
          (struct rsm_cluster_msg){.type = RSM_CLUSTER_EVENT,
                                   .u.event = {there, RSM_EVENT_IMPORT, 0, 0}});
    assert_int_equal(atomic_load(&at_import->pending), 0);
}

/* Posts wait in their counter while the link is full, and none is lost. */
TEST(a_full_link_makes_events_wait)
{
    hosts.queued = 1 << 20;
    for (int i = 0; i < 100; i++) {
        to_exporter(1, false);
        event_base_loop(hosts.base, EVLOOP_NONBLOCK);
        assert_false(deliver());
    }
    hosts.queued = 0;
    uint32_t pending;
    do {
        struct timeval pause = {.tv_usec = 1000};
        event_base_loopexit(hosts.base, &pause);
        event_base_dispatch(hosts.base);
        pending = pending_at_exporter();
    } while (pending == 0);
    assert_int_equal(pending, 100);
}

TEST(a_relay_counts_as_descriptors_of_its_client)
{
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_RECEIVERS,
                          .u.event_receivers = {RSM_EVENT_IMPORT, import_id, 0}};
    struct rsmd_shares *shares = &hosts.node[2].shares;
    uint64_t used = importer.client.account->used[RSMD_DESCRIPTORS];
    shares->quota[RSMD_DESCRIPTORS].one = used;
    assert_int_equal(ask(&importer, &msg), RSM_ST_NO_RESOURCES);
    shares->quota[RSMD_DESCRIPTORS].one++;
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    rsm_packet_fds_close(&importer.fds);
    link_down(1, 2);
    assert_int_equal(importer.client.account->used[RSMD_DESCRIPTORS], 0);
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_int_equal(importer.reply.u.event_receivers_reply.total, 0);
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_DOORBELL,
                           .u.event_doorbell = {RSM_EVENT_IMPORT, import_id, 0}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_NOT_FOUND);
    msg = (struct rsm_msg){.type = RSM_MSG_EVENT_RECEIVERS,
                           .u.event_receivers = {RSM_EVENT_EXPORT, export_id, 0}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    assert_int_equal(exporter.reply.u.event_receivers_reply.total, 0);
}

/* ------------------------------------------------------------------ by the fabric */

/* Run the daemon; what it sends by the link stays there. */
static void settle(void)
{
    event_base_loop(hosts.base, EVLOOP_NONBLOCK);
}

static void expect_sent(unsigned sends, uint32_t count, bool coalesced)
{
    settle();
    assert_int_equal(hosts.fabric_sends, sends);
    assert_int_equal(hosts.sent.count, count);
    assert_int_equal(hosts.sent.coalesced, coalesced);
}

static void taken(void)
{
    hosts.node[1].importers->ops->taken(hosts.node[1].importers);
}

/* One at a time; what is posted meanwhile goes together when the importer has taken the former. */
TEST(the_fabric_carries_posts)
{
    hosts.fabric = true;
    hosts.queued = 1 << 20; /* of the link that is not used */
    to_importers(2, false);
    expect_sent(1, 2, false);
    to_importers(1, true);
    to_importers(70000, false);
    to_importers(1, true);
    to_importers(1, false);
    expect_sent(1, 2, false);
    taken();
    expect_sent(2, 70001, true);
    taken();
    taken(); /* by mistake */
    settle();
    expect_sent(2, 70001, true);
    to_importers(1, true);
    expect_sent(3, 0, true);
    assert_false(deliver());
    /* The other direction is not the daemon's affair. */
    hosts.queued = 0;
    to_exporter(1, false);
    assert_int_equal(pending_at_exporter(), 1);
    assert_int_equal(hosts.fabric_sends, 3);
}

TEST(the_link_carries_what_the_fabric_does_not)
{
    to_importers(2, false);
    assert_int_equal(pending_at_importer(), 2);
    hosts.fabric = true; /* the importer is connected now */
    to_importers(3, false);
    expect_sent(1, 3, false);
    taken();
    hosts.fabric = false; /* and has gone */
    to_importers(4, false);
    assert_int_equal(pending_at_importer(), 6);
}

static void unpublish(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish = {.export_id = export_id, .flags = 0}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
}

/* What the fabric had not delivered, and what waited, arrives before the news of the end. */
TEST(the_end_loses_no_post)
{
    struct rsm_import_connect_reply import = importer.reply.u.import_connect_reply;
    hosts.fabric = true;
    to_importers(3, false);
    settle();
    to_importers(4, false);
    expect_sent(1, 3, false);
    unpublish();
    assert_true(deliver());
    assert_true(deliver());
    assert_false(has_moved(&importer, &import));
    assert_int_equal(pending_at_importer(), 7);
    assert_true(has_moved(&importer, &import));
    assert_int_equal(hosts.fabric_sends, 1);
}

TEST(the_end_doubles_no_post)
{
    hosts.fabric = hosts.arrived = true;
    to_importers(3, false);
    settle();
    to_importers(4, false);
    expect_sent(1, 3, false);
    unpublish();
    assert_int_equal(pending_at_importer(), 4);
}

TEST(an_importer_goes_with_what_it_did_not_take)
{
    hosts.fabric = true;
    to_importers(3, false);
    settle();
    to_importers(4, false);
    expect_sent(1, 3, false);
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = import_id};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    deliver_all();
    assert_null(hosts.node[1].importers);
    assert_int_equal(hosts.fabric_sends, 1);
}

/* The fabric has its last posts already, and rsmd hears of its end first. */
TEST(an_importers_last_posts_are_collected)
{
    to_exporter(1, false);
    assert_int_equal(pending_at_exporter(), 1);
    hosts.posted = (struct rsm_signals){.count = 2, .coalesced = true};
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = import_id};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_int_equal(pending_at_exporter(), 3); /* one was pending */
    assert_null(hosts.node[1].importers);
}
