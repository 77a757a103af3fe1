/* SPDX-License-Identifier: BSD-3-Clause */
/* Who is served next, by a clock that only the requests of the test move. */
#include "cases.h"

#include <event2/event.h>

#include "server/turns.h"

enum { US = 1000, MS = 1000 * US, SEATS = 8 };

/* A client that always has something to ask, each time for so long. */
struct asker {
    struct rsmd_seat seat; /* first, so that it leads here */
    int64_t price;
    int64_t used;
    unsigned left; /* requests; 0: it asks nothing */
};

static struct event_base *base;
static struct rsmd_turns turns;
static struct asker askers[SEATS];
static int64_t clock_ns;

static int64_t fake_clock(void)
{
    return clock_ns;
}

static enum rsmd_served serve(struct rsmd_seat *seat)
{
    struct asker *asker = (struct asker *)(void *)seat;
    if (asker->left == 0)
        return RSMD_SERVED_NOTHING;
    asker->left--;
    asker->used += asker->price;
    clock_ns += asker->price;
    return RSMD_SERVED_ONE;
}

static int start(void **state)
{
    memset(askers, 0, sizeof askers);
    base = event_base_new();
    if (base == NULL || !rsmd_turns_init(&turns, base, serve))
        return -1;
    turns.clock = fake_clock;
    return 0;
}

static int stop(void **state)
{
    for (unsigned i = 0; i < SEATS; i++)
        rsmd_turns_leave(&turns, &askers[i].seat);
    rsmd_turns_end(&turns);
    event_base_free(base);
    return 0;
}

static struct asker *asker(unsigned number, uid_t uid, int64_t price)
{
    struct asker *one = &askers[number];
    assert_true(rsmd_turns_join(&turns, &one->seat, uid));
    one->price = price;
    one->left = UINT32_MAX;
    rsmd_turns_wait(&turns, &one->seat);
    return one;
}

static void run_for(int64_t ns)
{
    for (int64_t end = clock_ns + ns; clock_ns < end;)
        rsmd_turns_go_on(&turns);
}

#define TEST(test) TEST_BETWEEN(test, start, stop)

TEST(users_get_the_same_time_whatever_a_request_costs)
{
    const struct asker *dear = asker(0, 1, 50 * MS), *cheap = asker(1, 2, 10 * US);
    run_for((int64_t)1000 * MS);
    assert_in_range(dear->used, 450 * MS, 550 * MS);
    assert_in_range(cheap->used, 450 * MS, 550 * MS);
}

TEST(many_clients_are_no_more_than_one_user)
{
    int64_t sum = 0;
    for (unsigned i = 1; i < SEATS; i++)
        asker(i, 1, 100 * US);
    const struct asker *alone = asker(0, 2, 100 * US);
    run_for((int64_t)700 * MS);
    for (unsigned i = 1; i < SEATS; i++) {
        sum += askers[i].used;
        assert_in_range(askers[i].used, 49 * MS, 51 * MS);
    }
    assert_in_range(alone->used, 349 * MS, 351 * MS);
    assert_in_range(sum, 349 * MS, 351 * MS);
}

TEST(who_comes_waits_for_one_request)
{
    asker(0, 1, 3 * MS);
    run_for((int64_t)500 * MS);
    int64_t came = clock_ns;
    struct asker *late = asker(1, 2, 10 * US);
    while (late->used == 0)
        rsmd_turns_go_on(&turns);
    assert_in_range(clock_ns - came, 0, 3 * MS + 10 * US);
}

TEST(nobody_saves_time_up)
{
    struct asker *idle = asker(0, 1, MS);
    idle->left = 1;
    const struct asker *busy = asker(1, 2, MS);
    run_for((int64_t)1000 * MS);
    int64_t before = busy->used;
    idle->left = UINT32_MAX;
    rsmd_turns_wait(&turns, &idle->seat);
    run_for((int64_t)100 * MS);
    assert_in_range(busy->used - before, 48 * MS, 52 * MS);
}

/* What somebody used while nobody else was there is not held against him. */
TEST(nobody_pays_for_time_that_nobody_wanted)
{
    struct asker *alone = asker(0, 1, MS);
    alone->left = 0;
    run_for(0);
    rsmd_turns_go_on(&turns);
    for (int i = 0; i < 1000; i++) {
        alone->left = 1;
        rsmd_turns_ready(&turns, &alone->seat);
        rsmd_turns_go_on(&turns);
    }
    assert_int_equal(alone->used, (int64_t)1000 * MS);
    const struct asker *newcomer = asker(1, 2, MS);
    alone->left = UINT32_MAX;
    rsmd_turns_wait(&turns, &alone->seat);
    run_for((int64_t)100 * MS);
    assert_in_range(newcomer->used, 48 * MS, 53 * MS);
}

