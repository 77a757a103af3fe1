/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * The handover from one rsmd to the next (doc/architecture.md, section 12): the word `alive`, the list of robust
 * futexes, the descriptors on their way, and a client that looks at any moment. Either daemon may be killed
 * between any two steps, time may pass at any moment, and a step may fail that can. A daemon that cannot hand over
 * serves nobody any more: it ends, as it would without a successor.
 *
 * No client is ended by a handover in which nothing failed, none that has given up is served again, and none believes
 * for ever in a daemon that has ended.
 */
#include <stdint.h>

#include "explorer.h"

enum { LAST_SECOND = 4, WAIT = 2 };
enum { NOBODY, OLD, NEXT };

enum variant {
    TRUE_MODEL,
    NO_SECOND_LOOK_OF_SUCCESSOR,
    NO_SECOND_LOOK_OF_CLIENT,
    NO_TIME_LIMIT,
    UNLISTED_FIRST,
    MARKED_WHEN_GIVEN,
    LISTED_LAST,
    CLOSED_BEFORE_GIVEN,
    LEFT_IS_DEAD,
    NOT_MARKED_WHEN_DROPPED,
    NOT_OWNED_AGAIN,
    NOT_TAKEN_BACK,
};

static const char *const variants[] = {
    "the protocol",
    "the successor does not look at the clock again",
    "the client does not look at the word again",
    "the client looks at no clock",
    "the old daemon leaves the robust list before it writes that it has left",
    "the old daemon marks its end although it has handed over",
    "the successor enters the robust list after it has taken the word",
    "the old daemon closes its descriptors before the manager has them",
    "the client takes a daemon that has left for dead",
    "a successor that cannot restore does not mark its end",
    "a daemon that could not hand over does not own the word again",
    "a daemon that could not hand over does not take the descriptors back",
    NULL,
};

enum move {
    SECOND,
    SIGNAL_USR2,
    SIGNAL_TERM,
    LEAVE_FIRST,
    LEAVE_SECOND,
    EXECUTE,
    CANNOT_EXECUTE,
    STORE,
    CANNOT_STORE,
    END,
    END_ALONE,
    KILL_OLD,
    MANAGER_STARTS,
    MANAGER_DROPS,
    ENTER_LIST,
    LOOK_AT_CLOCK,
    TAKE_WORD,
    LOOK_AGAIN,
    RESTORE,
    CANNOT_RESTORE,
    KILL_NEXT,
    CLIENT_FORKS,
    CLIENT_LOOKS,
    CLIENT_CLOCK,
    CLIENT_LOOKS_AGAIN,
};

static const char *const moves[] = {
    "a second passes",
    "SIGUSR2: rsmd_handover_give()",
    "SIGTERM: rsmd_handover_store()",
    "old: rsmd_generation_table_leave() writes the word",
    "old: rsmd_generation_table_leave() leaves the robust list",
    "old: give_in_place() executes the next program",
    "old: execv() fails: rsmd_generation_table_own()",
    "old: rsmd_store_put()",
    "old: the manager does not answer: rsmd_store_remove(), rsmd_generation_table_own()",
    "old: ends",
    "old: could not hand over: rsmd_server_end(), rsmd_generation_table_free()",
    "old: killed",
    "the manager starts the next one: rsmd_handover_receive()",
    "the manager closes what it stores",
    "next: rsmd_generation_table_own() enters the robust list",
    "next: take_word() looks at the clock",
    "next: take_word() exchanges the word",
    "next: take_word() looks at the clock again",
    "next: rsmd_handover_restore()",
    "next: rsmd_handover_restore() fails, rsmd_handover_drop()",
    "next: killed",
    "client: a forked child goes on, which does not look at its parent's socket",
    "client: rsm_generation_table_is_owned() loads the word",
    "client: it looks at the clock; rsmcore_control_has_successor() at the socket",
    "client: it loads the word again",
    NULL,
};

enum word { OWNED, LEFT, DIED };
/* What the old daemon does. */
enum old { SERVES, LEAVES, HAS_LEFT, UNLISTED, STORED, ENDS, GONE };
/* And the next one. */
enum next { NOT_STARTED, STARTED, LISTED, IN_TIME, HAS_WORD, HOLDS, RESTORED, DROPPED };

struct state {
    uint8_t now, word, owner, until;
    uint8_t old, old_listed, old_fds, in_place;
    uint8_t stored; /* the manager has the descriptors */
    uint8_t next, next_listed, next_fds;
    uint8_t forked, client, seen,
        seen_second; /* where the client is, and the word that it has loaded */
    uint8_t ended, by_clock;
    uint8_t failed; /* something has failed, after which clients may end */
};

static void begin(void *memory)
{
    struct state *state = memory;
    state->owner = OLD;
    state->old_listed = state->old_fds = 1;
}

