/* SPDX-License-Identifier: BSD-3-Clause */
/* Segments between nodes: who sees whom, the life of exports and imports, mappings, barriers. */
#include "party.h"

enum { LENGTH = 4 * PARTY_PAGE };

/* ---------------------------------------------------------------- controllers, topology */

static int controllers_work(void *unused)
{
    char sci[] = "sci0", upper[] = "SCI00", none[] = "nosuch0";
    rsmapi_controller_handle_t first, second, loopback;
    rsmapi_controller_attr_t attr;
    NEED(rsm_get_controller(sci, &first) == RSM_SUCCESS);
    NEED(rsm_get_controller(upper, &second) == RSM_SUCCESS);
    NEED(first == second);
    NEED(rsm_get_controller(none, &second) == RSMERR_CTLR_NOT_PRESENT);
    NEED(rsm_get_controller(NULL, &loopback) == RSM_SUCCESS && loopback != first);
    NEED(rsm_get_controller_attr(first, &attr) == RSM_SUCCESS);
    NEED(attr.attr_direct_access_sizes == (RSM_DAS8 | RSM_DAS16 | RSM_DAS32 | RSM_DAS64));
    NEED(attr.attr_page_size == PARTY_PAGE && attr.attr_max_export_segment_size >= LENGTH);
    NEED(rsm_release_controller(first) == RSM_SUCCESS);
    NEED(rsm_get_controller_attr(first, &attr) == RSM_SUCCESS);
    NEED(rsm_release_controller(first) == RSM_SUCCESS);
    NEED(rsm_release_controller(loopback) == RSM_SUCCESS);
    NEED(rsm_get_controller(sci, &first) == RSM_SUCCESS);
    NEED(rsm_release_controller(first) == RSM_SUCCESS);
    return 0;
}

WORLD_TEST(test_controllers)
{
    struct actor *actor = actor_start(world, 1);
    assert_int_equal(actor_run(actor, controllers_work, NULL, 0), 0);
}

/* Into .value: the state of the connection to .node, 0 if it is not listed; into .id the own. */
static int look_for_node(void *bytes)
{
    struct order *order = bytes;
    rsm_topology_t *topology;
    NEED(rsm_get_interconnect_topology(&topology) == RSM_SUCCESS);
    order->id = topology->topology_hdr.local_nodeid;
    order->value = 0;
    NEED(topology->topology_hdr.local_cntlr_count == 1);
    const rsm_connections_t *sci = topology->connections[0];
    NEED(strcmp(sci->hdr.cntlr_name, "sci0") == 0);
    for (int i = 0; i < sci->hdr.remote_cntlr_count; i++) {
        const rsm_remote_cntlr_t *remote = &sci->remote_cntlr[i];
        NEED(remote->remote_nodeid != order->id);
        NEED(strncmp(remote->remote_cntlrname, "sci", 3) == 0);
        if (remote->remote_nodeid == order->node)
            order->value = remote->connection_state;
    }
    rsm_free_interconnect_topology(topology);
    return 0;
}

static void check_sees(struct actor *actor, uint32_t node, uint64_t connection_state)
{
    struct order order = party_ask(actor, look_for_node, (struct order){.node = node});
    assert_int_equal(order.result, 0);
    assert_int_equal(order.id, actor->node);
    assert_int_equal(order.value, connection_state);
}

WORLD_TEST(test_topology)
{
    struct actor *one = actor_start(world, 1);
    struct actor *two = actor_start(world, 2);
    check_sees(one, 2, 0);
    TELL_OK(two, open);
    check_sees(one, 2, RSM_CONNECTION_ACTIVE);
    check_sees(two, 1, RSM_CONNECTION_ACTIVE);
    check_sees(one, 3, 0);
    struct actor *three = actor_start(world, 64);
    check_sees(three, 1, RSM_CONNECTION_ACTIVE);
    check_sees(three, 2, RSM_CONNECTION_ACTIVE);
    check_sees(one, 64, RSM_CONNECTION_ACTIVE);
    world_daemon_kill(world, 2);
    struct order order = party_ask(one, look_for_node, (struct order){.node = 2});
    assert_int_not_equal(order.value, RSM_CONNECTION_ACTIVE);
}

/* ---------------------------------------------------------------- the life of a segment */