/* Who leaves after each dear request and comes again is still charged for it. */
TEST(who_leaves_does_not_get_rid_of_what_he_has_used)
{
    struct asker *dear = asker(0, 1, 50 * MS);
    const struct asker *cheap = asker(1, 2, 10 * US);
    int64_t begun = clock_ns, before = 0;
    while (clock_ns - begun < (int64_t)1000 * MS) {
        rsmd_turns_go_on(&turns);
        if (dear->used == before)
            continue;
        before = dear->used;
        rsmd_turns_leave(&turns, &dear->seat);
        assert_true(rsmd_turns_join(&turns, &dear->seat, 1));
        rsmd_turns_wait(&turns, &dear->seat);
    }
    assert_in_range(dear->used, 450 * MS, 550 * MS);
    assert_in_range(cheap->used, 450 * MS, 550 * MS);
}

/* The same for one who is gone when his request is over. */
static enum rsmd_served serve_and_leave(struct rsmd_seat *seat)
{
    if (serve(seat) == RSMD_SERVED_NOTHING)
        return RSMD_SERVED_NOTHING;
    if (seat != &askers[0].seat)
        return RSMD_SERVED_ONE;
    rsmd_turns_leave(&turns, seat);
    return RSMD_SERVED_LAST;
}

TEST(nor_who_is_gone_when_he_is_served)
{
    turns.serve = serve_and_leave;
    struct asker *dear = asker(0, 1, 50 * MS);
    const struct asker *cheap = asker(1, 2, 10 * US);
    for (int64_t begun = clock_ns; clock_ns - begun < (int64_t)1000 * MS;) {
        rsmd_turns_go_on(&turns);
        if (dear->seat.lane != NULL)
            continue;
        assert_true(rsmd_turns_join(&turns, &dear->seat, 1));
        rsmd_turns_wait(&turns, &dear->seat);
    }
    assert_in_range(dear->used, 450 * MS, 550 * MS);
    assert_in_range(cheap->used, 450 * MS, 550 * MS);
}

/* Thousands of users come and go: no more are remembered than there is room for, and none whom the others
 * have caught up with. */
TEST(what_is_remembered_is_bounded)
{
    turns.serve = serve_and_leave;
    for (uid_t uid = 100; uid < 100 + 4 * RSMD_LANES_LEFT_MAX; uid++) {
        asker(0, uid, MS);
        rsmd_turns_go_on(&turns);
        assert_true(turns.left_count <= RSMD_LANES_LEFT_MAX);
    }
    assert_int_equal(turns.left_count, RSMD_LANES_LEFT_MAX);
    assert_int_equal(turns.lane_count, 0);
    asker(1, 1, MS);
    run_for((int64_t)100 * MS);
    struct rsmd_seat other = {.lane = NULL};
    for (uid_t uid = 10000; uid < 10010; uid++) {
        asker(0, uid, MS);
        run_for(3 * MS);
        assert_true(rsmd_turns_join(&turns, &other, uid + 1000));
        rsmd_turns_leave(&turns, &other);
    }
    assert_in_range(turns.left_count, 0, 20);
}

TEST(a_turn_is_a_millisecond)
{
    asker(0, 1, 10 * US);
    int64_t begun = clock_ns;
    assert_true(rsmd_turns_go_on(&turns));
    assert_in_range(clock_ns - begun, MS, MS + 10 * US);
}

/* Others come in each round of the loop, before the timer is handled that is due. */
static void come_again(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what;
    unsigned *times = argument;
    static const struct timeval now = {0};
    rsmd_turns_wait(&turns, &askers[0].seat);
    if (++*times == 100)
        event_base_loopbreak(base);
    else
        event_base_once(base, -1, EV_TIMEOUT, come_again, times, &now);
}

TEST(who_comes_again_and_again_does_not_stop_the_turns)
{
    unsigned times = 0;
    static const struct timeval now = {0};
    event_base_once(base, -1, EV_TIMEOUT, come_again, &times, &now);
    const struct asker *waiting = asker(0, 1, 100 * US);
    event_base_dispatch(base);
    assert_int_equal(times, 100);
    assert_true(waiting->used > 0);
}
