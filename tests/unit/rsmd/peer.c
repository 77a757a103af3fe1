/* SPDX-License-Identifier: BSD-3-Clause */
#include "peer.h"

#include <grp.h>
#include <sys/prctl.h>

#include "protocol/runtime.h"
#include "rsm/rsm_common.h"

/* ------------------------------------------------------------------ daemons */

void directory_make(char directory[64])
{
    strcpy(directory, "/tmp/rsmd-test-XXXXXX");
    assert_non_null(mkdtemp(directory));
    assert_int_equal(chmod(directory, 0755), 0); /* other users connect in some tests */
}

void directory_remove(const char *directory)
{
    assert_int_equal(rmdir(directory), 0);
}

static const char *rsmd_path(void)
{
    const char *path = getenv("RSM_RSMD");
    if (path == NULL)
        fail_msg("RSM_RSMD must name the daemon under test");
    return path;
}

unsigned daemon_files;
uid_t daemon_user = DAEMON_USER_SELF;

/* Become the user as whom the daemon is to run. */
static void become(uid_t uid)
{
    if (uid != DAEMON_USER_SELF &&
        (setgroups(0, NULL) < 0 || setresgid(uid, uid, uid) < 0 || setresuid(uid, uid, uid) < 0))
        _exit(125);
}

bool daemon_is_reachable(void)
{
    const uid_t nobody = 65534;
    const char *path = rsmd_path();
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        become(nobody);
        _exit(access(path, X_OK) == 0 ? 0 : 1);
    }
    return wait_exit(pid) == 0;
}

static pid_t spawn(char *const arguments[])
{
    const char *path = rsmd_path();
    pid_t parent = getpid(), pid = fork();
    assert_true(pid >= 0);
    if (pid != 0)
        return pid;
    struct rlimit files = {.rlim_cur = daemon_files, .rlim_max = daemon_files};
    if (daemon_files != 0 && setrlimit(RLIMIT_NOFILE, &files) < 0)
        _exit(126);
    become(daemon_user);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent && getppid() != 0) /* 0: in a pid namespace of its own */
        _exit(126);
    execv(path, arguments);
    _exit(127);
}

