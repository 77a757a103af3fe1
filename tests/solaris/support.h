/* SPDX-License-Identifier: BSD-3-Clause */
/** @file What the tests of the Solaris kit share. */
#ifndef TESTS_SOLARIS_SUPPORT_H
#define TESTS_SOLARIS_SUPPORT_H

#include "cases.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

/* gcc says it by macros, clang by features. */
#ifndef __has_feature
#define __has_feature(feature) 0
#endif
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
#define THREAD_SANITIZED 1
#else
#define THREAD_SANITIZED 0
#endif
#if THREAD_SANITIZED || defined(__SANITIZE_ADDRESS__) || __has_feature(address_sanitizer)
#define SANITIZED 1
#else
#define SANITIZED 0
#endif

/** Run @p body in a child process and return what waitpid() says of it. Whoever hangs is killed. */
static inline int in_child(void (*body)(void))
{
    int status = 0;
    pid_t child = fork();
    if (child == 0) {
        alarm(60);
        body();
        _exit(111);
    }
    assert_true(child > 0);
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

/** Assert that a child went well. */
static inline void assert_exited(int status, int code)
{
    if (!WIFEXITED(status) || WEXITSTATUS(status) != code)
        fail_msg("the child's status is %#x, not exit %d", (unsigned)status, code);
}

/** In a child, where cmocka's assertions have no place. */
#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            print_error("child: %s:%d: %s\n", __FILE__, __LINE__, #condition);                     \
            _exit(110);                                                                            \
        }                                                                                          \
    } while (0)

/** State of a thread of a process as /proc tells it: 'S' sleeps, 'Z' has ended. */
static inline char thread_state(pid_t pid, pid_t tid)
{
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)pid, (int)tid);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return 0;
    if (fscanf(file, "%*d %*s %c", &state) != 1)
        state = 0;
    fclose(file);
    return state;
}

/** Zeroed memory that is shared with children. */
static inline void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(memory != MAP_FAILED);
    return memory;
}

#endif
