/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The session and epoch protocol of the NTB transport: two hosts with kernel/rsm_ntb, an exporter that uses one
 * range of its pool for one segment after the other, an importer, the link, and the daemons' own link beside it.
 * No store that was meant for one segment may reach another one.
 *
 * What one host does with port->lock is one move. Posted writes of a host keep their order and arrive at any time, or
 * are lost with the link. Either host may restart, and the other one need not notice before it runs again. The
 * daemons' messages (grant, release) take any time.
 */
#include <stdint.h>
#include <string.h>

#include "explorer.h"

enum { E, I, QUEUE = 3 };
enum { RESTARTS = 2, SILENCES = 1, UNPLUGS = 1, SEGMENTS = 3 };

enum variant {
    TRUE_MODEL,
    EPOCH_IS_NOT_COMPARED,
    KEYS_ARE_NOT_COMPARED,
    ACKNOWLEDGED_BEFORE_THE_END,
    NO_FENCE,
    FENCE_IN_SESSION_ONLY,
    TRANSLATED_AT_LINK_UP,
    SAME_GENERATION,
    BEGUN_WITHOUT_ACKNOWLEDGEMENT,
    SAME_SEQUENCE,
    NO_QUARANTINE,
};

static const char *const variants[] = {
    "the protocol",
    "IMPORT does not compare the epoch",
    "a grant's keys are not compared with the session's",
    "a key is acknowledged before the imports have ended",
    "REVOKE does not wait for stores on their way",
    "REVOKE waits for stores on their way during a session only",
    "the window is translated as soon as there is a link",
    "a restarted driver has the generation of the one before",
    "a session begins before the own key was acknowledged",
    "the sequence is not counted up when a session ends",
    "there is no quarantine",
    NULL,
};

enum move {
    UNPLUG,
    PLUG,
    WORK_E,
    WORK_I,
    SILENT_E,
    SILENT_I,
    CRASH_E,
    CRASH_I,
    START_E,
    START_I,
    ARRIVE_E,
    ARRIVE_I,
    LATE_END,
    EXPORT,
    GRANT,
    UNEXPORT,
    ACCEPT,
    IMPORT,
    STORE,
    REVOKE,
    RELEASE,
};

static const char *const moves[] = {
    "the link goes down: link_event() on both hosts",
    "the link comes up",
    "exporter's host: rsm_session_work()",
    "importer's host: rsm_session_work()",
    "exporter's host: beat() finds the other side silent",
    "importer's host: beat() finds the other side silent",
    "exporter's host crashes",
    "importer's host crashes",
    "exporter's host: rsm_probe()",
    "importer's host: rsm_probe()",
    "a write arrives at the exporter's host",
    "a write arrives at the importer's host",
    "importer's host: the imports end late",
    "exporter: rsm_export()",
    "exporter's daemon: ntb_offer_make() makes a grant",
    "exporter: rsm_extent_close(), quarantine",
    "importer's daemon: the grant is of the present session",
    "importer's daemon: rsm_import()",
    "importer: a store through the window",
    "importer's daemon: rsm_import_revoke(), and answers so",
    "exporter's daemon: rsm_extent_release()",
    NULL,
};

struct key {
    uint8_t generation, sequence;
};

/* What a host finds in its scratchpads. */
struct pads {
    uint8_t valid;
    struct key key, ack;
};

struct message {
    uint8_t store; /* the segment it is meant for; 0: it is for the scratchpads */
    struct pads pads;
};

struct side {
    uint8_t on, epoch, last_epoch, translated, link_event;
    uint8_t generations; /* used */
    struct key own, acked, peer;
    struct pads pads;
    uint8_t count; /* of the writes on their way to here */
    struct message queue[QUEUE];
};

struct state {
    struct side side[2];
    uint8_t link, restarts, silences, unplugs;
    /* exporter */
    uint8_t segment, exposed, quarantined, segments;
    uint8_t offered; /* the latest segment that was granted, each once */
    /* between the daemons */
    uint8_t granted, released; /* segments; 0: none */
    struct key grant_e, grant_i;
    /* importer */
    uint8_t held; /* the segment of the latest grant, until it has been released */
    uint8_t ticket, ticket_epoch, import, ending;
    uint8_t reached_another;
};

static bool same(struct key a, struct key b)
{
    return a.generation == b.generation && a.sequence == b.sequence;
}

static void start(struct side *side, unsigned variant)
{
    if (variant != SAME_GENERATION || side->generations == 0)
        side->generations++;
    side->on = 1;
    side->own = (struct key){side->generations, 1};
}

static void begin(void *memory)
{
    struct state *state = memory;
    start(&state->side[E], TRUE_MODEL);
    start(&state->side[I], TRUE_MODEL);
    state->link = 1;
}

/* ---- writes ---- */

