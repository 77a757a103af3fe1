/* SPDX-License-Identifier: BSD-3-Clause */
/* What a forked child may and may not do with its parent's segments. */
#include "party.h"
#include "sandbox.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/lsan_interface.h>
#endif

enum { LENGTH = 2 * PARTY_PAGE };

static struct actor *exporter, *importer;

static void begin(struct world *world)
{
    exporter = actor_start(world, 1);
    importer = actor_start(world, 2);
    TELL_OK(exporter, offer, .length = LENGTH, .flags = RSM_ALLOW_REBIND);
    TELL_OK(importer, attach, .node = 1, .length = LENGTH);
    TELL_OK(exporter, attach, .node = 1, .length = LENGTH);
    TELL_OK(importer, open_barrier);
}

/* Run a function in a child of the actor; its result must fit an exit status. */
static int in_child(actor_function function, void *bytes)
{
    int status;
    pid_t child = fork();
    NEED(child >= 0);
    if (child == 0)
        _exit(function(bytes) == 0 ? 0 : 1);
    NEED(waitpid(child, &status, 0) == child);
    return status == 0 ? 0 : 1;
}

/* What the parent's segments were before, they still are. */
static void check_parent_unharmed(void)
{
    TELL_OK(importer, close_barrier);
    TELL_OK(importer, poke, .offset = 8, .value = 11);
    assert_int_equal(ASK(exporter, load, .offset = 8).value, 11);
    assert_int_equal(ASK(exporter, peek, .offset = 8).value, 11);
    TELL_OK(importer, connect, .slot = 1, .node = 1);
    TELL_OK(importer, disconnect, .slot = 1);
    TELL_OK(importer, post_import);
    TELL_OK(exporter, wait_export, .timeout = 1000);
    TELL_OK(exporter, post_export);
    TELL_OK(importer, wait_import, .timeout = 1000);
    TELL_OK(exporter, wait_import, .timeout = 1000);
    TELL_OK(exporter, detach);
    TELL_OK(exporter, unpublish);
    TELL_GET(importer, close_barrier, RSMERR_CONN_ABORTED);
    TELL_OK(exporter, destroy);
    TELL_OK(exporter, drop);
}

/* ---------------------------------------------------------------- not the child's */

static int try_creators_calls(void *unused)
{
    rsm_memseg_export_handle_t handle = party_export(0)->handle;
    rsm_memseg_export_handle_t unpublished = party_export(1)->handle;
    rsm_memseg_id_t id = PARTY_ID + 1;
    void *memory = memory_get(MEMORY_PRIVATE, LENGTH);
    NEED(memory != NULL);
    NEED(rsm_memseg_export_publish(unpublished, &id, NULL, 0) == RSMERR_NOT_CREATOR);
    NEED(rsm_memseg_export_republish(handle, NULL, 0) == RSMERR_NOT_CREATOR);
    NEED(rsm_memseg_export_unpublish(handle) == RSMERR_NOT_CREATOR);
    NEED(rsm_memseg_export_rebind(handle, memory, 0, LENGTH) == RSMERR_NOT_CREATOR);
    return 0;
}

static int try_creators_calls_in_child(void *bytes)
{
    return in_child(try_creators_calls, bytes);
}

WORLD_TEST(test_not_creator)
{
    begin(world);
    TELL_OK(exporter, create, .slot = 1, .length = LENGTH);
    assert_int_equal(actor_run(exporter, try_creators_calls_in_child, NULL, 0), 0);
    check_parent_unharmed();
}

/* ---------------------------------------------------------------- the child's copies */

static int destroy_copies(void *unused)
{
    struct party_import *import = party_import(0);
    NEED(rsm_memseg_import_unmap(import->handle) == RSM_SUCCESS);
    NEED(rsm_memseg_import_disconnect(import->handle) == RSM_SUCCESS);
    NEED(rsm_memseg_export_destroy(party_export(0)->handle) == RSM_SUCCESS);
    NEED(rsm_release_controller(party_controller(NULL)) == RSM_SUCCESS);
    return 0;
}

static int destroy_in_child(void *bytes)
{
    return in_child(destroy_copies, bytes);
}

WORLD_TEST(test_child_destroys)
{
    begin(world);
    assert_int_equal(actor_run(exporter, destroy_in_child, NULL, 0), 0);
    check_parent_unharmed();
}

static int nothing(void *unused)
{
    return 0;
}

