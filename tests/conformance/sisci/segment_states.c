/* SPDX-License-Identifier: BSD-3-Clause */
/* The states of segments: the library's tables against the documented diagrams, and segments taken
 * along each edge. */
#include "segment_states.h"

#include "segments_peer.h"

/* ---------------------------------------------------------------- local segments */

/* The documented diagram: what each action gives, and where it leads, from each state. */
static const struct sisci_local_edge documented[SISCI_LOCAL_STATES][SISCI_LOCAL_ACTIONS] = {
    {{SCI_ERR_OK, SISCI_PREPARED},
     {SCI_ERR_SEGMENT_NOT_PREPARED, SISCI_NOT_PREPARED},
     {SCI_ERR_ILLEGAL_OPERATION, SISCI_NOT_PREPARED},
     {SCI_ERR_OK, SISCI_LOCAL_STATES}},
    {{SCI_ERR_OK, SISCI_PREPARED},
     {SCI_ERR_OK, SISCI_AVAILABLE},
     {SCI_ERR_ILLEGAL_OPERATION, SISCI_PREPARED},
     {SCI_ERR_OK, SISCI_LOCAL_STATES}},
    {{SCI_ERR_OK, SISCI_AVAILABLE},
     {SCI_ERR_OK, SISCI_AVAILABLE},
     {SCI_ERR_OK, SISCI_PREPARED},
     {SCI_ERR_OK, SISCI_LOCAL_STATES}},
};

static sci_error_t act(sci_local_segment_t segment, unsigned adapter,
                       enum sisci_local_action action)
{
    switch (action) {
    case SISCI_PREPARE:
        return ERROR_OF(SCIPrepareSegment, segment, adapter, 0);
    case SISCI_SET_AVAILABLE:
        return ERROR_OF(SCISetSegmentAvailable, segment, adapter, 0);
    case SISCI_SET_UNAVAILABLE:
        return ERROR_OF(SCISetSegmentUnavailable, segment, adapter, 0);
    default:
        return ERROR_OF(SCIRemoveSegment, segment, 0);
    }
}

static sci_local_segment_t brought_to(enum sisci_local_state state)
{
    sci_local_segment_t segment;
    SUCCEEDS(SCICreateSegment, desc(), &segment, SEGMENT, SIZE, NULL, NULL, 0);
    if (state != SISCI_NOT_PREPARED)
        SUCCEEDS(SCIPrepareSegment, segment, ADAPTER, 0);
    if (state == SISCI_AVAILABLE)
        SUCCEEDS(SCISetSegmentAvailable, segment, ADAPTER, 0);
    return segment;
}

static bool is_connectable(void)
{
    sci_remote_segment_t remote;
    sci_error_t error = ERROR_OF(SCIConnectSegment, desc(), &remote, node_a(), SEGMENT, ADAPTER,
                                 NULL, NULL, SCI_INFINITE_TIMEOUT, 0);
    if (error == SCI_ERR_OK)
        SUCCEEDS(SCIDisconnectSegment, remote, 0);
    else
        EXPECT(SCI_ERR_NO_SUCH_SEGMENT, error);
    return error == SCI_ERR_OK;
}

/* Which state it is in, as anybody can see. It may not be in that one any more. */
static enum sisci_local_state seen(sci_local_segment_t segment)
{
    if (is_connectable())
        return SISCI_AVAILABLE;
    sci_error_t error = ERROR_OF(SCISetSegmentAvailable, segment, ADAPTER, 0);
    if (error == SCI_ERR_ILLEGAL_PARAMETER)
        return SISCI_LOCAL_STATES;
    return error == SCI_ERR_SEGMENT_NOT_PREPARED ? SISCI_NOT_PREPARED : SISCI_PREPARED;
}

CONFORMANCE(X, 50, "local segments go along every edge of the diagram, and along no other")
{
    begin_as_a();
    for (unsigned state = 0; state < SISCI_LOCAL_STATES; state++)
        for (unsigned action = 0; action < SISCI_LOCAL_ACTIONS; action++) {
            const struct sisci_local_edge *edge = &documented[state][action];
            about("state %u, action %u", state, action);
            EXPECT((int)edge->error, (int)sisci_local_edges[state][action].error);
            EXPECT((int)edge->next, (int)sisci_local_edges[state][action].next);
            sci_local_segment_t segment = brought_to(state);
            EXPECT((int)edge->error, (int)act(segment, ADAPTER, action));
            EXPECT((int)edge->next, (int)seen(segment));
            if (edge->next != SISCI_LOCAL_STATES)
                SUCCEEDS(SCIRemoveSegment, segment, 0);
        }
}

CONFORMANCE(X, 51, "adapters that are not there are refused in every state, and change nothing")
{
    begin_as_a();
    for (unsigned state = 0; state < SISCI_LOCAL_STATES; state++)
        for (unsigned action = 0; action < SISCI_REMOVE; action++) {
            sci_local_segment_t segment = brought_to(state);
            EXPECT(SCI_ERR_NO_SUCH_ADAPTERNO, act(segment, 63, action));
            EXPECT(SCI_ERR_ILLEGAL_ADAPTERNO, act(segment, 64, action));
            EXPECT(SCI_ERR_ILLEGAL_ADAPTERNO, act(segment, UINT32_MAX, action));
            EXPECT((int)state, (int)seen(segment));
            SUCCEEDS(SCIRemoveSegment, segment, 0);
        }
}

