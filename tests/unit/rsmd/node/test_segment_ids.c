/* SPDX-License-Identifier: BSD-3-Clause */
/* Ids of segments: name spaces, their rules, and ids that rsmd assigns. */
#include "fixture.h"

TEST_ALONE(ids)
{
    uint32_t extent = make_extent(socket_1, page);
    uint32_t first = make_export(socket_1, page, 0600), second = make_export(socket_1, page, 0600);
    int stranger = peer_hello(&daemon_1);
    uint32_t foreign_extent = make_extent(stranger, page);
    uint32_t foreign = make_export(stranger, page, 0600);
    assert_int_equal(publish(socket_1, first, 5, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(publish(socket_1, first, 6, extent, page, NULL, 0), RSM_ST_ALREADY_PUBLISHED);
    assert_int_equal(publish(socket_1, second, 5, extent, page, NULL, 0), RSM_ST_ID_IN_USE);
    assert_int_equal(publish(stranger, foreign, 5, foreign_extent, page, NULL, 0),
                     RSM_ST_ID_IN_USE);
    assert_int_equal(publish(socket_1, second, 6, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(unpublish(socket_1, first, 0, NULL), RSM_ST_OK);
    assert_int_equal(unpublish(socket_1, first, 0, NULL), RSM_ST_NOT_PUBLISHED);
    assert_int_equal(publish(stranger, foreign, 5, foreign_extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(publish(stranger, first, 7, foreign_extent, page, NULL, 0), RSM_ST_NOT_FOUND);
    close(stranger);
    assert_int_equal(destroy(socket_1, first, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, second, NULL), RSM_ST_OK);
}

static uint32_t publish_assigned(uint32_t export_id, uint32_t extent)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = export_id,
                                               .flags = RSM_PUBLISH_ASSIGN_ID,
                                               .piece_count = 1,
                                               .pieces = {{extent, 0, page}}}};
    assert_int_equal(ask(socket_1, &msg), RSM_ST_OK);
    return msg.u.export_publish_reply.segment_id;
}

TEST_ALONE(assigned_ids)
{
    uint32_t extent = make_extent(socket_1, page), export_id = make_export(socket_1, page, 0600);
    uint32_t blocker = make_export(socket_1, page, 0600);
    uint32_t first = publish_assigned(export_id, extent);
    assert_true(first >= 0x80000000u);
    assert_int_equal(unpublish(socket_1, export_id, 0, NULL), RSM_ST_OK);
    uint32_t second = publish_assigned(export_id, extent);
    assert_true(second > first);
    assert_int_equal(connect_on(socket_1, "sci0", 1, second, 6, NULL), RSM_ST_OK);
    assert_int_equal(unpublish(socket_1, export_id, 0, NULL), RSM_ST_OK);
    /* Nobody chooses in that range: neither one that somebody else had nor one to come. */
    static const uint32_t chosen[] = {0x80000000u, UINT32_MAX};
    for (unsigned i = 0; i < sizeof chosen / sizeof chosen[0]; i++)
        assert_int_equal(publish(socket_1, blocker, chosen[i], extent, page, NULL, 0),
                         RSM_ST_INVALID);
    assert_int_equal(publish(socket_1, blocker, first, extent, page, NULL, 0), RSM_ST_INVALID);
    assert_int_equal(publish(socket_1, blocker, second + 1, extent, page, NULL, 0), RSM_ST_INVALID);
    assert_int_equal(publish(socket_1, blocker, 0x7fffffff, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(publish_assigned(export_id, extent), second + 1);
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, blocker, NULL), RSM_ST_OK);
}

/* Publish a page in a name space. With ASSIGN_ID *id is where to begin, and then what it got. */
static enum rsm_status publish_named(uint32_t export_id, uint32_t extent, uint32_t space,
                                     uint32_t *id, uint32_t flags)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = export_id,
                                               .space = space,
                                               .segment_id = *id,
                                               .flags = flags,
                                               .piece_count = 1,
                                               .pieces = {{extent, 0, page}}}};
    enum rsm_status status = ask(socket_1, &msg);
    if (status == RSM_ST_OK)
        *id = msg.u.export_publish_reply.segment_id;
    return status;
}

static enum rsm_status connect_named(uint32_t space, uint32_t id,
                                     struct rsm_import_connect_reply *reply)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {
            .controller = "sci0", .node = 1, .space = space, .segment_id = id, .rights = 6}};
    enum rsm_status status = ask_with(socket_1, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    if (status == RSM_ST_OK)
        *reply = msg.u.import_connect_reply;
    return status;
}

