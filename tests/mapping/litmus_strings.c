/* SPDX-License-Identifier: BSD-3-Clause */
/* 8: instructions that store to many pages. The engine carries out as much of one as it can at once.
 * On other processors than x86-64 the C library does the same. */
#include "litmus.h"

#include <signal.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 140, AREA = PAGES * 4096 };

static uint8_t wanted[AREA], found[AREA];

/* Forward, byte by byte: what was stored is read again where the two overlap. */
static void move_bytes(uint8_t *to, const uint8_t *from, size_t size)
{
#if defined(__x86_64__)
    __asm__ volatile("rep movsb" : "+D"(to), "+S"(from), "+c"(size) : : "memory");
#else
    for (size_t i = 0; i < size; i++)
        ((volatile uint8_t *)to)[i] = ((const volatile uint8_t *)from)[i];
#endif
}

static void move_words(uint8_t *to, const uint8_t *from, size_t size)
{
#if defined(__x86_64__)
    size_t count = size / 8;
    __asm__ volatile("rep movsq" : "+D"(to), "+S"(from), "+c"(count) : : "memory");
#else
    memcpy(to, from, size / 8 * 8);
#endif
}

static void fill(uint8_t *to, uint8_t value, size_t size)
{
#if defined(__x86_64__)
    __asm__ volatile("rep stosb" : "+D"(to), "+c"(size) : "a"(value) : "memory");
#else
    memset(to, value, size);
#endif
}

static void store_to(uint8_t *area, unsigned round, size_t to, size_t from, size_t size)
{
    static uint8_t source[AREA];
    for (size_t i = 0; i < AREA; i += 7)
        source[i] = (uint8_t)(round + i / 5);
    switch (round % 4) {
    case 0:
        fill(area + to, (uint8_t)(round + 1), size);
        break;
    case 1:
        move_bytes(area + to, source + from, size);
        break;
    case 2:
        move_words(area + to, source + from, size);
        break;
    default: /* both in the mapping; they may overlap, in either direction */
        move_bytes(area + to, area + from, size);
    }
}

static void long_strings(void)
{
    static const size_t sizes[] = {1, 4096, 5001, 70000, 33 * 4096 + 7, 64 * 4096, 130 * 4096 + 1};
    bed_start(NULL, PAGES);
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    unsigned dice = 1;
    for (unsigned round = 0; round < litmus_rounds(4 * 7 * 3); round++) {
        size_t size = sizes[round / 4 % (sizeof sizes / sizeof sizes[0])];
        if (round % 4 == 3 && size > 10000)
            size = 10000; /* from a mapping to a mapping it is done in small parts */
        dice = dice * 1103515245u + 12345u;
        size_t to = dice / 7 % (AREA - size), from = dice / 3 % (AREA - size);
        store_to((uint8_t *)(uintptr_t)map, round, to, from, size);
        store_to(wanted, round, to, from, size);
        if (round % 3 == 2) {
            CHECK(bed_get(0, found, AREA) == 0);
            CHECK(memcmp(found, wanted, AREA) == 0);
        }
    }
    CHECK(bed_close() == 0);
    CHECK(bed_get(0, found, AREA) == 0 && memcmp(found, wanted, AREA) == 0);
    CHECK(memcmp((const void *)(uintptr_t)map, wanted, AREA) == 0);
    bed_unmap(map);
    bed_end();
}

/* What somebody else has overwritten is stored again, though here it was the same before. */
static void the_same_string_again(void)
{
    static const uint8_t others[] = {1, 2, 3, 4, 5};
    enum { FROM = 4096 - 3, LENGTH = 70 * 4096 };
    if (!accesses_are_refused())
        litmus_skip("mirror mode does not see stores of the same value");
    bed_start(NULL, PAGES);
    if (!bed_connect_again())
        litmus_skip("one connection");
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    memset(wanted, 0x11, sizeof wanted);
    for (unsigned round = 0; round < litmus_rounds(40); round++) {
        if (round % 2 == 0)
            fill((uint8_t *)(uintptr_t)map + FROM, 0x11, LENGTH);
        else
            move_bytes((uint8_t *)(uintptr_t)map + FROM, wanted, LENGTH);
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

/* The source has a page that the program's handler of SIGSEGV brings. */
static void string_from_a_hole(void)
{
    enum { FROM = 100, LENGTH = 50 * 4096 };
    struct sigaction action = {.sa_handler = fill_hole};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    bed_start(NULL, PAGES);
    volatile uint8_t *map = bed_map(0, AREA, MAY_ALL);
    uint8_t *source =
        mmap(NULL, LENGTH, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(source != MAP_FAILED);
    for (unsigned round = 0; round < litmus_rounds(20); round++) {
        for (size_t i = 0; i < LENGTH; i++)
            source[i] = (uint8_t)(i / 3 + round);
        memcpy(wanted, source, LENGTH);
        hole = source + round * 2 % 50 * PAGE;
        CHECK(mprotect(hole, PAGE, PROT_NONE) == 0);
        move_bytes((uint8_t *)(uintptr_t)map + FROM, source, LENGTH);
        CHECK(bed_close() == 0);
        CHECK(bed_get(FROM, found, LENGTH) == 0 && memcmp(found, wanted, LENGTH) == 0);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_strings[] = {
    {"long_strings", long_strings},
    {"the_same_string_again", the_same_string_again},
    {"string_from_a_hole", string_from_a_hole},
    {NULL, NULL},
};
