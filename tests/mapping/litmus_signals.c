/* SPDX-License-Identifier: BSD-3-Clause */
/* 13: threads that block signals, handlers that store, stacks of their own, and jumps out. */
#include "litmus.h"

#include <setjmp.h>

/* The thread sanitizer runs handlers with all signals blocked, whatever their own mask says. */
static void let_faults_in(void)
{
#if defined(__SANITIZE_THREAD__)
    sigset_t faults;
    sigemptyset(&faults);
    sigaddset(&faults, SIGSEGV);
    CHECK(pthread_sigmask(SIG_UNBLOCK, &faults, NULL) == 0);
#endif
}

static bool is_blocked(int signal)
{
    sigset_t mask;
    CHECK(pthread_sigmask(SIG_SETMASK, NULL, &mask) == 0);
    return sigismember(&mask, signal) == 1;
}

/* ---------------------------------------------------------------- masks */

static void *use_with_signals_blocked(void *argument)
{
    volatile uint8_t *map = argument;
    sigset_t most;
    sigfillset(&most);
    sigdelset(&most, SIGSEGV);
    CHECK(pthread_sigmask(SIG_SETMASK, &most, NULL) == 0);
    for (uint32_t i = 1; i <= 300; i++) {
        store32(map + i % 50 * 64, i);
        CHECK(load32(map + i % 50 * 64) == i);
        if (i % 20 == 0)
            CHECK(bed_open() == 0);
        CHECK(is_blocked(SIGUSR1) && !is_blocked(SIGSEGV));
    }
    return NULL;
}

static void signals_blocked(void)
{
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    pthread_t thread;
    CHECK(pthread_create(&thread, NULL, use_with_signals_blocked,
                         (void *)(uintptr_t)(map + PAGE)) == 0);
    for (uint32_t i = 1; i <= 300; i++) {
        store32(map, i);
        CHECK(load32(map) == i && !is_blocked(SIGUSR1));
    }
    CHECK(pthread_join(thread, NULL) == 0);
    bed_unmap(map);
    bed_end();
}

static void store_with_all_blocked(void)
{
    sigset_t all;
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    sigfillset(&all);
    CHECK(pthread_sigmask(SIG_SETMASK, &all, NULL) == 0);
    store32(map, 7);
    CHECK(load32(map) == 7);
    bed_unmap(map);
    bed_end();
    _exit(0);
}

/* As rsm_map(7) says: the kernel ends it, unless the trap needs no signal, and nobody else comes to
 * harm. */
static void all_signals_blocked(void)
{
    int status;
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        store_with_all_blocked();
    CHECK(waitpid(child, &status, 0) == child);
    if (trap_is("thread") || !accesses_are_refused())
        CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    else
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGSEGV);
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    CHECK(load32(map) == 0);
    store32(map, 8);
    CHECK(load32(map) == 8 && bed_close() == 0);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- handlers that store */

static void *use_own_stack(void *argument)
{
    volatile uint8_t *map = argument;
    static uint8_t memory[1 << 16];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    CHECK(sigaltstack(&stack, NULL) == 0);
    for (uint32_t i = 0; i < 100; i++) {
        store32(map, i);
        CHECK(load32(map) == i);
    }
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
    return NULL;
}

/* With the trap by a thread one that has room for the program's own handlers alone. */
static void *use_small_stack(void *argument)
{
    volatile uint8_t *map = argument;
    enum { GUARD = 1 << 16, ROOM = 8192 };
    static uint8_t memory[GUARD + ROOM];
    stack_t stack = {.ss_sp = memory + GUARD, .ss_size = ROOM};
    if (!trap_is("thread") || sigaltstack(&stack, NULL) != 0)
        return NULL; /* processors with large registers refuse so small a one */
    memset(memory, 0x5a, sizeof memory);
    for (uint32_t i = 0; i < 100; i++) {
        store32(map, i);
        CHECK(load32(map) == i);
    }
    for (size_t i = 0; i < sizeof memory; i++)
        CHECK(memory[i] == 0x5a);
    stack.ss_flags = SS_DISABLE;
    CHECK(sigaltstack(&stack, NULL) == 0);
    return NULL;
}

static volatile uint8_t *usr1_target;

static void store_in_handler(int signal)
{
    let_faults_in();
    store32(usr1_target, load32(usr1_target) + 1);
}

