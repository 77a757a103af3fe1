/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * As many connections between two nodes as one user may have, and what then ends or goes on at once: the link, a
 * fabric, waiting relays, requests under way. No step takes long, in processor time of this thread. Where a
 * walk is to be spared, a late one of equal requests must not cost much more than an early one.
 */
#include <event2/event.h>

#include "common/steps.h"
#include "pair.h"
#include "node/fabric.h"
#include "remote/internal.h"

enum { MANY = 20000, HALF = MANY / 2, FEW = 3000, STEP_MAX_US = 50000 };

static struct rsm_import_connect_reply made[MANY];
static int64_t longest;

/* A segment of node 1, and a process of node 2. */
static int set_up(void **state)
{
    struct rlimit limit = {.rlim_cur = 65536, .rlim_max = 65536};
    (void)setrlimit(RLIMIT_NOFILE, &limit); /* shares of descriptors follow it */
    hosts_begin(state);
    for (uint32_t id = 1; id <= HOSTS; id++)
        hosts.node[id].has_turns = true;
    pair_meet();
    return 0;
}

static void connect_many(unsigned count)
{
    for (unsigned i = 0; i < count; i++) {
        assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_OK);
        made[i] = importer.reply.u.import_connect_reply;
        rsm_packet_fds_close(&importer.fds);
    }
}

static void noted(int64_t begun)
{
    int64_t took = rsmd_processor_ns() - begun;
    longest = took > longest ? took : longest;
}

/* One round of the loop after the other; how many until the nodes have nothing in common. */
static unsigned rounds_until_over(void)
{
    unsigned rounds = 0;
    do {
        int64_t begun = rsmd_processor_ns();
        event_base_loop(hosts.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
        noted(begun);
        while (deliver())
            continue;
    } while (++rounds < MANY &&
             (rsmd_remote_busy(&hosts.node[1], 2) || rsmd_remote_busy(&hosts.node[2], 1) ||
              HASH_COUNT(hosts.node[1].importers) > 0));
    return rounds;
}

static void judge(const char *what)
{
    print_message("%s: the longest step took %.3f ms\n", what, (double)longest / 1e6);
    assert_in_range(longest / 1000, 0, STEP_MAX_US);
}

static void all_have_moved(unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        assert_true(has_moved(&importer, &made[i]));
}

/* ------------------------------------------------------------------ ends */

#define TEST(test) TEST_BETWEEN(test, set_up, pair_end)

TEST(a_link_goes)
{
    connect_many(MANY);
    longest = 0;
    hosts.link[1][2] = hosts.link[2][1] = false;
    for (uint32_t id = 1; id <= 2; id++) {
        int64_t begun = rsmd_processor_ns();
        rsmd_remote_down(&hosts.node[id], 3 - id);
        noted(begun);
        assert_true(rsmd_remote_busy(&hosts.node[id], 3 - id));
    }
    all_have_moved(MANY);
    /* The exporter's node has not revoked all of them, and keeps the memory for those. */
    assert_in_range(HASH_COUNT(hosts.node[1].importers), 1, MANY);
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_RECEIVERS,
                          .u.event_receivers = {RSM_EVENT_IMPORT, made[MANY - 1].import, 0}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_int_equal(importer.reply.u.event_receivers_reply.total, 0); /* no event gets there */
    assert_int_equal(hosts.proceeds, 0);
    assert_true(rounds_until_over() > 1);
    assert_int_equal(hosts.proceeds, 2);
    assert_int_equal(hosts.revokes, MANY);
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
    assert_int_equal(HASH_COUNT(hosts.node[2].importers), MANY); /* handles of the process */
    judge("a link that goes");
}

/* Nothing ends. Half of the connections go while it is being noted. */
TEST(a_node_is_silent)
{
    struct rsm_msg open = {.type = RSM_MSG_EVENT_OPEN,
                           .u.event_open = {.end = RSM_EVENT_EXPORT_RECORDS, .id = export_id}};
    assert_int_equal(ask(&exporter, &open), RSM_ST_OK);
    connect_many(MANY);
    longest = 0;
    for (uint32_t id = 1; id <= 2; id++) {
        int64_t begun = rsmd_processor_ns();
        rsmd_remote_silent(&hosts.node[id], 3 - id, true);
        noted(begun);
        assert_false(rsmd_silence_is_noted(rsmd_remote_of(&hosts.node[id], 3 - id)));
    }
    for (unsigned i = 0; i < HALF; i++) {
        struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                              .u.import_disconnect.import = made[i].import};
        assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    }
    while (deliver())
        continue;
    for (uint32_t id = 1; id <= 2; id++)
        while (!rsmd_silence_is_noted(rsmd_remote_of(&hosts.node[id], 3 - id))) {
            int64_t begun = rsmd_processor_ns();
            event_base_loop(hosts.base, EVLOOP_ONCE | EVLOOP_NONBLOCK);
            noted(begun);
        }
    const struct rsmd_importer *one;
    for (one = hosts.node[1].importers; one != NULL; one = one->hh.next)
        assert_true(one->silent);
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), MANY - HALF);
    judge("a node is silent");
}

