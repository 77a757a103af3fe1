/* SPDX-License-Identifier: BSD-3-Clause */
/* A system's daemon and several users, some of whom want everything: the others and root are
 * served all the same. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"
#include "rsm/rsm_common.h"

enum {
    GREEDY = 4001,
    GREEDY_TOO = 4002,
    MODEST = 4003,
    FILES = 400, /* descriptors of a daemon that has few */
    TAKEN_MOST = 20000,
};

static uint64_t page;

static int need_root(void **state)
{
    (void)state;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    if (geteuid() == 0)
        return 0;
    print_message("needs root, for several users\n");
    exit(77);
}

/* ------------------------------------------------------------------ users */

/* What follows is done as that user; by be(0) as root again. */
static void be(uid_t uid)
{
    assert_int_equal(setresuid(0, 0, 0), 0);
    if (uid != 0)
        assert_int_equal(setresuid(uid, uid, 0), 0);
}

/* Connect although very many do. */
static int connect_patiently(const struct daemon *daemon)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int fd;
    for (int waited = 0; (fd = rsm_packet_connect(daemon->socket)) < 0; waited++) {
        assert_int_equal(errno, EAGAIN);
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    return fd;
}

/* Say HELLO on a connection: the status, or -1: the daemon hung up. */
static int greet(int fd)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO,
                          .u.hello = {.api_version = RSM_VERSION, .node = 1}};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    struct pollfd readable = {.fd = fd, .events = POLLIN};
    struct rsm_packet_fds fds = {.count = 0};
    if (rsm_packet_send(fd, buffer, length, NULL, 1) != 0)
        return -1;
    assert_int_equal(poll(&readable, 1, PEER_WAIT_MS), 1);
    ssize_t got = rsm_packet_receive(fd, buffer, sizeof buffer, &fds, NULL);
    rsm_packet_fds_close(&fds);
    if (got <= 0)
        return -1;
    assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)got), RSM_ST_OK);
    return (int)msg.status;
}

static int hello_as(const struct daemon *daemon, uid_t uid)
{
    be(uid);
    int fd = connect_patiently(daemon);
    assert_int_equal(greet(fd), RSM_ST_OK);
    be(0);
    return fd;
}

static enum rsm_status alloc(int fd, uint64_t length)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0", .length = length}};
    enum rsm_status status = ask_with(fd, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    return status;
}

static enum rsm_status create(int fd, uint32_t want_extent)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {
            .controller = "sci0", .length = page, .mode = 0600, .want_extent = want_extent}};
    enum rsm_status status = ask_with(fd, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    return status;
}

/* Take extents of that length until there are no more; how many. */
static unsigned alloc_all(int fd, uint64_t length, enum rsm_status refusal)
{
    unsigned count = 0;
    enum rsm_status status;
    while ((status = alloc(fd, length)) == RSM_ST_OK)
        assert_true(++count < TAKEN_MOST);
    assert_int_equal(status, refusal);
    return count;
}

/* The same with segments. */
static unsigned create_all(int fd)
{
    unsigned count = 0;
    enum rsm_status status;
    while ((status = create(fd, 0)) == RSM_ST_OK)
        assert_true(++count < TAKEN_MOST);
    assert_int_equal(status, RSM_ST_NO_RESOURCES);
    return count;
}

/* ------------------------------------------------------------------ daemons */

/* A daemon that may have so many descriptors. */
static void start_with_files(struct daemon *daemon, const char *configuration, unsigned files)
{
    daemon_files = files;
    daemon_start(daemon, configuration, NULL);
    daemon_files = 0;
}

static unsigned descriptors_of(pid_t pid)
{
    char path[64];
    unsigned count = 0;
    snprintf(path, sizeof path, "/proc/%d/fd", (int)pid);
    DIR *directory = opendir(path);
    assert_non_null(directory);
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count - 2;
}

static struct rsm_shares_reply look_after(int fd, uint64_t after)
{
    struct rsm_msg msg = {.type = RSM_MSG_SHARES, .u.shares = {.after = after}};
    assert_int_equal(ask(fd, &msg), RSM_ST_OK);
    return msg.u.shares_reply;
}

