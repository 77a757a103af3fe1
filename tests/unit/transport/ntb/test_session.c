/* SPDX-License-Identifier: BSD-3-Clause */
/* Sessions of two hosts, whose pools are here: every edge between having one and having none. */
#include <endian.h>

#include "cases.h"
#include "session.h"

enum { POOL = 2 * NTB_CONTROL_BYTES, TIMEOUT_MS = 300, STEP_MS = 50 };

static uint8_t *pool[2];
static struct ntb_session side[2];
static int64_t now;

static void start(unsigned which, uint32_t generation)
{
    side[which] = (struct ntb_session){
        .own = pool[which], .peer = pool[1 - which], .own_size = POOL, .window_size = POOL};
    ntb_session_begin(&side[which], generation, which + 1, TIMEOUT_MS);
}

static enum ntb_session_news step(unsigned which)
{
    return ntb_session_step(&side[which], now);
}

static uint64_t canary_of(unsigned which)
{
    uint64_t canary;
    memcpy(&canary, pool[which] + NTB_CANARY_OFFSET, sizeof canary);
    return le64toh(canary);
}

static struct ntb_hello *hello_of(unsigned which)
{
    return (struct ntb_hello *)(void *)(pool[which] + NTB_HELLO_AT);
}

/* What the other one has written into it. */
static struct ntb_words *words_in(unsigned which)
{
    return (struct ntb_words *)(void *)(pool[which] + NTB_WORDS_AT);
}

static void run(unsigned steps)
{
    for (unsigned i = 0; i < steps; i++) {
        now += STEP_MS;
        step(0);
        step(1);
    }
}

static void in_session(void)
{
    for (unsigned i = 0; i < 2; i++) {
        assert_true(side[i].up);
        assert_int_equal(side[i].peer_generation, side[1 - i].generation);
        assert_int_equal(side[i].peer_sequence, side[1 - i].sequence);
        assert_int_equal(side[i].peer_node, 2 - i);
        assert_true(ntb_session_canary(&side[i]) == canary_of(1 - i));
    }
}

static int begin(void **state)
{
    for (unsigned i = 0; i < 2; i++)
        assert_non_null(pool[i] = calloc(1, POOL));
    now = 1000;
    start(0, 100);
    start(1, 200);
    run(4);
    in_session();
    return 0;
}

static int end(void **state)
{
    free(pool[0]);
    free(pool[1]);
    return 0;
}

#define TEST(name) TEST_BETWEEN(name, begin, end)

TEST(a_silent_host_is_dead)
{
    uint64_t before = canary_of(0);
    step(0); /* it hears the last heartbeat */
    for (unsigned i = 0; i < TIMEOUT_MS / STEP_MS; i++) {
        assert_true(side[0].up);
        now += STEP_MS;
        step(0);
    }
    assert_false(side[0].up);
    assert_true(canary_of(0) != before && canary_of(0) == 0);
    now += 10 * TIMEOUT_MS;
    step(0);
    assert_false(side[0].up);
}

/* One that hung finds out by itself, though nothing has happened to it. */
TEST(a_host_that_hung_does_not_go_on)
{
    uint32_t epochs[] = {side[0].epoch, side[1].epoch};
    step(0); /* it hears the last heartbeat */
    now += TIMEOUT_MS + STEP_MS;
    assert_int_equal(step(0), NTB_SESSION_ENDED);
    assert_true(side[1].up); /* it hangs */
    assert_int_equal(step(1), NTB_SESSION_ENDED);
    run(4);
    in_session();
    assert_int_equal(side[0].epoch, epochs[0] + 1);
    assert_int_equal(side[1].epoch, epochs[1] + 1);
}

/* A heartbeat that was on its way when the time was over, of a host that has not looked since: its
 * acknowledgement is of the session that has ended. */
TEST(a_late_heartbeat_revives_nothing)
{
    uint32_t beat;
    step(0); /* it hears the last heartbeat */
    now += TIMEOUT_MS + STEP_MS;
    assert_int_equal(step(0), NTB_SESSION_ENDED);
    for (unsigned i = 0; i < 4; i++) {
        memcpy(&beat, pool[0] + NTB_HEARTBEAT_AT, sizeof beat);
        beat = htole32(le32toh(beat) + 1);
        memcpy(pool[0] + NTB_HEARTBEAT_AT, &beat, sizeof beat);
        now += STEP_MS;
        assert_int_equal(step(0), NTB_SESSION_SAME);
    }
    assert_int_equal(step(1), NTB_SESSION_ENDED);
    run(4);
    in_session();
}

