/* SPDX-License-Identifier: BSD-3-Clause */
/* B: barriers and modes. */
#include "stage.h"

static uint64_t word = 1;

static int put(rsm_memseg_import_handle_t handle)
{
    return rsm_memseg_import_put64(handle, 0, &word, 1);
}

static rsm_memseg_import_handle_t connection(void)
{
    offered(1);
    return connected(RSM_PERM_RDWR);
}

CONFORMANCE(B, 01, "init of no connection, or no barrier")
{
    rsmapi_barrier_t barrier;
    rsm_memseg_import_handle_t handle = connection();
    EXPECT(RSMERR_BAD_SEG_HNDL,
           rsm_memseg_import_init_barrier(NULL, RSM_BARRIER_SEGMENT, &barrier));
    EXPECT(RSMERR_BAD_BARRIER_PTR,
           rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, NULL));
}

CONFORMANCE(B, 02, "init with every type, and with what is none")
{
    static const int types[] = {RSM_BARRIER_SEGMENT,
                                RSM_BARRIER_NODE,
                                RSM_BARRIER_SEGMENT_THREAD,
                                RSM_BARRIER_NODE_THREAD,
                                0,
                                4711};
    rsm_memseg_import_handle_t handle = connection();
    for (size_t i = 0; i < sizeof types / sizeof types[0]; i++) {
        rsmapi_barrier_t barrier;
        about("type %d", types[i]);
        OK(rsm_memseg_import_init_barrier(handle, (rsm_barrier_type_t)types[i], &barrier));
        OK(rsm_memseg_import_open_barrier(&barrier));
        OK(put(handle));
        OK(rsm_memseg_import_close_barrier(&barrier));
        OK(rsm_memseg_import_destroy_barrier(&barrier));
    }
}

/* What each of the four calls says of a barrier. */
static void expect_all(int wanted, rsmapi_barrier_t *barrier)
{
    EXPECT(wanted, rsm_memseg_import_open_barrier(barrier));
    EXPECT(wanted, rsm_memseg_import_order_barrier(barrier));
    EXPECT(wanted, rsm_memseg_import_close_barrier(barrier));
    EXPECT(wanted, rsm_memseg_import_destroy_barrier(barrier));
}

CONFORMANCE(B, 03, "open, order, close and destroy of no barrier")
{
    act_as_importer();
    expect_all(RSMERR_BAD_BARRIER_PTR, NULL);
}

CONFORMANCE(B, 04, "open, order, close and destroy of a zeroed barrier")
{
    rsmapi_barrier_t barrier;
    act_as_importer();
    memset(&barrier, 0, sizeof barrier);
    expect_all(RSMERR_BARRIER_UNINITIALIZED, &barrier);
}

CONFORMANCE(B, 05, "init, open, order, close")
{
    rsmapi_barrier_t *barrier = barrier_of(connection());
    OK(rsm_memseg_import_open_barrier(barrier));
    OK(rsm_memseg_import_order_barrier(barrier));
    OK(rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 06, "open and close any number of times")
{
    rsmapi_barrier_t *barrier = barrier_of(connection());
    for (int i = 0; i < 70000; i++) { /* more than 16 bits */
        OK(rsm_memseg_import_open_barrier(barrier));
        OK(rsm_memseg_import_close_barrier(barrier));
    }
    OK(rsm_memseg_import_open_barrier(barrier));
    OK(rsm_memseg_import_open_barrier(barrier));
    OK(rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 07, "the exporter unpublishes between open and close")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    unpublish_and_tell(exporter, handle);
    EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 08, "once aborted every close says so, however often opened again")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    unpublish_and_tell(exporter, handle);
    for (int i = 0; i < 3; i++) {
        EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(barrier));
        OK(rsm_memseg_import_open_barrier(barrier));
    }
    EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 09, "the exporter is killed between open and close")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    actor_kill(exporter);
    await_abort(handle);
    EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 10, "republish and rebind between open and close do no harm")
{
    struct actor *exporter = exporter_start();
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, 0666);
    TELL_OK(exporter, OFFER, .pages = 1, .flags = RSM_ALLOW_REBIND);
    act_as_importer();
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    TELL_OK(exporter, REPUBLISH, .acl_count = count, .acl = {acl[0], acl[1]});
    OK(put(handle));
    TELL_OK(exporter, REBIND);
    OK(put(handle));
    OK(rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 11, "another importer disconnects between open and close")
{
    struct actor *neighbour = importer_start();
    offered(1);
    rsm_memseg_import_handle_t other = connected(RSM_PERM_RDWR);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    TELL_OK(neighbour, CONNECT);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    OK(put(handle));
    OK(rsm_memseg_import_disconnect(other));
    TELL_OK(neighbour, DISCONNECT);
    OK(rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 12, "close without open")
{
    rsmapi_barrier_t *barrier = barrier_of(connection());
    int error = rsm_memseg_import_close_barrier(barrier);
    HOLDS(error == RSM_SUCCESS || error == RSMERR_CONN_ABORTED ||
          error == RSMERR_BARRIER_NOT_OPENED);
    OK(rsm_memseg_import_open_barrier(barrier));
    OK(rsm_memseg_import_close_barrier(barrier));
}

CONFORMANCE(B, 13, "order after an abort")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(barrier));
    TELL_OK(exporter, UNPUBLISH);
    await_abort(handle);
    EXPECT_EITHER(RSM_SUCCESS, RSMERR_BARRIER_FAILURE, rsm_memseg_import_order_barrier(barrier));
}

