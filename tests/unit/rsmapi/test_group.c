/* SPDX-License-Identifier: BSD-3-Clause */
/* Conformance F-01, and what the statuses of the core become. */
#include <rsm/group.h>

#include "unit/rsmapi/rsmapi_test.h"

static rsm_group_handle_t connect_group(rsmapi_controller_handle_t controller)
{
    rsm_group_handle_t group;
    assert_int_equal(rsm_group_connect(controller, 0x400007, &group), RSM_SUCCESS);
    assert_int_equal(fake.segment_id, 0x400007);
    assert_int_equal(fake.space, RSM_ID_SPACE_RSMAPI);
    return group;
}

TEST(what_is_no_group_is_refused)
{
    uint64_t word = 0;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    rsm_group_handle_t others[] = {NULL, (rsm_group_handle_t)controller}, group = others[1];
    for (size_t i = 0; i < COUNT(others); i++) {
        assert_int_equal(rsm_group_disconnect(others[i]), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_put(others[i], 0, &word, 8), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_order_barrier(others[i]), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_close_barrier(others[i], NULL), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_signal_post(others[i], 0), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_get_members(others[i], NULL, NULL), RSMERR_BAD_SEG_HNDL);
        assert_int_equal(rsm_group_event_wait(others[i], 0, NULL), RSMERR_BAD_SEG_HNDL);
    }
    assert_int_equal(rsm_group_connect(NULL, 1, &group), RSMERR_BAD_CTLR_HNDL);
    assert_int_equal(rsm_group_connect(controller, 1, NULL), RSMERR_BAD_SEG_HNDL);
    fake.group = RSM_ST_UNREACHABLE;
    assert_int_equal(rsm_group_connect(controller, 1, &group), RSMERR_REMOTE_NODE_UNREACHABLE);
    assert_null(group);
    fake.group = RSM_ST_OK;
    inject_calloc = (struct injection){.error = ENOMEM};
    assert_int_equal(rsm_group_connect(controller, 1, &group), RSMERR_INSUFFICIENT_MEM);
    assert_int_equal(fake.groups, 0);
    close_controller(controller);
}

TEST(arguments_reach_the_core)
{
    uint64_t word = 0;
    uint_t lacking;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    rsm_group_handle_t group = connect_group(controller);
    assert_int_equal(rsm_group_put(group, 24, &word, 8), RSM_SUCCESS);
    assert_int_equal(fake.group_offset, 24);
    assert_int_equal(fake.count, 8);
    assert_int_equal(rsm_group_put(group, -1, NULL, 8), RSMERR_BAD_ADDR);
    assert_int_equal(rsm_group_put(group, -1, &word, 8), RSMERR_BAD_OFFSET);
    assert_int_equal(fake.puts, 1);
    assert_int_equal(rsm_group_order_barrier(group), RSM_SUCCESS);
    assert_int_equal(fake.orders, 1);
    assert_int_equal(rsm_group_signal_post(group, 0xfffffffd), RSM_SUCCESS);
    assert_int_equal(rsm_group_signal_post(group, RSM_SIGPOST_NO_ACCUMULATE), RSM_SUCCESS);
    assert_int_equal(fake.posts, 2);
    assert_int_equal(fake.coalesced, 1);
    assert_int_equal(rsm_group_close_barrier(group, &lacking), RSM_SUCCESS);
    assert_int_equal(lacking, 0);
    fake.group = RSM_ST_TRANSFER;
    fake.lacking = 3;
    assert_int_equal(rsm_group_close_barrier(group, &lacking), RSMERR_BARRIER_FAILURE);
    assert_int_equal(lacking, 3);
    assert_int_equal(rsm_group_close_barrier(group, NULL), RSMERR_BARRIER_FAILURE);
    assert_int_equal(rsm_group_disconnect(group), RSM_SUCCESS);
    assert_int_equal(fake.groups, 0);
    close_controller(controller);
}

TEST(members_and_changes)
{
    rsm_group_member_t members[3];
    rsm_group_event_t event;
    uint_t count = 0;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    rsm_group_handle_t group = connect_group(controller);
    assert_int_equal(rsm_group_get_members(group, NULL, NULL), RSMERR_BAD_ADDR);
    assert_int_equal(rsm_group_get_members(group, NULL, &count), RSM_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(rsm_group_get_members(group, NULL, &count), RSMERR_BAD_ADDR);
    count = 1000000;
    assert_int_equal(rsm_group_get_members(group, members, &count), RSM_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(members[0].node, FAKE_NODE);
    assert_int_equal(members[0].error, RSM_SUCCESS);
    assert_int_equal(members[0].size, 5000);
    assert_int_equal(members[1].error, RSMERR_PERM_DENIED);
    count = 1;
    members[1].node = 77;
    assert_int_equal(rsm_group_get_members(group, members, &count), RSM_SUCCESS);
    assert_int_equal(count, 2);
    assert_int_equal(members[1].node, 77);
    inject_calloc = (struct injection){.error = ENOMEM};
    assert_int_equal(rsm_group_get_members(group, members, &count), RSMERR_INSUFFICIENT_MEM);
    assert_int_equal(rsm_group_event_wait(group, 0, NULL), RSMERR_BAD_ADDR);
    assert_int_equal(rsm_group_event_wait(group, 0, &event), RSM_SUCCESS);
    assert_int_equal(event.change, RSM_GROUP_LEFT);
    assert_int_equal(event.node, FAKE_NODE);
    assert_int_equal(event.error, RSMERR_CONN_ABORTED);
    rsm_group_disconnect(group);
    close_controller(controller);
}

/* Of all functions but the first, in a child of the process that connected. */
TEST(statuses_are_translated)
{
    static const struct {
        enum rsm_status status;
        int put, post, wait;
    } cases[] = {
        {RSM_ST_RANGE, RSMERR_BAD_OFFSET, RSMERR_BAD_OFFSET, RSMERR_BAD_OFFSET},
        {RSM_ST_STALE, RSMERR_BAD_SEG_HNDL, RSMERR_BAD_SEG_HNDL, RSMERR_BAD_SEG_HNDL},
        {RSM_ST_TIMEOUT, RSMERR_TIMEOUT, RSMERR_REMOTE_NODE_UNREACHABLE, RSMERR_TIMEOUT},
        {RSM_ST_INTERRUPTED, RSMERR_INTERRUPTED, RSMERR_INTERRUPTED, RSMERR_INTERRUPTED},
        {RSM_ST_TRANSFER, RSMERR_BARRIER_FAILURE, RSMERR_CONN_ABORTED, RSMERR_BARRIER_FAILURE},
        {RSM_ST_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE, RSMERR_REMOTE_NODE_UNREACHABLE,
         RSMERR_REMOTE_NODE_UNREACHABLE},
    };
    uint64_t word = 0;
    rsm_group_event_t event;
    rsmapi_controller_handle_t controller = open_controller("sci0");
    rsm_group_handle_t group = connect_group(controller);
    for (size_t i = 0; i < COUNT(cases); i++) {
        fake.group = cases[i].status;
        assert_int_equal(rsm_group_put(group, 0, &word, 8), cases[i].put);
        assert_int_equal(rsm_group_order_barrier(group), cases[i].put);
        assert_int_equal(rsm_group_signal_post(group, 0), cases[i].post);
        assert_int_equal(rsm_group_event_wait(group, 0, &event), cases[i].wait);
    }
    rsm_group_disconnect(group);
    close_controller(controller);
}
