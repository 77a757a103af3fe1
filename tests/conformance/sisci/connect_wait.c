/* SPDX-License-Identifier: BSD-3-Clause */
/* Checks 106 and 107: connects that wait, which are an extension. */
#include "peer.h"
#include "segments_peer.h"

enum { NUMBER = 5, SHORT_MS = 300 };

static sci_error_t connect_within(sci_remote_segment_t *segment, unsigned id, unsigned timeout)
{
    return ERROR_OF(SCIConnectSegment, desc(), segment, node_b(), id, ADAPTER, NULL, NULL, timeout,
                    RSM_SCI_FLAG_CONNECT_WAIT);
}

static sci_error_t find_within(sci_remote_interrupt_t *interrupt, unsigned timeout)
{
    return ERROR_OF(SCIConnectInterrupt, desc(), interrupt, node_b(), ADAPTER, NUMBER, timeout,
                    RSM_SCI_FLAG_CONNECT_WAIT);
}

static sci_error_t find_data_within(sci_remote_data_interrupt_t *interrupt, unsigned timeout)
{
    return ERROR_OF(SCIConnectDataInterrupt, desc(), interrupt, node_b(), ADAPTER, NUMBER, timeout,
                    RSM_SCI_FLAG_CONNECT_WAIT);
}

static void *wait_for_segment(void *unused)
{
    sci_remote_segment_t segment;
    return (void *)(uintptr_t)connect_within(&segment, SEGMENT, SCI_INFINITE_TIMEOUT);
}

static void *wait_for_interrupt(void *unused)
{
    sci_remote_interrupt_t interrupt;
    return (void *)(uintptr_t)find_within(&interrupt, LONG_MS);
}

static void *wait_for_data_interrupt(void *unused)
{
    sci_remote_data_interrupt_t interrupt;
    return (void *)(uintptr_t)find_data_within(&interrupt, LONG_MS);
}

typedef void *waits(void *unused);
static waits *const all[] = {wait_for_segment, wait_for_interrupt, wait_for_data_interrupt};
enum { ALL = sizeof all / sizeof all[0] };

static pthread_t threads[ALL];

static void start_all(void)
{
    for (unsigned i = 0; i < ALL; i++)
        HOLDS(pthread_create(&threads[i], NULL, all[i], NULL) == 0);
    usleep(SHORT_MS * 1000); /* they have tried by then, or try later */
}

static void expect_all(const void *wanted)
{
    for (unsigned i = 0; i < ALL; i++) {
        void *result;
        HOLDS(pthread_join(threads[i], &result) == 0);
        HOLDS(result == wanted);
    }
}

CONFORMANCE(R, 106, "a connect with the flag for it waits for the other end, or its timeout")
{
    sci_remote_segment_t segment = (sci_remote_segment_t)8;
    sci_remote_interrupt_t plain = (sci_remote_interrupt_t)8;
    sci_remote_data_interrupt_t data = (sci_remote_data_interrupt_t)8;
    struct actor *b = b_start();
    begin_as_a();
    S_OK(b, offer, .slot = 1, .id = SEGMENT + 1, .size = SIZE); /* B's node answers */
    await_connect(node_b(), SEGMENT + 1, SCI_ERR_OK);
    int64_t before = now_ms();
    EXPECT(SCI_ERR_TIMEOUT, connect_within(&segment, SEGMENT, SHORT_MS));
    HOLDS(segment == NULL && now_ms() - before >= SHORT_MS);
    EXPECT(SCI_ERR_TIMEOUT, find_within(&plain, 1));
    EXPECT(SCI_ERR_TIMEOUT, find_data_within(&data, 1));
    HOLDS(plain == NULL && data == NULL);
    /* 0 is no time, and other errors come at once. */
    EXPECT(SCI_ERR_NO_SUCH_SEGMENT, connect_within(&segment, SEGMENT, 0));
    GIVES(SCI_ERR_ILLEGAL_NODEID, SCIConnectSegment, desc(), &segment, 0x10000, SEGMENT, ADAPTER,
          NULL, NULL, SCI_INFINITE_TIMEOUT, RSM_SCI_FLAG_CONNECT_WAIT);
    EXPECT(SCI_ERR_OK, connect_within(&segment, SEGMENT + 1, SCI_INFINITE_TIMEOUT));
    start_all();
    S_OK(b, offer, .id = SEGMENT, .size = SIZE);
    B_OK(b, create, .number = NUMBER);
    B_OK(b, create, .data = true, .slot = 1, .number = NUMBER);
    expect_all((void *)(uintptr_t)SCI_ERR_OK);
}

static sci_callback_action_t on_event(void *argument, sci_remote_segment_t segment,
                                      sci_segment_cb_reason_t reason, sci_error_t status)
{
    return SCI_CALLBACK_CONTINUE;
}

CONFORMANCE(R, 107, "a thread that waits to connect can be cancelled, and ends with its descriptor")
{
    sci_remote_segment_t segment;
    sci_error_t error;
    (void)b_start();
    begin_as_a();
    start_all();
    for (unsigned i = 0; i < ALL; i++)
        HOLDS(pthread_cancel(threads[i]) == 0);
    expect_all(PTHREAD_CANCELED);
    start_all();
    SCIClose(desc(), 0, &error);
    EXPECT(SCI_ERR_OK, error);
    expect_all((void *)(uintptr_t)SCI_ERR_ILLEGAL_PARAMETER);
    GIVES(SCI_ERR_ILLEGAL_FLAG, SCIConnectSegment, desc(), &segment, node_b(), SEGMENT, ADAPTER,
          on_event, NULL, SCI_INFINITE_TIMEOUT,
          SCI_FLAG_USE_CALLBACK | SCI_FLAG_ASYNCHRONOUS_CONNECT | RSM_SCI_FLAG_CONNECT_WAIT);
}
