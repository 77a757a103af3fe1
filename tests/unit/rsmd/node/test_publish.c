/* SPDX-License-Identifier: BSD-3-Clause */
/* Publishing: lists, pieces, the creator rule, the end of a publication. */
#include "fixture.h"

static enum rsm_status publish_pieces(uint32_t export_id, const struct rsm_segment_piece *pieces,
                                      uint32_t count)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_PUBLISH,
        .u.export_publish = {.export_id = export_id, .segment_id = 0x700000, .piece_count = count}};
    memcpy(msg.u.export_publish.pieces, pieces, count * sizeof *pieces);
    return ask(socket_1, &msg);
}

static enum rsm_status create_with(uint64_t length, uint32_t want_extent,
                                   struct rsm_export_create_reply *reply,
                                   struct rsm_packet_fds *fds)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {
            .controller = "sci0", .length = length, .mode = 0600, .want_extent = want_extent}};
    enum rsm_status status = ask_with(socket_1, &msg, NULL, fds);
    *reply = msg.u.export_create_reply;
    return status;
}

static enum rsm_status open_extent(int socket, uint32_t extent, struct rsm_packet_fds *fds)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_OPEN, .u.extent_open = {.extent = extent}};
    return ask_with(socket, &msg, NULL, fds);
}

TEST_ALONE(a_segment_comes_with_its_extent)
{
    struct rsm_export_create_reply made, refused;
    struct rsm_packet_fds fds;
    struct stat what;
    uint64_t before = inspect_exports(socket_1).exported_bytes;
    assert_int_equal(create_with(2 * page, 1, &made, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    assert_int_equal(fstat(fds.fds[0], &what), 0);
    assert_int_equal(what.st_size, 2 * page);
    rsm_packet_fds_close(&fds);
    assert_int_equal(inspect_exports(socket_1).exported_bytes, before + 2 * page);
    assert_int_equal(publish(socket_1, made.export_id, 0x70e, made.extent, 2 * page, NULL, 0),
                     RSM_ST_OK);
    assert_int_equal(destroy(socket_1, made.export_id, NULL), RSM_ST_OK);
    /* It is an extent like any other, and given back by itself. */
    assert_int_equal(inspect_exports(socket_1).exported_bytes, before + 2 * page);
    assert_int_equal(extent_free(socket_1, made.extent, 0), RSM_ST_OK);
    assert_int_equal(inspect_exports(socket_1).exported_bytes, before);

    uint32_t count = inspect_exports(socket_1).segments;
    assert_int_equal(create_with(page, 2, &refused, &fds), RSM_ST_INVALID);
    assert_int_equal(create_with(UINT64_MAX / page * page, 1, &refused, &fds), RSM_ST_NO_MEMORY);
    assert_int_equal(inspect_exports(socket_1).segments,
                     count); /* no segment is left of the one without memory */
    assert_int_equal(create_with(page, 0, &made, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 0);
    assert_int_equal(made.extent, 0);
    assert_int_equal(destroy(socket_1, made.export_id, NULL), RSM_ST_OK);
}

/* Its owner may close the descriptor, and have another one of the same memory later. The test is one of the first
 * ones, because it counts while nobody else is there. */
TEST_ALONE(an_extent_is_opened_again)
{
    struct rsm_export_create_reply made;
    struct rsm_packet_fds fds;
    struct stat first, again;
    int stranger = peer_hello(&daemon_1);
    assert_int_equal(create_with(page, 1, &made, &fds), RSM_ST_OK);
    assert_int_equal(fstat(fds.fds[0], &first), 0);
    rsm_packet_fds_close(&fds);
    assert_int_equal(open_extent(stranger, made.extent, &fds), RSM_ST_NOT_FOUND);
    assert_int_equal(fds.count, 0);
    assert_int_equal(open_extent(socket_1, made.export_id, &fds), RSM_ST_NOT_FOUND);
    assert_int_equal(open_extent(socket_1, made.extent, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    assert_int_equal(fstat(fds.fds[0], &again), 0);
    assert_true(first.st_dev == again.st_dev && first.st_ino == again.st_ino);
    rsm_packet_fds_close(&fds);
    assert_int_equal(destroy(socket_1, made.export_id, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(socket_1, made.extent, 0), RSM_ST_OK);
    assert_int_equal(open_extent(socket_1, made.extent, &fds), RSM_ST_NOT_FOUND);
    close(stranger);
}

TEST_ALONE(pieces)
{
    uint32_t a = make_extent(socket_1, 4 * page), b = make_extent(socket_1, page);
    uint32_t export_id = make_export(socket_1, 3 * page, 0600);
    int stranger = peer_hello(&daemon_1);
    uint32_t foreign = make_extent(stranger, 4 * page);
    const struct {
        struct rsm_segment_piece piece[2];
        uint32_t count;
        enum rsm_status status;
    } wrong[] = {
        {{{a, 0, page}}, 0, RSM_ST_RANGE},
        {{{a + b + 1000, 0, 3 * page}}, 1, RSM_ST_NOT_FOUND},
        {{{foreign, 0, 3 * page}}, 1, RSM_ST_NOT_FOUND},
        {{{a, 0, 2 * page}}, 1, RSM_ST_RANGE},
        {{{a, 0, 4 * page}}, 1, RSM_ST_RANGE},
        {{{a, 2 * page, 3 * page}}, 1, RSM_ST_RANGE},
        {{{a, 5 * page, 3 * page}}, 1, RSM_ST_RANGE},
        {{{a, 0, UINT64_MAX / page * page}}, 1, RSM_ST_RANGE},
        {{{a, UINT64_MAX / page * page, 3 * page}}, 1, RSM_ST_RANGE},
        {{{a, 100, 3 * page}}, 1, RSM_ST_ALIGNMENT},
        {{{a, 0, page + 1}, {b, 0, page}}, 2, RSM_ST_ALIGNMENT},
        {{{a, 0, 3 * page}, {b, 0, 0}}, 2, RSM_ST_INVALID},
        {{{a, 0, 2 * page}, {b, 0, 2 * page}}, 2, RSM_ST_RANGE},
        {{{a, 0, 3 * page}, {b, 0, page}}, 2, RSM_ST_RANGE},
    };
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(publish_pieces(export_id, wrong[i].piece, wrong[i].count),
                         wrong[i].status);
    const struct rsm_segment_piece right[] = {{b, 0, page}, {a, 2 * page, 2 * page}};
    assert_int_equal(publish_pieces(export_id, right, 2), RSM_ST_OK);
    /* They are in use until the publication ends. */
    assert_int_equal(extent_free(socket_1, a, 0), RSM_ST_BUSY);
    assert_int_equal(unpublish(socket_1, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(extent_free(socket_1, a, 0), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
    close(stranger);
}

static enum rsm_status republish(uint32_t export_id, const struct rsm_acl_entry *acl,
                                 uint32_t count)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_REPUBLISH,
                          .u.export_republish = {.export_id = export_id, .acl_count = count}};
    if (count > 0)
        memcpy(msg.u.export_republish.acl, acl, count * sizeof *acl);
    return ask(socket_1, &msg);
}

TEST_ALONE(lists)
{
    const struct rsm_acl_entry own = {1, 0600}, other = {2, 0666}, beyond = {65536, 0600},
                               wide = {1, 0700}, none = {1, 0};
    uint32_t extent = make_extent(socket_1, page), export_id = make_export(socket_1, page, 0600);
    assert_int_equal(republish(export_id, &beyond, 1), RSM_ST_NOT_PUBLISHED);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, &beyond, 1), RSM_ST_BAD_RIGHTS);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, &wide, 1), RSM_ST_BAD_RIGHTS);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, &other, 1), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 9, 0, NULL), RSM_ST_NOT_TO_NODE);
    assert_int_equal(republish(export_id, &own, 1), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 9, 6, NULL), RSM_ST_OK);
    assert_int_equal(republish(export_id, &wide, 1), RSM_ST_BAD_RIGHTS);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 9, 6, NULL), RSM_ST_OK);
    assert_int_equal(republish(export_id, &none, 1), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 9, 0, NULL), RSM_ST_OK);
    assert_int_equal(republish(export_id, NULL, 0), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 9, 6, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
}