static struct rsm_shares_reply look(int fd)
{
    return look_after(fd, 0);
}

/* What a user has according to a reply; NULL: nothing. */
static const uint64_t *used_by(const struct rsm_shares_reply *reply, uid_t uid)
{
    for (uint32_t i = 0; i < reply->count; i++)
        if (reply->users[i].node == 0 && reply->users[i].uid == uid)
            return reply->users[i].used;
    return NULL;
}

/* Nothing is left of anybody but the one connection of root, which asks. */
static void await_nothing(int fd, const struct daemon *daemon, unsigned descriptors)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    struct rsm_shares_reply reply = look(fd);
    for (int waited = 0; reply.count != 1 || reply.limits[RSM_SHARES_DESCRIPTORS].used != 2 ||
                         descriptors_of(daemon->pid) != descriptors;
         waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
        reply = look(fd);
    }
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++)
        assert_int_equal(reply.limits[i].used, i == RSM_SHARES_CONNECTIONS   ? 1
                                               : i == RSM_SHARES_DESCRIPTORS ? 2
                                                                             : 0);
    assert_int_equal(reply.users[0].uid, 0);
}

/* ------------------------------------------------------------------ who wants everything */

static void two_clients_that_take_all_descriptors(void **state)
{
    (void)state;
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
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {"sci", 0}};
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

static void one_user_who_takes_all_segments(void **state)
{
    (void)state;
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

static void one_client_that_takes_all_65535_segments(void **state)
{
    (void)state;
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
    uint64_t physical = (uint64_t)sysconf(_SC_PHYS_PAGES) * page;
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

static void one_user_who_reserves_all_memory(void **state)
{
    (void)state;
    memory_check(NULL);
    /* Without a limit a user still has one. */
    memory_check("[controller sci0]\ntransport = shm\n[limits]\nmax-exported-memory = 0\n");
}

/* ------------------------------------------------------------------ connections */

static void silent_connections_lock_nobody_out(void **state)
{
    (void)state;
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
    assert_true(descriptors_of(daemon.pid) < 1000);
    for (int i = 0; i < SILENT; i++)
        close(sockets[i]);
    close(modest);
    close(root);
    daemon_stop(&daemon);
}

/* As many as may be, all greeted; the last ones are told why not. */
static void greeted_connections_have_a_share(void **state)
{
    (void)state;
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

static void who_says_nothing_is_dropped(void **state)
{
    (void)state;
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
static void a_crowd_that_greets_at_once(void **state)
{
    (void)state;
    enum { CROWD = 60 }; /* more than may be silent */
    struct daemon daemon;
    int sockets[CROWD];
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO,
                          .u.hello = {.api_version = RSM_VERSION, .node = 1}};
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

/* ------------------------------------------------------------------ who sees what */

static void a_user_sees_his_own_share(void **state)
{
    (void)state;
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    int one = hello_as(&daemon, GREEDY), other = hello_as(&daemon, MODEST);
    int root = hello_as(&daemon, 0);
    publish_page(one, 0x500000, 0666);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, 3);
    assert_int_equal(reply.more, 0);
    const uint64_t *used = used_by(&reply, GREEDY);
    assert_non_null(used);
    assert_int_equal(used[RSM_SHARES_CONNECTIONS], 1);
    assert_int_equal(used[RSM_SHARES_DESCRIPTORS], 3); /* socket, pidfd, extent */
    assert_int_equal(used[RSM_SHARES_SEGMENTS], 1);
    assert_int_equal(used[RSM_SHARES_BYTES], page);
    assert_int_equal(used[RSM_SHARES_PINNED], 0); /* shm pins nothing */
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].total, 65535);
    assert_int_equal(reply.limits[RSM_SHARES_CONNECTIONS].used, 3);
    be(MODEST);
    reply = look(other);
    be(0);
    assert_int_equal(reply.count, 1);
    assert_int_equal(reply.users[0].uid, MODEST);
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].used, 1);
    close(one);
    close(other);
    close(root);
    daemon_stop(&daemon);
}

