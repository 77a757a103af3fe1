/* SPDX-License-Identifier: BSD-3-Clause */
/* What is chosen beside the mode, and what the log tells. */
#include "litmus.h"

#include <setjmp.h>

/* ---------------------------------------------------------------- the log */

static FILE *logged;

/* From now on what the library logs goes to a file. */
static void log_to_file(void)
{
    logged = tmpfile();
    CHECK(logged != NULL && setenv("RSM_LOG", "info", 1) == 0);
    CHECK(dup2(fileno(logged), STDERR_FILENO) == STDERR_FILENO);
}

/* Lines that have the words; *last becomes the last of them. */
static unsigned lines_with(const char *words, char last[512])
{
    char line[512];
    unsigned count = 0;
    rewind(logged);
    while (fgets(line, sizeof line, logged) != NULL)
        if (strstr(line, words) != NULL) {
            strcpy(last, line);
            count++;
        }
    return count;
}

static unsigned long number_after(const char *line, const char *name)
{
    const char *at = strstr(line, name);
    return at == NULL ? 0 : strtoul(at + strlen(name), NULL, 10);
}

static void counters_at_unmap(void)
{
    char line[512];
    log_to_file();
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (unsigned i = 0; i < 3; i++)
        store8(map + 2UL * i, 1);
    CHECK(bed_close() == 0);
    CHECK(load8(map + PAGE) == 0);
    CHECK(lines_with(" ended: ", line) == 0);
    bed_unmap(map);
    CHECK(lines_with(" ended: ", line) == 1);
    CHECK(number_after(line, " loads=") >= (accesses_are_refused() ? 1u : 2u));
    CHECK(accesses_are_refused() ? number_after(line, " traps=") >= 2
                                 : number_after(line, " traps=") == 0);
    if (stores_are_trapped())
        CHECK(number_after(line, " emulated=") == 3);
    else
        CHECK((number_after(line, " promotions=") >= 1) == accesses_are_refused() &&
              number_after(line, " flushes=") >= 1 && number_after(line, " runs=") >= 1 &&
              number_after(line, " emulated=") == 0);
    map = bed_map(0, PAGE, MAY_ALL); /* counted by itself */
    bed_unmap(map);
    CHECK(lines_with(" ended: ", line) == 2 && number_after(line, " traps=") == 0);
    bed_end();
}

/* ---------------------------------------------------------------- locked instructions */

/* In this very function, not in a sanitizer's, which must not be left by a signal. */
static void add_locked(volatile uint8_t *at)
{
#if defined(__x86_64__)
    __asm__ volatile("lock addl $1, %0" : "+m"(*(volatile uint32_t *)(volatile void *)at));
#elif defined(__aarch64__)
    __asm__ volatile("1: ldaxr w9, [%0]\n add w9, w9, 1\n stlxr w10, w9, [%0]\n cbnz w10, 1b"
                     :
                     : "r"(at)
                     : "x9", "x10", "memory");
#endif
}

static void exchange(volatile uint8_t *at)
{
#if defined(__x86_64__)
    uint64_t value = 1;
    __asm__ volatile("xchgq %1, %0" : "+m"(*(volatile uint64_t *)(volatile void *)at), "+r"(value));
#elif defined(__aarch64__)
    __asm__ volatile("mov x11, 1\n 1: ldaxr x9, [%0]\n stlxr w10, x11, [%0]\n cbnz w10, 1b"
                     :
                     : "r"(at)
                     : "x9", "x10", "x11", "memory");
#endif
}

static void needs_decoder(void)
{
    if (!instructions_are_decoded())
        litmus_skip("instructions are not decoded");
}

static void atomics_warn(void)
{
    char line[512];
    needs_decoder();
    log_to_file();
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    for (unsigned i = 0; i < 10; i++) {
        add_locked(map + 8);
        add_locked(map + PAGE);
        CHECK(bed_close() == 0);
    }
    uint32_t stored[2];
    CHECK(bed_get(8, &stored[0], sizeof stored[0]) == 0);
    CHECK(bed_get(PAGE, &stored[1], sizeof stored[1]) == 0);
    CHECK(stored[0] == 10 && stored[1] == 10);
    bed_unmap(map);
    CHECK(lines_with("a locked instruction", line) == 1);
    bed_end();
}

static void *store_with_signals_blocked(void *at)
{
    sigset_t most;
    sigfillset(&most);
    sigdelset(&most, SIGSEGV);
    CHECK(pthread_sigmask(SIG_SETMASK, &most, NULL) == 0);
    store32(at, 5);
    return NULL;
}

