/* SPDX-License-Identifier: BSD-3-Clause */
#include "harness.h"

#include <dirent.h>
#include <grp.h>
#include <sys/prctl.h>

#include "base/packet.h"
#include "protocol/runtime.h"
#include "hosts.h"
#include "process.h"

enum {
    END_TIMEOUT_MS = 20000,    /* of an actor, after its socket was closed */
    LINGER_TIMEOUT_MS = 20000, /* of the daemons, after the last actor */
};

/* One call, and with `result` its answer. A program is not at the same addresses on every machine: the
 * function is given by its distance from another one. */
struct call {
    uint32_t size; /* of what follows `bytes`, in bytes */
    int result;
    intptr_t function;
    _Alignas(16) uint8_t bytes[CALL_BYTES_MAX];
};

static bool send_call(int socket, struct call *call, size_t length)
{
    size_t size = offsetof(struct call, bytes) + length;
    call->size = (uint32_t)length;
    return send(socket, call, size, MSG_NOSIGNAL) == (ssize_t)size;
}

/* 1, 0 at the end of the stream, -1 for an error. */
static int receive_all(int socket, void *bytes, size_t length)
{
    ssize_t got;
    if (length == 0)
        return 1;
    while ((got = recv(socket, bytes, length, MSG_WAITALL)) < 0 && errno == EINTR)
        continue;
    return got < 0 ? -1 : got == (ssize_t)length;
}

static bool receive_call(int socket, struct call *call)
{
    return receive_all(socket, call, offsetof(struct call, bytes)) == 1 &&
           call->size <= sizeof call->bytes && receive_all(socket, call->bytes, call->size) == 1;
}

/* ---------------------------------------------------------------- inside an actor */

int actor_complain(const char *file, int line, const char *what)
{
    fprintf(stderr, "%s:%d: actor %d (node %s): not so: %s (errno: %m)\n", file, line,
            (int)getpid(), getenv("RSM_NODE"), what);
    return -1;
}

__attribute__((noreturn)) static void serve(int socket)
{
    static struct call call;
    while (receive_call(socket, &call)) {
        actor_function function = (actor_function)((intptr_t)actor_complain + call.function);
        call.result = function(call.bytes);
        if (!send_call(socket, &call, call.size))
            break;
    }
    exit(0); /* sanitizers have their say then */
}

static void become(const struct world *world, unsigned node, uid_t uid)
{
    char number[16], directory[WORLD_PATH_BYTES];
    children_unwatch();
    snprintf(number, sizeof number, "%u", node);
    world_node_directory(world, node, directory);
    setenv("RSM_NODE", number, 1);
    setenv("RSM_RUNTIME_DIR", directory, 1);
    host_become(world, node);
    if (uid == geteuid())
        return;
    /* Other users' processes are not dumpable, and then even the leak checker cannot look. */
    if (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0 ||
        prctl(PR_SET_DUMPABLE, 1) < 0)
        _exit(126);
}

/* ---------------------------------------------------------------- actors */

/* That of one that has ended, else the next. */
static struct actor *free_place(struct world *world)
{
    unsigned place = 0;
    while (place < world->actor_count && world->actors[place].pid != 0)
        place++;
    assert_true(place < ACTORS_MAX);
    if (place == world->actor_count)
        world->actor_count++;
    world->actors[place].pid = 0;
    return &world->actors[place];
}

__attribute__((noreturn)) void actor_serve(const struct world *world, unsigned node, int socket)
{
    become(world, node, geteuid());
    serve(socket);
}

struct actor *actor_elsewhere(struct world *world, unsigned node, pid_t pid, int socket,
                              void (*kill)(const struct actor *actor))
{
    struct actor *actor = free_place(world);
    *actor =
        (struct actor){.pid = pid, .socket = socket, .node = node, .world = world, .kill = kill};
    return actor;
}

struct actor *actor_start_as(struct world *world, unsigned node, uid_t uid)
{
    int sockets[2];
    struct actor *actor = free_place(world);
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, sockets), 0);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        for (unsigned i = 0; i < world->actor_count; i++)
            if (world->actors[i].pid != 0)
                close(world->actors[i].socket);
        close(sockets[0]);
        become(world, node, uid);
        serve(sockets[1]);
    }
    close(sockets[1]);
    *actor = (struct actor){.pid = pid, .socket = sockets[0], .node = node, .world = world};
    return actor;
}

