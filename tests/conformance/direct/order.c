/* SPDX-License-Identifier: BSD-3-Clause */
/* When others see what was written: order, complete, and gets that are fresh. */
#include "direct.h"

enum { ORDER_MS = 700, FLAG_AT = 64, DATA_BYTES = 2048 };

/* ---------------------------------------------------------------- order */

/* How far the writer is ahead of the reader: bytes can be compared as long as that is little. */
enum { LEAD_MAX = 60, BYTE_HALF = 128 };

/* Data is put to both extents, the flag to the first. */
static void write_in_order(struct importing *self)
{
    uint8_t data[DATA_BYTES];
    uint64_t places[2] = {4096, self->size - DATA_BYTES};
    for (uint64_t round = 1; !atomic_load(&shared->stop); round++) {
        memset(data, (int)(round & 0xff), sizeof data);
        for (unsigned i = 0; i < 2; i++)
            NEED_OK(self->ops->put(self->conn, places[i], data, sizeof data));
        NEED_OK(self->ops->order(self->conn));
        NEED_OK(self->ops->put_elems(self->conn, FLAG_AT, &round, sizeof round, 1));
        NEED_OK(self->ops->order(self->conn)); /* the next data is behind the flag */
        if (round % 16 == 0)
            NEED_OK(self->ops->complete(self->conn));
        while (round - atomic_load(&shared->words[0]) > LEAD_MAX && !atomic_load(&shared->stop))
            sched_yield();
    }
    NEED_OK(self->ops->complete(self->conn));
}

/* Whether a byte is older than the flag, which was seen before. */
static bool is_behind(const uint8_t *data, uint64_t flag)
{
    for (unsigned i = DATA_BYTES; i-- > 0;) {
        uint8_t byte = __atomic_load_n(&data[i], __ATOMIC_RELAXED);
        if ((uint8_t)(byte - (uint8_t)flag) >= BYTE_HALF)
            return true;
    }
    return false;
}

DIRECT(21, "Who sees a write that was made after order() sees what was written before it",
       "`order` means: a process that sees a write made after it also sees all writes made before "
       "it.")
{
    struct stand *s = stand();
    fill(s, 0, s->size, 0);
    pid_t pid = honest(s, offered_to(s, READ_WRITE), write_in_order, NULL);
    const uint64_t *flag = (const uint64_t *)(const void *)at(s, FLAG_AT);
    const uint8_t *data[2] = {at(s, 4096), at(s, s->size - DATA_BYTES)};
    uint64_t seen = 0, changes = 0;
    bool behind = false;
    reaches(pid, &shared->connected, 1);
    for (uint64_t end = direct_now_ms() + ORDER_MS; !behind && direct_now_ms() < end;) {
        uint64_t now = __atomic_load_n(flag, __ATOMIC_ACQUIRE);
        changes += now != seen;
        seen = now;
        behind = is_behind(data[changes % 2], now);
        atomic_store(&shared->words[0], now);
    }
    atomic_store(&shared->stop, true);
    HOLDS(!behind);
    succeeds(pid);
    HOLDS(changes > 1);
}

/* ---------------------------------------------------------------- complete */

enum { COMPLETE_ROUNDS = 400 };

/* Tell the judge by memory of this host, which is faster than any fabric. */
static void say_and_wait(unsigned round)
{
    atomic_store(&shared->answer, round);
    while (atomic_load(&shared->phase) < round)
        sched_yield();
}

static void complete_and_say(struct importing *self)
{
    uint64_t data[512];
    for (unsigned round = 1; round <= COMPLETE_ROUNDS; round++) {
        for (unsigned i = 0; i < 512; i++)
            data[i] = round;
        NEED_OK(self->ops->put(self->conn, 128, data, sizeof data));
        NEED_OK(self->ops->put(self->conn, self->size - sizeof data, data, sizeof data));
        NEED_OK(self->ops->put_elems(self->conn, 8, data, 8, 1));
        NEED_OK(self->ops->complete(self->conn));
        say_and_wait(round);
    }
}

static void write_and_say(struct importing *self)
{
    uint64_t data[512];
    for (unsigned round = 1; round <= COMPLETE_ROUNDS; round++) {
        for (unsigned i = 0; i < 512; i++)
            data[i] = round;
        NEED_OK(self->ops->put(self->conn, self->size - sizeof data, data, sizeof data));
        NEED_OK(self->ops->put_elems(self->conn, 8, data, 8, 1));
        NEED_OK(self->ops->put_complete(self->conn, 128, data, sizeof data));
        say_and_wait(round);
    }
}

static bool is_there(const uint8_t *memory, uint64_t words, uint64_t round)
{
    const uint64_t *word = (const uint64_t *)(const void *)memory;
    for (uint64_t i = 0; i < words; i++)
        if (__atomic_load_n(&word[i], __ATOMIC_RELAXED) != round)
            return false;
    return true;
}

/* False: the importer has ended before. */
static bool await_round(pid_t pid, unsigned round)
{
    uint64_t deadline = direct_now_ms() + PATIENCE_MS;
    for (unsigned i = 1; atomic_load(&shared->answer) < round; i++) {
        sched_yield();
        if (i % 256 != 0)
            continue;
        if (direct_now_ms() > deadline)
            killed(pid);
        siginfo_t ended = {.si_pid = 0};
        if (waitid(P_PID, (id_t)pid, &ended, WEXITED | WNOHANG | WNOWAIT) != 0 || ended.si_pid != 0)
            return false;
    }
    return true;
}

