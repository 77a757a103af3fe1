/* SPDX-License-Identifier: BSD-3-Clause */
/* What a node knows of the others. */
#include <sys/random.h>

#include "base/clock.h"
#include "peer.h"
#include "rsm/rsm_common.h"

static enum rsm_status locate(int socket, const char *controller, uint32_t node,
                              struct rsm_locate_reply *reply)
{
    struct rsm_msg msg = {.type = RSM_MSG_LOCATE, .u.locate = {.node = node}};
    strcpy(msg.u.locate.controller, controller);
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK)
        *reply = msg.u.locate_reply;
    return status;
}

static struct rsm_topology_reply topology(int socket, uint32_t controller, uint32_t first)
{
    struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY, .u.topology = {controller, first}};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    return msg.u.topology_reply;
}

/* The daemon looks at others for a tenth of the time at most, and on a busy host one look may use up
 * much of that: the answer is then a little old. @return the topology with that state of the only
 * other node. */
static struct rsm_topology_reply await_state(int socket, uint32_t state)
{
    const struct timespec pause = {.tv_nsec = 1000000};
    int64_t until = rsm_clock_ns() + (int64_t)PEER_WAIT_MS * 1000000;
    struct rsm_topology_reply reply = topology(socket, 0, 0);
    while (reply.total_remotes != 1 || reply.remotes[0].state != state) {
        assert_true(rsm_clock_ns() < until);
        nanosleep(&pause, NULL);
        reply = topology(socket, 0, 0);
    }
    return reply;
}

TEST_ALONE(embedded_neighbours)
{
    struct daemon one, two;
    struct rsm_locate_reply where;
    daemon_start(&one, NULL, "--embedded");
    int socket = peer_hello(&one);
    assert_int_equal(locate(socket, "sci0", 1, &where), RSM_ST_OK);
    assert_int_equal(where.kind, RSM_LOCATE_SELF);
    assert_string_equal(where.path, one.socket);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_UNREACHABLE);
    assert_int_equal(locate(socket, "sci0", 65535, &where), RSM_ST_UNREACHABLE);
    assert_int_equal(locate(socket, "sci0", 65536, &where), RSM_ST_NO_ROUTE);
    assert_int_equal(locate(socket, "sci0", 0, &where), RSM_ST_NO_ROUTE);
    assert_int_equal(locate(socket, "sci9", 1, &where), RSM_ST_NO_CONTROLLER);
    assert_int_equal(locate(socket, "loopback", 1, &where), RSM_ST_OK);
    assert_int_equal(locate(socket, "loopback", 2, &where), RSM_ST_NO_CONTROLLER);
    assert_int_equal(connect_on(socket, "sci0", 2, 9, 4, NULL), RSM_ST_UNREACHABLE);

    struct rsm_topology_reply before = topology(socket, 0, 0);
    assert_int_equal(before.controllers, 1);
    assert_string_equal(before.name, "sci0");
    assert_int_equal(before.total_remotes, 0);
    daemon_start_in(&two, one.directory, 2, NULL, "--embedded");
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_OK);
    assert_int_equal(where.kind, RSM_LOCATE_SAME_HOST);
    assert_string_equal(where.path, two.socket);
    struct rsm_topology_reply after = await_state(socket, 3);
    assert_int_not_equal(after.generation, before.generation);
    assert_int_equal(after.remote_count, 1);
    assert_int_equal(after.remotes[0].node, 2);
    assert_string_equal(after.remotes[0].name, "sci0");
    assert_int_not_equal(after.remotes[0].hardware_address, after.hardware_address);
    assert_int_equal(topology(socket, 0, 0).generation, after.generation);
    assert_int_equal(topology(socket, 0, 1).remote_count, 0);

    /* One that stands still answers as far as a look can tell; a dead one does not. */
    assert_int_equal(kill(two.pid, SIGSTOP), 0);
    assert_int_equal(topology(socket, 0, 0).remotes[0].state, 3);
    assert_int_equal(kill(two.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(two.pid), -SIGKILL);
    await_state(socket, 1);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_UNREACHABLE);
    daemon_start_in(&two, one.directory, 2, NULL, "--embedded");
    await_state(socket, 3);
    daemon_end(&two);
    close(socket);
    daemon_stop(&one);
}

