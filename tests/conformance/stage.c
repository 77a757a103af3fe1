/* SPDX-License-Identifier: BSD-3-Clause */
#include "stage.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/wait.h>

#include "control/packet.h"
#include "hosts.h"
#include "process.h"

enum { CONTROLLER_TRIES = 5 };
enum { KEPT_MAX = 512, DAEMONS_MAX = 4, PATIENCE_MS = 10000, TICK_US = 2000 };

static struct world *world;

/* What need not be given back is not lost either: the leak checker finds it here. */
static void *kept[KEPT_MAX];
static unsigned kept_count;

static pid_t daemons[DAEMONS_MAX];
static unsigned daemon_count;

static void *keep(void *pointer)
{
    HOLDS(kept_count < KEPT_MAX);
    kept[kept_count++] = pointer;
    return pointer;
}

/* ---------------------------------------------------------------- sides and nodes */

static void remember_daemon(pid_t daemon)
{
    HOLDS(daemon_count < DAEMONS_MAX);
    daemons[daemon_count++] = daemon;
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
        hosts_split(given, hosts);
}

void stage_open(void)
{
    pid_t started[2];
    if (!two_hosts())
        return;
    hosts_start(world, started);
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
    snprintf(number, sizeof number, "%u", node);
    world_node_directory(world, node, directory);
    setenv("RSM_NODE", number, 1);
    setenv("RSM_RUNTIME_DIR", directory, 1);
}

void act_as_exporter(void)
{
    act_on(options.exporter_node);
}

void act_as_importer(void)
{
    act_on(options.importer_node);
}

struct actor *exporter_start(void)
{
    return actor_start(world, options.exporter_node);
}

struct actor *importer_start(void)
{
    return actor_start(world, options.importer_node);
}

bool mapping_is_direct(const void *address)
{
    FILE *maps = fopen("/proc/self/maps", "re");
    char line[512];
    bool known = false, direct = false;
    HOLDS(maps != NULL);
    while (!known && fgets(line, sizeof line, maps) != NULL) {
        char *end;
        uintptr_t from = strtoul(line, &end, 16);
        known = *end == '-' && (uintptr_t)address >= from &&
                (uintptr_t)address < strtoul(end + 1, NULL, 16);
        direct = known && strstr(line, "/memfd:rsm-softmap") == NULL;
    }
    fclose(maps);
    HOLDS(known);
    return direct;
}

bool one_node(void)
{
    return options.exporter_node == options.importer_node;
}

bool on_loopback(void)
{
    return strncasecmp(options.controller, "loopback", strlen("loopback")) == 0;
}

void serve_all_users(void)
{
    APPLIES_IF(geteuid() == 0, "needs root, to be several users");
    if (two_hosts())
        return; /* their daemons do so already */
    remember_daemon(world_daemon_start(world, options.exporter_node));
    remember_daemon(world_daemon_start(world, node_other_than(options.exporter_node)));
}

struct actor *unprivileged_importer(void)
{
    if (geteuid() == 0)
        serve_all_users();
    struct actor *importer = importer_start();
    if (geteuid() == 0)
        TELL_OK(importer, USER, .uid = UNPRIVILEGED_UID, .gid = UNPRIVILEGED_UID);
    return importer;
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
    pid_t daemon = world_daemon(world, node);
    for (unsigned i = 0; i < daemon_count; i++)
        if (daemons[i] == daemon)
            daemons[i] = daemons[--daemon_count];
    world_daemon_end(daemon);
}

