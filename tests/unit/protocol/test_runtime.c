/* SPDX-License-Identifier: BSD-3-Clause */
#include "cases.h"

#include <dirent.h>

#include "base/log.h"
#include "protocol/environment.h"
#include "base/packet.h"
#include "protocol/runtime.h"
#include "protocol/trust.h"

enum { STRANGER = 65533, SERVICE = 65532 }; /* users */

static char scratch[64], system_directory[96], last_words[1024];
static unsigned errors, warnings;

static void on_log(enum rsmcore_log_level level, const char *text)
{
    errors += level == RSMCORE_LOG_ERROR;
    warnings += level == RSMCORE_LOG_WARNING;
    snprintf(last_words, sizeof last_words, "%s", text);
}

/* A directory of the test's own, and a system directory below it that is not there yet. */
static int begin(void **state)
{
    unsetenv("RSM_NODE");
    unsetenv("RSM_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    strcpy(scratch, "/tmp/rsm-runtime-XXXXXX");
    if (mkdtemp(scratch) == NULL || chmod(scratch, 0755) < 0)
        return -1;
    snprintf(system_directory, sizeof system_directory, "%s/system", scratch);
    rsmcore_trust_system_directory = system_directory;
    rsmcore_log_to(on_log, RSMCORE_LOG_WARNING);
    errors = warnings = 0;
    last_words[0] = '\0';
    return 0;
}

static int end(void **state)
{
    char command[128];
    rsmcore_log_to(NULL, RSMCORE_LOG_ERROR);
    snprintf(command, sizeof command, "rm -r '%s'", scratch);
    return system(command); /* NOLINT: of the test's own directory */
}

static void make_directory(char path[96], const char *name, mode_t mode, uid_t owner)
{
    snprintf(path, 96, "%s/%s", scratch, name);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_int_equal(chmod(path, mode), 0);
    if (owner != geteuid())
        assert_int_equal(chown(path, owner, (gid_t)-1), 0);
}

static void make_file(const char *directory, const char *name, const char *text, uid_t owner)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", directory, name);
    FILE *file = fopen(path, "we");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
    if (owner != geteuid())
        assert_int_equal(chown(path, owner, (gid_t)-1), 0);
}

static int make_listener(const char *directory, const char *name)
{
    char path[RSM_PROTO_PATH_MAX];
    struct sockaddr_un address;
    snprintf(path, sizeof path, "%s/%s", directory, name);
    int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_true(fd >= 0);
    assert_int_equal(rsm_unix_address(&address, path), 0);
    assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    return fd;
}

#define CLEAN(test) TEST_BETWEEN(test, begin, end)

