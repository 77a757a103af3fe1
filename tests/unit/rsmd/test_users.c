/* SPDX-License-Identifier: BSD-3-Clause */
/* Whom a daemon serves: an embedded one its own user, one for all users everybody. */
#include <grp.h>

#include "common/snapshot.h"
#include "peer.h"
#include "rsm/rsm_common.h"

enum { OWNER = 65533, OTHER = 65532, THIRD = 65531 };

static struct daemon daemon_1;

/* The socket's mode is the other thing that keeps users out; without it the daemon decides. */
static void open_the_door(void)
{
    assert_int_equal(chmod(daemon_1.socket, 0666), 0);
}

static void skip_without_users(void)
{
    program_needs_root();
    if (!daemon_is_reachable()) {
        print_message("not run: other users cannot get at the programs of this build\n");
        exit(77);
    }
}

static int start_as(uid_t user, const char *option)
{
    skip_without_users();
    daemon_user = user;
    daemon_start(&daemon_1, NULL, option);
    daemon_user = DAEMON_USER_SELF;
    return 0;
}

static int embedded_of_root(void **state)
{
    return start_as(DAEMON_USER_SELF, "--embedded");
}

/* As in a container of its own: the daemon cannot see the pid of any client. */
static bool has_own_pids;

static int embedded_of_root_with_own_pids(void **state)
{
    skip_without_users();
    int pids = open("/proc/self/ns/pid", O_RDONLY | O_CLOEXEC);
    has_own_pids = pids >= 0 && unshare(CLONE_NEWPID) == 0; /* of the next child, the daemon */
    daemon_start(&daemon_1, NULL, "--embedded");
    assert_true(!has_own_pids || setns(pids, CLONE_NEWPID) == 0);
    close(pids);
    return 0;
}

static int embedded_of_owner(void **state)
{
    return start_as(OWNER, "--embedded");
}

static int stop(void **state)
{
    daemon_stop(&daemon_1);
    return 0;
}

/* ------------------------------------------------------------------ one user alone */

/* Say HELLO; 0: there was no answer, but the end of the connection. */
static int greet_in_vain(const void *unused)
{
    uint8_t buffer[RSM_PROTO_MESSAGE_MAX];
    struct rsm_msg msg = {.type = RSM_MSG_HELLO, .u.hello = {.node = 1}};
    size_t length = rsm_msg_encode(&msg, buffer, sizeof buffer);
    int socket = rsm_packet_connect(daemon_1.socket);
    if (socket < 0)
        return 2;
    struct pollfd readable = {.fd = socket, .events = POLLIN};
    rsm_packet_send(socket, buffer, length, NULL, 1); /* it may have been closed already */
    if (poll(&readable, 1, PEER_WAIT_MS) != 1)
        return 3;
    ssize_t got = rsm_packet_receive(socket, buffer, sizeof buffer, NULL, NULL);
    close(socket);
    return got == 0 || got == -ECONNRESET ? 0 : 4;
}

#define TEST(test, start) TEST_BETWEEN(test, start, stop)

TEST(other_users_are_turned_away, embedded_of_root)
{
    int innocent = peer_hello(&daemon_1);
    publish_page(innocent, 5, 0666);
    open_the_door();
    assert_int_equal(as_user(OTHER, OTHER, 0, greet_in_vain, NULL), 0);
    assert_int_equal(connect_on(innocent, "sci0", 1, 5, 6, NULL), RSM_ST_OK);
    close(innocent);
}

static int greet_often(const void *unused)
{
    int result = 0;
    for (int i = 0; i < 100 && result == 0; i++)
        result = greet_in_vain(unused);
    return result;
}

