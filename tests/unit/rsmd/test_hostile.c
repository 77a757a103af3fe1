/* SPDX-License-Identifier: BSD-3-Clause */
/* Clients that break the protocol, and that the others do not suffer. */
#include "descriptors.h"
#include "rsm/rsm_common.h"

static struct daemon daemon_1;
static int innocent; /* a client that behaves, and must be served all the time */

static int start(void **state)
{
    daemon_start(&daemon_1, NULL, NULL);
    innocent = peer_hello(&daemon_1);
    publish_page(innocent, 0x600000, 0666);
    return 0;
}

static int stop(void **state)
{
    close(innocent);
    daemon_stop(&daemon_1);
    return 0;
}

static int still_served(void **state)
{
    struct rsm_import_connect_reply import;
    assert_int_equal(connect_on(innocent, "sci0", 1, 0x600000, 6, &import), RSM_ST_OK);
    assert_int_equal(disconnect(innocent, import.import), RSM_ST_OK);
    return 0;
}

static size_t encoded(struct rsm_msg msg, uint8_t *buffer)
{
    size_t length = rsm_msg_encode(&msg, buffer, RSM_PROTO_MESSAGE_MAX);
    assert_true(length > 0);
    return length;
}

static void put_u32(uint8_t *at, uint32_t value)
{
    for (int i = 0; i < 4; i++)
        at[i] = (uint8_t)(value >> (8 * i));
}

static void expect_refusal(const void *bytes, size_t length, int status)
{
    int socket = peer_hello(&daemon_1);
    assert_int_equal(ask_raw(socket, bytes, length, NULL), status);
    if (status >= 0)
        expect_hangup(socket);
    close(socket);
}

/* It ends, after an answer to what had a header. */
static void expect_end(int socket, bool is_answered)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    if (is_answered) {
        assert_int_equal(poll(&readable, 1, PEER_WAIT_MS), 1);
        ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, NULL, NULL);
        assert_true(got > 0);
        assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)got), RSM_ST_OK);
        assert_int_equal(msg.status, RSM_ST_PROTOCOL);
    }
    expect_hangup(socket);
}

#define HOSTILE_TEST(name) TEST_BETWEEN(name, NULL, still_served)

HOSTILE_TEST(without_hello)
{
    for (uint32_t type = RSM_MSG_CONTROLLER; type <= RSM_MSG_LAST; type++) {
        struct rsm_msg msg = {.type = type};
        int socket = peer_connect(&daemon_1);
        assert_int_equal(ask(socket, &msg), RSM_ST_PROTOCOL);
        expect_hangup(socket);
        close(socket);
    }
}

HOSTILE_TEST(hello_twice)
{
    int socket = peer_hello(&daemon_1);
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    assert_int_equal(ask(socket, &msg), RSM_ST_PROTOCOL);
    expect_hangup(socket);
    close(socket);
}

HOSTILE_TEST(headers)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg hello = {.type = RSM_MSG_HELLO, .u.hello = {1}};
    size_t length = encoded(hello, buffer);
    expect_refusal("x", 1, -1);
    expect_refusal(buffer, 12, -1); /* magic and version, but no header yet */
    put_u32(buffer, 0x12345678);
    expect_refusal(buffer, length, -1);
    length = encoded(hello, buffer);
    put_u32(buffer + 4, RSM_PROTO_VERSION + 1);
    expect_refusal(buffer, length, RSM_ST_VERSION);
    for (uint32_t type = 0; type < 0x20000; type += type < 40 ? 1 : 0x7fff) {
        if (type >= RSM_MSG_HELLO && type <= RSM_MSG_LAST)
            continue;
        length = encoded(hello, buffer);
        put_u32(buffer + 8, type);
        expect_refusal(buffer, length, RSM_ST_PROTOCOL);
    }
    length = encoded(hello, buffer);
    put_u32(buffer + 16, RSM_ST_BUSY); /* a request has no status */
    expect_refusal(buffer, length, RSM_ST_PROTOCOL);
    length = encoded((struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY | RSM_MSG_REPLY}, buffer);
    expect_refusal(buffer, length, RSM_ST_PROTOCOL);
}

/* Every message, shortened and lengthened. */
HOSTILE_TEST(wrong_lengths)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX] = {0};
    for (uint32_t type = RSM_MSG_CONTROLLER; type <= RSM_MSG_LAST; type++) {
        size_t length = encoded((struct rsm_msg){.type = type}, buffer);
        expect_refusal(buffer, length - 1, RSM_ST_PROTOCOL);
        expect_refusal(buffer, 20, RSM_ST_PROTOCOL);
        buffer[length] = 0;
        expect_refusal(buffer, length + 1, RSM_ST_PROTOCOL);
        expect_refusal(buffer, sizeof buffer, RSM_ST_PROTOCOL);
    }
    static uint8_t enormous[RSM_PROTO_MESSAGE_MAX + 1];
    encoded((struct rsm_msg){.type = RSM_MSG_EXPORT_DESTROY}, enormous);
    expect_refusal(enormous, sizeof enormous, RSM_ST_PROTOCOL);
}