/* Tables of daemons that this process has mapped: one for each control connection. */
static int mapped_tables(void)
{
    char line[512];
    int count = 0;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        return -1;
    while (fgets(line, sizeof line, maps) != NULL)
        count += strstr(line, "/memfd:rsm-generations") != NULL;
    fclose(maps);
    return count;
}

static int leave_nothing(void *unused)
{
    NEED(mapped_tables() == 1); /* that of the handles */
    NEED(destroy_copies(unused) == 0);
    NEED(mapped_tables() == 0);
#ifdef __SANITIZE_ADDRESS__
    NEED(__lsan_do_recoverable_leak_check() == 0);
#endif
    return 0;
}

static int leave_nothing_in_child(void *bytes)
{
    NEED(mapped_tables() == 2);
    return in_child(leave_nothing, bytes);
}

/* Afterwards there is a control connection that no handle needs. */
static int look_at_other_node(void *unused)
{
    rsm_memseg_import_handle_t handle;
    NEED(rsm_memseg_import_connect(party_controller(NULL), 2, PARTY_ID, RSM_PERM_READ, &handle) ==
         RSMERR_SEG_NOT_PUBLISHED);
    return 0;
}

WORLD_TEST(test_child_frees_control_connections)
{
    begin(world);
    assert_int_equal(actor_run(exporter, look_at_other_node, NULL, 0), 0);
    assert_int_equal(actor_run(exporter, leave_nothing_in_child, NULL, 0), 0);
    check_parent_unharmed();
}

static int exit_in_child(void *bytes)
{
    return in_child(nothing, bytes);
}

WORLD_TEST(test_child_exits)
{
    begin(world);
    for (int i = 0; i < 5; i++)
        assert_int_equal(actor_run(exporter, exit_in_child, NULL, 0), 0);
    check_parent_unharmed();
}

/* ---------------------------------------------------------------- what is shared */

static int store_by_import(void *unused)
{
    *(volatile uint64_t *)(void *)(party_import(0)->address + 16) = 33;
    return 0;
}

static int store_in_child(void *bytes)
{
    return in_child(store_by_import, bytes);
}

WORLD_TEST(test_child_uses_mapping)
{
    begin(world);
    assert_int_equal(actor_run(importer, store_in_child, NULL, 0), 0);
    assert_int_equal(ASK(exporter, load, .offset = 16).value, 33);
    check_parent_unharmed();
}

static int post_both(void *unused)
{
    NEED(rsm_intr_signal_post(party_export(0)->handle, 0) == RSM_SUCCESS);
    NEED(rsm_intr_signal_post(party_import(0)->handle, 0) == RSM_SUCCESS);
    return 0;
}

static int post_in_child(void *bytes)
{
    return in_child(post_both, bytes);
}

static int take_events(void *unused)
{
    NEED(rsm_intr_signal_wait(party_export(0)->handle, 1000) == RSM_SUCCESS);
    NEED(rsm_intr_signal_wait(party_import(0)->handle, 1000) == RSM_SUCCESS);
    return 0;
}

static int take_events_in_child(void *bytes)
{
    return in_child(take_events, bytes);
}

/* Parent and child share the counters, if the parent has used them. */
WORLD_TEST(test_child_posts_and_waits)
{
    begin(world);
    assert_int_equal(actor_run(exporter, post_both, NULL, 0), 0);
    assert_int_equal(actor_run(exporter, take_events, NULL, 0), 0);
    TELL_OK(importer, wait_import, .timeout = 1000);

    assert_int_equal(actor_run(exporter, post_in_child, NULL, 0), 0);
    assert_int_equal(actor_run(exporter, take_events, NULL, 0), 0);
    TELL_OK(importer, wait_import, .timeout = 1000);

    assert_int_equal(actor_run(exporter, post_both, NULL, 0), 0);
    assert_int_equal(actor_run(exporter, take_events_in_child, NULL, 0), 0);
    TELL_GET(exporter, wait_export, RSMERR_TIMEOUT);
    TELL_GET(exporter, wait_import, RSMERR_TIMEOUT);
    TELL_OK(importer, wait_import, .timeout = 1000);
    check_parent_unharmed();
}

/* ---------------------------------------------------------------- a life of its own */