/* Whoever is refused cannot fill the log. */
TEST_ALONE(refusals_are_logged_now_and_then)
{
    static char text[65536];
    int ends[2], lines = 0, before = dup(STDERR_FILENO);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    dup2(ends[1], STDERR_FILENO);
    close(ends[1]);
    daemon_log_level = "--log-level=info";
    start_as(DAEMON_USER_SELF, "--embedded");
    daemon_log_level = "--log-level=error";
    dup2(before, STDERR_FILENO);
    close(before);
    open_the_door();
    assert_int_equal(as_user(OTHER, OTHER, 0, greet_often, NULL), 0);
    daemon_stop(&daemon_1);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], text + length, sizeof text - 1 - length)) > 0;)
        length += (size_t)got;
    close(ends[0]);
    for (const char *at = text; (at = strstr(at, "turning away process")) != NULL; at++)
        lines++;
    assert_non_null(strstr(text, "of user 65532: this daemon serves user 0 alone"));
    assert_in_range(lines, 1, 20); /* ten a minute */
}

/* rsmstat of root shows the node of a user; a program of root has no memory there. */
TEST(root_may_look, embedded_of_owner)
{
    static const uint32_t looks[] = {RSM_MSG_INSPECT, RSM_MSG_LINKS, RSM_MSG_TOPOLOGY};
    int root = peer_hello(&daemon_1);
    struct rsm_msg msg;
    for (size_t i = 0; i < sizeof looks / sizeof looks[0]; i++) {
        msg = (struct rsm_msg){.type = looks[i]};
        if (looks[i] == RSM_MSG_INSPECT)
            msg.u.inspect.what = RSM_INSPECT_EXPORTS;
        assert_int_equal(ask(root, &msg), RSM_ST_OK);
    }
    msg = (struct rsm_msg){.type = RSM_MSG_EXTENT_ALLOC,
                           .u.extent_alloc = {.controller = "sci0", .length = 4096}};
    assert_int_equal(ask(root, &msg), RSM_ST_DENIED);
    msg = (struct rsm_msg){.type = RSM_MSG_EXPORT_CREATE,
                           .u.export_create = {.controller = "sci0", .length = 4096}};
    assert_int_equal(ask(root, &msg), RSM_ST_DENIED);
    assert_int_equal(connect_on(root, "sci0", 1, 5, 6, NULL), RSM_ST_DENIED);
    close(root);
}

/* Export and connect; what would fail the test ends the child. */
static int use_node(const void *segment_id)
{
    uint32_t id = *(const uint32_t *)segment_id;
    int socket = peer_hello(&daemon_1);
    publish_page(socket, id, 0600);
    assert_int_equal(connect_on(socket, "sci0", 1, id, 6, NULL), RSM_ST_OK);
    close(socket);
    return 0;
}

TEST(its_own_user_is_served, embedded_of_owner)
{
    const uint32_t id = 5;
    assert_int_equal(as_user(OWNER, OWNER, 0, use_node, &id), 0);
}

/* A daemon of the program's first user goes on to serve it, and decides for its second. */
TEST(a_program_that_drops_its_privileges_is_served, embedded_of_root)
{
    int before = peer_hello(&daemon_1);
    publish_page(before, 5, 0600);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        int socket = peer_hello(&daemon_1);
        if (setresgid(OTHER, OTHER, OTHER) < 0 || setresuid(OTHER, OTHER, OTHER) < 0)
            _exit(2);
        publish_page(socket, 6, 0600);
        assert_int_equal(connect_on(socket, "sci0", 1, 6, 6, NULL), RSM_ST_OK);
        assert_int_equal(connect_on(socket, "sci0", 1, 5, 6, NULL), RSM_ST_DENIED);
        _exit(0);
    }
    assert_int_equal(wait_exit(child), 0);
    close(before);
}

/* Who has no pid has a user. */
TEST(users_without_pids, embedded_of_root_with_own_pids)
{
    if (!has_own_pids) {
        print_message("no pid namespace can be made here\n");
        skip();
    }
    a_program_that_drops_its_privileges_is_served(state);
}