TEST_ALONE(lists_on_loopback)
{
    const struct rsm_acl_entry acl[] = {{1, 0600}, {1, 0600}}, other = {2, 0600};
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "loopback", .length = page, .mode = 0600}};
    assert_int_equal(ask(socket_1, &msg), RSM_ST_OK);
    uint32_t export_id = msg.u.export_create_reply.export_id, extent = make_extent(socket_1, page);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, acl, 2), RSM_ST_BAD_RIGHTS);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, &other, 1), RSM_ST_BAD_RIGHTS);
    assert_int_equal(publish(socket_1, export_id, 9, extent, page, acl, 1), RSM_ST_OK);
    assert_int_equal(republish(export_id, acl, 2), RSM_ST_BAD_RIGHTS);
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
}

TEST_ALONE(lists_of_unknown_nodes)
{
    struct daemon daemon;
    const struct rsm_acl_entry known = {4, 0600}, unknown = {5, 0600}, own = {1, 0600},
                               stand_alone = {0, 0600};
    daemon_start(&daemon,
                 "[controller sci0]\ntransport = shm\n"
                 "[node 1]\nhost = localhost\n[node 4]\nhost = elsewhere.example\n",
                 NULL);
    int socket = peer_hello(&daemon);
    uint32_t extent = make_extent(socket, page), export_id = make_export(socket, page, 0600);
    assert_int_equal(publish(socket, export_id, 9, extent, page, &unknown, 1), RSM_ST_NO_ROUTE);
    assert_int_equal(publish(socket, export_id, 9, extent, page, &known, 1), RSM_ST_OK);
    assert_int_equal(unpublish(socket, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(publish(socket, export_id, 9, extent, page, &stand_alone, 1), RSM_ST_OK);
    assert_int_equal(unpublish(socket, export_id, 0, NULL), RSM_ST_OK);
    assert_int_equal(publish(socket, export_id, 9, extent, page, &own, 1), RSM_ST_OK);
    close(socket);
    daemon_stop(&daemon);
}

/* A child that inherited the connection. */
static int operate_as_other_process(const void *argument)
{
    const uint32_t *exports = argument;
    if (publish(socket_1, exports[0], 11, exports[2], page, NULL, 0) != RSM_ST_NOT_CREATOR)
        return 1;
    if (republish(exports[1], NULL, 0) != RSM_ST_NOT_CREATOR)
        return 2;
    if (unpublish(socket_1, exports[1], 0, NULL) != RSM_ST_NOT_CREATOR)
        return 3;
    if (destroy(socket_1, exports[0], NULL) != RSM_ST_NOT_CREATOR)
        return 4;
    return 0;
}

TEST_ALONE(only_the_creator_operates)
{
    uint32_t exports[3];
    exports[0] = make_export(socket_1, page, 0600);
    exports[1] = publish_page(socket_1, 12, 0600);
    exports[2] = make_extent(socket_1, page);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(operate_as_other_process(exports));
    assert_int_equal(wait_exit(child), 0);
    assert_int_equal(publish(socket_1, exports[0], 11, exports[2], page, NULL, 0), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 12, 6, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, exports[0], NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, exports[1], NULL), RSM_ST_OK);
}

TEST_ALONE(end_of_a_publication)
{
    struct rsm_import_connect_reply first, second;
    const struct rsm_generation_table *table = gentable_map(&daemon_1);
    int importer = peer_hello(&daemon_1);
    uint32_t offered = 7;
    uint32_t export_id = publish_page(socket_1, 20, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 20, 4, &first), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 20, 6, &second), RSM_ST_OK);
    assert_int_equal(first.length, page);
    assert_int_equal(first.rights, 4);
    assert_int_equal(slot_value(table, first.slot), first.generation);
    assert_int_not_equal(first.slot, second.slot);
    assert_int_equal(unpublish(socket_1, export_id, 0, &offered), RSM_ST_OK);
    assert_int_equal(offered, 1);
    assert_int_not_equal(slot_value(table, first.slot), first.generation);
    assert_int_not_equal(slot_value(table, second.slot), second.generation);
    assert_int_equal(connect_on(importer, "sci0", 1, 20, 4, NULL), RSM_ST_NOT_FOUND);
    /* Both handles are still to be disconnected. */
    assert_int_equal(disconnect(importer, first.import), RSM_ST_OK);
    assert_int_equal(disconnect(importer, second.import), RSM_ST_OK);
    assert_int_equal(disconnect(importer, second.import), RSM_ST_NOT_FOUND);
    assert_int_equal(destroy(socket_1, export_id, NULL), RSM_ST_OK);
    close(importer);
    gentable_unmap(table);
}

