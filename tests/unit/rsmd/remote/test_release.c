/* SPDX-License-Identifier: BSD-3-Clause */
/* Imports that go through the importer's own node, and the memory that waits until that node has
 * released it. */
#include "pair.h"
#include "node/controllers.h"
#include "node/fabric.h"

/* A segment of node 1, and a process of node 2. */
static int set_up(void **state)
{
    hosts_begin(state);
    transport_accepts();
    link_down(1, 2); /* each learns of the other's daemon when the link comes up */
    link_up(1, 2);
    deliver_all();
    pair_meet();
    return 0;
}

static int tear_down(void **state)
{
    person_end(&importer);
    person_end(&exporter);
    deliver_all();
    assert_int_equal(hosts.entries, 0);
    assert_int_equal(hosts.held, 0);
    return hosts_end(state);
}

static struct rsm_import_connect_reply connected(void)
{
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_OK);
    assert_int_equal(hosts.entries, 1);
    return importer.reply.u.import_connect_reply;
}

static void disconnect(const struct rsm_import_connect_reply *import)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = import->import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
}

static void unpublish(void)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish.export_id = export_id};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    /* The importer may reach the memory for a moment: the exporter has to leave it. */
    assert_int_equal(exporter.reply.u.export_unpublish_reply.offered, 1);
}

#define TEST(name) TEST_BETWEEN(name, set_up, tear_down)

TEST(the_process_gets_what_its_node_made)
{
    static const char made[] = "for node 2 of 1";
    struct rsm_import_connect_reply import = connected();
    assert_int_equal(import.blob_len, sizeof made - 1);
    assert_memory_equal(import.blob, made, sizeof made - 1);
    assert_int_equal(importer.late_fds, 1);
    disconnect(&import);
    assert_int_equal(hosts.entries, 0);
    deliver_all();
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(hosts.held, 0);
    assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
}

TEST(refused_by_the_own_node)
{
    static const struct {
        enum rsm_status by_port, told;
    } cases[] = {{RSM_ST_UNREACHABLE, RSM_ST_UNREACHABLE},
                 {RSM_ST_NO_RESOURCES, RSM_ST_NO_RESOURCES},
                 {RSM_ST_PROTOCOL, RSM_ST_UNREACHABLE}};
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        hosts.accept_status = cases[i].by_port;
        assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), cases[i].told);
        deliver_all();
        assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
        assert_int_equal(HASH_COUNT(hosts.node[2].importers), 0);
        assert_int_equal(hosts.held, 0);
    }
    hosts.accept_status = RSM_ST_OK;
}

TEST(a_port_that_cuts_releases_at_once)
{
    hosts.cuts = true;
    struct rsm_import_connect_reply import = connected();
    unpublish();
    assert_int_equal(hosts.held, 1); /* the other node has not heard of it */
    deliver_all();
    assert_int_equal(hosts.cut_entries, 1);
    assert_int_equal(hosts.held, 0);
    assert_int_equal(hosts.entries, 1); /* the process has its handle */
    disconnect(&import);
    assert_int_equal(hosts.entries, 0);
}

