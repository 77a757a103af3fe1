/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments that end while importers are connected: refused, deferred, and connections that go on
 * beyond a publication. */
#include "peer.h"

static struct daemon daemon_1;
static uint64_t page;
static int exporter, importer;
static const struct rsm_generation_table *table;

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    daemon_start(&daemon_1, NULL, "--embedded");
    exporter = peer_hello(&daemon_1);
    importer = peer_hello(&daemon_1);
    table = gentable_map(&daemon_1);
    return 0;
}

static int stop(void **state)
{
    gentable_unmap(table);
    close(exporter);
    close(importer);
    daemon_stop(&daemon_1);
    return 0;
}

static enum rsm_status destroy_as(int socket, uint32_t export_id, uint32_t flags,
                                  struct rsm_export_end_reply *reply)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_DESTROY,
                          .u.export_destroy = {.export_id = export_id, .flags = flags}};
    enum rsm_status status = ask(socket, &msg);
    if (reply != NULL)
        *reply = msg.u.export_destroy_reply;
    return status;
}

static bool is_cut(const struct rsm_import_connect_reply *import)
{
    return slot_value(table, import->slot) != import->generation;
}

TEST_ALONE(a_segment_with_importers_can_refuse_to_end)
{
    struct rsm_import_connect_reply import, another;
    uint32_t export_id = publish_page(exporter, 11, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 11, 6, &import), RSM_ST_OK);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED, NULL), RSM_ST_BUSY);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED | RSM_DESTROY_DEFER, NULL),
                     RSM_ST_INVALID);
    assert_int_equal(destroy_as(exporter, export_id, 4, NULL), RSM_ST_INVALID);
    assert_int_equal(destroy_as(importer, export_id, RSM_DESTROY_DEFER, NULL), RSM_ST_NOT_FOUND);
    /* It is as it was. */
    assert_false(is_cut(&import));
    assert_int_equal(connect_on(importer, "sci0", 1, 11, 6, &another), RSM_ST_OK);
    assert_int_equal(disconnect(importer, import.import), RSM_ST_OK);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED, NULL), RSM_ST_BUSY);
    assert_int_equal(disconnect(importer, another.import), RSM_ST_OK);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED, NULL), RSM_ST_OK);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED, NULL), RSM_ST_NOT_FOUND);
}

/* An export of one page with its extent, published. */
static uint32_t publish_on(uint32_t extent, uint32_t segment_id)
{
    uint32_t export_id = make_export(exporter, page, 0600);
    assert_int_equal(publish(exporter, export_id, segment_id, extent, page, NULL, 0), RSM_ST_OK);
    return export_id;
}

TEST_ALONE(a_deferred_segment_ends_with_its_last_connection)
{
    struct rsm_import_connect_reply first, second;
    struct rsm_export_end_reply end;
    struct rsm_inspect_reply before = inspect_exports(importer);
    uint32_t extent = make_extent(exporter, page);
    uint32_t export_id = publish_on(extent, 12);
    assert_int_equal(connect_on(importer, "sci0", 1, 12, 6, &first), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 12, 6, &second), RSM_ST_OK);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_DEFER, &end), RSM_ST_OK);
    assert_int_equal(end.offered, 1);
    assert_int_equal(end.connections, 2);
    /* Its exporter has it no more, and its id is free at once. */
    assert_int_equal(destroy_as(exporter, export_id, 0, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(connect_on(importer, "sci0", 1, 12, 6, NULL), RSM_ST_NOT_FOUND);
    uint32_t successor = publish_page(exporter, 12, 0600);
    assert_int_equal(destroy_as(exporter, successor, 0, NULL), RSM_ST_OK);
    /* The connections live, and what they cost is charged for. */
    assert_int_equal(extent_free(exporter, extent, 0), RSM_ST_BUSY);
    assert_int_equal(extent_free(exporter, extent, 2), RSM_ST_INVALID);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_OK);
    assert_int_equal(extent_free(exporter, extent, RSM_EXTENT_FREE_WHEN_UNUSED), RSM_ST_NOT_FOUND);
    assert_false(is_cut(&first) || is_cut(&second));
    assert_int_equal(inspect_exports(importer).segments, before.segments + 3);
    assert_int_equal(inspect_exports(importer).exported_bytes, before.exported_bytes + 2 * page);
    assert_int_equal(disconnect(importer, first.import), RSM_ST_OK);
    assert_int_equal(inspect_exports(importer).segments, before.segments + 2);
    assert_int_equal(disconnect(importer, second.import), RSM_ST_OK);
    assert_int_equal(inspect_exports(importer).segments, before.segments);
    assert_int_equal(inspect_exports(importer).exported_bytes,
                     before.exported_bytes + page); /* the successor's */
}

TEST_ALONE(a_deferred_segment_without_connections_ends_at_once)
{
    struct rsm_export_end_reply end;
    uint32_t segments = inspect_exports(importer).segments;
    uint32_t export_id = publish_page(exporter, 13, 0600);
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_DEFER, &end), RSM_ST_OK);
    assert_int_equal(end.connections, 0);
    assert_int_equal(inspect_exports(importer).segments, segments);
}

TEST_ALONE(a_deferred_segment_ends_with_its_exporter)
{
    struct rsm_import_connect_reply import;
    uint32_t segments = inspect_exports(importer).segments;
    int mortal = peer_hello(&daemon_1);
    uint32_t export_id = publish_page(mortal, 14, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 14, 6, &import), RSM_ST_OK);
    assert_int_equal(destroy_as(mortal, export_id, RSM_DESTROY_DEFER, NULL), RSM_ST_OK);
    assert_false(is_cut(&import));
    close(mortal);
    await_move(table, import.slot, import.generation);
    assert_int_equal(disconnect(importer, import.import), RSM_ST_OK);
    while (inspect_exports(importer).segments >
           segments) /* rsmd may still be at what the exporter had */
        usleep(1000);
}

TEST_ALONE(kept_connections_outlive_publications)
{
    struct rsm_import_connect_reply old, young;
    uint32_t extent = make_extent(exporter, page);
    uint32_t export_id = publish_on(extent, 15);
    assert_int_equal(connect_on(importer, "sci0", 1, 15, 6, &old), RSM_ST_OK);
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_UNPUBLISH,
        .u.export_unpublish = {.export_id = export_id, .flags = RSM_UNPUBLISH_KEEP_CONNECTIONS}};
    assert_int_equal(ask(exporter, &msg), RSM_ST_OK);
    assert_int_equal(msg.u.export_unpublish_reply.connections, 1);
    assert_int_equal(publish(exporter, export_id, 16, extent, page, NULL, 0), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 16, 6, &young), RSM_ST_OK);
    assert_false(is_cut(&old));
    assert_int_equal(unpublish(exporter, export_id, 0, NULL), RSM_ST_OK);
    assert_true(is_cut(&old) && is_cut(&young));
    assert_int_equal(destroy_as(exporter, export_id, RSM_DESTROY_UNUSED, NULL), RSM_ST_OK);
    assert_int_equal(disconnect(importer, old.import), RSM_ST_OK);
    assert_int_equal(disconnect(importer, young.import), RSM_ST_OK);
}

TESTS_BETWEEN(start, stop)
