/* SPDX-License-Identifier: BSD-3-Clause */
/* I: connect and disconnect. */
#include "process.h"
#include "stage.h"

enum { FAR_NODE = 63, AT_ONCE_MS = 10000, LONG_MS = 60000 };

/* A connect that must fail, with a handle that must become NULL. */
static void expect_none(int wanted, rsm_memseg_id_t id, rsm_permission_t rights)
{
    rsm_memseg_import_handle_t handle = (rsm_memseg_import_handle_t)&handle;
    EXPECT(wanted, connect_to(id, rights, &handle));
    HOLDS(handle == NULL);
}

CONFORMANCE(I, 01, "connect without a controller")
{
    rsm_memseg_import_handle_t handle;
    offered(1);
    EXPECT(RSMERR_BAD_CTLR_HNDL, rsm_memseg_import_connect(NULL, options.exporter_node, SEGMENT_ID,
                                                           RSM_PERM_RDWR, &handle));
}

CONFORMANCE(I, 02, "connect with nowhere to put the handle")
{
    offered(1);
    EXPECT(RSMERR_BAD_SEG_HNDL, connect_to(SEGMENT_ID, RSM_PERM_RDWR, NULL));
}

CONFORMANCE(I, 03, "connect with rights that do not exist, whether or not the segment does")
{
    offered(1);
    expect_none(RSMERR_PERM_DENIED, SEGMENT_ID, 0700);
    expect_none(RSMERR_PERM_DENIED, SEGMENT_ID, 0001);
    expect_none(RSMERR_PERM_DENIED, SEGMENT_ID + 1, 0700);
}

CONFORMANCE(I, 04, "connect to an id that is not published fails at once")
{
    offered(1);
    int64_t start = now_ms();
    expect_none(RSMERR_SEG_NOT_PUBLISHED, SEGMENT_ID + 1, RSM_PERM_RDWR);
    HOLDS(now_ms() - start < AT_ONCE_MS);
}

CONFORMANCE(I, 05, "ids that nobody can publish are just not published")
{
    offered(1);
    expect_none(RSMERR_SEG_NOT_PUBLISHED, 0, RSM_PERM_RDWR);
    expect_none(RSMERR_SEG_NOT_PUBLISHED, 0x200000, RSM_PERM_RDWR);
    expect_none(RSMERR_SEG_NOT_PUBLISHED, 0xFFFFFFFF, RSM_PERM_RDWR);
}

CONFORMANCE(I, 06, "a segment that was created only cannot be connected to")
{
    struct actor *exporter = exporter_start();
    TELL_OK(exporter, CREATE, .pages = 1);
    act_as_importer();
    expect_none(RSMERR_SEG_NOT_PUBLISHED, SEGMENT_ID, RSM_PERM_RDWR);
}

CONFORMANCE(I, 07, "loopback reaches this node only")
{
    rsm_memseg_import_handle_t handle = (rsm_memseg_import_handle_t)&handle;
    act_as_importer();
    EXPECT(RSMERR_CTLR_NOT_PRESENT,
           rsm_memseg_import_connect(loopback(), node_other_than(options.importer_node), SEGMENT_ID,
                                     RSM_PERM_RDWR, &handle));
    HOLDS(handle == NULL);
}

CONFORMANCE(I, 08, "connect to a node that does not exist")
{
    rsm_memseg_import_handle_t handle = (rsm_memseg_import_handle_t)&handle;
    APPLIES_IF(!on_loopback(), "loopback knows this node only");
    act_as_importer();
    EXPECT_EITHER(
        RSMERR_REMOTE_NODE_UNREACHABLE, RSMERR_INTERNAL_ERROR,
        rsm_memseg_import_connect(controller(), FAR_NODE, SEGMENT_ID, RSM_PERM_RDWR, &handle));
    HOLDS(handle == NULL);
}

CONFORMANCE(I, 09, "connect to a node that has died")
{
    APPLIES_IF(!one_node(), "exporter and importer are on one node");
    offered(1);
    OK(rsm_memseg_import_disconnect(connected(RSM_PERM_RDWR)));
    node_end(options.exporter_node);
    expect_none(RSMERR_REMOTE_NODE_UNREACHABLE, SEGMENT_ID, RSM_PERM_RDWR);
}

CONFORMANCE(I, 10, "a process may import what it exports")
{
    uint8_t *memory = pages(1);
    act_as_exporter();
    published(memory, 1);
    rsm_memseg_import_handle_t handle = ready();
    uint8_t *view = mapped(handle, PAGE);
    store64(memory, 31);
    HOLDS(load64(view) == 31);
    store64(view, 32);
    await_arrival(handle);
    HOLDS(load64(memory) == 32);
}

/* That a handle transfers. */
static void expect_works(rsm_memseg_import_handle_t handle, uint64_t value)
{
    uint64_t seen = 0;
    OK(rsm_memseg_import_put64(handle, 0, &value, 1));
    OK(rsm_memseg_import_get64(handle, 0, &seen, 1));
    HOLDS(seen == value);
}