TEST_ALONE(connections_can_be_kept)
{
    struct rsm_import_connect_reply import;
    const struct rsm_generation_table *table = gentable_map(&daemon_1);
    uint32_t offered = 7, keep = RSM_UNPUBLISH_KEEP_CONNECTIONS;
    uint32_t export_id = publish_page(socket_1, 21, 0600);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 21, 6, &import), RSM_ST_OK);
    assert_int_equal(unpublish(socket_1, export_id, keep | 4, NULL), RSM_ST_INVALID);
    assert_int_equal(unpublish(socket_1, export_id, keep, &offered), RSM_ST_OK);
    assert_int_equal(offered, 1);
    assert_int_equal(slot_value(table, import.slot), import.generation);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 21, 6, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(unpublish(socket_1, export_id, keep, NULL), RSM_ST_NOT_PUBLISHED);
    assert_int_equal(unpublish(socket_1, export_id, 0, &offered), RSM_ST_OK);
    assert_int_not_equal(slot_value(table, import.slot), import.generation);
    assert_int_equal(unpublish(socket_1, export_id, 0, NULL), RSM_ST_NOT_PUBLISHED);
    assert_int_equal(destroy(socket_1, export_id, &offered), RSM_ST_OK);
    assert_int_equal(offered, 1);
    gentable_unmap(table);
}

