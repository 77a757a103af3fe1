/* SPDX-License-Identifier: BSD-3-Clause */
/* A system's daemon and several users, some of whom want everything: the others and root are
 * served all the same. */
#include "base/memory_limit.h"
#include "rsm/rsm_common.h"
#include "users.h"

enum {
    FILES = 400, /* descriptors of a daemon that has few */
    TAKEN_MAX = 20000,
};

/* Take extents of that length until there are no more; how many. */
static unsigned alloc_all(int fd, uint64_t length, enum rsm_status refusal)
{
    unsigned count = 0;
    enum rsm_status status;
    while ((status = alloc(fd, length)) == RSM_ST_OK)
        assert_true(++count < TAKEN_MAX);
    assert_int_equal(status, refusal);
    return count;
}

/* The same with segments. */
static unsigned create_all(int fd)
{
    unsigned count = 0;
    enum rsm_status status;
    while ((status = create(fd, 0)) == RSM_ST_OK)
        assert_true(++count < TAKEN_MAX);
    assert_int_equal(status, RSM_ST_NO_RESOURCES);
    return count;
}

/* ------------------------------------------------------------------ who wants everything */

TEST_ALONE(two_clients_that_take_all_descriptors)
{
    struct daemon daemon;
    start_with_files(&daemon, NULL, FILES);
    int one = hello_as(&daemon, GREEDY), two = hello_as(&daemon, GREEDY);
    unsigned count = alloc_all(one, page, RSM_ST_NO_RESOURCES);
    count += alloc_all(two, page, RSM_ST_NO_RESOURCES);
    assert_in_range(count, FILES / 4, FILES - FILES / 8);
    assert_int_equal(create(two, 1), RSM_ST_NO_RESOURCES); /* no segment is left of that, either */
    int modest = hello_as(&daemon, MODEST);
    for (int i = 0; i < 8; i++)
        assert_int_equal(create(modest, 1), RSM_ST_OK);
    /* All users together leave some to root. */
    alloc_all(modest, page, RSM_ST_NO_RESOURCES);
    int root = hello_as(&daemon, 0);
    for (int i = 0; i < 4; i++)
        assert_int_equal(create(root, 1), RSM_ST_OK);
    assert_true(alloc_all(root, page, RSM_ST_NO_RESOURCES) < FILES);
    /* Even then the daemon has what it needs itself. */
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}};
    assert_int_equal(ask(modest, &msg), RSM_ST_OK);
    close(one);
    close(two);
    int again = hello_as(&daemon, GREEDY);
    assert_int_equal(create(again, 1), RSM_ST_OK);
    close(again);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

TEST_ALONE(one_user_who_takes_all_segments)
{
    struct daemon daemon;
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 40\n",
                 NULL);
    int one = hello_as(&daemon, GREEDY), two = hello_as(&daemon, GREEDY);
    assert_int_equal(create_all(one), 30);
    assert_int_equal(create_all(two), 0);
    int modest = hello_as(&daemon, MODEST), root = hello_as(&daemon, 0);
    assert_int_equal(create_all(modest), 8);
    assert_int_equal(create_all(root), 2);
    close(one);
    close(two);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

TEST_ALONE(one_client_that_takes_all_65535_segments)
{
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    int one = hello_as(&daemon, GREEDY), modest = hello_as(&daemon, MODEST);
    unsigned count = 0;
    while (create(one, 0) == RSM_ST_OK)
        count++;
    assert_in_range(count, 40000, 60000);
    assert_int_equal(create(modest, 1), RSM_ST_OK);
    close(one);
    close(modest);
    daemon_stop(&daemon);
}