/* From create to destroy, exporter on node 1. */
static void live_through(struct actor *exporter, struct actor *importer, const char *controller)
{
    TELL_OK(exporter, open);
    TELL_GET(importer, connect, RSMERR_SEG_NOT_PUBLISHED, .node = 1);
    TELL_OK(exporter, create, .length = LENGTH);
    TELL_OK(exporter, fill, .value = 7);
    TELL_GET(importer, connect, RSMERR_SEG_NOT_PUBLISHED, .node = 1);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_GET(exporter, publish, RSMERR_SEG_ALREADY_PUBLISHED, .id = PARTY_ID);
    assert_int_equal(TELL(exporter, check, .value = 7), 0);

    TELL_OK(importer, attach, .node = 1, .length = LENGTH, .controller = controller);
    TELL_GET(importer, map, RSMERR_SEG_ALREADY_MAPPED);
    TELL_GET(importer, disconnect, RSMERR_SEG_STILL_MAPPED);
    assert_int_equal(ASK(importer, peek, .offset = PARTY_PAGE).value,
                     ASK(exporter, load, .offset = PARTY_PAGE).value);
    TELL_OK(importer, poke, .offset = LENGTH - 8, .value = 0x1122334455667788);
    assert_int_equal(ASK(exporter, load, .offset = LENGTH - 8).value, 0x1122334455667788);
    TELL_OK(exporter, store, .offset = 16, .value = 99);
    assert_int_equal(ASK(importer, peek, .offset = 16).value, 99);
    TELL_OK(importer, open_barrier);
    TELL_OK(importer, order_barrier);
    TELL_OK(importer, close_barrier);

    TELL_OK(importer, unmap);
    TELL_GET(importer, unmap, RSMERR_SEG_NOT_MAPPED);
    TELL_OK(importer, map, .offset = PARTY_PAGE, .length = PARTY_PAGE);
    assert_int_equal(ASK(importer, peek, .offset = 0).value,
                     ASK(exporter, load, .offset = PARTY_PAGE).value);
    TELL_OK(importer, unmap);
    TELL_OK(importer, disconnect);

    TELL_OK(exporter, unpublish);
    TELL_GET(exporter, unpublish, RSMERR_SEG_NOT_PUBLISHED);
    TELL_GET(importer, connect, RSMERR_SEG_NOT_PUBLISHED, .node = 1);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_OK(importer, connect, .node = 1);
    TELL_OK(importer, disconnect);
    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, destroy);
    assert_int_equal(ASK(exporter, load, .offset = LENGTH - 8).value, 0x1122334455667788);
    assert_int_equal(ASK(exporter, load, .offset = 16).value, 99);
    TELL_OK(exporter, drop);
}

WORLD_TEST(test_between_nodes)
{
    live_through(actor_start(world, 1), actor_start(world, 2), NULL);
}

WORLD_TEST(test_own_node)
{
    live_through(actor_start(world, 1), actor_start(world, 1), NULL);
}

WORLD_TEST(test_own_process)
{
    struct actor *alone = actor_start(world, 1);
    live_through(alone, alone, NULL);
}

WORLD_TEST(test_own_node_by_loopback)
{
    live_through(actor_start(world, 1), actor_start(world, 1), "loopback");
}

WORLD_TEST(test_unreachable_nodes)
{
    struct actor *one = actor_start(world, 1);
    TELL_GET(one, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 3);
    TELL_GET(one, connect, RSMERR_CTLR_NOT_PRESENT, .node = 3, .controller = "loopback");
    struct actor *three = actor_start(world, 3);
    TELL_OK(three, offer, .length = LENGTH, .controller = "loopback", .acl_count = 1,
            .acl = {{.ae_node = 3, .ae_permission = 0666}});
    /* What was exported on loopback stays on its node. */
    TELL_GET(one, connect, RSMERR_SEG_NOT_PUBLISHED, .node = 3);
    /* Nor does it change anything that the process has been there. */
    TELL_GET(one, connect, RSMERR_CTLR_NOT_PRESENT, .node = 3, .controller = "loopback");
    actor_stop(three);
}

/* ---------------------------------------------------------------- several of everything */