/* Without a carrier that waits, and with a process that goes meanwhile. HALF is more than one slice
 * ends on a fast machine. */
TEST(a_link_comes_up_again_meanwhile)
{
    connect_many(HALF);
    link_down(1, 2);
    assert_true(rsmd_remote_busy(&hosts.node[1], 2) || rsmd_remote_busy(&hosts.node[2], 1));
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = made[HALF - 1].import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    link_up(1, 2);
    assert_false(rsmd_remote_busy(&hosts.node[1], 2) || rsmd_remote_busy(&hosts.node[2], 1));
    assert_int_equal(hosts.revokes, HALF);
    connect_many(1);
    deliver_all();
    assert_false(has_moved(&importer, &made[0]));
}

static struct rsmd_controller *controller_of(uint32_t node)
{
    struct rsmd_controller *controller = hosts.node[node].controllers;
    while (strcmp(controller->name, "sci0") != 0)
        controller = controller->next;
    return controller;
}

TEST(a_fabric_goes)
{
    connect_many(MANY);
    longest = 0;
    int64_t begun = rsmd_processor_ns();
    rsmd_reach_link(&hosts.node[2], controller_of(2), false);
    noted(begun);
    all_have_moved(MANY);
    assert_in_range(hosts.revokes, 0, MANY - 1);
    rounds_until_over();
    assert_int_equal(hosts.revokes, MANY);
    judge("a fabric that goes, at the importers");
}

TEST(a_fabric_goes_at_the_exporter)
{
    connect_many(MANY);
    longest = 0;
    int64_t begun = rsmd_processor_ns();
    rsmd_reach_link(&hosts.node[1], controller_of(1), false);
    noted(begun);
    assert_in_range(hosts.revokes, 0, MANY - 1);
    rounds_until_over();
    assert_int_equal(hosts.revokes, MANY);
    all_have_moved(MANY);
    judge("a fabric that goes, at the exporter");
}

/* Each that is held is named before the rest is released. */
TEST(what_is_held_is_reported)
{
    transport_accepts();
    link_down(1, 2);
    rounds_until_over();
    link_up(1, 2);
    deliver_all();
    connect_many(FEW);
    link_down(1, 2);
    rounds_until_over();
    assert_int_equal(hosts.held, FEW);
    longest = 0;
    hosts.queued = 1000000; /* the link has too much to carry */
    hosts.link[1][2] = hosts.link[2][1] = true;
    rsmd_remote_up(&hosts.node[1], 2);
    int64_t begun = rsmd_processor_ns();
    rsmd_remote_up(&hosts.node[2], 1);
    noted(begun);
    while (deliver()) /* node 1 has nothing to report */
        continue;
    hosts.queued = 0;
    unsigned named = 0;
    bool released = false;
    for (int i = 0; i < FEW && !released; i++) {
        begun = rsmd_processor_ns();
        event_base_loop(hosts.base, EVLOOP_ONCE);
        noted(begun);
        while (deliver())
            named++;
        released = !rsmd_remote_of(&hosts.node[2], 1)->reporting;
    }
    assert_true(released);
    assert_int_equal(named, FEW + 1);
    assert_int_equal(hosts.held, FEW);
    judge("a report of what is held");
}

/* ------------------------------------------------------------------ walks */

/* Processor time of a page of receivers. */
static int64_t page_from(uint32_t first)
{
    struct rsm_msg reply, msg = {.type = RSM_MSG_EVENT_RECEIVERS,
                                 .u.event_receivers = {RSM_EVENT_EXPORT, export_id, first}};
    struct rsmd_call call = {.node = exporter.node,
                             .client = &exporter.client,
                             .who = exporter.client.peer,
                             .request = &msg,
                             .reply = &reply};
    int64_t begun = rsmd_processor_ns();
    rsmd_dispatch(&call);
    int64_t took = rsmd_processor_ns() - begun;
    assert_int_equal(reply.status, RSM_ST_OK);
    assert_true(reply.u.event_receivers_reply.count > 0);
    return took;
}