struct actor *actor_start(struct world *world, unsigned node)
{
    return actor_start_as(world, node, geteuid());
}

void actor_begin(struct actor *actor, actor_function function, const void *bytes, size_t length)
{
    struct call call = {.function = (intptr_t)function - (intptr_t)actor_complain};
    if (actor->world->prepare != NULL)
        actor->world->prepare(actor->world);
    assert_true(length <= sizeof call.bytes && !actor->busy);
    if (length > 0)
        memcpy(call.bytes, bytes, length);
    if (!send_call(actor->socket, &call, length))
        fail_msg("actor %d of node %u has gone", (int)actor->pid, actor->node);
    actor->busy = true;
}

bool actor_ended(const struct actor *actor, int timeout_ms)
{
    struct pollfd readable = {.fd = actor->socket, .events = POLLIN};
    return poll(&readable, 1, timeout_ms) > 0;
}

int actor_end(struct actor *actor, void *bytes, size_t length)
{
    struct call call;
    if (!actor_ended(actor, CALL_TIMEOUT_MS))
        fail_msg("actor %d of node %u does not come back", (int)actor->pid, actor->node);
    actor->busy = false;
    if (!receive_call(actor->socket, &call) || call.size != length)
        fail_msg("actor %d of node %u has died", (int)actor->pid, actor->node);
    if (length > 0)
        memcpy(bytes, call.bytes, length);
    return call.result;
}

int actor_run(struct actor *actor, actor_function function, void *bytes, size_t length)
{
    actor_begin(actor, function, bytes, length);
    return actor_end(actor, bytes, length);
}

/* False with a message if it does not end well. */
static bool end_actor(struct actor *actor)
{
    int status = 0;
    shutdown(actor->socket, SHUT_RDWR); /* actors of other worlds have copies */
    close(actor->socket);
    if (actor->kill != NULL) {
        actor->pid = 0;
        return true;
    }
    pid_t ended = child_await(actor->pid, 0, END_TIMEOUT_MS, &status);
    if (ended == 0) {
        kill(actor->pid, SIGKILL);
        waitpid(actor->pid, &status, 0);
    }
    bool well = ended == actor->pid && WIFEXITED(status) && WEXITSTATUS(status) == 0;
    if (!well)
        print_error("actor %d of node %u %s, wait status 0x%x\n", (int)actor->pid, actor->node,
                    ended == 0 ? "did not end" : "ended badly", (unsigned)status);
    actor->pid = 0;
    return well;
}

void actor_stop(struct actor *actor)
{
    if (!end_actor(actor))
        fail();
}

void actor_kill(struct actor *actor)
{
    int status;
    if (actor->kill != NULL) {
        actor->kill(actor);
    } else {
        kill(actor->pid, SIGKILL);
        pid_t ended = child_await(actor->pid, 0, END_TIMEOUT_MS, &status);
        assert_int_equal(ended, actor->pid);
    }
    close(actor->socket);
    actor->pid = 0;
}

void process_freeze(pid_t pid)
{
    int status;
    assert_int_equal(kill(pid, SIGSTOP), 0);
    assert_int_equal(child_await(pid, WUNTRACED, END_TIMEOUT_MS, &status), pid);
    assert_true(WIFSTOPPED(status));
}

void process_thaw(pid_t pid)
{
    assert_int_equal(kill(pid, SIGCONT), 0);
}

/* ---------------------------------------------------------------- daemons */

void world_node_directory(const struct world *world, unsigned node, char *path)
{
    if (world->split)
        snprintf(path, WORLD_PATH_BYTES, "%s/h%u", world->directory, node);
    else
        snprintf(path, WORLD_PATH_BYTES, "%s", world->directory);
}

void world_socket(const struct world *world, unsigned node, char *path)
{
    char directory[WORLD_PATH_BYTES];
    world_node_directory(world, node, directory);
    int length = snprintf(path, RSM_PROTO_PATH_MAX, "%s/node-%u.sock", directory, node);
    assert_true(length < RSM_PROTO_PATH_MAX);
}

