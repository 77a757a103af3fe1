/* SPDX-License-Identifier: BSD-3-Clause */
#include "litmus.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { SKIPPED = 77, TEST_LIMIT_S = 120 };

static const struct litmus *const groups[] = {litmus_order,   litmus_value, litmus_memory,
                                              litmus_process, litmus_fault, litmus_again};

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
    return given != NULL ? atoi(given) : 60000;
}

/* RSM_LITMUS_SHARE=N: an Nth of the work, where each access takes long. */
unsigned litmus_rounds(unsigned all)
{
    const char *given = getenv("RSM_LITMUS_SHARE");
    unsigned share = given != NULL ? (unsigned)atoi(given) : 1;
    return share > 1 ? (all + share - 1) / share : all;
}

static unsigned test_limit_s(void)
{
    unsigned two_waits = (unsigned)(2 * litmus_limit_ms() / 1000);
    return two_waits > TEST_LIMIT_S ? two_waits : TEST_LIMIT_S;
}

void litmus_fail(const char *file, int line, const char *what)
{
    fprintf(stderr, "    %s:%d: %s\n", file, line, what);
    _exit(1);
}

void litmus_skip(const char *why)
{
    fprintf(stderr, "    skipped: %s\n", why);
    _exit(SKIPPED);
}

bool mode_is(const char *name)
{
    const char *mode = getenv("RSM_MAP_MODE");
    return strcmp(mode != NULL ? mode : "auto", name) == 0;
}

bool stores_are_trapped(void)
{
    return !mode_is("twin") && getenv("RSM_LITMUS_NO_DECODER") == NULL;
}

static const char *verdict(int status)
{
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return "ok";
    return WIFEXITED(status) && WEXITSTATUS(status) == SKIPPED ? "skipped" : "FAILED";
}

/* A process group of its own, so that nothing of a failed test is left. */
static bool run(const struct litmus *test)
{
    int status;
    fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        setpgid(0, 0);
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        alarm(test_limit_s());
        test->run();
        exit(0);
    }
    setpgid(pid, pid);
    if (pid < 0 || waitpid(pid, &status, 0) != pid) {
        perror("litmus");
        exit(2);
    }
    kill(-pid, SIGKILL);
    printf("%-7s %s\n", verdict(status), test->name);
    if (WIFSIGNALED(status))
        printf("        killed by %s\n", strsignal(WTERMSIG(status)));
    return strcmp(verdict(status), "FAILED") != 0;
}

static bool wanted(const char *name, int count, char **names)
{
    for (int i = 0; i < count; i++)
        if (strcmp(name, names[i]) == 0)
            return true;
    return count == 0;
}

/* Arguments: names of tests; none: all. */
int main(int argc, char **argv)
{
    bool good = true;
    for (size_t group = 0; group < sizeof groups / sizeof groups[0]; group++)
        for (const struct litmus *test = groups[group]; test->name != NULL; test++)
            if (wanted(test->name, argc - 1, argv + 1))
                good &= run(test);
    return good ? 0 : 1;
}