static void handlers_that_store(void)
{
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    pthread_t thread;
    usr1_target = map + 512;
    CHECK(signal(SIGUSR1, store_in_handler) != SIG_ERR);
    CHECK(pthread_create(&thread, NULL, use_own_stack, (void *)(uintptr_t)map) == 0);
    for (uint32_t i = 1; i <= 200; i++) {
        CHECK(raise(SIGUSR1) == 0);
        store32(map + 1024, i);
        CHECK(load32(map + 1024) == i && load32(map + 512) == i);
    }
    CHECK(pthread_join(thread, NULL) == 0);
    CHECK(pthread_create(&thread, NULL, use_small_stack, (void *)(uintptr_t)map) == 0);
    CHECK(pthread_join(thread, NULL) == 0);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- jumps out of handlers */

static __thread sigjmp_buf escape;
static __thread uintptr_t handler_frame;
static __thread volatile unsigned caught;
static uint8_t *refused;               /* memory of the program's own that may not be stored to */
static __thread uint8_t *refused_here; /* the byte of it that this thread stores to */

static void on_fault(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    CHECK(info->si_addr == refused_here);
    caught = caught + 1;
    handler_frame = (uintptr_t)__builtin_frame_address(0);
    siglongjmp(escape, 1);
}

static void catch_own_faults(int flags)
{
    void *page = mmap(NULL, PAGE, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | flags};
    CHECK(page != MAP_FAILED && sigaction(SIGSEGV, &action, NULL) == 0);
    refused = refused_here = page;
}

static void fault_of_ones_own(void)
{
    unsigned before = caught;
    if (sigsetjmp(escape, 1) == 0)
        store8(refused_here, 1);
    CHECK(caught == before + 1);
    CHECK(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1));
}

static void *jump_and_store(void *argument)
{
    volatile uint8_t *map = argument;
    refused_here = refused + (uintptr_t)argument % PAGE;
    for (uint32_t i = 1; i <= 200; i++) {
        store32(map, i);
        fault_of_ones_own();
        CHECK(load32(map) == i);
    }
    return NULL;
}

/* Faults of the program's own, left by a jump, amid faults of the mapping in several threads. */
static void jump_out_of_fault(void)
{
    enum { JUMPERS = 3 };
    pthread_t thread[JUMPERS];
    bed_start(NULL, 1);
    catch_own_faults(0);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (size_t i = 0; i < JUMPERS; i++)
        CHECK(pthread_create(&thread[i], NULL, jump_and_store,
                             (void *)(uintptr_t)(map + 1024 * (i + 1))) == 0);
    jump_and_store((void *)(uintptr_t)map);
    for (unsigned i = 0; i < JUMPERS; i++)
        CHECK(pthread_join(thread[i], NULL) == 0);
    bed_unmap(map);
    bed_end();
}

static void store_and_jump(int signal)
{
    let_faults_in();
    store32(usr1_target, load32(usr1_target) + 1);
    siglongjmp(escape, 1);
}

static void jump_out_of_handler(void)
{
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    usr1_target = map + 512;
    CHECK(signal(SIGUSR1, store_and_jump) != SIG_ERR);
    for (volatile uint32_t i = 1; i <= 200; i++) {
        store32(map + 1024, i);
        if (sigsetjmp(escape, 1) == 0)
            CHECK(raise(SIGUSR1) != 0); /* it does not return */
        CHECK(load32(map + 1024) == i && load32(map + 512) == i);
        CHECK(!is_blocked(SIGSEGV) && !is_blocked(SIGUSR1));
    }
    CHECK(bed_close() == 0);
    bed_unmap(map);
    bed_end();
}

/* ---------------------------------------------------------------- stacks for handlers */

/* The program's handler asked for its own stack, so both it and the engine run there. */
static void alternate_stack(void)
{
    static uint8_t memory[1 << 17];
    stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
    CHECK(sigaltstack(&stack, NULL) == 0);
    bed_start(NULL, 1);
    catch_own_faults(SA_ONSTACK);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (uint32_t i = 1; i <= 100; i++) {
        store32(map + 4 * i, i);
        fault_of_ones_own();
        CHECK(handler_frame - (uintptr_t)memory < sizeof memory);
        CHECK(load32(map + 4 * i) == i);
    }
    bed_unmap(map);
    fault_of_ones_own();
    bed_end();
}