int wait_exit(pid_t pid)
{
    int status;
    pid_t got;
    do
        got = waitpid(pid, &status, 0);
    while (got < 0 && errno == EINTR);
    assert_int_equal(got, pid);
    return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

int rsmd_run_to_end(char *const arguments[])
{
    return wait_exit(spawn(arguments));
}

/* Write a configuration file beside the directory; the option that names it. */
static void configure(const char *directory, const char *text, char option[128])
{
    static const char usual[] = "[controller sci0]\ntransport = shm\n";
    snprintf(option, 128, "--config=%s.conf", directory);
    FILE *file = fopen(strchr(option, '/'), "w");
    assert_non_null(file);
    assert_true(fputs(text != NULL ? text : usual, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

const char *daemon_log_level = "--log-level=error";

static void await_ready(int fd)
{
    char answer = 0;
    assert_int_equal(read(fd, &answer, 1), 1);
    assert_int_equal(answer, 'R');
    close(fd);
}

void daemon_start_in(struct daemon *daemon, const char *directory, uint32_t node,
                     const char *configuration, const char *option)
{
    char text[4][128];
    int ready[2];
    bool embedded = option != NULL && strcmp(option, "--embedded") == 0;
    struct rsmcore_runtime runtime = {.node = node};
    assert_int_equal(pipe(ready), 0);
    fcntl(ready[0], F_SETFD, FD_CLOEXEC);
    configure(directory, configuration, text[0]);
    snprintf(text[1], sizeof text[1], "--runtime-dir=%s", directory);
    snprintf(text[2], sizeof text[2], "--node=%u", (unsigned)node);
    snprintf(text[3], sizeof text[3], "--ready-fd=%d", ready[1]);
    char *arguments[] = {(char *)(uintptr_t) "rsmd",
                         (char *)(uintptr_t)daemon_log_level,
                         (char *)(uintptr_t) "--stderr",
                         text[0],
                         text[1],
                         text[2],
                         text[3],
                         (char *)(uintptr_t)(embedded ? option : "--foreground"),
                         (char *)(uintptr_t)(embedded ? NULL : option),
                         NULL};
    daemon->node = node;
    daemon->embedded = option != NULL && strcmp(option, "--embedded") == 0;
    snprintf(daemon->directory, sizeof daemon->directory, "%s", directory);
    snprintf(runtime.directory, sizeof runtime.directory, "%s", directory);
    rsmcore_runtime_socket(&runtime, node, daemon->socket);
    if (daemon_user != DAEMON_USER_SELF)
        assert_int_equal(chown(directory, daemon_user, (gid_t)-1), 0);
    daemon->pid = spawn(arguments);
    close(ready[1]);
    await_ready(ready[0]);
    assert_int_equal(unlink(strchr(text[0], '/')), 0);
}

void daemon_start(struct daemon *daemon, const char *configuration, const char *option)
{
    char directory[64];
    directory_make(directory);
    daemon_start_in(daemon, directory, 1, configuration, option);
}

static void lock_path(const char *directory, uint32_t node, char path[RSM_PROTO_PATH_MAX])
{
    struct rsmcore_runtime runtime = {.node = node};
    snprintf(runtime.directory, sizeof runtime.directory, "%s", directory);
    rsmcore_runtime_lock(&runtime, node, path);
}

void configured_lock_remove(const char *directory, uint32_t node)
{
    char path[RSM_PROTO_PATH_MAX], text[32] = "";
    lock_path(directory, node, path);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_true(read(fd, text, sizeof text - 1) > 0);
    close(fd);
    assert_string_equal(text, RSMCORE_CONFIGURED);
    assert_int_equal(unlink(path), 0);
}

void daemon_end(struct daemon *daemon)
{
    char lock[RSM_PROTO_PATH_MAX];
    lock_path(daemon->directory, daemon->node, lock);
    assert_int_equal(kill(daemon->pid, SIGTERM), 0);
    assert_int_equal(wait_exit(daemon->pid), 0);
    assert_int_equal(access(daemon->socket, F_OK), -1);
    if (daemon->embedded)
        assert_int_equal(access(lock, F_OK), -1);
    else
        configured_lock_remove(daemon->directory, daemon->node);
}

void daemon_stop(struct daemon *daemon)
{
    daemon_end(daemon);
    directory_remove(daemon->directory);
}

/* ------------------------------------------------------------------ talk */

int peer_connect(const struct daemon *daemon)
{
    int socket = rsm_packet_connect(daemon->socket);
    assert_true(socket >= 0);
    return socket;
}

void await_readable(int socket)
{
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    int ready;
    do
        ready = poll(&readable, 1, PEER_WAIT_MS);
    while (ready < 0 && errno == EINTR);
    assert_int_equal(ready, 1);
}

enum rsm_status ask_with(int socket, struct rsm_msg *msg, const struct rsm_packet_fds *send,
                         struct rsm_packet_fds *receive)
{
    static uint32_t sequence;
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_packet_fds none = {.count = 0};
    uint32_t type = msg->type, expected = ++sequence;
    msg->sequence = expected;
    size_t length = rsm_msg_encode(msg, buffer, sizeof buffer);
    assert_true(length > 0);
    assert_int_equal(rsm_packet_send(socket, buffer, length, send, 1), 0);
    await_readable(socket);
    ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, &none, NULL);
    assert_true(got > 0);
    assert_int_equal(rsm_msg_decode(msg, buffer, (size_t)got), RSM_ST_OK);
    assert_int_equal(msg->type, type | RSM_MSG_REPLY);
    assert_int_equal(msg->sequence, expected);
    if (msg->status != RSM_ST_OK || receive == NULL)
        assert_int_equal(none.count, 0);
    if (receive != NULL)
        *receive = none;
    return (enum rsm_status)msg->status;
}

enum rsm_status ask(int socket, struct rsm_msg *msg)
{
    return ask_with(socket, msg, NULL, NULL);
}

int ask_raw(int socket, const void *bytes, size_t length, const struct rsm_packet_fds *send)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg;
    assert_int_equal(rsm_packet_send(socket, bytes, length, send, 0), 0);
    await_readable(socket);
    ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, NULL, NULL);
    if (got == 0 || got == -ECONNRESET)
        return -1;
    assert_true(got > 0);
    assert_int_equal(rsm_msg_decode(&msg, buffer, (size_t)got), RSM_ST_OK);
    return (int)msg.status;
}

void expect_hangup(int socket)
{
    uint8_t byte;
    await_readable(socket);
    ssize_t got = rsm_packet_receive(socket, &byte, 1, NULL, NULL);
    assert_true(got == 0 || got == -ECONNRESET);
}

static int hello(const struct daemon *daemon, uint32_t node, struct rsm_packet_fds *fds)
{
    int socket = peer_connect(daemon);
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = node}};
    assert_int_equal(ask_with(socket, &msg, NULL, fds), RSM_ST_OK);
    assert_int_equal(fds->count, 1);
    assert_int_equal(msg.u.hello_reply.node, daemon->node);
    return socket;
}