static bool arrive(struct state *state, int host)
{
    struct side *side = &state->side[host];
    if (side->count == 0)
        return false;
    struct message message = side->queue[0];
    memmove(side->queue, side->queue + 1, sizeof side->queue - sizeof side->queue[0]);
    side->queue[QUEUE - 1] = (struct message){0};
    side->count--;
    if (message.store == 0)
        side->pads = message.pads;
    else if (side->translated && state->segment != 0 && state->segment != message.store)
        state->reached_another = 1;
    return true;
}

/* False: there is no room, so that this happens later. */
static bool post(struct state *state, int to, struct message message)
{
    struct side *side = &state->side[to];
    if (!state->link)
        return true; /* lost */
    if (side->count == QUEUE)
        return false;
    side->queue[side->count++] = message;
    return true;
}

/* A read passes no write. */
static void read_across(struct state *state, int to)
{
    while (state->link && arrive(state, to))
        ;
}

/* ---- a session's end and begin: kernel/rsm_ntb/session.c ---- */

static void end_session(struct state *state, int host, unsigned variant)
{
    struct side *side = &state->side[host];
    if (side->epoch == 0)
        return;
    side->epoch = 0;
    side->peer = (struct key){0};
    if (variant != SAME_SEQUENCE)
        side->own.sequence++;
    if (host == I && variant == ACKNOWLEDGED_BEFORE_THE_END)
        state->ending = state->import != 0;
    else if (host == I)
        state->import = 0;
}

static bool begin_session(struct state *state, int host, struct key greeting)
{
    struct side *side = &state->side[host], *other = &state->side[1 - host];
    read_across(state, 1 - host);
    if (!other->on || !other->translated || !same(other->own, greeting)) /* read_hello() */
        return false;
    side->peer = greeting;
    side->epoch = ++side->last_epoch;
    if (host == E) { /* rsm_extents_expose() */
        state->quarantined = 0;
        state->exposed = state->segment != 0;
    }
    return true;
}

/* What linked() tells the other side, unless it knows. */
static bool greet(struct state *state, int host)
{
    const struct side *side = &state->side[host], *other = &state->side[1 - host];
    struct pads pads = {.valid = 1, .key = side->own, .ack = side->acked};
    struct pads latest = other->pads;
    for (int i = 0; i < other->count; i++)
        if (other->queue[i].store == 0)
            latest = other->queue[i].pads;
    if (memcmp(&latest, &pads, sizeof pads) == 0)
        return true;
    return post(state, 1 - host, (struct message){.pads = pads});
}

static bool work(struct state *state, int host, unsigned variant)
{
    struct state before = *state;
    struct side *side = &state->side[host];
    if (!side->on)
        return false;
    if (side->link_event || !state->link)
        end_session(state, host, variant);
    side->link_event = 0;
    if (state->link) {
        bool greeted = side->pads.valid;
        struct key key = side->pads.key;
        if (variant == TRANSLATED_AT_LINK_UP)
            side->translated = 1;
        if (side->epoch != 0 && (!greeted || !same(key, side->peer)))
            end_session(state, host, variant);
        if (side->epoch == 0) {
            if (greeted)
                side->acked = key;
            if (!greet(state, host))
                return false;
            if (greeted &&
                (same(side->pads.ack, side->own) || variant == BEGUN_WITHOUT_ACKNOWLEDGEMENT)) {
                side->translated = 1; /* set_translation() */
                (void)begin_session(state, host, key);
            }
        }
    }
    return memcmp(&before, state, sizeof before) != 0;
}

/* ---- what happens to hosts and link ---- */

static bool crash(struct state *state, int host)
{
    struct side *side = &state->side[host];
    if (!side->on || state->restarts == RESTARTS)
        return false;
    state->restarts++;
    /* The scratchpads are the bridge's: they may stay, and what is on its way arrives. */
    side->on = side->epoch = side->last_epoch = side->translated = side->link_event = 0;
    side->own = side->acked = side->peer = (struct key){0};
    if (host == E)
        state->segment = state->exposed = state->quarantined = 0;
    else
        state->held = state->ticket = state->ticket_epoch = state->import = state->ending = 0;
    return true;
}

static bool unplug(struct state *state)
{
    if (!state->link || state->unplugs == UNPLUGS)
        return false;
    state->unplugs++;
    state->link = 0;
    for (int host = E; host <= I; host++) {
        struct side *side = &state->side[host];
        memset(side->queue, 0, sizeof side->queue);
        side->count = 0;
        side->link_event = side->on;
    }
    return true;
}

static bool silent(struct state *state, int host, unsigned variant)
{
    if (state->side[host].epoch == 0 || state->silences == SILENCES)
        return false;
    state->silences++;
    end_session(state, host, variant);
    return true;
}

/* ---- exporter and importer ---- */

