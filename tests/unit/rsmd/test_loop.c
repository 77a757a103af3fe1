/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * How long one client has to wait while others do their worst: the longest connect to a segment, by
 * a process that comes for it and says HELLO first, under each of several loads.
 *
 * The product's aim is 100 ms on a machine that has a processor for the daemon. Here others may be
 * at work, so a load is tried several times, the best time counts, and the bar is a multiple; each
 * load holds up a daemon that does the work in its loop for much longer. The figures are printed.
 */
#include <arpa/inet.h>
#include <netinet/in.h>

#include "client.h"
#include "descriptors.h"
#include "rsm/rsm_common.h"

enum {
    BAR_MS = 250,
    TRIES = 5,
    SEGMENT = 0x710000,
    SEGMENTS = 50000, /* that a client leaves */
    IMPORTS = 2000,
    FLOODERS = 200,
    FLOOD_MS = 1500,
    LINGER_S = 3,
    USER = 4100,
};

static struct daemon daemon_1;
static int exporter;
static uint64_t page;

static int start(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    daemon_start(&daemon_1,
                 "[controller sci0]\ntransport = shm\n"
                 "[controller wrsm0]\ntransport = slow\noptions = 1500\n",
                 NULL);
    /* Who may, measures the daemon and not what else the machine does. */
    setpriority(PRIO_PROCESS, (id_t)daemon_1.pid, -15);
    exporter = peer_hello(&daemon_1);
    publish_page(exporter, SEGMENT, 0666);
    return 0;
}

static int stop(void **state)
{
    close(exporter);
    daemon_stop(&daemon_1);
    return 0;
}

static int64_t now_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

/* The client that a load was prepared with. */
static struct {
    int socket;
    uint32_t extent;
    uint64_t before; /* bytes exported */
} taken = {.socket = -1};

/* ------------------------------------------------------------------ the one who waits */

struct watch {
    pid_t pid;
    struct {
        atomic_bool over;
        atomic_int connects;
        _Atomic int64_t worst_ns;
    } * shared;
};

static bool connect_once(void)
{
    struct rsm_msg wanted = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {
            .controller = "sci0", .node = 1, .segment_id = SEGMENT, .rights = RSM_RIGHT_READ}};
    int socket;
    while ((socket = rsm_packet_connect(daemon_1.socket)) < 0 && errno == EAGAIN)
        usleep(100);
    bool done = socket >= 0 && client_hello(socket, 1, 4 * PEER_WAIT_MS) == RSM_ST_OK &&
                client_ask(socket, &wanted, NULL, 4 * PEER_WAIT_MS) == RSM_ST_OK;
    close(socket);
    return done;
}