static void many_users_come_in_pages(void **state)
{
    (void)state;
    enum { USERS = RSM_PROTO_USERS_MAX + 10 };
    struct daemon daemon;
    int sockets[USERS];
    daemon_start(&daemon, NULL, NULL);
    int root = hello_as(&daemon, 0);
    for (uid_t i = 0; i < USERS; i++)
        sockets[i] = hello_as(&daemon, 5000 + i);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, RSM_PROTO_USERS_MAX);
    assert_int_equal(reply.more, 1);
    uint64_t last = reply.users[reply.count - 1].serial;
    close(sockets[3]); /* one who has been told of goes, and nobody is left out or told twice */
    reply = look_after(root, last);
    assert_int_equal(reply.count, USERS + 1 - RSM_PROTO_USERS_MAX);
    assert_int_equal(reply.more, 0);
    assert_true(reply.users[0].serial > last);
    assert_int_equal(reply.users[reply.count - 1].uid, 5000 + USERS - 1);
    for (uid_t i = 0; i < USERS; i++)
        if (i != 3)
            close(sockets[i]);
    close(root);
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
static void the_log_says_who_has_it(void **state)
{
    (void)state;
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

/* ------------------------------------------------------------------ deaths */

/* Make a bit of everything, say so, and wait for death. */
static void live(const struct daemon *daemon, uid_t uid, int to_test)
{
    int fd = hello_as(daemon, uid);
    be(uid);
    uint32_t id = 0x500000 + uid;
    uint32_t export = publish_page(fd, id, 0666);
    struct rsm_import_connect_reply import;
    if (connect_on(fd, "sci0", 1, id, RSM_RIGHT_READ, &import) != RSM_ST_OK)
        _exit(1);
    for (uint32_t end = RSM_EVENT_EXPORT; end <= RSM_EVENT_IMPORT; end++) {
        struct rsm_packet_fds fds;
        struct rsm_msg msg = {
            .type = RSM_MSG_EVENT_OPEN,
            .u.event_open = {end, end == RSM_EVENT_EXPORT ? export : import.import}};
        if (ask_with(fd, &msg, NULL, &fds) != RSM_ST_OK)
            _exit(1);
    }
    if (write(to_test, "", 1) != 1)
        _exit(1);
    for (;;)
        pause();
}

static void nothing_is_left_of_the_dead(void **state)
{
    (void)state;
    enum { LIVES = 6 };
    struct daemon daemon;
    pid_t pids[LIVES];
    int ends[2];
    char byte;
    daemon_start(&daemon, NULL, NULL);
    int root = hello_as(&daemon, 0);
    unsigned before = descriptors_of(daemon.pid);
    assert_int_equal(pipe(ends), 0);
    for (uid_t i = 0; i < LIVES; i++) {
        pids[i] = fork();
        assert_true(pids[i] >= 0);
        if (pids[i] == 0)
            live(&daemon, GREEDY + i, ends[1]);
    }
    for (int i = 0; i < LIVES; i++)
        assert_int_equal(read(ends[0], &byte, 1), 1);
    struct rsm_shares_reply reply = look(root);
    assert_int_equal(reply.count, LIVES + 1);
    assert_int_equal(reply.limits[RSM_SHARES_SEGMENTS].used, 2 * LIVES);
    assert_int_equal(descriptors_of(daemon.pid) - before,
                     reply.limits[RSM_SHARES_DESCRIPTORS].used - 2);
    for (int i = 0; i < LIVES; i++) {
        assert_int_equal(kill(pids[i], SIGKILL), 0);
        assert_int_equal(wait_exit(pids[i]), -SIGKILL);
    }
    await_nothing(root, &daemon, before);
    close(ends[0]);
    close(ends[1]);
    close(root);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ at random */

enum { PARTIES = 12, THINGS = 64, RANDOM_STEPS = 6000 };

static const uid_t party_users[] = {0, GREEDY, GREEDY_TOO, MODEST};

/* A connection and ids of what it may have; some are stale, which is as good. */
static struct party {
    uid_t uid;
    int socket; /* -1: not connected */
    uint32_t extents[THINGS], exports[THINGS], imports[THINGS];
} parties[PARTIES];
static unsigned refusals; /* for want of something */

static uint32_t *thing(uint32_t *things, unsigned *seed)
{
    return &things[(unsigned)rand_r(seed) % THINGS];
}

static enum rsm_status ask_and_drop(const struct party *party, struct rsm_msg *msg)
{
    struct rsm_packet_fds fds = {.count = 0};
    enum rsm_status status = ask_with(party->socket, msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    refusals += status == RSM_ST_NO_RESOURCES || status == RSM_ST_NO_MEMORY;
    return status;
}

static enum rsm_status arm(const struct party *party, uint32_t end, uint32_t id)
{
    int pipe_ends[2];
    assert_int_equal(pipe2(pipe_ends, O_CLOEXEC | O_NONBLOCK), 0);
    struct rsm_packet_fds fds = {.count = 1, .fds = {pipe_ends[1]}};
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_ARM, .u.event_arm = {end, id}};
    enum rsm_status status = ask_with(party->socket, &msg, &fds, NULL);
    close(pipe_ends[0]);
    close(pipe_ends[1]);
    return status;
}

static void extent_step(struct party *party, unsigned *seed)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_FREE,
                          .u.extent_free = {.extent = *thing(party->extents, seed)}};
    if (rand_r(seed) % 2 == 0) {
        ask_and_drop(party, &msg);
        return;
    }
    msg = (struct rsm_msg){
        .type = RSM_MSG_EXTENT_ALLOC,
        .u.extent_alloc = {.controller = "sci0", .length = page * ((uint64_t)rand_r(seed) % 4096)}};
    if (ask_and_drop(party, &msg) == RSM_ST_OK)
        *thing(party->extents, seed) = msg.u.extent_alloc_reply.extent;
}

