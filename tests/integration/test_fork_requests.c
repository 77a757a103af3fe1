/* SPDX-License-Identifier: BSD-3-Clause */
/* fork(2) while another thread waits for a daemon that does not answer: the fork does not wait, and
 * the child can use the library. */
#include <sys/syscall.h>

#include "party.h"
#include "process.h"

enum {
    LENGTH = 2 * PARTY_PAGE,
    LIMIT_MS = 20000,   /* of a request: peer-timeout-ms */
    AT_ONCE_MS = 10000, /* a fork on a loaded machine, and no more than half of LIMIT_MS */
    IDLE = 7,           /* slot of an export that no other thread uses */
};

#define OWN_NODE_ONLY .acl_count = 1, .acl = {{1, 0666}}

/* ---------------------------------------------------------------- in the actor */

/* A call in a thread of its own. */
struct call {
    actor_function verb;
    struct order order;
    bool copy_ends; /* the child destroys its copy of slot 0, which is in use by the call */
    pid_t daemon;
    int result;
    _Atomic pid_t thread; /* 0: not yet begun */
    atomic_bool over;
};

static void *carry_out(void *argument)
{
    struct call *call = argument;
    atomic_store(&call->thread, (pid_t)syscall(SYS_gettid));
    call->result = call->verb(&call->order);
    atomic_store(&call->over, true);
    return NULL;
}

/* The state of a process or thread: 'T' stopped, 'S' asleep. */
static int state_of(pid_t process, pid_t thread)
{
    char path[64], line[256] = "";
    snprintf(path, sizeof path, "/proc/%d/task/%d/stat", (int)process, (int)thread);
    FILE *file = fopen(path, "re");
    if (file == NULL)
        return '?';
    size_t length = fread(line, 1, sizeof line - 1, file);
    fclose(file);
    line[length] = '\0';
    const char *end = strrchr(line, ')');
    return end != NULL && end[1] == ' ' ? end[2] : '?';
}

/* Wait until it is in that state, at ten looks in a row. */
static bool await_state(pid_t process, const _Atomic pid_t *thread, int state)
{
    int64_t end = now_ms() + AT_ONCE_MS;
    for (int seen = 0; seen < 10; usleep(5000)) {
        seen = state_of(process, atomic_load(thread)) == state ? seen + 1 : 0;
        if (now_ms() > end)
            return false;
    }
    return true;
}

/* The child: what the parent's handles say at once, and what it has of its own when the daemon
 * answers again. */
static int live(const struct call *call, int gate)
{
    rsm_memseg_id_t id = PARTY_ID + 1;
    rsmapi_controller_handle_t controller;
    struct order order = {.slot = 5, .length = LENGTH, .id = PARTY_ID + 5, OWN_NODE_ONLY};
    char byte;
    rsm_memseg_export_handle_t idle = party_export(IDLE)->handle;
    if (idle != NULL) {
        NEED(rsm_memseg_export_publish(idle, &id, NULL, 0) == RSMERR_NOT_CREATOR);
        NEED(rsm_memseg_export_destroy(idle) == RSM_SUCCESS);
    }
    if (call->copy_ends) {
        NEED(rsm_memseg_export_rebind(party_export(0)->handle, party_export(0)->memory, 0,
                                      LENGTH) == RSMERR_NOT_CREATOR);
        NEED(rsm_memseg_export_destroy(party_export(0)->handle) == RSM_SUCCESS);
    }
    NEED(read(gate, &byte, 1) == 1);
    NEED(rsm_get_controller(NULL, &controller) == RSM_SUCCESS);
    NEED(rsm_release_controller(controller) == RSM_SUCCESS);
    NEED(party_offer(&order) == RSM_SUCCESS);
    order = (struct order){.slot = 5, .length = LENGTH, .id = PARTY_ID + 5, .node = 1};
    NEED(party_attach(&order) == RSM_SUCCESS);
    *(volatile uint64_t *)(void *)party_import(5)->address = 9;
    NEED(*(volatile uint64_t *)(void *)party_export(5)->memory == 9);
    NEED(party_detach(&order) == RSM_SUCCESS);
    NEED(party_withdraw(&order) == RSM_SUCCESS);
    return 0;
}

/* Fork while the call is under way; then let the daemon go on. */
static int fork_meanwhile(const struct call *call)
{
    int gate[2], status;
    NEED(pipe(gate) == 0);
    NEED(await_state(getpid(), &call->thread, 'S'));
    NEED(!atomic_load(&call->over));
    int64_t start = now_ms();
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        _exit(live(call, gate[0]) == 0 ? 0 : 1);
    bool at_once = now_ms() - start < AT_ONCE_MS && !atomic_load(&call->over);
    NEED(kill(call->daemon, SIGCONT) == 0);
    NEED(at_once);
    NEED(write(gate[1], "", 1) == 1);
    NEED(waitpid(child, &status, 0) == child);
    close(gate[0]);
    close(gate[1]);
    return status == 0 ? 0 : -1;
}