CONFORMANCE(I, 11, "two connections to one segment are two handles")
{
    offered(1);
    rsm_memseg_import_handle_t first = ready(), second = ready();
    HOLDS(first != second);
    expect_works(first, 1);
    expect_works(second, 2);
    store64(mapped(first, PAGE), 3);
    await_arrival(first);
    HOLDS(load64(mapped(second, PAGE)) == 3);
}

CONFORMANCE(I, 12, "the own node is reached by any controller, loopback's segments included")
{
    rsm_memseg_import_handle_t handle;
    struct actor *exporter = exporter_start();
    TELL_OK(exporter, OFFER, .pages = 1, .loopback = true, .acl_count = 1,
            .acl = {{options.exporter_node, 0666}});
    TELL_OK(exporter, OFFER, .slot = 1, .id = SEGMENT_ID + 1, .pages = 1);
    act_as_exporter();
    OK(connect_to(SEGMENT_ID, RSM_PERM_RDWR, &handle));
    OK(connect_to(SEGMENT_ID + 1, RSM_PERM_RDWR, &handle));
    OK(rsm_memseg_import_connect(loopback(), options.exporter_node, SEGMENT_ID + 1, RSM_PERM_RDWR,
                                 &handle));
    OK(rsm_memseg_import_disconnect(handle));
}

CONFORMANCE(I, 13, "every combination of rights can be connected with")
{
    offered(1);
    connected(RSM_PERM_READ);
    connected(RSM_PERM_WRITE);
    connected(RSM_PERM_RDWR);
    connected(RSM_PERM_NONE);
}

CONFORMANCE(I, 14, "disconnect of no connection")
{
    act_as_importer();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_disconnect(NULL));
}

CONFORMANCE(I, 15, "disconnect while mapped")
{
    offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    uint8_t *view = mapped(handle, PAGE);
    EXPECT(RSMERR_SEG_STILL_MAPPED, rsm_memseg_import_disconnect(handle));
    store64(view, 1);
    OK(rsm_memseg_import_unmap(handle));
    OK(rsm_memseg_import_disconnect(handle));
}

CONFORMANCE(I, 16, "disconnect after put and get, without unmap")
{
    offered(1);
    rsm_memseg_import_handle_t handle = ready();
    expect_works(handle, 1);
    OK(rsm_memseg_import_disconnect(handle));
}

CONFORMANCE(I, 17, "disconnect while a pollfd reference exists")
{
    struct pollfd entry;
    offered(1);
    rsm_memseg_import_handle_t handle = ready();
    OK(rsm_memseg_get_pollfd(handle, &entry));
    EXPECT(RSMERR_POLLFD_IN_USE, rsm_memseg_import_disconnect(handle));
    expect_works(handle, 1);
    OK(rsm_memseg_release_pollfd(handle));
    OK(rsm_memseg_import_disconnect(handle));
}

CONFORMANCE(I, 18, "disconnect after an abort, mapped or not")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t plain = connected(RSM_PERM_RDWR), with_map = ready();
    mapped(with_map, PAGE);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(plain);
    await_abort(with_map);
    OK(rsm_memseg_import_disconnect(plain));
    EXPECT(RSMERR_SEG_STILL_MAPPED, rsm_memseg_import_disconnect(with_map));
    OK(rsm_memseg_import_unmap(with_map));
    OK(rsm_memseg_import_disconnect(with_map));
}

CONFORMANCE(I, 19, "disconnecting one handle leaves the others")
{
    offered(1);
    rsm_memseg_import_handle_t first = ready(), second = ready(), third = ready();
    uint8_t *view = mapped(third, PAGE);
    OK(rsm_memseg_import_disconnect(first));
    expect_works(second, 7);
    HOLDS(load64(view) == 7);
}

CONFORMANCE(I, 20, "an id published again takes new connections; the old stay aborted")
{
    struct actor *exporter = offered(1);
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, 0666);
    rsm_memseg_import_handle_t old = ready();
    TELL_OK(exporter, UNPUBLISH);
    TELL_OK(exporter, PUBLISH, .acl_count = count, .acl = {acl[0], acl[1]});
    uint64_t value = 0;
    await_abort(old);
    expect_works(ready(), 1);
    EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_get64(old, 0, &value, 1));
    void *address = NULL;
    EXPECT(RSMERR_CONN_ABORTED, import_map(old, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, PAGE));
}

CONFORMANCE(I, 21, "an importer that is killed does not hinder the exporter")
{
    struct actor *importer = importer_start();
    uint8_t *memory = pages(1);
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(memory, 1);
    TELL_OK(importer, ATTACH, .pages = 1);
    TELL_OK(importer, POKE, .value = 1);
    for (int64_t end = now_ms() + LONG_MS; load64(memory) != 1;) /* or it lands behind our store */
        HOLDS(now_ms() < end);
    actor_kill(importer);
    int64_t start = now_ms();
    store64(memory, 2);
    OK(rsm_memseg_export_unpublish(segment));
    HOLDS(load64(memory) == 2);
    OK(rsm_memseg_export_destroy(segment));
    HOLDS(now_ms() - start < AT_ONCE_MS);
}
