/* SPDX-License-Identifier: BSD-3-Clause */
/* Requests that wait for a link which is made on demand. */
#include "node/interrupts.h"
#include "node/shares.h"
#include "pair.h"

#include <event2/event.h>

/* The link between the two is not there, and is made on demand. */
static int parked_begin(void **state)
{
    pair_begin(state);
    link_down(1, 2);
    hosts.on_demand = true;
    return 0;
}

#define TEST(name) TEST_BETWEEN(name, parked_begin, pair_end)

static uint64_t forwards(void)
{
    return hosts.node[2].shares.used[RSMD_FORWARDS];
}

static void link_made(void)
{
    link_up(1, 2);
    rsmd_remote_needed(&hosts.node[2], 1, true);
    deliver_all();
}

static void link_not_made(void)
{
    rsmd_remote_needed(&hosts.node[2], 1, false);
    deliver_all();
}

static void begin_locate(void)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_LOCATE, .sequence = 7, .u.locate = {.controller = "sci0", .node = 1}};
    begin(&importer, &msg);
}

TEST(each_kind_of_request_waits)
{
    const struct rsm_msg requests[] = {
        {.type = RSM_MSG_LOCATE, .sequence = 7, .u.locate = {.controller = "sci0", .node = 1}},
        {.type = RSM_MSG_IMPORT_CONNECT,
         .sequence = 7,
         .u.import_connect =
             {.controller = "sci0", .node = 1, .segment_id = SEGMENT, .rights = RSM_RIGHT_READ}},
        {.type = RSM_MSG_INTERRUPT_CONNECT,
         .sequence = 7,
         .u.interrupt_connect = {.node = 1, .kind = RSM_INTERRUPT_PLAIN, .number = 3}},
    };
    static const uint32_t expected[] = {RSM_ST_OK, RSM_ST_OK, RSM_ST_NOT_FOUND};
    for (unsigned i = 0; i < 3; i++) {
        struct rsm_msg msg = requests[i];
        unsigned answers = importer.answers, needs = hosts.needs;
        begin(&importer, &msg);
        deliver_all();
        assert_int_equal(hosts.needs, needs + 1);
        assert_int_equal(importer.answers, answers);
        assert_int_equal(forwards(), 1);
        link_made();
        assert_int_equal(importer.answers, answers + 1);
        assert_int_equal(importer.reply.type, msg.type | RSM_MSG_REPLY);
        assert_int_equal(importer.reply.sequence, 7);
        assert_int_equal(importer.reply.status, expected[i]);
        assert_int_equal(forwards(), 0);
        link_down(1, 2);
    }
}

TEST(a_link_that_cannot_be_made)
{
    begin_locate();
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_int_equal(forwards(), 2);
    link_not_made();
    assert_int_equal(importer.answers, 2);
    assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
    assert_int_equal(forwards(), 0);
}

/* A link that is about to be closed is not used; what waits survives its end. */
TEST(a_link_that_is_being_closed)
{
    link_up(1, 2);
    hosts.closing = true;
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    deliver_all();
    assert_int_equal(importer.answers, 0);
    link_down(1, 2);
    assert_int_equal(importer.answers, 0);
    hosts.closing = false;
    link_made();
    assert_int_equal(importer.answers, 1);
    assert_int_equal(importer.reply.status, RSM_ST_OK);
}

TEST(nothing_is_in_use_while_requests_wait)
{
    assert_false(rsmd_remote_in_use(&hosts.node[2], 1));
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_false(rsmd_remote_in_use(&hosts.node[2], 1)); /* the carrier knows that it is wanted */
    link_up(1, 2);
    rsmd_remote_needed(&hosts.node[2], 1, true);
    assert_true(rsmd_remote_in_use(&hosts.node[2], 1)); /* asked, and not answered */
    deliver_all();
    assert_int_equal(importer.reply.status, RSM_ST_OK);
    assert_true(rsmd_remote_in_use(&hosts.node[2], 1));
    assert_true(rsmd_remote_in_use(&hosts.node[1], 2));
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import =
                              importer.reply.u.import_connect_reply.import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    deliver_all();
    assert_false(rsmd_remote_in_use(&hosts.node[2], 1));
    assert_false(rsmd_remote_in_use(&hosts.node[1], 2));
}

TEST(a_client_that_ends_takes_its_requests_along)
{
    struct person other;
    person_begin(&other, 2, 501);
    begin_connect(&other, 1, RSM_RIGHT_READ);
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    begin_connect(&other, 1, RSM_RIGHT_READ);
    assert_int_equal(forwards(), 3);
    person_end(&other);
    assert_int_equal(forwards(), 1);
    link_made();
    assert_int_equal(importer.answers, 1);
    assert_int_equal(other.answers, 0);
}

/* They are answered in the order in which they came, and count like those under way. */
TEST(many_wait)
{
    unsigned before = importer.client.forward_count;
    for (unsigned i = 0; i < 50; i++)
        begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_int_equal(importer.client.forward_count, before + 50);
    link_made();
    assert_int_equal(importer.answers, 50);
    assert_int_equal(importer.client.forward_count, before);
}

TEST(the_peer_time_out_bounds_the_wait)
{
    hosts.node[2].conf.peer_timeout_ms = 100;
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    for (int i = 0; i < 1000 && importer.answers == 0; i++)
        event_base_loop(hosts.base, EVLOOP_ONCE);
    assert_int_equal(importer.answers, 1);
    assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
    link_made();
    assert_int_equal(importer.answers, 1);
}

/* A peer's answer with the number of a request that was not sent. */
TEST(an_answer_to_what_was_not_asked)
{
    link_up(1, 2);
    hosts.closing = true;
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    for (uint32_t request = 0; request < 4; request++)
        forge(1, 2,
              (struct rsm_cluster_msg){
                  .type = RSM_CLUSTER_CONNECT_REPLY,
                  .u.connect_reply = {.request = request, .status = RSM_ST_NOT_FOUND}});
    assert_int_equal(importer.answers, 0);
    hosts.closing = false;
    rsmd_remote_needed(&hosts.node[2], 1, true);
    deliver_all();
    assert_int_equal(importer.answers, 1);
    assert_int_equal(importer.reply.status, RSM_ST_OK);
}

TEST(links_that_are_permanent)
{
    hosts.on_demand = false;
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_NO_ROUTE);
    begin_locate();
    assert_int_equal(importer.reply.status, RSM_ST_NO_ROUTE);
    assert_int_equal(forwards(), 0);
}
