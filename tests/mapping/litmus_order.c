/* SPDX-License-Identifier: BSD-3-Clause */
/* What the peer sees, and in what order. */
#include "litmus.h"

enum { WORD_GO, WORD_ACK, WORD_SIZE, WORD_FLAG, WORD_DATA, WORD_STOP };

/* ---------------------------------------------------------------- 1, 2: message passing */

static uint8_t pattern(uint64_t message, size_t at)
{
    return (uint8_t)(message * 7 + at * 13 + 1);
}

/* For each message: wait for the flag, look at all of the payload, acknowledge beside the segment.
 */
static void read_messages(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t message = 1;; message++) {
        AWAIT(atomic_load(&sync->word[WORD_GO]) >= message || atomic_load(&sync->word[WORD_STOP]));
        if (atomic_load(&sync->word[WORD_STOP]))
            return;
        volatile uint8_t *flag = segment + atomic_load(&sync->word[WORD_FLAG]);
        volatile uint8_t *data = segment + atomic_load(&sync->word[WORD_DATA]);
        size_t size = atomic_load(&sync->word[WORD_SIZE]);
        AWAIT(load32(flag) == (uint32_t)message);
        atomic_thread_fence(memory_order_acquire);
        for (size_t i = 0; i < size; i++)
            CHECK(data[i] == pattern(message, i));
        atomic_store(&sync->word[WORD_ACK], message);
    }
}

struct message {
    size_t size, flag, data;
};

static void send_message(volatile uint8_t *map, struct sync *sync, uint64_t number,
                         const struct message *message, bool with_barrier)
{
    atomic_store(&sync->word[WORD_SIZE], message->size);
    atomic_store(&sync->word[WORD_FLAG], message->flag);
    atomic_store(&sync->word[WORD_DATA], message->data);
    atomic_store(&sync->word[WORD_GO], number);
    for (size_t i = 0; i < message->size; i++)
        store8(map + message->data + i, pattern(number, i));
    if (with_barrier)
        CHECK(bed_order() == 0);
    store32(map + message->flag, (uint32_t)number);
    AWAIT(atomic_load(&sync->word[WORD_ACK]) == number);
}

static void message_passing(void)
{
    static const size_t sizes[] = {1, 2, 3, 7, 8, 9, 63, 64, 65, 500, 4095, 4096, 4097, 5000};
    enum { SIZES = sizeof sizes / sizeof sizes[0] };
    struct sync *sync = bed_start(read_messages, 5);
    volatile uint8_t *map = bed_map(0, 5 * PAGE, MAY_ALL);
    uint64_t number = 0;
    bool all_kinds = litmus_rounds(100) > 1; /* else each size is one kind's */
    for (unsigned round = 0; round < litmus_rounds(3); round++)
        for (unsigned i = 0; i < SIZES; i++) {
            /* Payload behind the flag, before it in the same page, and a flag far away. */
            struct message all[] = {{sizes[i], 0, 8},
                                    {sizes[i], 5000, 5000 - sizes[i]},
                                    {sizes[i], 4 * PAGE + 128, PAGE + i}};
            for (unsigned kind = 0; kind < 3; kind++) {
                if (!all_kinds && kind != i % 3)
                    continue;
                all[kind].flag &= ~(size_t)3;
                if (all[kind].data < all[kind].flag && all[kind].data + sizes[i] > all[kind].flag)
                    all[kind].flag += 4; /* not in the payload */
                send_message(map, sync, ++number, &all[kind], true);
            }
        }
    CHECK(bed_close() == 0);
    atomic_store(&sync->word[WORD_STOP], 1);
    bed_unmap(map);
    bed_end();
}

