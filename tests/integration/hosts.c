/* SPDX-License-Identifier: BSD-3-Clause */
#include "hosts.h"

#include <linux/capability.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "client.h"
#include "process.h"
#include "rsm/rsm_common.h"

enum {
    PORT = 19247, /* below those that the kernel gives away */
    LINK_TIMEOUT_MS = 20000,
    TICK_US = 1000,
    LOOPBACK_NETWORK = 127,
};

/* ------------------------------------------------------------------ networks */

/* The path of the hosts' network name spaces, but for their number; NULL: they share this one's. */
static const char *networks(void)
{
    return getenv("RSM_TEST_NETWORKS");
}

/* Another user than root has a privilege from networks.sh, to enter; programs that he runs would
 * have it, too. */
static bool drop_privileges(void)
{
    struct __user_cap_header_struct header = {.version = _LINUX_CAPABILITY_VERSION_3};
    struct __user_cap_data_struct none[_LINUX_CAPABILITY_U32S_3] = {{0}};
    return prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0) == 0 &&
           syscall(SYS_capset, &header, none) == 0;
}

void host_enter(const struct world *world, unsigned node)
{
    char path[PATH_MAX];
    if (!world->split || networks() == NULL)
        return;
    snprintf(path, sizeof path, "%s%d", networks(), node == world->hosts[1]);
    int space = open(path, O_RDONLY | O_CLOEXEC);
    if (space < 0 || setns(space, CLONE_NEWNET) < 0) {
        perror(path);
        _exit(125);
    }
    close(space);
}

void host_become(const struct world *world, unsigned node)
{
    host_enter(world, node);
    if (networks() != NULL && geteuid() != 0 && !drop_privileges())
        _exit(125);
}

/* ------------------------------------------------------------------ splitting */

/* One that no other test has: the machine has 2^24 of them, and fewer processes. In networks of
 * their own, which networks.sh has made, hosts have its addresses. */
const char *host_address(unsigned index)
{
    static pid_t test;
    static char text[2][16];
    if (test == 0)
        test = getpid(); /* for its actors, too */
    unsigned number = ((unsigned)test & 0x3fffff) << 2 | (index + 1);
    if (networks() != NULL)
        snprintf(text[index], sizeof text[index], "10.99.0.%u", index + 1);
    else
        snprintf(text[index], sizeof text[index], "%d.%u.%u.%u", LOOPBACK_NETWORK,
                 number >> 16 & 0xff, number >> 8 & 0xff, number & 0xff);
    return text[index];
}

static void configuration_path(const struct world *world, unsigned node, char *path, size_t size)
{
    snprintf(path, size, "%s/h%u.conf", world->directory, node);
}

static void write_configuration(const struct world *world, const struct host hosts[2],
                                unsigned which, const char *const addresses[2])
{
    char path[WORLD_PATH_BYTES];
    configuration_path(world, hosts[which].node, path, sizeof path);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    bool here = addresses == NULL ? networks() == NULL
                                  : strncmp(addresses[which], "127.", strlen("127.")) == 0;
    fprintf(file, "[cluster]\n%s\n", here ? "auth = none\ninsecure = yes" : "auth = munge");
    for (unsigned i = 0; i < 2; i++) {
        fprintf(file, "[node %u]\nhost = host%u\n", hosts[i].node, hosts[i].node);
        fprintf(file, "address = %s:%d\n", addresses != NULL ? addresses[i] : host_address(i),
                PORT);
    }
    fprintf(file, "%s\n", hosts[which].configuration);
    assert_int_equal(fclose(file), 0);
}

void hosts_split(struct world *world, const struct host hosts[2])
{
    hosts_split_machines(world, hosts, NULL);
}

void hosts_split_machines(struct world *world, const struct host hosts[2],
                          const char *const addresses[2])
{
    char path[WORLD_PATH_BYTES];
    assert_int_equal(chmod(world->directory, 0755), 0);
    world->split = true;
    for (unsigned i = 0; i < 2; i++) {
        world->hosts[i] = hosts[i].node;
        world_node_directory(world, hosts[i].node, path);
        assert_int_equal(mkdir(path, 0755), 0);
        assert_int_equal(chmod(path, 0755), 0); /* whatever the umask */
        write_configuration(world, hosts, i, addresses);
    }
}

bool hosts_remove(const struct world *world)
{
    bool clean = true;
    char path[WORLD_PATH_BYTES];
    for (unsigned i = 0; i < 2; i++) {
        world_node_directory(world, world->hosts[i], path);
        clean = world_remove_directory(world, path) && clean;
        configuration_path(world, world->hosts[i], path, sizeof path);
        unlink(path);
    }
    return clean;
}