/* Listen where a daemon of the node would; -1: one does, or did. */
static int stand_in(const struct daemon *daemon, uint32_t node, struct sockaddr_un *address)
{
    char path[RSM_PROTO_PATH_MAX];
    struct rsmcore_runtime runtime = {.node = node};
    snprintf(runtime.directory, sizeof runtime.directory, "%s", daemon->directory);
    rsmcore_runtime_socket(&runtime, node, path);
    assert_int_equal(rsm_unix_address(address, path), 0);
    if (access(path, F_OK) == 0)
        return -1;
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)address, sizeof *address), 0);
    assert_int_equal(listen(fd, 4), 0);
    return fd;
}

int peer_hello_as(const struct daemon *daemon, uint32_t node)
{
    struct rsm_packet_fds fds;
    struct sockaddr_un address;
    int other = stand_in(daemon, node, &address);
    int socket = hello(daemon, node, &fds);
    rsm_packet_fds_close(&fds);
    if (other >= 0) {
        close(other);
        assert_int_equal(unlink(address.sun_path), 0);
    }
    return socket;
}

int peer_hello(const struct daemon *daemon)
{
    return peer_hello_as(daemon, daemon->node);
}

void wait_for_clients(int socket, uint32_t clients)
{
    struct rsm_msg msg;
    do {
        msg = (struct rsm_msg){.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_IMPORTS}};
        assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    } while (msg.u.inspect_reply.clients != clients);
}

/* ------------------------------------------------------------------ generation table */

const struct rsm_generation_table *gentable_map(const struct daemon *daemon)
{
    struct rsm_packet_fds fds;
    int socket = hello(daemon, daemon->node, &fds);
    const struct rsm_generation_table *table =
        mmap(NULL, sizeof *table, PROT_READ, MAP_SHARED, fds.fds[0], 0);
    assert_ptr_not_equal(table, MAP_FAILED);
    rsm_packet_fds_close(&fds);
    close(socket);
    return table;
}

void gentable_unmap(const struct rsm_generation_table *table)
{
    assert_int_equal(munmap((void *)(uintptr_t)table, sizeof *table), 0);
}

uint32_t slot_value(const struct rsm_generation_table *table, uint32_t slot)
{
    return atomic_load_explicit(&table->slot[slot], memory_order_acquire);
}

void await_move(const struct rsm_generation_table *table, uint32_t slot, uint32_t value)
{
    struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; slot_value(table, slot) == value; waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
}

/* ------------------------------------------------------------------ requests */

uint32_t make_extent(int socket, uint64_t length)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_ALLOC,
                          .u.extent_alloc = {.controller = "sci0", .length = length}};
    assert_int_equal(ask_with(socket, &msg, NULL, &fds), RSM_ST_OK);
    assert_int_equal(fds.count, 1);
    rsm_packet_fds_close(&fds);
    assert_int_not_equal(msg.u.extent_alloc_reply.extent, 0);
    return msg.u.extent_alloc_reply.extent;
}

