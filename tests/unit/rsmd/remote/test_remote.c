/* SPDX-License-Identifier: BSD-3-Clause */
/* Connections between nodes of different hosts: how they begin and end. */
#include "pair.h"

static struct rsm_import_connect_reply connected(void)
{
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ | RSM_RIGHT_WRITE), RSM_ST_OK);
    return importer.reply.u.import_connect_reply;
}

static unsigned imports_of(uint32_t node)
{
    return HASH_COUNT(hosts.node[node].importers);
}

static enum rsm_status end_export(uint32_t type, uint32_t flags)
{
    struct rsm_msg msg = {.type = type};
    if (type == RSM_MSG_EXPORT_UNPUBLISH)
        msg.u.export_unpublish = (struct rsm_export_unpublish_request){export_id, flags};
    else
        msg.u.export_destroy.export_id = export_id;
    return ask(&exporter, &msg);
}

static void run_loop(int milliseconds)
{
    struct timeval time = {.tv_usec = milliseconds * 1000};
    event_base_loopexit(hosts.base, &time);
    event_base_dispatch(hosts.base);
}

/* ------------------------------------------------------------------ connecting */

#define TEST(name) TEST_BETWEEN(name, pair_begin, pair_end)

TEST(an_offer_crosses)
{
    struct rsm_import_connect_reply import = connected();
    assert_int_equal(import.length, sysconf(_SC_PAGESIZE));
    assert_int_equal(import.rights, RSM_RIGHT_READ | RSM_RIGHT_WRITE);
    assert_string_equal(import.transport, "shm");
    assert_memory_equal(import.blob, "for node 2", import.blob_len);
    assert_false(has_moved(&importer, &import));
    assert_int_equal(imports_of(1), 1);
    assert_int_equal(imports_of(2), 1);
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = import.import};
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_int_equal(imports_of(2), 0);
    assert_int_equal(imports_of(1), 1);
    deliver_all();
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(hosts.revokes, 1);
}

static struct rsm_inspect_item shown(struct person *person)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_IMPORTS}};
    assert_int_equal(ask(person, &msg), RSM_ST_OK);
    assert_int_equal(person->reply.u.inspect_reply.count, 1);
    return person->reply.u.inspect_reply.items[0];
}

/* The name space crosses with the id: SEGMENT of the other space is another segment. */
TEST(name_spaces_cross)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {"sci0", 1, RSM_ID_SPACE_SISCI, SEGMENT, 6}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_NOT_FOUND);
    msg.u.import_connect.space = RSM_ID_SPACES;
    assert_int_equal(ask(&importer, &msg), RSM_ST_INVALID);
    struct rsm_msg undo = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                           .u.export_unpublish.export_id = export_id};
    assert_int_equal(ask(&exporter, &undo), RSM_ST_OK);
    offer_page_as(&exporter, RSM_ID_SPACE_SISCI, 0666);
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NOT_FOUND);
    msg.u.import_connect.space = RSM_ID_SPACE_SISCI;
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    struct rsm_inspect_item here = shown(&importer), there = shown(&exporter);
    assert_int_equal(here.space, RSM_ID_SPACE_SISCI);
    assert_int_equal(there.space, RSM_ID_SPACE_SISCI);
    assert_int_equal(here.segment_id, SEGMENT);
}

TEST(the_exporters_node_decides)
{
    struct rsm_msg republish = {.type = RSM_MSG_EXPORT_REPUBLISH,
                                .u.export_republish = {export_id, 1, {{2, 0640}}}};
    gid_t groups[] = {7, 500};
    struct person other, third;
    person_begin(&other, 2, 501);
    person_begin(&third, 3, 500);
    assert_int_equal(connect_to(&other, 1, RSM_RIGHT_READ), RSM_ST_DENIED);
    assert_int_equal(connect_to(&third, 1, RSM_RIGHT_READ), RSM_ST_OK);
    republish.u.export_republish.acl[0].node = 2;
    hosts.node[1].embedded = true; /* such a node need not know the nodes that it names */
    assert_int_equal(ask(&exporter, &republish), RSM_ST_OK);
    assert_int_equal(connect_to(&third, 1, RSM_RIGHT_READ), RSM_ST_NOT_TO_NODE);
    assert_int_equal(connect_to(&other, 1, RSM_RIGHT_READ), RSM_ST_DENIED);
    other.client.peer.groups = groups; /* the group of the segment is one of them */
    other.client.peer.group_count = 2;
    assert_int_equal(connect_to(&other, 1, RSM_RIGHT_READ), RSM_ST_OK);
    assert_int_equal(connect_to(&other, 1, RSM_RIGHT_WRITE), RSM_ST_DENIED);
    person_end(&other);
    person_end(&third);
}