/* ------------------------------------------------------------------ daemons */

pid_t host_start(struct world *world, unsigned node)
{
    char option[WORLD_PATH_BYTES + 16] = "--config=";
    size_t used = strlen(option);
    configuration_path(world, node, option + used, sizeof option - used);
    return world_daemon_start_with(world, node, option);
}

void hosts_start(struct world *world, pid_t daemons[2])
{
    /* The one with the lower id calls: it finds the other one there, and need not try again. */
    const unsigned *nodes = world->hosts;
    unsigned later = nodes[0] < nodes[1] ? 0 : 1;
    daemons[1 - later] = host_start(world, nodes[1 - later]);
    daemons[later] = host_start(world, nodes[later]);
    host_await_link(world, nodes[0], nodes[1], true);
    host_await_link(world, nodes[1], nodes[0], true);
}

void hosts_end(pid_t daemons[2])
{
    for (unsigned i = 0; i < 2; i++) {
        if (daemons[i] == 0)
            continue;
        kill(daemons[i], SIGCONT); /* a test that failed has perhaps left it so */
        world_daemon_end(daemons[i]);
        daemons[i] = 0;
    }
}

/* ------------------------------------------------------------------ links */

static void ask(int socket, struct rsm_msg *msg)
{
    assert_int_equal(client_ask(socket, msg, NULL, CALL_TIMEOUT_MS), RSM_ST_OK);
}

static int hello(const struct world *world, unsigned node)
{
    char path[RSM_PROTO_PATH_MAX];
    world_socket(world, node, path);
    int socket = rsm_packet_connect(path);
    assert_true(socket >= 0);
    assert_int_equal(client_hello(socket, node, CALL_TIMEOUT_MS), RSM_ST_OK);
    return socket;
}

void host_ask(const struct world *world, unsigned node, struct rsm_msg *msg)
{
    int socket = hello(world, node);
    ask(socket, msg);
    close(socket);
}

/* A link that is made on demand does while nobody needs it. */
static bool is_up(int socket, unsigned other)
{
    struct rsm_msg msg = {.type = RSM_MSG_LINKS, .u.links.first = other};
    ask(socket, &msg);
    const struct rsm_links_reply *reply = &msg.u.links_reply;
    return reply->count > 0 && reply->items[0].node == other &&
           (reply->items[0].state == RSM_LINK_UP || reply->items[0].state == RSM_LINK_IDLE);
}

void host_await_link(const struct world *world, unsigned node, unsigned other, bool up)
{
    int64_t deadline = now_ms() + LINK_TIMEOUT_MS;
    int socket = hello(world, node);
    while (is_up(socket, other) != up) {
        if (now_ms() > deadline)
            fail_msg("the link from node %u to node %u does not become %s", node, other,
                     up ? "up" : "down");
        usleep(TICK_US);
    }
    close(socket);
}

/* States of remote ends are those of RSMAPI's topology. */
static bool reaches(int socket, unsigned other)
{
    enum { ACTIVE = 3 };
    unsigned controllers = 1;
    for (unsigned i = 0; i < controllers; i++) {
        struct rsm_msg msg = {.type = RSM_MSG_TOPOLOGY, .u.topology.controller = i};
        ask(socket, &msg);
        const struct rsm_topology_reply *reply = &msg.u.topology_reply;
        controllers = reply->controllers;
        for (unsigned j = 0; j < reply->remote_count; j++)
            if (reply->remotes[j].node == other && reply->remotes[j].state != ACTIVE)
                return false;
    }
    return true;
}

void host_await_reach(const struct world *world, unsigned node, unsigned other)
{
    int64_t deadline = now_ms() + LINK_TIMEOUT_MS;
    int socket = hello(world, node);
    while (!reaches(socket, other)) {
        if (now_ms() > deadline)
            fail_msg("node %u does not reach node %u", node, other);
        usleep(TICK_US);
    }
    close(socket);
}

void host_await_segments(const struct world *world, unsigned node, unsigned count)
{
    int64_t deadline = now_ms() + LINK_TIMEOUT_MS;
    for (;;) {
        struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect.what = RSM_INSPECT_IMPORTS};
        host_ask(world, node, &msg);
        if (msg.u.inspect_reply.segments == count)
            return;
        if (now_ms() > deadline)
            fail_msg("node %u has %u exports and imports, not %u", node,
                     (unsigned)msg.u.inspect_reply.segments, count);
        usleep(TICK_US);
    }
}