uint32_t make_export(int socket, uint64_t length, uint32_t mode)
{
    struct rsm_msg msg = {
        .type = RSM_MSG_EXPORT_CREATE,
        .u.export_create = {.controller = "sci0", .length = length, .mode = mode}};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    assert_int_not_equal(msg.u.export_create_reply.export_id, 0);
    return msg.u.export_create_reply.export_id;
}

struct rsm_inspect_reply inspect_exports(int socket)
{
    struct rsm_msg msg = {.type = RSM_MSG_INSPECT, .u.inspect = {.what = RSM_INSPECT_EXPORTS}};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    return msg.u.inspect_reply;
}

enum rsm_status extent_free(int socket, uint32_t extent, uint32_t flags)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXTENT_FREE, .u.extent_free = {extent, flags}};
    return ask(socket, &msg);
}

enum rsm_status publish(int socket, uint32_t export_id, uint32_t segment_id, uint32_t extent,
                        uint64_t length, const struct rsm_acl_entry *acl, uint32_t acl_count)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_PUBLISH,
                          .u.export_publish = {.export_id = export_id,
                                               .segment_id = segment_id,
                                               .acl_count = acl_count,
                                               .piece_count = 1,
                                               .pieces = {{extent, 0, length}}}};
    if (acl_count > 0)
        memcpy(msg.u.export_publish.acl, acl, acl_count * sizeof *acl);
    enum rsm_status status = ask(socket, &msg);
    if (status == RSM_ST_OK && segment_id != 0)
        assert_int_equal(msg.u.export_publish_reply.segment_id, segment_id);
    return status;
}

uint32_t publish_page(int socket, uint32_t segment_id, uint32_t mode)
{
    uint64_t page = (uint64_t)sysconf(_SC_PAGESIZE);
    uint32_t extent = make_extent(socket, page);
    uint32_t export_id = make_export(socket, page, mode);
    assert_int_equal(publish(socket, export_id, segment_id, extent, page, NULL, 0), RSM_ST_OK);
    return export_id;
}

static enum rsm_status end_export(int socket, struct rsm_msg *msg, uint32_t *offered)
{
    enum rsm_status status = ask(socket, msg);
    if (status == RSM_ST_OK && offered != NULL)
        *offered = msg->u.export_destroy_reply.offered;
    return status;
}

enum rsm_status unpublish(int socket, uint32_t export_id, uint32_t flags, uint32_t *offered)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_UNPUBLISH,
                          .u.export_unpublish = {.export_id = export_id, .flags = flags}};
    return end_export(socket, &msg, offered);
}

enum rsm_status destroy(int socket, uint32_t export_id, uint32_t *offered)
{
    struct rsm_msg msg = {.type = RSM_MSG_EXPORT_DESTROY,
                          .u.export_destroy = {.export_id = export_id}};
    return end_export(socket, &msg, offered);
}

enum rsm_status connect_on(int socket, const char *controller, uint32_t node, uint32_t segment_id,
                           uint32_t rights, struct rsm_import_connect_reply *reply)
{
    struct rsm_packet_fds fds;
    struct rsm_msg msg = {
        .type = RSM_MSG_IMPORT_CONNECT,
        .u.import_connect = {.node = node, .segment_id = segment_id, .rights = rights}};
    snprintf(msg.u.import_connect.controller, sizeof msg.u.import_connect.controller, "%s",
             controller);
    enum rsm_status status = ask_with(socket, &msg, NULL, &fds);
    rsm_packet_fds_close(&fds);
    if (status == RSM_ST_OK && reply != NULL)
        *reply = msg.u.import_connect_reply;
    return status;
}

enum rsm_status disconnect(int socket, uint32_t import)
{
    struct rsm_msg msg = {.type = RSM_MSG_IMPORT_DISCONNECT,
                          .u.import_disconnect = {.import = import}};
    return ask(socket, &msg);
}

/* ------------------------------------------------------------------ users */

int as_user(uid_t uid, gid_t gid, gid_t group, int (*body)(const void *argument),
            const void *argument)
{
    case_needs_root();
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        if (setgroups(group != 0, &group) < 0 || setresgid(gid, gid, gid) < 0 ||
            setresuid(uid, uid, uid) < 0)
            _exit(250);
        _exit(body(argument));
    }
    return wait_exit(child);
}
