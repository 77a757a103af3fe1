/* SPDX-License-Identifier: BSD-3-Clause */
/* Threads, faults of the program and other processes around a mapping. */
#include "litmus.h"

#include <setjmp.h>

enum { WORD_GO, WORD_ACK, WORD_STOP };

/* ---------------------------------------------------------------- 10: the program's handlers */

static volatile sig_atomic_t caught;
static void *volatile caught_address;
static volatile int caught_code;
static sigjmp_buf escape;

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    caught = caught + 1;
    caught_address = info->si_addr;
    caught_code = info->si_code;
    siglongjmp(escape, 1);
}

static void catch_faults(int flags)
{
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
}

/* Store there; true if the program's handler was called for it. */
static bool store_faults(volatile uint8_t *at)
{
    volatile sig_atomic_t before = caught;
    if (sigsetjmp(escape, 1) == 0)
        store8(at, 1);
    return caught != before;
}

static void read_only(void)
{
    bed_start(NULL, 2);
    catch_faults(0);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_READ);
    CHECK(load8(map + 5) == 0);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(store_faults(map + 5));
        CHECK(caught_address == (void *)(uintptr_t)(map + 5) && caught_code == SEGV_ACCERR);
        CHECK(store_faults(map + PAGE + 7)); /* a page that is not there yet */
    }
    CHECK(load8(map + 5) == 0 && load8(map + PAGE + 7) == 0);
    bed_unmap(map);
    bed_end();
}

/* What write_only stores, over two pages. */
enum { FLAG_AT = 8, TEXT_AT = 100, BLOCK_AT = 4096 - 300, BLOCK_BYTES = 1000, NUMBERS_AT = 6000 };

static void expect_stores(volatile uint8_t *segment, struct sync *sync)
{
    AWAIT(atomic_load(&sync->word[WORD_GO]) == 1);
    CHECK(load32(segment + FLAG_AT) == 20 && load8(segment + FLAG_AT + 4) == 0);
    CHECK(strcmp((const char *)(uintptr_t)(segment + TEXT_AT), "no page of it is ever read") == 0);
    for (unsigned i = 0; i < BLOCK_BYTES; i++)
        CHECK(load8(segment + BLOCK_AT + i) == 0x5a);
    CHECK(load8(segment + BLOCK_AT - 1) == 0 && load8(segment + BLOCK_AT + BLOCK_BYTES) == 0);
    for (uint64_t i = 0; i < 20; i++)
        CHECK(load64(segment + NUMBERS_AT + 8 * i) == i + 1);
    atomic_store(&sync->word[WORD_ACK], 1);
}

/* Stores arrive, whatever trap and mode were asked for; loads are the program's fault. */
static void write_only(void)
{
    if (!accesses_are_refused() || getenv("RSM_LITMUS_NO_DECODER") != NULL)
        litmus_skip("a connection for writing takes a decoder");
    bed_grant(MAY_WRITE);
    struct sync *sync = bed_start(expect_stores, 2);
    catch_faults(0);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_WRITE);
    for (uint32_t i = 1; i <= 20; i++) {
        store32(map + FLAG_AT, i);
        store64(map + NUMBERS_AT + 8 * (i - 1), i);
    }
    strcpy((char *)(uintptr_t)(map + TEXT_AT), "no page of it is ever read");
    memset((void *)(uintptr_t)(map + BLOCK_AT), 0x5a, BLOCK_BYTES);
    CHECK(bed_close() == 0);
    atomic_store(&sync->word[WORD_GO], 1);
    AWAIT(atomic_load(&sync->word[WORD_ACK]) == 1);
    volatile sig_atomic_t before = caught;
    if (sigsetjmp(escape, 1) == 0)
        (void)load8(map + FLAG_AT);
    CHECK(caught == before + 1 && caught_address == (void *)(uintptr_t)(map + FLAG_AT));
    bed_unmap(map);
    bed_end();
}

/*
 * A store after the unmapping is the program's mistake and its handler's affair. Another thread of
 * the process (an allocator's, say) may get the addresses first, and then it is no fault at all:
 * so the test takes them itself, and tries another mapping where it comes too late.
 */