TEST(one_that_cannot_cut_waits_for_the_process)
{
    struct rsm_import_connect_reply import = connected();
    unpublish();
    deliver_all();
    assert_int_equal(hosts.cut_entries, 1);
    assert_int_equal(hosts.held, 1);
    disconnect(&import);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

TEST(the_process_ends)
{
    (void)connected();
    unpublish();
    deliver_all();
    assert_int_equal(hosts.held, 1);
    person_end(&importer);
    deliver_all();
    assert_int_equal(hosts.held, 0);
    person_begin(&importer, 2, 500);
}

/* A fabric that is lost cuts on the importer's side first, and says that memory is still held. */
TEST(the_fabric_is_lost)
{
    for (unsigned cuts = 0; cuts < 2; cuts++) {
        hosts.cuts = cuts != 0;
        struct rsm_import_connect_reply import = connected();
        struct rsmd_controller *controller = rsmd_controller_named(&hosts.node[2], "sci0");
        rsmd_reach_node(&hosts.node[2], controller, 1, true, 1);
        rsmd_reach_node(&hosts.node[2], controller, 1, false, 0);
        deliver_all();
        assert_int_equal(HASH_COUNT(hosts.node[1].importers), 0);
        assert_int_equal(hosts.held, cuts == 0);
        disconnect(&import);
        deliver_all();
        assert_int_equal(hosts.held, 0);
    }
}

TEST(the_link_is_lost)
{
    for (unsigned cuts = 0; cuts < 2; cuts++) {
        hosts.cuts = cuts != 0;
        struct rsm_import_connect_reply import = connected();
        link_down(1, 2);
        assert_int_equal(hosts.held, 1); /* who knows what they do there */
        link_up(1, 2);
        assert_int_equal(hosts.held, cuts == 0);
        disconnect(&import);
        deliver_all();
        assert_int_equal(hosts.held, 0);
    }
}

TEST(an_answer_for_nobody)
{
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_true(deliver()); /* node 1 has made the offer */
    person_end(&importer);
    deliver_all();
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(hosts.held, 0);
    person_begin(&importer, 2, 500);
}

/* The answer to a connect gets lost with the link: node 2 has nothing of it, and says so. */
TEST(an_answer_that_is_lost)
{
    begin_connect(&importer, 1, RSM_RIGHT_READ);
    assert_true(deliver()); /* node 1 has made the offer */
    link_down(1, 2);
    assert_int_equal(hosts.held, 1);
    link_up(1, 2);
    assert_int_equal(hosts.held, 1);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

/* The process lets go of it while there is no link to say so. */
TEST(a_release_that_is_lost)
{
    struct rsm_import_connect_reply import = connected();
    link_down(1, 2);
    disconnect(&import);
    assert_int_equal(hosts.held, 1);
    link_up(1, 2);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

/* What a process still has is held, however often the link goes. */
TEST(what_is_held_is_named)
{
    struct rsm_import_connect_reply import = connected();
    for (unsigned i = 0; i < 3; i++) {
        link_down(1, 2);
        link_up(1, 2);
        deliver_all();
        assert_int_equal(hosts.held, 1);
    }
    disconnect(&import);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

/* Another daemon of node 2 knows nothing of processes that the former one has left behind. */
TEST(another_daemon_does_not_release)
{
    struct rsm_import_connect_reply import = connected();
    link_down(1, 2);
    hosts.link[1][2] = true;
    rsmd_remote_up(&hosts.node[1], 2);
    const struct rsm_cluster_msg other = {.type = RSM_CLUSTER_RELEASED, .u.released = {4711}};
    forge(2, 1, other);
    assert_int_equal(hosts.held, 1);
    link_down(1, 2);
    link_up(1, 2);
    deliver_all();
    disconnect(&import);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

/* Ids of connections to a former daemon of node 1 are not told to the present one. */
TEST(ids_of_another_daemon)
{
    struct rsm_import_connect_reply import = connected();
    link_down(1, 2);
    link_up(1, 2);
    const struct rsm_cluster_msg other = {.type = RSM_CLUSTER_RELEASED, .u.released = {4711}};
    forge(1, 2, other);
    deliver_all();
    disconnect(&import);
    assert_false(deliver());
    assert_int_equal(hosts.held, 1);
    link_down(1, 2); /* here it is the same one, in truth */
    link_up(1, 2);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}

TEST(releases_of_nothing)
{
    struct rsm_import_connect_reply import = connected();
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_DISCONNECT, .u.disconnect.import = 4711};
    forge(2, 1, msg);
    forge(3, 1, msg);
    unpublish();
    for (uint32_t id = 0; id < 32; id++) { /* another node's are not its to release */
        msg.u.disconnect.import = id;
        forge(3, 1, msg);
    }
    assert_int_equal(hosts.held, 1);
    disconnect(&import);
    deliver_all();
    assert_int_equal(hosts.held, 0);
}