CONFORMANCE(B, 14, "two barriers of one connection are independent")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *first = barrier_of(handle), *second = barrier_of(handle);
    OK(rsm_memseg_import_open_barrier(first));
    OK(rsm_memseg_import_open_barrier(second));
    OK(rsm_memseg_import_close_barrier(first));
    OK(rsm_memseg_import_destroy_barrier(first));
    OK(rsm_memseg_import_order_barrier(second));
    OK(rsm_memseg_import_close_barrier(second));
    OK(rsm_memseg_import_open_barrier(second));
    unpublish_and_tell(exporter, handle);
    EXPECT(RSMERR_CONN_ABORTED, rsm_memseg_import_close_barrier(second));
    EXPECT(RSMERR_BARRIER_UNINITIALIZED, rsm_memseg_import_close_barrier(first));
}

CONFORMANCE(B, 15, "implicit put after destroy, and after another init")
{
    rsmapi_barrier_t barrier;
    rsm_memseg_import_handle_t handle = connection();
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    OK(put(handle));
    OK(rsm_memseg_import_destroy_barrier(&barrier));
    EXPECT(RSMERR_BARRIER_UNINITIALIZED, put(handle));
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    OK(put(handle));
}

CONFORMANCE(B, 16, "destroying the older of two barriers counts as well")
{
    rsmapi_barrier_t older, newer;
    rsm_memseg_import_handle_t handle = connection();
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &older));
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_NODE, &newer));
    OK(put(handle));
    OK(rsm_memseg_import_destroy_barrier(&older));
    EXPECT(RSMERR_BARRIER_UNINITIALIZED, put(handle));
    OK(rsm_memseg_import_open_barrier(&newer));
    OK(rsm_memseg_import_close_barrier(&newer));
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &older));
    OK(put(handle));
}

CONFORMANCE(B, 17, "destroy twice")
{
    rsmapi_barrier_t *barrier = barrier_of(connection());
    OK(rsm_memseg_import_destroy_barrier(barrier));
    EXPECT_EITHER(RSMERR_BARRIER_UNINITIALIZED, RSM_SUCCESS,
                  rsm_memseg_import_destroy_barrier(barrier));
}

static void expect_mode(rsm_memseg_import_handle_t handle, rsm_barrier_mode_t wanted)
{
    rsm_barrier_mode_t mode = (rsm_barrier_mode_t)99;
    OK(rsm_memseg_import_get_mode(handle, &mode));
    HOLDS(mode == wanted);
}

CONFORMANCE(B, 18, "the mode is implicit at first")
{
    expect_mode(connection(), RSM_BARRIER_MODE_IMPLICIT);
}

CONFORMANCE(B, 19, "the mode is a connection's own")
{
    rsm_memseg_import_handle_t handle = connection(), other = connected(RSM_PERM_RDWR);
    OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_EXPLICIT));
    expect_mode(handle, RSM_BARRIER_MODE_EXPLICIT);
    expect_mode(other, RSM_BARRIER_MODE_IMPLICIT);
    OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_IMPLICIT));
    expect_mode(handle, RSM_BARRIER_MODE_IMPLICIT);
}

CONFORMANCE(B, 20, "a mode that does not exist changes nothing")
{
    rsm_memseg_import_handle_t handle = connection();
    EXPECT(RSMERR_BAD_MODE, rsm_memseg_import_set_mode(handle, (rsm_barrier_mode_t)7));
    expect_mode(handle, RSM_BARRIER_MODE_IMPLICIT);
    OK(rsm_memseg_import_set_mode(handle, RSM_BARRIER_MODE_EXPLICIT));
    EXPECT(RSMERR_BAD_MODE, rsm_memseg_import_set_mode(handle, (rsm_barrier_mode_t)7));
    expect_mode(handle, RSM_BARRIER_MODE_EXPLICIT);
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_set_mode(NULL, (rsm_barrier_mode_t)7));
}

CONFORMANCE(B, 21, "get_mode of no connection, or to nowhere")
{
    rsm_barrier_mode_t mode;
    EXPECT(RSMERR_BAD_ADDR, rsm_memseg_import_get_mode(connection(), NULL));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_import_get_mode(NULL, &mode));
}

CONFORMANCE(B, 22, "barriers may be used explicitly in implicit mode")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    uint8_t *view = mapped(handle, PAGE);
    expect_mode(handle, RSM_BARRIER_MODE_IMPLICIT);
    for (uint64_t i = 1; i <= 10; i++) {
        OK(rsm_memseg_import_open_barrier(barrier));
        store64(view + 8, i);
        OK(rsm_memseg_import_order_barrier(barrier));
        store64(view + 16, i);
        OK(put(handle));
        OK(rsm_memseg_import_close_barrier(barrier));
        HOLDS(ASK(exporter, LOAD, .offset = 8).value == i);
        HOLDS(ASK(exporter, LOAD, .offset = 16).value == i);
    }
}

enum { PATIENCE_MS = 20000 };

CONFORMANCE(B, 23, "what was stored before order or close is there when the event is")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    rsmapi_barrier_t *barrier = barrier_of(handle);
    uint8_t *view = mapped(handle, PAGE);
    for (uint64_t i = 1; i <= 200; i++) {
        BEGIN(exporter, WAIT, .timeout = PATIENCE_MS);
        OK(rsm_memseg_import_open_barrier(barrier));
        store64(view, i);
        if (i % 2 == 0)
            OK(rsm_memseg_import_order_barrier(barrier));
        else
            OK(rsm_memseg_import_close_barrier(barrier));
        OK(rsm_intr_signal_post(handle, 0));
        OK(peer_answer(exporter).result);
        HOLDS(ASK(exporter, LOAD).value == i);
    }
}