static void store_after_unmap(void)
{
    enum { TRIES = 100 };
    bed_start(NULL, 1);
    catch_faults(0);
    bool taken = false;
    for (unsigned i = 0; i < TRIES && !taken; i++) {
        volatile uint8_t *map = bed_map(0, PAGE, MAY_READ);
        CHECK(load8(map) == 0);
        bed_unmap(map);
        void *at = (void *)(uintptr_t)map;
        void *got =
            mmap(at, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
        taken = got == at;
        if (!taken)
            continue;
        CHECK(store_faults(map) && caught_address == at && caught_code == SEGV_ACCERR);
        munmap(got, PAGE);
    }
    CHECK(taken);
    bed_end();
}

/* Faults elsewhere are the program's, whether its handler came before the mapping or after. */
static void other_faults(void)
{
    uint8_t *other = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(other != MAP_FAILED);
    bed_start(NULL, 1);
    catch_faults(0);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    CHECK(store_faults(other) && caught_address == other);
    store8(map, 3);
    volatile uint8_t *nowhere = (volatile uint8_t *)64;
    CHECK(store_faults(nowhere) && caught_address == (void *)64 && caught_code == SEGV_MAPERR);
    CHECK(load8(map) == 3);
    bed_unmap(map);
    CHECK(store_faults(other));
    struct sigaction present;
    CHECK(sigaction(SIGSEGV, NULL, &present) == 0 && present.sa_sigaction == on_fault);
    bed_end();
}

static void handler_goes_again(void)
{
    bed_start(NULL, 1);
    struct sigaction before, after;
    CHECK(sigaction(SIGSEGV, NULL, &before) == 0);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    store8(map, 1);
    bed_unmap(map);
    CHECK(sigaction(SIGSEGV, NULL, &after) == 0);
    CHECK(before.sa_handler == SIG_DFL && after.sa_handler == SIG_DFL);
    bed_end();
}

/* A page of a file that has been cut off, as everybody may meet. */
static void other_bus_errors(void)
{
    FILE *file = tmpfile();
    CHECK(file != NULL && ftruncate(fileno(file), 2 * (off_t)PAGE) == 0);
    uint8_t *cut = mmap(NULL, 2 * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fileno(file), 0);
    CHECK(cut != MAP_FAILED && ftruncate(fileno(file), 0) == 0);
    bed_start(NULL, 1);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    for (unsigned i = 0; i < 3; i++) {
        volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
        store8(map, 3);
        for (unsigned page = 0; page < 2; page++) {
            CHECK(store_faults(cut + page * PAGE + 5));
            CHECK(caught_address == cut + page * PAGE + 5 && caught_code == BUS_ADRERR);
        }
        CHECK(load8(map) == 3);
        bed_unmap(map);
        CHECK(store_faults(cut));
        struct sigaction present;
        CHECK(sigaction(SIGBUS, NULL, &present) == 0 && present.sa_handler == action.sa_handler);
    }
    bed_end();
}

/* ---------------------------------------------------------------- 12: threads */

enum { THREADS = 8, OWN_STORES = 3000 };

static volatile uint8_t *common;
static atomic_bool finished;

/* Each thread owns a byte of each 8 of two pages. */
static void *store_own_bytes(void *argument)
{
    size_t own = (size_t)(uintptr_t)argument;
    for (unsigned i = 0; i < OWN_STORES; i++)
        store8(common + i * 8 % (2 * PAGE) + own, (uint8_t)(i / 1024 + own + 1));
    return NULL;
}

static void *loop_over_barriers(void *unused)
{
    while (!atomic_load(&finished))
        CHECK(bed_order() == 0 && bed_close() == 0);
    return NULL;
}

static void *loop_over_open(void *unused)
{
    while (!atomic_load(&finished))
        CHECK(bed_open() == 0);
    return NULL;
}

static void check_bytes(volatile uint8_t *segment, struct sync *sync)
{
    AWAIT(atomic_load(&sync->word[WORD_GO]) == 1);
    for (unsigned i = OWN_STORES - 1024; i < OWN_STORES; i++)
        for (size_t own = 0; own < THREADS; own++)
            CHECK(segment[i * 8 % (2 * PAGE) + own] == (uint8_t)(i / 1024 + own + 1));
}

static void threads(void)
{
    struct sync *sync = bed_start(check_bytes, 2);
    pthread_t thread[THREADS], barriers, opener;
    common = bed_map(0, 2 * PAGE, MAY_ALL);
    CHECK(pthread_create(&barriers, NULL, loop_over_barriers, NULL) == 0);
    CHECK(pthread_create(&opener, NULL, loop_over_open, NULL) == 0);
    for (uintptr_t i = 0; i < THREADS; i++)
        CHECK(pthread_create(&thread[i], NULL, store_own_bytes, (void *)i) == 0);
    for (unsigned i = 0; i < THREADS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    atomic_store(&finished, true);
    CHECK(pthread_join(barriers, NULL) == 0 && pthread_join(opener, NULL) == 0);
    CHECK(bed_close() == 0);
    atomic_store(&sync->word[WORD_GO], 1);
    bed_unmap(common);
    bed_end();
}

/* A store that comes too late is the program's fault, and no earlier one is lost. */
static _Atomic uint32_t last_stored;
static sigjmp_buf late;

static void on_late_store(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)info, (void)context;
    siglongjmp(late, 1);
}

static void *store_until_fault(void *unused)
{
    if (sigsetjmp(late, 1) == 0)
        for (uint32_t i = 1;; i++) {
            store32(common + 64, i);
            atomic_store(&last_stored, i);
        }
    return NULL;
}

static void store_during_unmap(void)
{
    bed_start(NULL, 1);
    void *far = litmus_far_address();
    struct sigaction action = {.sa_sigaction = on_late_store, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGSEGV, &action, NULL) == 0);
    for (unsigned round = 0; round < litmus_rounds(20); round++) {
        pthread_t thread;
        uint32_t arrived;
        atomic_store(&last_stored, 0);
        common = bed_map_at(far, 0, PAGE, MAY_ALL);
        CHECK(pthread_create(&thread, NULL, store_until_fault, NULL) == 0);
        AWAIT(atomic_load(&last_stored) > 300);
        bed_unmap(common);
        CHECK(pthread_join(thread, NULL) == 0);
        CHECK(bed_get(64, &arrived, sizeof arrived) == 0);
        /* The last one may have been executed and not counted. */
        CHECK(arrived == atomic_load(&last_stored) || arrived == atomic_load(&last_stored) + 1);
    }
    bed_end();
}

