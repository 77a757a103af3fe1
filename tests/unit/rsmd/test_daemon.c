/* SPDX-License-Identifier: BSD-3-Clause */
/* Beginnings and ends: of the daemon, of clients, of an embedded node. As a service: test_service.c. */
#include "peer.h"

#define TEXT(literal) ((char *)(uintptr_t)(literal))

static uint64_t page;

static int get_page(void **state)
{
    page = (uint64_t)sysconf(_SC_PAGESIZE);
    return 0;
}

TEST_ALONE(termination_aborts_and_leaves_nothing)
{
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

TEST_ALONE(a_killed_daemon_is_replaced)
{
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

TEST_ALONE(one_daemon_a_node)
{
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
TEST_ALONE(a_configured_node_stays_so)
{
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
TEST_ALONE(a_killed_embedded_daemon_binds_nobody)
{
    struct daemon daemon, next;
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(kill(daemon.pid, SIGKILL), 0);
    assert_int_equal(wait_exit(daemon.pid), -SIGKILL);
    daemon_start_in(&next, daemon.directory, 1, NULL, "--embedded");
    daemon_end(&next);
    daemon_start_in(&next, daemon.directory, 1, NULL, NULL);
    daemon_stop(&next);
}

TEST_ALONE(failures_are_told)
{
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

TEST_ALONE(who_may_connect)
{
    struct daemon daemon;
    daemon_start(&daemon, NULL, NULL);
    assert_int_equal(mode_of(daemon.socket), geteuid() == 0 ? 0666 : 0600);
    daemon_stop(&daemon);
    daemon_start(&daemon, NULL, "--embedded");
    assert_int_equal(mode_of(daemon.socket), 0600);
    daemon_stop(&daemon);
}

/* ------------------------------------------------------------------ clients */

TEST_ALONE(a_client_ends)
{
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

TEST_ALONE(a_client_is_killed_that_had_forked)
{
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

TEST_ALONE(an_embedded_node_ends_when_unused)
{
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

TEST_ALONE(a_newcomer_keeps_it)
{
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
TEST_ALONE(a_race_has_one_winner)
{
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

TESTS_BETWEEN(get_page, NULL)