WORLD_TEST(test_many_importers)
{
    enum { IMPORTERS = 6 };
    struct actor *exporter = actor_start(world, 1), *importers[IMPORTERS];
    TELL_OK(exporter, offer, .length = LENGTH);
    for (unsigned i = 0; i < IMPORTERS; i++) {
        importers[i] = actor_start(world, 1 + i % 3);
        TELL_OK(importers[i], attach, .node = 1, .length = LENGTH);
        TELL_OK(importers[i], attach, .slot = 1, .node = 1, .length = LENGTH);
    }
    for (unsigned i = 0; i < IMPORTERS; i++)
        TELL_OK(importers[i], poke, .slot = (int)i % 2, .offset = i * 8, .value = 100 + i);
    for (unsigned i = 0; i < IMPORTERS; i++) {
        assert_int_equal(ASK(exporter, load, .offset = i * 8).value, 100 + i);
        unsigned other = (i + 1) % IMPORTERS;
        assert_int_equal(ASK(importers[other], peek, .slot = 1, .offset = i * 8).value, 100 + i);
    }
    /* One leaves: nobody else notices. */
    TELL_OK(importers[1], open_barrier, .slot = 1);
    TELL_OK(importers[2], open_barrier);
    TELL_OK(importers[1], detach);
    TELL_OK(importers[1], close_barrier, .slot = 1);
    actor_stop(importers[0]);
    TELL_OK(importers[2], close_barrier);
    TELL_OK(importers[1], poke, .slot = 1, .value = 5);
    assert_int_equal(ASK(exporter, load).value, 5);
    TELL_OK(exporter, withdraw);
    for (unsigned i = 2; i < IMPORTERS; i++) {
        TELL_OK(importers[i], open_barrier);
        TELL_GET(importers[i], close_barrier, RSMERR_CONN_ABORTED);
        TELL_OK(importers[i], detach);
    }
}

WORLD_TEST(test_many_segments)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    for (int i = 0; i < PARTY_SLOTS; i++)
        TELL_OK(exporter, offer, .slot = i, .length = PARTY_PAGE * (size_t)(1 + i % 5),
                .id = PARTY_ID + (uint32_t)i);
    for (int i = 0; i < PARTY_SLOTS; i++)
        TELL_OK(importer, attach, .slot = i, .node = 1, .length = PARTY_PAGE * (size_t)(1 + i % 5),
                .id = PARTY_ID + (uint32_t)i);
    for (int i = 0; i < PARTY_SLOTS; i++)
        TELL_OK(importer, poke, .slot = i, .value = (uint64_t)i + 1);
    for (int i = 0; i < PARTY_SLOTS; i++)
        assert_int_equal(ASK(exporter, load, .slot = i).value, i + 1);
    for (int i = 0; i < PARTY_SLOTS; i += 2)
        TELL_OK(exporter, withdraw, .slot = i);
    for (int i = 0; i < PARTY_SLOTS; i++) {
        TELL_OK(importer, open_barrier, .slot = i);
        TELL_GET(importer, close_barrier, i % 2 == 0 ? RSMERR_CONN_ABORTED : RSM_SUCCESS,
                 .slot = i);
        TELL_OK(importer, detach, .slot = i);
    }
}

/* Two exports that share a page: both reach it, and one ends without hurting the other. */
static int create_overlapping(void *bytes)
{
    struct order *order = bytes;
    struct party_export *base = party_export(0), *upper = party_export(1);
    upper->memory = base->memory + PARTY_PAGE;
    upper->length = LENGTH - PARTY_PAGE;
    int error = rsm_memseg_export_create(party_controller(NULL), &upper->handle, upper->memory,
                                         upper->length, 0);
    order->id = PARTY_ID + 1;
    order->slot = 1;
    return error == RSM_SUCCESS ? party_publish(order) : error;
}

