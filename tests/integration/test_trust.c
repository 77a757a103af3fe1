/* SPDX-License-Identifier: BSD-3-Clause */
/* Daemons of other users, wherever a process may come across them: it says nothing to them, and its
 * calls fail at once. */
#include <sys/prctl.h>

#include "base/packet.h"
#include "protocol/proto.h"
#include "party.h"
#include "process.h"

enum {
    LENGTH = PARTY_PAGE,
    AT_ONCE = 5000, /* ms; far less than the ten seconds that a daemon is waited for */
    NODE = 61,      /* that no other test has, for what lies in /tmp */
};

/* Users that no other test and no other build has at the same time. */
static uid_t victim_uid(void)
{
    return 2000000 + (uid_t)getpid() * 2;
}

static uid_t stranger_uid(void)
{
    return victim_uid() + 1;
}

/* ---------------------------------------------------------------- the stranger */

/* A listener of another user, which counts what comes. */
static struct {
    char path[RSM_PROTO_PATH_MAX];
    int socket;
} stranger;

static int trust_setup(void **state)
{
    program_needs_root();
    stranger.socket = -1;
    return world_setup(state);
}

static int trust_teardown(void **state)
{
    if (stranger.socket >= 0) {
        close(stranger.socket);
        unlink(stranger.path);
    }
    return world_teardown(state);
}

static void make_directory(char path[WORLD_PATH_BYTES], uid_t owner)
{
    assert_int_equal(mkdir(path, 0755), 0);
    assert_int_equal(chmod(path, 0755), 0); /* whatever the umask */
    assert_int_equal(chown(path, owner, (gid_t)-1), 0);
}