static void export_step(struct party *party, unsigned *seed)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0",
                                              .length = page,
                                              .mode = 0666,
                                              .want_extent = (uint32_t)rand_r(seed) % 2}};
    switch (rand_r(seed) % 4) {
    case 0:
        destroy(party->socket, *thing(party->exports, seed), NULL);
        return;
    case 1:
        unpublish(party->socket, *thing(party->exports, seed), (uint32_t)rand_r(seed) % 2, NULL);
        return;
    case 2:
        publish(party->socket, *thing(party->exports, seed), 1 + (uint32_t)rand_r(seed) % 50,
                *thing(party->extents, seed), page, NULL, 0);
        return;
    default:
        if (ask_and_drop(party, &msg) != RSM_ST_OK)
            return;
        *thing(party->exports, seed) = msg.u.export_create_reply.export;
        *thing(party->extents, seed) = msg.u.export_create_reply.extent;
    }
}

static void import_step(struct party *party, unsigned *seed)
{
    struct rsm_import_connect_reply reply;
    if (rand_r(seed) % 2 == 0)
        disconnect(party->socket, *thing(party->imports, seed));
    else if (connect_on(party->socket, "sci0", 1, 1 + (uint32_t)rand_r(seed) % 50, RSM_RIGHT_READ,
                        &reply) == RSM_ST_OK)
        *thing(party->imports, seed) = reply.import;
}

static void event_step(struct party *party, unsigned *seed)
{
    uint32_t end = 1 + (uint32_t)rand_r(seed) % 2;
    uint32_t id = *thing(end == RSM_EVENT_EXPORT ? party->exports : party->imports, seed);
    struct rsm_msg open = {.type = RSM_MSG_EVENT_OPEN, .u.event_open = {end, id}};
    struct rsm_msg peers = {.type = RSM_MSG_EVENT_PEERS, .u.event_peers = {end, id, 0}};
    switch (rand_r(seed) % 3) {
    case 0:
        ask_and_drop(party, &open);
        return;
    case 1:
        ask_and_drop(party, &peers);
        return;
    default:
        arm(party, end, id);
    }
}

