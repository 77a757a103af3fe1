/* SPDX-License-Identifier: BSD-3-Clause */
#include "litmus.h"

#include <grp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

/* Newer than the headers that this must build with. */
#ifndef USERFAULTFD_IOC_NEW
#define USERFAULTFD_IOC_NEW _IO(0xAA, 0x00)
#endif
#ifndef UFFD_USER_MODE_ONLY
#define UFFD_USER_MODE_ONLY 1
#endif

enum { SKIPPED = 77, TEST_LIMIT_S = 300, NOBODY = 65534 };

static const struct litmus *const groups[] = {
    litmus_order,   litmus_value,  litmus_memory, litmus_process, litmus_calls, litmus_signals,
    litmus_tools,   litmus_fault,  litmus_again,  litmus_knobs,   litmus_traps, litmus_forms,
    litmus_strings, litmus_mirror, litmus_bells,  litmus_loops};

static bool own_group; /* of processes: it has the test and nothing else */

int64_t litmus_ms(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000 + now.tv_nsec / 1000000;
}

/* RSM_LITMUS_LIMIT_MS is for runs that are meant to fail, and for machines that are slow. */
int64_t litmus_limit_ms(void)
{
    const char *given = getenv("RSM_LITMUS_LIMIT_MS");
    return given != NULL ? atoi(given) : 200000;
}

/* A number that an environment variable has, at least 1. */
static unsigned number_from(const char *name)
{
    const char *given = getenv(name);
    int number = given != NULL ? atoi(given) : 1;
    return number > 1 ? (unsigned)number : 1;
}

/* RSM_LITMUS_SHARE=N: an Nth of the work, where each access takes long. RSM_LITMUS_DIVIDE=N: an Nth of
 * that, where there is little time for the whole. */
unsigned litmus_rounds(unsigned all)
{
    unsigned share = number_from("RSM_LITMUS_SHARE") * number_from("RSM_LITMUS_DIVIDE");
    return (all + share - 1) / share;
}

static unsigned test_limit_s(void)
{
    unsigned two_waits = (unsigned)(2 * litmus_limit_ms() / 1000);
    return two_waits > TEST_LIMIT_S ? two_waits : TEST_LIMIT_S;
}

/* Whoever waits for this process, or is waited for by it, ends with it. */
void litmus_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "    %s:%d: %s\n", file, line, what);
    if (own_group)
        kill(0, SIGKILL);
    _exit(1);
}

void litmus_skip(const char *why)
{
    fprintf(stderr, "    skipped: %s\n", why);
    _exit(SKIPPED);
}

volatile uint8_t *bed_map(size_t offset, size_t length, int rights)
{
    return bed_map_at(NULL, offset, length, rights);
}

bool mode_is(const char *name)
{
    const char *mode = getenv("RSM_MAP_MODE");
    return strcmp(mode != NULL ? mode : "auto", name) == 0;
}

bool accesses_are_refused(void)
{
    return !mode_is("mirror");
}

/* What auto comes to, as rsm_map(7) says. */
static const char *automatic_trap(void)
{
    const char *atomics = getenv("RSM_MAP_ATOMICS");
    bool decoded = mode_is("precise") || (atomics != NULL && strcmp(atomics, "sigbus") == 0);
    return !decoded && accesses_are_refused() && has_faultfd(true) ? "thread" : "signal";
}

bool trap_is(const char *name)
{
    const char *trap = getenv("RSM_MAP_TRAP");
    if (trap == NULL || strcmp(trap, "auto") == 0)
        trap = automatic_trap();
    return strcmp(trap, name) == 0;
}

