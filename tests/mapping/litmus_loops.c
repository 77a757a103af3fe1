/* SPDX-License-Identifier: BSD-3-Clause */
/* 8: loops that store to many pages. The engine carries them out as far as it knows their
 * instructions; where it does not, they are left to the processor. */
#include "litmus.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 140, AREA = PAGES * 4096, SLACK = 64 };

static uint8_t wanted[AREA], found[AREA], source[AREA + SLACK];

/* ---------------------------------------------------------------- loops */

/* What is copied may lie anywhere. */
typedef uint64_t word64 __attribute__((aligned(1), may_alias));
typedef uint32_t word32 __attribute__((aligned(1), may_alias));

typedef void (*loop)(uint8_t *to, const uint8_t *from, size_t size);

static void copy_words(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word64 *word = (volatile word64 *)(void *)to;
    const volatile word64 *of = (const volatile word64 *)(const void *)from;
    for (size_t i = 0; i < size / 8; i++)
        word[i] = of[i];
}

static void copy_words_down(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word64 *word = (volatile word64 *)(void *)to;
    const volatile word64 *of = (const volatile word64 *)(const void *)from;
    for (size_t i = size / 8; i > 0; i--)
        word[i - 1] = of[i - 1];
}

static void copy_bytes(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile uint8_t *byte = to;
    const volatile uint8_t *of = from;
    for (size_t i = 0; i < size; i++)
        byte[i] = of[i];
}

static void compute_words(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word32 *word = (volatile word32 *)(void *)to;
    uint32_t value = *from;
    for (size_t i = 0; i < size / 4; i++, value += 0x01020304)
        word[i] = value;
}

/* With a multiplication, which the engine leaves to the processor. */
static void multiply_words(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word64 *word = (volatile word64 *)(void *)to;
    uint64_t value = *from | 1;
    for (size_t i = 0; i < size / 8; i++, value *= UINT64_C(6364136223846793005))
        word[i] = value;
}

/* From both ends, so that no store is beside the one before it. */
static void copy_inwards(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word64 *word = (volatile word64 *)(void *)to;
    const volatile word64 *of = (const volatile word64 *)(const void *)from;
    for (size_t i = 0, end = size / 8; i < end / 2; i++) {
        word[i] = of[i];
        word[end - 1 - i] = of[end - 1 - i];
    }
}

static void every_second_word(uint8_t *to, const uint8_t *from, size_t size)
{
    volatile word64 *word = (volatile word64 *)(void *)to;
    const volatile word64 *of = (const volatile word64 *)(const void *)from;
    for (size_t i = 0; i < size / 8; i += 2)
        word[i] = of[i];
}

#if defined(__x86_64__)

typedef long long vector __attribute__((vector_size(16), aligned(1), may_alias));

static void copy_vectors(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t at = 0; at + 16 <= size; at += 16)
        *(volatile vector *)(void *)(to + at) = *(const volatile vector *)(const void *)(from + at);
}

static void copy_vectors_down(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t at = size / 16 * 16; at > 0; at -= 16)
        *(volatile vector *)(void *)(to + at - 16) =
            *(const volatile vector *)(const void *)(from + at - 16);
}

#else
#define copy_vectors      copy_words
#define copy_vectors_down copy_words_down
#endif

static void copy_by_library(uint8_t *to, const uint8_t *from, size_t size)
{
    memcpy(to, from, size);
}

static void move_by_library(uint8_t *to, const uint8_t *from, size_t size)
{
    memmove(to, from, size);
}

static void fill_by_library(uint8_t *to, const uint8_t *from, size_t size)
{
    memset(to, *from, size);
}

static const loop loops[] = {copy_words,        copy_words_down, copy_bytes,
                             compute_words,     multiply_words,  copy_inwards,
                             every_second_word, copy_vectors,    copy_vectors_down,
                             copy_by_library,   move_by_library, fill_by_library};
enum { LOOPS = sizeof loops / sizeof loops[0] };

/* ---------------------------------------------------------------- */

static unsigned dice = 1;

static size_t roll(size_t sides)
{
    dice = dice * 1103515245u + 12345u;
    return dice / 7 % sides;
}