TEST(refusals_cross_as_they_are)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_CONNECT,
                          .u.import_connect = {"sci0", 1, RSM_ID_SPACE_RSMAPI, SEGMENT + 1, 6}};
    assert_int_equal(ask(&importer, &msg), RSM_ST_NOT_FOUND);
    msg.u.import_connect.node = 9;
    assert_int_equal(ask(&importer, &msg), RSM_ST_NO_ROUTE);
    struct rsm_msg loop = {.type = RSM_MSG_IMPORT_CONNECT,
                           .u.import_connect = {"loopback", 1, RSM_ID_SPACE_RSMAPI, SEGMENT, 6}};
    assert_int_equal(ask(&importer, &loop), RSM_ST_NO_CONTROLLER);
    struct rsm_cluster_msg forged = {
        .type = RSM_CLUSTER_CONNECT,
        .u.connect = {1, "loopback", RSM_ID_SPACE_RSMAPI, SEGMENT, 6, {500, 500, 1, 0, {0}}}};
    forge(2, 1, forged);
    assert_int_equal(intercept(RSM_CLUSTER_CONNECT_REPLY).u.connect_reply.status,
                     RSM_ST_NO_CONTROLLER);
    strcpy(forged.u.connect.controller, "sci7");
    forge(2, 1, forged);
    assert_int_equal(intercept(RSM_CLUSTER_CONNECT_REPLY).u.connect_reply.status,
                     RSM_ST_NO_CONTROLLER);
}

TEST(descriptors_stay_on_their_host)
{
    hosts.descriptors = 2;
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NO_ROUTE);
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(imports_of(2), 0);
    assert_int_equal(end_export(RSM_MSG_EXPORT_UNPUBLISH, 0), RSM_ST_OK);
    assert_int_equal(exporter.reply.u.export_unpublish_reply.offered, 0);
}

/* The segment's port offers only extents that it has made. Here each controller has the loopback
 * controller's transport, so that the segment can be published on another's. */
TEST(memory_of_another_port_stays_on_its_host)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(end_export(RSM_MSG_EXPORT_DESTROY, 0), RSM_ST_OK);
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC, .u.extent_alloc = {"loopback", page}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    rsm_packet_fds_close(&exporter.fds);
    uint32_t extent = exporter.reply.u.extent_alloc_reply.extent;
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_CREATE, .u.export_create = {"sci0", page, 0600}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXPORT_PUBLISH,
        .u.export_publish = {.export_id = exporter.reply.u.export_create_reply.export_id,
                             .segment_id = SEGMENT,
                             .piece_count = 1,
                             .pieces = {{extent, 0, page}}}};
    assert_int_equal(ask(&exporter, &msg), RSM_ST_OK);
    assert_int_equal(connect_to(&importer, 1, RSM_RIGHT_READ), RSM_ST_NO_ROUTE);
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(hosts.revokes, 0);
}

TEST(who_does_not_answer_is_unreachable)
{
    hosts.node[2].conf.peer_timeout_ms = 100;
    begin_connect(&importer, 1, 6);
    unsigned answers = importer.answers;
    assert_int_equal(importer.client.forward_count, 1);
    while (importer.answers == answers)
        run_loop(10);
    assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
    assert_int_equal(importer.client.forward_count, 0);
    /* The success that comes too late is nobody's: it is given back. */
    assert_true(deliver());
    assert_int_equal(imports_of(1), 1);
    deliver_all();
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(imports_of(2), 0);
    assert_int_equal(importer.answers, answers + 1);
}

