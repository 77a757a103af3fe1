/* SPDX-License-Identifier: BSD-3-Clause */
#include "base/descriptor.h"
#include "cases.h"

#include "base/packet.h"

static int ends[2];

static int open_pair(void **state)
{
    int on = 1;
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, ends) < 0)
        return -1;
    return setsockopt(ends[1], SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
}

static int close_pair(void **state)
{
    close(ends[0]);
    close(ends[1]);
    return 0;
}

static unsigned open_descriptors(void)
{
    unsigned count = 0;
    for (int fd = 0; fd < 1024; fd++)
        if (fcntl(fd, F_GETFD) >= 0)
            count++;
    return count;
}

#define ON_PAIR(test) TEST_BETWEEN(test, open_pair, close_pair)

ON_PAIR(bytes_and_descriptors_arrive)
{
    char text[16];
    int pipes[2];
    assert_return_code(pipe(pipes), errno);
    struct rsm_packet_fds sent = {.count = 2, .fds = {pipes[0], pipes[1]}}, got;
    struct rsm_packet_sender sender;
    assert_int_equal(rsm_packet_send(ends[0], "hello", 5, &sent, 1), 0);
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, &got, &sender), 5);
    assert_memory_equal(text, "hello", 5);
    assert_int_equal(got.count, 2);
    assert_true(sender.known);
    assert_int_equal(sender.pid, getpid());
    assert_int_equal(sender.uid, geteuid());
    assert_true((fcntl(got.fds[0], F_GETFD) & FD_CLOEXEC) != 0);
    assert_int_equal(write(got.fds[1], "x", 1), 1);
    assert_int_equal(read(pipes[0], text, 1), 1);
    rsm_packet_fds_close(&got);
    close(pipes[0]);
    close(pipes[1]);
}

ON_PAIR(empty_socket_and_hangup_are_told_apart)
{
    char text[4];
    struct rsm_packet_fds got;
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, &got, NULL), -EAGAIN);
    shutdown(ends[0], SHUT_RDWR);
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, &got, NULL), 0);
    assert_int_equal(rsm_packet_send(ends[1], "x", 1, NULL, 0), -EPIPE); /* and no SIGPIPE */
}

ON_PAIR(oversized_packet_is_refused_with_its_descriptors)
{
    char text[4];
    unsigned before = open_descriptors();
    struct rsm_packet_fds sent = {.count = 1, .fds = {ends[0]}}, got;
    assert_int_equal(rsm_packet_send(ends[0], "12345678", 8, &sent, 0), 0);
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, &got, NULL), -EMSGSIZE);
    assert_int_equal(got.count, 0);
    assert_int_equal(open_descriptors(), before);
}

ON_PAIR(unexpected_descriptors_are_closed)
{
    char text[4];
    unsigned before = open_descriptors();
    struct rsm_packet_fds sent = {.count = 1, .fds = {ends[0]}};
    assert_int_equal(rsm_packet_send(ends[0], "x", 1, &sent, 0), 0);
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, NULL, NULL), 1);
    assert_int_equal(open_descriptors(), before);
}

ON_PAIR(descriptors_of_an_empty_packet_are_closed)
{
    char text[4];
    unsigned before = open_descriptors();
    struct rsm_packet_fds sent = {.count = 2, .fds = {ends[0], ends[0]}}, got;
    assert_int_equal(rsm_packet_send(ends[0], "", 0, &sent, 0), 0);
    assert_int_equal(rsm_packet_receive(ends[1], text, sizeof text, &got, NULL), 0);
    assert_int_equal(got.count, 0);
    assert_int_equal(open_descriptors(), before);
    assert_int_equal(rsm_packet_send(ends[0], "", 0, &sent, 0), 0);
    assert_int_equal(rsm_packet_await(ends[1], text, sizeof text, &got), 0);
    assert_int_equal(got.count, 0);
    assert_int_equal(open_descriptors(), before);
}

ON_PAIR(a_look_takes_nothing)
{
    char text[4];
    bool brings = true;
    unsigned before = open_descriptors();
    struct rsm_packet_fds sent = {.count = 1, .fds = {ends[0]}}, got;
    assert_int_equal(rsm_packet_peek(ends[1], text, sizeof text, &brings), -EAGAIN);
    assert_false(brings);
    assert_int_equal(rsm_packet_send(ends[0], "plain", 5, NULL, 0), 0);
    assert_int_equal(rsm_packet_send(ends[0], "", 0, &sent, 1), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(rsm_packet_peek(ends[1], text, sizeof text, &brings), sizeof text);
        assert_memory_equal(text, "plai", 4);
        assert_false(brings);
    }
    char whole[8];
    assert_int_equal(rsm_packet_receive(ends[1], whole, sizeof whole, &got, NULL), 5);
    assert_int_equal(rsm_packet_peek(ends[1], text, sizeof text, &brings), 0);
    assert_true(brings);
    assert_int_equal(open_descriptors(), before);
}