pid_t world_daemon(struct world *world, unsigned node)
{
    world->killed[node] = false; /* whoever is there now cleans up */
    char path[RSM_PROTO_PATH_MAX];
    struct ucred who = {0};
    socklen_t length = sizeof who;
    world_socket(world, node, path);
    int socket = rsm_packet_connect(path);
    assert_true(socket >= 0);
    int failed = getsockopt(socket, SOL_SOCKET, SO_PEERCRED, &who, &length);
    close(socket);
    assert_int_equal(failed, 0);
    assert_true(who.pid > 0);
    return who.pid;
}

void world_daemon_kill(struct world *world, unsigned node)
{
    int status;
    pid_t daemon = world_daemon(world, node);
    world->killed[node] = true;
    assert_int_equal(kill(daemon, SIGKILL), 0);
    assert_int_equal(child_await(daemon, 0, END_TIMEOUT_MS, &status), daemon);
}

static bool count_one(pid_t pid, void *context)
{
    ++*(unsigned *)context;
    return true;
}

unsigned world_daemon_count(const struct world *world)
{
    char argument[128];
    unsigned count = 0;
    snprintf(argument, sizeof argument, "--runtime-dir=%s", world->directory);
    processes_with(argument, count_one, &count);
    return count;
}

pid_t world_daemon_start(struct world *world, unsigned node)
{
    return world_daemon_start_with(world, node, NULL);
}

pid_t world_daemon_start_with(struct world *world, unsigned node, const char *option)
{
    return world_daemon_start_passed(world, node, option, -1, "");
}

/* In the child: what a service manager leaves to a service, where services look for it. */
static void pass(int fd, const char *name)
{
    enum { FIRST_PASSED = 3 };
    char pid[16];
    if (fd < 0)
        return;
    if (fd == FIRST_PASSED)
        fcntl(fd, F_SETFD, 0);
    else
        dup2(fd, FIRST_PASSED);
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    setenv("LISTEN_FDNAMES", name, 1);
}

/* In the child. */
static void limit_descriptors(unsigned most)
{
    const struct rlimit limit = {.rlim_cur = most, .rlim_max = most};
    if (most > 0 && setrlimit(RLIMIT_NOFILE, &limit) < 0)
        _exit(EXIT_FAILURE);
}

pid_t world_daemon_start_passed(struct world *world, unsigned node, const char *option, int passed,
                                const char *name)
{
    char node_argument[32], directory[WORLD_PATH_BYTES], directory_argument[128], byte;
    int report[2];
    assert_int_equal(chmod(world->directory, 0755), 0);
    assert_int_equal(pipe2(report, O_CLOEXEC), 0);
    snprintf(node_argument, sizeof node_argument, "--node=%u", node);
    world_node_directory(world, node, directory);
    snprintf(directory_argument, sizeof directory_argument, "--runtime-dir=%s", directory);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        char ready_argument[32];
        children_unwatch();
        host_become(world, node);
        limit_descriptors(world->daemon_descriptors);
        /* Away from where it might be in the way. */
        snprintf(ready_argument, sizeof ready_argument, "--ready-fd=%d",
                 fcntl(report[1], F_DUPFD, 100));
        pass(passed, name);
        execl(getenv("RSM_RSMD"), "rsmd", "--foreground", node_argument, directory_argument,
              ready_argument, option, (char *)NULL);
        _exit(127);
    }
    close(report[1]);
    struct pollfd readable = {.fd = report[0], .events = POLLIN};
    bool ready = poll(&readable, 1, CALL_TIMEOUT_MS) > 0 && read(report[0], &byte, 1) == 1;
    close(report[0]);
    assert_true(ready && byte == 'R');
    return pid;
}

void world_daemon_end(pid_t daemon)
{
    int status;
    assert_int_equal(kill(daemon, SIGTERM), 0);
    assert_int_equal(child_await(daemon, 0, END_TIMEOUT_MS, &status), daemon);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
}

/* ---------------------------------------------------------------- the world */

