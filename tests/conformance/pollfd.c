/* SPDX-License-Identifier: BSD-3-Clause */
/* N, second part: poll descriptors. */
#include <sys/time.h>

#include "process.h"
#include "stage.h"

enum { EVENT_MS = 20000, NO_EVENT_MS = 50, TICK_US = 20000 };

static struct actor *importer;

/* A segment, the importer's `slot` connected to it, and its entry for poll. */
static struct pollfd watched(int slot, rsm_memseg_export_handle_t *segment)
{
    rsm_memseg_export_handle_t made = created(pages(1), PAGE, 0);
    struct pollfd entry = {.fd = -1, .revents = 0x55};
    publish(made, SEGMENT_ID + (uint32_t)slot);
    TELL_OK(importer, CONNECT, .slot = slot, .id = SEGMENT_ID + (uint32_t)slot);
    OK(rsm_memseg_get_pollfd(made, &entry));
    HOLDS(entry.fd >= 0 && entry.events == POLLRDNORM && entry.revents == 0x55);
    if (segment != NULL)
        *segment = made;
    return entry;
}

static void begin(void)
{
    importer = importer_start();
    act_as_exporter();
}

/* Post to a watched segment and wait until that can be seen. */
static void post(int slot, struct pollfd entry)
{
    TELL_OK(importer, POST_IMPORT, .slot = slot);
    HOLDS(poll(&entry, 1, EVENT_MS) == 1);
}

CONFORMANCE(N, 16, "the poll descriptor is always the same one")
{
    struct pollfd again;
    rsm_memseg_export_handle_t segment;
    begin();
    struct pollfd entry = watched(0, &segment);
    OK(rsm_memseg_get_pollfd(segment, &again));
    HOLDS(again.fd == entry.fd && again.events == POLLRDNORM);
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_get_pollfd(segment, &again));
    HOLDS(again.fd == entry.fd);
}

/* Sun's library did not look; the guide, which librsm follows, says that there is none. */
CONFORMANCE(N, 17, "no poll descriptor of a segment that is not published")
{
    struct pollfd entry = {.fd = -7, .events = 0x55, .revents = 0x66};
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    for (unsigned round = 0; round < 2; round++) {
        EXPECT(RSMERR_BAD_SEG_HNDL, rsm_memseg_get_pollfd(segment, &entry));
        HOLDS(entry.fd == -7 && entry.events == 0x55 && entry.revents == 0x66);
        publish(segment, SEGMENT_ID);
        OK(rsm_memseg_get_pollfd(segment, &entry));
        HOLDS(entry.fd >= 0 && entry.events == POLLRDNORM);
        OK(rsm_memseg_release_pollfd(segment));
        OK(rsm_memseg_export_unpublish(segment)); /* refused calls have left no reference */
        entry = (struct pollfd){.fd = -7, .events = 0x55, .revents = 0x66};
    }
    OK(rsm_memseg_export_destroy(segment));
}

CONFORMANCE(N, 18, "release without a reference")
{
    act_as_exporter();
    rsm_memseg_export_handle_t segment = created(pages(1), PAGE, 0);
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_memseg_export_destroy(segment));
}

CONFORMANCE(N, 19, "wait_pollfd reports an event and takes it")
{
    int count = -1;
    rsm_memseg_export_handle_t segment;
    begin();
    struct pollfd entry = watched(0, &segment);
    post(0, entry);
    OK(rsm_intr_signal_wait_pollfd(&entry, 1, EVENT_MS, &count));
    HOLDS(entry.revents == POLLRDNORM && count == 1);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait(segment, 0));
}

CONFORMANCE(N, 20, "wait_pollfd without an event")
{
    int count = -1;
    begin();
    struct pollfd entry = watched(0, NULL);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(&entry, 1, NO_EVENT_MS, &count));
    HOLDS(count == 0);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(&entry, 1, 0, &count));
}

CONFORMANCE(N, 21, "wait_pollfd with nowhere to put the count")
{
    begin();
    struct pollfd entry = watched(0, NULL);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(&entry, 1, 0, NULL));
    post(0, entry);
    OK(rsm_intr_signal_wait_pollfd(&entry, 1, EVENT_MS, NULL));
}

/* A pipe with one byte in it. */
static void open_pipe(int ends[2])
{
    HOLDS(pipe(ends) == 0);
    HOLDS(write(ends[1], "x", 1) == 1);
}

static void close_pipe(int ends[2])
{
    char byte;
    HOLDS(read(ends[0], &byte, 1) == 1 && byte == 'x');
    close(ends[0]);
    close(ends[1]);
}

CONFORMANCE(N, 22, "wait_pollfd over a segment and a pipe, both ready")
{
    int ends[2], count = -1;
    begin();
    open_pipe(ends);
    struct pollfd entries[2] = {watched(0, NULL), {.fd = ends[0], .events = POLLIN}};
    post(0, entries[0]);
    OK(rsm_intr_signal_wait_pollfd(entries, 2, EVENT_MS, &count));
    HOLDS(count == 2 && entries[0].revents == POLLRDNORM && entries[1].revents == POLLIN);
    close_pipe(ends);
}