TEST_ALONE(configured_cluster)
{
    struct daemon daemon;
    struct rsm_locate_reply where;
    daemon_start(&daemon,
                 "[node 1]\nhost = localhost\n[node 7]\nhost = far.example\n"
                 "[controller sci0]\ntransport = shm\n[controller wrsm3]\ntransport = shm\n",
                 NULL);
    int socket = peer_hello(&daemon);
    struct rsm_topology_reply reply = topology(socket, 1, 0);
    assert_int_equal(reply.controllers, 2);
    assert_string_equal(reply.name, "wrsm3");
    assert_int_equal(reply.total_remotes, 1);
    assert_int_equal(reply.remotes[0].node, 7);
    assert_int_equal(reply.remotes[0].state, 1);
    assert_string_equal(reply.remotes[0].name, "wrsm3");
    reply = topology(socket, 2, 0);
    assert_int_equal(reply.controllers, 2);
    assert_int_equal(reply.remote_count, 0);
    reply = topology(socket, 0, UINT32_MAX);
    assert_int_equal(reply.total_remotes, 1);
    assert_int_equal(reply.remote_count, 0);
    assert_int_equal(locate(socket, "sci0", 7, &where), RSM_ST_UNREACHABLE);
    assert_int_equal(locate(socket, "sci0", 8, &where), RSM_ST_NO_ROUTE);
    assert_int_equal(connect_on(socket, "sci0", 7, 9, 4, NULL), RSM_ST_UNREACHABLE);
    assert_int_equal(connect_on(socket, "sci0", 8, 9, 4, NULL), RSM_ST_NO_ROUTE);
    close(socket);
    daemon_stop(&daemon);
}

static enum rsm_status greet(int socket, uint32_t node)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = node}};
    enum rsm_status status = ask_with(socket, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    return status;
}

static int socket_at(const struct sockaddr_un *address)
{
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)address, sizeof *address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

/* A file for both, with addresses of this test's own. */
static void describe_two_hosts(char *text, size_t size)
{
    uint16_t network = 0;
    size_t used = 0;
    assert_int_equal(getrandom(&network, sizeof network, 0), sizeof network);
    for (unsigned id = 1; id <= 2; id++)
        used += (size_t)snprintf(text + used, size - used,
                                 "[node %u]\nhost = localhost\naddress = 127.%u.%u.%u\n", id,
                                 1u + (network >> 8) % 250u, network & 255u, id);
    snprintf(text + used, size - used,
             "[cluster]\ninsecure = yes\n"
             "[controller sci0]\ntransport = peek\n[controller here0]\ntransport = shm\n");
}

static void expect_link_to(int socket, uint32_t node)
{
    struct rsm_msg msg = {.type = RSM_MSG_LINKS};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    assert_int_equal(msg.u.links_reply.auth, RSM_LINK_AUTH_NONE);
    assert_int_equal(msg.u.links_reply.count, 2);
    assert_int_equal(msg.u.links_reply.more, 0);
    assert_int_equal(msg.u.links_reply.items[0].state, RSM_LINK_SELF);
    assert_int_equal(msg.u.links_reply.items[1].node, node);
    assert_int_equal(msg.u.links_reply.items[1].state, RSM_LINK_UP);
    assert_int_equal(msg.u.links_reply.items[1].port, 9247);
}

/* Two hosts, as far as nodes can tell: they share no runtime directory, but have a link. */
TEST_ALONE(nodes_of_other_hosts)
{
    char text[512], directory[64];
    struct daemon one, two;
    struct rsm_locate_reply where;
    describe_two_hosts(text, sizeof text);
    daemon_start(&one, text, NULL);
    int socket = peer_hello(&one);
    uint32_t generation = topology(socket, 0, 0).generation;
    assert_int_equal(topology(socket, 0, 0).remotes[0].state, 1);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_UNREACHABLE);
    directory_make(directory);
    daemon_start_in(&two, directory, 2, text, NULL);
    int64_t until = time(NULL) + PEER_WAIT_MS / 1000;
    while (locate(socket, "sci0", 2, &where) != RSM_ST_OK)
        assert_true(time(NULL) < until);
    assert_int_equal(where.kind, RSM_LOCATE_REMOTE);
    assert_string_equal(where.path, "");
    assert_int_equal(connect_on(socket, "sci0", 2, 9, 4, NULL), RSM_ST_NOT_FOUND);
    /* A controller that ends at this host has no way there, up or down. */
    assert_int_equal(locate(socket, "here0", 2, &where), RSM_ST_NO_ROUTE);
    assert_int_equal(connect_on(socket, "here0", 2, 9, 4, NULL), RSM_ST_NO_ROUTE);
    assert_string_equal(topology(socket, 1, 0).name, "here0");
    assert_int_equal(topology(socket, 1, 0).total_remotes, 0);
    struct rsm_topology_reply reply = await_state(socket, 3);
    assert_int_equal(reply.remotes[0].node, 2);
    assert_int_not_equal(reply.generation, generation);
    generation = reply.generation;
    expect_link_to(socket, 2);
    /* A process of this host is none of that one's, whatever it says: neither while the link is up
     * nor, with something that listens here, then. */
    int liar = peer_connect(&one);
    assert_int_equal(greet(liar, 2), RSM_ST_DENIED);
    struct sockaddr_un fake = {.sun_family = AF_UNIX};
    snprintf(fake.sun_path, sizeof fake.sun_path, "%s/node-2.sock", one.directory);
    int listener = socket_at(&fake);
    assert_int_equal(greet(liar, 2), RSM_ST_DENIED);
    close(listener);
    assert_int_equal(unlink(fake.sun_path), 0);

    assert_int_equal(kill(two.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(two.pid), -SIGKILL);
    while (locate(socket, "sci0", 2, &where) == RSM_ST_OK)
        assert_true(time(NULL) < until + PEER_WAIT_MS / 1000);
    assert_int_equal(greet(liar, 2), RSM_ST_DENIED);
    close(liar);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_UNREACHABLE);
    reply = await_state(socket, 1);
    assert_int_not_equal(reply.generation, generation);
    assert_int_equal(locate(socket, "here0", 2, &where), RSM_ST_NO_ROUTE);
    assert_int_equal(topology(socket, 1, 0).total_remotes, 0);
    daemon_start_in(&two, directory, 2, text, NULL); /* takes over what it left */
    daemon_stop(&two);
    close(socket);
    daemon_stop(&one);
}