static int call_and_fork(void *bytes)
{
    struct call *call = bytes;
    pthread_t thread;
    atomic_store(&call->thread, 0);
    atomic_store(&call->over, false);
    _Atomic pid_t daemon = call->daemon;
    NEED(kill(call->daemon, SIGSTOP) == 0);
    NEED(await_state(call->daemon, &daemon, 'T'));
    NEED(pthread_create(&thread, NULL, carry_out, call) == 0);
    int forked = fork_meanwhile(call);
    NEED(kill(call->daemon, SIGCONT) == 0);
    NEED(pthread_join(thread, NULL) == 0);
    NEED(forked == 0);
    return call->result;
}

/* ---------------------------------------------------------------- the test's side */

static char config[] = "/tmp/rsm-fork-requests-XXXXXX";
static pid_t daemon_pid;

static int write_config(void **state)
{
    char text[128];
    int length = snprintf(text, sizeof text,
                          "[controller sci0]\ntransport = shm\n"
                          "[limits]\npeer-timeout-ms = %d\n",
                          LIMIT_MS);
    int fd = mkostemp(config, O_CLOEXEC);
    bool written = fd >= 0 && write(fd, text, (size_t)length) == length;
    return written && close(fd) == 0 ? 0 : -1;
}

static int remove_config(void **state)
{
    return unlink(config);
}

static struct actor *begin(struct world *world)
{
    char option[64];
    snprintf(option, sizeof option, "--config=%s", config);
    daemon_pid = world_daemon_start_with(world, 1, option);
    return actor_start(world, 1);
}

#define CALL_ON(ends, actor, of, ...)                                                              \
    do {                                                                                           \
        struct call call = {.verb = party_##of,                                                    \
                            .order = {__VA_ARGS__},                                                \
                            .copy_ends = (ends),                                                   \
                            .daemon = daemon_pid};                                                 \
        assert_int_equal(actor_run((actor), call_and_fork, &call, sizeof call), RSM_SUCCESS);      \
    } while (0)
#define CALL(actor, of, ...) CALL_ON(false, actor, of, __VA_ARGS__)
/* A call on the export of slot 0. */
#define CALL_EXPORT(actor, of, ...) CALL_ON(true, actor, of, __VA_ARGS__)

static void end(struct actor *actor)
{
    actor_stop(actor);
    world_daemon_end(daemon_pid);
}

/* One that has nothing of the library's yet. */
WORLD_TEST(test_first_call)
{
    struct actor *actor = begin(world);
    CALL(actor, open);
    end(actor);
}

WORLD_TEST(test_another_controller)
{
    struct actor *actor = begin(world);
    TELL_OK(actor, open);
    CALL(actor, open, .controller = "loopback");
    end(actor);
}

WORLD_TEST(test_create_and_destroy)
{
    struct actor *actor = begin(world);
    TELL_OK(actor, create, .slot = IDLE, .length = LENGTH);
    CALL(actor, create, .length = LENGTH);
    CALL(actor, destroy);
    end(actor);
}

WORLD_TEST(test_publication)
{
    struct actor *actor = begin(world);
    TELL_OK(actor, create, .slot = IDLE, .length = LENGTH);
    TELL_OK(actor, create, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    CALL_EXPORT(actor, publish, .id = PARTY_ID);
    CALL_EXPORT(actor, republish, OWN_NODE_ONLY);
    CALL_EXPORT(actor, export_pollfd);
    TELL_OK(actor, release_export_pollfd);
    CALL_EXPORT(actor, unpublish);
    end(actor);
}

/* Which asks for a descriptor of the extent. */
WORLD_TEST(test_rebind)
{
    struct actor *actor = begin(world);
    TELL_OK(actor, create, .slot = IDLE, .length = LENGTH);
    TELL_OK(actor, create, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    TELL_OK(actor, publish, .id = PARTY_ID);
    CALL_EXPORT(actor, rebind);
    end(actor);
}

WORLD_TEST(test_import)
{
    struct actor *actor = begin(world);
    TELL_OK(actor, create, .slot = IDLE, .length = LENGTH);
    TELL_OK(actor, offer, .length = LENGTH, OWN_NODE_ONLY);
    CALL(actor, connect, .node = 1);
    CALL(actor, disconnect);
    end(actor);
}

TESTS_BETWEEN(write_config, remove_config)
