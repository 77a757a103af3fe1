/* SPDX-License-Identifier: BSD-3-Clause */
#include "transport/verbs/common/fd_guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdbool.h>
#include <unistd.h>

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned sections; /* that have begun and not ended */
static bool opened[STDERR_FILENO + 1];

static void close_opened(void)
{
    for (int fd = 0; fd <= STDERR_FILENO; fd++) {
        if (opened[fd])
            close(fd);
        opened[fd] = false;
    }
}

static void before_fork(void)
{
    pthread_mutex_lock(&lock);
}

static void in_parent(void)
{
    pthread_mutex_unlock(&lock);
}

/* The threads that would end their sections do not exist in the child. */
static void in_child(void)
{
    close_opened();
    sections = 0;
    pthread_mutex_unlock(&lock);
}

__attribute__((constructor)) static void watch_fork(void)
{
    pthread_atfork(before_fork, in_parent, in_child);
}

void verbs_fd_guard_begin(void)
{
    pthread_mutex_lock(&lock);
    if (sections++ == 0) {
        int fd;
        while ((fd = open("/dev/null", O_RDWR | O_CLOEXEC)) >= 0 && fd <= STDERR_FILENO)
            opened[fd] = true;
        if (fd >= 0)
            close(fd);
    }
    pthread_mutex_unlock(&lock);
}

void verbs_fd_guard_end(void)
{
    pthread_mutex_lock(&lock);
    /* 0: the child of a signal handler that interrupted the section and called fork(). */
    if (sections > 0 && --sections == 0)
        close_opened();
    pthread_mutex_unlock(&lock);
}
