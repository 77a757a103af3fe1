/* SPDX-License-Identifier: BSD-3-Clause */
/**
 * @file
 * Several nodes and processes for one test, and nothing left of them afterwards.
 *
 * A world is a runtime directory of its own. Its actors are processes forked from the test program,
 * each with a node and a user, that carry out functions on request: a test reads as one sequence
 * although it plays in several processes. Every wait is bounded. The test process itself never uses
 * the library; it is the subreaper of everything that is started below it, so that even a daemon
 * that detached itself is seen and waited for.
 *
 * Daemons are short-lived ones (RSM_SHORT_LIVED_RSMD), which end soon after their last client.
 * Failures of the harness fail the test that runs (cmocka's fail_msg()), in world_teardown() its
 * teardown. Not thread-safe.
 */
#ifndef TESTS_INTEGRATION_HARNESS_H
#define TESTS_INTEGRATION_HARNESS_H

#include "cases.h"

enum {
    ACTORS_MAX = 40,
    NODES_MAX = 64,
    CALL_BYTES_MAX = 4096,
    WORLD_PATH_BYTES = 108,
    CALL_TIMEOUT_MS =
        90000, /* of one call, for hangs: some take 30 s, sanitized and beside others */
    UNPRIVILEGED_UID = 65534,
};

/** What an actor does. Works on its copy of the bytes given to actor_run(), which travels back. */
typedef int (*actor_function)(void *bytes);

struct actor {
    pid_t pid; /* 0: has ended and was waited for */
    int socket;
    unsigned node;
    struct world *world;
    bool busy; /* between actor_begin() and actor_end() */
    /* Of a process on another machine: what kills it there. NULL: it is a child of this one. */
    void (*kill)(const struct actor *actor);
};

struct world {
    char directory[64];
    bool split;           /* into two hosts (hosts.h), with a directory of their own each */
    unsigned hosts[2];    /* their nodes */
    unsigned descriptors; /* open in the test process before the test */
    unsigned actor_count;
    bool daemons_may_fail;       /* to start */
    unsigned daemon_descriptors; /* RLIMIT_NOFILE of daemons that are started; 0: the test's own */
    bool killed[NODES_MAX + 1];  /* nodes whose last daemon the test killed */
    /* If not NULL, called before the first function of an actor, to make what they need; sets itself NULL. */
    void (*prepare)(struct world *world);
    struct actor actors[ACTORS_MAX];
};

/** cmocka setup: *state becomes a struct world. */
int world_setup(void **state);

/** cmocka teardown: actors end well, daemons end by themselves, the directory is empty, and the
 *  test process has as many descriptors as before. */
int world_teardown(void **state);

/** An entry of cmocka's list: a test in a world of its own. */
#define WORLD_TEST(test) TEST_WITH(struct world *world, test, world_setup, world_teardown)

/** Start a process of a node. Its environment is this process's and what the world adds. The place
 *  of an actor that has ended may be used again. */
struct actor *actor_start(struct world *world, unsigned node);
struct actor *actor_start_as(struct world *world, unsigned node, uid_t uid);

/** One that another machine has started (actor_serve()), @p pid there, at the end of a stream. It ends with
 *  the stream; who waits for it is over there. */
struct actor *actor_elsewhere(struct world *world, unsigned node, pid_t pid, int socket,
                              void (*kill)(const struct actor *actor));
/** Be an actor of this node that is at the other end of a stream, from the same program. */
__attribute__((noreturn)) void actor_serve(const struct world *world, unsigned node, int socket);

/** Let the actor run a function; its result is returned and the bytes are replaced by the
 *  actor's. */
int actor_run(struct actor *actor, actor_function function, void *bytes, size_t length);

/** The same in two steps, for what lasts. */
void actor_begin(struct actor *actor, actor_function function, const void *bytes, size_t length);
int actor_end(struct actor *actor, void *bytes, size_t length);
/** Whether the function has ended, looking for @p timeout_ms at most. */
bool actor_ended(const struct actor *actor, int timeout_ms);

/** End an actor the ordinary way; it must exit with status 0. */
void actor_stop(struct actor *actor);
/** SIGKILL. When this returns nothing of the process is left. */
void actor_kill(struct actor *actor);
/** SIGSTOP, in force when this returns. For any process below this one. */
void process_freeze(pid_t pid);
void process_thaw(pid_t pid);

/** The daemon that listens for a node of the world: by a connection of its own. */
pid_t world_daemon(struct world *world, unsigned node);
/** SIGKILL it. When this returns nothing of it is left but its name, for a successor to find. */
void world_daemon_kill(struct world *world, unsigned node);
/** Daemons of this world that are running, whether or not they listen. */
unsigned world_daemon_count(const struct world *world);
/** Start a daemon that is no embedded one and wait until it listens; end it by world_daemon_end().
 *  The runtime directory becomes accessible to everybody. From now on the node is for such daemons
 *  alone: their lock file stays and says so. */
pid_t world_daemon_start(struct world *world, unsigned node);
/** The same with one more option, or NULL. */
pid_t world_daemon_start_with(struct world *world, unsigned node, const char *option);
/** The same with a descriptor that it finds under a name, as from a service manager; -1: none. */
pid_t world_daemon_start_passed(struct world *world, unsigned node, const char *option, int passed,
                                const char *name);
void world_daemon_end(pid_t daemon);

/** The runtime directory of a node: the world's, or its host's. @p path has WORLD_PATH_BYTES. */
void world_node_directory(const struct world *world, unsigned node, char *path);
/** Remove a runtime directory. False with a message: something was left in it. */
bool world_remove_directory(const struct world *world, const char *path);

/** The path of a node's socket. @p path has 108 bytes. */
void world_socket(const struct world *world, unsigned node, char *path);

/** In an actor: say where it happened and return -1. Used by NEED(). */
int actor_complain(const char *file, int line, const char *what);

/** In an actor's function: unless this holds, complain and return -1. */
#define NEED(condition)                                                                            \
    do {                                                                                           \
        if (!(condition))                                                                          \
            return actor_complain(__FILE__, __LINE__, #condition);                                 \
    } while (0)

#endif