HOSTILE_TEST(impossible_counts)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_REPUBLISH,
                          .u.export_republish = {.export_id = 1, .acl_count = 64}};
    size_t length = encoded(msg, buffer);
    static const uint32_t counts[] = {65, 0x7fffffff, 0xffffffff};
    for (unsigned i = 0; i < 3; i++) {
        put_u32(buffer + 24, counts[i]);
        expect_refusal(buffer, length, RSM_ST_PROTOCOL);
    }
    msg = (struct rsm_msg){.type = RSM_MSG_LOCATE, .u.locate = {.controller = "sci0"}};
    length = encoded(msg, buffer);
    put_u32(buffer + 20, RSM_PROTO_NAME_MAX);
    expect_refusal(buffer, length, RSM_ST_PROTOCOL);
}

/* No request carries descriptors. Kernels that can refuse them do; from others rsmd hangs up. */
static void expect_no_descriptors_taken(const void *bytes, size_t length, unsigned count)
{
    int fds[FDS_IN_A_PACKET];
    int socket = peer_hello(&daemon_1);
    for (unsigned i = 0; i < count; i++)
        fds[i] = socket;
    int error = send_with(socket, bytes, length, fds, count);
    if (error != 0)
        assert_int_equal(error, EPERM);
    else
        expect_end(socket, length > 0);
    close(socket);
}

HOSTILE_TEST(descriptors_that_nobody_asked_for)
{
    static const unsigned counts[] = {1, 2, 64, 65, FDS_IN_A_PACKET};
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    size_t length = encoded((struct rsm_msg){.type = RSM_MSG_EVENT_ARM}, buffer);
    for (unsigned i = 0; i < sizeof counts / sizeof counts[0]; i++) {
        expect_no_descriptors_taken(buffer, length, counts[i]);
        expect_no_descriptors_taken(buffer, 0, counts[i]);
    }
}

/* Descriptors that come all the same, in packets with and without bytes, before or after the
 * greeting, leave none behind. */
HOSTILE_TEST(descriptors_in_the_queue)
{
    enum { ROUNDS = 50 };
    struct daemon daemon;
    uint8_t hello[RSM_PROTO_MESSAGE_MAX];
    int fds[FDS_IN_A_PACKET];
    daemon_start(&daemon, NULL, NULL);
    if (!let_descriptors_in(&daemon)) {
        daemon_stop(&daemon);
        skip();
    }
    size_t length = encoded((struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}}, hello);
    for (unsigned i = 0; i < FDS_IN_A_PACKET; i++)
        fds[i] = STDERR_FILENO;
    int watcher = peer_hello(&daemon);
    unsigned before = descriptors_of(&daemon);
    for (unsigned round = 0; round < ROUNDS; round++) {
        assert_int_equal(kill(daemon.pid, SIGSTOP), 0);
        int socket = peer_connect(&daemon);
        if (round % 2 != 0)
            assert_int_equal(rsm_packet_send(socket, hello, length, NULL, 0), 0);
        int error = send_with(socket, hello, round % 3 != 0 ? length : 0, fds, 1 + round * 5);
        assert_int_equal(kill(daemon.pid, SIGCONT), 0);
        assert_int_equal(error, 0);
        struct pollfd over = {.fd = socket, .events = POLLRDHUP};
        assert_int_equal(poll(&over, 1, PEER_WAIT_MS), 1);
        close(socket);
    }
    for (int i = 0; i < PEER_WAIT_MS && descriptors_of(&daemon) != before; i++)
        usleep(1000);
    assert_int_equal(descriptors_of(&daemon), before);
    close(watcher);
    daemon_stop(&daemon);
}

/* Who was refused can read why after the daemon has closed the socket, with what it never received. */
HOSTILE_TEST(answers_outlive_the_socket)
{
    struct daemon daemon;
    uint8_t hello[RSM_PROTO_MESSAGE_MAX], refused[RSM_PROTO_MESSAGE_MAX];
    const int fds[2] = {STDERR_FILENO, STDERR_FILENO};
    daemon_start(&daemon, NULL, NULL);
    if (!let_descriptors_in(&daemon)) {
        daemon_stop(&daemon);
        skip();
    }
    int watcher = peer_hello(&daemon);
    size_t length = encoded((struct rsm_msg){.type = RSM_MSG_EVENT_ARM}, refused);
    size_t hello_length = encoded((struct rsm_msg){.type = RSM_MSG_HELLO, .u.hello = {1}}, hello);
    unsigned before = descriptors_of(&daemon);
    assert_int_equal(kill(daemon.pid, SIGSTOP), 0);
    int socket = peer_connect(&daemon);
    assert_int_equal(rsm_packet_send(socket, hello, hello_length, NULL, 0), 0);
    assert_int_equal(send_with(socket, refused, length, fds, 2), 0);
    assert_int_equal(send_with(socket, refused, 0, fds, 2), 0);
    assert_int_equal(rsm_packet_send(socket, refused, length, NULL, 0), 0);
    assert_int_equal(kill(daemon.pid, SIGCONT), 0);
    struct pollfd over = {.fd = socket, .events = POLLRDHUP};
    assert_int_equal(poll(&over, 1, PEER_WAIT_MS), 1);
    for (int i = 0; i < PEER_WAIT_MS && descriptors_of(&daemon) != before; i++)
        usleep(1000);
    struct rsm_packet_fds received;
    assert_true(rsm_packet_receive(socket, hello, sizeof hello, &received, NULL) > 0);
    rsm_packet_fds_close(&received);
    expect_end(socket, true);
    close(socket);
    close(watcher);
    daemon_stop(&daemon);
}