/* The child is a process of the node like any other. */
static int live_in_child(void *unused)
{
    struct order order = {.slot = 5, .length = LENGTH, .id = PARTY_ID + 5, .node = 1};
    NEED(party_offer(&order) == RSM_SUCCESS);
    order = (struct order){.slot = 5, .length = LENGTH, .id = PARTY_ID + 5, .node = 1};
    NEED(party_attach(&order) == RSM_SUCCESS);
    *(volatile uint64_t *)(void *)party_import(5)->address = 9;
    NEED(*(volatile uint64_t *)(void *)party_export(5)->memory == 9);
    NEED(rsm_intr_signal_post(party_import(5)->handle, 0) == RSM_SUCCESS);
    NEED(rsm_intr_signal_wait(party_export(5)->handle, 1000) == RSM_SUCCESS);
    order = (struct order){.slot = 6, .length = LENGTH, .node = 1};
    NEED(party_attach(&order) == RSM_SUCCESS); /* the parent's segment */
    *(volatile uint64_t *)(void *)party_import(6)->address = 10;
    order.slot = 5;
    NEED(party_withdraw(&order) == RSM_SUCCESS);
    return 0;
}

static int live_in_grandchild(void *bytes)
{
    NEED(live_in_child(bytes) == 0);
    return 0;
}

static int fork_lives(void *bytes)
{
    return in_child(live_in_child, bytes) == 0 ? in_child(live_in_grandchild, bytes) : 1;
}

WORLD_TEST(test_child_has_its_own)
{
    begin(world);
    assert_int_equal(actor_run(exporter, fork_lives, NULL, 0), 0);
    assert_int_equal(ASK(exporter, load).value, 10);
    check_parent_unharmed();
}

/* Threads that call the library while another forks: the child's library is usable. */
static atomic_bool go_on;

static void *open_and_close(void *unused)
{
    while (atomic_load(&go_on)) {
        rsmapi_controller_handle_t controller;
        rsm_topology_t *topology = NULL;
        if (rsm_get_controller(NULL, &controller) == RSM_SUCCESS)
            rsm_release_controller(controller);
        if (rsm_get_interconnect_topology(&topology) == RSM_SUCCESS)
            rsm_free_interconnect_topology(topology);
    }
    return unused;
}

static void *export_and_destroy(void *unused)
{
    uint8_t *memory = memory_get(MEMORY_PRIVATE, LENGTH);
    while (memory != NULL && atomic_load(&go_on)) {
        rsm_memseg_export_handle_t handle;
        rsm_memseg_id_t id = 0;
        if (rsm_memseg_export_create(party_controller(NULL), &handle, memory, LENGTH, 0) !=
            RSM_SUCCESS)
            continue;
        rsm_memseg_export_publish(handle, &id, NULL, 0);
        rsm_memseg_export_destroy(handle);
    }
    if (memory != NULL)
        memory_put(MEMORY_PRIVATE, memory, LENGTH);
    return unused;
}

static int use_library(void *unused)
{
    rsmapi_controller_handle_t controller;
    rsm_topology_t *topology = NULL;
    NEED(rsm_get_interconnect_topology(&topology) == RSM_SUCCESS);
    rsm_free_interconnect_topology(topology);
    NEED(rsm_get_controller(NULL, &controller) == RSM_SUCCESS);
    NEED(rsm_release_controller(controller) == RSM_SUCCESS);
    return live_in_child(NULL);
}

static int fork_amid_calls(void *bytes)
{
    pthread_t threads[3];
    int failures = 0;
    atomic_store(&go_on, true);
    for (int i = 0; i < 3; i++)
        NEED(pthread_create(&threads[i], NULL, i == 0 ? export_and_destroy : open_and_close,
                            NULL) == 0);
    for (int i = 0; i < 20; i++)
        failures += in_child(use_library, bytes) != 0;
    atomic_store(&go_on, false);
    for (int i = 0; i < 3; i++)
        NEED(pthread_join(threads[i], NULL) == 0);
    return failures;
}

WORLD_TEST(test_fork_amid_calls)
{
    begin(world);
    assert_int_equal(actor_run(exporter, fork_amid_calls, NULL, 0), 0);
    check_parent_unharmed();
}

WORLD_TEST(test_fork_amid_calls_without_userfaultfd)
{
    begin(world);
    sandbox_enter(exporter, SANDBOX_NO_FAULTFD);
    assert_int_equal(actor_run(exporter, fork_amid_calls, NULL, 0), 0);
    check_parent_unharmed();
}