TEST(a_late_page_of_receivers_costs_what_an_early_one_does)
{
    int64_t early = INT64_MAX, late = INT64_MAX;
    struct person neighbour; /* an importer without counter stays, if it is of this host */
    person_begin(&neighbour, 1, 500);
    for (unsigned i = 0; i < MANY; i++)
        assert_int_equal(connect_to(&neighbour, 1, RSM_RIGHT_READ), RSM_ST_OK);
    for (int i = 0; i < 3; i++) {
        for (uint32_t first = 0; first < MANY; first += RSM_PROTO_COUNTERS_MAX) {
            int64_t took = page_from(first);
            if (first < MANY / 50)
                early = took < early ? took : early;
            if (first > MANY - MANY / 50)
                late = took < late ? took : late;
        }
    }
    print_message("pages of receivers: %.1f us, late ones %.1f us\n", (double)early / 1e3,
                  (double)late / 1e3);
    assert_in_range(late, 0, 5 * early + 5000);
    page_from(MANY / 2); /* out of order: it is found all the same */
    person_end(&neighbour);
}

/* Processor time of the answer to the oldest or the latest of the requests under way. */
static int64_t answer_to(uint32_t request)
{
    struct rsm_cluster_msg msg = {
        .type = RSM_CLUSTER_CONNECT_REPLY,
        .u.connect_reply = {.request = request, .status = RSM_ST_NOT_FOUND}};
    unsigned answers = importer.answers;
    int64_t begun = rsmd_processor_ns();
    forge(1, 2, msg);
    int64_t took = rsmd_processor_ns() - begun;
    assert_int_equal(importer.answers, answers + 1);
    return took;
}

TEST(an_answer_costs_the_same_however_many_are_awaited)
{
    const struct rsmd_remote *remote = rsmd_remote_of(&hosts.node[2], 1);
    unsigned first = remote->last_request + 1, count = 0;
    for (; HASH_COUNT(remote->waiting) == count; count++)
        begin_connect(&importer, 1, RSM_RIGHT_READ);
    count = HASH_COUNT(remote->waiting);
    assert_true(count > 1000);
    int64_t oldest = INT64_MAX, latest = INT64_MAX;
    for (unsigned i = 0; i < 100; i++) {
        int64_t took = answer_to(first + i);
        oldest = took < oldest ? took : oldest;
        took = answer_to(first + count - 1 - i);
        latest = took < latest ? took : latest;
    }
    print_message("of %u, the oldest is answered in %.1f us, the latest in %.1f us\n", count,
                  (double)oldest / 1e3, (double)latest / 1e3);
    assert_in_range(latest, 0, 3 * oldest + 1000);
    deliver_all();
}

/* ------------------------------------------------------------------ relays */

TEST(relays_that_wait_are_tried_in_slices)
{
    static struct rsm_event_counter *counter[MANY];
    struct rsmd_remotes *here = hosts.node[2].hosts;
    connect_many(FEW);
    hosts.queued = 1000000; /* the link has too much to carry */
    for (unsigned i = 0; i < FEW; i++) {
        struct rsm_msg msg = {.type = RSM_MSG_EVENT_RECEIVERS,
                              .u.event_receivers = {RSM_EVENT_IMPORT, made[i].import, 0}};
        assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
        counter[i] = rsm_event_counter_map(importer.fds.fds[0]);
        assert_non_null(counter[i]);
        rsm_packet_fds_close(&importer.fds);
        rsm_event_counter_post(counter[i], 1, false);
        rsm_event_counter_unmap(counter[i]);
        msg = (struct rsm_msg){.type = RSM_MSG_EVENT_DOORBELL,
                               .u.event_doorbell = {RSM_EVENT_IMPORT, made[i].import, 0}};
        begin(&importer, &msg);
    }
    assert_int_equal(here->relay_count, FEW);
    uint64_t before = hosts.node[2].events;
    hosts.queued = 0;
    longest = 0;
    unsigned rounds = 0;
    for (; here->relay_count > 0; rounds++) {
        int64_t begun = rsmd_processor_ns();
        event_base_loop(hosts.base, EVLOOP_ONCE);
        noted(begun);
    }
    assert_int_equal(hosts.node[2].events - before, FEW);
    assert_true(rounds > 1);
    judge("relays that have waited");
}