CONFORMANCE(N, 23, "wait_pollfd over a segment and a pipe, the pipe ready")
{
    int ends[2], count = -1;
    begin();
    open_pipe(ends);
    struct pollfd entries[2] = {watched(0, NULL), {.fd = ends[0], .events = POLLIN}};
    OK(rsm_intr_signal_wait_pollfd(entries, 2, EVENT_MS, &count));
    HOLDS(count == 1 && entries[0].revents == 0 && entries[1].revents == POLLIN);
    close_pipe(ends);
}

CONFORMANCE(N, 24, "wait_pollfd takes one event of an entry each time")
{
    int count;
    rsm_memseg_export_handle_t segment;
    begin();
    struct pollfd entry = watched(0, &segment);
    TELL_OK(importer, POST_IMPORT);
    TELL_OK(importer, POST_IMPORT);
    for (int i = 0; i < 2; i++) {
        OK(rsm_intr_signal_wait_pollfd(&entry, 1, EVENT_MS, &count));
        HOLDS(count == 1 && entry.revents == POLLRDNORM);
    }
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(&entry, 1, NO_EVENT_MS, &count));
    HOLDS(count == 0 && entry.revents == 0);
}

enum { MANY = 6 };

CONFORMANCE(N, 25, "wait_pollfd over six segments that are all ready")
{
    int count = -1;
    struct pollfd entries[MANY];
    begin();
    for (int i = 0; i < MANY; i++)
        entries[i] = watched(i, NULL);
    for (int i = 0; i < MANY; i++)
        post(i, entries[i]);
    OK(rsm_intr_signal_wait_pollfd(entries, MANY, EVENT_MS, &count));
    HOLDS(count == MANY);
    for (int i = 0; i < MANY; i++)
        HOLDS(entries[i].revents == POLLRDNORM);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(entries, MANY, 0, &count));
}

CONFORMANCE(N, 26, "wait_pollfd: negative descriptors are ignored, closed ones reported")
{
    int ends[2], count = -1;
    begin();
    struct pollfd segment = watched(0, NULL);
    HOLDS(pipe(ends) == 0);
    close(ends[0]);
    close(ends[1]);
    struct pollfd entries[3] = {
        {.fd = -1, .events = POLLIN, .revents = 7}, segment, {.fd = ends[0], .events = POLLIN}};
    OK(rsm_intr_signal_wait_pollfd(entries, 3, EVENT_MS, &count));
    HOLDS(count == 1 && entries[0].revents == 0 && entries[1].revents == 0 &&
          entries[2].revents == POLLNVAL);
    EXPECT(RSMERR_TIMEOUT, rsm_intr_signal_wait_pollfd(entries, 2, NO_EVENT_MS, &count));
}

CONFORMANCE(N, 27, "after the last release the descriptor is like any other")
{
    int count;
    rsm_memseg_export_handle_t segment;
    begin();
    struct pollfd entry = watched(0, &segment);
    post(0, entry);
    OK(rsm_memseg_release_pollfd(segment));
    OK(rsm_intr_signal_wait_pollfd(&entry, 1, EVENT_MS, &count));
    HOLDS(count == 1);
    OK(rsm_intr_signal_wait(segment, 0)); /* it was still there */
}

CONFORMANCE(N, 28, "poll reports an event and leaves it")
{
    rsm_memseg_export_handle_t segment;
    begin();
    struct pollfd entry = watched(0, &segment);
    HOLDS(poll(&entry, 1, 0) == 0);
    TELL_OK(importer, POST_IMPORT);
    for (int i = 0; i < 3; i++)
        HOLDS(poll(&entry, 1, EVENT_MS) == 1 && entry.revents == POLLRDNORM);
    OK(rsm_intr_signal_wait(segment, 0));
    HOLDS(poll(&entry, 1, 0) == 0);
}

static void on_alarm(int number)
{
}

CONFORMANCE(N, 29, "wait_pollfd interrupted, or with a bad array")
{
    struct sigaction action = {.sa_handler = on_alarm};
    struct itimerval timer = {.it_interval.tv_usec = TICK_US, .it_value.tv_usec = TICK_US};
    struct itimerval off = {.it_value.tv_usec = 0};
    int count = -1;
    begin();
    struct pollfd entry = watched(0, NULL);
    HOLDS(sigaction(SIGALRM, &action, NULL) == 0 && setitimer(ITIMER_REAL, &timer, NULL) == 0);
    int error = rsm_intr_signal_wait_pollfd(&entry, 1, -1, &count);
    HOLDS(setitimer(ITIMER_REAL, &off, NULL) == 0);
    EXPECT(RSMERR_INTERRUPTED, error);
    void *hole = pages(1);
    HOLDS(mprotect(hole, PAGE, PROT_NONE) == 0);
    EXPECT(RSMERR_BAD_ADDR, rsm_intr_signal_wait_pollfd(hole, 1, 0, &count));
    HOLDS(count == 0);
}