/* The client goes on asking; each request gets its own answer, and the limit is what stops it. */
TEST(a_client_has_many_under_way)
{
    struct rsm_msg locate = {.type = RSM_MSG_LOCATE, .u.locate = {"sci0", 2}};
    for (uint32_t i = 0; i < RSMD_FORWARDS_PER_CLIENT_MAX; i++)
        begin_connect(&importer, 1, 6);
    assert_int_equal(importer.client.forward_count, RSMD_FORWARDS_PER_CLIENT_MAX);
    unsigned answers = importer.answers;
    begin(&importer, &locate);
    assert_int_equal(importer.answers, answers + 1);
    assert_int_equal(importer.reply.status, RSM_ST_OK);
    /* The remote node answers them out of order. */
    struct rsm_cluster_msg oldest = intercept(RSM_CLUSTER_CONNECT);
    deliver_all();
    assert_int_equal(importer.client.forward_count, 1);
    assert_int_equal(imports_of(2), RSMD_FORWARDS_PER_CLIENT_MAX - 1);
    forge(2, 1, oldest);
    deliver_all();
    assert_int_equal(importer.client.forward_count, 0);
    assert_int_equal(importer.answers, answers + 1 + RSMD_FORWARDS_PER_CLIENT_MAX);
    assert_int_equal(importer.reply.status, RSM_ST_OK);
}

TEST(a_client_that_goes_abandons_all)
{
    struct person other;
    person_begin(&other, 2, 500);
    begin_connect(&importer, 1, 6);
    begin_connect(&other, 1, 6);
    begin_connect(&importer, 1, 6);
    unsigned answers = importer.answers;
    person_end(&importer);
    deliver_all();
    assert_int_equal(importer.answers, answers);
    assert_int_equal(other.reply.status, RSM_ST_OK);
    assert_int_equal(imports_of(1), 1);
    assert_int_equal(imports_of(2), 1);
    person_end(&other);
}

TEST(a_client_that_goes_is_not_answered)
{
    begin_connect(&importer, 1, 6);
    unsigned answers = importer.answers;
    person_end(&importer);
    deliver_all();
    assert_int_equal(importer.answers, answers);
    assert_int_equal(imports_of(1), 0);
}

TEST(a_link_that_goes_answers)
{
    begin_connect(&importer, 1, 6);
    unsigned answers = importer.answers;
    assert_true(deliver()); /* connected there, and the reply is lost */
    link_down(1, 2);
    assert_int_equal(importer.answers, answers + 1);
    assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NO_ROUTE);
    link_up(1, 2);
    connected();
}

TEST(several_wait_at_once)
{
    struct person second;
    person_begin(&second, 2, 501);
    begin_connect(&importer, 1, 6);
    begin_connect(&second, 1, 6);
    deliver_all();
    assert_int_equal(importer.reply.status, RSM_ST_OK);
    assert_int_equal(second.reply.status, RSM_ST_DENIED);
    person_end(&second);
}

/* ------------------------------------------------------------------ ends */

TEST(unpublish_revokes_before_it_is_answered)
{
    struct rsm_import_connect_reply import = connected();
    assert_int_equal(end_export(RSM_MSG_EXPORT_UNPUBLISH, 0), RSM_ST_OK);
    assert_int_equal(exporter.reply.u.export_unpublish_reply.offered, 0);
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(imports_of(1), 0);
    deliver_all();
    assert_true(has_moved(&importer, &import));
    /* The handle stays the client's until it gives that back, which nobody else need hear. */
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect.import = import.import};
    assert_int_equal(imports_of(2), 1);
    assert_int_equal(ask(&importer, &msg), RSM_ST_OK);
    assert_false(deliver());
}

TEST(connections_can_be_kept)
{
    struct rsm_import_connect_reply import = connected();
    assert_int_equal(end_export(RSM_MSG_EXPORT_UNPUBLISH, RSM_UNPUBLISH_KEEP_CONNECTIONS),
                     RSM_ST_OK);
    deliver_all();
    assert_false(has_moved(&importer, &import));
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NOT_FOUND);
    assert_int_equal(end_export(RSM_MSG_EXPORT_DESTROY, 0), RSM_ST_OK);
    deliver_all();
    assert_true(has_moved(&importer, &import));
}