TEST(a_host_that_starts_again_is_another)
{
    uint32_t epoch = side[0].epoch;
    start(1, 201);
    now += STEP_MS; /* long before anything is late */
    assert_int_equal(step(0), NTB_SESSION_ENDED);
    run(4);
    in_session();
    assert_int_equal(side[0].epoch, epoch + 1);
    assert_int_equal(side[0].peer_generation, 201);
}

TEST(who_leaves_is_missed_soon)
{
    ntb_session_leave(&side[1]);
    assert_true(canary_of(1) == 0);
    for (unsigned i = 0; i <= NTB_UNSOUND_MAX; i++)
        step(0);
    assert_false(side[0].up);
}

/* While imports of the former session are there, nothing new begins. */
TEST(a_held_side_agrees_on_nothing)
{
    side[0].held = true;
    start(1, 202);
    run(20);
    assert_false(side[0].up);
    assert_false(side[1].up);
    side[0].held = false;
    run(4);
    in_session();
}

/* The memory still has what a host wrote that died before this one came. */
TEST(a_dead_host_cannot_be_met)
{
    start(0, 101);
    for (unsigned i = 0; i < 20; i++) {
        now += STEP_MS;
        assert_int_equal(step(0), NTB_SESSION_SAME);
    }
    assert_false(side[0].up);
}

/* Whatever is in the words, the session ends or does not begin; and good words mend it. */
TEST(broken_words)
{
    for (unsigned word = 0; word < sizeof(struct ntb_words) / 4; word++) {
        uint32_t *shared = (uint32_t *)words_in(0) + word;
        *shared ^= htole32(0x40);
        for (unsigned i = 0; i <= NTB_UNSOUND_MAX + 1; i++)
            step(0);
        assert_false(side[0].up);
        run(4);
        in_session();
    }
}

TEST(all_ones)
{
    memset(pool[0] + NTB_WORDS_AT, 0xff, sizeof(struct ntb_words));
    for (unsigned i = 0; i <= NTB_UNSOUND_MAX; i++)
        step(0);
    assert_false(side[0].up);
}

/* Words that are right, of a session that is not this one. */
TEST(a_stale_session_ends_it)
{
    struct ntb_words *shared = words_in(0), words;
    assert_true(ntb_words_read(shared, &words));
    words.ack_sequence--;
    shared->ack_sequence = htole32(words.ack_sequence);
    shared->check = htole32(ntb_words_check(&words));
    assert_int_equal(step(0), NTB_SESSION_ENDED);
}

static void refuses(void)
{
    side[0].up = side[1].up = false;
    side[0].sequence++; /* so that nothing acknowledged before counts */
    start(1, side[1].generation + 1);
}

TEST(bad_hello_pages)
{
    static const struct {
        size_t at;
        unsigned bytes;
        uint64_t value;
    } bad[] = {
        {offsetof(struct ntb_hello, magic), 4, 0},
        {offsetof(struct ntb_hello, magic), 4, UINT32_MAX},
        {offsetof(struct ntb_hello, wire), 4, NTB_WIRE + 1},
        {offsetof(struct ntb_hello, generation), 4, 7},
        {offsetof(struct ntb_hello, pool_size), 8, NTB_CONTROL_BYTES},
        {offsetof(struct ntb_hello, pool_size), 8, POOL + 4096},
        {offsetof(struct ntb_hello, pool_size), 8, POOL - 1},
        {offsetof(struct ntb_hello, pool_size), 8, UINT64_MAX},
        {offsetof(struct ntb_hello, granule), 8, 0},
        {offsetof(struct ntb_hello, granule), 8, 12288},
        {offsetof(struct ntb_hello, granule), 8, UINT64_MAX},
        {offsetof(struct ntb_hello, node), 4, 0},
        {offsetof(struct ntb_hello, node), 4, 65536},
        {offsetof(struct ntb_hello, node), 4, 1}, /* that of this host */
    };
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++) {
        uint64_t value = htole64(bad[i].value);
        refuses();
        memcpy((uint8_t *)hello_of(1) + bad[i].at, &value, bad[i].bytes);
        run(6);
        assert_false(side[0].up);
        assert_false(side[1].up);
    }
    refuses();
    run(6);
    in_session();
}