bool has_faultfd(bool for_system_calls)
{
    uint64_t wp_shared_memory = UINT64_C(1) << 12;
    int flags = O_CLOEXEC | O_NONBLOCK;
    int fd = (int)syscall(SYS_userfaultfd, flags | (for_system_calls ? 0 : UFFD_USER_MODE_ONLY));
    int device = for_system_calls && fd < 0 ? open("/dev/userfaultfd", O_RDWR | O_CLOEXEC) : -1;
    if (device >= 0) {
        fd = ioctl(device, USERFAULTFD_IOC_NEW, flags);
        close(device);
    }
    struct uffdio_api api = {.api = UFFD_API, .features = wp_shared_memory};
    bool has = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

void *litmus_far_address(void)
{
    const size_t distance = (size_t)64 << 30;
    void *lowest =
        mmap(NULL, distance, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    CHECK(lowest != MAP_FAILED && munmap(lowest, distance) == 0);
    return lowest;
}

/* What it asks with came with this feature. */
bool has_notes(void)
{
    uint64_t wp_async = UINT64_C(1) << 15;
    int fd = (int)syscall(SYS_userfaultfd, O_CLOEXEC | O_NONBLOCK | UFFD_USER_MODE_ONLY);
    struct uffdio_api api = {.api = UFFD_API, .features = wp_async};
    bool has = fd >= 0 && ioctl(fd, UFFDIO_API, &api) == 0;
    if (fd >= 0)
        close(fd);
    return has;
}

bool system_calls_work(void)
{
    return !accesses_are_refused() || (trap_is("thread") && has_faultfd(true));
}

bool instructions_are_decoded(void)
{
#if defined(__x86_64__) || defined(__aarch64__)
    return accesses_are_refused() && getenv("RSM_LITMUS_NO_DECODER") == NULL;
#else
    return false;
#endif
}

bool stores_are_trapped(void)
{
    return instructions_are_decoded() && !mode_is("twin");
}

static bool has_passed(const siginfo_t *end)
{
    return end->si_code == CLD_EXITED && (end->si_status == 0 || end->si_status == SKIPPED);
}

static const char *verdict(const siginfo_t *end)
{
    return !has_passed(end) ? "FAILED" : end->si_status == SKIPPED ? "skipped" : "ok";
}

/* A process group of its own, so that nothing of a failed test is left. It is reaped last, for then
 * its number is anybody's. */
static bool run(const struct litmus *test)
{
    siginfo_t end;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        own_group = setpgid(0, 0) == 0;
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(test_limit_s());
        test->run();
        exit(0);
    }
    setpgid(pid, pid);
    if (pid < 0 || waitid(P_PID, (id_t)pid, &end, WEXITED | WNOWAIT) != 0) {
        perror("litmus");
        exit(2);
    }
    kill(-pid, SIGKILL);
    waitpid(pid, NULL, 0);
    printf("%-7s %s\n", verdict(&end), test->name);
    if (end.si_code != CLD_EXITED)
        printf("        killed by %s\n", strsignal(end.si_status));
    return has_passed(&end);
}

/* In this very process, as tools that look at one want it. */
static bool run_here(const struct litmus *test)
{
    alarm(TEST_LIMIT_S);
    test->run();
    return true;
}

static bool wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return count == 0;
}

static void list(void)
{
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
        for (const struct litmus *test = groups[group]; test->name != NULL; test++)
            puts(test->name);
}

static bool exists(const char *name)
{
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
        for (const struct litmus *test = groups[group]; test->name != NULL; test++)
            if (strcmp(name, test->name) == 0)
                return true;
    return false;
}

/* Be nobody special from here on. What the program needs of files it has open. */
static void give_up_privileges(void)
{
    if (geteuid() != 0) {
        printf("skipped: this user is unprivileged anyway\n");
        exit(SKIPPED);
    }
    if (setgroups(0, NULL) != 0 || setresgid(NOBODY, NOBODY, NOBODY) != 0 ||
        setresuid(NOBODY, NOBODY, NOBODY) != 0 || prctl(PR_SET_DUMPABLE, 1) != 0) {
        perror("litmus: nobody");
        exit(2);
    }
}

/* Arguments: --nobody or --here, and names of tests; none: all. Or --list: their names; or
 * --possible: whether this mode and trap can be had here. */
int main(int argc, char **argv)
{
    bool good = true;
    if (argc == 2 && strcmp(argv[1], "--list") == 0) {
        list();
        return 0;
    }
    bool refusal = argc == 2 && strcmp(argv[1], "trap_refused") == 0;
    if (!trap_is("signal") && !refusal && !has_faultfd(false))
        litmus_skip("no userfaultfd here that RSM_MAP_TRAP could be tested with");
    if (!accesses_are_refused() && !has_notes())
        litmus_skip("this kernel does not note stores as RSM_MAP_MODE=mirror needs it");
    if (argc == 2 && strcmp(argv[1], "--possible") == 0)
        return 0;
    bool (*way)(const struct litmus *) = run;
    if (argc > 1 && strcmp(argv[1], "--nobody") == 0)
        give_up_privileges();
    else if (argc > 1 && strcmp(argv[1], "--here") == 0)
        way = run_here;
    int first = argc > 1 && strncmp(argv[1], "--", 2) == 0 ? 2 : 1;
    for (int i = first; i < argc; i++)
        if (!exists(argv[i])) {
            fprintf(stderr, "litmus: there is no test %s\n", argv[i]);
            return 2;
        }
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
        for (const struct litmus *test = groups[group]; test->name != NULL; test++)
            if (wanted(test->name, argc - first, argv + first))
                good &= way(test);
    return good ? 0 : 1;
}
