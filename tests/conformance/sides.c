/* SPDX-License-Identifier: BSD-3-Clause */
#include "sides.h"

#include "agent.h"
#include "base/packet.h"
#include "protocol/proto.h"
#include "hosts.h"
#include "process.h"

enum { DAEMONS_MAX = 4, PATIENCE_MS = 10000, TICK_US = 2000 };

static struct world *world;

static pid_t daemons[DAEMONS_MAX];
static unsigned daemon_count;

static void remember_daemon(pid_t daemon)
{
    HOLDS(daemon_count < DAEMONS_MAX);
    daemons[daemon_count++] = daemon;
}

bool two_machines(void)
{
    return options.machines[0] != NULL;
}

/* Whether a node is on the other machine. */
static bool is_elsewhere(unsigned node)
{
    return two_machines() && (node == options.exporter_node) != (options.side == SIDE_EXPORTER);
}

static void needs_here(unsigned node)
{
    if (is_elsewhere(node))
        does_not_apply("the test's own process belongs to the other machine");
}

bool two_hosts(void)
{
    return options.configurations[0] != NULL;
}

void stage_set(struct world *given)
{
    world = given;
    setenv("RSM_RUNTIME_DIR", world->directory, 1);
}

void stage_split(struct world *given)
{
    const struct host hosts[] = {{options.exporter_node, options.configurations[0]},
                                 {options.importer_node, options.configurations[1]}};
    if (two_hosts())
        hosts_split_machines(given, hosts, two_machines() ? options.machines : NULL);
}

/* The daemon with the lower id calls: it comes last, as in hosts_start(). */
static void start_on_machines(struct world *of)
{
    unsigned here = of->hosts[options.side], there = of->hosts[1 - options.side];
    of->prepare = NULL;
    if (there > here)
        agent_daemon_start(there);
    remember_daemon(host_start(of, here));
    if (there < here)
        agent_daemon_start(there);
    host_await_link(of, here, there, true);
    host_await_reach(of, here, there);
    agent_await_link(there, here);
}

/* Before anything that needs a daemon. Not at the start of a test: it may be one for the other machine. */
static void await_daemons(void)
{
    if (world->prepare != NULL)
        world->prepare(world);
}

void stage_open(void)
{
    pid_t started[2];
    if (two_machines())
        world->prepare = start_on_machines;
    if (!two_hosts() || two_machines())
        return;
    hosts_start(world, started);
    host_await_reach(world, world->hosts[0], world->hosts[1]);
    host_await_reach(world, world->hosts[1], world->hosts[0]);
    remember_daemon(started[0]);
    remember_daemon(started[1]);
}

void stage_clear(void)
{
    while (daemon_count > 0)
        world_daemon_end(daemons[--daemon_count]);
}

static void act_on(unsigned node)
{
    char number[16], directory[WORLD_PATH_BYTES];
    needs_here(node);
    await_daemons();
    snprintf(number, sizeof number, "%u", node);
    world_node_directory(world, node, directory);
    setenv("RSM_NODE", number, 1);
    setenv("RSM_RUNTIME_DIR", directory, 1);
    host_enter(world, node);
}

void act_as_exporter(void)
{
    act_on(options.exporter_node);
}

void act_as_importer(void)
{
    act_on(options.importer_node);
}

static struct actor *start_on(unsigned node)
{
    return is_elsewhere(node) ? agent_actor(world, node) : actor_start(world, node);
}

struct actor *exporter_start(void)
{
    return start_on(options.exporter_node);
}

struct actor *importer_start(void)
{
    return start_on(options.importer_node);
}

bool one_node(void)
{
    return options.exporter_node == options.importer_node;
}

void serve_all_users(void)
{
    APPLIES_IF(geteuid() == 0, "needs root, to be several users");
    if (two_hosts())
        return; /* their daemons do so already */
    remember_daemon(world_daemon_start(world, options.exporter_node));
    remember_daemon(world_daemon_start(world, node_other_than(options.exporter_node)));
}

rsm_node_id_t node_other_than(rsm_node_id_t node)
{
    if (node != options.exporter_node)
        return options.exporter_node;
    if (node != options.importer_node)
        return options.importer_node;
    return node % RSM_NODE_ID_MAX + 1;
}

static void write_file(const char *path, const char *text)
{
    FILE *file = fopen(path, "we");
    HOLDS(file != NULL);
    HOLDS(fputs(text, file) >= 0);
    HOLDS(fclose(file) == 0);
}

static bool answers(unsigned node)
{
    char path[RSM_PROTO_PATH_MAX];
    world_socket(world, node, path);
    int socket = rsm_packet_connect(path);
    if (socket >= 0)
        close(socket);
    return socket >= 0;
}

static void await_answers(unsigned node, bool wanted)
{
    int64_t deadline = now_ms() + PATIENCE_MS;
    while (answers(node) != wanted) {
        HOLDS(now_ms() < deadline);
        usleep(TICK_US);
    }
}

/* One that the test has started. */
static void end_daemon(unsigned node)
{
    await_daemons();
    if (is_elsewhere(node)) {
        agent_daemon_end(node);
        return;
    }
    pid_t daemon = world_daemon(world, node);
    for (unsigned i = 0; i < daemon_count; i++)
        if (daemons[i] == daemon)
            daemons[i] = daemons[--daemon_count];
    world_daemon_end(daemon);
}

void serve_configured(unsigned node, const char *configuration)
{
    char path[128], config[144], below[WORLD_PATH_BYTES], directory[128], number[32];
    needs_here(node);
    world_node_directory(world, node, below);
    snprintf(path, sizeof path, "%s/rsm.conf", below);
    snprintf(config, sizeof config, "--config=%s", path);
    snprintf(directory, sizeof directory, "--runtime-dir=%s", below);
    snprintf(number, sizeof number, "--node=%u", node);
    if (two_hosts())
        end_daemon(node); /* this one takes its place */
    write_file(path, configuration);
    pid_t pid = fork();
    HOLDS(pid >= 0);
    if (pid == 0) {
        children_unwatch();
        host_become(world, node);
        execl(getenv("RSM_RSMD"), "rsmd", "--foreground", config, directory, number, (char *)NULL);
        _exit(127);
    }
    remember_daemon(pid);
    await_answers(node, true);
    unlink(path);
}

void node_end(unsigned node)
{
    if (two_hosts()) {
        end_daemon(node);
        return;
    }
    kill(world_daemon(world, node), SIGTERM);
    await_answers(node, false);
}
