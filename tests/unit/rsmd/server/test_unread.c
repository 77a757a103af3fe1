/* SPDX-License-Identifier: BSD-3-Clause */
/*
 * A user who asks for descriptors and reads no reply, of a daemon without privileges: the kernel
 * passes on no more descriptors of its user's than it may have open (RLIMIT_NOFILE).
 */
#include <errno.h>
#include <poll.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "users.h"

enum {
    SERVICE = 4004, /* the daemon's user, which nothing else here runs as */
    FILES = 512,
    CONNECTIONS = 16,
    REQUESTS = 60, /* of each connection; a reply has one descriptor */
};

static struct daemon daemon_1;

static int set_up(void **state)
{
    (void)state;
    daemon_user = SERVICE;
    daemon_files = FILES;
    daemon_start(&daemon_1, NULL, "--all-users");
    daemon_files = 0;
    daemon_user = DAEMON_USER_SELF;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
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

/* What all have of descriptors, as root is shown it. */
static uint64_t descriptors_in_use(int root)
{
    return look(root).limits[RSM_SHARES_DESCRIPTORS].used;
}

static void pause_for_a_moment(void)
{
    nanosleep(&(struct timespec){.tv_nsec = 5000000}, NULL);
}

/* All requests of all connections, as far as the daemon takes them: until nothing changes. */
static void ask_for_everything(struct greedy *greedy, int root)
{
    uint64_t now = 0, before;
    do {
        before = now;
        for (unsigned i = 0; i < CONNECTIONS; i++)
            send_all(&greedy[i]);
        for (int i = 0; i < 10; i++)
            pause_for_a_moment();
        now = descriptors_in_use(root);
    } while (now != before);
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

static void await_in_use(int root, uint64_t descriptors)
{
    for (int waited = 0; descriptors_in_use(root) != descriptors; waited++) {
        assert_true(waited < PEER_WAIT_MS / 5);
        pause_for_a_moment();
    }
}

static void a_user_who_reads_nothing_waits_alone(void **state)
{
    (void)state;
    static struct greedy greedy[CONNECTIONS];
    int root = hello_as(&daemon_1, 0);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin(&greedy[i]);
    uint64_t before = descriptors_in_use(root);
    ask_for_everything(greedy, root);
    assert_true(descriptors_in_use(root) > before);
    assert_true(descriptors_in_use(root) <= FILES);
    others_are_served();
    /* Nothing is lost: each request has its reply as soon as there is room. */
    for (unsigned i = 0, done = 0; done < CONNECTIONS; i = (i + 1) % CONNECTIONS) {
        send_all(&greedy[i]);
        read_some(&greedy[i]);
        for (done = 0; done < CONNECTIONS && greedy[done].answered == REQUESTS;)
            done++;
        poll(NULL, 0, 1);
    }
    await_in_use(root, before + CONNECTIONS); /* a counter each */
    for (unsigned i = 0; i < CONNECTIONS; i++)
        close(greedy[i].fd);
    await_in_use(root, 2);
    close(root);
}

/* Sockets that the daemon has done with hold their replies for as long as the client keeps them. */
static void so_does_one_who_is_hung_up_on(void **state)
{
    (void)state;
    static struct greedy greedy[CONNECTIONS];
    int root = hello_as(&daemon_1, 0);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        begin(&greedy[i]);
    ask_for_everything(greedy, root);
    uint64_t full = descriptors_in_use(root);
    for (unsigned i = 0; i < CONNECTIONS; i++)
        shutdown(greedy[i].fd, SHUT_WR);
    for (int i = 0; i < 20; i++)
        pause_for_a_moment();
    assert_true(descriptors_in_use(root) > full / 2);
    others_are_served();
    for (unsigned i = 0; i < CONNECTIONS; i++)
        close(greedy[i].fd);
    await_in_use(root, 2);
    close(root);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_user_who_reads_nothing_waits_alone, set_up, tear_down),
        cmocka_unit_test_setup_teardown(so_does_one_who_is_hung_up_on, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, need_root, NULL);
}
