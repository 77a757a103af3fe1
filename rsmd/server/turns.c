/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/turns.h"

#include <event2/event.h>
#include <stdlib.h>

#include "common/tables.h"

#include "base/clock.h"

enum { REQUESTS_AT_ONCE = 4 /* for a client that is served without a turn */ };
static const int64_t turn_ns = 1000000; /* then the loop checks other events */

struct rsmd_lane {
    uid_t uid;
    unsigned seats;
    struct rsmd_seat *waiting;
    int64_t used;                  /* time, on the scale of rsmd_turns.reached */
    uint64_t order;                /* in which it began to wait */
    unsigned place;                /* in the heap, while any of them waits */
    struct rsmd_lane *prev, *next; /* in `left`, while it has no seats */
    UT_hash_handle hh;
};

/* ------------------------------------------------------------------ the heap of lanes */

static bool is_before(const struct rsmd_lane *a, const struct rsmd_lane *b)
{
    return a->used != b->used ? a->used < b->used : a->order < b->order;
}

static void put(struct rsmd_turns *turns, unsigned place, struct rsmd_lane *lane)
{
    turns->waiting[place] = lane;
    lane->place = place;
}

/* Move a lane from an otherwise empty place of the heap to where it belongs. */
static void settle(struct rsmd_turns *turns, unsigned place, struct rsmd_lane *lane)
{
    while (place > 0 && is_before(lane, turns->waiting[(place - 1) / 2])) {
        put(turns, place, turns->waiting[(place - 1) / 2]);
        place = (place - 1) / 2;
    }
    for (unsigned child; (child = 2 * place + 1) < turns->waiting_count; place = child) {
        if (child + 1 < turns->waiting_count &&
            is_before(turns->waiting[child + 1], turns->waiting[child]))
            child++;
        if (!is_before(turns->waiting[child], lane))
            break;
        put(turns, place, turns->waiting[child]);
    }
    put(turns, place, lane);
}

static void add_lane(struct rsmd_turns *turns, struct rsmd_lane *lane)
{
    lane->order = ++turns->last_order;
    if (lane->used < turns->reached)
        lane->used = turns->reached;
    turns->waiting_count++;
    settle(turns, turns->waiting_count - 1, lane);
}

static void remove_lane(struct rsmd_turns *turns, struct rsmd_lane *lane)
{
    struct rsmd_lane *last = turns->waiting[--turns->waiting_count];
    if (last != lane)
        settle(turns, lane->place, last);
}

/* Reserve room for all lanes, so that beginning to wait cannot fail. False: no memory. */
static bool have_room(struct rsmd_turns *turns)
{
    if (turns->lane_count < turns->waiting_room)
        return true;
    unsigned room = turns->waiting_room > 0 ? 2 * turns->waiting_room : 16;
    struct rsmd_lane **grown = realloc(turns->waiting, room * sizeof(struct rsmd_lane *));
    if (grown == NULL)
        return false;
    turns->waiting = grown;
    turns->waiting_room = room;
    return true;
}

/* ------------------------------------------------------------------ lists */

static void enqueue(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    struct rsmd_lane *lane = seat->lane;
    if (seat->waiting)
        return;
    bool first = lane->waiting == NULL;
    DL_APPEND(lane->waiting, seat);
    seat->waiting = true;
    if (first)
        add_lane(turns, lane);
}

static void dequeue(struct rsmd_turns *turns, struct rsmd_seat *seat)
{
    struct rsmd_lane *lane = seat->lane;
    if (!seat->waiting)
        return;
    DL_DELETE(lane->waiting, seat);
    seat->waiting = false;
    if (lane->waiting == NULL)
        remove_lane(turns, lane);
}

/* Do not add the timer again while it is due: libevent would take it off the events that it is
 * about to handle, and frequent requests could stop all turns. */
static void go_on_later(const struct rsmd_turns *turns)
{
    const struct timeval now = {0};
    if (!evtimer_pending(turns->turn, NULL))
        evtimer_add(turns->turn, &now);
}

/* ------------------------------------------------------------------ lanes whose clients have
 * gone */

static void forget(struct rsmd_turns *turns, struct rsmd_lane *lane)
{
    DL_DELETE(turns->left, lane);
    turns->left_count--;
    HASH_DEL(turns->lanes, lane);
    free(lane);
}

/* Forget lanes whose used time the others have reached; without any, the one that has used
 * least. */
static void make_room_to_remember(struct rsmd_turns *turns)
{
    struct rsmd_lane *lane, *next, *lowest = turns->left;
    DL_FOREACH_SAFE(turns->left, lane, next)
    {
        lowest = lane->used < lowest->used ? lane : lowest;
        if (lane->used <= turns->reached && lane != lowest)
            forget(turns, lane);
    }
    forget(turns, lowest);
}