WORLD_TEST(test_overlapping_exports)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(exporter, fill, .value = 3);
    assert_int_equal(
        party_ask(exporter, create_overlapping, (struct order){.acl_count = 1, .acl = {{2, 0666}}})
            .result,
        RSM_SUCCESS);
    assert_int_equal(TELL(exporter, check, .value = 3), 0);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, attach, .slot = 1, .node = 1, .id = PARTY_ID + 1,
            .length = LENGTH - PARTY_PAGE);
    TELL_OK(importer, poke, .offset = PARTY_PAGE, .value = 11);
    assert_int_equal(ASK(importer, peek, .slot = 1).value, 11);
    TELL_OK(importer, poke, .slot = 1, .offset = 8, .value = 12);
    assert_int_equal(ASK(exporter, load, .offset = PARTY_PAGE + 8).value, 12);

    TELL_OK(exporter, unpublish);
    TELL_OK(exporter, destroy);
    TELL_OK(importer, open_barrier);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_OK(importer, poke, .offset = 0, .value = 666);
    assert_int_not_equal(ASK(exporter, load, .offset = 0).value, 666);
    TELL_OK(importer, open_barrier, .slot = 1);
    TELL_OK(importer, poke, .slot = 1, .offset = 16, .value = 13);
    TELL_OK(importer, close_barrier, .slot = 1);
    assert_int_equal(ASK(exporter, load, .offset = PARTY_PAGE + 16).value, 13);
    TELL_OK(exporter, unpublish, .slot = 1);
    TELL_OK(exporter, destroy, .slot = 1);
    TELL_OK(importer, poke, .slot = 1, .offset = 16, .value = 666);
    assert_int_equal(ASK(exporter, load, .offset = PARTY_PAGE + 16).value, 13);
    TELL_OK(exporter, drop);
}

/* ---------------------------------------------------------------- ids */

WORLD_TEST(test_segment_ids)
{
    static const uint32_t reserved[] = {1,        0xFFFFF,  0x100000,   0x200000,
                                        0x300000, 0x3FFFFF, 0x80000000, 0xFFFFFFFF};
    static const uint32_t free_ids[] = {0x400000, 0x4FFFFF, 0x500000,
                                        0x5FFFFF, 0x600000, 0x7FFFFFFF};
    struct actor *one = actor_start(world, 1), *two = actor_start(world, 2);
    struct actor *other = actor_start(world, 1);
    TELL_OK(one, create, .length = LENGTH);
    TELL_OK(two, create, .length = LENGTH);
    TELL_OK(other, create, .length = LENGTH);
    for (unsigned i = 0; i < sizeof reserved / sizeof reserved[0]; i++)
        TELL_GET(one, publish, RSMERR_RESERVED_SEGID, .id = reserved[i]);
    for (unsigned i = 0; i < sizeof free_ids / sizeof free_ids[0]; i++) {
        TELL_OK(one, publish, .id = free_ids[i]);
        TELL_OK(two, publish, .id = free_ids[i]); /* each node has its own */
        TELL_GET(other, publish, RSMERR_SEGID_IN_USE, .id = free_ids[i]);
        TELL_OK(two, connect, .node = 1, .id = free_ids[i]);
        TELL_OK(two, disconnect);
        TELL_OK(one, unpublish);
        TELL_OK(two, unpublish);
    }
    struct order first = ASK(one, publish, .id = 0), second = ASK(other, publish, .id = 0);
    assert_int_equal(first.result | second.result, RSM_SUCCESS);
    assert_true(first.id >= 0x80000000 && second.id >= 0x80000000 && first.id != second.id);
    TELL_OK(two, connect, .node = 1, .id = first.id);
    TELL_OK(two, connect, .slot = 1, .node = 1, .id = second.id);
    TELL_OK(one, unpublish);
    struct order third = ASK(one, publish, .id = 0);
    assert_int_equal(third.result, RSM_SUCCESS);
    assert_int_not_equal(third.id, first.id);
}

/* The id of an ended segment names the next one, and never the old one again. */
WORLD_TEST(test_id_reuse)
{
    struct actor *first = actor_start(world, 1), *second = actor_start(world, 1);
    struct actor *importer = actor_start(world, 2);
    TELL_OK(first, offer, .length = LENGTH);
    TELL_OK(first, store, .value = 1);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(first, withdraw);
    TELL_OK(second, offer, .length = LENGTH);
    TELL_OK(second, store, .value = 2);
    TELL_OK(importer, open_barrier);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_OK(importer, poke, .value = 666);
    assert_int_equal(ASK(second, load).value, 2);
    TELL_OK(importer, attach, .slot = 1, .node = 1, .length = LENGTH);
    assert_int_equal(ASK(importer, peek, .slot = 1).value, 2);
    TELL_OK(importer, unmap);
    TELL_GET(importer, map, RSMERR_CONN_ABORTED);
    TELL_OK(importer, disconnect);
}