/* In one runtime directory they are neighbours, whatever addresses they have. */
TEST_ALONE(neighbours_with_addresses)
{
    struct daemon one, two;
    struct rsm_locate_reply where;
    const char *text = "[cluster]\ninsecure = yes\n"
                       "[node 1]\nhost = localhost\naddress = 127.9.9.1:1\n"
                       "[node 2]\nhost = localhost\naddress = 127.9.9.2:1\n"
                       "[controller sci0]\ntransport = shm\n";
    daemon_start(&one, text, NULL);
    daemon_start_in(&two, one.directory, 2, text, NULL);
    int socket = peer_hello(&one);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_OK);
    assert_int_equal(where.kind, RSM_LOCATE_SAME_HOST);
    assert_string_equal(where.path, two.socket);
    await_state(socket, 3);
    assert_int_equal(kill(two.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(two.pid), -SIGKILL);
    /* What it left tells that it was here. */
    await_state(socket, 1);
    assert_int_equal(locate(socket, "sci0", 2, &where), RSM_ST_UNREACHABLE);
    daemon_start_in(&two, one.directory, 2, text, NULL);
    await_state(socket, 3);
    close(socket);
    daemon_end(&two);
    daemon_stop(&one);
}

/* ------------------------------------------------------------------ who may say so */