static void long_loops(void)
{
    static const size_t sizes[] = {8, 4096, 5008, 70000, 33 * 4096 + 8, 64 * 4096, 130 * 4096};
    bed_start(NULL, PAGES);
    uint8_t *map = (uint8_t *)(uintptr_t)bed_map(0, AREA, MAY_ALL);
    for (unsigned round = 0; round < litmus_rounds(LOOPS * 7); round++) {
        size_t size = sizes[round / LOOPS % (sizeof sizes / sizeof sizes[0])];
        if (size > 1600 && mode_is("precise")) /* a put for each store, or even a trap */
            size = 1600;
        size_t to = roll(AREA - size) / 8 * 8, from = roll(SLACK), kept = roll(AREA - 64);
        for (size_t i = 0; i < sizeof source; i += 3)
            source[i] = (uint8_t)(round + i / 5);
        if (round % 5 == 4) /* as if both lay alike in their pages */
            from = to % 64;
        loops[round % LOOPS](map + to, source + from, size);
        loops[round % LOOPS](wanted + to, source + from, size);
        CHECK(memcmp(map + kept, wanted + kept, 64) == 0); /* own stores, before any barrier */
        if (round % 3 == 2) {
            CHECK(bed_close() == 0);
            CHECK(bed_get(0, found, AREA) == 0 && memcmp(found, wanted, AREA) == 0);
        }
    }
    CHECK(bed_close() == 0);
    CHECK(bed_get(0, found, AREA) == 0 && memcmp(found, wanted, AREA) == 0);
    CHECK(memcmp(map, wanted, AREA) == 0);
    bed_unmap(map);
    bed_end();
}

/* What somebody else has overwritten is stored again, though here it was the same before. */
static void the_same_loop_again(void)
{
    static const uint8_t others[] = {1, 2, 3, 4, 5};
    enum { FROM = 4096 - 8, LENGTH = 70 * 4096 };
    if (!accesses_are_refused())
        litmus_skip("mirror mode does not see stores of the same value");
    bed_start(NULL, PAGES);
    if (!bed_connect_again())
        litmus_skip("one connection");
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    memset(wanted, 0x11, sizeof wanted);
    for (unsigned round = 0; round < litmus_rounds(40); round++) {
        loop by = round % 3 == 0 ? copy_words : round % 3 == 1 ? copy_vectors_down : copy_vectors;
        by((uint8_t *)(uintptr_t)map + FROM, wanted, LENGTH);
        CHECK(bed_close() == 0);
        CHECK(bed_again_get(FROM, found, LENGTH) == 0 && memcmp(found, wanted, LENGTH) == 0);
        size_t place = FROM + round * 7919 % (LENGTH - sizeof others);
        CHECK(bed_again_put(place, others, sizeof others) == 0);
    }
    bed_unmap(map);
    bed_end();
}

static uint8_t *hole;

static void fill_hole(int number)
{
    (void)number;
    if (mprotect(hole, PAGE, PROT_READ | PROT_WRITE) != 0)
        _exit(1);
}

/* The source has a page that the program's handler of SIGSEGV brings, and nothing around it. */
static void loop_from_a_hole(void)
{
    enum { FROM = 96, LENGTH = 50 * 4096 };
    struct sigaction action = {.sa_handler = fill_hole};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    bed_start(NULL, PAGES);
    uint8_t *map = (uint8_t *)(uintptr_t)bed_map(0, AREA, MAY_ALL);
    uint8_t *from = mmap(NULL, LENGTH + 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(from != MAP_FAILED);
    from += PAGE;
    CHECK(mprotect(from, LENGTH, PROT_READ | PROT_WRITE) == 0);
    for (unsigned round = 0; round < litmus_rounds(mode_is("precise") ? 3 : 24); round++) {
        for (size_t i = 0; i < LENGTH; i++)
            from[i] = (uint8_t)(i / 3 + round);
        memcpy(wanted, from, LENGTH);
        hole = from + round * 2 % 50 * PAGE;
        CHECK(mprotect(hole, PAGE, PROT_NONE) == 0);
        loops[(round % 2 == 0 ? 0 : 1)](map + FROM, from, LENGTH);
        CHECK(bed_close() == 0);
        CHECK(bed_get(FROM, found, LENGTH) == 0 && memcmp(found, wanted, LENGTH) == 0);
    }
    bed_unmap(map);
    bed_end();
}

/* From one part of a mapping to another: the loads are refused, too. */
static void loop_within_mapping(void)
{
    enum { LENGTH = 20 * 4096 };
    bed_start(NULL, PAGES);
    uint8_t *map = (uint8_t *)(uintptr_t)bed_map(0, AREA, MAY_ALL);
    for (unsigned round = 0; round < litmus_rounds(mode_is("precise") ? 3 : 24); round++) {
        size_t to = roll(AREA - LENGTH) / 8 * 8, from = roll(AREA - LENGTH) / 8 * 8;
        loop by = round % 2 == 0 ? copy_words : copy_words_down;
        for (size_t i = 0; i < 64; i++)
            map[from + i * 1024] = wanted[from + i * 1024] = (uint8_t)(round + i);
        by(map + to, map + from, LENGTH);
        by(wanted + to, wanted + from, LENGTH);
        CHECK(bed_close() == 0);
        CHECK(bed_get(0, found, AREA) == 0 && memcmp(found, wanted, AREA) == 0);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_loops[] = {
    {"long_loops", long_loops},
    {"the_same_loop_again", the_same_loop_again},
    {"loop_from_a_hole", loop_from_a_hole},
    {"loop_within_mapping", loop_within_mapping},
    {NULL, NULL},
};