/* ---------------------------------------------------------------- republish, rebind */

WORLD_TEST(test_republish)
{
    struct actor *exporter = actor_start(world, 1);
    struct actor *two = actor_start(world, 2), *three = actor_start(world, 3);
    TELL_GET(exporter, republish, RSMERR_BAD_SEG_HNDL);
    TELL_OK(exporter, offer, .length = LENGTH, .acl_count = 1, .acl = {{2, 0666}});
    TELL_OK(two, attach, .node = 1, .length = LENGTH);
    TELL_GET(three, connect, RSMERR_SEG_NOT_PUBLISHED_TO_NODE, .node = 1);
    TELL_GET(exporter, connect, RSMERR_SEG_NOT_PUBLISHED_TO_NODE, .node = 1);
    TELL_OK(two, open_barrier);
    TELL_OK(exporter, republish, .acl_count = 2, .acl = {{3, 0666}, {1, 0666}});
    TELL_OK(two, close_barrier);
    TELL_OK(two, poke, .value = 4);
    assert_int_equal(ASK(exporter, load).value, 4);
    TELL_OK(three, attach, .node = 1, .length = LENGTH);
    TELL_OK(exporter, connect, .node = 1);
    int refused = TELL(two, connect, .slot = 1, .node = 1);
    assert_true(refused == RSMERR_SEG_NOT_PUBLISHED_TO_NODE || refused == RSMERR_PERM_DENIED);
    TELL_GET(exporter, republish, RSMERR_BAD_ACL, .acl_count = 1, .acl = {{65, 0666}});
    TELL_GET(exporter, republish, RSMERR_BAD_ACL, .acl_count = 1, .acl = {{2, 0700}});
    TELL_OK(three, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, republish);
    TELL_OK(two, connect, .slot = 1, .node = 1);
    TELL_OK(exporter, unpublish);
    TELL_GET(exporter, republish, RSMERR_SEG_NOT_PUBLISHED, .acl_count = 1, .acl = {{65, 0666}});
}

static int old_memory_is(struct actor *exporter, void *old, uint64_t seed)
{
    return TELL(exporter, check, .address = old, .value = seed);
}

/* Give memory back that a rebind left to the application. */
static int unmap_old(void *bytes)
{
    struct order *order = bytes;
    return memory_put(MEMORY_PRIVATE, order->address, LENGTH);
}

WORLD_TEST(test_rebind)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_GET(exporter, rebind, RSMERR_REBIND_NOT_ALLOWED);
    TELL_OK(exporter, withdraw);

    TELL_OK(exporter, offer, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    TELL_OK(exporter, fill, .value = 1);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, open_barrier);
    struct order moved = ASK(exporter, rebind);
    assert_int_equal(moved.result, RSM_SUCCESS);
    TELL_OK(importer, close_barrier);
    assert_int_equal(ASK(importer, peek, .offset = 8).value, 0);
    assert_int_equal(old_memory_is(exporter, moved.address, 1), 0);
    TELL_OK(exporter, fill, .value = 2);
    assert_int_equal(ASK(importer, peek, .offset = PARTY_PAGE).value,
                     ASK(exporter, load, .offset = PARTY_PAGE).value);
    TELL_OK(importer, poke, .offset = 8, .value = 77);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 77);
    assert_int_equal(old_memory_is(exporter, moved.address, 1), 0);
    TELL_OK(importer, attach, .slot = 1, .node = 1, .length = LENGTH);
    assert_int_equal(ASK(importer, peek, .slot = 1, .offset = 8).value, 77);
    assert_int_equal(party_ask(exporter, unmap_old, moved).result, 0);

    /* With nobody connected, and before it is published. */
    TELL_OK(importer, detach);
    TELL_OK(importer, detach, .slot = 1);
    moved = ASK(exporter, rebind, .kind = MEMORY_SHARED);
    assert_int_equal(moved.result, RSM_SUCCESS);
    assert_int_equal(party_ask(exporter, unmap_old, moved).result, 0);
    TELL_OK(exporter, fill, .value = 3);
    TELL_OK(exporter, unpublish);
    moved = ASK(exporter, rebind);
    assert_int_equal(moved.result, RSM_SUCCESS);
    assert_int_equal(old_memory_is(exporter, moved.address, 3), 0);
    assert_int_equal(party_ask(exporter, unmap_old, moved).result, 0);
    TELL_OK(exporter, fill, .value = 4);
    TELL_OK(exporter, publish, .id = PARTY_ID);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    assert_int_equal(ASK(importer, peek).value, ASK(exporter, load).value);
    TELL_OK(exporter, withdraw);
}