static struct watch watch_begin(void)
{
    struct watch watch;
    watch.shared =
        mmap(NULL, sizeof *watch.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(watch.shared, MAP_FAILED);
    watch.pid = fork();
    assert_true(watch.pid >= 0);
    if (watch.pid > 0)
        return watch;
    close(taken.socket); /* its end is to be seen */
    setpriority(PRIO_PROCESS, 0, -15);
    while (!atomic_load(&watch.shared->over)) {
        int64_t begun = now_ns();
        if (!connect_once())
            _exit(1);
        int64_t took = now_ns() - begun;
        if (took > atomic_load(&watch.shared->worst_ns))
            atomic_store(&watch.shared->worst_ns, took);
        atomic_fetch_add(&watch.shared->connects, 1);
    }
    _exit(0);
}

/* Milliseconds. */
static double watch_end(struct watch *watch)
{
    atomic_store(&watch->shared->over, true);
    assert_int_equal(wait_exit(watch->pid), 0);
    double worst = (double)atomic_load(&watch->shared->worst_ns) / 1e6;
    munmap(watch->shared, sizeof *watch->shared);
    return worst;
}

static void await_connects(const struct watch *watch, int count)
{
    int before = atomic_load(&watch->shared->connects);
    while (atomic_load(&watch->shared->connects) < before + count)
        assert_int_equal(usleep(100), 0);
}

/* Try a load until its worst connect is below the bar. What prepares it is not measured. */
static void measure(const char *name, void (*prepare)(void),
                    void (*load)(const struct watch *watch))
{
    double best = 1e9;
    for (int i = 0; i < TRIES && best >= BAR_MS; i++) {
        if (prepare != NULL)
            prepare();
        struct watch watch = watch_begin();
        await_connects(&watch, 1);
        load(&watch);
        double worst = watch_end(&watch);
        print_message("%s: worst connect of another client %.1f ms\n", name, worst);
        best = worst < best ? worst : best;
    }
    assert_in_range((uintmax_t)best, 0, BAR_MS - 1);
}

/* ------------------------------------------------------------------ loads */

static void do_nothing(const struct watch *watch)
{
    await_connects(watch, 200);
}

TEST_ALONE(nobody_else)
{
    measure("nobody else", NULL, do_nothing);
}

static uint64_t much;

/* Take much memory, with pages in it. */
static void take_much(void)
{
    struct rsm_packet_fds fds;
    taken.socket = peer_hello(&daemon_1);
    taken.before = inspect_exports(exporter).exported_bytes;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0", .length = much}};
    assert_int_equal(ask_with(taken.socket, &msg, NULL, &fds), RSM_ST_OK);
    assert_int_equal(fallocate(fds.fds[0], 0, 0, (off_t)much), 0);
    rsm_packet_fds_close(&fds);
    taken.extent = msg.u.extent_alloc_reply.extent;
}

static void await_its_end(const struct watch *watch)
{
    while (inspect_exports(exporter).exported_bytes != taken.before)
        usleep(1000);
    await_connects(watch, 1);
}

static void give_back(const struct watch *watch)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_FREE, .u.extent_free.extent = taken.extent};
    assert_int_equal(ask(taken.socket, &msg), RSM_ST_OK);
    await_its_end(watch);
    close(taken.socket);
}

static void leave_it(const struct watch *watch)
{
    close(taken.socket);
    await_its_end(watch);
}

/* A quarter of what is free, and 4 GiB at most. */
TEST_ALONE(freeing)
{
    uint64_t available = (uint64_t)sysconf(_SC_AVPHYS_PAGES) * page;
    much = available / 4 < UINT64_C(4) << 30 ? available / 4 / page * page : UINT64_C(4) << 30;
    if (much < UINT64_C(1) << 30) {
        print_message("needs 4 GiB of free memory\n");
        skip();
    }
    print_message("%.1f GiB\n", (double)much / (1 << 30));
    measure("freeing memory", take_much, give_back);
    measure("death of a client with much memory", take_much, leave_it);
}

static void register_much(const struct watch *watch)
{
    enum { CLIENTS = 6 };
    int sockets[CLIENTS];
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    uint64_t before = inspect_exports(exporter).exported_bytes;
    struct rsm_msg msg = {
        .type = RSM_MSG_EXTENT_ALLOC,
        .u.extent_alloc = {.controller = "wrsm0", .length = 4 * (uint64_t)RSM_EXTENT_SMALL}};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    for (int i = 0; i < CLIENTS; i++) {
        sockets[i] = peer_hello(&daemon_1);
        assert_int_equal(rsm_packet_send(sockets[i], buffer, length, NULL, 1), 0);
    }
    await_readable(sockets[0]);
    for (int i = 0; i < CLIENTS; i++)
        close(sockets[i]);
    while (inspect_exports(exporter).exported_bytes != before)
        usleep(1000);
    await_connects(watch, 1);
}

TEST_ALONE(registering)
{
    measure("registering and deregistering", NULL, register_much);
}

/* A client with many segments, made without waiting for each. */
static int many_segments(void)
{
    static uint8_t bytes[RSM_PROTO_MESSAGE_MAX], reply[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_CREATE,
                          .u.export_create = {.controller = "sci0", .length = page, .mode = 0600}};
    size_t length = rsm_msg_encode(&msg, bytes, sizeof bytes);
    int socket = peer_hello(&daemon_1);
    for (int sent = 0, answered = 0; answered < SEGMENTS;) {
        while (sent < SEGMENTS && sent < answered + 64 &&
               rsm_packet_send(socket, bytes, length, NULL, 1) == 0)
            sent++;
        await_readable(socket);
        while (rsm_packet_receive(socket, reply, sizeof reply, NULL, NULL) > 0)
            answered++;
    }
    return socket;
}