static void is_complete(importer_body body)
{
    struct stand *s = stand();
    pid_t pid = honest(s, offered_to(s, READ_WRITE), body, NULL);
    for (unsigned round = 1; round <= COMPLETE_ROUNDS; round++) {
        if (!await_round(pid, round)) {
            succeeds(pid);
            HOLDS(false);
        }
        about("round %u", round);
        HOLDS(is_there(at(s, s->size - 4096), 512, round));
        HOLDS(is_there(at(s, 128), 512, round));
        HOLDS(is_there(at(s, 8), 1, round));
        atomic_store(&shared->phase, round);
    }
    succeeds(pid);
}

DIRECT(22, "When complete() has returned, what was written is there",
       "`complete` means: each access made before it, by any thread, has taken place or has "
       "failed.")
{
    is_complete(complete_and_say);
}

static void say_whether_it_has_put_complete(struct importing *self)
{
    NEED(self->ops->put_complete != NULL);
}

DIRECT(23, "When put_complete() has returned, what was written is there",
       "A write in implicit barrier mode is a `put` that is followed by `complete`.")
{
    struct stand *s = stand();
    pid_t pid = honest(s, offered_to(s, READ_WRITE), say_whether_it_has_put_complete, NULL);
    APPLIES_IF(ending_of(pid, PATIENCE_MS) == ENDED_WELL, "the transport has no put_complete()");
    is_complete(write_and_say);
}

/* ---------------------------------------------------------------- gets */

enum { FRESH_ROUNDS = 400 };

static void get_what_was_stored(struct importing *self)
{
    uint64_t value = 0, far[64], element = 0;
    for (unsigned round = 1; round <= FRESH_ROUNDS; round++) {
        while (atomic_load(&shared->phase) < round)
            sched_yield();
        if (self->ops->acquire != NULL)
            self->ops->acquire(self->conn);
        NEED_OK(self->ops->get(self->conn, 128, &value, sizeof value));
        NEED(value == round);
        NEED_OK(self->ops->get(self->conn, self->size - sizeof far, far, sizeof far));
        NEED(far[0] == round && far[63] == round);
        NEED_OK(self->ops->get_elems(self->conn, 8, &element, 8, 1));
        NEED(element == round);
        atomic_store(&shared->answer, round);
    }
}

DIRECT(24, "A get returns what the exporter has stored before", "A get has load-acquire semantics")
{
    struct stand *s = stand();
    pid_t pid = honest(s, offered_to(s, READ_WRITE), get_what_was_stored, NULL);
    volatile uint64_t *near = (volatile uint64_t *)(void *)at(s, 128);
    volatile uint64_t *element = (volatile uint64_t *)(void *)at(s, 8);
    volatile uint64_t *far = (volatile uint64_t *)(void *)at(s, s->size - 512);
    for (unsigned round = 1; round <= FRESH_ROUNDS; round++) {
        *near = *element = round;
        for (unsigned i = 0; i < 64; i++)
            far[i] = round;
        atomic_store(&shared->phase, round);
        if (!await_round(pid, round)) {
            about("round %u", round);
            succeeds(pid);
            HOLDS(false);
        }
    }
    succeeds(pid);
}

/* ---------------------------------------------------------------- reads of one moment */

enum { MOMENT_WORDS = 512, MOMENT_AT = 4096, MOMENT_MS = 400 };

static void say_whether_it_has_get_snapshot(struct importing *self)
{
    NEED(self->ops->get_snapshot != NULL);
}

/* At each moment the first words have a number, and the others the one before. */
static void get_moments(struct importing *self)
{
    uint64_t words[MOMENT_WORDS];
    bool snapshot, last = false;
    while (!last) {
        last = atomic_load(&shared->stop);
        NEED_OK(self->ops->get_snapshot(self->conn, MOMENT_AT, words, sizeof words, &snapshot));
        unsigned changes = 0;
        for (unsigned i = 1; i < MOMENT_WORDS; i++)
            changes += words[i] != words[i - 1];
        NEED(!snapshot || changes == 0 ||
             (changes == 1 && words[0] == words[MOMENT_WORDS - 1] + 1));
        NEED(!last || words[0] == atomic_load(&shared->words[0]));
    }
}

DIRECT(25, "A read that says it is of one moment is",
       "all bytes are what the segment had at one moment")
{
    struct stand *s = stand();
    uint64_t *words = (uint64_t *)(void *)at(s, MOMENT_AT), number = 0;
    pid_t pid = honest(s, offered_to(s, READ_WRITE), say_whether_it_has_get_snapshot, NULL);
    APPLIES_IF(ending_of(pid, PATIENCE_MS) == ENDED_WELL, "the transport has no get_snapshot()");
    memset(words, 0, MOMENT_WORDS * sizeof *words);
    atomic_store(&shared->stop, false);
    atomic_store(&shared->connected, 0);
    pid = honest(s, offered_to(s, READ_WRITE), get_moments, NULL);
    reaches(pid, &shared->connected, 1);
    for (uint64_t end = direct_now_ms() + MOMENT_MS; direct_now_ms() < end;) {
        number++;
        for (unsigned i = 0; i < MOMENT_WORDS; i++)
            __atomic_store_n(&words[i], number, __ATOMIC_RELEASE);
    }
    atomic_store(&shared->words[0], number);
    atomic_store(&shared->stop, true);
    HOLDS(ending_of(pid, PATIENCE_MS) == ENDED_WELL);
}