static void random_step(const struct daemon *daemon, struct party *party, unsigned *seed)
{
    be(party->uid);
    if (party->socket < 0) {
        party->socket = connect_patiently(daemon);
        if (greet(party->socket) != RSM_ST_OK) {
            close(party->socket);
            party->socket = -1;
        }
    } else if (rand_r(seed) % 200 == 0) {
        close(party->socket);
        party->socket = -1;
        memset(party->extents, 0, sizeof party->extents);
        memset(party->exports, 0, sizeof party->exports);
        memset(party->imports, 0, sizeof party->imports);
    } else {
        void (*const steps[])(struct party *, unsigned *) = {extent_step, export_step, import_step,
                                                             event_step};
        steps[(unsigned)rand_r(seed) % 4](party, seed);
    }
    be(0);
}

/* Whether the daemon's sums agree with each other and with its descriptors. */
static bool sums_agree(int root, const struct daemon *daemon, unsigned descriptors)
{
    struct rsm_shares_reply reply = look(root);
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    assert_int_equal(ask(root, &msg), RSM_ST_OK);
    for (unsigned i = 0; i < RSM_SHARES_COUNT; i++) {
        uint64_t sum = 0;
        for (uint32_t u = 0; u < reply.count; u++) {
            sum += reply.users[u].used[i];
            assert_true(reply.users[u].uid == 0 || reply.users[u].used[i] <= reply.limits[i].one);
        }
        assert_int_equal(sum, reply.limits[i].used);
        assert_true(sum <= reply.limits[i].total);
    }
    uint32_t exports = msg.u.inspect_reply.total;
    msg = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_IMPORTS}};
    assert_int_equal(ask(root, &msg), RSM_ST_OK);
    /* A client that closed may not have been noticed yet, or its descriptors not been closed. */
    return reply.limits[RSM_SHARES_SEGMENTS].used == exports + msg.u.inspect_reply.total &&
           descriptors_of(daemon->pid) - descriptors ==
               reply.limits[RSM_SHARES_DESCRIPTORS].used - 2;
}

static void await_agreement(int root, const struct daemon *daemon, unsigned descriptors)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; !sums_agree(root, daemon, descriptors); waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

static void random_users(void **state)
{
    (void)state;
    struct daemon daemon;
    unsigned seed = 4711; /* fixed, so that a failure repeats */
    start_with_files(&daemon,
                     "[controller sci0]\ntransport = shm\n[limits]\nmax-segments = 150\n"
                     "max-exported-memory = 5\nmax-user-share = 40\n",
                     700);
    int root = hello_as(&daemon, 0);
    unsigned descriptors = descriptors_of(daemon.pid);
    for (unsigned i = 0; i < PARTIES; i++) {
        memset(&parties[i], 0, sizeof parties[i]);
        parties[i].uid = party_users[i % 4];
        parties[i].socket = -1;
    }
    for (unsigned step = 0; step < RANDOM_STEPS; step++) {
        random_step(&daemon, &parties[(unsigned)rand_r(&seed) % PARTIES], &seed);
        if (step % 100 == 0)
            await_agreement(root, &daemon, descriptors);
    }
    for (unsigned i = 0; i < PARTIES; i++)
        if (parties[i].socket >= 0)
            close(parties[i].socket);
    await_nothing(root, &daemon, descriptors);
    assert_true(refusals > 10); /* else nothing has been tried */
    close(root);
    daemon_stop(&daemon);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_clients_that_take_all_descriptors),
        cmocka_unit_test(one_user_who_takes_all_segments),
        cmocka_unit_test(one_client_that_takes_all_65535_segments),
        cmocka_unit_test(one_user_who_reserves_all_memory),
        cmocka_unit_test(silent_connections_lock_nobody_out),
        cmocka_unit_test(greeted_connections_have_a_share),
        cmocka_unit_test(who_says_nothing_is_dropped),
        cmocka_unit_test(a_crowd_that_greets_at_once),
        cmocka_unit_test(a_user_sees_his_own_share),
        cmocka_unit_test(many_users_come_in_pages),
        cmocka_unit_test(the_log_says_who_has_it),
        cmocka_unit_test(nothing_is_left_of_the_dead),
        cmocka_unit_test(random_users),
    };
    return cmocka_run_group_tests(tests, need_root, NULL);
}