/* ------------------------------------------------------------------ all users */

static int for_all_users(void **state)
{
    return start_as(OWNER, "--all-users");
}

struct wish {
    uint32_t id;
    enum rsm_status status; /* what it must come to */
};

static int connect_for_reading(const void *argument)
{
    const struct wish *wish = argument;
    int socket = peer_hello(&daemon_1);
    enum rsm_status status = connect_on(socket, "sci0", 1, wish->id, RSM_RIGHT_READ, NULL);
    close(socket);
    return status == wish->status ? 0 : 1;
}

/* Publish two pages, one for this user and one for all to read, and wait for the test. */
static void offer_pages(const int *ends)
{
    char byte = 0;
    if (setgroups(0, NULL) < 0 || setresgid(OTHER, OTHER, OTHER) < 0 ||
        setresuid(OTHER, OTHER, OTHER) < 0)
        _exit(2);
    close(ends[0]);
    int socket = peer_hello(&daemon_1);
    publish_page(socket, 5, 0600);
    publish_page(socket, 6, 0644);
    if (write(ends[1], &byte, 1) != 1)
        _exit(3);
    pause();
}

/* A daemon without any privilege serves several users, and each gets what root's would give. */
TEST(users_of_an_unprivileged_daemon, for_all_users)
{
    static const struct wish own[] = {{5, RSM_ST_OK}, {6, RSM_ST_OK}},
                             others[] = {{5, RSM_ST_DENIED}, {6, RSM_ST_OK}};
    struct stat status;
    int ends[2];
    char byte;
    assert_int_equal(stat(daemon_1.socket, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0666);
    assert_int_equal(status.st_uid, OWNER);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    pid_t exporter = fork();
    assert_true(exporter >= 0);
    if (exporter == 0)
        offer_pages(ends);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 1);
    close(ends[0]);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(as_user(OTHER, OTHER, 0, connect_for_reading, &own[i]), 0);
        assert_int_equal(as_user(THIRD, THIRD, 0, connect_for_reading, &others[i]), 0);
        /* The daemon's user is a user like others, and root is root. */
        assert_int_equal(as_user(OWNER, OWNER, 0, connect_for_reading, &others[i]), 0);
        assert_int_equal(connect_for_reading(&own[i]), 0);
    }
    assert_int_equal(kill(exporter, SIGKILL), 0);
    assert_int_equal(wait_exit(exporter), -SIGKILL);
}

/* ------------------------------------------------------------------ links without proof */

enum { STARTED = 100 }; /* no exit status of rsmd */

static const char *node_option = "--node=1";

/* What becomes of rsmd with these options and that configuration: its exit status, or STARTED;
 * what it said is in `told`. */
static int outcome(uid_t user, const char *option, const char *configuration, char told[1024])
{
    char directory[64], path[96], options[2][128];
    int ends[2], ready[2];
    directory_make(directory);
    snprintf(path, sizeof path, "%s.conf", directory);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(configuration, file) >= 0);
    assert_int_equal(fclose(file), 0);
    assert_int_equal(chown(directory, user, (gid_t)-1), 0);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(pipe(ready), 0);
    snprintf(options[0], sizeof options[0], "--config=%s", path);
    snprintf(options[1], sizeof options[1], "--runtime-dir=%s", directory);
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0) {
        char ready_option[32];
        snprintf(ready_option, sizeof ready_option, "--ready-fd=%d", ready[1]);
        close(ready[0]);
        dup2(ends[1], STDERR_FILENO);
        dup2(ends[1], STDOUT_FILENO);
        if (setgroups(0, NULL) < 0 || setresgid(user, user, user) < 0 ||
            setresuid(user, user, user) < 0)
            _exit(126);
        execl(getenv("RSM_RSMD"), "rsmd", "--foreground", node_option, options[0], options[1],
              ready_option, option, (char *)NULL);
        _exit(127);
    }
    close(ends[1]);
    close(ready[1]);
    char first = 0;
    bool started = read(ready[0], &first, 1) == 1 && first == 'R';
    if (started)
        kill(daemon, SIGTERM);
    int status = wait_exit(daemon);
    close(ready[0]);
    size_t length = 0;
    for (ssize_t got; (got = read(ends[0], told + length, 1023 - length)) > 0;)
        length += (size_t)got;
    told[length] = '\0';
    close(ends[0]);
    unlink(path);
    if (started)
        configured_lock_remove(directory, 1);
    directory_remove(directory);
    return started && status == 0 ? STARTED : status;
}

