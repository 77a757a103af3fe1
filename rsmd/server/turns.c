/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/turns.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/tables.h"

#include "base/clock.h"

enum {
    AT_ONCE_MAX = 16,     /* clients that are served without a turn, one after the other */
    REQUESTS_AT_ONCE = 4, /* of such a client */
};
static const int64_t turn_ns = 1000000; /* then the loop looks around */

struct rsmd_lane {
    uid_t uid;
    unsigned seats;
    struct rsmd_seat *waiting;
    struct rsmd_lane *prev, *next; /* while any of them waits */
    UT_hash_handle hh;
};

/* ------------------------------------------------------------------ lists */

static void enqueue(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    struct rsmd_lane *lane = seat->lane;
    if (seat->waiting)
        return;
    if (lane->waiting == NULL)
        DL_APPEND(turns->waiting, lane);
    DL_APPEND(lane->waiting, seat);
    seat->waiting = true;
}

static void dequeue(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    struct rsmd_lane *lane = seat->lane;
    if (!seat->waiting)
        return;
    DL_DELETE(lane->waiting, seat);
    seat->waiting = false;
    if (lane->waiting == NULL)
        DL_DELETE(turns->waiting, lane);
}

static void go_on_later(const struct rsmd_turns *turns)
{
    const struct timeval now = {0};
    event_add(turns->turn, &now);
}

/* ------------------------------------------------------------------ a turn */

/* One request of the client that is first in the first lane; both then are last. */
static void serve_first(struct rsmd_turns *turns)
{
    struct rsmd_lane *lane = turns->waiting;
    struct rsmd_seat *seat = lane->waiting;
    dequeue(turns, seat);
    if (lane->waiting != NULL) {
        DL_DELETE(turns->waiting, lane);
        DL_APPEND(turns->waiting, lane);
    }
    if (turns->serve(seat) == RSMD_SERVED_ONE)
        enqueue(turns, seat);
}

static void on_turn(int fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_turns *turns = argument;
    int64_t end = rsm_clock_ns() + turn_ns;
    turns->at_once = 0;
    while (turns->waiting != NULL && rsm_clock_ns() < end)
        serve_first(turns);
    if (turns->waiting != NULL)
        go_on_later(turns);
}

void rsmd_turns_wait(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    enqueue(turns, seat);
    go_on_later(turns);
}

void rsmd_turns_ready(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    enum rsmd_served served = RSMD_SERVED_ONE;
    if (seat->waiting)
        return;
    if (turns->waiting == NULL && turns->at_once < AT_ONCE_MAX) {
        turns->at_once++;
        for (int i = 0; i < REQUESTS_AT_ONCE && served == RSMD_SERVED_ONE; i++)
            served = turns->serve(seat);
    }
    if (served == RSMD_SERVED_ONE)
        rsmd_turns_wait(turns, seat);
}

/* ------------------------------------------------------------------ coming and going */

bool rsmd_turns_join(struct rsmd_turns *turns, struct rsmd_seat *seat, uid_t uid)
{
    struct rsmd_lane *lane;
    HASH_FIND(hh, turns->lanes, &uid, sizeof uid, lane);
    if (lane == NULL) {
        lane = calloc(1, sizeof *lane);
        if (lane == NULL)
            return false;
        lane->uid = uid;
        HASH_ADD(hh, turns->lanes, uid, sizeof lane->uid, lane);
        if (lane->hh.tbl == NULL) {
            free(lane);
            return false;
        }
    }
    lane->seats++;
    seat->lane = lane;
    return true;
}

void rsmd_turns_leave(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    struct rsmd_lane *lane = seat->lane;
    if (lane == NULL)
        return;
    dequeue(turns, seat);
    seat->lane = NULL;
    if (--lane->seats > 0)
        return;
    HASH_DEL(turns->lanes, lane);
    free(lane);
}

bool rsmd_turns_init(struct rsmd_turns *turns, struct event_base *base,
                     enum rsmd_served (*serve)(struct rsmd_seat *seat))
{
    *turns = (struct rsmd_turns){.serve = serve};
    turns->turn = evtimer_new(base, on_turn, turns);
    return turns->turn != NULL;
}

void rsmd_turns_end(struct rsmd_turns *turns)
{
    if (turns->turn != NULL)
        event_free(turns->turn);
    turns->turn = NULL;
}