static void store_by_call(volatile uint8_t *at)
{
    int fds[2];
    uint32_t value = 6;
    CHECK(pipe(fds) == 0 && write(fds[1], &value, sizeof value) == sizeof value);
    if (system_calls_work())
        CHECK(read(fds[0], (void *)(uintptr_t)at, sizeof value) == sizeof value);
    close(fds[0]);
    close(fds[1]);
}

/* Each store that gets a twin because nobody decodes it shows in the log at the end. */
static void not_decoded_is_counted(void)
{
    char line[512];
    pthread_t thread;
    if (!stores_are_trapped())
        litmus_skip("stores are not decoded");
    bool by_thread = trap_is("thread");
    log_to_file();
    bed_start(NULL, 6);
    volatile uint8_t *map = bed_map(0, 6 * PAGE, MAY_ALL);
    store32(map + 4, 1);
    add_locked(map);
    CHECK(bed_close() == 0);
    CHECK(pthread_create(&thread, NULL, store_with_signals_blocked,
                         (void *)(uintptr_t)(map + 2 * PAGE)) == 0);
    CHECK(pthread_join(thread, NULL) == 0 && bed_close() == 0);
    store_by_call(map + 5 * PAGE);
    CHECK(load32(map) == 1 && load32(map + 4) == 1 && load32(map + 2 * PAGE) == 5);
    CHECK(load32(map + 5 * PAGE) == (system_calls_work() ? 6 : 0));
    bed_unmap(map);
    CHECK(lines_with(" ended: ", line) == 1);
    /* A page may be flushed before the instruction that it was opened for is executed. */
    CHECK(number_after(line, " unknown=") >= 1);
    CHECK((number_after(line, " blocked=") >= 1) == by_thread);
    CHECK((number_after(line, " by-calls=") >= 1) == system_calls_work());
    CHECK(number_after(line, " emulated=") == (by_thread ? 1 : 2));
    CHECK(lines_with("that blocks the engine's signal", line) == by_thread);
    bed_end();
}

static sigjmp_buf escape;
static void *volatile refused_at;

static void on_sigbus(int signal, siginfo_t *info, void *context)
{
    (void)signal, (void)context;
    refused_at = info->si_addr;
    siglongjmp(escape, 1);
}

static bool add_is_refused(volatile uint8_t *at)
{
    refused_at = NULL;
    if (sigsetjmp(escape, 1) == 0)
        add_locked(at);
    return refused_at == (void *)(uintptr_t)at;
}

static bool exchange_is_refused(volatile uint8_t *at)
{
    refused_at = NULL;
    if (sigsetjmp(escape, 1) == 0)
        exchange(at);
    return refused_at == (void *)(uintptr_t)at;
}

static void atomics_sigbus(void)
{
    needs_decoder();
    setenv("RSM_MAP_ATOMICS", "sigbus", 1);
    bed_start(NULL, 1);
    struct sigaction action = {.sa_sigaction = on_sigbus, .sa_flags = SA_SIGINFO};
    CHECK(sigaction(SIGBUS, &action, NULL) == 0);
    volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
    for (unsigned i = 0; i < 3; i++) {
        CHECK(add_is_refused(map + 64));
        CHECK(bed_open() == 0);
        CHECK(load64(map + 128) == 0); /* the page is there to be read now */
        CHECK(exchange_is_refused(map + 128));
        store64(map + 256, i); /* others go on */
        CHECK(bed_close() == 0);
        CHECK(load64(map + 64) == 0 && load64(map + 256) == i);
    }
    bed_unmap(map);
    bed_end();
}

/* A program that blocks or ignores the signal does not go on either. */
static void atomics_sigbus_kills(void)
{
    needs_decoder();
    for (int blocked = 0; blocked <= 1; blocked++) {
        fflush(NULL);
        pid_t pid = fork();
        CHECK(pid >= 0);
        if (pid == 0) {
            sigset_t set;
            sigemptyset(&set);
            sigaddset(&set, SIGBUS);
            setenv("RSM_MAP_ATOMICS", "sigbus", 1);
            bed_start(NULL, 1);
            volatile uint8_t *map = bed_map(0, PAGE, MAY_ALL);
            if (blocked)
                CHECK(sigprocmask(SIG_BLOCK, &set, NULL) == 0);
            else
                signal(SIGBUS, SIG_IGN);
            add_locked(map);
            _exit(0);
        }
        int status;
        CHECK(waitpid(pid, &status, 0) == pid);
        CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGBUS);
    }
}

const struct litmus litmus_knobs[] = {
    {"counters_at_unmap", counters_at_unmap},
    {"not_decoded_is_counted", not_decoded_is_counted},
    {"atomics_warn", atomics_warn},
    {"atomics_sigbus", atomics_sigbus},
    {"atomics_sigbus_kills", atomics_sigbus_kills},
    {NULL, NULL},
};