CLEAN(node_ids_have_sixteen_bits)
{
    assert_int_equal(rsmcore_node_id_parse("1"), 1);
    assert_int_equal(rsmcore_node_id_parse("65535"), 65535);
    static const char *const wrong[] = {"",   "0",  "65536", "-1",  "+1",
                                        " 1", "1 ", "1x",    "0x1", "99999999999999999999"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(rsmcore_node_id_parse(wrong[i]), 0);
}

static void expect(const char *directory, bool system, uint32_t node)
{
    struct rsmcore_runtime runtime;
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    assert_string_equal(runtime.directory, directory);
    assert_int_equal(runtime.system, system);
    assert_int_equal(runtime.node, node);
}

/* The system has nodes, and this is none of them: no daemon of the user's is to be started that nobody
 * meets, and the one error line says what to do. */
static void expect_refused(const char *node, const char *lowest)
{
    struct rsmcore_runtime runtime;
    setenv("RSM_NODE", strchr(node, ' ') + 1, 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_UNREACHABLE);
    unsetenv("RSM_NODE");
    assert_int_equal(errors, 1);
    assert_non_null(strstr(last_words, node));
    assert_non_null(strstr(last_words, lowest));
    assert_non_null(strstr(last_words, system_directory));
    assert_non_null(strstr(last_words, "RSM_RUNTIME_DIR"));
    errors = 0;
}

/* Where a process looks that has nothing else: it may be there, of this user. */
static const char *fallback(void)
{
    static char path[64];
    snprintf(path, sizeof path, "/tmp/rsm-%u", (unsigned)geteuid());
    return path;
}

CLEAN(directory_follows_the_documented_order)
{
    char session[96], below[128];
    expect(fallback(), false, 1);
    make_directory(session, "session", 0700, geteuid());
    snprintf(below, sizeof below, "%s/rsm", session);
    setenv("XDG_RUNTIME_DIR", session, 1);
    expect(below, false, 1);
    make_directory(system_directory, "system", 0755, geteuid());
    expect(below, false, 1); /* nobody is in it */
    int listener = make_listener(system_directory, "node-3.sock");
    expect(system_directory, true, 3);
    expect_refused("node 4", "node 3");
    setenv("RSM_RUNTIME_DIR", "/somewhere", 1);
    expect("/somewhere", false, 1);
    setenv("RSM_RUNTIME_DIR", system_directory, 1);
    expect(system_directory, true, 1);
    assert_int_equal(errors + warnings, 0);
    close(listener);
}

/* Names are read, whatever their number. */
CLEAN(the_lowest_node_is_taken)
{
    make_directory(system_directory, "system", 0755, geteuid());
    static const char *const names[] = {
        "node-65535.sock", "node-40000.sock", "node-65536.sock",
        "node-0.sock",     "node-7.socket",   "node-.sock",
        "anode-3.sock",    "node-300.sock",   "node-0000000301.sock"};
    int listeners[sizeof names / sizeof names[0]];
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        listeners[i] = make_listener(system_directory, names[i]);
    expect(system_directory, true, 300);
    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        close(listeners[i]);
}

/* As long as a daemon is configured its clients stay with it, whether or not it runs. */
CLEAN(configured_nodes_are_kept_to)
{
    make_directory(system_directory, "system", 0755, geteuid());
    make_file(system_directory, "node-2.lock", "", geteuid()); /* of an embedded one, killed */
    expect(fallback(), false, 1);
    make_file(system_directory, "node-2.lock", RSMCORE_CONFIGURED, geteuid());
    expect(system_directory, true, 2);
    int listener = make_listener(system_directory, "node-5.sock");
    expect(system_directory, true, 2);
    setenv("RSM_NODE", "5", 1);
    expect(system_directory, true, 5);
    expect_refused("node 6", "node 2");
    /* Nodes of one's own have a directory of their own. */
    setenv("RSM_RUNTIME_DIR", scratch, 1);
    setenv("RSM_NODE", "6", 1);
    expect(scratch, false, 6);
    close(listener);
}

CLEAN(only_regular_lock_files_count)
{
    char path[128];
    struct rsmcore_runtime runtime = {.node = 1};
    make_file(scratch, "text", RSMCORE_CONFIGURED, geteuid());
    strcpy(runtime.directory, scratch);
    assert_false(rsmcore_runtime_is_configured(&runtime, 1));
    snprintf(path, sizeof path, "%s/node-1.lock", scratch);
    assert_int_equal(symlink("text", path), 0);
    assert_false(rsmcore_runtime_is_configured(&runtime, 1));
    assert_int_equal(unlink(path), 0);
    make_file(scratch, "node-1.lock", RSMCORE_CONFIGURED, geteuid());
    assert_true(rsmcore_runtime_is_configured(&runtime, 1));
    assert_false(rsmcore_runtime_is_configured(&runtime, 2));
    if (geteuid() == 0) {
        assert_int_equal(chown(path, STRANGER, 0), 0);
        assert_false(rsmcore_runtime_is_configured(&runtime, 1));
    }
}

CLEAN(directories_of_strangers)
{
    case_needs_root();
    char path[96];
    struct rsmcore_runtime runtime;
    make_directory(path, "theirs", 0700, STRANGER);
    /* What was left by su(1) is passed over, what was asked for is not replaced. */
    setenv("XDG_RUNTIME_DIR", path, 1);
    expect(fallback(), false, 1);
    assert_int_equal(warnings, 1);
    assert_non_null(strstr(last_words, "65533"));
    setenv("RSM_RUNTIME_DIR", path, 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_DENIED);
    assert_int_equal(errors, 1);
    assert_non_null(strstr(last_words, path));
    assert_non_null(strstr(last_words, "65533"));
    /* Nor does a system directory count that anybody can write. */
    unsetenv("RSM_RUNTIME_DIR");
    unsetenv("XDG_RUNTIME_DIR");
    make_directory(system_directory, "system", 0777, 0);
    make_file(system_directory, "node-1.lock", RSMCORE_CONFIGURED, 0);
    expect(fallback(), false, 1);
    assert_int_equal(warnings, 2);
}

/* The owner of the system's directory is trusted, wherever, and nobody else. */
CLEAN(whom_a_process_trusts)
{
    char path[96];
    assert_true(rsmcore_trust_user(0));
    assert_true(rsmcore_trust_user(geteuid()));
    assert_false(rsmcore_trust_user(STRANGER));
    case_needs_root();
    assert_false(rsmcore_trust_user(SERVICE));
    make_directory(system_directory, "system", 0755, SERVICE);
    assert_true(rsmcore_trust_user(SERVICE));
    assert_false(rsmcore_trust_user(STRANGER));
    make_file(system_directory, "node-1.lock", RSMCORE_CONFIGURED, SERVICE);
    expect(system_directory, true, 1);
    assert_int_equal(chmod(system_directory, 0775), 0);
    assert_false(rsmcore_trust_user(SERVICE));
    assert_int_equal(rmdir(system_directory) < 0, 1); /* there is the lock in it */
    make_directory(path, "other", 0755, STRANGER);
    snprintf(system_directory, sizeof system_directory, "%s/link", scratch);
    assert_int_equal(symlink(path, system_directory), 0);
    assert_false(rsmcore_trust_user(STRANGER));
}

/* Whoever listens, and not whose directory it is, decides. */
CLEAN(listeners_of_strangers)
{
    case_needs_root();
    char path[RSM_PROTO_PATH_MAX];
    snprintf(path, sizeof path, "%s/node-1.sock", scratch);
    int own = make_listener(scratch, "node-1.sock");
    int client = rsmcore_trust_connect(path);
    assert_true(client > 2);
    close(client);
    close(own);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rsmcore_trust_connect(path), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(errors, 0);

    assert_int_equal(chmod(scratch, 0777), 0);
    assert_int_equal(seteuid(STRANGER), 0);
    int theirs = make_listener(scratch, "node-1.sock");
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(chmod(scratch, 0755), 0);
    assert_int_equal(rsmcore_trust_connect(path), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(errors, 1);
    assert_non_null(strstr(last_words, "65533"));
    assert_non_null(strstr(last_words, path));
    /* Not a byte was sent. */
    char byte;
    int accepted = accept4(theirs, NULL, NULL, SOCK_CLOEXEC);
    assert_true(accepted >= 0);
    assert_int_equal(recv(accepted, &byte, 1, 0), 0);
    close(accepted);
    close(theirs);
}

CLEAN(node_and_names)
{
    struct rsmcore_runtime runtime;
    char path[RSM_PROTO_PATH_MAX];
    setenv("RSM_RUNTIME_DIR", "/d", 1);
    setenv("RSM_NODE", "2", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_OK);
    assert_int_equal(runtime.node, 2);
    rsmcore_runtime_socket(&runtime, 17, path);
    assert_string_equal(path, "/d/node-17.sock");
    rsmcore_runtime_lock(&runtime, 2, path);
    assert_string_equal(path, "/d/node-2.lock");
    setenv("RSM_NODE", "two", 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_INVALID);
}

CLEAN(long_directories_are_refused)
{
    struct rsmcore_runtime runtime;
    char name[200];
    memset(name, 'd', sizeof name - 1);
    name[0] = '/';
    name[sizeof name - 1] = '\0';
    setenv("RSM_RUNTIME_DIR", name, 1);
    assert_int_equal(rsmcore_runtime_find(&runtime), RSM_ST_INVALID);
}

CLEAN(unsafe_directories_are_refused)
{
    struct rsmcore_runtime runtime = {.node = 1};
    char link_name[96];
    snprintf(runtime.directory, sizeof runtime.directory, "%s/new", scratch);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_OK);
    struct stat status;
    assert_int_equal(stat(runtime.directory, &status), 0);
    assert_int_equal(status.st_mode & 07777, 0700);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_OK);

    chmod(runtime.directory, 0777);
    assert_int_equal(rsmcore_runtime_prepare(&runtime), RSM_ST_DENIED);
    chmod(runtime.directory, 0700);

    snprintf(link_name, sizeof link_name, "%s/link", scratch);
    assert_int_equal(symlink(runtime.directory, link_name), 0);
    struct rsmcore_runtime linked = {.node = 1};
    strcpy(linked.directory, link_name);
    assert_int_equal(rsmcore_runtime_prepare(&linked), RSM_ST_DENIED);
    setenv("RSM_RUNTIME_DIR", link_name, 1);
    assert_int_equal(rsmcore_runtime_find(&linked), RSM_ST_DENIED);
}