#define LINKED                                                                                     \
    "[node 1]\nhost = localhost\naddress = 127.8.8.1:19\n"                                         \
    "[node 2]\nhost = localhost\naddress = 127.8.8.2:19\n[controller sci0]\ntransport = shm\n"

/* Root's daemon does without authentication only if it is told to, and then warns of it. */
TEST_ALONE(without_authentication)
{
    static const char refusal[] = "expected auth = munge or tls in [cluster], or insecure = yes",
                      warning[] = "auth = none: every user of this host can speak for";
    char told[1024];
    assert_int_equal(outcome(0, NULL, LINKED, told), 1);
    assert_non_null(strstr(told, ".conf:3: "));
    assert_non_null(strstr(told, refusal));
    assert_int_equal(outcome(0, NULL, LINKED "[cluster]\nauth = none\n", told), 1);
    assert_non_null(strstr(told, ".conf:10: "));
    assert_int_equal(outcome(0, NULL, LINKED "[cluster]\ninsecure = yes\n", told), STARTED);
    assert_non_null(strstr(told, warning));
    /* One that serves all users is no better for having another user. */
    assert_int_equal(outcome(OWNER, "--all-users", LINKED, told), 1);
    assert_non_null(strstr(told, refusal));
    /* Whose own it is may risk what is his. */
    assert_int_equal(outcome(OWNER, NULL, LINKED, told), STARTED);
    assert_non_null(strstr(told, warning));
    /* Without links there is nothing to warn of. */
    assert_int_equal(outcome(0, NULL, "[controller sci0]\ntransport = shm\n", told), STARTED);
    assert_null(strstr(told, "auth"));
}

TEST_ALONE(without_authentication_checked)
{
    char told[1024];
    assert_int_equal(outcome(0, "--check", LINKED, told), 1);
    assert_non_null(strstr(told, ".conf:3: expected auth = munge or tls"));
    assert_int_equal(outcome(0, "--check", LINKED "[cluster]\ninsecure = yes\n", told), 0);
    assert_null(strstr(told, "warning"));
    /* Who checks need not be who will run it. */
    assert_int_equal(outcome(OWNER, "--check", LINKED, told), 0);
    assert_non_null(strstr(told, "warning: root's rsmd refuses this: "));
    assert_non_null(strstr(told, ": ok\n"));
}

/* A daemon that would not know its node is warned of, and no check passes for one that is told a wrong
 * node, or is to take over. */
TEST_ALONE(own_node_checked)
{
    static const char elsewhere[] = "[node 1]\nhost = nowhere.invalid\n",
                      twice[] = "[node 1]\nhost = localhost\n[node 2]\nhost = localhost\n",
                      none[] = "no node of the configuration is on host";
    char told[1024], take_over[64];
    snprintf(take_over, sizeof take_over, "--can-take-over=%d", (int)RSMD_SNAPSHOT_VERSION);
    assert_int_equal(outcome(0, "--check", elsewhere, told), 0);
    assert_null(strstr(told, "warning"));
    node_option = "--stderr"; /* which says nothing of the node */
    assert_int_equal(outcome(0, "--check", elsewhere, told), 0);
    assert_non_null(strstr(told, "warning: "));
    assert_non_null(strstr(told, none));
    assert_non_null(strstr(told, ": ok\n"));
    assert_int_equal(outcome(0, "--check", twice, told), 0);
    assert_non_null(strstr(told, "warning: "));
    assert_non_null(strstr(told, "several nodes of the configuration are on host"));
    assert_int_equal(outcome(0, take_over, elsewhere, told), 1);
    assert_non_null(strstr(told, none));
    assert_int_equal(outcome(0, "--check", "[node 1]\nhost = localhost\n", told), 0);
    assert_null(strstr(told, "warning"));
    node_option = "--node=2";
    assert_int_equal(outcome(0, "--check", elsewhere, told), 1);
    assert_non_null(strstr(told, "node 2 is not in the configuration"));
    assert_null(strstr(told, "warning"));
    node_option = "--node=1";
}

