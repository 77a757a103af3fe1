/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The order in which clients are served. A client that sends a request while no other waits is
 * served at once. Otherwise users take turns, and the clients of one user take turns within the
 * user's, one request each. The event loop checks other events every millisecond.
 *
 * Turns are measured in time, not in requests: of the waiting users, the one that has used least is
 * next. A user that comes after a pause begins with as much used time as the user that is being
 * served. So pauses save up no time, and a new user does not wait for time used earlier. A user
 * with a thousand busy clients delays those of another by one request; if that took 50 ms, others
 * have 50 ms before the next one. The used time of a user whose clients leave is remembered while
 * it matters.
 *
 * All functions run on the thread of the event loop.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event;
struct event_base;
struct rsmd_lane; /* the clients of one user */

/** A client's place; a member of the connection. */
struct rsmd_seat {
    struct rsmd_lane *lane; /* NULL: has not joined */
    bool waiting;
    struct rsmd_seat *prev, *next; /* in its lane, while it waits */
};

/** The outcome of serving a client once. */
enum rsmd_served {
    RSMD_SERVED_ONE,     /* there may be more to do */
    RSMD_SERVED_NOTHING, /* nothing to do until rsmd_turns_ready() or _wait() */
    RSMD_SERVED_LAST,    /* the client has left, and its seat may be gone */
};

/** The maximum of users without clients whose time is remembered. Beyond that, the one that has
 *  used least is forgotten. */
enum { RSMD_LANES_LEFT_MAX = 512 };

struct rsmd_turns {
    enum rsmd_served (*serve)(struct rsmd_seat *seat);
    int64_t (*clock)(void);     /* nanoseconds; rsm_clock_ns(), but for tests */
    struct rsmd_lane *lanes;    /* by uid */
    unsigned lane_count;        /* those that have clients */
    struct rsmd_lane *left;     /* without clients: their users had used more than others */
    unsigned left_count;        /* of those; at most RSMD_LANES_LEFT_MAX */
    struct rsmd_lane *serving;  /* the lane whose client is being served */
    struct rsmd_lane **waiting; /* heap of waiting lanes: the first has used least */
    unsigned waiting_count, waiting_room;
    int64_t reached;     /* used time of the lane that was served last: a new lane begins there */
    uint64_t last_order; /* order in which lanes began to wait: of equal ones the first is next */
    struct event *turn;  /* timer: continue at once, after the loop has checked other events */
    int64_t at_once_ns;  /* used without waiting since the last turn */
};

/** Initialise. False: no memory, and nothing to end. */
bool rsmd_turns_init(struct rsmd_turns *turns, struct event_base *base,
                     enum rsmd_served (*serve)(struct rsmd_seat *seat));
/** Free it. All clients have left. */
void rsmd_turns_end(struct rsmd_turns *turns);

/** Take a seat among the clients of @p uid. False: no memory. */
bool rsmd_turns_join(struct rsmd_turns *turns, struct rsmd_seat *seat, uid_t uid);
/** Harmless for one that has not joined. */
void rsmd_turns_leave(struct rsmd_turns *turns, struct rsmd_seat *seat);

/** There is something to do for this client: do it now if it is its turn. */
void rsmd_turns_ready(struct rsmd_turns *turns, struct rsmd_seat *seat);
/** As rsmd_turns_ready(), but never serve it at once. */
void rsmd_turns_wait(struct rsmd_turns *turns, struct rsmd_seat *seat);

/** Serve waiting clients for a millisecond; called by the timer. True: a client still waits. */
bool rsmd_turns_go_on(struct rsmd_turns *turns);
