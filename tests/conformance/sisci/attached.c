/* SPDX-License-Identifier: BSD-3-Clause */
/* Beyond the list of checks: what happens to a segment that several processes have. */
#include "segments_peer.h"

static sci_callback_action_t count_connects(void *argument, sci_local_segment_t segment,
                                            sci_segment_cb_reason_t reason, unsigned node,
                                            unsigned adapter, sci_error_t error)
{
    if (reason == SCI_CB_CONNECT && node == node_b() && error == SCI_ERR_OK)
        atomic_fetch_add((atomic_uint *)argument, 1);
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(X, 46, "who attaches and makes available what the owner prepared hears who connects")
{
    static atomic_uint connects;
    struct actor *owner = exporter_start(), *b = b_start();
    sci_local_segment_t waits, called;
    unsigned node = 0, adapter;
    size_t size;
    sci_error_t error;
    begin_as_a();
    for (unsigned i = 0; i < 2; i++) {
        S_OK(owner, create, .slot = i, .id = SEGMENT + i, .size = SIZE, .flags = SCI_FLAG_SHARED);
        S_OK(owner, prepare, .slot = i);
    }
    SUCCEEDS(SCIAttachLocalSegment, desc(), &waits, SEGMENT, &size, NULL, NULL, 0);
    SUCCEEDS(SCIAttachLocalSegment, desc(), &called, SEGMENT + 1, &size, count_connects, &connects,
             SCI_FLAG_USE_CALLBACK);
    SUCCEEDS(SCISetSegmentAvailable, waits, ADAPTER, 0);
    SUCCEEDS(SCISetSegmentAvailable, called, ADAPTER, 0);
    S_OK(b, connect, .slot = 0, .node = node_a(), .id = SEGMENT);
    S_OK(b, connect, .slot = 1, .node = node_a(), .id = SEGMENT + 1);
    HOLDS(SCIWaitForLocalSegmentEvent(waits, &node, &adapter, LONG_MS, 0, &error) ==
          SCI_CB_CONNECT);
    EXPECT(SCI_ERR_OK, error);
    HOLDS(node == node_b());
    for (int64_t end = now_ms() + LONG_MS; atomic_load(&connects) == 0; usleep(1000))
        HOLDS(now_ms() < end);
    S_OK(b, disconnect, .slot = 0);
    HOLDS(SCIWaitForLocalSegmentEvent(waits, &node, &adapter, LONG_MS, 0, &error) ==
          SCI_CB_DISCONNECT);
}