static void make_many(void)
{
    struct rsm_import_connect_reply import;
    taken.socket = many_segments();
    for (int i = 0; i < IMPORTS; i++)
        assert_int_equal(connect_on(taken.socket, "sci0", 1, SEGMENT, 6, &import), RSM_ST_OK);
}

static void leave_many(const struct watch *watch)
{
    close(taken.socket);
    while (inspect_exports(exporter).segments > 2) /* perhaps the watcher's */
        usleep(1000);
    await_connects(watch, 1);
}

TEST_ALONE(the_death_of_a_client)
{
    measure("death of a client with many segments", make_many, leave_many);
}

/* Keep as many requests in each socket as it takes. */
static void flood(const int *sockets, const void *bytes, size_t length)
{
    static uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    int64_t end = now_ns() + (int64_t)FLOOD_MS * 1000000;
    while (now_ns() < end)
        for (int i = 0; i < FLOODERS; i++) {
            for (int n = 0; n < 16 && rsm_packet_send(sockets[i], bytes, length, NULL, 1) == 0; n++)
                continue;
            while (rsm_packet_receive(sockets[i], buffer, sizeof buffer, NULL, NULL) > 0)
                continue;
        }
}

static void look_all_the_time(const struct watch *watch)
{
    static int sockets[FLOODERS];
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (geteuid() == 0 && setresuid(USER, USER, USER) < 0)
            _exit(1);
        for (int i = 0; i < FLOODERS; i++)
            sockets[i] = peer_hello(&daemon_1);
        flood(sockets, buffer, length);
        _exit(0);
    }
    assert_int_equal(wait_exit(child), 0);
    await_connects(watch, 1);
}

TEST_ALONE(inspecting)
{
    int socket = many_segments();
    measure("INSPECT by 200 clients", NULL, look_all_the_time);
    close(socket);
    while (inspect_exports(exporter).segments > 2)
        usleep(1000);
}

/* ------------------------------------------------------------------ descriptors that do not close
 */

/* A connection whose close waits for a peer that reads nothing. *peer: that one. */
static int lingering(int *peer)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t size = sizeof address;
    struct linger linger = {.l_onoff = 1, .l_linger = LINGER_S};
    static const char bytes[65536];
    int listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    int made = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (struct sockaddr *)&address, size), 0);
    assert_int_equal(listen(listener, 1), 0);
    assert_int_equal(getsockname(listener, (struct sockaddr *)&address, &size), 0);
    assert_int_equal(connect(made, (struct sockaddr *)&address, size), 0);
    *peer = accept(listener, NULL, NULL);
    assert_true(*peer >= 0);
    close(listener);
    assert_int_equal(setsockopt(made, SOL_SOCKET, SO_LINGER, &linger, sizeof linger), 0);
    while (send(made, bytes, sizeof bytes, MSG_DONTWAIT) > 0)
        continue;
    return made;
}

/* Put such connections into the queues of so many clients, and leave. */
static void send_what_does_not_close(const struct watch *watch)
{
    enum { CLIENTS = 4 };
    int peers[CLIENTS], sockets[CLIENTS];
    uint8_t hello[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    size_t length = rsm_msg_encode(&msg, hello, sizeof hello);
    for (int i = 0; i < CLIENTS; i++) {
        int slow = lingering(&peers[i]);
        /* Stopped for a moment, so that it does not look at the connection before. */
        assert_int_equal(kill(daemon_1.pid, SIGSTOP), 0);
        usleep(1000);
        sockets[i] = peer_connect(&daemon_1);
        /* Half of them beside nothing. */
        int error = send_with(sockets[i], hello, i % 2 != 0 ? length : 0, &slow, 1);
        close(slow); /* not the last one: the daemon's queue has that */
        assert_int_equal(kill(daemon_1.pid, SIGCONT), 0);
        assert_int_equal(error, 0);
        close(sockets[i]);
    }
    await_connects(watch, 20);
    for (int i = 0; i < CLIENTS; i++)
        close(peers[i]);
}

TEST_ALONE(descriptors_that_do_not_close)
{
    if (!let_descriptors_in(&daemon_1))
        skip();
    measure("descriptors that take long to close", NULL, send_what_does_not_close);
}

TESTS_BETWEEN(start, stop)