/* ---------------------------------------------------------------- remote segments */

CONFORMANCE(X, 52, "the remote table has the edges of the diagram, and no other")
{
    static const struct {
        enum sisci_remote_state from;
        sci_segment_cb_reason_t reason;
        enum sisci_remote_state to;
    } edges[] = {
        {SISCI_CONNECTING, SCI_CB_OPERATIONAL, SISCI_OPERATIONAL},
        {SISCI_CONNECTING, SCI_CB_LOST, SISCI_LOST},
        {SISCI_OPERATIONAL, SCI_CB_NOT_OPERATIONAL, SISCI_NOT_OPERATIONAL},
        {SISCI_OPERATIONAL, SCI_CB_DISCONNECT, SISCI_DISCONNECTING_OPERATIONAL},
        {SISCI_OPERATIONAL, SCI_CB_LOST, SISCI_LOST},
        {SISCI_NOT_OPERATIONAL, SCI_CB_OPERATIONAL, SISCI_OPERATIONAL},
        {SISCI_NOT_OPERATIONAL, SCI_CB_DISCONNECT, SISCI_DISCONNECTING_NOT_OPERATIONAL},
        {SISCI_NOT_OPERATIONAL, SCI_CB_LOST, SISCI_LOST},
        {SISCI_DISCONNECTING_OPERATIONAL, SCI_CB_LOST, SISCI_LOST},
        {SISCI_DISCONNECTING_NOT_OPERATIONAL, SCI_CB_OPERATIONAL, SISCI_DISCONNECTING_OPERATIONAL},
        {SISCI_DISCONNECTING_NOT_OPERATIONAL, SCI_CB_LOST, SISCI_LOST},
    };
    enum { EDGES = sizeof edges / sizeof edges[0] };
    for (unsigned from = 0; from < SISCI_REMOTE_STATES; from++)
        for (unsigned reason = 0; reason <= MAX_CB_REASON; reason++) {
            unsigned wanted = SISCI_REMOTE_STATES;
            for (unsigned i = 0; i < EDGES; i++)
                if (edges[i].from == from && (unsigned)edges[i].reason == reason)
                    wanted = edges[i].to;
            about("state %u, reason %u", from, reason);
            EXPECT((int)wanted, (int)sisci_remote_edges[from][reason]);
        }
}

/* The reasons that a connection's callback has been called with, as digits. */
static atomic_uint told;

static sci_callback_action_t tell(void *argument, sci_remote_segment_t segment,
                                  sci_segment_cb_reason_t reason, sci_error_t status)
{
    (void)argument, (void)segment, (void)status;
    atomic_store(&told, atomic_load(&told) * 10 + (unsigned)reason);
    return SCI_CALLBACK_CONTINUE;
}

static void expect_told(unsigned wanted)
{
    int64_t deadline = now_ms() + LONG_MS;
    while (atomic_load(&told) != wanted && now_ms() < deadline)
        usleep(1000);
    EXPECT((int)wanted, (int)atomic_load(&told));
}

/* Disconnected from the state that these reasons lead to, in order. */
static void leave_from(unsigned reasons, struct actor *owner)
{
    sci_remote_segment_t segment;
    S_OK(owner, offer, .id = SEGMENT, .size = SIZE);
    await_connect(node_b(), SEGMENT, SCI_ERR_OK);
    atomic_store(&told, 0);
    SUCCEEDS(SCIConnectSegment, desc(), &segment, node_b(), SEGMENT, ADAPTER, tell, NULL, 0,
             SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT);
    if (reasons != 0)
        expect_told(SCI_CB_OPERATIONAL);
    for (int i = 0; i < 2 && reasons / 10 > 0; i++) { /* the second time nobody is told */
        S_OK(owner, unavailable, .flags = SCI_FLAG_NOTIFY);
        S_OK(owner, available);
    }
    if (reasons == 454 || reasons == 425 || reasons == 45)
        S_OK(owner, unavailable, .flags = SCI_FLAG_FORCE_DISCONNECT);
    if (reasons != 0)
        expect_told(reasons);
    SUCCEEDS(SCIDisconnectSegment, segment, 0);
    unsigned last = atomic_load(&told);
    usleep(5000);
    EXPECT((int)last, (int)atomic_load(&told));
    S_OK(owner, remove, .flags = SCI_FLAG_FORCE_REMOVE);
}

CONFORMANCE(X, 53,
            "remote segments go along the edges of the diagram, and leave it from each state")
{
    static const unsigned paths[] = {0, 4, 42, 425};
    struct actor *owner = b_start();
    begin_as_a();
    for (unsigned i = 0; i < sizeof paths / sizeof paths[0]; i++)
        for (int round = 0; round < 3; round++)
            leave_from(paths[i], owner);
}