static bool connected(const struct state *state)
{
    return state->old_fds || state->stored || state->next_fds;
}

/* The kernel, at a process's end: exit_robust_list(). */
static void die(struct state *state, unsigned who, bool listed)
{
    if (listed && state->word == OWNED && state->owner == who)
        state->word = DIED;
}

/* ---- the old one ---- */

static bool begin_handover(struct state *state, bool in_place)
{
    if (state->old != SERVES || state->now + WAIT > LAST_SECOND)
        return false;
    state->in_place = in_place;
    state->old = LEAVES;
    return true;
}

static void write_left(struct state *state)
{
    state->word = LEFT;
    state->owner = NOBODY;
    state->until = (uint8_t)(state->now + WAIT);
}

static bool leave(struct state *state, bool first, unsigned variant)
{
    if (state->old != (first ? LEAVES : HAS_LEFT))
        return false;
    if (first == (variant != UNLISTED_FIRST))
        write_left(state);
    else
        state->old_listed = 0;
    if (first)
        state->old = HAS_LEFT;
    else
        state->old = UNLISTED;
    if (!first && variant == CLOSED_BEFORE_GIVEN && !state->in_place)
        state->old_fds = 0;
    return true;
}

static bool take(struct state *state, unsigned who)
{
    if (state->word != LEFT || state->now >= state->until)
        return false;
    state->word = OWNED;
    state->owner = (uint8_t)who;
    return true;
}

/* Nothing was handed over: give(). */
static bool own_again(struct state *state, bool in_place, unsigned variant)
{
    if (state->old != (in_place ? UNLISTED : STORED) || state->in_place != in_place)
        return false;
    if (variant != NOT_TAKEN_BACK)
        state->stored = 0;
    state->old = ENDS;
    if (variant == NOT_OWNED_AGAIN)
        return true;
    state->old_listed = take(state, OLD);
    state->failed |= !state->old_listed; /* later than clients wait */
    return true;
}

static bool execute(struct state *state)
{
    if (state->old != UNLISTED || !state->in_place)
        return false;
    state->old = GONE;
    state->old_fds = 0;
    state->next_fds = 1;
    state->next = STARTED;
    return true;
}

static bool store(struct state *state)
{
    if (state->old != UNLISTED || state->in_place)
        return false;
    state->old = STORED;
    state->stored = 1;
    return true;
}

static bool end(struct state *state, unsigned variant)
{
    if (state->old != STORED)
        return false;
    state->old = GONE;
    state->old_fds = 0;
    if (variant == MARKED_WHEN_GIVEN)
        state->word = DIED;
    return true;
}

static bool end_alone(struct state *state)
{
    if (state->old != ENDS)
        return false;
    state->failed = 1;
    state->old = GONE;
    state->old_fds = 0;
    if (state->old_listed)
        state->word = DIED;
    return true;
}

static bool kill_old(struct state *state)
{
    if (state->old == GONE)
        return false;
    state->failed = 1;
    state->old = GONE;
    state->old_fds = 0;
    die(state, OLD, state->old_listed);
    return true;
}

/* ---- the next one ---- */

static bool manager(struct state *state, bool starts)
{
    if (state->old != GONE || !state->stored)
        return false;
    state->stored = 0;
    if (starts) {
        state->next_fds = 1;
        state->next = STARTED;
    } else {
        state->failed = 1;
    }
    return true;
}

static void drop(struct state *state)
{
    state->failed = 1;
    state->next = DROPPED;
    state->next_fds = 0;
    state->next_listed = 0;
}

static bool look_at_clock(struct state *state, unsigned variant)
{
    if (state->next != (variant == LISTED_LAST ? STARTED : LISTED))
        return false;
    if (state->word == LEFT && state->now < state->until)
        state->next = IN_TIME;
    else
        drop(state);
    return true;
}

static bool take_word(struct state *state)
{
    if (state->next != IN_TIME)
        return false;
    state->word = OWNED;
    state->owner = NEXT;
    state->next = HAS_WORD;
    return true;
}

static bool look_again(struct state *state, unsigned variant)
{
    if (state->next != HAS_WORD || (variant == LISTED_LAST && !state->next_listed))
        return false;
    if (state->now < state->until || variant == NO_SECOND_LOOK_OF_SUCCESSOR) {
        state->next = HOLDS;
        return true;
    }
    state->word = DIED;
    drop(state);
    return true;
}

static bool enter_list(struct state *state, unsigned variant)
{
    if (state->next != (variant == LISTED_LAST ? HAS_WORD : STARTED) || state->next_listed)
        return false;
    state->next_listed = 1;
    if (variant != LISTED_LAST)
        state->next = LISTED;
    return true;
}