TEST(deaths_are_told)
{
    struct rsm_import_connect_reply import = connected();
    struct person third;
    person_begin(&third, 3, 500);
    assert_int_equal(connect_to(&third, 1, RSM_RIGHT_READ), RSM_ST_OK);
    person_end(&third);
    deliver_all();
    assert_int_equal(imports_of(1), 1);
    assert_false(has_moved(&importer, &import));
    person_end(&exporter);
    deliver_all();
    assert_true(has_moved(&importer, &import));
    assert_int_equal(imports_of(1), 0);
}

TEST(a_link_that_goes_ends_what_it_carried)
{
    struct rsm_import_connect_reply import = connected();
    struct person third;
    person_begin(&third, 3, 500);
    assert_int_equal(connect_to(&third, 1, RSM_RIGHT_READ), RSM_ST_OK);
    link_down(1, 2);
    assert_true(has_moved(&importer, &import));
    assert_int_equal(hosts.revokes, 1);
    assert_int_equal(imports_of(1), 1);
    assert_false(has_moved(&third, &third.reply.u.import_connect_reply));
    link_up(1, 2);
    connected();
    person_end(&third);
}

/* A daemon that was restarted may be there again before anybody said that it had gone. */
TEST(another_incarnation_knows_nothing)
{
    struct rsm_import_connect_reply import = connected();
    link_up(1, 2);
    assert_true(has_moved(&importer, &import));
    assert_int_equal(imports_of(1), 0);
    assert_int_equal(hosts.revokes, 1);
    connected();
}

TEST(limits_hold_for_both_ends)
{
    rsmd_shares_limit(&hosts.node[2].shares, RSMD_SEGMENTS, 0);
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NO_RESOURCES);
    rsmd_shares_limit(&hosts.node[2].shares, RSMD_SEGMENTS, 1);
    rsmd_shares_limit(&hosts.node[1].shares, RSMD_SEGMENTS, 1);
    assert_int_equal(connect_to(&importer, 1, 6), RSM_ST_NO_RESOURCES);
    rsmd_shares_limit(&hosts.node[1].shares, RSMD_SEGMENTS, 2);
    /* What no longer fits when the answer comes is given back. */
    begin_connect(&importer, 1, 6);
    rsmd_shares_limit(&hosts.node[2].shares, RSMD_SEGMENTS, 0);
    deliver_all();
    assert_int_equal(importer.reply.status, RSM_ST_NO_RESOURCES);
    assert_int_equal(imports_of(1), 0);
}

/* ------------------------------------------------------------------ liars */

TEST(answers_that_make_no_sense)
{
    struct rsm_import_connect_reply good = connected();
    struct {
        uint32_t status, import, rights;
        uint64_t length, size;
        const char *transport;
    } bad[] = {
        {RSM_ST_OK, 0, 6, 4096, 4096, "shm"},
        {RSM_ST_OK, 900, 7, 4096, 4096, "shm"},
        {RSM_ST_OK, 900, 6, 0, 0, "shm"},
        {RSM_ST_OK, 900, 6, 4096, 0, "shm"},
        {RSM_ST_OK, 900, 6, 4096, 4097, "shm"},
        {RSM_ST_OK, 900, 6, 4096, 4096, ""},
        {12345, 900, 6, 4096, 4096, "shm"},
        /* the name of a connection that there is */
        {RSM_ST_OK, 0, 6, 4096, 4096, "shm"},
    };
    bad[7].import = hosts.node[1].importers->id;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        begin_connect(&importer, 1, 6);
        struct rsm_cluster_msg msg = {
            .type = RSM_CLUSTER_CONNECT_REPLY,
            .u.connect_reply = {.request = intercept(RSM_CLUSTER_CONNECT).u.connect.request,
                                .status = bad[i].status,
                                .import = bad[i].import,
                                .rights = bad[i].rights,
                                .length = bad[i].length,
                                .size = bad[i].size}};
        strcpy(msg.u.connect_reply.transport, bad[i].transport);
        forge(1, 2, msg);
        assert_int_equal(importer.reply.status, RSM_ST_UNREACHABLE);
        assert_int_equal(imports_of(2), 1);
        forge(1, 2, msg); /* once more, to nobody */
        deliver_all(); /* what nobody wants was given back; the connection that there is was not */
    }
    assert_int_equal(imports_of(1), 1);
    assert_false(has_moved(&importer, &good));
}