/* Noise behind a right header; the seed is fixed, so that a failure repeats. */
HOSTILE_TEST(noise)
{
    uint8_t buffer[600];
    unsigned seed = 4711;
    for (int round = 0; round < 2000; round++) {
        size_t length = 20 + (size_t)rand_r(&seed) % (sizeof buffer - 20);
        for (size_t i = 0; i < length; i++)
            buffer[i] = (uint8_t)(rand_r(&seed) % (round % 2 != 0 ? 256 : 3));
        put_u32(buffer, RSM_PROTO_MAGIC);
        put_u32(buffer + 4, RSM_PROTO_VERSION);
        put_u32(buffer + 8, (uint32_t)rand_r(&seed) % 20);
        put_u32(buffer + 16, 0);
        int socket = round % 5 != 0 ? peer_hello(&daemon_1) : peer_connect(&daemon_1);
        ask_raw(socket, buffer, length, NULL);
        close(socket);
    }
}

/* One who asks and never reads is dropped when the kernel holds no more of its replies. */
HOSTILE_TEST(one_who_never_reads)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    size_t length = encoded((struct rsm_msg){.type = RSM_MSG_TOPOLOGY}, buffer);
    int socket = peer_hello(&daemon_1);
    struct pollfd writable = {.fd = socket, .events = POLLOUT};
    for (;;) {
        int error = rsm_packet_send(socket, buffer, length, NULL, 0);
        if (error == -EPIPE || error == -ECONNRESET)
            break;
        assert_true(error == 0 || error == -EAGAIN);
        if (error == -EAGAIN)
            assert_int_equal(poll(&writable, 1, PEER_WAIT_MS), 1);
    }
    close(socket);
}

HOSTILE_TEST(many_who_say_nothing)
{
    enum { SILENT = 300 };
    int sockets[SILENT];
    for (int i = 0; i < SILENT; i++)
        sockets[i] = peer_connect(&daemon_1);
    still_served(state);
    for (int i = 0; i < SILENT; i++)
        close(sockets[i]);
}

static long cpu_ms(pid_t pid)
{
    clockid_t clock;
    struct timespec used;
    assert_int_equal(clock_getcpuclockid(pid, &clock), 0);
    assert_int_equal(clock_gettime(clock, &used), 0);
    return used.tv_sec * 1000 + used.tv_nsec / 1000000;
}

/* Take extents until the daemon has no descriptors; how many it took, the refused one included. */
static int extents_until_refused(int socket)
{
    enum rsm_status status = RSM_ST_OK;
    int count = 0;
    for (; status == RSM_ST_OK && count < 1000; count++) {
        struct rsm_packet_fds fds;
        struct rsm_msg msg = {
            .type = RSM_MSG_EXTENT_ALLOC,
            .u.extent_alloc = {.controller = "sci0", .length = (uint64_t)sysconf(_SC_PAGESIZE)}};
        status = ask_with(socket, &msg, NULL, &fds);
        rsm_packet_fds_close(&fds);
    }
    assert_int_equal(status, RSM_ST_NO_RESOURCES);
    return count;
}

/* Without descriptors the daemon lets newcomers wait, serves those it has, and does not spin. */
HOSTILE_TEST(few_descriptors)
{
    enum { MOST = 40, CLIENTS = 60 };
    struct daemon daemon;
    struct rlimit few = {.rlim_cur = MOST, .rlim_max = MOST};
    int sockets[CLIENTS];
    daemon_start(&daemon, NULL, NULL);
    assert_int_equal(prlimit(daemon.pid, RLIMIT_NOFILE, &few, NULL), 0);
    int first = peer_hello(&daemon);
    for (int i = 0; i < CLIENTS; i++)
        sockets[i] = peer_connect(&daemon);
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}};
    assert_int_equal(ask(first, &msg), RSM_ST_OK);
    assert_in_range(extents_until_refused(first), 1, MOST);
    long before = cpu_ms(daemon.pid);
    struct timespec while_waiting = {.tv_nsec = 300000000};
    nanosleep(&while_waiting, NULL);
    assert_true(cpu_ms(daemon.pid) - before < 100);
    for (int i = 0; i < CLIENTS; i++)
        close(sockets[i]);
    close(first);
    int late = peer_hello(&daemon);
    close(late);
    daemon_stop(&daemon);
}

TESTS_BETWEEN(start, stop)
