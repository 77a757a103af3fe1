/* SPDX-License-Identifier: BSD-3-Clause */
/* What a fabric reports of its link and of the nodes of other hosts, while the daemons' links stay
 * up. */
#include "pair.h"
#include "node/controllers.h"
#include "node/fabric.h"
#include "node/topology.h"

static struct rsmd_controller *controller_of(uint32_t node, const char *name)
{
    struct rsmd_controller *controller = rsmd_controller_named(&hosts.node[node], name);
    assert_non_null(controller);
    return controller;
}

static void report_link(uint32_t by, bool up)
{
    rsmd_reach_link(&hosts.node[by], controller_of(by, "sci0"), up);
}

static void report_node(uint32_t by, uint32_t node, bool up, uint64_t epoch)
{
    rsmd_reach_node(&hosts.node[by], controller_of(by, "sci0"), node, up, epoch);
}

static void reports_nodes(uint32_t node)
{
    controller_of(node, "sci0")->port->caps |= RSM_NODE_REPORTS_NODES;
}

static struct rsm_import_connect_reply connected(void)
{
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE), RSM_ST_OK);
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 1);
    return importer.reply.u.import_connect_reply;
}

/* Nothing of the connection is left but the importer's handle. */
static void ended(const struct rsm_import_connect_reply *import, unsigned revokes)
{
    assert_true(has_moved(&importer, import));
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
    assert_int_equal(hosts.revokes, revokes);
}

#define TEST(name) TEST_BETWEEN(name, pair_begin, pair_end)

TEST(a_node_that_died_is_parted_from_at_once)
{
    report_node(2, 1, true, 7);
    struct rsm_import_connect_reply import = connected();
    report_node(2, 1, true, 7); /* nothing new */
    assert_false(has_moved(&importer, &import));
    report_node(2, 1, false, 0);
    assert_true(has_moved(&importer, &import)); /* before any message */
    deliver_all();
    ended(&import, 1); /* and by the link, which is up, the exporter's node knows */
}

TEST(an_exporter_parts_from_a_dead_importer)
{
    report_node(1, 2, true, 7);
    struct rsm_import_connect_reply import = connected();
    report_node(1, 2, false, 0);
    assert_int_equal(hosts.revokes, 1); /* before any message */
    deliver_all();
    ended(&import, 1);
}

TEST(who_comes_back_with_another_epoch_was_away)
{
    report_node(2, 1, true, 7);
    struct rsm_import_connect_reply import = connected();
    report_node(2, 1, true, 8);
    assert_true(has_moved(&importer, &import));
    deliver_all();
    ended(&import, 1);
    import = connected();
    assert_false(has_moved(&importer, &import));
}

TEST(others_are_not_concerned)
{
    struct rsm_import_connect_reply import = connected();
    report_node(2, 3, true, 1);
    report_node(2, 3, false, 0);
    report_node(1, 3, false, 0);
    report_node(2, 2, false, 0); /* itself */
    rsmd_reach_link(&hosts.node[2], controller_of(2, "loopback"), false);
    rsmd_reach_node(&hosts.node[1], controller_of(1, "loopback"), 2, false, 0);
    deliver_all();
    assert_false(has_moved(&importer, &import));
    assert_int_equal(hosts.revokes, 0);
}

TEST(a_port_without_link_connects_nobody)
{
    struct rsm_import_connect_reply import = connected();
    report_link(2, false);
    assert_true(has_moved(&importer, &import));
    deliver_all();
    ended(&import, 1);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_UNREACHABLE);
    report_link(2, true);
    report_link(1, false); /* the same at the other end */
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_UNREACHABLE);
    report_link(1, true);
    (void)connected();
}

TEST(connects_under_way_are_answered)
{
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_int_equal(importer.answers, 0);
    report_node(2, 1, false, 0);
    assert_int_equal(importer.answers, 1);
    assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
    deliver_all(); /* what the exporter's node granted is given back */
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
    assert_int_equal(hosts.revokes, 1);
}

/* State that the topology of node 2 shows of node 1. */
static uint32_t shown(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    const struct rsm_topology_reply *reply = &importer.reply.u.topology_reply;
    for (uint32_t i = 0; i < reply->remote_count; i++)
        if (reply->remotes[i].node == 1)
            return reply->remotes[i].state;
    return RSMD_NODE_UNKNOWN;
}

/* A port that reports nodes reaches none before it has. */
TEST(silence_is_out_of_reach)
{
    assert_int_equal(shown(), RSMD_NODE_ACTIVE);
    reports_nodes(2);
    assert_int_equal(shown(), RSMD_NODE_DOWN);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_UNREACHABLE);
    report_node(2, 1, true, 1);
    assert_int_equal(shown(), RSMD_NODE_ACTIVE);
    reports_nodes(1); /* which has not heard of node 2 */
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_UNREACHABLE);
    report_node(1, 2, true, 1);
    struct rsm_import_connect_reply import = connected();
    report_node(2, 1, false, 0);
    assert_int_equal(shown(), RSMD_NODE_DOWN);
    deliver_all();
    ended(&import, 1);
}
