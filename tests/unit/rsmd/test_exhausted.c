/* SPDX-License-Identifier: BSD-3-Clause */
/* A daemon that has no memory left still does what needs none. It runs in a process of its own
 * here, whose allocations fail from the moment that it serves. */
#include <event2/event.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "node/node.h"
#include "peer.h"
#include "server/server.h"

enum { DEADLINE_S = 30 };

static bool exhausted;

/* libevent's memory: it asks for nothing else. */
static void *get(size_t size)
{
    return exhausted ? NULL : malloc(size);
}

static void *get_more(void *old, size_t size)
{
    return exhausted ? NULL : realloc(old, size);
}

/* The rest of the process: the address space may not grow, and what malloc still has is taken. */
static void use_memory_up(void)
{
#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
    const struct rlimit none = {0, 0};
    if (setrlimit(RLIMIT_AS, &none) < 0)
        _exit(2);
    for (size_t size = 1 << 20; size > 0; size /= 2)
        /* cppcheck-suppress leakReturnValNotUsed */
        while (malloc(size) != NULL)
            continue;
#endif
    exhausted = true;
}

static void on_first_turn(evutil_socket_t fd, short what, void *argument)
{
    (void)fd, (void)what, (void)argument;
    use_memory_up();
    raise(SIGTERM);
}

/* A daemon in the child, which is asked to end when its memory is. */
__attribute__((noreturn)) static void serve_until_told(const char *directory)
{
    static struct rsmd_node node;
    static struct rsmd_server server;
    static struct rsmd_conf conf;
    struct rsmcore_runtime runtime = {.node = 1};
    struct rsmd_instance instance;
    char why[256];
    const struct timeval at_once = {.tv_sec = 0};
    alarm(DEADLINE_S);
    event_set_mem_functions(get, get_more, free);
    snprintf(runtime.directory, sizeof runtime.directory, "%s", directory);
    rsmd_conf_defaults(&conf);
    rsmd_server_hold_signals(false);
    if (rsmd_instance_lock(&instance, &runtime, NULL, false, -1) != RSMD_LOCK_TAKEN ||
        !rsmd_node_init(&node, 1, false, &runtime, &conf, why, sizeof why))
        _exit(3);
    int listener = rsmd_instance_listen(&instance, false);
    if (listener < 0 || !rsmd_server_init(&server, &node, listener, -1) ||
        event_base_once(server.base, -1, EV_TIMEOUT, on_first_turn, NULL, &at_once) < 0)
        _exit(4);
    rsmd_server_run(&server);
    rsmd_server_end(&server, &instance);
    rsmd_node_end(&node);
    rsmd_instance_unlock(&instance);
    _exit(0);
}

static void sigterm_ends_it_without_memory(void **state)
{
    (void)state;
    char directory[64];
    directory_make(directory);
    fflush(NULL);
    pid_t daemon = fork();
    assert_true(daemon >= 0);
    if (daemon == 0)
        serve_until_told(directory);
    assert_int_equal(wait_exit(daemon), 0);
    directory_remove(directory); /* which is empty: socket and lock have been removed */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sigterm_ends_it_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
