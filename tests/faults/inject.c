/* SPDX-License-Identifier: BSD-3-Clause */
/* The preloaded library: which process this is, which call fails, which memory is still held. */
#include "inject_internal.h"

#include <dlfcn.h>
#include <execinfo.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define THREAD __thread __attribute__((tls_model("initial-exec")))

static struct fault_slot *slot;
static struct fault_shared *shared;
static atomic_flag blocks_lock = ATOMIC_FLAG_INIT;
static bool remembering; /* allocations; not in children of the subject, whose memory is a copy */
static THREAD bool is_main;
static THREAD bool in_call;
static THREAD bool exempt;
static THREAD bool busy; /* in this file: what it calls does not count */

void *faults_real(const char *name)
{
    bool was_busy = busy;
    busy = true;
    void *found = dlsym(RTLD_NEXT, name);
    busy = was_busy;
    return found;
}

/* ---------------------------------------------------------------- which call fails */

bool faults_counting(void)
{
    if (slot == NULL || busy || exempt)
        return false;
    return in_call || !is_main || atomic_load(&slot->always);
}

/* The callers, without this library's own functions; 0 behind the last. */
static void look_back(uintptr_t callers[FAULT_FRAMES])
{
    enum { OWN = 3 };
    void *frames[FAULT_FRAMES + OWN];
    busy = true;
    int count = backtrace(frames, FAULT_FRAMES + OWN);
    busy = false;
    for (int i = 0; i < FAULT_FRAMES; i++)
        callers[i] = i + OWN < count ? (uintptr_t)frames[i + OWN] : 0;
}

static void note_place(enum fault_kind kind, uint32_t index)
{
    uintptr_t callers[FAULT_FRAMES];
    uint64_t place = 1469598103934665603u + atomic_load(&slot->step);
    look_back(callers);
    for (int i = 0; i < FAULT_FRAMES; i++)
        place = (place ^ callers[i]) * 1099511628211u;
    slot->places[kind][index] = place;
}

/* Count a call. Whether it is one that is wanted. */
static bool is_wanted(enum fault_kind kind)
{
    uint32_t index = atomic_fetch_add(&slot->counts[kind], 1);
    if (atomic_load(&slot->learn) && index < FAULT_CALLS)
        note_place(kind, index);
    if ((atomic_load(&slot->mask) >> kind & 1) == 0)
        return false;
    uint32_t matched = atomic_fetch_add(&slot->matched, 1) + 1;
    uint32_t n = atomic_load(&slot->n);
    if (n == 0 || (matched != n && !(matched > n && atomic_load(&slot->burst))))
        return false;
    if (atomic_load(&slot->fired) == 0) {
        atomic_store(&slot->fired_kind, kind);
        look_back(slot->frames);
    }
    atomic_fetch_add(&slot->fired, 1);
    return true;
}

bool faults_is_loop(void)
{
    return slot != NULL && is_main && atomic_load(&slot->always);
}

struct fault_shared *faults_all(void)
{
    /* A client's slot is the first of them. */
    return slot == NULL || atomic_load(&slot->always) ? shared
                                                      : (struct fault_shared *)(void *)slot;
}

/* A daemon has threads for what may take long: of their calls each may. */
static bool may_take_long(enum fault_kind kind)
{
    return !is_main && atomic_load(&slot->always) && kind != FAULT_malloc && kind != FAULT_futex;
}

void faults_wait(enum fault_kind kind, bool waits)
{
    if (!faults_counting() || !atomic_load(&slot->never) || !(waits || may_take_long(kind)) ||
        !is_wanted(kind))
        return;
    busy = true;
    while (!atomic_load(&slot->released))
        usleep(1000);
    busy = false;
}

bool faults_fail_or_wait(enum fault_kind kind, bool waits)
{
    int error = errno;
    faults_wait(kind, waits);
    errno = error;
    if (!faults_counting() || atomic_load(&slot->never) || !is_wanted(kind))
        return false;
    uint32_t which = atomic_load(&slot->error);
    errno = fault_kinds[kind].errors[which];
    if (which > 0 && errno == 0) /* a burst over several kinds */
        errno = fault_kinds[kind].errors[0];
    return true;
}

bool faults_fail(enum fault_kind kind)
{
    return faults_fail_or_wait(kind, false);
}

void faults_exempt(void)
{
    exempt = true;
}

void faults_arm(void)
{
    in_call = true;
}

void faults_disarm(void)
{
    in_call = false;
    if (slot != NULL && atomic_load(&slot->fired) > 0)
        atomic_store(&slot->burst, false);
}

/* ---------------------------------------------------------------- which memory is held */

