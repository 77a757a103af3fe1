/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/import/stdio_cover.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned users;
static bool covered[STDERR_FILENO + 1];

/* A child gets the lock free, whatever other threads were doing. */
static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void after_fork(void)
{
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, after_fork, after_fork);
}

void verbs_stdio_cover(void)
{
    pthread_mutex_lock(&lock);
    if (users++ == 0) {
        int fd;
        while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
            covered[fd] = true;
        if (fd >= 0)
            close(fd);
    }
    pthread_mutex_unlock(&lock);
}

void verbs_stdio_uncover(void)
{
    pthread_mutex_lock(&lock);
    if (--users == 0) {
        for (int fd = 0; fd <= STDERR_FILENO; fd++) {
            if (covered[fd])
                close(fd);
            covered[fd] = false;
        }
    }
    pthread_mutex_unlock(&lock);
}