static bool restore(struct state *state, bool can, unsigned variant)
{
    if (state->next != HOLDS)
        return false;
    if (can) {
        state->next = RESTORED;
        return true;
    }
    if (variant != NOT_MARKED_WHEN_DROPPED)
        state->word = DIED;
    drop(state);
    return true;
}

static bool kill_next(struct state *state)
{
    if (state->next == NOT_STARTED || state->next == DROPPED)
        return false;
    die(state, NEXT, state->next_listed);
    drop(state);
    return true;
}

/* ---- the client ---- */

static bool give_up(struct state *state, bool by_clock)
{
    state->ended = 1;
    state->by_clock = by_clock;
    state->client = state->seen = state->seen_second = 0;
    return true;
}

static bool look(struct state *state, unsigned variant)
{
    if (state->ended || state->client != 0 || state->word == OWNED)
        return false;
    if (state->word == DIED || variant == LEFT_IS_DEAD)
        return give_up(state, false);
    if (variant == NO_TIME_LIMIT && state->forked && state->now == LAST_SECOND)
        return false; /* it looks for ever */
    state->client = 1;
    state->seen = state->word;
    state->seen_second = state->until;
    return true;
}

static bool clock_of_client(struct state *state, unsigned variant)
{
    if (state->client != 1)
        return false;
    state->client = 2;
    if (state->now >= state->seen_second && variant != NO_TIME_LIMIT)
        return true;
    if (!state->forked && !connected(state))
        return give_up(state, false);
    state->client = state->seen = state->seen_second = 0;
    return true;
}

static bool client_looks_again(struct state *state, unsigned variant)
{
    if (state->client != 2)
        return false;
    bool unchanged = state->word == state->seen && state->until == state->seen_second;
    if (unchanged || variant == NO_SECOND_LOOK_OF_CLIENT || state->word == DIED)
        return give_up(state, true);
    state->client = state->seen = state->seen_second =
        0; /* the loop, from the word that it has now */
    return true;
}

static bool second(struct state *state)
{
    if (state->now == LAST_SECOND)
        return false;
    state->now++;
    if (state->word == LEFT && state->now >= state->until && state->old != ENDS)
        state->failed = 1; /* no daemon came in time */
    return true;
}

static bool make_move(void *memory, unsigned move, unsigned variant)
{
    struct state *state = memory;
    switch ((enum move)move) {
    case SECOND:
        return second(state);
    case SIGNAL_USR2:
    case SIGNAL_TERM:
        return begin_handover(state, move == SIGNAL_USR2);
    case LEAVE_FIRST:
    case LEAVE_SECOND:
        return leave(state, move == LEAVE_FIRST, variant);
    case EXECUTE:
        return execute(state);
    case CANNOT_EXECUTE:
    case CANNOT_STORE:
        return own_again(state, move == CANNOT_EXECUTE, variant);
    case STORE:
        return store(state);
    case END:
        return end(state, variant);
    case END_ALONE:
        return end_alone(state);
    case KILL_OLD:
        return kill_old(state);
    case MANAGER_STARTS:
    case MANAGER_DROPS:
        return manager(state, move == MANAGER_STARTS);
    case ENTER_LIST:
        return enter_list(state, variant);
    case LOOK_AT_CLOCK:
        return look_at_clock(state, variant);
    case TAKE_WORD:
        return take_word(state);
    case LOOK_AGAIN:
        return look_again(state, variant);
    case RESTORE:
    case CANNOT_RESTORE:
        return restore(state, move == RESTORE, variant);
    case KILL_NEXT:
        return kill_next(state);
    case CLIENT_FORKS:
        return !state->forked && !state->ended && state->client == 0 && (state->forked = 1);
    case CLIENT_LOOKS:
        return look(state, variant);
    case CLIENT_CLOCK:
        return clock_of_client(state, variant);
    case CLIENT_LOOKS_AGAIN:
        return client_looks_again(state, variant);
    }
    return false;
}

static const char *wrong(const void *memory, bool final)
{
    const struct state *state = memory;
    bool served = state->next == RESTORED || state->old == SERVES;
    if (state->ended && !state->failed)
        return "a handover in which nothing failed has ended a client";
    if (state->ended && state->by_clock && state->next == RESTORED)
        return "a client that has given up is served again";
    if (state->old == ENDS && state->stored)
        return "a daemon ends what its clients have, and a successor would find it";
    if (final && !state->ended && !served)
        return "a client believes for ever in a daemon that has ended";
    return NULL;
}

int main(void)
{
    _Static_assert(sizeof(struct state) <= MODEL_STATE_MAX, "larger states");
    return model_check(&(struct model){.name = "handover",
                                       .size = sizeof(struct state),
                                       .begin = begin,
                                       .moves = moves,
                                       .variants = variants,
                                       .move = make_move,
                                       .wrong = wrong});
}