static void lock_blocks(void)
{
    while (atomic_flag_test_and_set_explicit(&blocks_lock, memory_order_acquire))
        continue;
}

static void unlock_blocks(void)
{
    atomic_flag_clear_explicit(&blocks_lock, memory_order_release);
}

static uint32_t home_of(uintptr_t address)
{
    return (uint32_t)((address >> 4) * 2654435761u >> 8) & (FAULT_BLOCKS - 1);
}

/* libevent keeps a block for each descriptor, by its number, that it has ever watched, and lists of
 * changes and timers. How far those grow depends on how many clients there were at a time. The
 * dynamic linker keeps blocks with the stacks of threads that have ended. */
static bool is_kept(const void *caller)
{
    static struct {
        const void *caller;
        bool kept;
    } known[32];
    size_t at = ((uintptr_t)caller >> 2) % 32;
    if (known[at].caller != caller) {
        Dl_info where;
        bool found = dladdr(caller, &where) != 0 && where.dli_fname != NULL;
        bool loop = found && where.dli_sname != NULL &&
                    strstr(where.dli_fname, "libevent") != NULL &&
                    strcmp(where.dli_sname, "event_new") != 0 &&
                    strncmp(where.dli_sname, "evbuffer_", 9) != 0;
        known[at].kept = loop || (found && strstr(where.dli_fname, "/ld-linux") != NULL);
        known[at].caller = caller;
    }
    return known[at].kept;
}

void faults_block_made(const void *block, const void *caller)
{
    if (block == NULL || slot == NULL || !remembering || !faults_counting() ||
        atomic_load(&slot->live) >= FAULT_BLOCKS / 2)
        return;
    lock_blocks();
    if (is_kept(caller)) {
        unlock_blocks();
        return;
    }
    uint32_t at = home_of((uintptr_t)block);
    while (slot->blocks[at].address != 0)
        at = (at + 1) & (FAULT_BLOCKS - 1);
    slot->blocks[at] =
        (struct fault_block){.address = (uintptr_t)block, .caller = (uintptr_t)caller};
    atomic_fetch_add(&slot->live, 1);
    unlock_blocks();
}

/* Close the gap at `hole` (linear probing without gravestones). */
static void close_gap(uint32_t hole)
{
    for (uint32_t at = hole;;) {
        at = (at + 1) & (FAULT_BLOCKS - 1);
        if (slot->blocks[at].address == 0)
            break;
        uint32_t home = home_of(slot->blocks[at].address);
        if (((at - home) & (FAULT_BLOCKS - 1)) < ((at - hole) & (FAULT_BLOCKS - 1)))
            continue;
        slot->blocks[hole] = slot->blocks[at];
        hole = at;
    }
    slot->blocks[hole].address = 0;
}

void faults_block_gone(const void *block)
{
    if (block == NULL || slot == NULL || !remembering || atomic_load(&slot->live) == 0)
        return;
    lock_blocks();
    uint32_t at = home_of((uintptr_t)block);
    while (slot->blocks[at].address != 0 && slot->blocks[at].address != (uintptr_t)block)
        at = (at + 1) & (FAULT_BLOCKS - 1);
    if (slot->blocks[at].address != 0) {
        close_gap(at);
        atomic_fetch_sub(&slot->live, 1);
    }
    unlock_blocks();
}

/* ---------------------------------------------------------------- which process this is */

void faults_attach(struct fault_slot *own)
{
    is_main = true;
    remembering = true;
    slot = own;
}

static void after_fork_in_child(void)
{
    remembering = false;
    is_main = true;
}

static struct fault_shared *map_shared(const char *path)
{
    int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return NULL;
    void *memory =
        mmap(NULL, sizeof(struct fault_shared), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    close(fd);
    return memory == MAP_FAILED ? NULL : memory;
}

/* FAULTS_SLOT is the number of the slot of a daemon that is started; other programs on the way to
 * it, such as a shell, are left alone. */
__attribute__((constructor)) static void begin(void)
{
    const char *path = getenv("FAULTS_SHARED");
    const char *number = getenv("FAULTS_SLOT");
    void *frame;
    is_main = true;
    pthread_atfork(NULL, NULL, after_fork_in_child);
    (void)backtrace(&frame, 1); /* loads what it needs */
    if (path == NULL || number == NULL || strcmp(program_invocation_short_name, "rsmd") != 0)
        return;
    shared = map_shared(path);
    if (shared == NULL)
        return;
    struct fault_slot *own = &shared->slots[atoi(number) % FAULT_SLOTS];
    memset(own->blocks, 0, sizeof own->blocks);
    atomic_store(&own->live, 0);
    remembering = true;
    slot = own;
}
