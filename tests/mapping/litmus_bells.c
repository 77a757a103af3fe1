/* SPDX-License-Identifier: BSD-3-Clause */
/* 4: bells that are rung with the same value each time, while other things are stored. */
#include "litmus.h"

enum { WORD_ACK };
enum { RINGS = 300, BELL = 256, PAYLOAD = 1024, BULK_PAGES = 16, IN_TURN = 64 };

static unsigned bells = 1; /* in a page, rung in turn */

static size_t bell_of(uint64_t ring)
{
    return bells == 1 ? BELL : ring % bells * (PAGE / bells) + PAGE / bells - 8;
}

/* Clears each bell when it rings and says so beside the segment. */
static void clear_bells(volatile uint8_t *segment, struct sync *sync)
{
    for (uint64_t ring = 1, last = litmus_rounds(RINGS); ring <= last; ring++) {
        AWAIT(load32(segment + bell_of(ring)) == 1);
        store32(segment + bell_of(ring), 0);
        atomic_thread_fence(memory_order_seq_cst);
        atomic_store(&sync->word[WORD_ACK], ring);
    }
}

struct meanwhile {
    void (*before)(volatile uint8_t *map, uint64_t ring);
    void (*after)(volatile uint8_t *map, uint64_t ring); /* it has rung */
    void (*waiting)(volatile uint8_t *map, uint64_t ring);
};

static void nothing(volatile uint8_t *map, uint64_t ring)
{
    (void)map, (void)ring;
}

static void ring_all(volatile uint8_t *map, const struct sync *sync, const struct meanwhile *what)
{
    for (uint64_t ring = 1, last = litmus_rounds(RINGS); ring <= last; ring++) {
        what->before(map, ring);
        store32(map + bell_of(ring), 1);
        what->after(map, ring);
        AWAIT((what->waiting(map, ring), atomic_load(&sync->word[WORD_ACK]) == ring));
    }
}

/* Where stores are trapped no ring is lost, whatever else is stored there. */
static void ring_amid(size_t pages, const struct meanwhile *what)
{
    if (!stores_are_trapped())
        litmus_skip("promised where stores are decoded");
    struct sync *sync = bed_start(clear_bells, pages);
    volatile uint8_t *map = bed_map(0, pages * PAGE, MAY_ALL);
    ring_all(map, sync, what);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- payload in the same page */

static void store_few(volatile uint8_t *map, uint64_t ring)
{
    for (unsigned i = 0; i < 20; i++)
        store8(map + PAYLOAD + i, (uint8_t)(ring + i));
}

static void bell_amid_payload(void)
{
    static const struct meanwhile what = {store_few, nothing, store_few};
    ring_amid(1, &what);
}

static void store_words(volatile uint8_t *map, uint64_t ring)
{
    for (unsigned i = 0; i < 704; i += 8)
        store64(map + PAYLOAD + i, ring * 1000 + i);
}

static void store_vectors(volatile uint8_t *map, uint64_t ring)
{
    uint8_t payload[700];
    memset(payload, (int)ring, sizeof payload);
    memcpy((uint8_t *)(uintptr_t)map + PAYLOAD, payload, sizeof payload);
}

static void bell_amid_much_payload(void)
{
    static const struct meanwhile words = {store_words, nothing, store_words};
    ring_amid(1, &words);
}

static void bell_amid_copies(void)
{
    static const struct meanwhile copies = {store_vectors, nothing, store_vectors};
    ring_amid(1, &copies);
}

/* Barriers where programs have them: before the bell, and behind it. */
static void store_and_order(volatile uint8_t *map, uint64_t ring)
{
    store_words(map, ring);
    if (ring % 2 == 0)
        CHECK(bed_order() == 0);
}

static void order_sometimes(volatile uint8_t *map, uint64_t ring)
{
    (void)map;
    if (ring % 3 == 0)
        CHECK(bed_order() == 0);
}

static void bell_amid_ordered_payload(void)
{
    static const struct meanwhile what = {store_and_order, order_sometimes, store_words};
    ring_amid(1, &what);
}

/* ---------------------------------------------------------------- many bells in a page */

static void store_slot(volatile uint8_t *map, uint64_t ring)
{
    for (size_t at = bell_of(ring) / 64 * 64; at < bell_of(ring); at += 8)
        store64(map + at, ring + at);
}

static void bells_in_turn(void)
{
    static const struct meanwhile what = {nothing, nothing, nothing};
    bells = IN_TURN;
    ring_amid(1, &what);
}

static void bells_with_slots(void)
{
    static const struct meanwhile what = {store_slot, nothing, nothing};
    bells = IN_TURN;
    ring_amid(1, &what);
}

/* ---------------------------------------------------------------- under bulk stores */

static void store_pages(volatile uint8_t *map, size_t first, size_t count, uint64_t turn)
{
    for (size_t at = first * PAGE; at < (first + count) * PAGE; at += 8)
        store64(map + at, turn * 4096 + at);
}

/* As many pages as get twins in the end, now and then; else one, next to the bell's page. */
static void store_bulk(volatile uint8_t *map, uint64_t ring)
{
    store_pages(map, 1, ring % 16 == 0 ? BULK_PAGES : 1, ring);
}

static void bell_beside_bulk(void)
{
    static const struct meanwhile what = {nothing, nothing, store_bulk};
    ring_amid(BULK_PAGES + 1, &what);
}

static atomic_bool finished;

static void *store_bulk_all_the_time(void *argument)
{
    volatile uint8_t *map = argument;
    for (uint64_t turn = 0; !atomic_load(&finished); turn++)
        store_pages(map, 1, BULK_PAGES, turn);
    return NULL;
}

static void bell_beside_bulk_of_a_thread(void)
{
    static const struct meanwhile what = {store_few, nothing, store_few};
    pthread_t thread;
    if (!stores_are_trapped())
        litmus_skip("promised where stores are decoded");
    struct sync *sync = bed_start(clear_bells, BULK_PAGES + 1);
    volatile uint8_t *map = bed_map(0, (BULK_PAGES + 1) * PAGE, MAY_ALL);
    CHECK(pthread_create(&thread, NULL, store_bulk_all_the_time, (void *)(uintptr_t)map) == 0);
    ring_all(map, sync, &what);
    atomic_store(&finished, true);
    CHECK(pthread_join(thread, NULL) == 0);
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_bells[] = {
    {"bell_amid_payload", bell_amid_payload},
    {"bell_amid_much_payload", bell_amid_much_payload},
    {"bell_amid_copies", bell_amid_copies},
    {"bell_amid_ordered_payload", bell_amid_ordered_payload},
    {"bells_in_turn", bells_in_turn},
    {"bells_with_slots", bells_with_slots},
    {"bell_beside_bulk", bell_beside_bulk},
    {"bell_beside_bulk_of_a_thread", bell_beside_bulk_of_a_thread},
    {NULL, NULL},
};