/* ---------------------------------------------------------------- barriers */

static int every_barrier_type(void *bytes)
{
    static const rsm_barrier_type_t types[] = {RSM_BARRIER_SEGMENT, RSM_BARRIER_NODE,
                                               RSM_BARRIER_SEGMENT_THREAD, RSM_BARRIER_NODE_THREAD};
    static const rsm_barrier_mode_t modes[] = {RSM_BARRIER_MODE_IMPLICIT,
                                               RSM_BARRIER_MODE_EXPLICIT};
    const struct order *order = bytes;
    struct party_import *import = party_import(order->slot);
    uint64_t value = 0;
    for (unsigned mode = 0; mode < 2; mode++) {
        NEED(rsm_memseg_import_set_mode(import->handle, modes[mode]) == RSM_SUCCESS);
        for (unsigned type = 0; type < 4; type++) {
            rsmapi_barrier_t barrier;
            NEED(rsm_memseg_import_init_barrier(import->handle, types[type], &barrier) ==
                 RSM_SUCCESS);
            for (int again = 0; again < 3; again++) {
                value++;
                NEED(rsm_memseg_import_open_barrier(&barrier) == RSM_SUCCESS);
                NEED(rsm_memseg_import_put64(import->handle, 64, &value, 1) == RSM_SUCCESS);
                NEED(rsm_memseg_import_order_barrier(&barrier) == RSM_SUCCESS);
                NEED(rsm_memseg_import_put64(import->handle, 72, &value, 1) == RSM_SUCCESS);
                NEED(rsm_memseg_import_close_barrier(&barrier) == RSM_SUCCESS);
            }
            NEED(rsm_memseg_import_destroy_barrier(&barrier) == RSM_SUCCESS);
            NEED(rsm_memseg_import_open_barrier(&barrier) == RSMERR_BARRIER_UNINITIALIZED);
            int without = rsm_memseg_import_put64(import->handle, 64, &value, 1);
            NEED(without == (mode == 0 ? RSMERR_BARRIER_UNINITIALIZED : RSM_SUCCESS));
        }
    }
    return 0;
}

WORLD_TEST(test_barriers)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    TELL_OK(importer, connect, .node = 1, .length = LENGTH);
    assert_int_equal(party_ask(importer, every_barrier_type, (struct order){0}).result, 0);
    assert_int_equal(ASK(exporter, load, .offset = 64).value, 24);
    TELL_OK(importer, disconnect);
}

/* An abort between open and close, in both modes, mapped and not. */
WORLD_TEST(test_aborted)
{
    struct actor *exporter = actor_start(world, 1), *importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH);
    for (int slot = 0; slot < 3; slot++)
        TELL_OK(importer, attach, .slot = slot, .node = 1, .length = LENGTH);
    TELL_OK(importer, set_mode, .slot = 1, .flags = RSM_BARRIER_MODE_EXPLICIT);
    TELL_OK(importer, unmap, .slot = 2);
    TELL_OK(importer, open_barrier);
    TELL_OK(exporter, fill, .value = 9);
    TELL_OK(exporter, unpublish);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_OK(importer, open_barrier);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED, .value = 1);
    TELL_GET(importer, get64, RSMERR_CONN_ABORTED);
    TELL_OK(importer, put64, .slot = 1, .value = 1);
    TELL_OK(importer, open_barrier, .slot = 1);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED, .slot = 1);
    TELL_GET(importer, put64, RSMERR_CONN_ABORTED, .slot = 2, .value = 1);
    TELL_GET(importer, map, RSMERR_CONN_ABORTED, .slot = 2);
    TELL_OK(importer, poke, .value = 1);
    TELL_OK(importer, poke, .offset = LENGTH - 8, .value = 1);
    assert_int_equal(TELL(exporter, check, .value = 9), 0);
    TELL_OK(importer, detach);
    TELL_OK(importer, detach, .slot = 1);
    TELL_OK(importer, disconnect, .slot = 2);
}
