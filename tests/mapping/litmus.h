/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Litmus tests of software mappings: an importer that loads and stores, and a second process, the
 * peer, that has the segment's memory itself.
 *
 * Each runs in processes of its own, over whatever bed the program is linked with. The mode is
 * RSM_MAP_MODE's. What does not hold ends the test's process with status 1.
 */
#ifndef TESTS_MAPPING_LITMUS_H
#define TESTS_MAPPING_LITMUS_H

#include "../system.h"

#define PAGE ((size_t)4096)

/** Ordinary shared memory beside the segment, through which both sides know of each other. */
struct sync {
    _Atomic uint64_t word[16];
    _Atomic uint32_t peer_ready;
};

typedef void (*litmus_peer)(volatile uint8_t *segment, struct sync *sync);

struct litmus {
    const char *name;
    void (*run)(void);
};
extern const struct litmus litmus_order[], litmus_value[], litmus_memory[], litmus_process[],
    litmus_calls[], litmus_signals[], litmus_tools[], litmus_fault[], litmus_again[],
    litmus_knobs[], litmus_traps[], litmus_forms[], litmus_strings[], litmus_mirror[],
    litmus_bells[], litmus_loops[];

void litmus_fail(const char *file, int line, const char *what) __attribute__((noreturn));
#define CHECK(condition)                                                                           \
    do {                                                                                           \
        if (!(condition))                                                                          \
            litmus_fail(__FILE__, __LINE__, #condition);                                           \
    } while (0)

/** Wait until a condition holds; far longer than it can take is a failure. Whoever is waited for
 * may need the processor. */
#define AWAIT(condition)                                                                           \
    do {                                                                                           \
        int64_t limit_ = litmus_ms() + litmus_limit_ms();                                          \
        while (!(condition)) {                                                                     \
            if (litmus_ms() > limit_)                                                              \
                litmus_fail(__FILE__, __LINE__, "waited in vain: " #condition);                    \
            sched_yield();                                                                         \
        }                                                                                          \
    } while (0)
int64_t litmus_ms(void);
int64_t litmus_limit_ms(void);
/** How many of @p all rounds to make; not 0. */
unsigned litmus_rounds(unsigned all);

/** End the test: it does not say anything here. */
void litmus_skip(const char *why) __attribute__((noreturn));
bool mode_is(const char *name);
/** Whether accesses are refused at first, so that somebody learns of them: not in mirror mode. */
bool accesses_are_refused(void);
/** Whether RSM_MAP_TRAP has that value, or auto comes to it here. */
bool trap_is(const char *name);
/** Whether this process may have a userfaultfd as the engine needs it: for its own accesses, or
 *  for those of system calls too. */
bool has_faultfd(bool for_system_calls);
/** Addresses below all that the process has. The kernel gives the highest free ones that are
 *  enough, so nobody gets these when they are free again. */
void *litmus_far_address(void);
/** Whether this kernel notes stores as mirror mode needs it. */
bool has_notes(void);
/** Whether the kernel takes addresses in mappings. */
bool system_calls_work(void);
/** Whether instructions that are refused are decoded, and whether the mode has stores decoded. */
bool instructions_are_decoded(void);
bool stores_are_trapped(void);

/* ---- the bed */

enum { MAY_READ = 4, MAY_WRITE = 2, MAY_ALL = 6 };

/** Start the peer over a segment of so many zero pages and connect to it; once a test. */
struct sync *bed_start(litmus_peer peer, size_t pages);
/** The same, but mapping is refused, after @p before, in the way that rsm_map(7) says: the segment
 *  is within reach of put and get as ever. */
void bed_start_refused(void (*before)(void));
/** bed_start() connects with these rights and no others. */
void bed_grant(int rights);
/** bed_start() also starts another importer of the segment, in a process of its own, which
 *  bed_end() waits for. */
void bed_add_importer(void (*importer)(struct sync *sync));
/** Map part of it. */
volatile uint8_t *bed_map(size_t offset, size_t length, int rights);
/** The same, at an address of one's own choice unless it is NULL. */
volatile uint8_t *bed_map_at(void *address, size_t offset, size_t length, int rights);
void bed_unmap(volatile uint8_t *map);
/** The barriers; 0 or the error. */
int bed_open(void);
int bed_order(void);
int bed_close(void);
/** put() and get() on the same import; 0 or the error. */
int bed_put(size_t offset, const void *src, size_t length);
int bed_get(size_t offset, void *dst, size_t length);
/** A second connection to the segment, without a mapping, for these transfers; false if this bed
 * can have but one. Each is complete when it returns; 0 or the error. */
bool bed_connect_again(void);
int bed_again_put(size_t offset, const void *src, size_t length);
int bed_again_get(size_t offset, void *dst, size_t length);
/** The same from memory that is registered for this one put. */
int bed_again_put_registered(size_t offset, void *src, size_t length);
/** The peer has done its part and ended well. */
void bed_end(void);
/** Let the next so many writes fail on their way, or with @p at_once the next call that writes; false
 *  if this bed cannot. */
bool bed_inject(unsigned failures, bool at_once);
/** The peer is gone for good, without a word. */
void bed_cut(void);

/* ---- accesses that the compiler leaves as they are */

static inline uint8_t load8(const volatile uint8_t *at)
{
    return *at;
}
static inline void store8(volatile uint8_t *at, uint8_t value)
{
    *at = value;
}
static inline uint64_t load64(const volatile uint8_t *at)
{
    return *(const volatile uint64_t *)(const volatile void *)at;
}
static inline void store64(volatile uint8_t *at, uint64_t value)
{
    *(volatile uint64_t *)(volatile void *)at = value;
}
static inline uint32_t load32(const volatile uint8_t *at)
{
    return *(const volatile uint32_t *)(const volatile void *)at;
}
static inline void store32(volatile uint8_t *at, uint32_t value)
{
    *(volatile uint32_t *)(volatile void *)at = value;
}

#endif
