/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that wait in a socket for a successor. */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "handover/internal.h"

enum { MANY = 30000 };

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 4096; fd++)
        count += fcntl(fd, F_GETFD) >= 0;
    return count;
}

/* A pipe whose ends differ is enough to tell an order: it is given alternately. */
static void all_come_out_in_order(void **state)
{
    (void)state;
    int ends[2], *given = malloc(MANY * sizeof *given), *taken;
    struct stat first, second;
    struct rlimit limit;
    assert_non_null(given);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    uint32_t count = (uint32_t)(limit.rlim_max > 3 * MANY ? MANY : limit.rlim_max / 3);
    limit.rlim_cur = limit.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    ends[0] = open("/dev/null", O_RDONLY | O_CLOEXEC);
    ends[1] = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    assert_int_equal(fstat(ends[0], &first), 0);
    assert_int_equal(fstat(ends[1], &second), 0);
    for (uint32_t i = 0; i < count; i++)
        given[i] = ends[i % 3 == 0];
    int queue = rsmd_queue_fill(given, count, 0);
    assert_true(queue > STDERR_FILENO);
    close(ends[0]);
    close(ends[1]);
    assert_int_equal(rsmd_queue_empty(queue, &taken), count);
    for (uint32_t i = 0; i < count; i++) {
        struct stat what;
        assert_int_equal(fstat(taken[i], &what), 0);
        assert_int_equal(what.st_rdev, i % 3 == 0 ? second.st_rdev : first.st_rdev);
        assert_int_equal(fcntl(taken[i], F_GETFD), FD_CLOEXEC);
        close(taken[i]);
    }
    free(taken);
    /* Once. */
    assert_int_equal(rsmd_queue_empty(queue, &taken), 0);
    assert_int_equal(errno, EBADMSG);
    assert_null(taken);
    close(queue);
    free(given);
}

/* With a buffer as small as the kernel makes it, the same descriptors take many sockets. */
static void small_buffers_suffice(void **state)
{
    int whole = rsmd_queue_buffer;
    rsmd_queue_buffer = 1;
    all_come_out_in_order(state);
    rsmd_queue_buffer = whole;
}

