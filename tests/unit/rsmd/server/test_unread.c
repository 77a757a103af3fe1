/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user who asks for descriptors and reads no reply, of a daemon without privileges: the kernel
 * passes on no more descriptors of its user's than it may have open (RLIMIT_NOFILE).
 */
#include "users.h"

enum {
    SERVICE = 4004, /* the daemon's user, which nothing else here runs as */
    FILES = 512,
    CONNECTIONS = 16,
    REQUESTS = 60, /* of each connection; a reply has one descriptor */
    TURNS = 700,
};

static int set_up(void **state)
{
    daemon_user = SERVICE;
    daemon_files = FILES;
    daemon_start(&daemon_1, NULL, "--all-users");
    daemon_files = 0;
    daemon_user = DAEMON_USER_SELF;
    return 0;
}

static int tear_down(void **state)
{
    daemon_stop(&daemon_1);
    return 0;
}

struct greedy {
    int fd;
    unsigned sent, answered;
    struct rsm_msg open;
};

static void begin(struct greedy *greedy)
{
    greedy->fd = hello_as(&daemon_1, GREEDY);
    be(GREEDY);
    greedy->open =
        (struct rsm_msg){.type = RSM_MSG_EVENT_OPEN,
                         .u.event_open = {RSM_EVENT_EXPORT, make_export(greedy->fd, page, 0600)}};
    be(0);
}

static void send_all(struct greedy *greedy)
{
    uint8_t bytes[256];
    size_t length = rsm_msg_encode(&greedy->open, bytes, sizeof bytes);
    be(GREEDY);
    while (greedy->sent < REQUESTS && rsm_packet_send(greedy->fd, bytes, length, NULL, 0) == 0)
        greedy->sent++;
    be(0);
}

static void read_some(struct greedy *greedy)
{
    uint8_t bytes[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds fds = {.count = 0};
    struct rsm_msg msg;
    ssize_t length;
    while ((length = rsm_packet_receive(greedy->fd, bytes, sizeof bytes, &fds, NULL)) > 0) {
        assert_int_equal(rsm_msg_decode(&msg, bytes, (size_t)length), RSM_ST_OK);
        assert_int_equal(msg.status, RSM_ST_OK);
        assert_int_equal(fds.count, 1);
        rsm_packet_fds_close(&fds);
        greedy->answered++;
    }
    assert_int_equal(length, -EAGAIN);
}

static void pause_for_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* All requests of all connections, as far as the daemon takes them. */
static void ask_for_everything(struct greedy *greedy)
{
    for (int i = 0; i < 20; i++) {
        for (unsigned k = 0; k < CONNECTIONS; k++)
            send_all(&greedy[k]);
        pause_for_a_moment();
    }
}

static void others_are_served(void)
{
    int modest = hello_as(&daemon_1, MODEST);
    be(MODEST);
    struct rsm_msg msg = {.type = RSM_MSG_EVENT_OPEN,
                          .u.event_open = {RSM_EVENT_EXPORT, make_export(modest, page, 0600)}};
    struct rsm_packet_fds fds;
    assert_int_equal(ask_with(modest, &msg, NULL, &fds), RSM_ST_OK);
    be(0);
    assert_int_equal(fds.count, 1);
    rsm_packet_fds_close(&fds);
    close(modest);
}

#define TEST(test) TEST_BETWEEN(test, set_up, tear_down)

TEST(a_user_who_reads_nothing_waits_alone)
{
    static struct greedy greedy[CONNECTIONS];
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin(&greedy[i]);
    ask_for_everything(greedy);
    others_are_served();
    /* Nothing is lost: each request has its reply as soon as there is room. */
    for (unsigned i = 0, done = 0; done < CONNECTIONS; i = (i + 1) % CONNECTIONS) {
        send_all(&greedy[i]);
        read_some(&greedy[i]);
        for (done = 0; done < CONNECTIONS && greedy[done].answered == REQUESTS;)
            done++;
        poll(NULL, 0, 1);
    }
    for (unsigned i = 0; i < CONNECTIONS; i++)
        close(greedy[i].fd);
}

/* Sockets that the daemon has done with hold their replies for as long as the client keeps them. */
TEST(so_does_one_who_is_hung_up_on)
{
    static int sockets[TURNS];
    uint8_t bytes[256];
    struct rsm_msg hello = {.type = RSM_MSG_HELLO, .u.hello = {.node = 1}};
    size_t length = rsm_msg_encode(&hello, bytes, sizeof bytes);
    be(GREEDY);
    for (unsigned i = 0; i < TURNS; i++) {
        sockets[i] = connect_patiently(&daemon_1);
        (void)rsm_packet_send(sockets[i], bytes, length, NULL, 0);
        await_readable(sockets[i]); /* a reply, or the end */
        shutdown(sockets[i], SHUT_WR);
    }
    be(0);
    others_are_served();
    for (unsigned i = 0; i < TURNS; i++)
        close(sockets[i]);
}

TESTS_BETWEEN(need_root, NULL)
