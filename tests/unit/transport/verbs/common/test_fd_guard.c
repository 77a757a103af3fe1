/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"
#include "transport/verbs/common/fd_guard.h"

static bool is_open(int fd)
{
    return fcntl(fd, F_GETFD) >= 0;
}

/* What an RDMA library would get. */
static int next_fd(void)
{
    int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (fd >= 0)
        close(fd);
    return fd;
}

/* Each case closes standard streams, which cmocka needs: so it runs in a child, whose exit status
 * is the line that failed, 0 if none did. */
#define EXPECT(condition)                                                                          \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return __LINE__ % 256;                                                                 \
    } while (0)

static int in_child(int (*run)(void))
{
    int status;
    pid_t child = fork();
    if (child == 0)
        _exit(run());
    assert_true(child > 0);
    while (waitpid(child, &status, 0) < 0)
        assert_int_equal(errno, EINTR);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

static int sections_nest(void)
{
    close(0);
    close(2);
    int expected = next_fd();
    EXPECT(expected == 0);
    verbs_fd_guard_begin();
    EXPECT(is_open(0) && is_open(2) && next_fd() > 2);
    verbs_fd_guard_begin();
    EXPECT(next_fd() > 2);
    verbs_fd_guard_end();
    EXPECT(is_open(0) && is_open(2) && next_fd() > 2);
    verbs_fd_guard_end();
    EXPECT(!is_open(0) && is_open(1) && !is_open(2));
    verbs_fd_guard_begin(); /* and again */
    EXPECT(is_open(0) && next_fd() > 2);
    verbs_fd_guard_end();
    EXPECT(!is_open(0));
    return 0;
}

/* Descriptors of the program stay what they are, and the guard keeps none. */
static int open_streams_are_left_alone(void)
{
    struct stat before;
    struct stat inside;
    EXPECT(dup2(open("/dev/zero", O_RDONLY | O_CLOEXEC), 0) == 0);
    int free_fd = next_fd();
    EXPECT(fstat(0, &before) == 0);
    verbs_fd_guard_begin();
    EXPECT(fstat(0, &inside) == 0 && inside.st_rdev == before.st_rdev && next_fd() == free_fd);
    verbs_fd_guard_end();
    EXPECT(fstat(0, &inside) == 0 && inside.st_rdev == before.st_rdev && next_fd() == free_fd);
    return 0;
}

static pthread_barrier_t meeting;

static void *stay_inside(void *unused)
{
    verbs_fd_guard_begin();
    pthread_barrier_wait(&meeting); /* inside */
    pthread_barrier_wait(&meeting); /* others have left theirs */
    verbs_fd_guard_end();
    return unused;
}

static int guard_of_a_child(void)
{
    EXPECT(!is_open(0) && next_fd() == 0);
    verbs_fd_guard_end(); /* of a section that began before fork() */
    verbs_fd_guard_begin();
    EXPECT(is_open(0) && next_fd() > 2);
    verbs_fd_guard_end();
    EXPECT(!is_open(0));
    return 0;
}

static int threads_overlap(void)
{
    int status = 0;
    pthread_t thread;
    close(0);
    EXPECT(pthread_barrier_init(&meeting, NULL, 2) == 0);
    EXPECT(pthread_create(&thread, NULL, stay_inside, NULL) == 0);
    verbs_fd_guard_begin();
    pthread_barrier_wait(&meeting);
    verbs_fd_guard_end();
    EXPECT(is_open(0) && next_fd() > 2); /* the other thread is still inside */
    pid_t child = fork();
    if (child == 0)
        _exit(guard_of_a_child());
    EXPECT(child > 0 && waitpid(child, &status, 0) == child);
    EXPECT(is_open(0));
    pthread_barrier_wait(&meeting);
    pthread_join(thread, NULL);
    EXPECT(!is_open(0));
    return WIFEXITED(status) ? WEXITSTATUS(status) : 1;
}

TEST_ALONE(nesting)
{
    assert_int_equal(in_child(sections_nest), 0);
}

TEST_ALONE(open_streams)
{
    assert_int_equal(in_child(open_streams_are_left_alone), 0);
}

TEST_ALONE(threads_and_fork)
{
    assert_int_equal(in_child(threads_overlap), 0);
}