TEST(answers_of_others)
{
    begin_connect(&importer, 1, 6);
    struct rsm_cluster_msg asked = intercept(RSM_CLUSTER_CONNECT);
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_CONNECT_REPLY,
                                  .u.connect_reply = {.request = asked.u.connect.request,
                                                      .import = 77,
                                                      .rights = 6,
                                                      .length = 4096,
                                                      .size = 4096,
                                                      .transport = "shm"}};
    unsigned answers = importer.answers;
    forge(3, 2, msg);
    assert_int_equal(importer.answers, answers);
    forge(1, 2, msg);
    assert_int_equal(importer.answers, answers + 1);
    assert_int_equal(importer.reply.status, RSM_ST_OK);
    struct rsm_import_connect_reply import = importer.reply.u.import_connect_reply;
    struct rsm_cluster_msg abort_it = {.type = RSM_CLUSTER_ABORT, .u.abort.import = 77};
    forge(3, 2, abort_it);
    assert_false(has_moved(&importer, &import));
    forge(1, 2, abort_it);
    assert_true(has_moved(&importer, &import));
    forge(1, 2, abort_it);
}

TEST(nobody_ends_the_connections_of_others)
{
    struct person local;
    person_begin(&local, 1, 500);
    assert_int_equal(connect_to(&local, 1, 6), RSM_ST_OK);
    rsm_packet_fds_close(&local.fds);
    connected();
    struct rsmd_importer *each, *next;
    uint32_t own = 0;
    HASH_ITER(hh, hosts.node[1].importers, each, next)
    {
        struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_DISCONNECT,
                                      .u.disconnect.import = each->id};
        if (each->who.node == 2)
            own = each->id;
        forge(3, 1, msg);
    }
    assert_int_equal(imports_of(1), 2);
    struct rsm_cluster_msg msg = {.type = RSM_CLUSTER_DISCONNECT,
                                  .u.disconnect.import = local.reply.u.import_connect_reply.import};
    forge(2, 1, msg);
    assert_int_equal(imports_of(1), 2);
    msg.u.disconnect.import = export_id;
    forge(2, 1, msg);
    msg.u.disconnect.import = own;
    forge(2, 1, msg);
    forge(2, 1, msg);
    assert_int_equal(imports_of(1), 1);
    person_end(&local);
}

TEST(nobody_speaks_before_its_link_is_up)
{
    struct rsm_cluster_msg msg = {
        .type = RSM_CLUSTER_CONNECT,
        .u.connect = {1, "sci0", RSM_ID_SPACE_RSMAPI, SEGMENT, 6, {500, 500, 1, 0, {0}}}};
    link_down(1, 2);
    forge(2, 1, msg);
    forge(0, 1, msg);
    forge(65, 1, msg);
    forge(40, 1, msg);
    assert_int_equal(imports_of(1), 0);
    rsmd_remote_down(&hosts.node[1], 40);
    rsmd_remote_down(&hosts.node[1], 65);
}

/* ------------------------------------------------------------------ what is shown */

TEST(both_ends_show_the_connection)
{
    connected();
    struct rsm_inspect_item there = shown(&exporter), here = shown(&importer);
    assert_int_equal(there.node, 2);
    assert_int_equal(there.exporter, 1);
    assert_int_equal(there.uid, 500);
    assert_int_equal(there.export_id, export_id);
    assert_int_equal(here.node, 2);
    assert_int_equal(here.exporter, 1);
    assert_int_equal(here.export_id, there.id);
    assert_int_equal(here.published, 1);
    assert_int_equal(here.segment_id, SEGMENT);
    assert_int_equal(here.length, sysconf(_SC_PAGESIZE));
    assert_int_equal(here.permission, 6);
    assert_string_equal(here.controller, "sci0");
    link_down(1, 2);
    here = shown(&importer);
    assert_int_equal(here.export_id, 0);
    assert_int_equal(here.published, 0);
    assert_int_equal(here.length, 0);
    assert_int_equal(here.exporter, 1);
}
