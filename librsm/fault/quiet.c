/* SPDX-License-Identifier: BSD-3-Clause */
#include "fault/quiet.h"

#include <dirent.h>
#include <fcntl.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/procfile.h"

/* Time on a processor that takes a thread out of the kernel's fault path for certain; the path
 * from the fault to the pending signal is a matter of a microsecond. */
#define FAULT_PATH_NS INT64_C(200000)

#define RETRY_NS INT64_C(50000)

static int64_t now_ns(clockid_t clock)
{
    struct timespec time;
    if (clock_gettime(clock, &time) != 0)
        return -1;
    return time.tv_sec * RSM_NS_PER_S + time.tv_nsec;
}

/* The processor time of any thread of this process; -1 if it has gone. */
static int64_t thread_time(pid_t thread)
{
    /* The kernel's encoding of a thread's scheduler clock: 2 = the precise one, 4 = one thread's.
     */
    return now_ns((clockid_t)(~(unsigned)thread << 3 | 2u | 4u));
}

enum thread_state {
    THREAD_QUIET,   /* gone, or asleep without a fault to be reported */
    THREAD_RUNNING, /* nothing pending, but it could be in the fault path */
    THREAD_PENDING, /* the signal is on its way */
};

static enum thread_state thread_state(int tasks, pid_t thread)
{
    char path[32];
    struct rsmcore_procfile file;
    enum thread_state state = THREAD_QUIET;
    char line[128];
    snprintf(path, sizeof path, "%ld/status", (long)thread);
    if (!rsmcore_procfile_open(&file, tasks, path))
        return state;
    while (rsmcore_procfile_line(&file, line, sizeof line)) {
        if (strncmp(line, "State:\tR", 8) == 0)
            state = THREAD_RUNNING;
        if (strncmp(line, "SigPnd:\t", 8) == 0) {
            if (strtoull(line + 8, NULL, 16) >> (SIGSEGV - 1) & 1)
                state = THREAD_PENDING;
            break;
        }
    }
    rsmcore_procfile_close(&file);
    return state;
}

struct thread {
    pid_t id;
    int64_t start; /* its processor time when the wait began */
};

/* All other threads of this process, to be freed; NULL if they cannot be listed. */
static struct thread *list_threads(DIR *directory, size_t *count)
{
    pid_t self = (pid_t)syscall(SYS_gettid);
    struct thread *threads = NULL;
    size_t room = 0;
    const struct dirent *entry;
    *count = 0;
    do {
        if (*count == room) {
            room += 64;
            struct thread *more = realloc(threads, room * sizeof *more);
            if (more == NULL)
                goto free_threads;
            threads = more;
        }
        entry = readdir(directory);
        pid_t id = entry != NULL ? (pid_t)strtol(entry->d_name, NULL, 10) : 0;
        if (id > 0 && id != self)
            threads[(*count)++] = (struct thread){id, thread_time(id)};
    } while (entry != NULL);
    return threads;
free_threads:
    free(threads);
    return NULL;
}

static bool is_quiet(int tasks, const struct thread *thread)
{
    int64_t ran = thread_time(thread->id) - thread->start;
    enum thread_state state = thread_state(tasks, thread->id);
    return state == THREAD_QUIET || (state == THREAD_RUNNING && ran > FAULT_PATH_NS);
}

bool rsmcore_quiet_wait(unsigned limit_ms)
{
    int64_t deadline = rsm_deadline(limit_ms);
    DIR *directory = rsmcore_procfile_directory("/proc/self/task");
    if (directory == NULL)
        return false;
    size_t count, quiet = 0;
    struct thread *threads = list_threads(directory, &count);
    while (threads != NULL && quiet < count) {
        if (is_quiet(dirfd(directory), &threads[quiet])) {
            quiet++;
            continue;
        }
        if (rsm_deadline_has_passed(deadline))
            break;
        clock_nanosleep(CLOCK_MONOTONIC, 0, &(struct timespec){.tv_nsec = RETRY_NS}, NULL);
    }
    bool all_quiet = threads != NULL && quiet == count;
    free(threads);
    closedir(directory);
    return all_quiet;
}
