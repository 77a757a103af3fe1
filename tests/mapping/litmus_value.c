/* SPDX-License-Identifier: BSD-3-Clause */
/* Bytes that belong to somebody else, and stores of the value that is there already. */
#include "litmus.h"

enum { WORD_GO, WORD_ACK, WORD_STOP, WORD_OTHER_GO };

/* ---------------------------------------------------------------- 3: neighbours */

enum { STEPS = 60 };

/* The peer owns the odd bytes, writes them all the time and finds in each what it wrote last. */
static void own_odd_bytes(volatile uint8_t *segment, struct sync *sync)
{
    uint8_t value = 0;
    for (uint64_t step = 1, last = litmus_rounds(STEPS); step <= last; step++) {
        do {
            for (size_t i = 1; i < 2 * PAGE; i += 2) {
                CHECK(load8(segment + i) == value);
                store8(segment + i, (uint8_t)(value + 1));
            }
            value++;
        } while (atomic_load(&sync->word[WORD_GO]) < step);
        for (size_t i = 0; i < 2 * PAGE; i += 2)
            CHECK(load8(segment + i) == (uint8_t)(step * 3 + i));
        atomic_store(&sync->word[WORD_ACK], step);
    }
}

static void neighbours(void)
{
    struct sync *sync = bed_start(own_odd_bytes, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (uint64_t step = 1, last = litmus_rounds(STEPS); step <= last; step++) {
        for (size_t i = 0; i < 2 * PAGE; i += 2)
            store8(map + i, (uint8_t)(step * 3 + i));
        CHECK(bed_close() == 0);
        atomic_store(&sync->word[WORD_GO], step);
        AWAIT(atomic_load(&sync->word[WORD_ACK]) == step);
    }
    bed_unmap(map);
    bed_end();
}

/* Two importers with a quarter of the bytes each, and the peer with the rest. */
static void own_odd_bytes_beside_two(volatile uint8_t *segment, struct sync *sync)
{
    uint8_t value = 0;
    for (uint64_t step = 1, last = litmus_rounds(STEPS / 3); step <= last; step++) {
        do {
            for (size_t i = 1; i < 2 * PAGE; i += 2) {
                CHECK(load8(segment + i) == value);
                store8(segment + i, (uint8_t)(value + 1));
            }
            value++;
        } while (atomic_load(&sync->word[WORD_GO]) < step ||
                 atomic_load(&sync->word[WORD_OTHER_GO]) < step);
        for (size_t i = 0; i < 2 * PAGE; i += 2)
            CHECK(load8(segment + i) == (uint8_t)(step * 3 + i));
        atomic_store(&sync->word[WORD_ACK], step);
    }
}

static void store_a_quarter(struct sync *sync, size_t from, unsigned go)
{
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (uint64_t step = 1, last = litmus_rounds(STEPS / 3); step <= last; step++) {
        for (size_t i = from; i < 2 * PAGE; i += 4)
            store8(map + i, (uint8_t)(step * 3 + i));
        CHECK(bed_close() == 0);
        atomic_store(&sync->word[go], step);
        AWAIT(atomic_load(&sync->word[WORD_ACK]) == step);
    }
    bed_unmap(map);
}

static void be_second_importer(struct sync *sync)
{
    store_a_quarter(sync, 2, WORD_OTHER_GO);
}

static void two_importers(void)
{
    bed_add_importer(be_second_importer);
    store_a_quarter(bed_start(own_odd_bytes_beside_two, 2), 0, WORD_GO);
    bed_end();
}

/* ---------------------------------------------------------------- 4: the same value again */

enum { RINGS = 200, BELL = 256 };

/* Clears the bell each time it rings and says so beside the segment. */
static void clear_bell(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t ring = 1, last = litmus_rounds(RINGS); ring <= last; ring++) {
        AWAIT(load32(segment + BELL) == 1);
        store32(segment + BELL, 0);
        atomic_thread_fence(memory_order_seq_cst);
        atomic_store(&sync->word[WORD_ACK], ring);
    }
}

static void ring(void (*meanwhile)(volatile uint8_t *map, struct sync *sync, uint64_t ring))
{
    struct sync *sync = bed_start(clear_bell, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (uint64_t number = 1, last = litmus_rounds(RINGS); number <= last; number++) {
        meanwhile(map, sync, number);
        store32(map + BELL, 1);
        AWAIT((meanwhile(map, sync, 0), atomic_load(&sync->word[WORD_ACK]) == number));
    }
    bed_unmap(map);
    bed_end();
}

/* The same where it is rung with the value that is there already, as far as this process knows: a
 * mode that compares values cannot see that. */
static void ring_again(void (*meanwhile)(volatile uint8_t *map, struct sync *sync, uint64_t ring))
{
    if (mode_is("mirror"))
        litmus_skip("mirror does not see stores of the value that is there");
    ring(meanwhile);
}

static void do_nothing(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    (void)map, (void)sync, (void)number;
}

static void bell_alone(void)
{
    ring_again(do_nothing);
}

static void read_bell_before(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    if (number == 0)
        (void)load32(map + BELL); /* cached with the 1 that the peer is about to clear */
}

static void bell_that_is_read(void)
{
    ring_again(read_bell_before);
}

static void poll_beside(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    if (number == 0)
        (void)load32(map + 2048);
}

static void bell_beside_polled_word(void)
{
    ring_again(poll_beside);
}

static void payload_with_barrier(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    if (number == 0)
        return;
    for (unsigned i = 0; i < 100; i++)
        store8(map + 1024 + i, (uint8_t)(number + i));
    CHECK(bed_order() == 0);
}

static void bell_after_barrier(void)
{
    ring_again(payload_with_barrier);
}

static void barrier_alone(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    (void)map, (void)sync;
    if (number != 0)
        CHECK(bed_order() == 0);
}

static void bell_alone_after_barrier(void)
{
    ring_again(barrier_alone);
}

static void open_before(volatile uint8_t *map, struct sync *sync, uint64_t number)
{
    (void)map, (void)sync;
    if (number != 0)
        CHECK(bed_open() == 0);
}

/* Every mode promises this one: the importer has seen the bell cleared when it rings again. */
static void bell_after_open(void)
{
    ring(open_before);
}

const struct litmus litmus_value[] = {
    {"neighbours", neighbours},
    {"two_importers", two_importers},
    {"bell_alone", bell_alone},
    {"bell_that_is_read", bell_that_is_read},
    {"bell_beside_polled_word", bell_beside_polled_word},
    {"bell_after_barrier", bell_after_barrier},
    {"bell_alone_after_barrier", bell_alone_after_barrier},
    {"bell_after_open", bell_after_open},
    {NULL, NULL},
};
