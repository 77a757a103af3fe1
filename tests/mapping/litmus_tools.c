/* SPDX-License-Identifier: BSD-3-Clause */
/* 15: what looks at a process from outside, and what it leaves behind. */
#include "litmus.h"

#include <elf.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { SANITIZED = true };
#else
enum { SANITIZED = false };
#endif
enum { WORDS = 16, TEXT = 4096 };

static void await_good_end(pid_t child)
{
    int status;
    CHECK(child >= 0 && waitpid(child, &status, 0) == child);
    CHECK(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* Whether pages that are not present can be examined from outside. As rsm_map(7) says, that is so
 * with page protection only, and where all are present. */
static bool shows_absent_pages(void)
{
    return trap_is("signal") || !accesses_are_refused();
}

/* ---------------------------------------------------------------- core files */

static uint64_t mark(unsigned word)
{
    return (word + 1) * UINT64_C(0x9e3779b97f4a7c15) ^ 0x5eed;
}

static void store_marks(volatile uint8_t *at)
{
    (void)load64(at); /* a store alone leaves nothing here */
    for (unsigned i = 0; i < WORDS; i++)
        store64(at + i * 8, mark(i));
}

/* Read from a core file what was at an address. */
static bool read_core(int fd, uintptr_t address, void *into, size_t length)
{
    Elf64_Ehdr header;
    if (pread(fd, &header, sizeof header, 0) != sizeof header)
        return false;
    for (unsigned i = 0; i < header.e_phnum; i++) {
        Elf64_Phdr part;
        off_t at = (off_t)(header.e_phoff + i * sizeof part);
        if (pread(fd, &part, sizeof part, at) != sizeof part)
            return false;
        if (part.p_type == PT_LOAD && address >= part.p_vaddr &&
            address + length <= part.p_vaddr + part.p_filesz)
            return pread(fd, into, length, (off_t)(part.p_offset + (address - part.p_vaddr))) ==
                   (ssize_t)length;
    }
    return false;
}

static void check_core(const char *path, const volatile uint8_t *marks)
{
    uint64_t words[WORDS];
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    CHECK(fd >= 0);
    CHECK(read_core(fd, (uintptr_t)marks, words, sizeof words));
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(words[i] == mark(i));
    close(fd);
}

/* Dies with pages in every state. Where the kernel puts a core, if it writes one, is the machine's
 * affair; here the directory is one of our own. */
static void die_with_core(volatile uint8_t *volatile *marks)
{
    struct rlimit limit = {.rlim_cur = 256u << 20, .rlim_max = 256u << 20};
    bed_start(NULL, 3);
    volatile uint8_t *map = bed_map(0, 3 * PAGE, MAY_ALL);
    store_marks(map + PAGE);
    for (uint32_t i = 0; i < 200; i++)
        store32(map + 4 * i, i);
    *marks = map + PAGE;
    if (!SANITIZED) /* they have terabytes */
        (void)setrlimit(RLIMIT_CORE, &limit);
    abort();
}

static void core_dump(void)
{
    char directory[] = "/tmp/rsm-litmus.XXXXXX";
    int status;
    volatile uint8_t **marks =
        mmap(NULL, sizeof *marks, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CHECK(marks != MAP_FAILED && mkdtemp(directory) != NULL && chdir(directory) == 0);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0)
        die_with_core(marks);
    CHECK(waitpid(child, &status, 0) == child);
    CHECK(WIFSIGNALED(status) && WTERMSIG(status) == SIGABRT);
    if (access("core", R_OK) != 0)
        fprintf(stderr, "    no core file here: this machine puts them elsewhere\n");
    else if (shows_absent_pages())
        check_core("core", *marks);
    (void)unlink("core");
    CHECK(chdir("/") == 0);
    CHECK(rmdir(directory) == 0 || errno == ENOTEMPTY); /* "core.<process>" and the like */
}

/* ---------------------------------------------------------------- tools */

static void need_tool(const char *path)
{
    char why[128];
    if (access(path, X_OK) == 0)
        return;
    snprintf(why, sizeof why, "%s is not installed", path);
    litmus_skip(why);
}

/* Containers may forbid it. */
static void need_tracing(void)
{
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        pause();
        _exit(0);
    }
    bool may = ptrace(PTRACE_SEIZE, child, NULL, NULL) == 0;
    kill(child, SIGKILL);
    CHECK(waitpid(child, NULL, 0) == child);
    if (!may)
        litmus_skip("processes may not be traced here");
}

static void run_tool(const char *const argv[])
{
    const char *given = getenv("ASAN_OPTIONS");
    char sanitizer[TEXT];
    /* The leak checker is such a tool itself, and there can be but one. */
    snprintf(sanitizer, sizeof sanitizer, "%s:detect_leaks=0", given != NULL ? given : "");
    fflush(NULL);
    pid_t child = fork();
    CHECK(child >= 0);
    if (child == 0) {
        setenv("ASAN_OPTIONS", sanitizer, 1);
        dup2(STDERR_FILENO, STDOUT_FILENO);
        execv(argv[0], (char *const *)(uintptr_t)argv);
        _exit(127);
    }
    await_good_end(child);
}

static const char gdb[] = "/usr/bin/gdb", strace[] = "/usr/bin/strace";

/* This program, if the user may run it. */
static const char *self(void)
{
    static char path[TEXT];
    ssize_t length = readlink("/proc/self/exe", path, sizeof path - 1);
    CHECK(length > 0);
    if (access(path, X_OK) != 0)
        litmus_skip("this user cannot run this program again");
    return path;
}

#define GDB_QUIETLY                                                                                \
    gdb, "-nx", "-batch", "-iex", "set auto-load off", "-iex", "set debuginfod enabled off",       \
        "-iex", "set auto-solib-add off", "-iex", "set startup-with-shell off"

/* A debugger that attaches while the mapping is in use, looks at pages that are there and pages
 * that are not, changes one, and goes. */
static void debugger(void)
{
    char pid[16], present[64], absent[64], change[64];
    need_tool(gdb);
    need_tracing();
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    bed_start(NULL, 3);
    volatile uint8_t *map = bed_map(0, 3 * PAGE, MAY_ALL);
    store32(map + 4, 4);
    store32(map + 8, 5);
    store32(map + PAGE, 6);
    (void)load32(map + 8);
    snprintf(pid, sizeof pid, "%d", getpid());
    snprintf(present, sizeof present, "x/4xw %p", (void *)(uintptr_t)map);
    snprintf(absent, sizeof absent, "x/4xw %p", (void *)(uintptr_t)(map + 2 * PAGE));
    snprintf(change, sizeof change, "set var *(unsigned int *)%p = 77",
             (void *)(uintptr_t)(map + 8));
    run_tool((const char *[]){GDB_QUIETLY, "-p", pid, "-ex", present, "-ex", absent, "-ex", change,
                              "-ex", "detach", NULL});
    /* Its store is one like any other, or was refused. */
    uint32_t changed = load32(map + 8), arrived;
    CHECK(changed == 5 || changed == 77);
    CHECK(bed_close() == 0 && bed_get(8, &arrived, sizeof arrived) == 0);
    CHECK(arrived == changed);
    CHECK(load32(map + 4) == 4 && load32(map + PAGE) == 6 && load32(map + 2 * PAGE) == 0);
    store32(map + 8, 9);
    CHECK(bed_close() == 0 && bed_get(8, &arrived, sizeof arrived) == 0 && arrived == 9);
    bed_unmap(map);
    bed_end();
}

static void core_of_the_living(void)
{
    char pid[16], command[TEXT], path[] = "/tmp/rsm-litmus.XXXXXX";
    if (SANITIZED)
        litmus_skip("a core of this program would be terabytes");
    need_tool(gdb);
    need_tracing();
    (void)prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY, 0, 0, 0);
    bed_start(NULL, 2);
    volatile uint8_t *map = bed_map(0, 2 * PAGE, MAY_ALL);
    store_marks(map + 512);
    int fd = mkstemp(path);
    CHECK(fd >= 0);
    close(fd);
    snprintf(pid, sizeof pid, "%d", getpid());
    snprintf(command, sizeof command, "generate-core-file %s", path);
    run_tool((const char *[]){GDB_QUIETLY, "-p", pid, "-ex", command, "-ex", "detach", NULL});
    if (shows_absent_pages())
        check_core(path, map + 512);
    unlink(path);
    for (unsigned i = 0; i < WORDS; i++)
        CHECK(load64(map + 512 + i * 8) == mark(i));
    bed_unmap(map);
    bed_end();
}

/* A whole test whose every trap a tool sees first. */
static void under_debugger(void)
{
    need_tool(gdb);
    need_tracing();
    run_tool((const char *[]){GDB_QUIETLY, "-return-child-result", "-ex",
                              "handle SIGSEGV SIGBUS nostop noprint pass", "-ex", "run", "--args",
                              self(), "--here", "parts", NULL});
}

static void under_strace(void)
{
    need_tool(strace);
    need_tracing();
    run_tool((const char *[]){strace, "-f", "-o", "/dev/null", self(), "--here", "parts", NULL});
}

const struct litmus litmus_tools[] = {
    {"core_dump", core_dump},       {"core_of_the_living", core_of_the_living},
    {"debugger", debugger},         {"under_debugger", under_debugger},
    {"under_strace", under_strace}, {NULL, NULL},
};
