/* SPDX-License-Identifier: BSD-3-Clause */
/* N, first part: post and wait. */
#include <sys/time.h>

#include "process.h"
#include "stage.h"

enum {
    EVENT_MS = 20000, /* an event comes within that time, and a wait ends so long after its time */
    NO_EVENT_MS = 50, /* how long to look for one that must not come */
    TICK_US = 20000   /* between signals */
};

/* An exporting test process with an importer that is connected. */
static rsm_memseg_export_handle_t with_importer(struct actor **importer)
{
    *importer = importer_start();
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(1), 1);
    TELL_OK(*importer, CONNECT);
    return segment;
}

/* That so many events are pending, and no more. */
static void expect_events(void *handle, unsigned count)
{
    for (unsigned i = 0; i < count; i++)
        OK(rsm_intr_signal_wait(handle, EVENT_MS));
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(handle, NO_EVENT_MS));
}

CONFORMANCE(N, 01, "no segment")
{
    struct pollfd entry;
    act_as_exporter();
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_intr_signal_post(NULL, 0));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_intr_signal_wait(NULL, 0));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_get_pollfd(NULL, &entry));
    EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_release_pollfd(NULL));
}

CONFORMANCE(N, 02, "an importer's post wakes the exporter")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    BEGIN(exporter, WAIT, .timeout = EVENT_MS);
    HOLDS(!actor_ended(exporter, NO_EVENT_MS));
    OK(rsm_intr_signal_post(handle, 0));
    OK(peer_answer(exporter).result);
}

CONFORMANCE(N, 03, "an exporter's post wakes every importer once")
{
    struct actor *first, *second = importer_start();
    rsm_memseg_export_handle_t segment = with_importer(&first);
    TELL_OK(second, ATTACH, .pages = 1);
    TELL_OK(second, CONNECT, .slot = 1);
    BEGIN(first, WAIT_IMPORT, .timeout = EVENT_MS);
    HOLDS(!actor_ended(first, NO_EVENT_MS));
    OK(rsm_intr_signal_post(segment, 0));
    OK(peer_answer(first).result);
    TELL_OK(second, WAIT_IMPORT, .timeout = EVENT_MS);
    TELL_OK(second, WAIT_IMPORT, .slot = 1, .timeout = EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, first, WAIT_IMPORT, .timeout = NO_EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, second, WAIT_IMPORT, .timeout = NO_EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, second, WAIT_IMPORT, .slot = 1, .timeout = NO_EVENT_MS);
}

CONFORMANCE(N, 04, "an importer's post does not reach other importers")
{
    struct actor *first, *second = importer_start();
    rsm_memseg_export_handle_t segment = with_importer(&first);
    TELL_OK(second, CONNECT);
    TELL_OK(first, POST_IMPORT);
    expect_events(segment, 1);
    TELL_GET(RSMERR_TIMEOUT, second, WAIT_IMPORT, .timeout = NO_EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, first, WAIT_IMPORT, .timeout = NO_EVENT_MS);
}

CONFORMANCE(N, 05, "three posts satisfy three waits")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    for (int i = 0; i < 3; i++)
        TELL_OK(importer, POST_IMPORT);
    expect_events(segment, 3);
    for (int i = 0; i < 3; i++)
        OK(rsm_intr_signal_post(segment, 0));
    for (int i = 0; i < 3; i++)
        TELL_OK(importer, WAIT_IMPORT, .timeout = EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, importer, WAIT_IMPORT, .timeout = NO_EVENT_MS);
}

/* Wait until an event is pending, without taking it. */
static void await_pending(void *handle)
{
    struct pollfd entry;
    OK(rsm_memseg_get_pollfd(handle, &entry));
    HOLDS(poll(&entry, 1, EVENT_MS) == 1 && entry.revents == POLLRDNORM);
    OK(rsm_memseg_release_pollfd(handle));
}

CONFORMANCE(N, 06, "an event before the wait is remembered")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    TELL_OK(importer, POST_IMPORT);
    await_pending(segment);
    OK(rsm_intr_signal_wait(segment, EVENT_MS));
}

CONFORMANCE(N, 07, "a wait of no time looks")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    int64_t start = now_ms();
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, 0));
    HOLDS(now_ms() - start < EVENT_MS);
    TELL_OK(importer, POST_IMPORT);
    await_pending(segment);
    OK(rsm_intr_signal_wait(segment, 0));
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, 0));
}

CONFORMANCE(N, 08, "a wait of 100 ms takes 100 ms")
{
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(1), 1);
    int64_t start = now_ms();
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, 100));
    int64_t taken = now_ms() - start;
    HOLDS(taken >= 99 && taken < 100 + EVENT_MS);
}

static void on_alarm(int number)
{
}

/* Signals from now on, more than once: the first may come before the wait. */
static void start_signals(void)
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_interval.tv_usec = TICK_US, .it_value.tv_usec = TICK_US};
    HOLDS(sigaction(SIGALRM, &action, NULL) == 0);
    HOLDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

static void stop_signals(void)
{
    struct itimerval timer = {.it_value.tv_usec = 0};
    HOLDS(setitimer(ITIMER_REAL, &timer, NULL) == 0);
}

CONFORMANCE(N, 09, "a signal interrupts a wait without end")
{
    act_as_exporter();
    rsm_memseg_export_handle_t segment = published(pages(1), 1);
    start_signals();
    int error = rsm_intr_signal_wait(segment, -1);
    stop_signals();
    EXPECT(RSMERR_INTERRUPTED, error);
}

CONFORMANCE(N, 10, "an exporter may post to nobody")
{
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    OK(rsm_intr_signal_post(segment, 0));
    publish(segment, SEGMENT_ID);
    OK(rsm_intr_signal_post(segment, 0));
    OK(rsm_memseg_export_unpublish(segment));
    OK(rsm_intr_signal_post(segment, 0));
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, NO_EVENT_MS));
}

