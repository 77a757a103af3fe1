/* SPDX-License-Identifier: BSD-3-Clause */
#include "shared_node.h"

static pid_t system_daemon;

static pid_t start_configured(struct world *world, const char *configuration)
{
    char path[] = "/tmp/rsm-shared-XXXXXX", option[64];
    int fd = mkstemp(path);
    FILE *file = fd >= 0 ? fdopen(fd, "w") : NULL;
    assert_non_null(file);
    assert_true(fputs(configuration, file) >= 0);
    assert_int_equal(fclose(file), 0);
    snprintf(option, sizeof option, "--config=%s", path);
    pid_t daemon = world_daemon_start_with(world, 1, option);
    assert_int_equal(unlink(path), 0);
    return daemon;
}

int shared_node_setup_with(void **state, const char *configuration)
{
    program_needs_root();
    if (world_setup(state) != 0)
        return -1;
    system_daemon = configuration != NULL ? start_configured(*state, configuration)
                                          : world_daemon_start(*state, 1);
    return 0;
}

int shared_node_setup(void **state)
{
    return shared_node_setup_with(state, NULL);
}

int shared_node_teardown(void **state)
{
    struct world *world = *state;
    for (unsigned i = 0; i < world->actor_count; i++)
        if (world->actors[i].pid != 0 && !world->actors[i].busy)
            actor_stop(&world->actors[i]);
    world_daemon_end(system_daemon);
    return world_teardown(state);
}
