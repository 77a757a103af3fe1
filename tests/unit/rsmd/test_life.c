/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginnings and ends: of the daemon, of clients, of an embedded node. */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "peer.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

static uint64_t page;

static int get_page(void **state)
{
    (void)state;
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

static void termination_aborts_and_leaves_nothing(void **state)
{
    (void)state;
    struct daemon daemon;
    struct rsm_import_connect_reply import;
    daemon_start(&daemon, NULL, NULL);
    const struct rsm_generation_table *table = gentable_map(&daemon);
    int socket = peer_hello(&daemon);
    publish_page(socket, 5, 0600);
    assert_int_equal(connect_on(socket, "sci0", 1, 5, 6, &import), RSM_ST_OK);
    assert_int_equal(slot_value(table, import.slot), import.generation);
    assert_int_equal(atomic_load(&table->alive) & RSM_GENERATION_TABLE_OWNER_DIED, 0);
    daemon_stop(&daemon);
    assert_int_not_equal(slot_value(table, import.slot), import.generation);
    assert_int_not_equal(atomic_load(&table->alive) & RSM_GENERATION_TABLE_OWNER_DIED, 0);
    expect_hangup(socket);
    close(socket);
    gentable_unmap(table);
}

static void a_killed_daemon_is_replaced(void **state)
{
    (void)state;
    struct daemon daemon, next;
    daemon_start(&daemon, NULL, NULL);
    const struct rsm_generation_table *table = gentable_map(&daemon);
    int socket = peer_hello(&daemon);
    assert_int_equal(kill(daemon.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(daemon.pid), -SIGKILL);
    assert_int_not_equal(atomic_load(&table->alive) & RSM_GENERATION_TABLE_OWNER_DIED, 0);
    expect_hangup(socket);
    close(socket);
    gentable_unmap(table);
    assert_int_equal(access(daemon.socket, F_OK), 0); /* left behind */
    daemon_start_in(&next, daemon.directory, 1, NULL, NULL);
    socket = peer_hello(&next);
    close(socket);
    daemon_stop(&next);
}

/* Run a second daemon beside a first; what it told its starter is stored in @p told. */
static int run_second(const struct daemon *first, const char *kind, char told[512])
{
    char directory[96], ready[32];
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    fcntl(ends[0], F_SETFD, FD_CLOEXEC);
    snprintf(directory, sizeof directory, "--runtime-dir=%s", first->directory);
    snprintf(ready, sizeof ready, "--ready-fd=%d", ends[1]);
    char *arguments[] = {TEXT("rsmd"), TEXT(kind), TEXT("--node=1"), TEXT("--syslog"), directory,
                         ready,        NULL};
    int status = rsmd_run_to_end(arguments);
    close(ends[1]);
    memset(told, 0, 512);
    assert_true(read(ends[0], told, 511) >= 0);
    close(ends[0]);
    return status;
}

static void one_daemon_a_node(void **state)
{
    (void)state;
    struct daemon daemon, neighbour;
    char told[512];
    daemon_start(&daemon, NULL, NULL);
    assert_int_equal(run_second(&daemon, "--embedded", told), 0);
    assert_string_equal(told, "B");
    assert_int_equal(run_second(&daemon, "--foreground", told), 1);
    assert_non_null(strstr(told, "node 1 is served by another rsmd already"));
    int socket = peer_hello(&daemon); /* the first is untouched */
    close(socket);
    daemon_start_in(&neighbour, daemon.directory, 2, NULL, NULL);
    daemon_end(&neighbour);
    daemon_stop(&daemon);
}

static mode_t mode_of(const char *path)
{
    struct stat what;
    assert_int_equal(lstat(path, &what), 0);
    return what.st_mode & 07777;
}

/* However a configured daemon ends, the node stays for such daemons, and the next one takes over at
 * once. */
static void a_configured_node_stays_so(void **state)
{
    (void)state;
    struct daemon daemon, next;
    char told[512], lock[128];
    daemon_start(&daemon, NULL, NULL);
    snprintf(lock, sizeof lock, "%s/node-1.lock", daemon.directory);
    assert_int_equal(mode_of(lock), 0600); /* whoever could read it could lock it */
    assert_int_equal(kill(daemon.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(daemon.pid), -SIGKILL);
    assert_int_equal(run_second(&daemon, "--embedded", told), 0);
    assert_string_equal(told, "B");
    daemon_start_in(&next, daemon.directory, 1, NULL, NULL);
    assert_int_equal(kill(next.pid, SIGTERM), 0);
    assert_int_equal(wait_exit(next.pid), 0);
    assert_int_equal(run_second(&daemon, "--embedded", told), 0);
    assert_string_equal(told, "B");
    assert_int_equal(access(daemon.socket, F_OK), -1);
    daemon_start_in(&next, daemon.directory, 1, NULL, NULL);
    daemon_stop(&next);
}

/* A lock that an embedded daemon left when it was killed binds nobody. */
static void a_killed_embedded_daemon_binds_nobody(void **state)
{
    (void)state;
    struct daemon daemon, next;
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(kill(daemon.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(daemon.pid), -SIGKILL);
    daemon_start_in(&next, daemon.directory, 1, NULL, "--embedded");
    daemon_end(&next);
    daemon_start_in(&next, daemon.directory, 1, NULL, NULL);
    daemon_stop(&next);
}

static void failures_are_told(void **state)
{
    (void)state;
    char told[512];
    struct daemon nowhere = {.directory = "/proc/nowhere"};
    assert_int_equal(run_second(&nowhere, "--embedded", told), 1);
    assert_non_null(strstr(told, "/proc/nowhere"));
    assert_ptr_equal(strchr(told, '\n'), told + strlen(told) - 1);
    directory_make(nowhere.directory);
    assert_int_equal(chmod(nowhere.directory, 0777), 0);
    assert_int_equal(run_second(&nowhere, "--embedded", told), 1);
    assert_non_null(strstr(told, "permission denied"));
    directory_remove(nowhere.directory);
}

static void who_may_connect(void **state)
{
    (void)state;
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    assert_int_equal(mode_of(daemon.socket), geteuid() == 0 ? 0666 : 0600);
    daemon_stop(&daemon);
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(mode_of(daemon.socket), 0600);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ clients */

static void a_client_ends(void **state)
{
    (void)state;
    struct daemon daemon;
    struct rsm_import_connect_reply import, other;
    daemon_start(&daemon, NULL, NULL);
    const struct rsm_generation_table *table = gentable_map(&daemon);
    int exporter = peer_hello(&daemon), importer = peer_hello(&daemon);
    publish_page(exporter, 5, 0600);
    publish_page(importer, 6, 0600);
    assert_int_equal(connect_on(importer, "sci0", 1, 5, 6, &import), RSM_ST_OK);
    assert_int_equal(connect_on(importer, "sci0", 1, 6, 6, &other), RSM_ST_OK);
    close(exporter);
    await_move(table, import.slot, import.generation);
    assert_int_equal(slot_value(table, other.slot), other.generation);
    assert_int_equal(connect_on(importer, "sci0", 1, 5, 6, NULL), RSM_ST_NOT_FOUND);
    publish_page(importer, 5, 0600); /* the id is free */
    close(importer);
    gentable_unmap(table);
    daemon_stop(&daemon);
}

/* A client whose forked child keeps the connection open, and which is killed. */
static void client_with_heir(const struct daemon *daemon, int to_test)
{
    int socket = peer_hello(daemon);
    publish_page(socket, 5, 0600);
    pid_t heir = fork();
    if (heir == 0) {
        for (;;)
            pause();
    }
    if (heir < 0 || write(to_test, &heir, sizeof heir) != sizeof heir)
        _exit(1);
    for (;;)
        pause();
}

static void a_client_is_killed_that_had_forked(void **state)
{
    (void)state;
    struct daemon daemon;
    struct rsm_import_connect_reply import;
    int ends[2];
    pid_t heir;
    daemon_start(&daemon, NULL, NULL);
    const struct rsm_generation_table *table = gentable_map(&daemon);
    assert_int_equal(pipe(ends), 0);
    pid_t client = fork();
    assert_true(client >= 0);
    if (client == 0)
        client_with_heir(&daemon, ends[1]);
    assert_int_equal(read(ends[0], &heir, sizeof heir), sizeof heir);
    int importer = peer_hello(&daemon);
    assert_int_equal(connect_on(importer, "sci0", 1, 5, 6, &import), RSM_ST_OK);
    assert_int_equal(kill(client, SIGKILL), 0);
    assert_int_equal(wait_exit(client), -SIGKILL);
    await_move(table, import.slot, import.generation);
    assert_int_equal(connect_on(importer, "sci0", 1, 5, 6, NULL), RSM_ST_NOT_FOUND);
    assert_int_equal(kill(heir, SIGKILL), 0);
    close(importer);
    close(ends[0]);
    close(ends[1]);
    gentable_unmap(table);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ embedded nodes */

static long elapsed_ms(const struct timespec *since)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (now.tv_sec - since->tv_sec) * 1000 + (now.tv_nsec - since->tv_nsec) / 1000000;
}

static void an_embedded_node_ends_when_unused(void **state)
{
    (void)state;
    struct daemon daemon;
    struct timespec left;
    daemon_start(&daemon, NULL, "--embedded");
    int first = peer_hello(&daemon), second = peer_hello(&daemon);
    close(first);
    /* One that says nothing does not keep it. */
    int silent = peer_connect(&daemon);
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}};
    assert_int_equal(ask(second, &msg), RSM_ST_OK);
    clock_gettime(CLOCK_MONOTONIC, &left);
    close(second);
    assert_int_equal(wait_exit(daemon.pid), 0);
    assert_true(elapsed_ms(&left) >= 990); /* it lingers for a second */
    expect_hangup(silent);
    close(silent);
    directory_remove(daemon.directory);
}

static void a_newcomer_keeps_it(void **state)
{
    (void)state;
    struct daemon daemon;
    daemon_start(&daemon, NULL, "--embedded");
    for (int i = 0; i < 3; i++) {
        int socket = peer_hello(&daemon);
        close(socket);
    }
    int socket = peer_hello(&daemon);
    /* Longer than the linger time: the reply to the last request shows that it is still there. */
    struct timespec pause = {.tv_sec = 1, .tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    struct rsm_msg msg = {.type = RSM_MSG_CONTROLLER, .u.controller = {.name = "sci0"}};
    assert_int_equal(ask(socket, &msg), RSM_ST_OK);
    close(socket);
    assert_int_equal(wait_exit(daemon.pid), 0);
    directory_remove(daemon.directory);
}

/* Many processes start daemons at once; all end up at one, and nothing is left. */
static void a_race_has_one_winner(void **state)
{
    (void)state;
    enum { RACERS = 8 };
    char directory[64], option[96];
    directory_make(directory);
    snprintf(option, sizeof option, "--runtime-dir=%s", directory);
    struct timespec before;
    clock_gettime(CLOCK_MONOTONIC, &before);
    for (int i = 0; i < RACERS; i++) {
        pid_t racer = fork();
        assert_true(racer >= 0);
        if (racer == 0) {
            execl(getenv("RSM_RSMD"), "rsmd", "--embedded", "--node=3", option, "--linger-ms=50",
                  (char *)NULL);
            _exit(127);
        }
    }
    struct daemon daemon = {.node = 3};
    snprintf(daemon.socket, sizeof daemon.socket, "%s/node-3.sock", directory);
    while (access(daemon.socket, F_OK) != 0)
        assert_true(elapsed_ms(&before) < PEER_WAIT_MS);
    int socket;
    while ((socket = rsm_packet_connect(daemon.socket)) < 0) /* bound, but not yet listening */
        assert_true(errno == ECONNREFUSED && elapsed_ms(&before) < PEER_WAIT_MS);
    close(socket);
    /* As long as this client is there, all but the winner give up. */
    socket = peer_hello(&daemon);
    int status;
    for (int i = 0; i < RACERS; i++) {
        if (i == RACERS - 1)
            close(socket);
        assert_true(waitpid(-1, &status, 0) > 0);
        assert_int_equal(status, 0);
    }
    directory_remove(directory);
}

/* ------------------------------------------------------------------ service manager, background */

static void ready_and_stopping_are_notified(void **state)
{
    (void)state;
    struct daemon daemon;
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char directory[64], text[64] = "";
    directory_make(directory);
    snprintf(address.sun_path, sizeof address.sun_path, "%s.notify", directory);
    int manager = socket(AF_UNIX, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    assert_true(manager >= 0);
    assert_int_equal(bind(manager, (const struct sockaddr *)&address, sizeof address), 0);
    struct timeval patience = {.tv_sec = PEER_WAIT_MS / 1000};
    assert_int_equal(setsockopt(manager, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience), 0);
    setenv("NOTIFY_SOCKET", address.sun_path, 1);
    daemon_start_in(&daemon, directory, 1, NULL, NULL);
    unsetenv("NOTIFY_SOCKET");
    assert_int_equal(recv(manager, text, sizeof text, 0), 7);
    assert_memory_equal(text, "READY=1", 7);
    assert_true(recv(manager, text, sizeof text - 1, 0) > 0);
    assert_string_equal(text, "STATUS=node 1; controllers: 1");
    daemon_end(&daemon);
    assert_int_equal(recv(manager, text, sizeof text, 0), 10);
    assert_memory_equal(text, "STOPPING=1", 10);
    close(manager);
    unlink(address.sun_path);
    directory_remove(directory);
}

/* A pipe without room, as one that a program was given and nobody reads. */
static void make_full_pipe(int ends[2])
{
    static const char bytes[4096];
    assert_int_equal(pipe2(ends, O_CLOEXEC | O_NONBLOCK), 0);
    while (write(ends[1], bytes, sizeof bytes) > 0)
        continue;
    assert_int_equal(errno, EAGAIN);
    assert_int_equal(fcntl(ends[1], F_SETFL, 0), 0);
}

static void a_log_that_nobody_reads_holds_nobody_up(void **state)
{
    (void)state;
    struct daemon daemon;
    static char text[65536 + 4096];
    int ends[2], before = dup(STDERR_FILENO);
    make_full_pipe(ends);
    dup2(ends[1], STDERR_FILENO);
    daemon_log_level = "--log-level=debug";
    daemon_start(&daemon, NULL, NULL);
    daemon_log_level = "--log-level=error";
    dup2(before, STDERR_FILENO);
    close(before);
    close(peer_hello(&daemon));
    while (read(ends[0], text, sizeof text) > 0)
        continue;
    daemon_stop(&daemon); /* which is worth a line */
    ssize_t length = read(ends[0], text, sizeof text - 1);
    assert_true(length > 0);
    text[length] = '\0';
    assert_non_null(strstr(text, "lines are missing here"));
    assert_non_null(strstr(text, "node 1 ends"));
    close(ends[0]);
    close(ends[1]);
}

/* Become rsmd with a listening socket as a service manager passes it. */
static void exec_with_socket(int listener, const char *directory, const char *node)
{
    char pid[32], option[96];
    snprintf(pid, sizeof pid, "%d", (int)getpid());
    snprintf(option, sizeof option, "--runtime-dir=%s", directory);
    setenv("LISTEN_PID", pid, 1);
    setenv("LISTEN_FDS", "1", 1);
    if (listener != 3) {
        dup2(listener, 3);
        close(listener);
    }
    fcntl(3, F_SETFD, 0);
    execl(getenv("RSM_RSMD"), "rsmd", "--foreground", "--config=/dev/null", "--log-level=error",
          option, node, (char *)NULL);
    _exit(127);
}

static void a_passed_socket_is_served_and_kept(void **state)
{
    (void)state;
    struct daemon daemon = {.node = 1};
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    directory_make(daemon.directory);
    snprintf(daemon.socket, sizeof daemon.socket, "%s/node-1.sock", daemon.directory);
    strcpy(address.sun_path, daemon.socket);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 10), 0);
    daemon.pid = fork();
    assert_true(daemon.pid >= 0);
    if (daemon.pid == 0)
        exec_with_socket(listener, daemon.directory, NULL);
    close(listener);
    int socket = peer_hello(&daemon);
    close(socket);
    assert_int_equal(kill(daemon.pid, SIGTERM), 0);
    assert_int_equal(wait_exit(daemon.pid), 0);
    assert_int_equal(unlink(daemon.socket), 0); /* it was the manager's */
    configured_lock_remove(daemon.directory, 1);
    directory_remove(daemon.directory);
}

/* Start rsmd as a node on a listening socket that has a name of its own. */
static void start_on_service_socket(struct daemon *daemon, uint32_t node)
{
    char option[32];
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    daemon->node = node;
    snprintf(daemon->socket, sizeof daemon->socket, "%s/node-%u.sock", daemon->directory,
             (unsigned)node);
    snprintf(option, sizeof option, "--node=%u", (unsigned)node);
    snprintf(address.sun_path, sizeof address.sun_path, "%s/rsmd.sock", daemon->directory);
    unlink(address.sun_path);
    int listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(bind(listener, (const struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(listener, 10), 0);
    int client = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    assert_int_equal(connect(client, (const struct sockaddr *)&address, sizeof address), 0);
    daemon->pid = fork();
    assert_true(daemon->pid >= 0);
    if (daemon->pid == 0)
        exec_with_socket(listener, daemon->directory, option);
    close(listener);
    /* It is served by the name that clients know. */
    struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; access(daemon->socket, F_OK) != 0; waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    close(peer_hello(daemon));
    close(client);
}

static void a_passed_socket_may_have_any_name(void **state)
{
    (void)state;
    struct daemon daemon = {.node = 1};
    char path[128];
    struct stat link;
    directory_make(daemon.directory);
    snprintf(path, sizeof path, "%s/node-9.sock", daemon.directory);
    assert_int_equal(symlink("/elsewhere", path), 0); /* another's */
    for (uint32_t node = 3; node <= 4; node++) {
        start_on_service_socket(&daemon, node);
        assert_int_equal(kill(daemon.pid, SIGTERM), 0);
        assert_int_equal(wait_exit(daemon.pid), 0);
        assert_int_equal(lstat(daemon.socket, &link), 0);
        assert_true(S_ISLNK(link.st_mode));
    }
    /* The host is node 4 now, and was node 3. */
    snprintf(path, sizeof path, "%s/node-3.sock", daemon.directory);
    assert_int_equal(lstat(path, &link), -1);
    snprintf(path, sizeof path, "%s/node-3.lock", daemon.directory);
    assert_int_equal(lstat(path, &link), -1);
    snprintf(path, sizeof path, "%s/node-9.sock", daemon.directory);
    assert_int_equal(unlink(path), 0);
    snprintf(path, sizeof path, "%s/rsmd.sock", daemon.directory);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(unlink(daemon.socket), 0);
    configured_lock_remove(daemon.directory, 4);
    directory_remove(daemon.directory);
}

static void into_the_background(void **state)
{
    (void)state;
    struct daemon daemon = {.node = 1};
    char option[96];
    directory_make(daemon.directory);
    snprintf(daemon.socket, sizeof daemon.socket, "%s/node-1.sock", daemon.directory);
    snprintf(option, sizeof option, "--runtime-dir=%s", daemon.directory);
    char *arguments[] = {TEXT("rsmd"),
                         TEXT("--config=/dev/null"),
                         TEXT("--log-level=error"),
                         TEXT("--stderr"),
                         option,
                         NULL};
    assert_int_equal(rsmd_run_to_end(arguments), 0);
    /* When the starter returns, clients are served. */
    const struct rsm_generation_table *table = gentable_map(&daemon);
    pid_t pid = (pid_t)(atomic_load(&table->alive) & 0x3fffffff);
    assert_true(pid > 1);
    assert_int_equal(getsid(pid), pid);
    assert_int_equal(rsmd_run_to_end(arguments), 1); /* and a second one says that it failed */
    assert_int_equal(kill(pid, SIGTERM), 0);
    struct timespec pause = {.tv_nsec = 1000000};
    for (int waited = 0; access(daemon.socket, F_OK) == 0; waited++) {
        assert_true(waited < PEER_WAIT_MS);
        nanosleep(&pause, NULL);
    }
    configured_lock_remove(daemon.directory, 1);
    directory_remove(daemon.directory);
    gentable_unmap(table);
}

static void command_line(void **state)
{
    (void)state;
    int null = open("/dev/null", O_RDWR | O_CLOEXEC);
    int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    char *version[] = {TEXT("rsmd"), TEXT("--version"), NULL};
    char *help[] = {TEXT("rsmd"), TEXT("--help"), NULL};
    char *good[] = {TEXT("rsmd"), TEXT("--check"), TEXT("--config=/dev/null"), NULL};
    char *absent[] = {TEXT("rsmd"), TEXT("--check"), TEXT("--config=/nowhere/x"), NULL};
    char *wrong[][4] = {
        {TEXT("rsmd"), TEXT("--node=0"), NULL},         {TEXT("rsmd"), TEXT("--node=65536"), NULL},
        {TEXT("rsmd"), TEXT("--log-level=loud"), NULL}, {TEXT("rsmd"), TEXT("--ready-fd=x"), NULL},
        {TEXT("rsmd"), TEXT("--ready-fd=9999"), NULL},  {TEXT("rsmd"), TEXT("extra"), NULL},
        {TEXT("rsmd"), TEXT("--linger-ms=-1"), NULL},   {TEXT("rsmd"), TEXT("--what"), NULL},
        {TEXT("rsmd"), TEXT("--embedded"), NULL},       {TEXT("rsmd"), TEXT("--all-users=1"), NULL},
    };
    /* Nothing is installed here, and the daemon starts without a configuration. */
    char *usual[] = {TEXT("rsmd"), TEXT("--check"), NULL};
    int results[5] = {rsmd_run_to_end(version), rsmd_run_to_end(help), rsmd_run_to_end(good),
                      rsmd_run_to_end(absent),
                      access(RSM_CONFIG_DIR "/rsm.conf", F_OK) != 0 ? rsmd_run_to_end(usual) : 0};
    int accepted = 0;
    for (unsigned i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        accepted += rsmd_run_to_end(wrong[i]) != 1;
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    close(out);
    close(err);
    close(null);
    assert_int_equal(results[0], 0);
    assert_int_equal(results[1], 0);
    assert_int_equal(results[2], 0);
    assert_int_equal(results[3], 1);
    assert_int_equal(results[4], 0);
    assert_int_equal(accepted, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(termination_aborts_and_leaves_nothing),
        cmocka_unit_test(a_killed_daemon_is_replaced),
        cmocka_unit_test(one_daemon_a_node),
        cmocka_unit_test(a_configured_node_stays_so),
        cmocka_unit_test(a_killed_embedded_daemon_binds_nobody),
        cmocka_unit_test(failures_are_told),
        cmocka_unit_test(who_may_connect),
        cmocka_unit_test(a_client_ends),
        cmocka_unit_test(a_client_is_killed_that_had_forked),
        cmocka_unit_test(an_embedded_node_ends_when_unused),
        cmocka_unit_test(a_newcomer_keeps_it),
        cmocka_unit_test(a_race_has_one_winner),
        cmocka_unit_test(ready_and_stopping_are_notified),
        cmocka_unit_test(a_log_that_nobody_reads_holds_nobody_up),
        cmocka_unit_test(a_passed_socket_is_served_and_kept),
        cmocka_unit_test(a_passed_socket_may_have_any_name),
        cmocka_unit_test(into_the_background),
        cmocka_unit_test(command_line),
    };
    return cmocka_run_group_tests(tests, get_page, NULL);
}