int world_setup(void **state)
{
    struct world *world = calloc(1, sizeof *world);
    if (world == NULL)
        return -1;
    const char *daemon = getenv("RSM_SHORT_LIVED_RSMD");
    if (daemon != NULL)
        setenv("RSM_RSMD", daemon, 1);
    children_watch();
    world->descriptors = process_descriptors(getpid());
    strcpy(world->directory, "/tmp/rsmt-XXXXXX");
    if (mkdtemp(world->directory) == NULL) {
        free(world);
        return -1;
    }
    *state = world;
    return 0;
}

static bool end_actors(struct world *world)
{
    bool well = true;
    for (unsigned i = 0; i < world->actor_count; i++) {
        struct actor *actor = &world->actors[i];
        if (actor->pid == 0)
            continue;
        if (actor->kill == NULL)
            kill(actor->pid, SIGCONT);
        /* One that is amid a call belongs to a test that failed already. */
        if (actor->busy && actor->kill == NULL)
            kill(actor->pid, SIGKILL);
        well = end_actor(actor) && well;
    }
    return well;
}

static bool end_by_force(pid_t pid, void *context)
{
    print_error("process %d had to be ended\n", (int)pid);
    kill(pid, SIGKILL);
    return true;
}

/* Daemons, and whatever else became ours, end without being told to. */
static bool await_orphans(const struct world *world)
{
    bool well = true;
    int64_t deadline = now_ms() + LINGER_TIMEOUT_MS;
    for (int status;;) {
        pid_t pid = child_await(-1, 0, (int)(deadline - now_ms()), &status);
        if (pid < 0)
            return well;
        if (pid == 0 && now_ms() > deadline + LINGER_TIMEOUT_MS)
            return false;
        if (pid == 0) {
            print_error("left behind in %s:\n", world->directory);
            children_visit(end_by_force, NULL);
            well = false;
            deadline = now_ms() + 1000;
        } else if (!WIFEXITED(status) || WEXITSTATUS(status) > world->daemons_may_fail) {
            print_error("process %d ended badly, wait status 0x%x\n", (int)pid, (unsigned)status);
            well = false;
        }
    }
}

/* A daemon that was killed could not clean up. */
static bool is_of_killed(const struct world *world, const char *name)
{
    unsigned node;
    return sscanf(name, "node-%u.", &node) == 1 && node <= NODES_MAX && world->killed[node];
}

/* A daemon that is no embedded one leaves its lock file, which says so. */
static bool is_of_configured(int directory, const char *name)
{
    char text[16] = "", expected[32];
    unsigned node;
    if (sscanf(name, "node-%u.", &node) != 1)
        return false;
    snprintf(expected, sizeof expected, "node-%u.lock", node);
    int fd = openat(directory, name, O_RDONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK);
    bool marked =
        fd >= 0 && read(fd, text, sizeof text - 1) > 0 && strcmp(text, RSMCORE_CONFIGURED) == 0;
    if (fd >= 0)
        close(fd);
    return marked && strcmp(name, expected) == 0;
}

bool world_remove_directory(const struct world *world, const char *path)
{
    bool empty = true;
    DIR *directory = opendir(path);
    for (struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
            continue;
        bool expected =
            is_of_killed(world, entry->d_name) || is_of_configured(dirfd(directory), entry->d_name);
        unlinkat(dirfd(directory), entry->d_name, 0);
        if (expected)
            continue;
        print_error("left behind: %s/%s\n", path, entry->d_name);
        empty = false;
    }
    if (directory != NULL)
        closedir(directory);
    return rmdir(path) == 0 && empty;
}

int world_teardown(void **state)
{
    struct world *world = *state;
    bool well = end_actors(world);
    well = await_orphans(world) && well;
    if (world->split)
        well = hosts_remove(world) && well;
    well = world_remove_directory(world, world->directory) && well;
    unsigned descriptors = process_descriptors(getpid());
    if (descriptors != world->descriptors) {
        print_error("the test process had %u descriptors and has %u\n", world->descriptors,
                    descriptors);
        well = false;
    }
    free(world);
    return well ? 0 : -1;
}