/* The last client of a lane has gone. Its used time is remembered until the others have used as
 * much: a new lane begins there anyway. */
static void leave_behind(struct rsmd_turns *turns, struct rsmd_lane *lane)
{
    if (lane->used > turns->reached && turns->left_count == RSMD_LANES_LEFT_MAX)
        make_room_to_remember(turns);
    DL_APPEND(turns->left, lane);
    turns->left_count++;
    if (lane->used <= turns->reached)
        forget(turns, lane);
}

/* ------------------------------------------------------------------ a turn */

/* Charge a lane, whose last client may have gone meanwhile. */
static void charge(struct rsmd_turns *turns, struct rsmd_lane *lane, int64_t used)
{
    turns->serving = NULL;
    lane->used += used;
    if (lane->waiting != NULL)
        settle(turns, lane->place, lane);
    if (lane->seats == 0)
        leave_behind(turns, lane);
}

/* Serve one request of the first client in the lane that has used least, which then is last
 * there. */
static void serve_first(struct rsmd_turns *turns, int64_t begun, int64_t *ended)
{
    struct rsmd_lane *lane = turns->waiting[0];
    struct rsmd_seat *seat = lane->waiting;
    turns->reached = lane->used;
    turns->serving = lane;
    dequeue(turns, seat);
    if (turns->serve(seat) == RSMD_SERVED_ONE)
        enqueue(turns, seat);
    *ended = turns->clock();
    charge(turns, lane, *ended - begun);
}

bool rsmd_turns_go_on(struct rsmd_turns *turns)
{
    int64_t now = turns->clock(), end = now + turn_ns;
    turns->at_once_ns = 0;
    while (turns->waiting_count > 0 && now < end)
        serve_first(turns, now, &now);
    return turns->waiting_count > 0;
}

static void on_turn(int fd, short what, void *argument)
{
    (void)fd, (void)what;
    struct rsmd_turns *turns = argument;
    if (rsmd_turns_go_on(turns))
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
    if (turns->waiting_count == 0 && turns->at_once_ns < turn_ns) {
        struct rsmd_lane *lane = seat->lane;
        if (lane->used < turns->reached)
            lane->used = turns->reached;
        turns->reached = lane->used;
        turns->serving = lane;
        int64_t begun = turns->clock();
        for (int i = 0; i < REQUESTS_AT_ONCE && served == RSMD_SERVED_ONE; i++)
            served = turns->serve(seat);
        int64_t used = turns->clock() - begun;
        turns->at_once_ns += used;
        charge(turns, lane, used);
    }
    if (served == RSMD_SERVED_ONE)
        rsmd_turns_wait(turns, seat);
}

/* ------------------------------------------------------------------ coming and going */

/* NULL: no memory. */
static struct rsmd_lane *make_lane(struct rsmd_turns *turns, uid_t uid)
{
    struct rsmd_lane *lane = calloc(1, sizeof *lane);
    if (lane == NULL)
        return NULL;
    lane->uid = uid;
    lane->used = turns->reached;
    HASH_ADD(hh, turns->lanes, uid, sizeof lane->uid, lane);
    if (lane->hh.tbl != NULL)
        return lane;
    free(lane);
    return NULL;
}

/* The lane of a user who has no seat. NULL: no memory. */
static struct rsmd_lane *open_lane(struct rsmd_turns *turns, uid_t uid, struct rsmd_lane *lane)
{
    if (!have_room(turns))
        return NULL;
    if (lane == NULL) {
        lane = make_lane(turns, uid);
    } else if (lane != turns->serving) {
        DL_DELETE(turns->left, lane);
        turns->left_count--;
    }
    turns->lane_count += lane != NULL;
    return lane;
}

bool rsmd_turns_join(struct rsmd_turns *turns, struct rsmd_seat *seat, uid_t uid)
{
    struct rsmd_lane *lane;
    HASH_FIND(hh, turns->lanes, &uid, sizeof uid, lane);
    if (lane == NULL || lane->seats == 0)
        lane = open_lane(turns, uid, lane);
    if (lane == NULL)
        return false;
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
    turns->lane_count--;
    if (lane != turns->serving) /* else after it has been charged */
        leave_behind(turns, lane);
}

bool rsmd_turns_init(struct rsmd_turns *turns, struct event_base *base,
                     enum rsmd_served (*serve)(struct rsmd_seat *seat))
{
    *turns = (struct rsmd_turns){.serve = serve, .clock = rsm_clock_ns};
    turns->turn = evtimer_new(base, on_turn, turns);
    return turns->turn != NULL;
}

void rsmd_turns_end(struct rsmd_turns *turns)
{
    if (turns->turn != NULL)
        event_free(turns->turn);
    turns->turn = NULL;
    free(turns->waiting);
    turns->waiting = NULL;
    while (turns->left != NULL)
        forget(turns, turns->left);
}