static void messages_without_barrier(void)
{
    if (!stores_are_trapped())
        litmus_skip("promised of trapped stores only");
    struct sync *sync = bed_start(read_messages, 5);
    volatile uint8_t *map = bed_map(0, 5 * PAGE, MAY_ALL);
    /* A flag far away, and two next to the payload's page, where a copy would go on. */
    static const size_t flags[] = {4 * PAGE + 64, 64, 2 * PAGE + 64};
    for (uint64_t number = 1, last = litmus_rounds(150); number <= last; number++) {
        struct message message = {
            .size = 512, .flag = flags[number % 3], .data = PAGE + number % 8 * 16};
        send_message(map, sync, number, &message, false);
    }
    atomic_store(&sync->word[WORD_STOP], 1);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- 5: A-B-A in flight */

static atomic_bool finished;

static void *flush_all_the_time(void *unused)
{
    while (!atomic_load(&finished))
        CHECK(bed_order() == 0);
    return NULL;
}

static void spin(unsigned turns)
{
    for (volatile unsigned i = 0; i < turns; i++)
        ;
}

/* Another value comes and goes while flushes are under way; what stays is the first. */
static void value_and_back(void)
{
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    pthread_t flusher;
    unsigned dice = 1;
    CHECK(pthread_create(&flusher, NULL, flush_all_the_time, NULL) == 0);
    for (uint64_t round = 1, last = litmus_rounds(3000); round <= last; round++) {
        uint64_t arrived;
        store64(map + 64, round);
        store64(map + 64, ~round);
        dice = dice * 1103515245u + 12345u;
        spin(dice / 65536 % 16000);
        store64(map + 64, round);
        CHECK(bed_close() == 0);
        CHECK(bed_get(64, &arrived, sizeof arrived) == 0);
        CHECK(arrived == round);
    }
    atomic_store(&finished, true);
    CHECK(pthread_join(flusher, NULL) == 0);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- 6: polling without barriers */

enum { ROUNDS = 1000 };

static void play_back(volatile uint8_t *segment, struct sync *sync)
{
    for (uint32_t round = 1, last = litmus_rounds(ROUNDS); round <= last; round++) {
        AWAIT(load32(segment) == round);
        store32(segment + 2048, round);
    }
}

static void ping_pong(void)
{
    bed_start(play_back, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (uint32_t round = 1, last = litmus_rounds(ROUNDS); round <= last; round++) {
        store32(map, round);
        AWAIT(load32(map + 2048) == round);
    }
    bed_unmap(map);
    bed_end();
}

/* What the peer stores before a flag, and the flag: in the same page on both sides of it, and in
 * other pages. */
static const size_t flag_places[] = {8, PAGE + 64, 2 * PAGE - 8};
static const size_t data_places[] = {0,           256,           PAGE - 8,    PAGE,
                                     PAGE + 2048, 2 * PAGE - 16, 2 * PAGE + 8};
enum {
    FLAG_PLACES = sizeof flag_places / sizeof flag_places[0],
    DATA_PLACES = sizeof data_places / sizeof data_places[0],
};

static void store_in_order(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t round = 1, last = litmus_rounds(ROUNDS); round <= last; round++) {
        AWAIT(atomic_load(&sync->word[WORD_GO]) == round);
        for (unsigned i = 0; i < DATA_PLACES; i++)
            store64(segment + data_places[i], round);
        atomic_thread_fence(memory_order_release);
        store64(segment + flag_places[round % FLAG_PLACES], round);
        AWAIT(atomic_load(&sync->word[WORD_ACK]) == round);
    }
}

/* Who sees the flag sees the data, though all pages have been read before, and without a call. */
static void loads_in_order(void)
{
    if (!accesses_are_refused())
        litmus_skip("not promised in this mode");
    struct sync *sync = bed_start(store_in_order, 3);
    volatile uint8_t *map = bed_map(0, 3 * PAGE, MAY_ALL);
    for (uint64_t round = 1, last = litmus_rounds(ROUNDS); round <= last; round++) {
        for (unsigned i = 0; i < DATA_PLACES; i++)
            CHECK(load64(map + data_places[i]) == round - 1);
        atomic_store(&sync->word[WORD_GO], round);
        AWAIT(load64(map + flag_places[round % FLAG_PLACES]) == round);
        atomic_thread_fence(memory_order_acquire);
        for (unsigned i = 0; i < DATA_PLACES; i++)
            CHECK(load64(map + data_places[i]) == round);
        atomic_store(&sync->word[WORD_ACK], round);
    }
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- 7: never backwards */

static void count_up(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t value = 1; atomic_load(&sync->word[WORD_STOP]) == 0; value++)
        store64(segment + 128, value);
}

static void monotonic(void)
{
    struct sync *sync = bed_start(count_up, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    uint64_t last = 0, changes = 0;
    for (uint32_t own = 1; changes < litmus_rounds(200); own++) {
        uint64_t value = load64(map + 128);
        CHECK(value >= last);
        changes += value != last;
        last = value;
        store32(map + 1024, own); /* in the page that is refreshed all the time */
        CHECK(load32(map + 1024) == own);
        store32(map + PAGE + 1024, own);
        CHECK(load32(map + PAGE + 1024) == own);
    }
    atomic_store(&sync->word[WORD_STOP], 1);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- events and open */

static void answer(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t round = 1; round <= 100; round++) {
        AWAIT(atomic_load(&sync->word[WORD_GO]) == round);
        for (unsigned i = 0; i < 64; i++)
            store64(segment + i * 8, round * 64 + i);
        atomic_store(&sync->word[WORD_ACK], round);
    }
}

/* Told by other means that something is there, the importer opens a barrier and sees it at once. */
static void open_sees_everything(void)
{
    struct sync *sync = bed_start(answer, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (uint64_t round = 1; round <= 100; round++) {
        (void)load64(map);
        atomic_store(&sync->word[WORD_GO], round);
        AWAIT(atomic_load(&sync->word[WORD_ACK]) == round);
        CHECK(bed_open() == 0);
        for (unsigned i = 0; i < 64; i++)
            CHECK(load64(map + i * 8) == round * 64 + i);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_order[] = {
    {"message_passing", message_passing},
    {"messages_without_barrier", messages_without_barrier},
    {"value_and_back", value_and_back},
    {"ping_pong", ping_pong},
    {"loads_in_order", loads_in_order},
    {"monotonic", monotonic},
    {"open_sees_everything", open_sees_everything},
    {NULL, NULL},
};