CONFORMANCE(N, 11, "a post to an exporter that has unpublished is lost")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    TELL_OK(exporter, UNPUBLISH);
    EXPECT_EITHER(RSM_SUCCESS, RSMERR_CONN_ABORTED, rsm_intr_signal_post(handle, 0));
    TELL_GET(RSMERR_TIMEOUT, exporter, WAIT, .timeout = NO_EVENT_MS);
}

CONFORMANCE(N, 12, "an importer does not see posts from before it connected")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    OK(rsm_intr_signal_post(segment, 0));
    TELL_OK(importer, CONNECT, .slot = 1);
    TELL_OK(importer, WAIT_IMPORT, .timeout = EVENT_MS);
    TELL_GET(RSMERR_TIMEOUT, importer, WAIT_IMPORT, .slot = 1, .timeout = NO_EVENT_MS);
}

CONFORMANCE(N, 13, "no mapping is needed to get events")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    OK(rsm_intr_signal_post(segment, 0));
    TELL_OK(importer, WAIT_IMPORT, .timeout = EVENT_MS);
}

/* Sun's library ignored the flag; librsm does what the manual says. */
/* Events that come within this time. */
static unsigned events_within(int timeout, int (*wait)(void *waiter, int timeout), void *waiter)
{
    unsigned count = 0;
    while (wait(waiter, timeout) == RSM_SUCCESS)
        count++;
    return count;
}

static int wait_here(void *segment, int timeout)
{
    return rsm_intr_signal_wait(segment, timeout);
}

static int wait_there(void *importer, int timeout)
{
    return TELL(importer, WAIT_IMPORT, .timeout = timeout);
}

/* What is posted on another host arrives a little later, and counts if the first event has been
 * consumed by then. Whether it has arrived cannot be asked, so there the exporter and the importer
 * are given more time again and again. */
enum { ROUNDS_MAX = 8 };

CONFORMANCE(N, 14, "NO_ACCUMULATE adds nothing to a pending event")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    unsigned here = 0, there = 0;
    int rounds = two_hosts() ? ROUNDS_MAX : 1;
    for (int round = 0; round < rounds && (here != 1 || there != 1); round++) {
        useconds_t pause = two_hosts() ? 5000u << round : 0;
        TELL_OK(importer, POST_IMPORT);
        await_pending(segment);
        TELL_OK(importer, POST_IMPORT, .flags = RSM_SIGPOST_NO_ACCUMULATE);
        TELL_OK(importer, POST_IMPORT, .flags = RSM_SIGPOST_NO_ACCUMULATE | 0xf0);
        for (int i = 0; i < 3; i++)
            OK(rsm_intr_signal_post(segment, RSM_SIGPOST_NO_ACCUMULATE));
        usleep(pause);
        here = events_within(NO_EVENT_MS, wait_here, segment);
        there = events_within(NO_EVENT_MS, wait_there, importer);
    }
    HOLDS(here == 1);
    HOLDS(there == 1);
}

CONFORMANCE(N, 15, "NO_ACCUMULATE delivers an event where none is pending")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    TELL_OK(importer, POST_IMPORT, .flags = RSM_SIGPOST_NO_ACCUMULATE);
    expect_events(segment, 1);
    TELL_OK(importer, POST_IMPORT, .flags = RSM_SIGPOST_NO_ACCUMULATE);
    expect_events(segment, 1);
}

static struct waiter {
    void *handle;
    int error;
    int64_t taken;
} waiters[2];

enum { WAITERS_MS = 2000 };

static void *wait_once(void *argument)
{
    struct waiter *waiter = argument;
    int64_t start = now_ms();
    waiter->error = rsm_intr_signal_wait(waiter->handle, WAITERS_MS);
    waiter->taken = now_ms() - start;
    return NULL;
}

CONFORMANCE(N, 30, "of two threads that wait one event wakes one; the other has its time")
{
    struct actor *importer;
    pthread_t threads[2];
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    for (int i = 0; i < 2; i++) {
        waiters[i].handle = segment;
        HOLDS(pthread_create(&threads[i], NULL, wait_once, &waiters[i]) == 0);
    }
    TELL_OK(importer, POST_IMPORT);
    for (int i = 0; i < 2; i++)
        HOLDS(pthread_join(threads[i], NULL) == 0);
    const struct waiter *woken = waiters[0].error == RSM_SUCCESS ? &waiters[0] : &waiters[1];
    const struct waiter *other = woken == &waiters[0] ? &waiters[1] : &waiters[0];
    OK(woken->error);
    EXPECT(RSMERR_TIMEOUT, other->error);
    HOLDS(other->taken >= WAITERS_MS - 1);
}

CONFORMANCE(N, 31, "a wait on an aborted connection ends by time or signal")
{
    struct actor *exporter = offered(1);
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    TELL_OK(exporter, UNPUBLISH);
    await_abort(handle);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(handle, NO_EVENT_MS));
    start_signals();
    int error = rsm_intr_signal_wait(handle, -1);
    stop_signals();
    EXPECT(RSMERR_INTERRUPTED, error);
}

CONFORMANCE(N, 32, "pending events survive unpublish and publish")
{
    struct actor *importer;
    rsm_memseg_export_handle_t segment = with_importer(&importer);
    TELL_OK(importer, POST_IMPORT);
    TELL_OK(importer, POST_IMPORT);
    await_pending(segment);
    OK(rsm_intr_signal_wait(segment, EVENT_MS));
    await_pending(segment);
    OK(rsm_memseg_export_unpublish(segment));
    publish(segment, SEGMENT_ID);
    expect_events(segment, 1);
}