/* A process is of a node whose daemon is on its host. */
TEST_ALONE(clients_of_nodes_that_are_here)
{
    struct daemon one, two;
    daemon_start(&one, NULL, NULL);
    daemon_start_in(&two, one.directory, 2, NULL, NULL);
    int socket = peer_connect(&one);
    assert_int_equal(greet(socket, 3), RSM_ST_DENIED); /* of which nothing is known */
    assert_int_equal(greet(socket, 2), RSM_ST_OK);
    close(socket);
    assert_int_equal(kill(two.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(two.pid), -SIGKILL);
    struct timespec pause = {.tv_sec = 1, .tv_nsec = 100000000}; /* it was seen a moment ago */
    nanosleep(&pause, NULL);
    socket = peer_connect(&one);
    assert_int_equal(greet(socket, 2), RSM_ST_DENIED); /* a socket without daemon */
    assert_int_equal(greet(socket, 1), RSM_ST_OK);     /* nor is that the end of it */
    close(socket);
    daemon_start_in(&two, one.directory, 2, NULL, NULL);
    socket = peer_connect(&one);
    assert_int_equal(greet(socket, 2), RSM_ST_OK);
    close(socket);
    /* One that stands still is there. */
    assert_int_equal(kill(two.pid, SIGSTOP), 0);
    nanosleep(&pause, NULL);
    socket = peer_connect(&one);
    assert_int_equal(greet(socket, 2), RSM_ST_OK);
    close(socket);
    assert_int_equal(kill(two.pid, SIGCONT), 0);
    daemon_end(&two);
    daemon_stop(&one);
}

/* A node with a runtime directory of its own is found where the configuration says. */
TEST_ALONE(clients_of_a_node_elsewhere_on_this_host)
{
    char directory[64], text[256];
    struct daemon one, two;
    directory_make(directory);
    snprintf(text, sizeof text,
             "[node 1]\nhost = localhost\n[node 2]\nhost = localhost\nsocket = %s/node-2.sock\n"
             "[controller sci0]\ntransport = shm\n",
             directory);
    daemon_start(&one, text, NULL);
    int socket = peer_connect(&one);
    assert_int_equal(greet(socket, 2), RSM_ST_DENIED);
    daemon_start_in(&two, directory, 2, NULL, NULL);
    assert_int_equal(greet(socket, 2), RSM_ST_OK);
    close(socket);
    daemon_stop(&two);
    daemon_stop(&one);
}

TEST_ALONE(no_interconnect)
{
    struct daemon daemon;
    daemon_start(&daemon, "", NULL);
    int socket = peer_hello(&daemon);
    struct rsm_topology_reply reply = topology(socket, 0, 0);
    assert_int_equal(reply.controllers, 0);
    assert_int_equal(reply.total_remotes, 0);
    assert_string_equal(reply.name, "");
    close(socket);
    daemon_stop(&daemon);
}

TEST_ALONE(more_peers_than_one_reply_holds)
{
    /* The greatest id is among them, and the file has them in no order. */
    enum { OTHERS = 300 };
    static char text[(OTHERS + 2) * 40] = "[controller sci0]\ntransport = shm\n";
    size_t used = strlen(text);
    for (uint32_t i = 0; i < OTHERS; i++)
        used += (size_t)snprintf(text + used, sizeof text - used, "[node %u]\nhost = h\n",
                                 RSM_NODE_ID_MAX - (i * 7 % OTHERS) * 200);
    snprintf(text + used, sizeof text - used, "[node 1]\nhost = localhost\n");
    struct daemon daemon;
    daemon_start(&daemon, text, NULL);
    int socket = peer_hello(&daemon);
    uint32_t seen = 0, last = 0;
    while (seen < OTHERS) {
        struct rsm_topology_reply reply = topology(socket, 0, seen);
        assert_int_equal(reply.total_remotes, OTHERS);
        assert_in_range(reply.remote_count, 1, RSM_PROTO_REMOTES_MAX);
        for (uint32_t i = 0; i < reply.remote_count; i++, seen++) {
            assert_true(reply.remotes[i].node > last);
            last = reply.remotes[i].node;
        }
    }
    assert_int_equal(last, RSM_NODE_ID_MAX);
    close(socket);
    daemon_stop(&daemon);
}

/* Connections that wait at a listener. */
static unsigned knocks(int listener)
{
    unsigned count = 0;
    for (int fd; (fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; count++)
        close(fd);
    return count;
}

/* Who is there is found by reading the directory, and a daemon that listened a moment ago is not
 * woken again. */
TEST_ALONE(neighbours_are_not_woken_by_each_look)
{
    struct daemon daemon;
    struct sockaddr_un there = {.sun_family = AF_UNIX};
    daemon_start(&daemon, NULL, "--embedded");
    int socket = peer_hello(&daemon);
    assert_int_equal(topology(socket, 0, 0).total_remotes, 0);
    snprintf(there.sun_path, sizeof there.sun_path, "%s/node-60000.sock", daemon.directory);
    int listener = socket_at(&there);
    assert_int_equal(fcntl(listener, F_SETFL, O_NONBLOCK), 0);
    struct timespec pause = {.tv_nsec = 2000000};
    struct rsm_topology_reply reply;
    struct rsm_locate_reply where;
    time_t until = time(NULL) + PEER_WAIT_MS / 1000;
    do { /* looks have their share of the time */
        nanosleep(&pause, NULL);
        reply = topology(socket, 0, 0);
        assert_true(time(NULL) < until);
    } while (reply.total_remotes == 0);
    assert_int_equal(reply.remotes[0].node, 60000);
    assert_int_equal(reply.remotes[0].state, 3);
    assert_int_equal(knocks(listener), 1);
    int64_t begun = rsm_clock_ns();
    for (int i = 0; i < 20; i++) {
        nanosleep(&pause, NULL);
        assert_int_equal(topology(socket, 0, 0).remotes[0].state, 3);
    }
    for (int i = 0; i < 1000; i++)
        assert_int_equal(locate(socket, "sci0", 60000, &where), RSM_ST_OK);
    /* One look a second may ask anew. */
    assert_in_range(knocks(listener), 0, (uint64_t)(rsm_clock_ns() - begun) / 1000000000 + 1);
    close(listener);
    assert_int_equal(unlink(there.sun_path), 0);
    close(socket);
    daemon_stop(&daemon);
}

int main(void)
{
    assert_int_equal(setenv("RSM_MODULE_DIR", TEST_MODULES, 1), 0);
    return cases_run();
}
