/* SPDX-License-Identifier: BSD-3-Clause */
#include "parts.h"

#include <inttypes.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { NS_PER_S = 1000000000, TIMEOUT_S = 10 };

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * NS_PER_S + now.tv_nsec;
}

/* Each message has its number in all its words, which the server inverts. */
struct message {
    uint64_t words[RING_MESSAGE_BYTES / sizeof(uint64_t)];
};

static struct message make_message(uint64_t number)
{
    struct message made;
    for (size_t i = 0; i < sizeof made.words / sizeof made.words[0]; i++)
        made.words[i] = number;
    return made;
}

static bool is_answer(const struct message *message, uint64_t number)
{
    struct message wanted = make_message(~number);
    if (memcmp(message, &wanted, sizeof wanted) == 0)
        return true;
    fprintf(stderr, "ring: answer %" PRIu64 " is damaged\n", number);
    return false;
}

void server_run(struct channel *channel, const volatile sig_atomic_t *stopped)
{
    struct message message;
    while (!*stopped) {
        if (!ring_receive(&channel->request, &message)) {
            sched_yield();
            continue;
        }
        for (size_t i = 0; i < sizeof message.words / sizeof message.words[0]; i++)
            message.words[i] = ~message.words[i];
        while (!*stopped && !ring_send(&channel->reply, &message))
            sched_yield();
    }
}

static int memory_send(void *rings, const void *message)
{
    struct channel *channel = rings;
    return ring_send(&channel->request, message);
}

static int memory_receive(void *rings, void *message)
{
    struct channel *channel = rings;
    return ring_receive(&channel->reply, message);
}

const struct access access_memory = {memory_send, memory_receive};

/* Until it has been done: no server answers after so long. */
static bool is_in_time(int64_t since)
{
    if (now_ns() - since < (int64_t)TIMEOUT_S * NS_PER_S) {
        sched_yield();
        return true;
    }
    fprintf(stderr, "ring: there is no answer\n");
    return false;
}

static bool round_trip(const struct access *access, void *rings, uint64_t number)
{
    struct message message = make_message(number);
    int64_t since = now_ns();
    int done;
    while ((done = access->send(rings, &message)) == 0)
        if (!is_in_time(since))
            return false;
    while (done > 0 && (done = access->receive(rings, &message)) == 0) {
        if (!is_in_time(since))
            return false;
        done = 1;
    }
    return done > 0 && is_answer(&message, number);
}

/* As many as there is room for are under way. */
static bool stream(const struct access *access, void *rings, uint64_t first, unsigned count)
{
    unsigned sent = 0, answered = 0;
    int64_t since = now_ns();
    while (answered < count) {
        struct message message = make_message(first + sent);
        int went = sent < count ? access->send(rings, &message) : 0;
        int came = went < 0 ? -1 : access->receive(rings, &message);
        if (went < 0 || came < 0 || (came > 0 && !is_answer(&message, first + answered)))
            return false;
        sent += went > 0;
        answered += came > 0;
        if (went > 0 || came > 0)
            since = now_ns();
        else if (!is_in_time(since))
            return false;
    }
    return true;
}

static int compare(const void *one, const void *other)
{
    int64_t a = *(const int64_t *)one, b = *(const int64_t *)other;
    return a < b ? -1 : a > b;
}

bool client_run(const char *name, const struct access *access, void *rings, unsigned count)
{
    int64_t *times = calloc(count, sizeof *times), began;
    bool good = times != NULL;
    for (unsigned i = 0; i < count && good; i++) {
        began = now_ns();
        good = round_trip(access, rings, i);
        times[i] = now_ns() - began;
    }
    began = now_ns();
    good = good && stream(access, rings, count, count);
    int64_t took = now_ns() - began;
    if (good) {
        qsort(times, count, sizeof *times, compare);
        int64_t median = times[count / 2], late = times[count * 99ull / 100];
        printf("%-12s a message and its answer: %8.2f us (p99 %.2f)   %9.0f messages a second\n",
               name, (double)median / 1000, (double)late / 1000,
               (double)count * NS_PER_S / (double)took);
    }
    free(times);
    return good;
}