void serve_configured(unsigned node, const char *configuration)
{
    char path[128], config[144], below[WORLD_PATH_BYTES], directory[128], number[32];
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

/* ---------------------------------------------------------------- mapping */

void needs_map(void)
{
    if (options.no_map)
        does_not_apply("the controller has no load and store (RSM_CAP_MAP): mapping");
}

int judge_map(int error)
{
    if (error == RSMERR_MAP_FAILED)
        needs_map();
    return error;
}

int import_map(rsm_memseg_import_handle_t handle, void **address, rsm_attribute_t attributes,
               rsm_permission_t rights, off_t offset, size_t length)
{
    return judge_map(rsm_memseg_import_map(handle, address, attributes, rights, offset, length));
}

/* ---------------------------------------------------------------- objects */

int get_controller(const char *name, rsmapi_controller_handle_t *handle)
{
    char writable[512];
    snprintf(writable, sizeof writable, "%s", name);
    return rsm_get_controller(writable, handle);
}

int get_controller_at_last(const char *name, rsmapi_controller_handle_t *handle)
{
    int error = get_controller(name, handle);
    for (int tries = 1; error != RSM_SUCCESS && tries < CONTROLLER_TRIES; tries++)
        error = get_controller(name, handle);
    return error;
}

rsmapi_controller_handle_t controller(void)
{
    static rsmapi_controller_handle_t opened;
    if (opened == NULL)
        OK(get_controller_at_last(options.controller, &opened));
    return opened;
}

rsmapi_controller_handle_t loopback(void)
{
    static rsmapi_controller_handle_t opened;
    if (opened == NULL)
        OK(get_controller_at_last("loopback", &opened));
    return opened;
}

uint8_t *pages(size_t count)
{
    void *memory =
        mmap(NULL, count * PAGE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    HOLDS(memory != MAP_FAILED);
    return memory;
}

rsm_memseg_export_handle_t created(void *memory, size_t length, uint_t flags)
{
    rsm_memseg_export_handle_t segment;
    OK(rsm_memseg_export_create(controller(), &segment, memory, length, flags));
    return keep(segment);
}

void publish(rsm_memseg_export_handle_t segment, rsm_memseg_id_t id)
{
    rsmapi_access_entry_t acl[2];
    unsigned count = both_nodes(acl, 0666);
    OK(rsm_memseg_export_publish(segment, &id, acl, count));
}

rsm_memseg_export_handle_t published(void *memory, size_t count)
{
    rsm_memseg_export_handle_t segment = created(memory, count * PAGE, 0);
    publish(segment, SEGMENT_ID);
    return segment;
}

struct actor *offered(size_t count)
{
    struct actor *exporter = exporter_start();
    TELL_OK(exporter, OFFER, .pages = count);
    act_as_importer();
    return exporter;
}

int connect_to(rsm_memseg_id_t id, rsm_permission_t rights, rsm_memseg_import_handle_t *handle)
{
    int error = rsm_memseg_import_connect(controller(), options.exporter_node, id, rights, handle);
    if (error == RSM_SUCCESS)
        keep(*handle);
    return error;
}

rsm_memseg_import_handle_t connected(rsm_permission_t rights)
{
    rsm_memseg_import_handle_t handle;
    OK(connect_to(SEGMENT_ID, rights, &handle));
    return handle;
}

uint8_t *mapped(rsm_memseg_import_handle_t handle, size_t length)
{
    void *address = NULL;
    OK(import_map(handle, &address, RSM_MAP_NONE, RSM_PERM_RDWR, 0, length));
    return address;
}

rsmapi_barrier_t *barrier_of(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t *barrier = keep(calloc(1, sizeof *barrier));
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, barrier));
    return barrier;
}

void await_arrival(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t barrier;
    OK(rsm_memseg_import_init_barrier(handle, RSM_BARRIER_SEGMENT, &barrier));
    OK(rsm_memseg_import_open_barrier(&barrier));
    OK(rsm_memseg_import_close_barrier(&barrier));
    OK(rsm_memseg_import_destroy_barrier(&barrier));
}

rsm_memseg_import_handle_t ready(void)
{
    rsm_memseg_import_handle_t handle = connected(RSM_PERM_RDWR);
    barrier_of(handle);
    return handle;
}

void await_abort(rsm_memseg_import_handle_t handle)
{
    rsmapi_barrier_t *barrier = barrier_of(handle);
    int64_t deadline = now_ms() + PATIENCE_MS;
    int error;
    do {
        HOLDS(now_ms() < deadline);
        OK(rsm_memseg_import_open_barrier(barrier));
        error = rsm_memseg_import_close_barrier(barrier);
    } while (error == RSM_SUCCESS);
    EXPECT(RSMERR_CONN_ABORTED, error);
}

void unpublish_and_tell(struct actor *exporter, rsm_memseg_import_handle_t handle)
{
    TELL_OK(exporter, UNPUBLISH);
    if (two_hosts())
        await_abort(handle);
}

/* ---------------------------------------------------------------- children and memory */

int in_child(int (*function)(void *argument), void *argument)
{
    int status = 0;
    fflush(NULL);
    pid_t pid = fork();
    HOLDS(pid >= 0);
    if (pid == 0)
        _exit(function(argument));
    HOLDS(child_await(pid, 0, PATIENCE_MS, &status) == pid);
    HOLDS(WIFEXITED(status));
    return WEXITSTATUS(status);
}

uint32_t load32(const void *address)
{
    return *(const volatile uint32_t *)address;
}

uint64_t load64(const void *address)
{
    return *(const volatile uint64_t *)address;
}

void store64(void *address, uint64_t value)
{
    *(volatile uint64_t *)address = value;
}