static void nothing_stays_open_of_many_sockets(void **state)
{
    (void)state;
    enum { COUNT = 6000 };
    unsigned before = open_descriptors();
    int whole = rsmd_queue_buffer, given[COUNT], *taken;
    rsmd_queue_buffer = 1;
    for (size_t i = 0; i < COUNT; i++)
        given[i] = STDIN_FILENO;
    int queue = rsmd_queue_fill(given, COUNT, 0);
    assert_true(queue >= 0);
    close(queue);
    assert_int_equal(open_descriptors(), before);
    given[COUNT - 1] = -1;
    assert_int_equal(rsmd_queue_fill(given, COUNT, COUNT), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(open_descriptors(), before);
    /* A head without the queue that has the first descriptor gives nothing. */
    given[COUNT - 1] = STDIN_FILENO;
    queue = rsmd_queue_fill(given, COUNT, 0);
    char label[64];
    assert_true(queue >= 0 && recv(queue, label, sizeof label, 0) > 0);
    assert_int_equal(rsmd_queue_empty(queue, &taken), 0);
    assert_int_equal(errno, EBADMSG);
    close(queue);
    assert_int_equal(open_descriptors(), before);
    rsmd_queue_buffer = whole;
}

static void nothing_stays_open(void **state)
{
    (void)state;
    unsigned before = open_descriptors();
    int given[600];
    for (size_t i = 0; i < sizeof given / sizeof given[0]; i++)
        given[i] = STDIN_FILENO;
    int queue = rsmd_queue_fill(given, sizeof given / sizeof given[0], 0);
    assert_true(queue >= 0);
    close(queue);
    given[599] = -1;
    assert_int_equal(rsmd_queue_fill(given, 600, 600), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(rsmd_queue_fill(given, 0, 0), -1);
    assert_int_equal(open_descriptors(), before);
}

static void close_all(int *fds, uint32_t count)
{
    for (uint32_t i = 0; i < count; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    free(fds);
}

/* The others come, in their places. */
static void one_that_is_refused_is_left_out(void **state)
{
    (void)state;
    enum { COUNT = 1000 };
    static const uint32_t refused[] = {7, 249, 250, 251, 777, COUNT - 1};
    unsigned before = open_descriptors();
    int given[COUNT], *taken;
    for (size_t i = 0; i < COUNT; i++)
        given[i] = STDIN_FILENO;
    for (size_t i = 0; i < sizeof refused / sizeof refused[0]; i++)
        given[refused[i]] = -1;
    for (int small = 0; small < 2; small++) {
        int whole = rsmd_queue_buffer;
        rsmd_queue_buffer = small ? 1 : whole;
        int queue = rsmd_queue_fill(given, COUNT, 7);
        rsmd_queue_buffer = whole;
        assert_true(queue >= 0);
        assert_int_equal(rsmd_queue_empty(queue, &taken), COUNT);
        for (size_t i = 0; i < COUNT; i++)
            assert_int_equal(taken[i] >= 0, given[i] >= 0);
        close_all(taken, COUNT);
        close(queue);
    }
    assert_int_equal(rsmd_queue_fill(given, COUNT, 8), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(open_descriptors(), before);
}

/* As a user without privileges: the first ones are there, and nothing behind the first that was refused. */
static bool first_ones_come(int buffer)
{
    enum { COUNT = 3000, ALLOWED = 1000, MOST = 4000 };
    const struct rlimit few = {ALLOWED, MOST}, many = {MOST, MOST};
    int given[COUNT], *taken;
    uint32_t came = 0;
    for (size_t i = 0; i < COUNT; i++)
        given[i] = STDIN_FILENO;
    rsmd_queue_buffer = buffer;
    int queue = setrlimit(RLIMIT_NOFILE, &few) == 0 ? rsmd_queue_fill(given, COUNT, 4) : -1;
    if (queue < 0 || setrlimit(RLIMIT_NOFILE, &many) < 0 ||
        rsmd_queue_empty(queue, &taken) != COUNT)
        return false;
    while (came < COUNT && taken[came] >= 0)
        came++;
    bool rest = false;
    for (uint32_t i = came; i < COUNT; i++)
        rest |= taken[i] >= 0;
    close_all(taken, COUNT);
    close(queue);
    return came >= ALLOWED / 2 && came < COUNT && !rest;
}

static void too_many_on_their_way_leave_out_the_last(void **state)
{
    (void)state;
    enum { NOBODY = 65534 };
    int status;
    if (geteuid() != 0)
        skip(); /* a user whose other programs pass descriptors, too, has no number to rely upon */
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0)
        _exit(setuid(NOBODY) == 0 && first_ones_come(rsmd_queue_buffer) && first_ones_come(1) ? 0
                                                                                              : 1);
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

/* Who may have fewer than were given gets those that he may have. */
static void fewer_are_taken_than_given(void **state)
{
    (void)state;
    enum { COUNT = 600, MOST = 300 };
    unsigned before = open_descriptors(), came = 0;
    struct rlimit limit, few;
    int given[COUNT], *taken;
    for (size_t i = 0; i < COUNT; i++)
        given[i] = STDIN_FILENO;
    int queue = rsmd_queue_fill(given, COUNT, COUNT);
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    few = (struct rlimit){MOST, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    assert_int_equal(rsmd_queue_empty(queue, &taken), COUNT);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);
    for (size_t i = 0; i < COUNT; i++)
        came += taken[i] >= 0;
    assert_true(taken[0] >= 0 && came < MOST && came > MOST / 2);
    close_all(taken, COUNT);
    close(queue);
    assert_int_equal(open_descriptors(), before);
}

/* Messages that somebody else has written. */
static void other_messages_are_refused(void **state)
{
    (void)state;
    const struct {
        uint32_t words[4];
        size_t bytes;
    } wrong[] = {
        {{0x51444d52, 1, 0}, 12},          /* none comes with it */
        {{0x51444d52, 0, 0}, 12},          /* of none */
        {{0x51444d52, 0xffffffff, 0}, 12}, /* of more than there can be */
        {{0x51444d52, 2, 1}, 12},          /* not the first */
        {{0x51444d53, 1, 0}, 12},          /* another magic */
        {{0x51444d52, 1}, 8},              /* too short */
        {{0x51444d52, 1, 0, 0}, 16},       /* too long */
        {{0}, 0},
    };
    unsigned before = open_descriptors();
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++) {
        int ends[2], *taken;
        assert_int_equal(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        assert_int_equal(send(ends[0], wrong[i].words, wrong[i].bytes, 0), wrong[i].bytes);
        assert_int_equal(rsmd_queue_empty(ends[1], &taken), 0);
        assert_null(taken);
        close(ends[0]);
        close(ends[1]);
    }
    int *taken, plain = open("/dev/null", O_RDONLY);
    assert_int_equal(rsmd_queue_empty(plain, &taken), 0);
    close(plain);
    assert_int_equal(open_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_come_out_in_order),
        cmocka_unit_test(nothing_stays_open),
        cmocka_unit_test(small_buffers_suffice),
        cmocka_unit_test(nothing_stays_open_of_many_sockets),
        cmocka_unit_test(one_that_is_refused_is_left_out),
        cmocka_unit_test(too_many_on_their_way_leave_out_the_last),
        cmocka_unit_test(fewer_are_taken_than_given),
        cmocka_unit_test(other_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