/* ---------------------------------------------------------------- 15: other processes */

static int status_of(void (*act)(volatile uint8_t *map), volatile uint8_t *map)
{
    int status;
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        signal(SIGSEGV, SIG_DFL);
        act(map);
        _exit(0);
    }
    CHECK(waitpid(child, &status, 0) == child);
    return status;
}

static void touch(volatile uint8_t *map)
{
    store8(map, 99);
}

static void touch_by_load(volatile uint8_t *map)
{
    (void)load8(map);
}

static void run_another(volatile uint8_t *map)
{
    execlp("true", "true", (char *)NULL);
    _exit(1);
}

static void leave_it_alone(volatile uint8_t *map)
{
    usleep(2000);
}

static bool died_of_fault(int status)
{
    return WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV;
}

static void forked_child(void)
{
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (unsigned i = 0; i < 5; i++) {
        store8(map, 7);
        store8(map + PAGE, 8);
        CHECK(died_of_fault(status_of(touch, map)));
        CHECK(died_of_fault(status_of(touch_by_load, map + PAGE)));
        CHECK(status_of(run_another, map) == 0);
        CHECK(status_of(leave_it_alone, map) == 0);
        CHECK(load8(map) == 7 && load8(map + PAGE) == 8);
        store8(map, (uint8_t)i);
        CHECK(load8(map) == i);
    }
    bed_unmap(map);
    bed_end();
}

const struct litmus litmus_process[] = {
    {"read_only", read_only},
    {"write_only", write_only},
    {"store_after_unmap", store_after_unmap},
    {"other_faults", other_faults},
    {"handler_goes_again", handler_goes_again},
    {"other_bus_errors", other_bus_errors},
    {"threads", threads},
    {"store_during_unmap", store_during_unmap},
    {"forked_child", forked_child},
    {NULL, NULL},
};
