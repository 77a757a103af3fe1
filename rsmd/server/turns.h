/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Who is served next. A client that has sent a request while nobody waits is served at once. With
 * more to do than that, users take turns, and the clients of one user take turns within his, one
 * request each; the event loop looks for other events every millisecond.
 *
 * Turns are measured in the time that they took, not in requests: of the users who wait, the one is
 * next who has used least. A user who comes after a pause begins with as much used time as the user
 * who is being served, so nobody saves time up, and nobody waits for what was used before he came.
 * So a user with a thousand clients that never stop asking delays those of another by one request
 * of his; if that took 50 ms, others have 50 ms before his next one. Leaving does not help him:
 * what he has used is remembered as long as it matters, and counts when he comes again.
 *
 * All on the thread of the event loop.
 */
#ifndef RSMD_TURNS_H
#define RSMD_TURNS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct event;
struct event_base;
struct rsmd_lane; /* the clients of one user */

/** A client's place; part of what is served. */
struct rsmd_seat {
    struct rsmd_lane *lane; /* NULL: has not joined */
    bool waiting;
    struct rsmd_seat *prev, *next; /* in its lane, while it waits */
};

/** What serving a client once has come to. */
enum rsmd_served {
    RSMD_SERVED_ONE,     /* there may be more to do */
    RSMD_SERVED_NOTHING, /* there is nothing to do until rsmd_turns_ready() or _wait() */
    RSMD_SERVED_LAST,    /* the client has left, and its seat may be gone */
};

/** Users without clients whose time is remembered. Of more the one is forgotten who has used
 *  least. */
enum { RSMD_LANES_LEFT_MAX = 512 };

struct rsmd_turns {
    enum rsmd_served (*serve)(struct rsmd_seat *seat);
    int64_t (*clock)(void);     /* nanoseconds; rsm_clock_ns(), but for tests */
    struct rsmd_lane *lanes;    /* by uid */
    unsigned lane_count;        /* of these that have clients */
    struct rsmd_lane *left;     /* the others: their users had used more than was their turn */
    unsigned left_count;        /* of those; at most RSMD_LANES_LEFT_MAX */
    struct rsmd_lane *serving;  /* one of its clients is being served */
    struct rsmd_lane **waiting; /* heap of those that wait: the first has used least */
    unsigned waiting_count, waiting_room;
    int64_t reached;     /* what the lane had used that was served last: nobody begins before */
    uint64_t last_order; /* in which lanes began to wait: of equal ones the first is next */
    struct event *turn;  /* timer: go on at once, but let the loop look around before */
    int64_t at_once_ns;  /* used without waiting since the last turn */
};

/** False: no memory; then there is nothing to end. */
bool rsmd_turns_init(struct rsmd_turns *turns, struct event_base *base,
                     enum rsmd_served (*serve)(struct rsmd_seat *seat));
/** All have left. */
void rsmd_turns_end(struct rsmd_turns *turns);

/** Take a seat among the clients of @p uid. False: no memory. */
bool rsmd_turns_join(struct rsmd_turns *turns, struct rsmd_seat *seat, uid_t uid);
/** Harmless for one that has not joined. */
void rsmd_turns_leave(struct rsmd_turns *turns, struct rsmd_seat *seat);

/** There is something to do for this client: do it now if it is its turn. */
void rsmd_turns_ready(struct rsmd_turns *turns, struct rsmd_seat *seat);
/** The same, but in no case now. */
void rsmd_turns_wait(struct rsmd_turns *turns, struct rsmd_seat *seat);

/** Serve those who wait, for a millisecond. The timer does that. True: somebody still waits. */
bool rsmd_turns_go_on(struct rsmd_turns *turns);

#endif