static void memory_check(const char *configuration)
{
    struct daemon daemon;
    uint64_t physical = rsmcore_memory_size();
    uint64_t part = physical / 32 / page * page; /* sparse: nothing is stored there */
    daemon_start(&daemon, configuration, NULL);
    int one = hello_as(&daemon, GREEDY), two = hello_as(&daemon, GREEDY);
    assert_in_range(alloc_all(one, part, RSM_ST_NO_MEMORY), 8, 28);
    assert_int_equal(alloc(two, part), RSM_ST_NO_MEMORY);
    int modest = hello_as(&daemon, MODEST), root = hello_as(&daemon, 0);
    assert_int_equal(alloc(modest, part), RSM_ST_OK);
    assert_int_equal(alloc(root, part), RSM_ST_OK);
    close(one);
    close(two);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

TEST_ALONE(one_user_who_reserves_all_memory)
{
    memory_check(NULL);
    /* Without a limit a user still has one. */
    memory_check("[controller sci0]\ntransport = shm\n[limits]\nmax-exported-memory = 0\n");
}

/* ------------------------------------------------------------------ connections */

TEST_ALONE(silent_connections_lock_nobody_out)
{
    enum { SILENT = 4096 };
    struct daemon daemon;
    static int sockets[SILENT];
    struct rlimit files;
    assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
    files.rlim_cur = files.rlim_max;
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
    if (files.rlim_cur < SILENT + 100) {
        print_message("needs more than %d descriptors (RLIMIT_NOFILE)\n", SILENT + 100);
        skip();
    }
    daemon_start(&daemon, NULL, NULL);
    for (int i = 0; i < SILENT; i++) {
        be(i % 2 == 0 ? GREEDY : GREEDY_TOO);
        sockets[i] = connect_patiently(&daemon);
    }
    int modest = hello_as(&daemon, MODEST), root = hello_as(&daemon, 0);
    assert_int_equal(create(modest, 1), RSM_ST_OK);
    assert_int_equal(create(root, 1), RSM_ST_OK);
    assert_true(descriptors_of(&daemon) < 1000);
    for (int i = 0; i < SILENT; i++)
        close(sockets[i]);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

/* As many as may be, all greeted; the last ones are told why not. */
TEST_ALONE(greeted_connections_have_a_share)
{
    struct daemon daemon;
    int sockets[FILES], refused;
    unsigned count = 0;
    start_with_files(&daemon, NULL, FILES);
    be(GREEDY);
    for (;; count++) {
        assert_true(count < FILES);
        sockets[count] = connect_patiently(&daemon);
        refused = greet(sockets[count]);
        if (refused != RSM_ST_OK)
            break;
    }
    be(0);
    assert_int_equal(refused, RSM_ST_NO_RESOURCES);
    assert_true(count >= 20);
    int modest = hello_as(&daemon, MODEST), root = hello_as(&daemon, 0);
    assert_int_equal(create(modest, 1), RSM_ST_OK);
    assert_int_equal(create(root, 1), RSM_ST_OK);
    /* A refused one may try again when there is room. */
    close(sockets[0]);
    be(GREEDY);
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; (refused = greet(sockets[count])) == RSM_ST_NO_RESOURCES; waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    be(0);
    assert_int_equal(refused, RSM_ST_OK);
    for (unsigned i = 1; i <= count; i++)
        close(sockets[i]);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

static long elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

TEST_ALONE(who_says_nothing_is_dropped)
{
    struct daemon daemon;
    struct timespec begun;
    daemon_start(&daemon, NULL, NULL);
    int greeted = hello_as(&daemon, GREEDY);
    clock_gettime(CLOCK_MONOTONIC, &begun);
    be(GREEDY);
    int silent = connect_patiently(&daemon);
    be(0);
    expect_hangup(silent);
    assert_true(elapsed_ms(&begun) >= RSM_PROTO_GREETING_MS - 100);
    assert_int_equal(create(greeted, 1), RSM_ST_OK);
    close(silent);
    close(greeted);
    daemon_stop(&daemon);
}

/* Who has greeted is never pushed out, although the daemon had no time to read it. */
TEST_ALONE(a_crowd_that_greets_at_once)
{
    enum { CROWD = 60 }; /* more than may be silent */
    struct daemon daemon;
    int sockets[CROWD];
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = 1}};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    start_with_files(&daemon, NULL, FILES);
    assert_int_equal(kill(daemon.pid, SIGSTOP), 0);
    be(GREEDY);
    for (int i = 0; i < CROWD; i++) {
        sockets[i] = connect_patiently(&daemon);
        assert_int_equal(rsm_packet_send(sockets[i], buffer, length, NULL, 0), 0);
    }
    be(0);
    assert_int_equal(kill(daemon.pid, SIGCONT), 0);
    for (int i = 0; i < CROWD; i++) {
        struct pollfd readable = {.fd = sockets[i], .events = POLLIN};
        struct rsm_packet_fds fds = {.count = 0};
        assert_int_equal(poll(&readable, 1, PEER_WAIT_MS), 1);
        ssize_t got = rsm_packet_receive(sockets[i], buffer, sizeof buffer, &fds, NULL);
        assert_true(got > 0);
        assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)got), RSM_ST_OK);
        assert_int_equal(msg.status, RSM_ST_OK);
        rsm_packet_fds_close(&fds);
        close(sockets[i]);
    }
    daemon_stop(&daemon);
}

static unsigned occurrences(const char *text, const char *what)
{
    unsigned count = 0;
    while ((text = strstr(text, what)) != NULL) {
        count++;
        text += strlen(what);
    }
    return count;
}

/* The log says what is full and whose it is, and not again at once. */
TEST_ALONE(the_log_says_who_has_it)
{
    struct daemon daemon;
    static char text[65536];
    int ends[2], before = dup(STDERR_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    dup2(ends[1], STDERR_FILENO);
    daemon_log_level = "--log-level=warning";
    daemon_start(&daemon, "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 40\n",
                 NULL);
    daemon_log_level = "--log-level=error";
    dup2(before, STDERR_FILENO);
    close(before);
    int one = hello_as(&daemon, GREEDY), modest = hello_as(&daemon, MODEST);
    uint64_t all = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
    create_all(one);
    create_all(one);
    create_all(modest);
    assert_int_equal(alloc(modest, all), RSM_ST_NO_MEMORY);
    assert_int_equal(alloc(modest, all), RSM_ST_NO_MEMORY);
    close(one);
    close(modest);
    daemon_stop(&daemon);
    assert_true(read(ends[0], text, sizeof text - 1) > 0);
    assert_int_equal(occurrences(text, "\n"), 2);
    assert_int_equal(
        occurrences(text, "user 4001 has 30 of the 30 segments that one user may take"), 1);
    assert_int_equal(occurrences(text, "user 4003 has 0 of the "), 1);
    assert_int_equal(occurrences(text, "bytes of exported memory"), 1);
    close(ends[0]);
    close(ends[1]);
}

TESTS_BETWEEN(need_root, NULL)