/* A service manager's socket and, behind it, a daemon that finds out that it is node 7; or, if @p fails,
 * one that ends. The child ends after the first connection. */
static pid_t start_service_behind(int listener, bool fails)
{
    pid_t child = fork();
    assert_true(child >= 0);
    if (child > 0) {
        close(listener);
        return child;
    }
    int client = accept(listener, NULL, NULL);
    if (client < 0)
        _exit(1);
    if (!fails)
        make_file(system_directory, "node-7.lock", RSMCORE_CONFIGURED, geteuid());
    _exit(0);
}

static void await_child(pid_t child)
{
    int status = -1;
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
}

CLEAN(a_service_is_started)
{
    make_directory(system_directory, "system", 0755, geteuid());
    pid_t child =
        start_service_behind(make_listener(system_directory, RSMCORE_SERVICE_SOCKET), false);
    expect(system_directory, true, 7);
    await_child(child);
    /* Where a node is known, nobody is asked: the socket is not connected to again. */
    expect_refused("node 3", "node 7");
    setenv("RSM_NODE", "7", 1);
    expect(system_directory, true, 7);
    assert_int_equal(errors + warnings, 0);
}

/* How many sockets this process has. */
static int sockets(void)
{
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    assert_non_null(directory);
    for (struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        if (fstatat(dirfd(directory), entry->d_name, &status, 0) == 0 && S_ISSOCK(status.st_mode))
            count++;
    }
    closedir(directory);
    return count;
}