/* A bridge that is not there, and what is none; whose devices are fine is the lab's to show. */
TEST_ALONE(missing_bridges_checked)
{
    static const char left_out[] = "would leave out controller ntb0";
    char told[1024];
    const char *absent = "[controller ntb0]\ntransport = ntb\ndevice = /dev/rsm_ntb4711\n";
    assert_int_equal(outcome(0, "--check", absent, told), 0);
    assert_non_null(strstr(told, "cannot open /dev/rsm_ntb4711"));
    assert_non_null(strstr(told, left_out));
    assert_non_null(strstr(told, ": ok\n"));
    assert_int_equal(
        outcome(0, "--check", "[controller ntb0]\ntransport = ntb\ndevice = /dev/null\n", told), 0);
    assert_non_null(strstr(told, "/dev/null is no device of the module rsm_ntb"));
    assert_non_null(strstr(told, left_out));
    char path[] = "/tmp/rsm-bridge-XXXXXX", denied[128];
    int file = mkstemp(path); /* 0600 */
    assert_true(file >= 0);
    close(file);
    snprintf(denied, sizeof denied, "[controller ntb0]\ntransport = ntb\ndevice = %s\n", path);
    int status = outcome(OWNER, "--check", denied, told);
    unlink(path);
    assert_int_equal(status, 0);
    assert_non_null(strstr(told, "(Permission denied): rsmd must run as root"));
    /* Options are wrong whatever is there. */
    assert_int_equal(
        outcome(0, "--check", "[controller ntb0]\ntransport = ntb\noptions = pool=x\n", told), 1);
    assert_non_null(strstr(told, left_out));
    assert_non_null(strstr(told, ".conf:1: "));
    assert_int_equal(outcome(0, "--check", "[controller sci0]\ntransport = shm\n", told), 0);
    assert_null(strstr(told, "leave out"));
}

TEST_ALONE(all_mistakes_are_told)
{
    char told[1024];
    assert_int_equal(outcome(0, "--check",
                             "[node x]\nhost = a\n[node 1]\nhost = a # comment\n[node 2]\n"
                             "host = \"b\"\n[node 3]\n[controller a1]\ntransport = no-such\n"
                             "[controller b1]\ntransport = ntb\noptions = pool=x\n"
                             "nonsense\n[limits]\nmax-segments = many\n",
                             told),
                     1);
    assert_non_null(strstr(told, ".conf:1: expected a node id"));
    assert_null(strstr(told, ".conf:2:"));
    assert_non_null(strstr(told, ".conf:4: expected ; and not # before a comment"));
    assert_non_null(strstr(told, ".conf:6: expected a value without quotes"));
    assert_non_null(strstr(told, ".conf:7: expected host = in the section of node 3"));
    assert_non_null(strstr(told, ".conf:8: expected an installed transport for controller a1"));
    assert_non_null(strstr(told, ".conf:10: rsmd would leave out controller b1"));
    assert_non_null(strstr(told, ".conf:13: expected key = value"));
    assert_non_null(strstr(told, ".conf:15: expected a number"));
    assert_null(strstr(told, ": ok\n"));
}