static bool unexport(struct state *state, unsigned variant)
{
    if (state->segment == 0)
        return false;
    if (state->exposed && variant != NO_QUARANTINE)
        state->quarantined = state->segment;
    state->segment = state->exposed = 0;
    return true;
}

static bool export(struct state *state)
{
    if (!state->side[E].on || state->segment != 0 || state->quarantined != 0 ||
        state->segments == SEGMENTS)
        return false;
    state->segment = ++state->segments;
    state->exposed = state->side[E].epoch != 0;
    return true;
}

static bool grant(struct state *state)
{
    const struct side *side = &state->side[E];
    if (state->segment == 0 || side->epoch == 0 || state->granted != 0 ||
        state->offered == state->segment)
        return false;
    state->granted = state->offered = state->segment;
    state->grant_e = side->own;
    state->grant_i = side->peer;
    return true;
}

static void drop_grant(struct state *state)
{
    state->granted = 0;
    state->grant_e = state->grant_i = (struct key){0};
}

static bool accept_grant(struct state *state, unsigned variant)
{
    const struct side *side = &state->side[I];
    if (state->granted == 0 || !side->on || state->held != 0)
        return false;
    state->held = state->granted;
    bool present = side->epoch != 0 &&
                   ((same(state->grant_i, side->own) && same(state->grant_e, side->peer)) ||
                    variant == KEYS_ARE_NOT_COMPARED);
    if (present) {
        state->ticket = state->granted;
        state->ticket_epoch = side->epoch;
    }
    drop_grant(state);
    return true;
}

static bool import(struct state *state, unsigned variant)
{
    const struct side *side = &state->side[I];
    if (state->ticket == 0 || state->import != 0)
        return false;
    if (side->epoch != 0 &&
        (side->epoch == state->ticket_epoch || variant == EPOCH_IS_NOT_COMPARED))
        state->import = state->ticket;
    state->ticket = state->ticket_epoch = 0;
    return true;
}

/* The end of a connection: once this host has nothing of the segment any more, the other one learns so. */
static bool revoke(struct state *state, unsigned variant)
{
    if (state->held == 0 || state->ticket != 0 || state->released != 0)
        return false;
    state->import = state->ending = 0;
    if (variant != NO_FENCE && (variant != FENCE_IN_SESSION_ONLY || state->side[I].epoch != 0))
        read_across(state, E);
    state->released = state->held;
    state->held = 0;
    return true;
}

static bool release(struct state *state)
{
    bool never_offered = state->quarantined != state->offered;
    if (state->released == 0 && (state->quarantined == 0 || !never_offered))
        return false;
    if (state->released == state->quarantined || never_offered)
        state->quarantined = 0;
    state->released = 0;
    return true;
}

static bool make_move(void *memory, unsigned move, unsigned variant)
{
    struct state *state = memory;
    switch ((enum move)move) {
    case UNPLUG:
        return unplug(state);
    case PLUG:
        return !state->link && (state->link = 1);
    case WORK_E:
    case WORK_I:
        return work(state, move == WORK_E ? E : I, variant);
    case SILENT_E:
    case SILENT_I:
        return silent(state, move == SILENT_E ? E : I, variant);
    case CRASH_E:
    case CRASH_I:
        return crash(state, move == CRASH_E ? E : I);
    case START_E:
    case START_I:
        if (state->side[move - START_E].on)
            return false;
        start(&state->side[move - START_E], variant);
        return true;
    case ARRIVE_E:
    case ARRIVE_I:
        return arrive(state, move == ARRIVE_E ? E : I);
    case LATE_END:
        return state->ending && (state->ending = state->import = 0, true);
    case EXPORT:
        return export(state);
    case GRANT:
        return grant(state);
    case UNEXPORT:
        return unexport(state, variant);
    case ACCEPT:
        return accept_grant(state, variant);
    case IMPORT:
        return import(state, variant);
    case STORE:
        return state->import != 0 && state->link &&
               post(state, E, (struct message){.store = state->import});
    case REVOKE:
        return revoke(state, variant);
    case RELEASE:
        return release(state);
    }
    return false;
}

static const char *wrong(const void *memory, bool final)
{
    const struct state *state = memory;
    if (state->reached_another)
        return "a store of an old import has reached another segment";
    return final && state->side[E].on && state->side[I].on && state->link &&
                   (state->side[E].epoch == 0 || state->side[I].epoch == 0)
               ? "the two hosts never agree on a session"
               : NULL;
}

int main(void)
{
    _Static_assert(sizeof(struct state) <= MODEL_STATE_MAX, "larger states");
    return model_check(&(struct model){.name = "ntb",
                                       .size = sizeof(struct state),
                                       .begin = begin,
                                       .moves = moves,
                                       .variants = variants,
                                       .move = make_move,
                                       .wrong = wrong});
}