TEST_ALONE(memory_that_nobody_received)
{
    uint32_t offered = 7;
    uint32_t export_id = publish_page(socket_1, 22, 0600);
    /* A connection without rights gets no memory. */
    assert_int_equal(connect_on(socket_1, "sci0", 1, 22, 0, NULL), RSM_ST_OK);
    assert_int_equal(unpublish(socket_1, export_id, 0, &offered), RSM_ST_OK);
    assert_int_equal(offered, 0);
    assert_int_equal(destroy(socket_1, export_id, &offered), RSM_ST_OK);
    assert_int_equal(offered, 0);
}

TEST_ALONE(shared_extents_are_offered_together)
{
    uint32_t offered = 7, extent = make_extent(socket_1, page);
    uint32_t first = make_export(socket_1, page, 0600), second = make_export(socket_1, page, 0600);
    assert_int_equal(publish(socket_1, first, 23, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(publish(socket_1, second, 24, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(connect_on(socket_1, "sci0", 1, 23, 4, NULL), RSM_ST_OK);
    assert_int_equal(destroy(socket_1, second, &offered), RSM_ST_OK);
    assert_int_equal(offered, 1);
    assert_int_equal(destroy(socket_1, first, &offered), RSM_ST_OK);
    assert_int_equal(offered, 1);
}

TESTS_BETWEEN(exporter_setup, exporter_teardown)