/* ---------------------------------------------------------------- handlers that come later */

static struct sigaction earlier;

/* A well-behaved handler: what is not its own goes to who was there before. */
static void on_fault_later(int signal, siginfo_t *info, void *context)
{
    if (info->si_addr != refused_here)
        earlier.sa_sigaction(signal, info, context);
    else
        on_fault(signal, info, context);
}

static void later_handler_hands_on(void)
{
    struct sigaction action = {.sa_sigaction = on_fault_later, .sa_flags = SA_SIGINFO}, present;
    if (!trap_is("signal") || !accesses_are_refused())
        litmus_skip("the engine has no handler of SIGSEGV here to hand on to");
    bed_start(NULL, 1);
    catch_own_faults(0);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    CHECK(sigaction(SIGSEGV, &action, &earlier) == 0 && (earlier.sa_flags & SA_SIGINFO));
    for (uint32_t i = 1; i <= 100; i++) {
        store32(map, i);
        fault_of_ones_own();
        CHECK(load32(map) == i);
    }
    bed_unmap(map);
    CHECK(sigaction(SIGSEGV, NULL, &present) == 0 && present.sa_sigaction == on_fault_later);
    bed_end();
}

/* One that keeps everything for itself. Opening a barrier puts the engine in front of it. */
static void later_handler(void)
{
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (uint32_t i = 1; i <= 100; i++) {
        if (i % 50 == 1)
            catch_own_faults(i == 1 ? 0 : SA_NODEFER);
        CHECK(bed_open() == 0);
        store32(map, i);
        fault_of_ones_own();
        CHECK(load32(map) == i && bed_close() == 0);
    }
    bed_unmap(map);
    fault_of_ones_own();
    bed_end();
}

/* Until then it gets what the engine was to have: sigaction() is the C library's, and no call of
 * the program's leads through ours. */
static void later_handler_is_alone(void)
{
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    store32(map, 1);
    CHECK(bed_close() == 0 && bed_open() == 0);
    catch_own_faults(0);
    unsigned before = caught;
    refused_here = (uint8_t *)(uintptr_t)map;
    if (sigsetjmp(escape, 1) == 0)
        store32(map, 2);
    CHECK(caught == (trap_is("signal") && accesses_are_refused() ? before + 1 : before));
    CHECK(bed_open() == 0);
    store32(map, 3);
    CHECK(load32(map) == 3 && bed_close() == 0);
    refused_here = refused;
    fault_of_ones_own();
    bed_unmap(map);
    bed_end();
}

static void on_bus_error(int signal)
{
    caught = caught + 1;
    siglongjmp(escape, 1);
}

/* The other signal of memory that is not there stays the program's. */
static void bus_errors(void)
{
    int fd = memfd_create("litmus", MFD_CLOEXEC);
    CHECK(fd >= 0 && ftruncate(fd, (off_t)PAGE) == 0);
    volatile uint8_t *file = mmap(NULL, PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    CHECK((void *)(uintptr_t)file != MAP_FAILED && ftruncate(fd, 0) == 0);
    CHECK(signal(SIGBUS, on_bus_error) != SIG_ERR);
    bed_start(NULL, 1);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (volatile uint32_t i = 1; i <= 50; i++) {
        unsigned before = caught;
        store32(map, i);
        if (sigsetjmp(escape, 1) == 0)
            store8(file, 1);
        CHECK(caught == before + 1 && !is_blocked(SIGBUS));
        CHECK(load32(map) == i);
    }
    bed_unmap(map);
    struct sigaction present;
    CHECK(sigaction(SIGBUS, NULL, &present) == 0 && present.sa_handler == on_bus_error);
    bed_end();
}

const struct litmus litmus_signals[] = {
    {"signals_blocked", signals_blocked},
    {"all_signals_blocked", all_signals_blocked},
    {"handlers_that_store", handlers_that_store},
    {"jump_out_of_fault", jump_out_of_fault},
    {"jump_out_of_handler", jump_out_of_handler},
    {"alternate_stack", alternate_stack},
    {"later_handler_hands_on", later_handler_hands_on},
    {"later_handler", later_handler},
    {"later_handler_is_alone", later_handler_is_alone},
    {"bus_errors", bus_errors},
    {NULL, NULL},
};
