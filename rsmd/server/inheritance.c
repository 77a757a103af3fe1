/* SPDX-License-Identifier: BSD-3-Clause */
#include "server/inheritance.h"

#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

void rsmd_inherit_stdio(void)
{
    int fd;
    do
        fd = open("/dev/null", O_RDWR);
    while (fd >= 0 && fd <= STDERR_FILENO);
    if (fd >= 0)
        close(fd);
}

void rsmd_inherit_no_descriptors(int ready_fd)
{
    unsigned first = STDERR_FILENO + 1;
    if (ready_fd > STDERR_FILENO) {
        if ((unsigned)ready_fd > first)
            close_range(first, (unsigned)ready_fd - 1, 0);
        first = (unsigned)ready_fd + 1;
    }
    close_range(first, ~0u, 0);
}

void rsmd_inherit_no_signals(void)
{
    static const int ignored[] = {SIGPIPE, SIGHUP, SIGXFSZ, SIGXCPU};
    sigset_t none;
    struct sigaction action;
    /* Handlers are not inherited; existing ones are a sanitizer's. */
    for (int number = 1; number < NSIG; number++)
        if (sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN)
            signal(number, SIG_DFL);
    for (size_t i = 0; i < sizeof ignored / sizeof ignored[0]; i++)
        signal(ignored[i], SIG_IGN);
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
}

void rsmd_raise_limits(void)
{
    /* glibc's getrlimit() takes an enumeration, that of other libraries an int. */
    static const unsigned raised[] = {RLIMIT_NOFILE, RLIMIT_FSIZE,   RLIMIT_CPU,   RLIMIT_AS,
                                      RLIMIT_DATA,   RLIMIT_MEMLOCK, RLIMIT_NPROC, RLIMIT_RTTIME};
    for (size_t i = 0; i < sizeof raised / sizeof raised[0]; i++) {
        struct rlimit limit;
        if (getrlimit(raised[i], &limit) < 0 || limit.rlim_cur == limit.rlim_max)
            continue;
        limit.rlim_cur = limit.rlim_max;
        setrlimit(raised[i], &limit);
    }
}

void rsmd_inherit_no_schedule(void)
{
    cpu_set_t all;
    struct sched_param ordinary = {.sched_priority = 0};
    memset(&all, 0xff, sizeof all);
    sched_setaffinity(0, sizeof all, &all); /* the kernel reduces them to those that exist */
    if (sched_getscheduler(0) != SCHED_OTHER)
        sched_setscheduler(0, SCHED_OTHER, &ordinary);
    setpriority(PRIO_PROCESS, 0, 0);
}