/* Equal ids in two spaces are two segments, which have nothing to do with each other. */
TEST_ALONE(spaces_do_not_see_each_other)
{
    struct rsm_import_connect_reply import;
    uint32_t extent = make_extent(socket_1, page), id = 0x500000;
    uint32_t one = make_export(socket_1, page, 0600), two = make_export(socket_1, 2 * page, 0600);
    uint32_t big = make_extent(socket_1, 2 * page);
    assert_int_equal(publish_named(one, extent, RSM_ID_SPACE_RSMAPI, &id, 0), RSM_ST_OK);
    assert_int_equal(connect_named(RSM_ID_SPACE_SISCI, id, &import), RSM_ST_NOT_FOUND);
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = two,
                                               .space = RSM_ID_SPACE_SISCI,
                                               .segment_id = id,
                                               .piece_count = 1,
                                               .pieces = {{big, 0, 2 * page}}}};
    assert_int_equal(ask(socket_1, &msg), RSM_ST_OK);
    assert_int_equal(connect_named(RSM_ID_SPACE_RSMAPI, id, &import), RSM_ST_OK);
    assert_int_equal(import.length, page);
    assert_int_equal(connect_named(RSM_ID_SPACE_SISCI, id, &import), RSM_ST_OK);
    assert_int_equal(import.length, 2 * page);
    assert_int_equal(destroy(socket_1, one, NULL), RSM_ST_OK);
    assert_int_equal(connect_named(RSM_ID_SPACE_RSMAPI, id, &import), RSM_ST_NOT_FOUND);
    assert_int_equal(connect_named(RSM_ID_SPACE_SISCI, id, &import), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, two, NULL), RSM_ST_OK);
}

/* Each space has its own rules, and a client that does not keep them changes nothing. */
TEST_ALONE(rules_of_spaces)
{
    static const struct {
        uint32_t space, id, flags;
        enum rsm_status status;
    } cases[] = {
        {RSM_ID_SPACE_RSMAPI, 0, 0, RSM_ST_INVALID},
        {RSM_ID_SPACE_RSMAPI, 1, 0, RSM_ST_OK},
        {RSM_ID_SPACE_RSMAPI, 0x7fffffff, 0, RSM_ST_OK},
        {RSM_ID_SPACE_RSMAPI, 0x80000000, 0, RSM_ST_INVALID},
        {RSM_ID_SPACE_RSMAPI, 0x500000, RSM_PUBLISH_ASSIGN_ID, RSM_ST_INVALID},
        {RSM_ID_SPACE_SISCI, 0, 0, RSM_ST_OK},
        {RSM_ID_SPACE_SISCI, 0x80000000, 0, RSM_ST_OK},
        {RSM_ID_SPACE_SISCI, UINT32_MAX, 0, RSM_ST_OK},
        {RSM_ID_SPACE_SISCI, 5, 2, RSM_ST_INVALID},
        {RSM_ID_SPACES, 5, 0, RSM_ST_INVALID},
        {UINT32_MAX, 5, RSM_PUBLISH_ASSIGN_ID, RSM_ST_INVALID},
    };
    struct rsm_import_connect_reply import;
    uint32_t extent = make_extent(socket_1, page), export_id = make_export(socket_1, page, 0600);
    for (unsigned i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        uint32_t id = cases[i].id;
        enum rsm_status status =
            publish_named(export_id, extent, cases[i].space, &id, cases[i].flags);
        if (status != cases[i].status)
            fail_msg("case %u: %d", i, (int)status);
        assert_int_equal(connect_named(cases[i].space, id, &import),
                         status == RSM_ST_OK               ? RSM_ST_OK
                         : cases[i].space >= RSM_ID_SPACES ? RSM_ST_INVALID
                                                           : RSM_ST_NOT_FOUND);
        assert_int_equal(unpublish(socket_1, export_id, 0, NULL),
                         status == RSM_ST_OK ? RSM_ST_OK : RSM_ST_NOT_PUBLISHED);
    }
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
}

/* In SISCI's space the id in the request is where to begin, and what was given back is free. */
TEST_ALONE(ids_near_the_one_asked_for)
{
    enum { NEAR = 3 };
    uint32_t extent = make_extent(socket_1, page), export_id[NEAR], id;
    for (uint32_t i = 0; i < NEAR; i++) {
        export_id[i] = make_export(socket_1, page, 0600);
        id = UINT32_MAX - 1;
        assert_int_equal(
            publish_named(export_id[i], extent, RSM_ID_SPACE_SISCI, &id, RSM_PUBLISH_ASSIGN_ID),
            RSM_ST_OK);
        assert_int_equal(id, (uint32_t)(UINT32_MAX - 1 + i));
    }
    assert_int_equal(unpublish(socket_1, export_id[1], 0, NULL), RSM_ST_OK);
    id = UINT32_MAX - 1;
    assert_int_equal(
        publish_named(export_id[1], extent, RSM_ID_SPACE_SISCI, &id, RSM_PUBLISH_ASSIGN_ID),
        RSM_ST_OK);
    assert_int_equal(id, UINT32_MAX);
    for (unsigned i = 0; i < NEAR; i++)
        assert_int_equal(destroy(socket_1, export_id[i], NULL), RSM_ST_OK);
}

/* Whoever occupies ids does not make rsmd walk along them: behind a thousand or so it goes on where
 * ids are free. */
TEST_ALONE(ids_in_a_crowd)
{
    enum { CROWD = 1100 };
    uint32_t extent = make_extent(socket_1, page), last = 0, id;
    for (uint32_t i = 0; i < CROWD; i++) {
        uint32_t export_id = make_export(socket_1, page, 0600);
        id = 1000;
        assert_int_equal(
            publish_named(export_id, extent, RSM_ID_SPACE_SISCI, &id, RSM_PUBLISH_ASSIGN_ID),
            RSM_ST_OK);
        if (i < 1024)
            assert_int_equal(id, 1000 + i);
        else
            assert_true(i == 1024 ? id < 1000 : id == last + 1);
        last = id;
    }
}

TESTS_BETWEEN(exporter_setup, exporter_teardown)