ON_PAIR(descriptors_can_be_refused)
{
    char text[4];
    bool brings;
    struct rsm_packet_fds sent = {.count = 1, .fds = {ends[0]}};
    assert_int_equal(rsm_packet_send(ends[0], "x", 1, &sent, 0), 0);
    assert_false(rsm_packet_refuse_fds(ends[1])); /* there is one already */
    int error = rsm_packet_send(ends[0], "y", 1, &sent, 0);
    assert_int_equal(rsm_packet_refuse_fds(ends[1]), error == -EPERM);
    assert_true(error == -EPERM || error == 0); /* before Linux 6.16 */
    assert_int_equal(rsm_packet_send(ends[0], "z", 1, NULL, 0), 0);
    assert_int_equal(rsm_packet_peek(ends[1], text, sizeof text, &brings), 1);
    assert_true(brings);
}

ON_PAIR(no_room_for_descriptors_is_reported)
{
    char text[4];
    struct rlimit limit, tight;
    unsigned before = open_descriptors();
    struct rsm_packet_fds sent = {.count = 3, .fds = {ends[0], ends[0], ends[0]}}, got;
    assert_int_equal(rsm_packet_send(ends[0], "x", 1, &sent, 0), 0);
    assert_return_code(getrlimit(RLIMIT_NOFILE, &limit), errno);
    tight = limit;
    int next = dup(0);
    close(next);
    tight.rlim_cur = (rlim_t)next + 1; /* one more and no other */
    assert_return_code(setrlimit(RLIMIT_NOFILE, &tight), errno);
    ssize_t result = rsm_packet_receive(ends[1], text, sizeof text, &got, NULL);
    assert_return_code(setrlimit(RLIMIT_NOFILE, &limit), errno);
    assert_int_equal(result, -EMFILE);
    assert_int_equal(got.count, 0);
    assert_int_equal(open_descriptors(), before);
}

ON_PAIR(slow_receiver_does_not_block_the_sender)
{
    char bulk[4096] = {0};
    int failure = 0;
    for (int i = 0; i < 10000 && failure == 0; i++)
        failure = rsm_packet_send(ends[0], bulk, sizeof bulk, NULL, 0);
    assert_int_equal(failure, -EAGAIN);
}

TEST_ALONE(low_descriptors_move_up)
{
    int saved = dup(0);
    assert_true(saved > 2);
    close(0);
    int fd = rsmcore_fd_above_stdio(open("/dev/null", O_RDONLY | O_CLOEXEC));
    assert_true(fd > 2);
    assert_int_equal(fcntl(0, F_GETFD), -1);
    assert_true((fcntl(fd, F_GETFD) & FD_CLOEXEC) != 0);
    close(fd);
    assert_int_equal(dup2(saved, 0), 0);
    close(saved);
    assert_int_equal(rsmcore_fd_above_stdio(-1), -1);
}

/* With a soft limit of @p limit: where a new descriptor and a copy of it are put. */
static void place_with_limit(rlim_t limit, int *placed, int *copy)
{
    struct rlimit before, few;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    few = before;
    few.rlim_cur = limit;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &few), 0);
    *placed = rsmcore_fd_place(open("/dev/null", O_RDONLY | O_CLOEXEC));
    *copy = rsmcore_fd_place_copy(*placed);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
    assert_true((fcntl(*placed, F_GETFD) & FD_CLOEXEC) != 0);
    assert_true((fcntl(*copy, F_GETFD) & FD_CLOEXEC) != 0);
}

TEST_ALONE(the_library_leaves_the_low_numbers_to_the_program)
{
    int next = dup(0), placed, copy;
    close(next);
    place_with_limit(1024, &placed, &copy);
    assert_true(placed >= 256 && copy >= 256);
    /* The number that open() took first is free again. */
    assert_int_equal(dup(0), next);
    assert_int_equal(rsmcore_fd_place(placed), placed);
    close(next), close(placed), close(copy);
    errno = ENOENT;
    assert_int_equal(rsmcore_fd_place(-1), -1);
    assert_int_equal(errno, ENOENT);
}

TEST_ALONE(without_room_above_they_stay_above_stdio)
{
    int placed, copy;
    const rlim_t limits[] = {200, 256, 258};
    int saved = dup(0);
    close(0);
    for (size_t i = 0; i < sizeof limits / sizeof limits[0]; i++) {
        int taken[2] = {-1, -1};
        for (unsigned j = 0; limits[i] > 256 && j < limits[i] - 256; j++)
            assert_true((taken[j] = fcntl(saved, F_DUPFD, 256)) >= 256);
        place_with_limit(limits[i], &placed, &copy);
        assert_true(placed > 2 && placed < 256 && copy > 2 && copy < 256);
        close(placed), close(copy);
        for (unsigned j = 0; j < 2; j++)
            close(taken[j]);
    }
    assert_int_equal(dup2(saved, 0), 0);
    close(saved);
}

TEST_ALONE(paths_that_do_not_fit_are_refused)
{
    char path[200];
    memset(path, 'a', sizeof path - 1);
    path[sizeof path - 1] = '\0';
    assert_int_equal(rsm_packet_connect(path), -1);
    assert_int_equal(errno, ENAMETOOLONG);
    assert_int_equal(rsm_packet_connect("/nonexistent/socket"), -1);
    assert_int_equal(errno, ENOENT);
}