/* Let the stranger listen in a directory, whoever it belongs to, and let everybody connect. */
static void stranger_listens(const char *directory, unsigned node)
{
    struct sockaddr_un address;
    snprintf(stranger.path, sizeof stranger.path, "%s/node-%u.sock", directory, node);
    stranger.socket = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(stranger.socket >= 0);
    assert_int_equal(rsm_unix_address(&address, stranger.path), 0);
    assert_int_equal(bind(stranger.socket, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(chown(stranger.path, stranger_uid(), (gid_t)-1), 0);
    assert_int_equal(chmod(stranger.path, 0666), 0);
    /* The kernel remembers who began to listen. */
    assert_int_equal(seteuid(stranger_uid()), 0);
    int failed = listen(stranger.socket, 64);
    assert_int_equal(seteuid(0), 0);
    assert_int_equal(failed, 0);
}

/* How many connections came since the last time; none of them may have said a word. */
static unsigned callers(void)
{
    char bytes[64];
    unsigned count = 0;
    for (int caller; (caller = accept4(stranger.socket, NULL, NULL, SOCK_CLOEXEC)) >= 0; count++) {
        assert_true(recv(caller, bytes, sizeof bytes, MSG_DONTWAIT) <= 0);
        close(caller);
    }
    return count;
}

/* ---------------------------------------------------------------- the victim */

/* The variable that an actor has, of those that tell where daemons are. */
struct surroundings {
    char name[32]; /* of the variable; "": none */
    char value[WORLD_PATH_BYTES];
};

static int open_in(void *bytes)
{
    const struct surroundings *where = bytes;
    rsmapi_controller_handle_t controller;
    char name[] = "sci0", number[16];
    NEED(unsetenv("RSM_RUNTIME_DIR") == 0 && unsetenv("XDG_RUNTIME_DIR") == 0);
    snprintf(number, sizeof number, "%d", NODE);
    NEED(setenv("RSM_NODE", number, 1) == 0);
    NEED(where->name[0] == '\0' || setenv(where->name, where->value, 1) == 0);
    return rsm_get_controller(name, &controller);
}

static int open_as(struct world *world, uid_t uid, const char *name, const char *value)
{
    struct surroundings where;
    snprintf(where.name, sizeof where.name, "%s", name);
    snprintf(where.value, sizeof where.value, "%s", value);
    struct actor *victim = actor_start_as(world, NODE, uid);
    int64_t start = now_ms();
    int error = actor_run(victim, open_in, &where, sizeof where);
    assert_true(now_ms() - start < AT_ONCE);
    actor_stop(victim);
    return error;
}

/* ---------------------------------------------------------------- tests */

#define TRUST_TEST(test) TEST_BETWEEN(test, trust_setup, trust_teardown)

/* /tmp/rsm-UID belongs to whoever makes it first. */
TRUST_TEST(test_directory_in_tmp)
{
    char directory[WORLD_PATH_BYTES];
    snprintf(directory, sizeof directory, "/tmp/rsm-%u", (unsigned)victim_uid());
    make_directory(directory, stranger_uid());
    stranger_listens(directory, NODE);
    int error = open_as(*state, victim_uid(), "", "");
    unsigned called = callers();
    unlink(stranger.path);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(error, RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(called, 0);
}

/* Then the directory is used that root has made for the user. */
TRUST_TEST(test_directory_in_tmp_with_a_login)
{
    char directory[WORLD_PATH_BYTES], login[WORLD_PATH_BYTES], own[WORLD_PATH_BYTES];
    if (!build_is_reachable()) {
        print_message("    not run: other users cannot get at the programs of this build\n");
        skip();
    }
    bool made_users = mkdir("/run/user", 0755) == 0;
    snprintf(directory, sizeof directory, "/tmp/rsm-%u", (unsigned)victim_uid());
    snprintf(login, sizeof login, "/run/user/%u", (unsigned)victim_uid());
    snprintf(own, sizeof own, "/run/user/%u/rsm", (unsigned)victim_uid());
    make_directory(login, victim_uid());
    make_directory(directory, stranger_uid());
    stranger_listens(directory, NODE);
    int error = open_as(*state, victim_uid(), "", "");
    unsigned called = callers();
    unlink(stranger.path);
    assert_int_equal(rmdir(directory), 0);
    for (int64_t limit = now_ms() + 20000; rmdir(own) < 0 && errno == ENOTEMPTY;) {
        assert_true(now_ms() < limit);
        usleep(1000);
    }
    assert_int_equal(rmdir(login), 0);
    if (made_users)
        rmdir("/run/user");
    assert_int_equal(error, RSM_SUCCESS);
    assert_int_equal(called, 0);
}

/* A directory that was asked for is used or not, and no other one in its place. */
TRUST_TEST(test_given_directory)
{
    const struct world *world = *state;
    char directory[WORLD_PATH_BYTES], link[WORLD_PATH_BYTES];
    assert_int_equal(chmod(world->directory, 0755), 0);
    snprintf(directory, sizeof directory, "%s/d", world->directory);
    snprintf(link, sizeof link, "%s/l", world->directory);
    make_directory(directory, stranger_uid());
    stranger_listens(directory, NODE);
    int as_root = open_as(*state, 0, "RSM_RUNTIME_DIR", directory);
    int as_victim = open_as(*state, victim_uid(), "RSM_RUNTIME_DIR", directory);
    assert_int_equal(symlink(world->directory, link), 0);
    int by_link = open_as(*state, 0, "RSM_RUNTIME_DIR", link);
    unsigned called = callers();
    unlink(link);
    unlink(stranger.path);
    assert_int_equal(rmdir(directory), 0);
    assert_int_equal(as_root, RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(as_victim, RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(by_link, RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(called, 0);
}

/* XDG_RUNTIME_DIR as sudo -E and su leave it: the next choice is taken. */
TRUST_TEST(test_session_of_another_user)
{
    struct world *world = *state;
    char session[WORLD_PATH_BYTES], directory[WORLD_PATH_BYTES], own[WORLD_PATH_BYTES];
    if (!build_is_reachable()) {
        print_message("    not run: other users cannot get at the programs of this build\n");
        skip();
    }
    assert_int_equal(chmod(world->directory, 0755), 0);
    snprintf(session, sizeof session, "%s/s", world->directory);
    snprintf(directory, sizeof directory, "%s/s/rsm", world->directory);
    snprintf(own, sizeof own, "/tmp/rsm-%u", (unsigned)victim_uid());
    make_directory(session, stranger_uid());
    make_directory(directory, stranger_uid());
    stranger_listens(directory, NODE);
    int error = open_as(world, victim_uid(), "XDG_RUNTIME_DIR", session);
    unsigned called = callers();
    unlink(stranger.path);
    rmdir(directory);
    rmdir(session);
    /* Its own daemon is in its own directory, and ends by itself. */
    for (int64_t limit = now_ms() + 20000; rmdir(own) < 0 && errno == ENOTEMPTY;) {
        assert_true(now_ms() < limit);
        usleep(1000);
    }
    assert_int_equal(error, RSM_SUCCESS);
    assert_int_equal(called, 0);
}

/* A safe directory in which a stranger listens all the same, as after a race. */
TRUST_TEST(test_listener_in_a_safe_directory)
{
    const struct world *world = *state;
    assert_int_equal(chmod(world->directory, 0755), 0);
    stranger_listens(world->directory, NODE);
    assert_int_equal(open_as(*state, 0, "RSM_RUNTIME_DIR", world->directory),
                     RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(callers(), 1);
    assert_int_equal(open_as(*state, victim_uid(), "RSM_RUNTIME_DIR", world->directory),
                     RSMERR_CTLR_NOT_PRESENT);
    assert_int_equal(callers(), 1);
    /* To its own user the same daemon is welcome: then it is greeted, in vain. */
    struct surroundings where = {.name = "RSM_RUNTIME_DIR"};
    snprintf(where.value, sizeof where.value, "%s", world->directory);
    struct actor *friend_of_his = actor_start_as(*state, NODE, stranger_uid());
    actor_begin(friend_of_his, open_in, &where, sizeof where);
    assert_false(actor_ended(friend_of_his, 300));
    int caller = accept4(stranger.socket, NULL, NULL, SOCK_CLOEXEC);
    char bytes[64];
    assert_true(caller >= 0 && recv(caller, bytes, sizeof bytes, 0) > 0);
    close(stranger.socket);
    stranger.socket = -1;
    unlink(stranger.path);
    actor_kill(friend_of_his);
    close(caller);
}

/* The daemon of another node of this host. */
TRUST_TEST(test_other_node)
{
    struct world *world = *state;
    struct actor *importer = actor_start(world, 1);
    TELL_OK(importer, offer, .length = LENGTH);
    stranger_listens(world->directory, 2);
    int64_t start = now_ms();
    TELL_GET(importer, connect, RSMERR_REMOTE_NODE_UNREACHABLE, .node = 2);
    assert_true(now_ms() - start < AT_ONCE);
    assert_in_range(callers(), 1,
                    4); /* with the own daemon, which looks whether anybody is there */
}

TRUST_TEST(test_rsmstat)
{
    const struct world *world = *state;
    char command[512];
    stranger_listens(world->directory, 2);
    snprintf(command, sizeof command, "'%s/bin/rsmstat' -d '%s' --node 2 2>&1 | grep -q 'user %u'",
             getenv("RSM_BUILD_DIR"), world->directory, (unsigned)stranger_uid());
    fflush(NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        children_unwatch();
        execl("/bin/sh", "sh", "-c", command, (char *)NULL);
        _exit(127);
    }
    int status;
    assert_int_equal(child_await(child, 0, CALL_TIMEOUT_MS, &status), child);
    assert_true(WIFEXITED(status));
    assert_int_equal(WEXITSTATUS(status), 0);
    assert_int_equal(callers(), 1);
}
