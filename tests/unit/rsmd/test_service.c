/* SPDX-License-Identifier: BSD-3-Clause */
/* The daemon as a service: the service manager, the background, the command line. */
#include "peer.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

TEST_ALONE(ready_and_stopping_are_notified)
{
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

TEST_ALONE(a_log_that_nobody_reads_holds_nobody_up)
{
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

TEST_ALONE(a_passed_socket_is_served_and_kept)
{
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

TEST_ALONE(a_passed_socket_may_have_any_name)
{
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

TEST_ALONE(into_the_background)
{
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

TEST_ALONE(command_line)
{
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
