/* SPDX-License-Identifier: BSD-3-Clause */
/* Descriptors that wait in a socket for a successor. */
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cmocka_all.h"
#include "handover/queue.h"

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
    int queue = rsmd_queue_fill(given, count);
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
    int queue = rsmd_queue_fill(given, COUNT);
    assert_true(queue >= 0);
    close(queue);
    assert_int_equal(open_descriptors(), before);
    given[COUNT - 1] = -1;
    assert_int_equal(rsmd_queue_fill(given, COUNT), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(open_descriptors(), before);
    /* A head whose queues are not all there gives nothing. */
    given[COUNT - 1] = STDIN_FILENO;
    queue = rsmd_queue_fill(given, COUNT);
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
    int queue = rsmd_queue_fill(given, sizeof given / sizeof given[0]);
    assert_true(queue >= 0);
    close(queue);
    given[599] = -1;
    assert_int_equal(rsmd_queue_fill(given, 600), -1);
    assert_int_equal(errno, EBADF);
    assert_int_equal(rsmd_queue_fill(given, 0), -1);
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
        cmocka_unit_test(other_messages_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