/* What a child that is forked meanwhile says of the socket that is waited at: 1 it has a copy. */
static int inherited = -1, sockets_before;
static bool fork_armed;

/* The waiting comes here: the program's symbols are found before those of libc. */
int poll(struct pollfd *fds, nfds_t count, int timeout)
{
    if (fork_armed) {
        int status;
        fork_armed = false;
        pid_t child = fork();
        if (child == 0)
            _exit(sockets() == sockets_before ? 0 : 1);
        if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status))
            inherited = WEXITSTATUS(status);
    }
    struct timespec limit = {.tv_sec = timeout / 1000, .tv_nsec = timeout % 1000 * 1000000L};
    return ppoll(fds, count, timeout < 0 ? NULL : &limit, NULL);
}

CLEAN(a_child_has_no_socket_of_the_service)
{
    make_directory(system_directory, "system", 0755, geteuid());
    int listener = make_listener(system_directory, RSMCORE_SERVICE_SOCKET);
    pid_t child = start_service_behind(listener, true);
    inherited = -1;
    sockets_before = sockets();
    fork_armed = true;
    expect(fallback(), false, 1);
    await_child(child);
    assert_int_equal(inherited, 0);
}

CLEAN(a_service_that_cannot_start)
{
    make_directory(system_directory, "system", 0755, geteuid());
    pid_t child =
        start_service_behind(make_listener(system_directory, RSMCORE_SERVICE_SOCKET), true);
    expect(fallback(), false, 1);
    await_child(child);
    expect(fallback(), false, 1); /* and a socket that nobody listens at is no service */
}

int main(void)
{
    rsmcore_environment_check_once(); /* what tests have of their own there is no matter of these */
    return cases_run();
}
