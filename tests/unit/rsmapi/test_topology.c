/* SPDX-License-Identifier: BSD-3-Clause */
/* Beside conformance T-01 to T-10: the layout of the block as reference section 9.3 has it. */
#include "unit/rsmapi/rsmapi_test.h"

static struct rsm_topology_remote remotes[] = {
    {.node = 2, .name = "sci1", .hardware_address = 0x22, .state = 3},
    {.node = 3, .name = "sci2", .hardware_address = 0x33, .state = 1},
};
static struct rsmcore_topology_controller controllers[] = {
    {.name = "lonely0", .hardware_address = 0x10, .remote_count = 0},
    {.name = "sci0", .hardware_address = 0x11, .remote_count = 2, .remotes = remotes},
};

TEST(the_block_holds_controllers_and_far_ends)
{
    const struct rsmcore_topology snapshot = {
        .local_node = 5, .controller_count = 2, .controllers = controllers};
    rsm_topology_t *block;
    fake.snapshot = &snapshot;
    assert_int_equal(rsm_get_interconnect_topology(&block), RSM_SUCCESS);
    assert_int_equal((uintptr_t)block % 8, 0);
    assert_int_equal(block->topology_hdr.local_nodeid, 5);
    assert_int_equal(block->topology_hdr.local_cntlr_count, 2);

    rsm_connections_t **pointers = block->connections;
    assert_ptr_equal(pointers[0], (char *)block + 8 + 2 * sizeof(void *));
    assert_string_equal(pointers[0]->hdr.cntlr_name, "lonely0");
    assert_int_equal(pointers[0]->hdr.local_hwaddr, 0x10);
    assert_int_equal(pointers[0]->hdr.remote_cntlr_count, 0);
    /* A controller without connections is its header alone. */
    assert_ptr_equal(pointers[1], (char *)pointers[0] + sizeof(rsm_connections_hdr_t));
    assert_string_equal(pointers[1]->hdr.cntlr_name, "sci0");
    assert_int_equal(pointers[1]->hdr.remote_cntlr_count, 2);
    const rsm_remote_cntlr_t *remote_ends = pointers[1]->remote_cntlr;
    assert_int_equal(remote_ends[0].remote_nodeid, 2);
    assert_string_equal(remote_ends[0].remote_cntlrname, "sci1");
    assert_int_equal(remote_ends[0].remote_hwaddr, 0x22);
    assert_int_equal(remote_ends[0].connection_state, RSM_CONNECTION_ACTIVE);
    assert_int_equal(remote_ends[1].remote_nodeid, 3);
    assert_string_equal(remote_ends[1].remote_cntlrname, "sci2");
    assert_int_equal(remote_ends[1].connection_state, 1);
    rsm_free_interconnect_topology(block);
}

/* Programs have tables of 64 nodes. */
TEST(nodes_above_64_are_left_out)
{
    static struct rsm_topology_remote many[] = {{.node = 2, .name = "sci0", .state = 3},
                                                {.node = 64, .name = "sci0", .state = 3},
                                                {.node = 65, .name = "sci0", .state = 3},
                                                {.node = 65535, .name = "sci0", .state = 3}};
    static struct rsmcore_topology_controller two[] = {
        {.name = "sci0", .remote_count = 4, .remotes = many},
        {.name = "sci1", .remote_count = 4, .remotes = many}};
    const struct rsmcore_topology snapshot = {
        .local_node = 300, .controller_count = 2, .controllers = two};
    rsm_topology_t *block;
    fake.snapshot = &snapshot;
    assert_int_equal(rsm_get_interconnect_topology(&block), RSM_SUCCESS);
    assert_int_equal(block->topology_hdr.local_nodeid, 300);
    rsm_connections_t **pointers = block->connections;
    for (unsigned i = 0; i < 2; i++) {
        assert_int_equal(pointers[i]->hdr.remote_cntlr_count, 2);
        assert_int_equal(pointers[i]->remote_cntlr[0].remote_nodeid, 2);
        assert_int_equal((&pointers[i]->remote_cntlr[0])[1].remote_nodeid, 64);
    }
    assert_ptr_equal(pointers[1], (char *)pointers[0] + sizeof(rsm_connections_hdr_t) +
                                      2 * sizeof(rsm_remote_cntlr_t));
    rsm_free_interconnect_topology(block);
}

TEST(no_controllers_is_a_topology_too)
{
    const struct rsmcore_topology snapshot = {.local_node = 1};
    rsm_topology_t *first;
    rsm_topology_t *second;
    fake.snapshot = &snapshot;
    assert_int_equal(rsm_get_interconnect_topology(&first), RSM_SUCCESS);
    assert_int_equal(rsm_get_interconnect_topology(&second), RSM_SUCCESS);
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->topology_hdr.local_cntlr_count, 0);
    assert_null(first->connections[0]); /* inside the block even so */
    rsm_free_interconnect_topology(first);
    assert_int_equal(second->topology_hdr.local_nodeid, 1);
    rsm_free_interconnect_topology(second);
}

TEST(failure_leaves_null)
{
    const struct rsmcore_topology snapshot = {.local_node = 1};
    rsm_topology_t *block = (rsm_topology_t *)0x1234;
    fake.topology = RSM_ST_UNREACHABLE;
    assert_int_equal(rsm_get_interconnect_topology(&block), RSMERR_INTERNAL_ERROR);
    assert_null(block);
    fake.topology = RSM_ST_NO_MEMORY;
    assert_int_equal(rsm_get_interconnect_topology(&block), RSMERR_INSUFFICIENT_MEM);
    fake.topology = RSM_ST_OK;
    fake.snapshot = &snapshot;
    inject_calloc.error = ENOMEM;
    block = (rsm_topology_t *)0x1234;
    assert_int_equal(rsm_get_interconnect_topology(&block), RSMERR_INSUFFICIENT_MEM);
    assert_null(block);
}
