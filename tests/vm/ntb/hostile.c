/* SPDX-License-Identifier: BSD-3-Clause */
/* A peer that lies (hostile_peer.py): what the driver refuses, what it ends, and that it lives. */
#include <sys/ioctl.h>

#include "lab.h"

#define FIRST  RSM_NTB_CONTROL_SIZE
#define LENGTH (128 * KIB)

static void play(const char *act)
{
    char word[40];

    snprintf(word, sizeof word, "play-%s", act);
    note(word);
    snprintf(word, sizeof word, "played-%s", act);
    await(word);
}

/* No session begins, though the peer goes on for a second. */
static void refused(int control, const char *act)
{
    double end;

    play(act);
    for (end = now() + 1; now() < end; usleep(10000))
        CHECK(!info_of(control).epoch, "a session with a peer whose act is %s", act);
}

static void await_end(int control)
{
    double end = now() + 30;

    while (info_of(control).epoch) {
        CHECK(now() < end, "the session goes on");
        usleep(5000);
    }
}

static void oversized(int control)
{
    struct import import;
    uint32_t epoch;
    uint64_t window;

    play("huge");
    epoch = await_session(control, 0);
    window = info_of(control).window_size;
    CHECK(window <= 8192 * KIB, "a window of %lu bytes", (long)window);
    CHECK(import_extent(control, window, LENGTH, epoch, 0, &import) == EINVAL, "beyond");
    CHECK(import_extent(control, 1ull << 40, LENGTH, epoch, 0, &import) == EINVAL, "beyond");
    play("ends");
    await_end(control);
}

/* However often it rings and whatever it counts: one event at a time, and the rest of the queue
 * is heard. */
static void counters_flooded(int control)
{
    struct rsm_ntb_event events[8];
    unsigned posted = 0;

    for (int reads = 0; reads < 20; reads++) {
        ssize_t got = read(control, events, sizeof events);
        unsigned here = 0;

        for (ssize_t i = 0; i < got / (ssize_t)sizeof *events; i++)
            here += events[i].type == RSM_NTB_EVENT_POSTED;
        posted += here;
        /* A second one may have come while the first was handed out. */
        CHECK(here <= 2 || got == sizeof events, "%u events at once", here);
        usleep(20000);
    }
    CHECK(posted > 0, "no event of the flood");
    CHECK(post_counter(control, 0) != post_counter(control, 1), "the counters");
}

/* All counters and doorbells at once, again and again. */
static void flooded(int control)
{
    play("flood");
    counters_flooded(control);
    CHECK(info_of(control).epoch, "the session");
    printf("result: flood: the session goes on\n");
}

int hostile(void)
{
    static const char *const refusals[] = {"magic", "version", "check", "hello", "empty", "odd"};
    int control = open_control();
    struct import import;
    uint32_t epoch;

    for (unsigned i = 0; i < sizeof refusals / sizeof *refusals; i++)
        refused(control, refusals[i]);
    oversized(control);
    play("good");
    epoch = await_session(control, 0);
    flooded(control);
    CHECK(!import_extent(control, FIRST, LENGTH, epoch, 0, &import), "import");
    CHECK(barrier(&import, import.status->err_seq), "barrier");
    play("canary");
    CHECK(!barrier(&import, import.status->err_seq), "a canary of all ones");
    CHECK(import.status->epoch == epoch, "heartbeats keep the session");
    close_import(&import, LENGTH);
    play("ends");
    await_end(control);
    refused(control, "stale");
    play("again");
    epoch = await_session(control, epoch);
    play("silent");
    await_end(control);
    play("good");
    (void)await_session(control, epoch);
    printf("result: hostile peer: 7 greetings refused, 4 sessions, all ended as they should\n");
    return 0;
}
